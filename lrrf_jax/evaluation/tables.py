"""The data sets that learners are compared on, checked."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from lrrf_jax._frames import column_names, library_of, own_names, row_count, take_rows
from lrrf_jax._names import made_up_labels, paired_order
from lrrf_jax._numbers import as_array, is_sparse
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, as_names, as_weights
from lrrf_jax.evaluation.folds import DEFAULT_FOLDS, Splits, as_splits
from lrrf_jax.rankings.ties import mean_places
from lrrf_jax.rankings.validation import require_rankings, require_scores

OF_RANKINGS, OF_SCORES = "rankings", "scores"
_FIELDS = ("X", "y", "sample_weight", "scores", "groups", "folds", "labels")


class Table(NamedTuple):
    """A data set, checked."""

    take: Callable[[NDArray], Any]  # rows of the features, a data frame kept as one
    rankings: NDArray  # float, (n_samples, n_labels), NaN: missing
    labels: tuple[str, ...]
    weight: NDArray | None = None  # float64 (n_samples,); None: all the same
    scores: NDArray | None = None  # float64 (n_samples, n_labels), NaN: unknown
    target: str = OF_RANKINGS  # what learners are fitted to
    splits: Splits = Splits(DEFAULT_FOLDS)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.rankings)


def as_table(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    scores: Any = None,
    groups: Any = None,
    folds: Any = None,
    labels: Any = None,
    seed: int = 0,
) -> Table:
    """Check the features, rankings or scores, weights, groups and folds of a data set."""
    take, n_samples = _rows(X)
    if y is None and scores is None:
        raise InputError(
            "y must hold rankings where there are no scores; it is None. Give y, or scores=."
        )
    named = scores if y is None else y
    table = None if scores is None else require_scores(scores, n_samples)
    if y is None:
        assert table is not None
        rankings = mean_places(-table).astype(np.float32)  # NaN where a score is unknown
    else:
        rankings = require_rankings(y, n_samples)
        if table is not None:
            table = _paired(y, rankings, scores, table)
    if not ((~np.isnan(rankings)).sum(1) > 1).any():
        what = "scores must know" if y is None else "y must rank"
        raise InputError(f"{what} two labels in one row at least; no row does.")
    n_labels = rankings.shape[1]
    names = own_names(named, "scores" if y is None else "y") or made_up_labels(n_labels)
    if labels is not None and library_of(named) is None:
        names = as_names(labels, n_labels, "label", "labels")
    weight = as_weights(sample_weight, n_samples)
    target = OF_SCORES if y is None else OF_RANKINGS
    splits = as_splits(folds, X, rankings, groups, seed)
    return Table(take, rankings, tuple(names), weight, table, target, splits)


def table_arguments(name: str, table: Any) -> dict[str, Any]:
    """Return the arguments of `as_table` for a table of a comparison.

    It is ``(X, y)``, ``(X, y, sample_weight)``, a mapping with these names and ``scores``,
    ``groups`` and ``folds``, or what a reader of `lrrf_jax.datasets` returns. Of the latter,
    scores are what learners are fitted to, where there are any.
    """
    if hasattr(table, "X") and hasattr(table, "y"):
        found = {field: getattr(table, field, None) for field in _FIELDS}
        if found["scores"] is not None:
            del found["y"]
    elif isinstance(table, Mapping):
        found = dict(table)
    elif isinstance(table, tuple | list) and len(table) in (2, 3):
        found = dict(zip(_FIELDS, table, strict=False))
    else:
        raise InputError(
            f"tables must map names to (X, y) or (X, y, sample_weight), to mappings with the names "
            f"{', '.join(_FIELDS)}, or to data of lrrf_jax.datasets; '{name}' is a "
            f"{type(table).__name__}."
        )
    unknown = [key for key in found if key not in _FIELDS]
    if unknown or "X" not in found:
        what = f"has {unknown[0]!r}" if unknown else "has no 'X'"
        raise InputError(
            f"tables must have the names {', '.join(_FIELDS)}, X always; '{name}' {what}."
        )
    return {key: value for key, value in found.items() if value is not None}


def _paired(y: Any, rankings: NDArray, scores: Any, table: NDArray) -> NDArray:
    order = paired_order(y, scores, "y", "scores")
    table = table if order is None else table[:, order]
    if table.shape != rankings.shape:
        raise InputError(
            f"y and scores must have the same shape; they have {rankings.shape} and {table.shape}."
        )
    return table


def _rows(X: Any) -> tuple[Callable[[NDArray], Any], int]:
    """Return the function that takes rows of ``X``, a data frame or sparse, and their number."""
    if library_of(X) is not None:
        column_names(X, "X")  # which are distinct
        return functools.partial(take_rows, X), row_count(X)
    if is_sparse(X) and len(X.shape) == 2:
        return X.tocsr().__getitem__, X.shape[0]
    table = as_array(X, "X")
    if table.ndim != 2:
        raise InputError(
            f"X must have two dimensions, (n_samples, n_features); it has shape {table.shape}."
        )
    return functools.partial(np.take, table, axis=0), len(table)
