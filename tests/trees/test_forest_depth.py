import copy

import numpy as np
import pytest

from lrrf_jax.trees.blocks import Grown, as_deep_as_grown, join, join_grown, take_trees
from lrrf_jax.trees.forest import Forest, grown_depth, invariant_violation, with_depth
from tests.tree_oracles import plain_sums


def forest_of_splits(n_trees, depth, splits, seed=0, first_slot=0):
    """Trees with the splits (tree, node) given, whose parents are split, and their slots."""
    rng = np.random.default_rng(seed)
    shape = n_trees, 2**depth - 1
    threshold = np.full(shape, np.inf, np.float32)
    for tree, node in splits:
        assert node == 0 or threshold[tree, (node - 1) // 2] < np.inf
        threshold[tree, node] = rng.standard_normal()
    slots, n_slots = np.zeros((n_trees, 2**depth), np.int32), 0
    for tree in range(n_trees):
        for leaf in range(2**depth):
            node = leaf + 2**depth - 1
            path = [node]
            while path[-1]:
                path.append((path[-1] - 1) // 2)
            # The highest node on the way that is not split: its leaves share a slot.
            top = next(n for n in reversed(path) if n >= shape[1] or threshold[tree, n] == np.inf)
            first = (top + 1) * 2 ** (depth - (top + 1).bit_length() + 1) - 2**depth
            n_slots += leaf == first
            slots[tree, leaf] = n_slots - 1
    feature = np.where(threshold < np.inf, rng.integers(0, 3, shape), 0).astype(np.int32)
    missing_left = (threshold < np.inf) & (rng.random(shape) < 0.5)
    values = rng.integers(1, 9, (n_slots, 2)).astype(np.int32)
    forest = Forest(feature, threshold, missing_left, slots, values)
    assert invariant_violation(forest, 3) is None
    return forest


def awkward_rows(forest, n_rows=60):
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((n_rows, 3)).astype(np.float32)
    known = forest.threshold[forest.threshold < np.inf]
    if len(known):
        rows[:20] = rng.choice(known, (20, 3))
    rows[rng.random(rows.shape) < 0.2] = np.nan
    return rows


SPLITS = {
    "single leaves": [],
    "one split": [(1, 0)],
    "one side": [(0, 0), (0, 2), (0, 6), (1, 0)],
    "full": [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)],
}
DEPTH = {"single leaves": 1, "one split": 1, "one side": 3, "full": 2}


@pytest.mark.parametrize("case", SPLITS)
def test_a_forest_of_any_depth_sums_alike(case):
    forest = forest_of_splits(2, 5, SPLITS[case])
    assert grown_depth(forest) == DEPTH[case]
    rows = awkward_rows(forest)
    expected = plain_sums(rows, forest)
    for depth in range(DEPTH[case], 8):
        other = with_depth(forest, depth)
        assert other.depth == depth
        assert invariant_violation(other, 3) is None
        assert all(field.flags.c_contiguous for field in other)
        np.testing.assert_array_equal(plain_sums(rows, other), expected)
        for one, two in zip(with_depth(other, 5), forest, strict=True):
            np.testing.assert_array_equal(one, two)


def test_forests_of_different_depths_are_joined_and_taken_apart_again():
    parts = [forest_of_splits(2, 5, splits, seed) for seed, splits in enumerate(SPLITS.values())]
    gains = [(part.threshold < np.inf).astype(np.float32) * 3 for part in parts]
    lots = [as_deep_as_grown(Grown(*both)) for both in zip(parts, gains, strict=True)]
    assert [lot.forest.depth for lot in lots] == list(DEPTH.values())
    whole = join_grown(*lots)
    assert whole.forest.depth == 3
    assert invariant_violation(whole.forest, 3) is None
    rows = awkward_rows(whole.forest)
    total = sum(plain_sums(rows, part) for part in parts)
    np.testing.assert_array_equal(plain_sums(rows, whole.forest), total)
    np.testing.assert_array_equal(whole.gain > 0, whole.forest.threshold < np.inf)
    for k, lot in enumerate(lots):
        again = take_trees(whole, 2 * k, 2 * k + 2)
        for one, two in zip((*again.forest, again.gain), (*lot.forest, lot.gain), strict=True):
            np.testing.assert_array_equal(one, two)
    for one, two in zip(join(*(lot.forest for lot in lots)), whole.forest, strict=True):
        np.testing.assert_array_equal(one, two)
    assert copy.deepcopy(whole).forest.depth == 3
