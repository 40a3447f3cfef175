"""The training table as learners see it: checked, converted, and counted."""

import warnings
from typing import Any, NamedTuple

import numpy as np

from lrrf_jax._features import as_features, column_names
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, as_names, as_weights, require_choice
from lrrf_jax.rankings.permutations import place_missing_last
from lrrf_jax.rankings.validation import require_rankings
from lrrf_jax.trees.xla import bucket_size


class TrainingTable(NamedTuple):
    """Rows that carry a preference, and the names of the columns."""

    features: NDArray  # float32 (n_samples, n_features), NaN: missing
    positions: NDArray  # float32 (n_samples, n_labels), NaN: missing; ties: order unknown
    weight: NDArray | None  # float64 (n_samples,); None: all 1
    row: NDArray  # int64 (n_samples,), their numbers in the user's table
    labels: list[str]
    feature_names: list[str] | None
    n_rows: int  # in the user's table
    complete: bool  # whether every ranking ranks every label

    def weight_of(self, rows: NDArray) -> NDArray | None:
        """Weights of some rows, ``None`` where all are 1."""
        return None if self.weight is None else self.weight[rows]


def training_table(
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    missing: str,
    feature_names: Any = None,
    labels: Any = None,
    needs_features: bool = True,
) -> TrainingTable:
    """Check everything that a user passes to ``fit``.

    Rows without a known preference, or of weight 0, are left out; the first kind is warned of.
    """
    require_choice(missing, "missing", ("unknown", "last"))
    features = as_features(X, none_will_do=not needs_features)
    n_rows = len(features)
    names = feature_names if feature_names is not None else column_names(X)
    if names is not None:
        names = as_names(names, features.shape[1], "feature", "feature_names")
    label_names = labels if labels is not None else column_names(y)
    positions = require_rankings(y, n_rows)
    n_labels = positions.shape[1]
    if label_names is None:
        label_names = [f"L{k + 1}" for k in range(n_labels)]
    label_names = as_names(label_names, n_labels, "label", "labels")
    _require_every_label(positions, label_names)
    weight = as_weights(sample_weight, n_rows)

    n_ranked = (~np.isnan(positions)).sum(1)
    informative = n_ranked >= (2 if missing == "unknown" else 1)
    if not informative.all():
        n_left_out = int((~informative).sum())
        warnings.warn(
            f"{n_left_out} of {n_rows} rows rank too few labels to prefer one to another; "
            "they are left out of training.",
            UserWarning,
            stacklevel=4,
        )
    kept = informative if weight is None else informative & (weight > 0)
    if not kept.any():
        raise InputError(
            "y must prefer one label to another in one row at least; every row ranks fewer than "
            'two labels. For top-k lists say missing="last".'
        )
    if missing == "last":
        positions = _place_missing_last(positions)
    return TrainingTable(
        features[kept],
        positions[kept],
        None if weight is None else weight[kept],
        np.flatnonzero(kept),
        label_names,
        names,
        n_rows,
        bool((n_ranked[kept] == n_labels).all()),
    )


def _place_missing_last(positions: NDArray) -> NDArray:
    padding = bucket_size(len(positions)) - len(positions)  # tables of like size share a program
    padded = np.pad(positions, ((0, padding), (0, 0)), constant_values=np.nan)
    return np.asarray(place_missing_last(padded))[: len(positions)]


def _require_every_label(positions: NDArray, labels: list[str]) -> None:
    absent = np.isnan(positions).all(0)
    if absent.any():
        first = labels[int(np.argmax(absent))]
        raise InputError(
            f"y must rank every label in one row at least; label '{first}' is missing in all "
            f"{len(positions)} rows ({absent.sum()} of {len(labels)} labels are). "
            "Leave that column out."
        )
