"""Measures and calibration of probabilities of pairs, against loops over pairs."""

import itertools

import numpy as np
import pytest

from lrrf_jax import InputError
from lrrf_jax.metrics import apply_temperature, brier_score, fit_temperature

N_ROWS, N_LABELS = 40, 4


def table(seed=0, sharpness=1.0):
    """Rankings drawn pair by pair from utilities, some cells unknown or tied; probabilities."""
    rng = np.random.default_rng(seed)
    utility = 2 * rng.normal(size=(N_ROWS, N_LABELS))
    y = (-utility - rng.logistic(size=utility.shape)).argsort(1).argsort(1) + 1.0
    y[rng.random(y.shape) < 0.2] = np.nan
    y[3, :2] = 1
    y[5] = np.nan
    odds = sharpness * (utility[:, :, None] - utility[:, None, :])
    return y, (1 / (1 + np.exp(-odds))).astype(np.float32)


def loss_by_loop(y, probability, of_pair):
    rows = []
    for truth, p in zip(y, probability.tolist(), strict=True):
        pairs = [
            of_pair(p[i][j])
            for i, j in itertools.permutations(range(N_LABELS), 2)
            if truth[i] < truth[j]
        ]
        rows.append(pairs)
    return rows


def test_the_brier_score_is_the_mean_over_rows_of_the_mean_over_known_pairs():
    y, probability = table()
    probability[7, 0, 1] = probability[7, 1, 0] = np.nan
    known = np.where(np.isnan(probability), 0.5, probability)
    rows = loss_by_loop(y, known, lambda p: (1 - p) ** 2)
    expected = [np.mean(row) if row else np.nan for row in rows]
    found = brier_score(y, probability, per_row=True)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert np.isnan(found[5])
    assert brier_score(y, probability) == pytest.approx(np.nanmean(expected))
    weight = np.arange(N_ROWS)
    mean = np.average(np.nan_to_num(expected), weights=weight * ~np.isnan(expected))
    assert brier_score(y, probability, weight) == pytest.approx(mean)
    level = np.full_like(probability, 0.5)
    assert brier_score(y, level) == 0.25
    assert brier_score(np.nan_to_num(y, nan=4.0), level) == 0.25


@pytest.mark.parametrize("sharpness", [0.2, 5.0])
def test_the_temperature_has_the_least_log_loss_of_a_grid_and_calibrates(sharpness):
    y, probability = table(sharpness=sharpness)
    probability = np.clip(probability, 0.002, 0.998)

    def loss(temperature):
        calibrated = apply_temperature(probability, temperature)
        return sum(map(sum, loss_by_loop(y, calibrated, lambda p: -np.log(p))))

    temperature = fit_temperature(y, probability)
    assert (temperature < 0.9) == (sharpness < 1)
    losses = [loss(t) for t in temperature * np.exp(np.linspace(-1, 1, 21))]
    assert np.argmin(losses) == 10
    assert brier_score(y, apply_temperature(probability, temperature)) < brier_score(y, probability)
    twice = fit_temperature(np.r_[y, y[:20]], np.r_[probability, probability[:20]])
    weight = np.r_[np.full(20, 2.0), np.ones(N_ROWS - 20)]
    assert fit_temperature(y, probability, weight) == pytest.approx(twice, rel=1e-6)


def test_a_temperature_keeps_order_halves_and_what_is_unknown():
    _, probability = table()
    probability[0, 0, 1] = probability[0, 1, 0] = np.nan
    found = apply_temperature(probability, 0.5)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(np.isnan(found), np.isnan(probability))
    sure = ~np.isnan(probability)
    np.testing.assert_allclose((found + found.swapaxes(1, 2))[sure], 1, atol=1e-6)
    np.testing.assert_array_equal(found[sure] > 0.5, probability[sure] > 0.5)
    np.testing.assert_array_equal(np.diagonal(found, axis1=1, axis2=2), 0.5)


@pytest.mark.parametrize("measure", [brier_score, fit_temperature])
def test_what_are_no_probabilities_of_pairs_is_refused(measure):
    y, probability = table()
    with pytest.raises(InputError, match=r"here \(40, 4, 4\); it has \(40, 6\)"):
        measure(y, probability[:, 0, :1].repeat(6, axis=1))
    bad = probability.copy()
    bad[2, 0, 1] = 0.5 + bad[2, 0, 1] / 2
    with pytest.raises(InputError, match=r"sum to 1; row 2 does not \(1 of 40 rows fail\)"):
        measure(y, bad)
    with pytest.raises(InputError, match="y_true must hold positions from 1 to 4"):
        measure(y - 1, probability)
    with pytest.raises(InputError, match="y_true must (prefer|know)"):
        measure(np.full_like(y, np.nan), probability)
    with pytest.raises(InputError, match="sample_weight must have one number per row"):
        measure(y, probability, [1.0])


def test_other_temperatures_are_refused():
    _, probability = table()
    for bad in (0, -1, np.nan, "warm"):
        with pytest.raises(InputError, match="temperature must be"):
            apply_temperature(probability, bad)
    with pytest.raises(InputError, match=r"it has \(40, 4\)"):
        apply_temperature(probability[0:, 0], 1.0)
