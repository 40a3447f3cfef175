"""Grown trees against a plain grower that tries every candidate split of every node."""

import dataclasses

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lrrf_jax import _devices
from lrrf_jax.trees import blocks, grower
from lrrf_jax.trees.criterion import ClassEntropy, SparseClassEntropy, Variance
from lrrf_jax.trees.forest import invariant_violation
from lrrf_jax.trees.traversal import find_leaves, forest_tests
from tests import tree_oracles
from tests.trees.cases import config_for, features_with_ties, samples_of
from tests.trees.growing import check, grow

N_SAMPLES = 110
leaves_of = jax.jit(find_leaves, static_argnames="depth")


class EntropyOracle:
    """Score of groups by the first stage in which the node's rows differ."""

    def __init__(self, classes, weight):
        self.classes, self.weight = classes, weight

    def stage(self, rows):
        for k in range(self.classes.shape[1]):
            if len(set(self.classes[rows, k]) - {-1}) > 1:
                return k
        return None

    def is_pure(self, rows):
        return self.stage(rows) is None

    def at(self, node_rows):
        stage = self.stage(node_rows) or 0
        return lambda rows: tree_oracles.entropy_score(self.classes[rows, stage], self.weight[rows])

    def counted(self, counts):
        def count(rows, node_rows):
            stage = self.stage(node_rows) or 0
            return counts[rows][self.classes[rows, stage] >= 0].sum()

        return count


class VarianceOracle:
    def __init__(self, values, observed, weight):
        self.values, self.observed, self.weight = values, observed, weight

    def is_pure(self, rows):
        values, observed = self.values[rows], self.observed[rows]
        if set(np.unique(values)) <= {-1, 0, 1}:
            return not (
                ((values > 0) & (observed > 0)).any(0) & ((values < 0) & (observed > 0)).any(0)
            ).any()
        return (values == values[0]).all() and (observed == observed[0]).all()

    def at(self, node_rows):
        return lambda rows: tree_oracles.variance_score(
            self.values[rows], self.observed[rows], self.weight[rows]
        )

    def counted(self, counts):
        return lambda rows, node_rows: counts[rows].sum()


@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("n_stages", [1, 3])
def test_entropy_splits_are_the_best_of_all_candidates(missing, n_stages):
    rng = np.random.default_rng([n_stages, int(100 * missing)])
    x = features_with_ties(rng, N_SAMPLES, 5, missing)
    noise = np.nan_to_num(x[:, :3], nan=2.0) + rng.standard_normal((N_SAMPLES, 3)) / 3
    classes = np.argsort(noise, 1).astype(np.int32)[:, :n_stages]
    classes[rng.random(classes.shape) < 0.1] = -1
    samples, thresholds = samples_of(x, classes)
    config = config_for(x, thresholds, ClassEntropy(3, n_stages), min_samples_leaf=2)
    n_split, n_unsplit = check(
        x, samples, thresholds, config, lambda counts: EntropyOracle(classes, counts)
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
        x, samples, thresholds, config, lambda counts: VarianceOracle(values, observed, counts)
    )
    assert n_split > 10


@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_sparse_entropy_splits_are_the_best_of_all_candidates(missing):
    rng = np.random.default_rng(7)
    x = features_with_ties(rng, N_SAMPLES, 5, missing)
    classes = rng.integers(0, 40, (N_SAMPLES, 1)).astype(np.int32)
    classes[:30] = 3
    samples, thresholds = samples_of(x, classes)
    config = config_for(x, thresholds, SparseClassEntropy(40))
    n_split, _ = check(
        x, samples, thresholds, config, lambda counts: EntropyOracle(classes, counts)
    )
    assert n_split > 10


