import numpy as np
import pytest

from lrrf_jax.trees.binning import bin_features, candidate_thresholds, resolve_max_bins
from lrrf_jax.trees.numerics import float_key, float_key_on_host

SPECIAL = np.array(
    [-np.inf, -3e38, -1.0, -1e-38, -1e-40, -0.0, 0.0, 1e-45, 1e-40, 1e-38, 1.0, 3e38, np.inf],
    np.float32,
)


def test_keys_order_all_floats_as_numpy_does():
    key = np.asarray(float_key(SPECIAL))
    assert ((key[:, None] >= key) == (SPECIAL[:, None] >= SPECIAL)).all()


@pytest.mark.parametrize("bits", [0x7FC00000, 0x7F800001, 0xFFC00000, 0xFF800001, 0xFFFFFFFF])
def test_every_nan_has_a_key_below_every_number(bits):
    value = np.array([bits], np.uint32).view(np.float32)
    assert np.isnan(value).all()
    assert (np.asarray(float_key(value)) < np.asarray(float_key(SPECIAL)).min()).all()
    assert float_key_on_host(value) == np.asarray(float_key(value))


def test_host_keys_are_the_keys_of_the_device():
    words = np.random.default_rng(0).integers(0, 2**32, 4096, np.uint32)
    values = np.concatenate([words.view(np.float32), SPECIAL])
    np.testing.assert_array_equal(float_key_on_host(values), np.asarray(float_key(values)))


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


def test_max_bins_means_thresholds():
    assert resolve_max_bins("exact", 10) == 255
    assert resolve_max_bins(7, 10) == 7
    assert resolve_max_bins("auto", 100) <= resolve_max_bins("auto", 100_000) <= 255
