"""How predicted positions depend on one feature, the others being as they are."""

import importlib
from typing import Any, NamedTuple

import numpy as np

from lrrf_jax import _frames
from lrrf_jax._numbers import as_array, is_missing, is_sparse, shown
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_choice, require_integer
from lrrf_jax.metrics._arguments import checked_weight
from lrrf_jax.metrics.scorers import labels_of

_METHODS = {"positions": "predict", "scores": "predict_scores"}


class PartialDependence(NamedTuple):
    """Mean predictions of rows in which one feature was given one value after another."""

    feature: str
    values: NDArray  # (n_values,): numbers, or levels of a category
    mean: NDArray  # float64 (n_values, n_labels)
    labels: list[str]
    of: str  # "positions" or "scores"

    @property
    def of_levels(self) -> bool:
        """Tell whether the feature is a category."""
        return self.values.dtype.kind not in "iuf"

    def of_label(self, label: str) -> NDArray:  # float64 (n_values,)
        """Return the means of one label.

        Raises
        ------
        InputError
            For another label.
        """
        require_choice(label, "label", self.labels)
        return np.asarray(self.mean[:, self.labels.index(label)])


def partial_dependence(
    ranker: Any,
    X: Any,
    feature: str | int,
    *,
    of: str = "positions",
    sample_weight: Any = None,
    grid_resolution: int = 30,
) -> PartialDependence:
    """Average predictions of rows over values of one feature (Friedman 2001, section 8.2).

    All rows are ranked anew for each value, as ``sklearn.inspection.partial_dependence`` does by
    "brute", which knows no rankings, no missing values and no categories of the learners.

    Parameters
    ----------
    ranker : fitted label ranker, or pipeline or search that ends in one
    X : array-like or data frame, (n_samples, n_features)
        Rows of which the other features are taken, such as those of training.
    feature : str or int
        Column of ``X``, by name or number.
    of : {"positions", "scores"}
        What is averaged: positions, 1 = best; or scores, larger is better.
    sample_weight : array-like, (n_samples,), optional
        Weights of the rows in the mean.
    grid_resolution : int
        Most values of a number: quantiles from 5 % to 95 %; fewer where there are fewer different
        ones. Of a category, all levels in ``X``.

    Returns
    -------
    PartialDependence
        ``values`` and ``mean``, float64 (n_values, n_labels), beside ``labels`` and ``feature``.

    Raises
    ------
    InputError
        For a feature that is not there or has no value, and as `predict` does.

    Notes
    -----
    Costs ``n_values`` predictions of all rows. Values that go together with no other feature in
    the data are averaged too: where features depend on each other, read it with care.

    Examples
    --------
    >>> from lrrf_jax import LEARNERS
    >>> from lrrf_jax.datasets import load
    >>> X, y = load("iris").as_frames()
    >>> ranker = LEARNERS["lrt"](max_depth=3, random_state=0).fit(X, y)
    >>> found = partial_dependence(ranker, X, "petal length (cm)", grid_resolution=5)
    >>> found.mean.shape, found.labels
    ((5, 3), ['setosa', 'versicolor', 'virginica'])
    """
    require_choice(of, "of", tuple(_METHODS))
    require_integer(grid_resolution, "grid_resolution", 2)
    labels = labels_of(ranker)
    predict = getattr(ranker, _METHODS[of], None)
    if labels is None or predict is None:
        raise InputError(
            f"ranker must be a fitted label ranker that has {_METHODS[of]}; it is a "
            f"{type(ranker).__name__}. A pipeline has it as lrrf_jax.RankingPipeline(pipeline)."
        )
    X = X.toarray() if is_sparse(X) else X
    if _frames.library_of(X) is None:
        X = as_array(X, "X")
    column, name = column_of(ranker, X, feature)
    values = _values(X, column, name, grid_resolution)
    n_rows = len(X) if _frames.library_of(X) is None else _frames.row_count(X)
    weight = None if sample_weight is None else checked_weight(sample_weight, n_rows)
    mean = [np.average(predict(_with(X, column, value)), 0, weight) for value in values]
    return PartialDependence(name, values, np.array(mean, np.float64), labels, of)


def column_of(
    ranker: Any, X: Any, feature: str | int, argument: str = "feature"
) -> tuple[int, str]:
    """Find the number of a column and its name, or raise InputError for another."""
    names = _frames.own_names(X, "X")
    if names is None:
        names = [str(name) for name in getattr(ranker, "feature_names_in_", [])]
    n_columns = len(names) or np.shape(X)[1]
    if isinstance(feature, str) and feature in names:
        return names.index(feature), feature
    if isinstance(feature, int | np.integer) and not isinstance(feature, bool):
        number = int(feature)
        if 0 <= number < n_columns:
            return number, names[number] if names else str(number)
    listed = f", or one of {', '.join(names[:10])}" if names else ""
    raise InputError(
        f"{argument} must be the number of a column, 0 to {n_columns - 1}{listed}; it is "
        f"{shown(feature)}."
    )


def _values(X: Any, column: int, name: str, most: int) -> NDArray:
    """Quantiles of a column of numbers; the levels of a category."""
    if _frames.library_of(X) is None:
        cells = X[:, column]
    else:
        cells = _frames.column_arrays(X)[column]
    if cells.dtype.kind in "iuf":
        known = np.unique(cells[~np.isnan(cells)] if cells.dtype.kind == "f" else cells)
        if len(known) > most:
            every = cells[~np.isnan(cells)].astype(np.float64)
            known = np.unique(np.quantile(every, np.linspace(0.05, 0.95, most)))
    else:
        levels = sorted({cell for cell in cells.tolist() if not is_missing(cell)}, key=str)
        known = np.array(levels, object)
    if len(known) == 0:
        raise InputError(f"feature must have a value in one row at least; {name!r} has none.")
    return known


def _with(X: Any, column: int, value: Any) -> Any:
    """Return rows that all hold a value in a column."""
    library = _frames.library_of(X)
    if library is None:
        numeric = X.dtype.kind in "iuf" and isinstance(value, np.number)
        rows = X.astype(np.result_type(X, value)) if numeric else X.copy()
        rows[:, column] = value
        return rows
    value = value.item() if isinstance(value, np.generic) else value
    module = importlib.import_module(library)
    if library == _frames.PANDAS:
        rows = X.copy()
        rows[rows.columns[column]] = value
        return rows
    if library == _frames.POLARS:
        return X.with_columns(module.lit(value).alias(X.columns[column]))
    cells = module.array([value] * _frames.row_count(X))
    return X.set_column(column, X.column_names[column], cells)
