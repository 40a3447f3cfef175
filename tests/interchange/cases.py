"""Forests of every aggregation with random trees and leaves, and rows that try them."""

import numpy as np

from lrrf_jax.interchange.as_ranker import ranker_of
from lrrf_jax.interchange.compact_tree import compact_trees
from lrrf_jax.learners.forest.aggregation import (
    AGGREGATIONS,
    PAIR_UNIT,
    VOTE_UNIT,
    numbers_in_leaf,
)
from tests.trees.cases import awkward_rows, random_forest

N_FEATURES = 5


def random_leaves(rng, n_slots, n_labels, aggregation):
    """Leaves as training gives them, of so few values that sums tie."""
    n_outputs = numbers_in_leaf(n_labels, aggregation)
    if aggregation == "two-step":
        return (rng.random((n_slots, n_labels)).argsort(1) + 1).astype(np.int32)
    if aggregation == "one-step":
        return (rng.integers(1, n_labels + 1, (n_slots, n_outputs)) * VOTE_UNIT).astype(np.int32)
    signs = rng.integers(-2, 3, (n_slots, n_outputs))
    return (signs * (PAIR_UNIT // 2)).astype(np.int32)


def random_ranker(seed, aggregation, n_labels=4, depth=4, n_trees=6):
    """A forest, its `Forest`, and rows on its thresholds, missing, infinite, subnormal, zero."""
    rng = np.random.default_rng(seed)
    forest, grid = random_forest(rng, n_trees, depth, N_FEATURES, 1)
    value = random_leaves(rng, len(forest.leaf_value), n_labels, aggregation)
    forest = forest._replace(leaf_value=value)
    ranker = ranker_of(
        compact_trees(forest),
        aggregation=aggregation,
        n_labels=n_labels,
        n_features=N_FEATURES,
        labels=None,
        feature_names=None,
    )
    rows = np.concatenate([awkward_rows(rng, 192, grid), np.repeat(grid.T, 10, axis=0)[:64]])
    assert np.isnan(rows).any()
    assert np.isinf(rows).any()
    assert (np.signbit(rows) & (rows == 0)).any()
    assert ((rows != 0) & (np.abs(rows) < np.finfo(np.float32).tiny)).any()
    return ranker, forest, rows


def two_hundred_forests():
    """Every aggregation with 2 to 9 labels and 1 to 12 levels: (seed, settings)."""
    for seed in range(200):
        yield (
            seed,
            {
                "aggregation": AGGREGATIONS[seed % 4],
                "n_labels": (2, 3, 4, 5, 7, 9)[seed // 4 % 6],
                "depth": (1, 2, 3, 5, 8, 12)[seed // 24 % 6],
                "n_trees": 1 + seed % 7,
            },
        )


def ranks_of(ranker, rows):
    """Rank rows as `predict` does, which lets no infinity in."""
    return ranker._map_rows(True, np.ascontiguousarray(rows, np.float32))


def scores_of(ranker, rows):
    """Score rows as `predict_scores` does."""
    return ranker._map_rows(False, np.ascontiguousarray(rows, np.float32))
