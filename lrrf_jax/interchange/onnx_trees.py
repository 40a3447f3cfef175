"""Forests as ensembles of ONNX that sum over trees, and what the sums say of the labels."""

from collections.abc import Sequence

import numpy as np

from lrrf_jax._validation import InputError
from lrrf_jax.interchange.compact_tree import WHOLE_IN_FLOAT32, CompactTree
from lrrf_jax.interchange.onnx_graph import ML, Graph, Value
from lrrf_jax.interchange.onnx_kemeny import kemeny_ordering
from lrrf_jax.interchange.onnx_ranks import Ranked, in_order, ordering_of
from lrrf_jax.learners.forest.aggregation import PAIR_UNIT, VOTE_UNIT
from lrrf_jax.rankings.on_host import ONE_WIN, pair_sides

_BYTES_OF_NODE, _BYTES_OF_NUMBER, _MOST_BYTES = 34, 14, 2**31  # of a file, or a little less


def ranked_by_trees(
    graph: Graph,
    rows: Value,  # float32 (n_samples, n_features)
    trees: Sequence[CompactTree],
    n_labels: int,
    aggregation: str,
) -> Ranked:
    """Rank as `aggregation.ranks_of_sums` does, and score as `scores_of_sums`."""
    sums = _sums(graph, rows, trees)
    if aggregation == "two-step":
        mean = graph("Div", sums, np.array(float(len(trees))))
        scores = graph("Sub", np.array(n_labels + 1.0), mean)
        return Ranked(ordering_of(graph, sums, n_labels, largest=False), scores)
    if aggregation == "one-step":
        scores = graph("Div", sums, np.array(float(len(trees) * VOTE_UNIT)))
        return Ranked(ordering_of(graph, sums, n_labels), scores)
    sides = graph.small(pair_sides(n_labels))
    total = graph("MatMul", sums, sides)
    if aggregation == "copeland":
        wins = graph("Mul", graph("MatMul", graph("Sign", sums), sides), np.array(ONE_WIN))
        ordering = ordering_of(graph, graph("Add", wins, total), n_labels)
    else:
        borda = ordering_of(graph, total, n_labels)
        ordering = kemeny_ordering(graph, sums, n_labels, borda)
    scores = graph("Div", total, np.array(float(len(trees) * PAIR_UNIT * (n_labels - 1))))
    return Ranked(ordering, in_order(graph, scores, ordering, n_labels))


def _sums(graph: Graph, rows: Value, trees: Sequence[CompactTree]) -> str:
    """Sum over trees, float64 (n_samples, n_outputs): float32 over as many as it holds exactly."""
    blocks = [
        graph.cast(_ensemble(graph, rows, block), np.float64) for block in exact_blocks(trees)
    ]
    return blocks[0] if len(blocks) == 1 else graph("Sum", *blocks)


def exact_blocks(trees: Sequence[CompactTree]) -> list[Sequence[CompactTree]]:
    """Part the trees so that no sum over a part can need more than the 24 bits of a float32."""
    largest = [int(np.abs(tree.value).max()) for tree in trees]
    if max(largest) > WHOLE_IN_FLOAT32:
        raise InputError(
            f"leaves must hold numbers up to {WHOLE_IN_FLOAT32}, which float32 can tell apart; "
            f"tree {int(np.argmax(largest))} holds {max(largest)}. Use aggregation='two-step'."
        )
    starts, total = [0], 0
    for number, most in enumerate(largest):
        if total + most > WHOLE_IN_FLOAT32:
            starts.append(number)
            total = 0
        total += most
    return [trees[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]


def require_fits_file(trees: Sequence[CompactTree]) -> None:
    """Raise InputError where no file of ONNX could hold the trees, before they are written down."""
    n_leaves = sum(int((tree.feature < 0).sum()) for tree in trees)
    n_nodes = sum(len(tree.feature) for tree in trees)
    n_outputs = trees[0].value.shape[1]
    n_bytes = n_leaves * n_outputs * _BYTES_OF_NUMBER + n_nodes * _BYTES_OF_NODE
    if n_bytes >= _MOST_BYTES:
        raise InputError(
            f"the forest must fit 2 GiB, the most that a file of ONNX holds; its {n_leaves} leaves "
            f"of {n_outputs} numbers take about {n_bytes / 2**30:.1f} GiB. Export fewer trees, or "
            "less deep ones, or aggregate by label (aggregation='two-step') and not by pair."
        )


def _ensemble(
    graph: Graph, rows: Value, trees: Sequence[CompactTree], gives: str | None = None
) -> str:
    n_nodes = [len(tree.feature) for tree in trees]
    tree_of = np.repeat(np.arange(len(trees)), n_nodes)
    node = np.concatenate([np.arange(count) for count in n_nodes])
    joined = CompactTree(*(np.concatenate(fields) for fields in zip(*trees, strict=True)))
    leaf = joined.feature < 0
    n_outputs = joined.value.shape[1]
    return graph(
        "TreeEnsembleRegressor",
        rows,
        gives=gives,
        domain=ML,
        n_targets=n_outputs,
        aggregate_function="SUM",
        post_transform="NONE",
        nodes_treeids=tree_of,
        nodes_nodeids=node,
        nodes_featureids=np.where(leaf, 0, joined.feature),
        nodes_values=joined.threshold,
        nodes_modes=np.where(leaf, b"LEAF", b"BRANCH_GTE"),
        nodes_truenodeids=np.where(leaf, 0, joined.left),
        nodes_falsenodeids=np.where(leaf, 0, joined.right),
        nodes_missing_value_tracks_true=joined.missing_left.astype(np.int64),
        target_treeids=np.repeat(tree_of[leaf], n_outputs),
        target_nodeids=np.repeat(node[leaf], n_outputs),
        target_ids=np.tile(np.arange(n_outputs), leaf.sum()),
        target_weights=joined.value[leaf].astype(np.float32).ravel(),
    )
