"""Thresholds, bins and forests: what no order of rows, trees or values changes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lrrf_jax._xla import bucket_size
from lrrf_jax.learners._weights import integer_weights
from lrrf_jax.trees.binning import bin_features, candidate_thresholds
from lrrf_jax.trees.blocks import Grown, join, take_trees
from lrrf_jax.trees.forest import invariant_violation, is_split, node_levels
from lrrf_jax.trees.numerics import float_key_on_host
from tests.tree_oracles import plain_sums
from tests.trees.cases import awkward_rows, random_forest

finite = st.floats(width=32, allow_nan=False, allow_infinity=False)
columns = st.lists(finite | st.just(np.nan), min_size=1, max_size=40).filter(
    lambda column: not np.isnan(column).all()
)
seeds = st.integers(0, 2**32 - 1)


def column_of(values):
    return np.array(values, np.float32)[:, None]


def thresholds_of(x, most):
    row = candidate_thresholds(x, most)[0]
    return row[row < np.inf]


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=2, max_size=20))
def test_keys_order_any_floats_as_numpy_does(values):
    values = np.array(values, np.float32)
    key = float_key_on_host(values)
    assert ((key[:, None] >= key) == (values[:, None] >= values)).all()


@given(columns, st.sampled_from([1, 2, 15, 255]))
def test_thresholds_rise_are_few_and_part_the_known_values(values, most):
    x = column_of(values)
    found = thresholds_of(x, most)
    missing = np.isnan(x).any()
    known = np.unique(x[~np.isnan(x)])
    assert len(found) <= most
    assert (found[1:] > found[:-1]).all()
    assert missing == (len(found) > 0 and found[0] == -np.inf)
    between = found[1:] if missing else found
    bins = np.searchsorted(between, known, side="right")
    assert len(np.unique(bins)) == len(between) + 1  # each parts some of the values
    if len(known) - 1 <= most - missing:
        assert len(between) == len(known) - 1


@given(columns, st.sampled_from([2, 15]), st.randoms(use_true_random=False))
def test_thresholds_do_not_depend_on_the_order_of_the_rows(values, most, random):
    moved = list(values)
    random.shuffle(moved)
    expected = candidate_thresholds(column_of(values), most)
    np.testing.assert_array_equal(candidate_thresholds(column_of(moved), most), expected)


@given(
    st.lists(st.floats(-1e6, 1e6, width=32).filter(lambda v: v == 0 or abs(v) > 1e-6), min_size=2),
    st.integers(-60, 60),
)
def test_thresholds_scale_exactly_with_powers_of_two(values, exponent):
    x = column_of(values)
    scale = np.float32(2.0**exponent)
    np.testing.assert_array_equal(thresholds_of(x * scale, 15), thresholds_of(x, 15) * scale)


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=40))
def test_an_increasing_map_leaves_the_bins_of_the_rows_that_made_them(values):
    x = np.zeros((40, 1), np.float32)
    x[:, 0] = np.resize(values, 40)
    expected = None
    for mapped in (x, 3 * x - 1, x**3, np.exp(x / 16)):
        bins = np.asarray(bin_features(mapped, candidate_thresholds(mapped, 255)))
        expected = bins if expected is None else expected
        np.testing.assert_array_equal(bins, expected)


@given(columns, st.lists(finite, min_size=1, max_size=8))
def test_a_value_is_at_or_above_a_threshold_if_and_only_if_its_bin_is_beyond_it(values, others):
    x = np.full((64, 1), np.nan, np.float32)
    x[: len(values), 0], x[-len(others) :, 0] = values, others
    thresholds = candidate_thresholds(column_of(values), 15)
    bins = np.asarray(bin_features(x, thresholds))[:, 0]
    known = ~np.isnan(x[:, 0])
    left = x[known] >= thresholds[0]
    assert (left == (bins[known, None] > np.arange(thresholds.shape[1])))[
        :, thresholds[0] < np.inf
    ].all()
    assert (bins[~known] == thresholds.shape[1]).all()


@given(seeds, st.integers(1, 4))
def test_trees_taken_apart_and_joined_sum_to_the_same(seed, n_first):
    rng = np.random.default_rng(seed)
    forest, grid = random_forest(rng, 5, 3, 4, 3)
    grown = Grown(forest, rng.random(forest.feature.shape).astype(np.float32))
    parts = [take_trees(grown, 0, n_first), take_trees(grown, n_first, 5)]
    x = awkward_rows(rng, 8, grid)
    sums = plain_sums(x, forest)
    np.testing.assert_array_equal(sum(plain_sums(x, part.forest) for part in parts), sums)
    joined = join(*(part.forest for part in parts))
    assert invariant_violation(joined, 4) is None
    np.testing.assert_array_equal(plain_sums(x, joined), sums)
    backwards = join(*(part.forest for part in reversed(parts)))
    np.testing.assert_array_equal(plain_sums(x, backwards), sums)
    gains = np.concatenate([node_levels(part.gain, forest.depth, 0) for part in parts])
    split = is_split(forest)
    np.testing.assert_array_equal(gains[split], grown.gain[split])


@given(seeds)
def test_a_node_below_one_that_is_not_split_is_not_split(seed):
    forest, _ = random_forest(np.random.default_rng(seed), 3, 4, 4, 2)
    split = is_split(forest)
    for node in range(1, split.shape[1]):
        assert (split[:, (node - 1) // 2] | ~split[:, node]).all()


@given(st.integers(1, 2**31), st.sampled_from([1, 2, 4, 8]), st.sampled_from([1, 64]))
def test_buckets_hold_what_they_are_for_and_waste_little(size, per_octave, least):
    bucket = bucket_size(size, per_octave, least)
    assert bucket >= max(size, least)
    assert bucket == least or bucket <= size * (1 + 1 / per_octave)
    assert bucket_size(bucket, per_octave, least) == bucket


@given(
    st.lists(st.floats(1e-12, 1e12) | st.integers(1, 10**6), min_size=1, max_size=30),
    st.sampled_from([2**10, 2**30]),
)
def test_weights_become_whole_numbers_with_a_sum_that_fits(weights, most):
    weight = np.array(weights, float)
    whole, scale = integer_weights(weight, most)
    assert whole.min() >= 1
    assert whole.sum(dtype=np.int64) <= most
    if scale == 1 and (weight == np.round(weight)).all():
        assert whole.tolist() == weight.tolist()
    # The error is half a unit, but for weights too small to count.
    assert (np.abs(whole - weight * scale) <= 1).all()
