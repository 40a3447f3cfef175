"""Thresholds of a forest, by feature, against a loop over its nodes."""

import numpy as np
import pytest

from lrrf_jax._numerics import HIGHEST, float_key_on_host
from lrrf_jax.inference.bins import bins_of_forest
from tests.trees.cases import random_forest


@pytest.mark.parametrize(("n_features", "widths"), [(3, (1, 7, 31)), (40, (1, 7, 31)), (40, (1,))])
def test_each_node_finds_its_feature_and_its_threshold(n_features, widths):
    forest, _ = random_forest(np.random.default_rng(n_features), 5, 6, n_features, 2, n_grid=12)
    bins = bins_of_forest(forest, widths)
    n_used = [len(table) for table in bins.tables]
    assert len(bins.feature) == sum(n_used)
    rows = [row for table in bins.tables for row in table]
    for tree, node in np.ndindex(forest.feature.shape):
        threshold = forest.threshold[tree, node]
        number, bin_ = bins.of_node[tree, node], bins.bin_of_node[tree, node]
        if threshold == np.inf:
            assert bin_ == 0
            continue
        assert bins.feature[number] == forest.feature[tree, node]
        assert rows[number][bin_ - 1] == float_key_on_host(np.float32(threshold))
    for row in rows:
        known = row[row < HIGHEST]
        assert (np.diff(known) > 0).all()
        assert (row[len(known) :] == HIGHEST).all()


def test_features_that_no_test_asks_for_have_no_place():
    forest, _ = random_forest(np.random.default_rng(0), 4, 3, 100, 2)
    bins = bins_of_forest(forest, (1, 7, 31))
    asked = np.unique(forest.feature[forest.threshold < np.inf])
    assert set(asked) <= set(bins.feature) <= {0, *asked}


def test_a_forest_without_tests_has_one_table_without_thresholds():
    forest, _ = random_forest(np.random.default_rng(0), 4, 3, 5, 2)
    forest = forest._replace(threshold=np.full_like(forest.threshold, np.inf))
    bins = bins_of_forest(forest, (1, 7, 31))
    assert [(table == HIGHEST).all() for table in bins.tables] == [True]
    assert not bins.bin_of_node.any()
