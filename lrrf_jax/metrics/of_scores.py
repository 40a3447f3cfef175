"""Measures of the choices that predicted rankings lead to, given what every label is worth.

A ranking is judged by what is got by whoever takes its first label, or tries the first k and
keeps the best. Only labels of known score can be tried, and labels that the prediction ties are
tried in any order with the same chance: the measures are means over these orders, computed
exactly. A prediction that ties all labels so scores what a random order does on average.
"""

from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import require_choice
from lrrf_jax.metrics._arguments import (
    NEED_OF_SCORES,
    checked_scores,
    in_blocks,
    mean_or_rows,
    require_k,
)
from lrrf_jax.metrics._choices import best_of_first, discounted_gain
from lrrf_jax.rankings.validation import require_rows

GAINS = ("above-worst", "score", "exponential")


def utility(
    scores: Any, y_pred: Any, sample_weight: Any = None, *, k: int = 1, per_row: bool = False
) -> Any:
    """Return the mean score of the first label, or of the best of the first k.

    Parameters
    ----------
    scores, y_pred, sample_weight, per_row
        See `lrrf_jax.metrics`.
    k : int
        Labels that are tried, from 1 to n_labels; the best of them is kept.

    Returns
    -------
    float, or ndarray float64 (n_samples,)
        On the scale of the scores. Rows that know fewer than two scores leave no choice, and are
        left out.

    Raises
    ------
    InputError
        See `lrrf_jax.metrics`; for another ``k``, and for scores beyond 1e300.

    Examples
    --------
    >>> utility([[30, 75, 0], [20, 20, 60]], [[1, 2, 3], [3, 2, 1]])
    45.0
    >>> utility([[30, 75, 0], [20, 20, 60]], [[1, 2, 3], [3, 2, 1]], k=2)
    67.5
    """

    def value(table: NDArray, prediction: NDArray) -> NDArray:
        return best_of_first(table, prediction, k)

    return _measured(value, scores, y_pred, sample_weight, per_row, k)


def regret(
    scores: Any, y_pred: Any, sample_weight: Any = None, *, k: int = 1, per_row: bool = False
) -> Any:
    """Return the mean of what the choice falls short of the best known score, 0 = best.

    The choice is the first label, or the best of the first ``k``. Parameters and errors: see
    `utility`. Rows whose scores are all equal count, with 0.

    Examples
    --------
    >>> regret([[30, 75, 0], [20, 20, 60]], [[1, 2, 3], [3, 2, 1]])
    22.5
    """

    def value(table: NDArray, prediction: NDArray) -> NDArray:
        return short_of_best(table, prediction, k)

    return _measured(value, scores, y_pred, sample_weight, per_row, k)


def relative_regret(
    scores: Any, y_pred: Any, sample_weight: Any = None, *, k: int = 1, per_row: bool = False
) -> Any:
    """Return the mean of (best - got) / (best - worst), in [0, 1], 0 = best.

    As `regret`, with every row on a scale of its own; rows whose known scores are all equal are
    undefined. Parameters and errors: see `utility`.

    Examples
    --------
    >>> relative_regret([[30, 75, 0], [20, 20, 60]], [[1, 2, 3], [3, 2, 1]])
    0.3
    """

    def value(table: NDArray, prediction: NDArray) -> NDArray:
        best, worst = _ends(table)
        span = best - worst
        share = short_of_best(table, prediction, k) / np.where(span > 0, span, 1)
        return np.where(span > 0, share, np.nan)

    need = "scores must know two different scores"
    return _measured(value, scores, y_pred, sample_weight, per_row, k, need)


