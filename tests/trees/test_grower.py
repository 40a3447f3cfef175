"""Grown trees against a plain grower that tries every candidate split of every node."""

import chex
import jax
import numpy as np
import pytest

from lrrf_jax.inference.traversal import find_leaves, forest_tests
from lrrf_jax.trees.class_criterion import ClassEntropy, SparseClassEntropy
from lrrf_jax.trees.draws import keys_of_trees
from lrrf_jax.trees.forest import invariant_violation
from lrrf_jax.trees.vector_criterion import Variance
from tests import tree_oracles
from tests.trees.cases import config_for, features_with_ties, samples_of, with_leaves_of
from tests.trees.growing import KEY, N_SAMPLES, check, class_table, grow, rows_drawn

leaves_of = jax.jit(find_leaves, static_argnames="depth")


@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("n_stages", [1, 3])
def test_entropy_splits_are_the_best_of_all_candidates(missing, n_stages):
    rng = np.random.default_rng([n_stages, int(100 * missing)])
    x = features_with_ties(rng, N_SAMPLES, 5, missing)
    noise = np.nan_to_num(x[:, :3], nan=2.0) + rng.standard_normal((N_SAMPLES, 3)) / 3
    classes = np.argsort(noise, 1).astype(np.int32)[:, :n_stages]
    classes[rng.random(classes.shape) < 0.1] = -1
    samples, thresholds = samples_of(x, classes)
    samples = with_leaves_of(2, samples)
    config = config_for(x, thresholds, ClassEntropy(3, n_stages))
    n_split, n_unsplit = check(
        x, samples, thresholds, config, lambda counts: tree_oracles.EntropyOracle(classes, counts)
    )
    assert n_split > 10
    assert n_unsplit > 0
    if missing:
        forest, _ = grow(samples, config)
        assert forest.missing_left.any()


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("signs", [False, True])
def test_variance_splits_are_the_best_of_all_candidates(masked, signs):
    rng = np.random.default_rng([masked, signs])
    x = features_with_ties(rng, N_SAMPLES, 5)
    values = np.sign(x[:, [1, 2, 4]] + rng.standard_normal((N_SAMPLES, 3))).astype(np.int32)
    if not signs:
        values *= rng.integers(1, 4, values.shape).astype(np.int32)
    observed = np.ones_like(values)
    if masked:
        observed = (rng.random(values.shape) < 0.6).astype(np.int32)
        values = values * observed
    stat = np.concatenate([values, observed], axis=1) if masked else values
    samples, thresholds = samples_of(x, stat)
    config = config_for(
        x, thresholds, Variance(3, masked, signs=signs), min_samples_split=5, max_depth=3
    )
    n_split, _ = check(
        x,
        samples,
        thresholds,
        config,
        lambda counts: tree_oracles.VarianceOracle(values, observed, counts),
    )
    assert n_split > 10


@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_raw_rows_reach_the_leaf_that_growth_put_them_in(splitter, missing):
    x, classes = class_table(1, missing)
    samples, thresholds = samples_of(x, classes)
    config = config_for(x, thresholds, ClassEntropy(3, 3), splitter=splitter, bootstrap=False)
    forest, _ = grow(samples, config, 3)
    leaves = np.asarray(leaves_of(forest_tests(forest), x, forest.depth))
    for t in range(3):
        slots = forest.leaf_slot[t][leaves[t]]
        assert (forest.leaf_value[slots, np.arange(N_SAMPLES)] == 1).all()
    assert (forest.leaf_value[:, :N_SAMPLES].sum(0) == 3).all()  # each row in one leaf of each tree
    assert len(forest.leaf_value) > 12


def test_random_splits_are_candidates_that_part_their_node_and_differ_from_best_ones():
    x, classes = class_table(2)
    samples, thresholds = samples_of(x, classes)
    config = config_for(x, thresholds, ClassEntropy(3), splitter="random", bootstrap=False)
    forest, _ = grow(samples, config, 4)
    for t in range(4):
        j, threshold = forest.feature[t, 0], forest.threshold[t, 0]
        assert threshold in thresholds[j]
        assert 0 < (x[:, j] >= threshold).sum() < N_SAMPLES
    assert (
        len(
            {
                (int(f), float(t))
                for f, t in zip(forest.feature[:, 0], forest.threshold[:, 0], strict=True)
            }
        )
        > 1
    )


def test_a_planted_tree_is_found_again():
    x, _ = class_table(3)
    planted = np.where(
        x[:, 1] >= 0, np.where(x[:, 2] >= 0.5, 0, 1), np.where(x[:, 4] >= -0.5, 2, 3)
    )
    samples, thresholds = samples_of(x, planted[:, None].astype(np.int32), max_thresholds=255)
    config = config_for(
        x, thresholds, ClassEntropy(4), n_candidates=5, bootstrap=False, max_depth=3
    )
    forest, _ = grow(samples, config, 1)
    leaves = np.asarray(leaves_of(forest_tests(forest), x, forest.depth))[0]
    for leaf in set(forest.leaf_slot[0][leaves]):
        assert len(set(planted[forest.leaf_slot[0][leaves] == leaf])) == 1


