"""What figures show of a fitted forest, read from its arrays."""

from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.learners.forest.pair_shares import leaf_signs
from lrrf_jax.rankings.pairwise import pair_indices
from lrrf_jax.trees.forest import Forest

_ROWS_AT_ONCE = 512


def forest_of(ranker: Any, argument: str = "ranker") -> Forest:
    """Return the trees of a fitted forest, or raise InputError."""
    forest = getattr(ranker, "forest_", None)
    if not isinstance(forest, Forest) or not hasattr(ranker, "apply"):
        fitted = hasattr(ranker, "labels_")
        raise InputError(
            f"{argument} must be a fitted forest such as RandomForestLabelRanker; "
            f"{type(ranker).__name__} {'has no trees' if fitted else 'is not fitted'}."
        )
    return forest


def tree_preferences(ranker: Any, X: Any) -> NDArray:  # float64 (n_samples, n_pairs)
    """Mean over trees of the sign of each pair: the share for the first less that against it."""
    forest = forest_of(ranker)
    signs = leaf_signs(np.asarray(forest.leaf_value), ranker.config_.aggregation)
    slots = ranker._leaf_slots(X)
    means = np.empty((len(slots), signs.shape[1]))
    for start in range(0, len(slots), _ROWS_AT_ONCE):
        block = slots[start : start + _ROWS_AT_ONCE]
        means[start : start + _ROWS_AT_ONCE] = signs[block].mean(1, dtype=np.float64)
    return means


def preference_shares(ranker: Any, row: Any) -> NDArray:  # float64 (n_labels, n_labels)
    """Share of trees that prefer label i to label j for one row; NaN on the diagonal."""
    mean = tree_preferences(ranker, row)[0]
    n_labels = len(ranker.labels_)
    shares = np.full((n_labels, n_labels), np.nan)
    first, second = pair_indices(n_labels)
    shares[first, second] = (1 + mean) / 2
    shares[second, first] = (1 - mean) / 2
    return shares


def tree_agreement(ranker: Any, X: Any) -> tuple[NDArray, NDArray]:
    """Mean tau between the trees' rankings and the forest's, and the forest's ranking.

    Returns float64 (n_samples,), from -1 to 1, and int32 (n_samples, n_labels).
    """
    mean = tree_preferences(ranker, X)
    ranks = np.asarray(ranker.predict(X))
    first, second = pair_indices(ranks.shape[1])
    return (mean * np.sign(ranks[:, second] - ranks[:, first])).mean(1), ranks


def node_of_rows(forest: Forest, tree: int, features: NDArray) -> NDArray:
    """Node that each row visits on each level of one tree, int64 (n_samples, depth + 1)."""
    feature, threshold = np.asarray(forest.feature)[tree], np.asarray(forest.threshold)[tree]
    missing_left = np.asarray(forest.missing_left)[tree]
    node = np.zeros(len(features), np.int64)
    visited = [node]
    for _ in range(forest.depth):
        value = features[np.arange(len(features)), feature[node]]
        left = np.where(np.isnan(value), missing_left[node], value >= threshold[node])
        node = 2 * node + np.where(left, 1, 2)
        visited.append(node)
    return np.stack(visited, axis=1)
