"""Measures that set a predicted ranking against the true one; see `lrrf_jax.metrics`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.metrics._arguments import checked_rankings, in_blocks, mean_or_rows, require_k
from lrrf_jax.metrics._choices import best_of_first, discounted_gain, reciprocal_place_of_first
from lrrf_jax.rankings import distances
from lrrf_jax.rankings.permutations import places


def kendall_tau(
    y_true: Any, y_pred: Any, sample_weight: Any = None, *, per_row: bool = False
) -> Any:
    """Return Kendall's tau, (concordant - discordant) / known pairs, in [-1, 1].

    A pair tied in the truth is unknown. A pair tied in the prediction counts 0 and stays in the
    denominator (tau-a), so a constant prediction scores 0. Arguments: see `lrrf_jax.metrics`.

    Examples
    --------
    >>> kendall_tau([[1, 2, 2, 3]], [[1, 2, 3, 4]])
    1.0
    """
    return _score(distances.kendall_tau, y_true, y_pred, sample_weight, per_row)


def kendall_distance(
    y_true: Any, y_pred: Any, sample_weight: Any = None, *, per_row: bool = False
) -> Any:
    """Return the number of known pairs that the prediction reverses, 0 = best.

    Arguments: see `lrrf_jax.metrics`.
    """
    return _score(distances.kendall_distance, y_true, y_pred, sample_weight, per_row)


def spearman_rho(
    y_true: Any, y_pred: Any, sample_weight: Any = None, *, per_row: bool = False
) -> Any:
    """Return Spearman's rank correlation, in [-1, 1]; ties share the mean of their places.

    Rows whose prediction ties all labels that the truth ranks are undefined. Arguments: see
    `lrrf_jax.metrics`.
    """
    return _score(distances.spearman_rho, y_true, y_pred, sample_weight, per_row)


def spearman_distance(
    y_true: Any, y_pred: Any, sample_weight: Any = None, *, per_row: bool = False
) -> Any:
    """Return the sum of squared differences of places, 0 = best.

    Both sides are ranked 1..m' among the labels that the truth ranks. Arguments: see
    `lrrf_jax.metrics`.
    """
    return _score(distances.spearman_distance, y_true, y_pred, sample_weight, per_row)


def footrule_distance(
    y_true: Any, y_pred: Any, sample_weight: Any = None, *, per_row: bool = False
) -> Any:
    """Return Spearman's footrule, the sum of absolute differences of places, 0 = best.

    Both sides are ranked 1..m' among the labels that the truth ranks. Arguments: see
    `lrrf_jax.metrics`.
    """
    return _score(distances.footrule_distance, y_true, y_pred, sample_weight, per_row)


def tau_x(y_true: Any, y_pred: Any, sample_weight: Any = None, *, per_row: bool = False) -> Any:
    """Return the tau of Emond and Mason 2002, in [-1, 1], for which a tie is a statement.

    A pair scores 1 where both sides order or tie it alike, -1 where they order it in opposite
    ways, else 0. So a row that ties all labels that it ranks has a score too; only rows that rank
    fewer than two are undefined. Arguments: see `lrrf_jax.metrics`.

    Examples
    --------
    >>> tau_x([[1.5, 1.5, 3], [2, 2, 2]], [[1, 2, 3], [2, 2, 2]])
    0.8333333333333333
    """
    truth, prediction = checked_rankings(y_true, y_pred)
    values = in_blocks(distances.tau_x, truth, prediction)
    return mean_or_rows(values, sample_weight, per_row, "y_true must rank two labels")


def weighted_tau(
    y_true: Any, y_pred: Any, sample_weight: Any = None, *, per_row: bool = False
) -> Any:
    """Return Kendall's tau with weight 1/r_i + 1/r_j on a pair at places r_i, r_j, in [-1, 1].

    Equals ``scipy.stats.weightedtau(-y_true, -y_pred)`` for rankings without ties (Vigna 2015).
    Arguments: see `lrrf_jax.metrics`.
    """
    return _score(distances.weighted_tau, y_true, y_pred, sample_weight, per_row)


def top_k_accuracy(
    y_true: Any, y_pred: Any, sample_weight: Any = None, *, k: int = 1, per_row: bool = False
) -> Any:
    """Return the share of rows whose k best labels are predicted exactly, in the right order.

    The prediction is read among the labels that the truth ranks; of tied labels in it, the lower
    index comes first. Rows whose truth does not tell the k best labels are undefined.
    Arguments: see `lrrf_jax.metrics`; ``k`` is at least 1 and at most n_labels.

    Examples
    --------
    >>> top_k_accuracy([[1, 2, 3], [1, 2, 3]], [[1, 3, 2], [2, 1, 3]])
    0.5
    """

    def score(truth: NDArray, prediction: NDArray) -> NDArray:
        require_k(k, truth.shape[1])
        n_before, n_level = places(truth)
        in_top = (n_level == 1) & (n_before < k)
        hit = (in_top & (_predicted_place(truth, prediction) == n_before + 1)).sum(axis=1) == k
        return np.where(in_top.sum(axis=1) == k, hit.astype(np.float64), np.nan)

    return _score(score, y_true, y_pred, sample_weight, per_row)


def mean_reciprocal_rank(
    y_true: Any, y_pred: Any, sample_weight: Any = None, *, per_row: bool = False
) -> Any:
    """Return the mean of 1 / (predicted place of the best label), in (0, 1].

    The place is counted among the labels that the truth ranks. Where the truth ties several labels
    at its top, the first of them counts; where the prediction ties labels, the mean over all of
    their orders (which predictions of ours, that are complete, never do). Arguments: see
    `lrrf_jax.metrics`.

    Examples
    --------
    >>> mean_reciprocal_rank([[1.5, 1.5, 3]], [[2, 3, 1]])
    0.5
    """

    def score(truth: NDArray, prediction: NDArray) -> NDArray:
        ranked = ~np.isnan(truth)
        place = reciprocal_place_of_first(_best(truth), np.where(ranked, prediction, np.nan))
        return np.where(ranked.any(axis=1), place, np.nan)

    return _score(score, y_true, y_pred, sample_weight, per_row)


def hit_rate(
    y_true: Any, y_pred: Any, sample_weight: Any = None, *, k: int = 1, per_row: bool = False
) -> Any:
    """Return the share of rows that have a best label among their k first predicted ones.

    The first k are counted among the labels that the truth ranks. Where the truth ties several
    labels at its top, any of them is a hit; where the prediction ties labels, a row counts with
    the share of their orders that hit. Arguments: see `lrrf_jax.metrics`; ``k`` is at least 1
    and at most n_labels.

    Examples
    --------
    >>> hit_rate([[1.5, 1.5, 3], [2, 3, 1]], [[2, 3, 1], [3, 2, 1]])
    0.5
    >>> hit_rate([[1.5, 1.5, 3], [2, 3, 1]], [[2, 3, 1], [3, 2, 1]], k=2)
    1.0
    """

    def score(truth: NDArray, prediction: NDArray) -> NDArray:
        require_k(k, truth.shape[1])
        value = np.where(np.isnan(truth), np.nan, _best(truth).astype(np.float64))
        return best_of_first(value, prediction, k)

    return _score(score, y_true, y_pred, sample_weight, per_row)


def ndcg(y_true: Any, y_pred: Any, sample_weight: Any = None, *, per_row: bool = False) -> Any:
    """Return the normalised discounted cumulative gain, in (0, 1].

    The gain of a label is m' less its place among the m' labels that the truth ranks (mean places
    for ties), the discount is log2(1 + predicted place); labels tied in the prediction share the
    mean of their discounts. As ``sklearn.metrics.ndcg_score(m - y_true, -y_pred)``. With gains
    from scores: `ndcg_of_scores`. Arguments: see `lrrf_jax.metrics`.
    """

    def score(truth: NDArray, prediction: NDArray) -> NDArray:
        ranked = ~np.isnan(truth)
        n_before, n_level = places(truth)
        gain = ranked.sum(axis=1, keepdims=True) - n_before - (n_level + 1) / 2
        gain = np.where(ranked, gain, 0)
        ideal = discounted_gain(gain, truth)
        gained = discounted_gain(gain, np.where(ranked, prediction, np.nan))
        return np.where(ideal > 0, gained / np.where(ideal > 0, ideal, 1), np.nan)

    return _score(score, y_true, y_pred, sample_weight, per_row)


def _best(truth: NDArray) -> NDArray:  # bool (n_samples, n_labels)
    """Tell the labels that the truth ranks first, tied or not."""
    n_before, n_level = places(truth)
    return (n_before == 0) & (n_level > 0)


def _predicted_place(truth: NDArray, prediction: NDArray) -> NDArray:  # int (n_samples, n_labels)
    """Place the labels that the truth ranks by the prediction, ties to the lower index."""
    keys = np.where(np.isnan(truth), np.inf, prediction)
    return 1 + np.argsort(np.argsort(keys, axis=1, kind="stable"), axis=1)


def _score(
    score: Callable[[NDArray, NDArray], Any],
    y_true: Any,
    y_pred: Any,
    sample_weight: Any,
    per_row: bool,
) -> Any:
    truth, prediction = checked_rankings(y_true, y_pred)

    def value(truth: NDArray, prediction: NDArray) -> NDArray:
        known = distances.n_known_pairs(truth, prediction) > 0
        return np.where(known, score(truth, prediction), np.nan)

    values = in_blocks(value, truth, prediction)
    need = "y_true must rank two labels without a tie"
    return mean_or_rows(values, sample_weight, per_row, need)