def test_sparse_and_dense_entropy_grow_trees_of_equal_gain():
    rng = np.random.default_rng(8)
    x = features_with_ties(rng, N_SAMPLES, 5)
    classes = rng.integers(0, 6, (N_SAMPLES, 1)).astype(np.int32)
    samples, thresholds = samples_of(x, classes)
    gains = [
        grow(samples, config_for(x, thresholds, criterion))[1]
        for criterion in (ClassEntropy(6), SparseClassEntropy(6))
    ]
    np.testing.assert_allclose(gains[0][:, 0], gains[1][:, 0], atol=1e-2)
    assert (gains[0][:, 0] > 1).all()


def _table(seed=0, missing=0.0, n_samples=N_SAMPLES):
    rng = np.random.default_rng(seed)
    x = features_with_ties(rng, n_samples, 5, missing)
    signal = np.nan_to_num(x[:, [1, 2, 4]]) + rng.standard_normal((n_samples, 3)) / 2
    return x, np.argsort(signal, 1).astype(np.int32)


@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_raw_rows_reach_the_leaf_that_growth_put_them_in(splitter, missing):
    x, classes = _table(1, missing)
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
    x, classes = _table(2)
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
    x, _ = _table(3)
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
    x, classes = _table(4)
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
    x, classes = _table(5, n_samples=40)
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


@pytest.mark.parametrize(
    "criterion",
    [
        ClassEntropy(3, 3),
        pytest.param(Variance(3), marks=pytest.mark.slow),
        pytest.param(SparseClassEntropy(3), marks=pytest.mark.slow),
    ],
    ids=lambda criterion: type(criterion).__name__,
)
def test_threads_chunks_passes_and_layouts_do_not_change_a_tree(criterion, monkeypatch):
    x, classes = _table(6)
    samples, thresholds = samples_of(x, classes)
    config = config_for(x, thresholds, criterion, max_depth=6)
    monkeypatch.setattr(_devices, "thread_count", lambda: 1)
    reference = grow(samples, config, 5)
    others = [
        grow(samples, dataclasses.replace(config, histogram_bytes=1), 5),
        grow(samples, dataclasses.replace(config, search_bytes=1), 5),
        grow(samples, dataclasses.replace(config, short_sums=True), 5),
    ]
    monkeypatch.setattr(_devices, "thread_count", lambda: 4)
    others.append(grow(samples, config, 5))
    for forest, gain in others:
        np.testing.assert_array_equal(gain, reference[1])
        for one, other in zip(forest, reference[0], strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "criterion",
    [ClassEntropy(3, 3), pytest.param(SparseClassEntropy(3), marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("trees_at_once", [2])
def test_a_tree_does_not_depend_on_the_trees_it_grows_with(criterion, trees_at_once):
    x, classes = _table(7)
    samples, thresholds = samples_of(x, classes)
    config = config_for(x, thresholds, criterion)
    whole, gains = grow(samples, config, 5, trees_at_once=3)
    parts, part_gains = grow(samples, config, 5, trees_at_once=trees_at_once)
    np.testing.assert_array_equal(gains, part_gains)
    chex.assert_trees_all_equal(whole, parts)


def test_later_trees_do_not_depend_on_where_growth_started():
    x, classes = _table(8)
    samples, thresholds = samples_of(x, classes)
    config = config_for(x, thresholds, ClassEntropy(3, 3))
    whole, _ = grow(samples, config, 5)
    parts = blocks.join(grow(samples, config, 2)[0], grow(samples, config, 3, first_tree=2)[0])
    chex.assert_trees_all_equal(whole, parts)


@pytest.mark.parametrize("n_trees", [1, 3])
@pytest.mark.parametrize("depth", [1, 2, 5])
def test_nodes_go_level_by_level_with_the_trees_side_by_side_and_back(n_trees, depth):
    nodes = jnp.arange(n_trees * (2**depth - 1) * 2).reshape(n_trees, -1, 2)
    levels = [
        np.asarray(nodes[tree, 2**level - 1 + node])
        for level in range(depth)
        for tree in range(n_trees)
        for node in range(2**level)
    ]
    found = grower._by_level(nodes)
    np.testing.assert_array_equal(found, levels)
    np.testing.assert_array_equal(grower._by_tree(found, n_trees), nodes)


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
