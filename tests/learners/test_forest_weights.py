"""What weights mean to a forest, and as what integers they are summed."""

import numpy as np
import pytest

from lrrf_jax import RandomForestLabelRanker
from lrrf_jax.learners._weights import integer_weights, largest_scale
from tests.learners.small_forests import SMALL, X, Y


def test_whole_weights_count_as_copies_without_bootstrap():
    weight = np.random.default_rng(0).integers(0, 4, 150)
    copies = np.repeat(np.arange(150), weight)
    parameters = {"bootstrap": False, "max_bins": "exact"}
    weighted = RandomForestLabelRanker(**SMALL, **parameters).fit(X, Y, weight)
    copied = RandomForestLabelRanker(**SMALL, **parameters).fit(X[copies], Y[copies])
    np.testing.assert_array_equal(weighted.predict(X), copied.predict(X))
    assert (weight == 0).any()


def test_a_heavy_row_wins_its_leaf():
    x = np.zeros((3, 1))
    y = np.array([[1, 2], [1, 2], [2, 1]])
    ranker = RandomForestLabelRanker(**SMALL, bootstrap=False)
    assert ranker.fit(x, y).predict(x)[0].tolist() == [1, 2]
    assert ranker.fit(x, y, [0.1, 0.1, 0.7]).predict(x)[0].tolist() == [2, 1]


def test_real_weights_become_integers_in_proportion():
    weight = np.array([0.25, 1.5, 3.7])
    found, scale = integer_weights(weight, 10_000)
    np.testing.assert_allclose(found / scale, weight, rtol=1e-3)
    assert found.sum() <= 10_000
    for unit in (1.0, 0.3):
        whole, scale = integer_weights(np.array([2.0, 5.0]) * unit, 100)
        assert whole.tolist() == [2, 5]
        assert scale == pytest.approx(1 / unit)
    nearly, scale = integer_weights(np.array([2.0, 5.0]), 100, binary=True)
    assert (nearly.tolist(), scale) == ([16, 40], 8.0)
    tiny, _ = integer_weights(np.array([1e-12, 1.0]), 1000)
    assert tiny.min() == 1
    assert largest_scale(1e6, 17) * 1e6 * 17 <= 2**30
    assert largest_scale(1e12, 17) == 1
