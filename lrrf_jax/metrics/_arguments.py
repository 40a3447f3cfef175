"""What measures are given, checked; and what they return, a mean or a value for each row."""

from collections.abc import Callable
from typing import Any

import numpy as np

from lrrf_jax._names import paired_order
from lrrf_jax._numbers import VECTOR, as_numbers
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.rankings.pairwise import row_blocks
from lrrf_jax.rankings.validation import (
    number_table,
    require_positions,
    require_rows,
    require_scores,
)

NEED_OF_SCORES = "scores must know two labels"


def checked_rankings(y_true: Any, y_pred: Any) -> tuple[NDArray, NDArray]:
    """Return true and predicted positions, float64 (n_samples, n_labels), labels paired."""
    truth = number_table(y_true, "y_true", finite=True)
    prediction = _paired(y_true, truth, y_pred, "y_true")
    require_positions(truth, "y_true")
    _require_predictions(prediction, "y_pred")
    return truth, prediction


def checked_scores(
    scores: Any, y_pred: Any, name: str = "y_pred", *, or_one_row: bool = False
) -> tuple[NDArray, NDArray]:
    """Return scores and predicted positions, float64 (n_samples, n_labels), labels paired.

    One row of positions may stand for all, where ``or_one_row`` says so.
    """
    table = score_table(scores)
    prediction = _paired(scores, table, y_pred, "scores", name, or_one_row)
    _require_predictions(prediction, name)
    return table, prediction


def score_table(scores: Any) -> NDArray:  # float64 (n_samples, n_labels), NaN: unknown
    """Check what the labels are worth."""
    table = require_scores(scores)
    if len(table) == 0:
        raise InputError("scores must have one row at least; it has none.")
    return table


def checked_weight(sample_weight: Any, n_samples: int) -> NDArray:  # float64 (n_samples,)
    """Check weights of rows; they are scaled by a power of two."""
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


def require_k(k: Any, n_labels: int) -> None:
    """Raise InputError where ``k`` is no number of labels."""
    whole = isinstance(k, int | np.integer) and not isinstance(k, bool)
    if not whole or k not in range(1, n_labels + 1):
        raise InputError(
            f"k must be a whole number from 1 to {n_labels}, the number of labels; it is {k!r}."
        )


def in_blocks(
    value: Callable[[NDArray, NDArray], NDArray], truth: NDArray, prediction: NDArray
) -> NDArray:  # float64 (n_samples,)
    """Compute a value of each row, of few enough rows at a time."""
    values = np.empty(len(truth))
    for rows in row_blocks(*truth.shape):
        values[rows] = value(truth[rows], prediction[rows])
    return values


def mean_or_rows(values: NDArray, sample_weight: Any, per_row: bool, need: str) -> Any:
    """Return values of rows, or the mean of those that are not NaN; ``need`` says what has one."""
    weight = None if sample_weight is None else checked_weight(sample_weight, len(values))
    if per_row:
        return values
    defined = ~np.isnan(values)
    if not defined.any():
        raise InputError(
            f"{need} in one row at least; none of its "
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


def _paired(
    frame: Any,
    table: NDArray,
    y_pred: Any,
    argument: str,
    name: str = "y_pred",
    or_one_row: bool = False,
) -> NDArray:
    prediction = number_table(y_pred, name, finite=True)
    order = paired_order(frame, y_pred, argument, name)
    if order is not None:
        prediction = prediction[:, order]
    if or_one_row and prediction.shape == (1, table.shape[1]):
        prediction = np.broadcast_to(prediction, table.shape)
    if table.shape != prediction.shape:
        raise InputError(
            f"{argument} and {name} must have the same shape; they have "
            f"{table.shape} and {prediction.shape}. Give a row to each sample, a column to each "
            "label."
        )
    if len(table) == 0:
        raise InputError(f"{argument} must have one row at least; it has none.")
    return prediction


def _require_predictions(prediction: NDArray, name: str) -> None:
    n_labels = prediction.shape[1]
    require_rows(
        ((prediction >= 1) & (prediction <= n_labels)).all(axis=1),
        prediction,
        f"{name} must hold positions from 1 to {n_labels} for every label",
        "Convert scores with `rankings_from_scores`.",
    )
