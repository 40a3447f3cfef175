"""Scores of predicted rankings, as users call them.

Each function takes ``(y_true, y_pred, sample_weight=None, *, per_row=False)``:

y_true : array-like or DataFrame, shape (n_samples, n_labels)
    True positions, 1 = best, NaN = unknown. A score looks only at the labels that the truth ranks.
y_pred : array-like or DataFrame, shape (n_samples, n_labels)
    Predicted positions, complete; ties are allowed. Where both are data frames, labels are
    paired by name, in the order of ``y_true``, and names that only one of them has are an error.
    An array has no names: its columns must be in the order of the other side, as those of
    `predict` are in that of ``labels_``. ``ranker.score`` knows the labels by name.
sample_weight : array-like of non-negative numbers, shape (n_samples,), optional
per_row : bool
    If true, return a float64 array (n_samples,) with NaN where the score is undefined.

The result is the mean over the rows in which the score is defined, a Python float. Rows without a
known pair of labels (two ranked labels that the truth does not tie) are left out. `InputError` is
raised if there is no other row, or if an argument has another form. Computed in float64 on the
host, in O(n_samples n_labels^2) time, in blocks of about 8 MB.

Examples
--------
>>> kendall_tau([[1, 2, float("nan"), 3]], [[2, 1, 3, 4]])
0.3333333333333333
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from lrrf_jax._names import paired_order
from lrrf_jax._numbers import VECTOR, as_numbers
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.rankings import distances
from lrrf_jax.rankings.pairwise import row_blocks
from lrrf_jax.rankings.permutations import places
from lrrf_jax.rankings.validation import number_table, require_positions, require_rows

__all__ = [
    "footrule_distance",
    "kendall_distance",
    "kendall_tau",
    "mean_reciprocal_rank",
    "ndcg",
    "spearman_distance",
    "spearman_rho",
    "tau_x",
    "top_k_accuracy",
    "weighted_tau",
]


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
    ways, else 0. Arguments: see `lrrf_jax.metrics`.
    """
    return _score(distances.tau_x, y_true, y_pred, sample_weight, per_row)


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
        if (
            isinstance(k, bool)
            or not isinstance(k, int | np.integer)
            or k not in range(1, truth.shape[1] + 1)
        ):
            raise InputError(
                f"k must be a whole number from 1 to {truth.shape[1]}, the number of labels; "
                f"it is {k!r}."
            )
        n_before, n_level = places(truth)
        in_top = (n_level == 1) & (n_before < k)
        hit = (in_top & (_predicted_place(truth, prediction) == n_before + 1)).sum(axis=1) == k
        return np.where(in_top.sum(axis=1) == k, hit.astype(np.float64), np.nan)

    return _score(score, y_true, y_pred, sample_weight, per_row)


def mean_reciprocal_rank(
    y_true: Any, y_pred: Any, sample_weight: Any = None, *, per_row: bool = False
) -> Any:
    """Return the mean of 1 / (predicted place of the best label), in (0, 1].

    The place is counted among the labels that the truth ranks; of tied labels in the prediction,
    the lower index comes first. Rows whose truth ties the best labels are undefined.
    Arguments: see `lrrf_jax.metrics`.
    """

    def score(truth: NDArray, prediction: NDArray) -> NDArray:
        n_before, n_level = places(truth)
        best = (n_level == 1) & (n_before == 0)
        place = np.where(best, _predicted_place(truth, prediction), 0).sum(axis=1)
        return np.where(place > 0, 1 / np.maximum(place, 1), np.nan)

    return _score(score, y_true, y_pred, sample_weight, per_row)


