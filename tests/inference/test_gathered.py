"""The accelerator's form of a forest, and its Pallas twin, against a plain loop."""

import jax
import numpy as np
import pytest

from lrrf_jax._backend import ACCELERATOR
from lrrf_jax.inference import fused, gathered
from lrrf_jax.inference.ready import find_leaves, make_ready, rows_at_once, sum_over_trees
from tests.tree_oracles import plain_sums, walk
from tests.trees.cases import awkward_rows, random_forest

sums_of = jax.jit(sum_over_trees, static_argnames="pallas")
leaves_of = jax.jit(find_leaves)

# depth, trees, features, outputs, thresholds per feature, lowest and highest leaf value
CASES = {
    "one test": (1, 1, 1, 2, 7, 1, 2),
    "three values a word": (4, 7, 3, 5, 7, 1, 5),
    "words looked up instead of chosen": (5, 3, 30, 4, 7, 1, 4),
    "signed values": (6, 5, 4, 6, 7, -4096, 4096),
    "sums beyond 16 bits": (5, 5, 4, 3, 7, 0, 20000),
    "254 thresholds a feature": (8, 8, 3, 3, 254, 1, 3),
    "255 thresholds a feature": (8, 8, 3, 3, 255, 1, 3),
    "1,000 thresholds a feature": (9, 8, 3, 3, 1000, 1, 3),
    "places beyond 16 bits": (16, 1, 4, 2, 7, 1, 2),
}


def case(name, n_rows=300):
    depth, n_trees, n_features, n_outputs, n_grid, lowest, highest = CASES[name]
    rng = np.random.default_rng([depth, n_features])
    bounds = {"n_grid": n_grid, "lowest": lowest, "highest": highest}
    forest, grid = random_forest(rng, n_trees, depth, n_features, n_outputs, **bounds)
    if n_grid > 7:  # each of them in use
        for feature in range(n_features):
            nodes = (forest.threshold < np.inf) & (forest.feature == feature)
            forest.threshold[nodes] = np.resize(grid[feature], nodes.sum())
    return forest, awkward_rows(rng, n_rows, grid)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("pallas", [False, True])
def test_both_forms_sum_what_a_plain_loop_sums(name, pallas):
    forest, x = case(name)
    ready = make_ready(forest, ACCELERATOR)
    assert isinstance(ready, gathered.GatheredForest)
    found = np.asarray(sums_of(ready, x, pallas=pallas))
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found[:100], plain_sums(x[:100], forest))
    np.testing.assert_array_equal(found, np.asarray(sums_of(make_ready(forest), x)))


@pytest.mark.parametrize("name", ["three values a word", "255 thresholds a feature"])
def test_leaves_are_those_of_a_plain_walk(name):
    forest, x = case(name)
    x[np.isinf(x)] = np.nan  # learners refuse them; below an unsplit node leaves share a slot
    found = np.asarray(leaves_of(make_ready(forest, ACCELERATOR), x))
    for tree in range(forest.n_trees):
        fields = forest.feature[tree], forest.threshold[tree], forest.missing_left[tree]
        expected = [walk(row, *fields, forest.depth) for row in x[:100]]
        np.testing.assert_array_equal(found[tree, :100], expected)


@pytest.mark.parametrize("pallas", [False, True])
def test_leaves_kept_by_slot_sum_to_the_same(pallas, monkeypatch):
    forest, x = case("three values a word")
    dense = make_ready(forest, ACCELERATOR)
    monkeypatch.setattr(gathered, "_MOST_DENSE_BYTES", 0)
    by_slot = make_ready(forest, ACCELERATOR)
    assert (dense.leaf_words.ndim, by_slot.leaf_words.ndim) == (3, 2)
    found = [np.asarray(sums_of(ready, x, pallas=pallas)) for ready in (dense, by_slot)]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("n_rows", [1, 255, 256, 257])
def test_the_pallas_form_takes_any_number_of_rows(n_rows):
    forest, x = case("words looked up instead of chosen", 257)
    ready = make_ready(forest, ACCELERATOR)
    found = np.asarray(sums_of(ready, x[:n_rows], pallas=True))
    np.testing.assert_array_equal(found, np.asarray(sums_of(ready, x))[:n_rows])
    assert fused._BLOCK_ROWS == 256


def test_a_forest_without_any_test_goes_to_its_leaves():
    forest, x = case("three values a word")
    none = forest._replace(threshold=np.full_like(forest.threshold, np.inf))
    ready = make_ready(none, ACCELERATOR)
    assert ready.thresholds.shape == (3, 0)
    last = forest.leaf_value[forest.leaf_slot[:, -1]].sum(0)
    assert (np.asarray(sums_of(ready, x)) == last).all()


def test_bins_take_a_byte_up_to_254_thresholds_and_two_beyond():
    for name, bits in (("254 thresholds a feature", 8), ("255 thresholds a feature", 16)):
        ready = gathered.gather_forest(case(name)[0])
        assert gathered.bin_bits(ready) == bits
        in_use = (ready.thresholds < 2**31 - 1).sum(axis=1)
        assert in_use.tolist() == 3 * [int(name.split()[0])]


def test_forests_of_too_many_features_for_a_word_are_walked():
    forest, x = case("one test")
    for largest, gathers in ((2**15 - 1, True), (2**15, False)):
        far = forest._replace(feature=np.full_like(forest.feature, largest))
        ready = make_ready(far, ACCELERATOR)
        assert isinstance(ready, gathered.GatheredForest) == gathers
        wide = np.pad(x[:20], ((0, 0), (largest, 0)))
        np.testing.assert_array_equal(np.asarray(sums_of(ready, wide)), plain_sums(wide, far))


def test_tiles_are_those_of_the_device():
    forest, _ = case("one test")
    assert rows_at_once(make_ready(forest)) == 2048
    assert rows_at_once(make_ready(forest, ACCELERATOR)) == 2**20
