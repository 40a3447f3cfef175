"""Linear learners, perceptrons, and the constant one, as operators of ONNX."""

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.interchange.onnx_graph import Graph, Value
from lrrf_jax.interchange.onnx_ranks import Ranked, ordering_of
from lrrf_jax.learners.linear.basis import Basis
from lrrf_jax.learners.linear.params import FARTHEST, AnyParams, ExpandedParams
from lrrf_jax.learners.neural.predict import (
    COARSE_AND_FINE,
    FARTHEST_INPUT,
    HIGHEST,
    PerceptronParams,
)
from lrrf_jax.rankings.pairwise import n_labels_of_pairs, pair_indices


def ranked_by_utilities(graph: Graph, rows: Value, params: AnyParams) -> Ranked:
    """Rank by linear utilities, as `predict.utility_rows` does."""
    return _ranked(graph, _outputs(graph, rows, params), params.weight.shape[1])


def ranked_by_perceptrons(graph: Graph, rows: Value, params: PerceptronParams) -> Ranked:
    """Rank by the mean utilities of the networks, as `perceptron_rows` does, bit for bit."""
    moved = graph("Mul", graph("Sub", rows, np.asarray(params.centre)), np.asarray(params.scale))
    limit = np.array(FARTHEST_INPUT, np.float32)
    values = graph("Clip", moved, -limit, limit)
    fine = np.array(COARSE_AND_FINE[1], np.float32)
    bounds = np.array(0, np.float32), np.array(HIGHEST, np.float32)
    n_networks, n_hidden, n_labels = params.weight_3.shape
    layers = [np.asarray(array) for array in params[2:]]
    for number in range(3):
        weight, intercept = layers[2 * number : 2 * number + 2]
        if number:
            values = graph("Clip", values, *bounds)
        exact = graph.cast(graph("Mul", graph("Round", graph("Div", values, fine)), fine), float)
        if number == 2:  # (networks, rows, hidden) to (rows, networks and hidden)
            exact = graph("Transpose", exact, perm=[1, 0, 2])
            exact = graph("Reshape", exact, np.array([0, n_networks * n_hidden]))
            weight = weight.reshape(-1, n_labels)
        else:
            intercept = intercept[:, None]
        product = graph("MatMul", exact, graph.cast(weight, float))
        values = graph("Add", graph.cast(product, np.float32), intercept)
    return _ranked(graph, values, n_labels)


def ranked_by_votes(graph: Graph, rows: Value, params: AnyParams, voting: str) -> Ranked:
    """Rank by the votes of the pairs, as `rpc.rpc_rows` does."""
    logit = _outputs(graph, rows, params)
    against = graph("Neg", logit)
    if voting == "soft":
        one, other = graph("Sigmoid", logit), graph("Sigmoid", against)
    else:
        half = np.array(0.5)
        one, other = (
            graph("Add", graph("Mul", graph("Sign", side), half), half) for side in (logit, against)
        )
    n_labels = n_labels_of_pairs(params.weight.shape[1])
    first, second = (graph.small(np.eye(n_labels)[label]) for label in pair_indices(n_labels))
    votes = graph("Add", graph("MatMul", one, first), graph("MatMul", other, second))
    return _ranked(graph, votes, n_labels)


def ranked_alike(graph: Graph, rows: Value, scores: NDArray) -> Ranked:
    """Rank all rows by the same scores, float32 (n_labels,)."""
    n_labels = len(scores)
    n_rows = graph("Shape", rows, end=1)
    shape = graph("Concat", n_rows, np.array([n_labels]), axis=0)
    of_rows = graph("Expand", scores[None].astype(np.float64), shape)
    return Ranked(ordering_of(graph, of_rows, n_labels), of_rows)


def known_rows(graph: Graph, rows: Value) -> str:  # bool (n_samples, 1)
    """Find the rows without a value that is missing or infinite."""
    finite = graph("LessOrEqual", graph("Abs", rows), np.array(np.finfo(np.float32).max))
    return graph.cast(graph("ReduceMin", graph.cast(finite, np.int32), axes=[1]), np.bool_)


def _outputs(graph: Graph, rows: Value, params: AnyParams) -> str:
    """Evaluate the linear functions, float64; features are scaled in float32, as in training."""
    if isinstance(params, ExpandedParams):
        rows = _expanded(graph, rows, params.basis)
    scaled = graph.cast(_scaled(graph, rows, params), np.float64)
    weight, intercept = (
        graph.cast(np.asarray(values), np.float64) for values in (params.weight, params.intercept)
    )
    return graph("Add", graph("MatMul", scaled, weight), intercept)


def _scaled(graph: Graph, rows: Value, by: AnyParams | Basis) -> str:
    moved = graph("Mul", graph("Sub", rows, np.asarray(by.centre)), np.asarray(by.scale))
    limit = np.array(FARTHEST, np.float32)
    return graph("Clip", moved, -limit, limit)


def _expanded(graph: Graph, rows: Value, basis: Basis) -> str:
    """Make the columns of a basis, as `basis.expanded` does."""
    x = _scaled(graph, rows, basis)
    left, right = (
        graph("Gather", x, np.asarray(index, np.int64), axis=1)
        for index in (basis.first, basis.second)
    )
    columns = [x, graph("Mul", left, right)]
    n_features, n_knots = basis.knots.shape
    if n_knots:  # those of a feature stand side by side
        repeated = graph("Gather", x, np.repeat(np.arange(n_features), n_knots), axis=1)
        columns.append(graph("Relu", graph("Sub", repeated, np.asarray(basis.knots).ravel())))
    return graph("Concat", *columns, axis=1)


def _ranked(graph: Graph, scores: Value, n_labels: int) -> Ranked:
    # They are float32 in the end: what ties there goes by the index of the label.
    scores = graph.cast(graph.cast(scores, np.float32), np.float64)
    return Ranked(ordering_of(graph, scores, n_labels), scores)
