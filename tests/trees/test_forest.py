"""The container of a forest: its promises, and its depth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrrf_jax.trees.forest import grown_depth, invariant_violation, is_split, with_depth
from tests.tree_oracles import plain_sums
from tests.trees.cases import DEPTH, SPLITS, forest_of_splits, random_forest, rows_on_thresholds


@pytest.mark.parametrize("case", SPLITS)
def test_a_forest_of_any_depth_sums_alike(case):
    forest = forest_of_splits(2, 5, SPLITS[case])
    assert grown_depth(forest) == DEPTH[case]
    rows = rows_on_thresholds(forest)
    expected = plain_sums(rows, forest)
    for depth in range(DEPTH[case], 8):
        other = with_depth(forest, depth)
        assert other.depth == depth
        assert invariant_violation(other, 3) is None
        assert all(field.flags.c_contiguous for field in other)
        np.testing.assert_array_equal(plain_sums(rows, other), expected)
        for one, two in zip(with_depth(other, 5), forest, strict=True):
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("change", ["feature", "slot", "depth", "nan", "unsplit", "shape"])
def test_broken_forests_are_told(change):
    forest, _ = random_forest(np.random.default_rng(3), 2, 3, 4, 2)
    assert invariant_violation(forest, 4) is None
    feature, slot = forest.feature.copy(), forest.leaf_slot.copy()
    threshold = forest.threshold.copy()
    if change == "feature":
        feature[0, 0] = 4
    elif change == "slot":
        slot[0, 0] = len(forest.leaf_value)
    elif change == "depth":
        slot = slot[:, :-1]
    elif change == "nan":
        threshold[0, 0] = np.nan
    elif change == "unsplit":
        threshold[0, 0] = np.inf
    else:
        feature = feature[:, :-1]
    broken = forest._replace(feature=feature, threshold=threshold, leaf_slot=slot)
    assert invariant_violation(broken, 4) is not None


seeds = st.integers(0, 2**32 - 1)


@given(seeds)
def test_a_node_below_one_that_is_not_split_is_not_split(seed):
    forest, _ = random_forest(np.random.default_rng(seed), 3, 4, 4, 2)
    split = is_split(forest)
    for node in range(1, split.shape[1]):
        assert (split[:, (node - 1) // 2] | ~split[:, node]).all()
