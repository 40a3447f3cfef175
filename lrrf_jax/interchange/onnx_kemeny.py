"""Kemeny's rankings of preferences, as operators of ONNX; `aggregation.kemeny` is the same for JAX.

Preferences are float64 (n_samples, n_pairs), whole numbers below 2**31 as `aggregation` bounds
them: no sum is rounded.
"""

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.interchange.onnx_graph import Graph, Value
from lrrf_jax.rankings.aggregation import EXACT_LIMIT
from lrrf_jax.rankings.kemeny_search import subsets_by_size
from lrrf_jax.rankings.pairwise import pair_indices

_DIGITS = 8  # of a label in the number of an ordering; EXACT_LIMIT labels have seven


def kemeny_ordering(
    graph: Graph, preferences: Value, n_labels: int, start: Value
) -> str:  # int64 (n_samples, n_labels)
    """Order as `aggregation.kemeny` does, which starts from Borda's ordering where it searches."""
    if n_labels <= EXACT_LIMIT:
        return _exact(graph, preferences, n_labels)
    return _search(graph, preferences, n_labels, start)


def _exact(graph: Graph, preferences: Value, n_labels: int) -> str:
    """Find the best ordering by dynamic programming over the sets of labels, as `kemeny_exact`.

    The value of an ordering times 8**7, and its labels as digits behind that, are one number, which
    float64 holds: the greatest is that of the best ordering, of several the first.
    """
    one_more = float(_DIGITS**n_labels)
    scaled = graph("Mul", graph("Transpose", preferences, perm=[1, 0]), np.array(one_more))
    best = ""
    for size, (members, rest) in enumerate(subsets_by_size(n_labels)[0], 1):
        digit = (n_labels - 1.0 - members) * _DIGITS ** (size - 1)  # large where it comes first
        won = graph("MatMul", graph.small(_over_the_rest(members, n_labels)), scaled)
        value = graph("Add", won, digit[:, :, None])
        if size > 1:
            value = graph("Add", value, graph("Gather", best, rest.astype(np.int64), axis=0))
        best = graph("ReduceMax", value, axes=[1], keepdims=0)  # (n_sets, n_samples)
    number = graph.cast(graph("Transpose", best, perm=[1, 0]), np.int64)
    digits = graph("Mod", number, np.array([_DIGITS**n_labels]))
    places = _DIGITS ** np.arange(n_labels)[::-1]
    digits = graph("Mod", graph("Div", digits, places), np.array([_DIGITS]))
    return graph("Sub", np.array([n_labels - 1]), digits)


def _over_the_rest(members: NDArray, n_labels: int) -> NDArray:  # (n_sets, size, n_pairs)
    """Of every member of every set: the pairs with the others, 1 or -1, whose sum it wins."""
    pair = np.zeros((n_labels, n_labels), int)
    first, second = pair_indices(n_labels)
    pair[first, second] = pair[second, first] = np.arange(len(first))
    sides = np.zeros((*members.shape, len(first)))
    for other in range(members.shape[1]):
        for one in range(members.shape[1]):
            if one != other:
                mine, its = members[:, one], members[:, other]
                sides[np.arange(len(members)), one, pair[mine, its]] = np.where(mine < its, 1, -1)
    return sides


def _search(graph: Graph, preferences: Value, n_labels: int, start: Value) -> str:
    """Move one label at a time while that helps, as `kemeny_local_search`; all rows together."""
    from onnx import TensorProto, helper

    flat = np.array([0, n_labels**2])
    matrix = _matrix(graph, preferences, n_labels)
    step = Graph(around=graph)
    count, goes_on, ordering = (step.name(of) for of in ("count", "goes_on", "ordering"))
    row = step("Mul", step("Unsqueeze", ordering, np.array([2, 3])), np.array(n_labels))
    here = step.pick(matrix, step("Add", row, step("Unsqueeze", ordering, np.array([1, 3]))))
    # Half the gain of a move, from a row's place to a column's: see `kemeny._search_block`.
    upto = step("CumSum", here, np.array(2))
    own = step("ReduceSum", step("Mul", upto, np.eye(n_labels)), np.array([2]), keepdims=1)
    passed = step("Sub", upto, step("Mul", here, np.tri(n_labels)))
    gain = step("Reshape", step("Sub", own, passed), flat)
    most = step("ReduceMax", gain, axes=[1], keepdims=0)
    improves = step("Greater", most, np.array(0.0))
    move = step("Where", improves, step("ArgMax", gain, axis=1, keepdims=0), np.array(0))
    source = step.cast(step("Gather", _moves(n_labels), move, axis=0), np.int64)
    moved = step.pick(ordering, step("Unsqueeze", source, np.array([2])))
    some = step("ReduceSum", step.cast(improves, np.int64), keepdims=0)
    again = step("Greater", some, np.array(0))
    rows = [None, n_labels]
    body = helper.make_graph(
        step.nodes,
        "step",
        [
            helper.make_tensor_value_info(count, TensorProto.INT64, []),
            helper.make_tensor_value_info(goes_on, TensorProto.BOOL, []),
            helper.make_tensor_value_info(ordering, TensorProto.INT64, rows),
        ],
        [
            helper.make_tensor_value_info(again, TensorProto.BOOL, []),
            helper.make_tensor_value_info(moved, TensorProto.INT64, rows),
        ],
    )
    return graph("Loop", np.array(4 * n_labels**2), np.array(True), start, body=body)


def _matrix(graph: Graph, preferences: Value, n_labels: int) -> str:
    """Lay preferences out as in `pairwise.antisymmetric`, row by row: (n_samples, n_labels**2)."""
    pair = np.zeros((n_labels, n_labels), np.int64)
    sign = np.zeros((n_labels, n_labels))
    first, second = pair_indices(n_labels)
    pair[first, second] = pair[second, first] = np.arange(len(first))
    sign[first, second], sign[second, first] = 1, -1
    return graph("Mul", graph("Gather", preferences, pair.ravel(), axis=1), sign.ravel())


def _moves(n_labels: int) -> NDArray:  # (n_labels**2, n_labels)
    """Of the move from each place to each other: which place every label then comes from."""
    place = np.arange(n_labels)
    start, end = np.divmod(np.arange(n_labels**2)[:, None], n_labels)
    closes_up, makes_way = (start <= place) & (place < end), (end < place) & (place <= start)
    source = np.where(place == end, start, place + closes_up - makes_way)
    return source.astype(np.min_scalar_type(n_labels))
