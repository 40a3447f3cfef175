"""The gap between the single best label and the oracle, the measure of algorithm selection."""

from typing import Any

import numpy as np

from lrrf_jax._frames import frame_like, library_of, take_rows
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.metrics._arguments import (
    NEED_OF_SCORES,
    checked_scores,
    checked_weight,
    in_blocks,
    mean_or_rows,
    score_table,
)
from lrrf_jax.metrics.of_scores import has_choice, short_of_best
from lrrf_jax.rankings.ties import mean_places


def single_best(scores: Any, sample_weight: Any = None) -> Any:
    """Rank the labels by their mean score: the choice of whoever looks at no features.

    Parameters
    ----------
    scores, sample_weight
        See `lrrf_jax.metrics`; of training rows, where it is the baseline for test rows.

    Returns
    -------
    ndarray, float64 (n_labels,), or DataFrame of one row
        Positions, 1 = best; equal means share the mean of their places, and so do, at the end,
        labels whose score no row of positive weight knows. A data frame gives one of its kind,
        with the same columns. It costs O(n_samples n_labels).

    Raises
    ------
    InputError
        For scores and weights that cannot be used, and where no score is known.

    Examples
    --------
    >>> single_best([[30, 75, 0], [20, 25, 60]])
    array([3., 1., 2.])
    """
    table = score_table(scores)
    weight = (
        np.ones(len(table)) if sample_weight is None else checked_weight(sample_weight, len(table))
    )
    known = ~np.isnan(table)
    of_label = (known * weight[:, None]).sum(axis=0)
    if not (of_label > 0).any():
        raise InputError("scores must know one score at least, in a row of positive weight.")
    totals = (np.where(known, table, 0) * weight[:, None]).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(of_label > 0, totals / of_label, -np.inf)
    positions = mean_places(-means[None])
    if library_of(scores) is None:
        return positions[0]
    return frame_like(take_rows(scores, np.zeros(1, np.int64)), positions)


def gap_closed(
    scores: Any,
    y_pred: Any,
    sample_weight: Any = None,
    *,
    single_best: Any = None,
    per_row: bool = False,
) -> float | NDArray:
    """Return how much of the gap between the single best label and the oracle is closed.

    ``(got - base) / (oracle - base)``, a ratio of means over all rows: ``got`` is the mean score
    of the first predicted label, ``base`` that of the single best label, ``oracle`` that of the
    best label of each row. 0 is as good as the single best, 1 as the oracle; negative is worse
    than the single best. Algorithm selection gives the gap that is left, one less this (Bischl et
    al. 2016, ASlib; Lindauer, van Rijn and Kotthoff 2019).

    Parameters
    ----------
    scores, y_pred, sample_weight
        See `lrrf_jax.metrics`.
    single_best : array-like or DataFrame, (n_labels,), (1, n_labels) or (n_samples, n_labels)
        Positions in which labels are tried without looking at features, such as `single_best` of
        the training rows: for all rows, or for each where rows come from several folds. By
        default that of ``scores``, chosen with hindsight: the strictest of all.
    per_row : bool
        If true, return what each row adds, float64 (n_samples,): their mean, weighted as the
        rows are, is the result. NaN where there is no gap.

    Raises
    ------
    InputError
        See `lrrf_jax.metrics`; and where the single best is as good as the oracle, so that there
        is no gap.

    Examples
    --------
    >>> runtimes = [[1, 9], [9, 1], [2, 8], [8, 2]]
    >>> gap_closed([[-r for r in row] for row in runtimes], [[1, 2], [2, 1], [2, 1], [2, 1]])
    0.5714285714285714
    """
    table, prediction = checked_scores(scores, y_pred)
    weight = np.ones(len(table))
    if sample_weight is not None:
        weight = checked_weight(sample_weight, len(table))
    base = _base_of(scores, table, weight, single_best)
    got_short, base_short = (_regrets(table, positions) for positions in (prediction, base))
    chosen = ~np.isnan(got_short) & (weight > 0)
    if not chosen.any():
        mean_or_rows(got_short, sample_weight, False, NEED_OF_SCORES)
    gap = np.average(base_short[chosen], weights=weight[chosen])
    if per_row:
        return (base_short - got_short) / gap if gap > 0 else np.full(len(table), np.nan)
    if gap == 0:
        raise InputError(
            "scores must be such that the single best label is not the best in every row; there "
            "is no gap to close. Use `regret`, which is 0 where every choice is the best."
        )
    gained = np.average((base_short - got_short)[chosen], weights=weight[chosen])
    return float(gained / gap)


def _base_of(scores: Any, table: NDArray, weight: NDArray, given: Any) -> NDArray:
    """Return positions in which labels are tried without features, (n_samples, n_labels)."""
    if given is None:
        given = single_best(table, weight if weight.any() else None)
    if library_of(given) is None and np.ndim(given) == 1:
        given = np.reshape(given, (1, -1))
    return checked_scores(scores, given, "single_best", or_one_row=True)[1]


def _regrets(table: NDArray, prediction: NDArray) -> NDArray:  # float64 (n_samples,)
    """Regret of the first choice, NaN where there is no choice."""

    def value(table: NDArray, prediction: NDArray) -> NDArray:
        return np.where(has_choice(table), short_of_best(table, prediction, 1), np.nan)

    return in_blocks(value, table, prediction)
