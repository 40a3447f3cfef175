"""The search along sorted samples, against plain loops and the search over histograms."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lrrf_jax.trees import sorted_search
from lrrf_jax.trees.class_criterion import ClassEntropy, SparseClassEntropy, split_groups
from lrrf_jax.trees.growth import GrowthConfig, Samples, Sizes
from lrrf_jax.trees.nodes import make_plan
from lrrf_jax.trees.search import search_histograms
from lrrf_jax.trees.sorted_search import Runs, search_sorted, sort_samples
from tests import tree_oracles
from tests.trees.cases import N_ROWS, config_for, features_with_ties, samples_of
from tests.trees.growing import N_SAMPLES, best_gains, check, grow, level_arrays, search_level


def test_sums_along_each_slot_are_those_of_a_loop():
    rng = np.random.default_rng(1)
    n_drawn, n_slots = 90, 6
    slot = np.sort(rng.choice([0, 1, 3, 5, n_slots], n_drawn)).astype(np.int32)  # 2 and 4: empty
    sample = rng.permutation(n_drawn).astype(np.int32)
    sizes = np.bincount(slot, minlength=n_slots + 1).astype(np.int32)
    end = sizes.cumsum().astype(np.int32)
    values = rng.integers(-3, 4, n_drawn).astype(np.int32)  # of the samples

    def sums(values):
        return Runs(sample, np.zeros_like(slot), slot, end - sizes, end).sums([values])[0]

    low, whole, by_slot = jax.jit(sums)(values)
    there = values[sample]
    for place in range(n_drawn):
        own = slot == slot[place]
        assert low[place] == there[: place + 1][own[: place + 1]].sum()
        assert whole[place] == there[own].sum()
    for number in range(n_slots):
        assert by_slot[number] == there[slot == number].sum()


def test_pairs_of_numbers_are_sorted_alike_in_one_word_and_in_two():
    rng = np.random.default_rng(2)
    major, minor = rng.integers(0, 9, 200), rng.permutation(200)
    order = np.lexsort((minor, major))
    for n_major in (9, 2**26):  # 2**26 * 200 does not fit a word
        words = (jnp.asarray(numbers, jnp.int32) for numbers in (major, minor))
        found = sorted_search._sort_pairs(*words, n_major, 200)
        np.testing.assert_array_equal(found, [major[order], minor[order]])


@pytest.mark.parametrize("missing", [False, True])
def test_samples_are_sorted_by_each_feature_with_the_missing_last_then_first(missing):
    rng = np.random.default_rng(3)
    sizes = {"n_candidates": 2, "n_features": 3, "n_bins": 8}
    config = GrowthConfig(SparseClassEntropy(9), 4, has_missing=missing, **sizes)
    bins = rng.integers(0, 8, (30, 3)).astype(np.uint8)
    row = rng.integers(0, 30, 25).astype(np.int32)
    in_use = Sizes(*map(jnp.int32, (30, 3, 2, 7, 1)))
    samples = Samples(jnp.asarray(bins), None, None, None, None, in_use)
    place, sample = map(np.asarray, sort_samples(samples, jnp.asarray(row), config))
    assert place.shape == sample.shape == (1 + missing, 3 * 25)
    for side in range(1 + missing):
        for feature in range(3):
            own = slice(25 * feature, 25 * (feature + 1))
            value = bins[row, feature].astype(int)
            value = np.where(value == 7, -1, value) if side else value
            np.testing.assert_array_equal(sample[side, own], np.argsort(value, kind="stable"))
            np.testing.assert_array_equal(place[side, own][sample[side, own]], np.arange(25))


@pytest.mark.parametrize("missing", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", [6, 9])  # the least leaf size binds on either side
def test_gains_are_those_of_the_search_over_histograms_and_of_a_loop(missing, seed):
    rng = np.random.default_rng(seed)
    shape = {"n_candidates": 3, "n_features": 5, "n_bins": 16}
    sparse = GrowthConfig(SparseClassEntropy(6), 7, has_missing=missing, **shape)
    dense = dataclasses.replace(sparse, criterion=ClassEntropy(6))
    classes = rng.integers(0, 6, (N_ROWS, 1)).astype(np.int32)
    sizes = {0: 40, 1: 21, 2: 18, 3: 1, 4: 9}
    plan, arrays = level_arrays(rng, sparse, classes, sizes, least=9)
    samples, drawn, exists, candidates, _ = arrays
    at, copies = np.asarray(drawn.at), np.asarray(drawn.copies)
    classes = classes.copy()
    classes[at == 4] = 5  # rows are drawn in their order
    samples = samples._replace(stat=jnp.asarray(classes))
    label = split_groups(drawn.at * 6 + samples.stat[:, 0], drawn.copies > 0)
    arrays = samples, drawn._replace(label=label), *arrays[2:]
    found, _ = search_level(search_sorted, sparse, plan, arrays)

    dense_plan = make_plan(dense, 1, N_ROWS)
    assert dense_plan.n_slots == plan.n_slots
    drawn = drawn._replace(label=samples.stat[:, 0])
    dense_arrays = samples, drawn, exists, candidates, dense_plan.scratch
    other, _ = search_level(search_histograms, dense, dense_plan, dense_arrays)

    n_split = 0
    for slot, rows, gains in best_gains(
        sparse,
        arrays,
        lambda rows: tree_oracles.entropy_score(classes[rows, 0], copies[rows]),
        lambda rows: copies[rows].sum(),
    ):
        if slot in (3, 4):  # one sample; one class
            assert found.gain[slot] == -np.inf
            continue
        best, off = max(gains.values()), 1e-3 * copies[rows].sum()  # logarithms in whole steps
        assert found.gain[slot] == pytest.approx(best, abs=off)
        assert other.gain[slot] == pytest.approx(best, abs=off)
        chosen = found.feature[slot], found.edge[slot], bool(found.missing_left[slot])
        assert gains[chosen] >= best - off
        n_split += 1
    assert n_split == 3
    assert (found.gain[~np.asarray(exists)] == -np.inf).all()


@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_sparse_entropy_splits_are_the_best_of_all_candidates(missing):
    rng = np.random.default_rng(7)
    x = features_with_ties(rng, N_SAMPLES, 5, missing)
    classes = rng.integers(0, 40, (N_SAMPLES, 1)).astype(np.int32)
    classes[:30] = 3
    samples, thresholds = samples_of(x, classes)
    config = config_for(x, thresholds, SparseClassEntropy(40))
    n_split, _ = check(
        x, samples, thresholds, config, lambda counts: tree_oracles.EntropyOracle(classes, counts)
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
