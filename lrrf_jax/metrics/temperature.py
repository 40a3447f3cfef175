"""Probabilities of pairs made as sure as they are right: one number that scales all log odds."""

from typing import Any

import numpy as np

from lrrf_jax._numbers import as_numbers
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_number
from lrrf_jax.metrics._arguments import checked_weight
from lrrf_jax.metrics.of_pairs import (
    checked_pairs,
    pairs_that_came_true,
    require_probabilities,
)

_SUREST = 0.999  # what is surer counts as this: shares of trees are 1 where all agree
_RANGE = 1 / 50, 50.0
_HALVINGS = 40


def fit_temperature(y_true: Any, pairwise: Any, sample_weight: Any = None) -> float:
    """Find the temperature at which probabilities of pairs have the least log loss.

    Parameters
    ----------
    y_true, pairwise, sample_weight
        As in `brier_score`; of rows that the model has not seen, such as ``oob_pairwise_`` of a
        forest. Rows without a known probability are left out.

    Returns
    -------
    float
        For `apply_temperature`, from .02 to 50: below 1 where the probabilities are too timid, as
        those of forests often are, above 1 where they are too sure.

    Raises
    ------
    InputError
        As `brier_score`.

    Notes
    -----
    Guo et al., "On calibration of modern neural networks", ICML 2017. Every known pair counts
    alike. O(n_samples n_labels^2), 40 times.

    Examples
    --------
    >>> import numpy as np
    >>> said = np.array([[[0.5, 0.6], [0.4, 0.5]]] * 10)
    >>> temperature = fit_temperature([[1, 2]] * 9 + [[2, 1]], said)
    >>> round(temperature, 2), round(float(apply_temperature(said, temperature)[0, 0, 1]), 3)
    (0.18, 0.9)
    """
    truth, probability = checked_pairs(y_true, pairwise)
    row, hit = pairs_that_came_true(truth, probability)
    weight = 1.0 if sample_weight is None else checked_weight(sample_weight, len(truth))[row]
    # A probability of one half, which stands for an unknown one, has log odds of 0.
    odds = _log_odds(hit)
    if not np.any(odds * weight):
        raise InputError(
            "y_true must know a pair of which pairwise says something, in one row at least; "
            "there is none. Give rows that the model has not seen, and their rankings."
        )
    low, high = np.log(1 / _RANGE[1]), np.log(1 / _RANGE[0])
    for _ in range(_HALVINGS):  # the loss is convex in the inverse of the temperature
        middle = (low + high) / 2
        wrong = 1 / (1 + np.exp(np.exp(middle) * odds))
        too_timid = np.sum(weight * odds * wrong) > 0
        low, high = (middle, high) if too_timid else (low, middle)
    return float(np.exp(-(low + high) / 2))


def apply_temperature(pairwise: Any, temperature: float) -> NDArray:
    """Divide the log odds of probabilities of pairs by a temperature.

    Parameters
    ----------
    pairwise : array-like, shape (n_samples, n_labels, n_labels)
        As of `predict_pairwise`; NaN stays.
    temperature : float
        Above 0, as of `fit_temperature`.

    Returns
    -------
    float32 (n_samples, n_labels, n_labels)
        In the same order as before, but for those beyond .999, which count as .999.

    Raises
    ------
    InputError
        For what is no such array, and another temperature.

    Examples
    --------
    >>> apply_temperature([[[0.5, 0.75], [0.25, 0.5]]], 0.5).tolist()
    [[[0.5, 0.8999999761581421], [0.10000000149011612, 0.5]]]
    """
    require_number(temperature, "temperature")
    if not temperature > 0:
        raise InputError(
            f"temperature must be above 0; it is {temperature!r}. Find it with `fit_temperature`."
        )
    probability = as_numbers(pairwise, "pairwise", remedy="Take `predict_pairwise`.")
    if probability.ndim != 3 or probability.shape[1] != probability.shape[2]:
        raise InputError(
            "pairwise must have the shape (n_samples, n_labels, n_labels); it has "
            f"{probability.shape}. Take `predict_pairwise` of a learner."
        )
    require_probabilities(probability)
    odds = _log_odds(probability.astype(np.float64)) / temperature
    calibrated: NDArray = (0.5 * (1 + np.tanh(odds / 2))).astype(np.float32)
    return calibrated


def _log_odds(probability: NDArray) -> NDArray:  # float64
    clipped = np.clip(probability, 1 - _SUREST, _SUREST)
    odds: NDArray = np.log(clipped / (1 - clipped))
    return odds
