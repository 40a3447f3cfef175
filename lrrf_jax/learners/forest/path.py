"""The way of a row through a tree in words, and which tree to show."""

import math
from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.learners.forest.pair_shares import leaf_signs
from lrrf_jax.learners.forest.text import Names, names_of, sides_of
from lrrf_jax.rankings.pairwise import pair_signs_on_host
from lrrf_jax.trees.forest import Forest


def signs_of_trees(
    forest: Forest,
    leaf: NDArray,  # int32 (n_trees,), of one row
    aggregation: str,
) -> NDArray:  # int8 (n_trees, n_pairs)
    """Tell which label of each pair each tree prefers."""
    slot = np.asarray(forest.leaf_slot)[np.arange(forest.n_trees), leaf]
    return leaf_signs(np.asarray(forest.leaf_value)[slot], aggregation)


def nodes_on_way(forest: Forest, tree: int, leaf: int) -> list[int]:
    """List the nodes that ask something of a row, from the root on; one for each level."""
    threshold = np.asarray(forest.threshold)[tree]
    way = [(leaf + 2**forest.depth >> up) - 1 for up in range(forest.depth, 0, -1)]
    return [node for node in way if threshold[node] < np.inf]


def typical_tree(
    forest: Forest,
    leaf: NDArray,  # int32 (n_trees,), of one row
    signs: NDArray,  # int8 (n_trees, n_pairs)
    ranks: NDArray,  # int32 (n_labels,), of the forest
) -> int:
    """Choose the tree whose leaf agrees best with the forest; among equals that of fewest tests."""
    predicted = pair_signs_on_host(ranks[None].astype(np.float32))[0]
    agrees = (signs * predicted).sum(axis=1, dtype=np.int64)
    best = np.flatnonzero(agrees == agrees.max())
    n_tests = [len(nodes_on_way(forest, int(tree), int(leaf[tree]))) for tree in best]
    return int(best[np.argmin(n_tests)])


def path_in_words(ranker: Any, tree: int, leaf: int, features: NDArray) -> list[str]:
    """Write down the tests that a row, float32 (n_features,), passes, and what it has."""
    forest, names = ranker.forest_, names_of(ranker)
    lines = []
    for level, node in enumerate(nodes_on_way(forest, tree, leaf)):
        feature = int(forest.feature[tree, node])
        threshold = float(forest.threshold[tree, node])
        missing_left = bool(forest.missing_left[tree, node])
        sides = sides_of(names, feature, threshold, missing_left, _decimals(threshold))
        child = (leaf + 2**forest.depth >> forest.depth - level - 1) - 1
        side = sides.left if child == 2 * node + 1 else sides.right
        value = _value(names, feature, float(features[feature]))
        lines.append(f"{side.replace('<  ', '< ')}: {value}")
    return lines


def _value(names: Names, feature: int, value: float) -> str:
    if math.isnan(value):
        return "it is missing"
    levels = names.levels.get(feature)
    return f"it is {value:.6g}" if levels is None else f"it is {levels[int(value)]}"


def _decimals(threshold: float) -> int:
    """Digits behind the point: three that say something, and two at least."""
    size = abs(threshold)
    return 2 - min(0, math.floor(math.log10(size))) if 0 < size < math.inf else 2
