"""How good probabilities of pairs of labels are, given true rankings."""

from typing import Any

import numpy as np

from lrrf_jax._numbers import as_numbers
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.metrics._arguments import mean_or_rows
from lrrf_jax.rankings.pairwise import pair_indices, row_blocks
from lrrf_jax.rankings.validation import number_table, require_positions

_TOLERANCE = 1e-3  # of the sum of the two probabilities of a pair
_REMEDY = "Take `predict_pairwise` of a learner."


def brier_score(
    y_true: Any, pairwise: Any, sample_weight: Any = None, *, per_row: bool = False
) -> Any:
    """Return the mean squared error of the probabilities of pairs, in [0, 1], 0 = best.

    Of a row it is the mean of ``(p - 1)^2`` over the pairs that the truth knows, p the probability
    of what came true: .25 where every pair has one half. Pairs that the truth ties do not count,
    and neither do rows without another; p of a pair of which nothing is known (NaN) is one half.

    Parameters
    ----------
    y_true : array-like or DataFrame, shape (n_samples, n_labels)
        True positions, 1 = best, NaN = unknown, their columns in the order of ``labels_``.
    pairwise : array-like, shape (n_samples, n_labels, n_labels)
        Probabilities that label i comes before label j, at ``[row, i, j]``, as of
        `predict_pairwise`; those of the two directions of a pair sum to 1.
    sample_weight, per_row
        See `lrrf_jax.metrics`.

    Returns
    -------
    float, or ndarray float64 (n_samples,)

    Raises
    ------
    InputError
        For positions and weights as for all measures, and for what is no such array.

    Notes
    -----
    Brier 1950. It falls where probabilities tell more, and where they are better calibrated.

    Examples
    --------
    >>> brier_score([[1, 2, 3]], [[[0.5, 0.9, 0.4], [0.1, 0.5, 0.5], [0.6, 0.5, 0.5]]])
    0.20666666666666667
    """
    truth, probability = checked_pairs(y_true, pairwise)
    values = np.empty(len(truth))
    for rows in row_blocks(*truth.shape):
        known, hit = _came_true(truth[rows], probability[rows])
        error = np.where(known, (1 - hit) ** 2, 0).sum(axis=1)
        count = known.sum(axis=1)
        values[rows] = np.where(count > 0, error / np.maximum(count, 1), np.nan)
    return mean_or_rows(values, sample_weight, per_row, "y_true must prefer one label to another")


def checked_pairs(y_true: Any, pairwise: Any) -> tuple[NDArray, NDArray]:
    """Check true positions, float64, and probabilities of pairs, float32 or float64.

    Raises
    ------
    InputError
        See `brier_score`.
    """
    truth = number_table(y_true, "y_true", finite=True)
    require_positions(truth, "y_true")
    if len(truth) == 0:
        raise InputError("y_true must have one row at least; it has none.")
    probability = as_numbers(pairwise, "pairwise", remedy=_REMEDY)
    n_labels = truth.shape[1]
    if probability.shape != (len(truth), n_labels, n_labels):
        raise InputError(
            "pairwise must have the shape (n_samples, n_labels, n_labels), here "
            f"{(len(truth), n_labels, n_labels)}; it has {probability.shape}. {_REMEDY}"
        )
    require_probabilities(probability)
    return truth, probability


def require_probabilities(probability: NDArray) -> None:
    """Raise InputError for numbers (n_samples, n_labels, n_labels) that are no probabilities."""
    good = np.empty(len(probability), bool)
    first, second = pair_indices(probability.shape[1])
    for rows in row_blocks(len(probability), probability.shape[1]):
        one, other = probability[rows][:, first, second], probability[rows][:, second, first]
        fits = (one >= 0) & (one <= 1) & (np.abs(one + other - 1) <= _TOLERANCE)
        good[rows] = (fits | (np.isnan(one) & np.isnan(other))).all(axis=1)
    if not good.all():
        raise InputError(
            "pairwise must hold probabilities from 0 to 1, of which [row, i, j] and [row, j, i] "
            f"sum to 1; row {int(np.argmin(good))} does not ({(~good).sum()} of {len(good)} rows "
            f"fail). {_REMEDY}"
        )


def pairs_that_came_true(
    truth: NDArray, probability: NDArray
) -> tuple[NDArray, NDArray]:  # int64 (n_known,) rows, float64 (n_known,) probabilities
    """List the probability of what came true for each pair that the truth knows, row by row."""
    row, value = [np.empty(0, np.int64)], [np.empty(0)]
    for rows in row_blocks(*truth.shape):
        known, hit = _came_true(truth[rows], probability[rows])
        row.append(rows.start + np.nonzero(known)[0])
        value.append(hit[known])
    return np.concatenate(row), np.concatenate(value)


def _came_true(truth: NDArray, probability: NDArray) -> tuple[NDArray, NDArray]:
    """Tell which pairs are known, and the probability of the label that came first.

    bool and float64, both (n_samples, n_pairs).
    """
    first, second = pair_indices(truth.shape[1])
    ahead = np.sign(truth[:, second] - truth[:, first])  # NaN: unknown
    forward, back = probability[:, first, second], probability[:, second, first]
    hit = np.where(ahead > 0, forward, back).astype(np.float64)
    return np.abs(ahead) == 1, np.where(np.isnan(hit), 0.5, hit)