def ndcg(y_true: Any, y_pred: Any, sample_weight: Any = None, *, per_row: bool = False) -> Any:
    """Return the normalised discounted cumulative gain, in (0, 1].

    The gain of a label is m' less its place among the m' labels that the truth ranks (mean places
    for ties), the discount is log2(1 + predicted place); labels tied in the prediction share the
    mean of their discounts. As ``sklearn.metrics.ndcg_score(m - y_true, -y_pred)``. Arguments: see
    `lrrf_jax.metrics`.
    """

    def score(truth: NDArray, prediction: NDArray) -> NDArray:
        ranked = ~np.isnan(truth)
        n_before, n_level = places(truth)
        gain = ranked.sum(axis=1, keepdims=True) - n_before - (n_level + 1) / 2
        gain = np.where(ranked, gain, 0)
        discount = 1 / np.log2(np.arange(truth.shape[1]) + 2)
        cumulative = np.concatenate([[0], np.cumsum(discount)])

        def gained(positions: NDArray) -> NDArray:
            n_before, n_level = places(np.where(ranked, positions, np.nan))
            shared = cumulative[n_before + n_level] - cumulative[n_before]
            return (gain * shared / np.maximum(n_level, 1)).sum(axis=1)

        ideal = gained(truth)
        return np.where(ideal > 0, gained(prediction) / np.where(ideal > 0, ideal, 1), np.nan)

    return _score(score, y_true, y_pred, sample_weight, per_row)


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
    truth, prediction = _checked_rankings(y_true, y_pred)
    weight = None if sample_weight is None else _checked_weight(sample_weight, len(truth))
    values = np.empty(len(truth))
    for rows in row_blocks(*truth.shape):
        known = distances.n_known_pairs(truth[rows], prediction[rows]) > 0
        values[rows] = np.where(known, score(truth[rows], prediction[rows]), np.nan)
    if per_row:
        return values
    defined = ~np.isnan(values)
    if not defined.any():
        raise InputError(
            f"y_true must rank two labels without a tie in one row at least; none of its "
            f"{len(values)} rows has a defined score. Use per_row=True to look at the rows."
        )
    if weight is None:
        return float(np.mean(values[defined]))
    if weight[defined].sum() == 0:
        raise InputError(
            "sample_weight must be positive for one row at least that has a defined score; "
            f"it is 0 for all {defined.sum()} of them. Leave such rows out."
        )
    return float(np.average(values[defined], weights=weight[defined]))


def _checked_rankings(y_true: Any, y_pred: Any) -> tuple[NDArray, NDArray]:
    truth = number_table(y_true, "y_true", finite=True)
    prediction = number_table(y_pred, "y_pred", finite=True)
    order = paired_order(y_true, y_pred, "y_true", "y_pred")
    if order is not None:
        prediction = prediction[:, order]
    if truth.shape != prediction.shape:
        raise InputError(
            "y_true and y_pred must have the same shape; they have "
            f"{truth.shape} and {prediction.shape}. Give a row to each sample, a column to each "
            "label."
        )
    if len(truth) == 0:
        raise InputError("y_true must have one row at least; it has none.")
    n_labels = truth.shape[1]
    require_positions(truth, "y_true")
    require_rows(
        ((prediction >= 1) & (prediction <= n_labels)).all(axis=1),
        prediction,
        f"y_pred must hold positions from 1 to {n_labels} for every label",
        "Convert scores with `rankings_from_scores`.",
    )
    return truth, prediction


def _checked_weight(sample_weight: Any, n_samples: int) -> NDArray:  # float64 (n_samples,)
    remedy = "Give one number per row."
    weight = as_numbers(sample_weight, "sample_weight", form=VECTOR, remedy=remedy)
    weight = weight.astype(np.float64)
    if weight.shape != (n_samples,):
        raise InputError(
            f"sample_weight must have one number per row, shape ({n_samples},); "
            f"it has shape {weight.shape}."
        )
    require_rows(
        np.isfinite(weight) & (weight >= 0),
        weight,
        "sample_weight must hold finite numbers of at least 0",
        "Leave rows out by the weight 0.",
    )
    # Sums of very large ones would overflow. A power of two changes no bit of a mean.
    largest = weight.max(initial=0)
    return weight / 2.0 ** np.floor(np.log2(largest)) if largest > 0 else weight
