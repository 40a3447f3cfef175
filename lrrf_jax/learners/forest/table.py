"""The nodes of a forest as the rows of a data frame."""

from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.learners.forest.nodes import nodes_of
from lrrf_jax.learners.forest.text import leaf_rankings, levels_left, names_of
from lrrf_jax.trees.forest import Forest, is_split


def node_columns(ranker: Any, gain: NDArray | None) -> dict[str, Any]:
    """Describe every node; columns by name, see `TreeViews.trees_to_frame`.

    ``gain``: that of the splits, float32 (n_splits,), trees in order and level after level.
    """
    forest, config, names = ranker.forest_, ranker.config_, names_of(ranker)
    nodes = nodes_of(forest)
    leaf, split = nodes.is_leaf, ~nodes.is_leaf
    n_nodes = len(leaf)
    at = nodes.tree[split], nodes.place[split]
    feature, threshold = np.asarray(forest.feature)[at], np.asarray(forest.threshold)[at]
    missing_left = np.asarray(forest.missing_left)[at]

    levels = _nothing(n_nodes)
    limits = threshold.astype(np.float64)
    for number, (node, j, t) in enumerate(
        zip(np.flatnonzero(split), feature, threshold, strict=True)
    ):
        if int(j) in names.levels:
            levels[node] = list(levels_left(names.levels[int(j)], float(t)))
            limits[number] = np.nan
    ranking = leaf_rankings(ranker, nodes.slot[leaf], names.labels)
    last = (nodes.place[leaf] + 2 << config.max_depth - nodes.depth[leaf]) - 1 - 2**config.max_depth
    columns = {
        "tree": nodes.tree,
        "node": np.arange(n_nodes) - nodes.first[nodes.tree],
        "depth": nodes.depth.astype(np.int64),
        "feature": _filled(_nothing(n_nodes), split, np.array(names.features, object)[feature]),
        "threshold": _filled(np.full(n_nodes, np.nan), split, limits),
        "missing": _filled(
            _nothing(n_nodes), split, np.where(missing_left, "left", "right").astype(object)
        ),
        "left": nodes.left,
        "right": nodes.right,
        "gain": _filled(np.full(n_nodes, np.nan), split, _shares(forest, gain)),
        "leaf": _filled(np.full(n_nodes, -1), leaf, last),
        "ranking": _filled(_nothing(n_nodes), leaf, np.array(ranking, object)),
    }
    if names.levels:
        columns["levels"] = levels
    return {
        name: column.tolist() if column.dtype == object else column
        for name, column in columns.items()
    }


def _shares(forest: Forest, gain: NDArray | None) -> NDArray:  # float64 (n_splits,)
    """Shares of what the splits of each tree gain together."""
    split = is_split(forest)
    if gain is None:
        return np.full(int(split.sum()), np.nan)
    tree = np.nonzero(split)[0]
    gain = np.maximum(gain.astype(np.float64), 0)
    total = np.bincount(tree, gain, forest.n_trees)
    return gain / np.maximum(total[tree], np.finfo(np.float64).tiny)


def _nothing(count: int) -> NDArray:
    return np.full(count, None, object)


def _filled(column: NDArray, where: NDArray, values: NDArray) -> NDArray:
    column[where] = values
    return column