def ndcg_of_scores(
    scores: Any,
    y_pred: Any,
    sample_weight: Any = None,
    *,
    k: int | None = None,
    gains: str = "above-worst",
    per_row: bool = False,
) -> Any:
    """Return the normalised discounted cumulative gain with gains from scores, in [0, 1].

    The gain of a label is discounted by log2(1 + predicted place); the sum is divided by that of
    the best order (Järvelin and Kekäläinen 2002). Labels tied in the prediction share the mean of
    their discounts. With ``gains="score"`` as
    ``sklearn.metrics.ndcg_score(scores, -y_pred, k=k)``.

    Parameters
    ----------
    scores, y_pred, sample_weight, per_row
        See `lrrf_jax.metrics`. Rows whose known scores are all equal are undefined.
    k : int, optional
        Places that count, from 1 to n_labels; by default all.
    gains : {"above-worst", "score", "exponential"}
        "above-worst": the score less the worst known one of the row, which suits any scale.
        "score": the score itself, which must not be negative. "exponential": 2^score - 1, for
        grades of relevance from 0 to 60.

    Raises
    ------
    InputError
        See `lrrf_jax.metrics`; for other ``gains`` and ``k``, and for scores outside their range.

    Examples
    --------
    >>> round(ndcg_of_scores([[30, 75, 0]], [[1, 2, 3]]), 4)
    0.8232
    """
    require_choice(gains, "gains", GAINS)
    table, prediction = checked_scores(scores, y_pred)
    if k is not None:
        require_k(k, table.shape[1])
    _require_range(table, gains)

    def value(table: NDArray, prediction: NDArray) -> NDArray:
        known = ~np.isnan(table)
        best, worst = _ends(table)
        gain = {
            "above-worst": lambda: table - worst[:, None],
            "score": lambda: table,
            "exponential": lambda: np.exp2(table) - 1,
        }[gains]()
        gain = np.where(known, gain, 0)
        ideal = discounted_gain(gain, np.where(known, -table, np.nan), k)
        gained = discounted_gain(gain, np.where(known, prediction, np.nan), k)
        return np.where(best > worst, gained / np.where(ideal > 0, ideal, 1), np.nan)

    values = in_blocks(value, table, prediction)
    return mean_or_rows(values, sample_weight, per_row, "scores must know two different scores")


def _measured(
    value: Any,
    scores: Any,
    y_pred: Any,
    sample_weight: Any,
    per_row: bool,
    k: int,
    need: str = NEED_OF_SCORES,
) -> Any:
    table, prediction = checked_scores(scores, y_pred)
    require_k(k, table.shape[1])

    def of_choices(table: NDArray, prediction: NDArray) -> NDArray:
        return np.where(has_choice(table), value(table, prediction), np.nan)

    values = in_blocks(of_choices, table, prediction)
    return mean_or_rows(values, sample_weight, per_row, need)


def short_of_best(table: NDArray, prediction: NDArray, k: int) -> NDArray:
    """Walk on differences, so that what is as good as the best has a regret of exactly 0."""
    best, _ = _ends(table)
    return 0.0 - best_of_first(table - best[:, None], prediction, k)


def _ends(table: NDArray) -> tuple[NDArray, NDArray]:  # both float64 (n_samples,)
    """Best and worst known score of each row; 0 where none is known."""
    known = ~np.isnan(table)
    some = known.any(axis=1)
    best = np.where(known, table, -np.inf).max(axis=1)
    worst = np.where(known, table, np.inf).min(axis=1)
    return np.where(some, best, 0), np.where(some, worst, 0)


def has_choice(table: NDArray) -> NDArray:  # bool (n_samples,)
    """Tell rows that know two scores at least."""
    return (~np.isnan(table)).sum(axis=1) > 1


def _require_range(table: NDArray, gains: str) -> None:
    """Raise InputError for scores that are no gains."""
    spans = {"score": (0, np.inf), "exponential": (0, 60)}
    if gains in spans:
        low, high = spans[gains]
        span = "not be negative" if gains == "score" else "be grades from 0 to 60"
        require_rows(
            np.asarray((np.isnan(table) | ((table >= low) & (table <= high))).all(axis=1)),
            table,
            f"scores must {span} for gains={gains!r}",
            "Use gains='above-worst', which suits any scale.",
        )
