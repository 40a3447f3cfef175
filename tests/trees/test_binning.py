"""Thresholds between the values of a feature, and the bins between them."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrrf_jax.trees.binning import (
    bin_features,
    bins_of_rows,
    candidate_bins,
    candidate_thresholds,
)

finite = st.floats(width=32, allow_nan=False, allow_infinity=False)


columns = st.lists(finite | st.just(np.nan), min_size=1, max_size=40).filter(
    lambda column: not np.isnan(column).all()
)


def column_of(values):
    return np.array(values, np.float32)[:, None]


def thresholds_of(x, most):
    row = candidate_thresholds(x, most)[0]
    return row[row < np.inf]


@pytest.mark.parametrize("max_thresholds", [1, 15, 255])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_bins_count_the_thresholds_at_or_below_a_value(max_thresholds, missing):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((300, 4)).astype(np.float32)
    x[:, 1] = rng.integers(0, 5, 300)
    x[:, 2] = 7
    x[rng.random(x.shape) < missing] = np.nan
    thresholds = candidate_thresholds(x, max_thresholds)
    bins = np.asarray(bin_features(x, thresholds))
    for j in range(4):
        real = thresholds[j][thresholds[j] < np.inf]
        assert len(real) <= max_thresholds
        assert (np.diff(real) > 0).all()
        for value, found in zip(x[:, j], bins[:, j], strict=True):
            last = thresholds.shape[1]
            assert found == (last if np.isnan(value) else np.sum(real <= value))
    if missing:
        assert (thresholds[:, 0] == -np.inf).all()
        assert bins[~np.isnan(x)].max() < thresholds.shape[1]


def test_few_values_keep_every_midpoint():
    x = np.array([[0.0], [1.0], [1.0], [4.0]], np.float32)
    thresholds = candidate_thresholds(x, 255)
    assert thresholds[0, :3].tolist() == [0.5, 2.5, np.inf]


def test_every_threshold_parts_the_rows():
    rng = np.random.default_rng(2)
    x = np.exp(rng.standard_normal((500, 3)) * 3).astype(np.float32)
    for column, row in zip(x.T, candidate_thresholds(x, 31), strict=True):
        real = row[row < np.inf]
        assert len(real) == 31
        shares = np.diff([0, *[(column < t).sum() for t in real], 500])
        assert shares.min() > 0
        assert shares.max() < 40  # nearly equal


def test_a_midpoint_of_neighbouring_floats_still_parts_them():
    low = np.float32(1)
    high = np.nextafter(low, np.float32(2))
    x = np.array([[low], [high]], np.float32)
    threshold = candidate_thresholds(x, 15)[0, 0]
    assert low < threshold <= high


def test_huge_values_do_not_overflow_the_midpoint():
    x = np.array([[3e38], [3.2e38]], np.float32)
    assert np.isfinite(candidate_thresholds(x, 15)[0, 0])


def test_all_missing_and_constant_columns_have_no_threshold_that_parts_numbers():
    x = np.array([[np.nan, 2], [np.nan, 2]], np.float32)
    thresholds = candidate_thresholds(x, 15)
    assert thresholds[0, 0] == -np.inf
    assert (thresholds[0, 1:] == np.inf).all()
    assert (thresholds[1] == np.inf).all()


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


def drawn_table(rng, n_features, n_rows=50, n_drawn=40):
    """Bins of a table, and some of its rows."""
    bins = rng.integers(0, 256, (n_rows, n_features)).astype(np.uint8)
    return bins, rng.integers(0, n_rows, n_drawn).astype(np.int32)


@pytest.mark.parametrize("n_features", [1, 5, 300])
def test_any_bin_of_a_row_is_found(n_features):
    rng = np.random.default_rng(n_features)
    bins, row = drawn_table(rng, n_features)
    for _ in range(3):
        feature = rng.integers(0, n_features, len(row)).astype(np.int32)
        looked_up = bins_of_rows(jnp.asarray(bins), jnp.asarray(row), jnp.asarray(feature))
        np.testing.assert_array_equal(looked_up, bins[row, feature])


@pytest.mark.parametrize(
    ("n_features", "n_candidates"),
    [(1, 1), (2, 2), (16, 5), (16, 16), (70, 7), (300, 9)],  # up to many words of candidates
)
def test_the_bins_of_every_candidate_are_those_of_its_node(n_features, n_candidates):
    rng = np.random.default_rng([n_features, n_candidates])
    bins, row = drawn_table(rng, n_features)
    n_nodes = 6
    candidates = np.array([rng.permutation(n_features)[:n_candidates] for _ in range(n_nodes)])
    slot = rng.integers(0, n_nodes, len(row)).astype(np.int32)
    bins_of = candidate_bins(*map(jnp.asarray, (bins, row, slot, candidates.astype(np.int32))))
    for k in range(n_candidates):
        np.testing.assert_array_equal(bins_of(jnp.int32(k)), bins[row, candidates[slot, k]])