def test_an_increasing_map_of_a_feature_leaves_the_partition_unchanged():
    x, classes = class_table(4)
    partitions = []
    for table in (x, np.exp(x / 2).astype(np.float32)):
        samples, thresholds = samples_of(table, classes, max_thresholds=255)
        config = config_for(table, thresholds, ClassEntropy(3, 3))
        partitions.append(grow(samples, config, 2)[0].leaf_value)
    np.testing.assert_array_equal(*partitions)


@pytest.mark.parametrize(
    "criterion",
    [ClassEntropy(3, 3, separate_count=True), SparseClassEntropy(3)],
)
def test_a_whole_weight_counts_as_copies(criterion):
    x, classes = class_table(5, n_samples=40)
    weight = np.random.default_rng(0).integers(1, 4, 40).astype(np.int32)
    copies = np.repeat(np.arange(40), weight)
    assert len(copies) > 60
    forests = []
    for rows, weights in ((np.arange(40), weight), (copies, np.ones(len(copies), np.int32))):
        leaf_stat = np.ones((len(rows), 1), np.int32)
        samples, thresholds = samples_of(
            x[rows], classes[rows], weight=weights, leaf_stat=leaf_stat, max_thresholds=255
        )
        config = config_for(x, thresholds, criterion, bootstrap=False)
        forests.append(grow(samples, config, 2)[0])
    chex.assert_trees_all_equal(*forests)


def test_constant_features_give_one_leaf():
    x = np.ones((20, 3), np.float32)
    classes = (np.arange(20) % 2)[:, None].astype(np.int32)
    samples, thresholds = samples_of(x, classes)
    forest, gain = grow(samples, config_for(x, thresholds, ClassEntropy(2)), 2)
    assert (forest.threshold == np.inf).all()
    assert len(forest.leaf_value) == 2
    assert not gain.any()


def test_one_row_grows_one_leaf():
    x = np.array([[1.0, 2.0, 3.0]], np.float32)
    samples, thresholds = samples_of(x, np.zeros((1, 1), np.int32))
    forest, _ = grow(samples, config_for(x, thresholds, ClassEntropy(2)), 2)
    assert forest.leaf_value[:, 0].tolist() == [1, 1]


def test_depth_sixteen_keeps_leaves_that_exist_only():
    rng = np.random.default_rng(9)
    x = rng.standard_normal((N_SAMPLES, 5)).astype(np.float32)
    classes = rng.integers(0, 3, (N_SAMPLES, 1)).astype(np.int32)
    samples, thresholds = samples_of(x, classes, max_thresholds=255)
    config = config_for(
        x, thresholds, ClassEntropy(3), max_depth=16, n_candidates=5, bootstrap=False
    )
    forest, _ = grow(samples, config, 2)
    assert 8 < forest.depth <= 16
    assert forest.leaf_slot.shape == (2, 2**forest.depth)
    assert len(forest.leaf_value) < 2 * N_SAMPLES
    assert invariant_violation(forest, 5) is None
    leaves = np.asarray(leaves_of(forest_tests(forest), x, forest.depth))
    for t in range(2):  # noise is learnt by heart, as far as the depth goes
        pure = 0
        for leaf in set(leaves[t]):
            agree = len(set(classes[leaves[t] == leaf, 0])) == 1
            last_test = 2 ** (forest.depth - 1) - 1 + leaf // 2
            assert agree or (forest.depth == 16 and forest.threshold[t, last_test] < np.inf)
            pure += agree
        assert pure > 20


def test_leaves_hold_each_row_as_often_as_its_tree_drew_it():
    x, classes = class_table(1)
    samples, thresholds = samples_of(x, classes)
    forest, _ = grow(samples, config_for(x, thresholds, ClassEntropy(3, 3)), 3)
    keys = keys_of_trees(KEY, np.arange(3, dtype=np.int32))
    copies = rows_drawn(keys, N_SAMPLES)
    leaves = np.asarray(leaves_of(forest_tests(forest), x, forest.depth))
    n_slots = 0
    for t in range(3):
        held = forest.leaf_value[forest.leaf_slot[t][leaves[t]], np.arange(N_SAMPLES)]
        np.testing.assert_array_equal(held[copies[t] > 0], copies[t][copies[t] > 0])
        # Slots have the order of the leaves, tree after tree.
        own = forest.leaf_slot[t]
        assert own[0] == n_slots
        assert set(np.diff(own)) <= {0, 1}
        n_slots = own[-1] + 1
    assert n_slots == len(forest.leaf_value)
    assert forest.leaf_value.sum() == copies.sum()
    assert (copies == 0).any()
    assert (copies > 1).any()
