"""The training table as learners see it: checked, converted, and counted."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lrrf_jax._categories import Category
from lrrf_jax._features import as_features, require_same_columns
from lrrf_jax._frames import PANDAS, library_of
from lrrf_jax._names import made_up_labels, names_beside
from lrrf_jax._numbers import VECTOR, as_numbers
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import (
    InputError,
    as_weights,
    require_choice,
    require_storable_names,
    warn_user,
)
from lrrf_jax._xla import bucket_size
from lrrf_jax.learners._coding import NO_CATEGORIES, Categories, Levels, recoded
from lrrf_jax.learners._weights import relative_weights
from lrrf_jax.rankings import statistics
from lrrf_jax.rankings.by_label import label_order
from lrrf_jax.rankings.permutations import place_missing_last
from lrrf_jax.rankings.ties import has_ties, mean_places
from lrrf_jax.rankings.validation import require_rankings, require_scores

_FEWEST_IDS = 20  # rows; in fewer, levels may all differ by chance


class TableShape(NamedTuple):
    """What settings depend on in a table."""

    n_samples: int
    n_features: int
    n_labels: int
    complete: bool  # whether every ranking orders every pair of labels


class TrainingTable(NamedTuple):
    """Rows that carry a preference, and the names of the columns."""

    features: NDArray  # float32 (n_samples, n_features), NaN: missing
    positions: NDArray  # float32 (n_samples, n_labels), NaN: missing; ties: order unknown
    weight: NDArray | None  # float64 (n_samples,), of mean 1; None: all equal
    row: NDArray  # int64 (n_samples,), their numbers in the user's table
    labels: list[str]
    feature_names: list[str] | None
    n_rows: int  # in the user's table
    complete: bool  # whether every ranking orders every pair of labels
    tied: bool = False  # whether rankings tie labels; not those that are missing, placed last
    scores: NDArray | None = None  # float64 (n_samples, n_labels), where these were given
    categories: Categories = NO_CATEGORIES  # of the features, where these are codes

    def weight_of(self, rows: NDArray) -> NDArray | None:
        """Weights of some rows, ``None`` where all are equal."""
        return None if self.weight is None else self.weight[rows]

    @property
    def label_order(self) -> NDArray:  # int64 (n_labels,)
        """The labels in an order that permuting the columns of ``y`` does not change.

        Where rankings tie labels, whatever is learnt from `positions` is learnt in this order, in
        which rounding, and what decides between equals, is the same wherever a column stands. It
        is the order of the columns without ties.
        """
        return statistics.label_order(self.positions, self.tied)

    @property
    def shape(self) -> TableShape:
        """Numbers of rows and columns, and whether labels are missing."""
        n_samples, n_features = self.features.shape
        return TableShape(n_samples, n_features, self.positions.shape[1], self.complete)


class KnownNames(NamedTuple):
    """What a fit that goes on called the columns."""

    features: list[str] | None
    labels: list[str]


def training_table(
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    scores: Any = None,
    missing: str,
    feature_names: Any = None,
    labels: Any = None,
    known: KnownNames | None = None,
    needs_features: bool = True,
) -> TrainingTable:
    """Check everything that a user passes to ``fit``.

    Rows without a known preference, or of weight 0, are left out; the first kind is warned of.
    With ``known`` names, columns must be theirs, and labels are brought into their order.
    """
    require_choice(missing, "missing", ("unknown", "last"))
    features, categories = as_features(X, none_will_do=not needs_features)
    n_rows, n_features = features.shape
    names = names_beside(feature_names, X, n_features, "feature", "feature_names")
    if scores is None:
        positions = require_rankings(y, n_rows)
    elif y is not None:
        raise InputError(
            "y must be left out where scores are given, which are ranked; it is not None. Give "
            "one of them."
        )
    else:
        scores, y = require_scores(scores, n_rows), scores
        positions = mean_places(-scores).astype(np.float32)
    warn_of_other_row_order(X, y)
    n_labels = positions.shape[1]
    label_names = names_beside(labels, y, n_labels, "label", "labels")
    if known is not None:
        require_same_columns(X, known.features)
        names = known.features if names is None else names
        if len(known.labels) == n_labels:
            order = label_order(y, known.labels, "the last fit")
            nameless = known.labels == made_up_labels(n_labels)
            if labels is not None and not nameless and label_names != known.labels:
                raise InputError(
                    f"labels must be those of the last fit with warm_start, {known.labels}; they "
                    f"are {label_names}. Leave them out."
                )
            if order is not None:
                positions = positions[:, order]
                scores = None if scores is None else scores[:, order]
            if order is not None or label_names is None or not nameless:
                label_names = known.labels
    label_names = made_up_labels(n_labels) if label_names is None else label_names
    require_storable_names(label_names, "labels")
    require_storable_names(names or [], "feature_names")
    _require_every_label(positions, label_names)
    if sample_weight is not None:
        remedy = "Give one number per row."
        sample_weight = as_numbers(sample_weight, "sample_weight", form=VECTOR, remedy=remedy)
    weight = as_weights(sample_weight, n_rows)

    n_ranked = (~np.isnan(positions)).sum(1)
    informative = n_ranked >= (2 if missing == "unknown" else 1)
    if not informative.all():
        n_left_out = int((~informative).sum())
        warn_user(
            f"{n_left_out} of {n_rows} rows rank too few labels to prefer one to another; "
            "they are left out of training."
        )
    kept = informative if weight is None else informative & (weight > 0)
    if not kept.any():
        raise InputError(
            "y must prefer one label to another in at least one row; every row ranks fewer than "
            'two labels. For top-k lists say missing="last".'
        )
    tied = has_ties(positions[kept])
    if missing == "last":
        positions = _place_missing_last(positions)
    if tied and not (np.nanmax(positions[kept], 1) > np.nanmin(positions[kept], 1)).any():
        raise InputError(
            "y must prefer one label to another in at least one row; every row ties all labels "
            "that it ranks. Check what was read as positions, or the tolerance of ties."
        )
    features, levels = _levels(features[kept], categories, names)
    return TrainingTable(
        features,
        positions[kept],
        None if weight is None else relative_weights(weight[kept]),
        np.flatnonzero(kept),
        label_names,
        names,
        n_rows,
        bool((n_ranked[kept] == n_labels).all()) and not tied,
        tied,
        None if scores is None else scores[kept],
        levels,
    )


def _levels(
    features: NDArray, categories: Mapping[int, Category], names: Sequence[str] | None
) -> tuple[NDArray, dict[int, Levels]]:
    """Give the levels that training rows have codes in the order of their names."""
    found = {}
    for j, category in categories.items():
        column = features[:, j]
        seen = np.unique(column[~np.isnan(column)]).astype(np.int64)
        has_rows = sorted(category.levels[code] for code in seen)
        place = {name: code for code, name in enumerate(has_rows)}
        features[:, j] = recoded(
            column, np.array([place.get(level, -1) for level in category.levels])
        )
        if not category.declared and len(has_rows) == len(features) >= _FEWEST_IDS:
            where = j if names is None else f"'{names[j]}'"
            warn_user(
                f"column {where} of X is a category that is another one in each of the "
                f"{len(features)} rows, as names and ids are. Leave the column out, or make it a "
                "category of its data frame if it is one."
            )
        empty = sorted(set(category.levels) - set(has_rows)) if category.declared else []
        found[j] = Levels(tuple(has_rows), tuple(empty))
    return features, found


def warn_of_other_row_order(X: Any, y: Any) -> None:
    """Warn where two pandas tables have the same row labels in different orders.

    Rows belong together by their order, as in scikit-learn: a table that was shuffled, and
    rankings that were made of it as an array, have such labels too, and rightly so.
    """
    if library_of(X) != PANDAS or library_of(y) != PANDAS:
        return
    rows, others = X.index, y.index
    if rows.equals(others):
        return
    if len(rows) == len(others) and rows.isin(others).all():
        warn_user(
            "the rows of X and y have the same labels in different orders; they are taken in their "
            "order, the first of X with the first of y. Write y.loc[X.index] where labels should "
            "decide."
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
            f"y must rank every label in at least one row; label '{first}' is missing in all "
            f"{len(positions)} rows ({absent.sum()} of {len(labels)} labels are). "
            "Leave that column out."
        )
