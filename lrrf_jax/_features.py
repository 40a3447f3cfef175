"""Features as users pass them, arrays or data frames, to float32."""

import types
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lrrf_jax._categories import Category, CodedRows, categories_of, coded_features
from lrrf_jax._frames import column_names, counted, library_of, own_names
from lrrf_jax._names import difference, is_default
from lrrf_jax._numbers import as_numbers, is_sparse
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, warn_user

_REMEDY = (
    "Convert numbers that are written as text with numpy.asarray(X, float). Text is a category in "
    "a data frame, where no cell of the column reads as a number; give one."
)

_FLOAT32 = np.dtype(np.float32)


class Expected(NamedTuple):
    """The columns that a fitted model takes."""

    n_features: int
    names: Sequence[str] | None = None  # ``None`` where it was fitted without
    categories: Mapping[int, Any] = types.MappingProxyType({})  # of `Levels`, by column
    unseen: str = "error"  # what a level is that the model does not know: "error" or "missing"


class Features(NamedTuple):
    """Features as float32, with codes in place of categories."""

    values: NDArray  # float32 (n_samples, n_features), C-contiguous; NaN: missing
    # In rows to learn from: of each column of categories, by its number. Codes are their numbers.
    categories: dict[int, Category]


def as_features(
    X: Any, expected: Expected | None = None, *, none_will_do: bool = False, exact: bool = False
) -> Features:
    """Convert a table of features to float32, or to float64 where they are to be ``exact``.

    Parameters
    ----------
    X : array-like, sparse, or pandas, polars or pyarrow table, (n_samples, n_features)
        Numbers; NaN, None, null and ``pandas.NA`` stand for a missing value, and so does a cell
        that a NumPy mask hides. A cell that a sparse matrix does not store is 0. Of a data frame
        also categories: pandas' category, polars' Categorical and Enum, Arrow's dictionaries, and
        text of which no cell reads as a number.
    expected : Expected, optional
        What a fitted model takes. Categories get its codes, -1 for a level without training rows.
    none_will_do : bool
        Accept rows without features.

    Raises
    ------
    InputError
        For another shape, other columns or another order of them, text, infinities (or float64
        beyond float32), no rows, what is no table in memory, and a sparse table for which there is
        no memory.
    """
    names = None if expected is None else expected.names
    given = None
    found: dict[int, Category] = {}
    known: dict[int, NDArray] = {}
    if is_sparse(X):
        X = _dense(X)
    if isinstance(X, CodedRows):
        table = X.codes
    else:
        if type(X) is not np.ndarray:
            given = own_names(X, "X")
            if expected is not None:
                require_same_columns(X, names)
            found, known = _categories(X, expected, given)
        table = as_numbers(X, "X", remedy=_REMEDY, booleans=True, known=known)
        if expected is not None and expected.categories:
            _require_categories(table, expected, known, given)
    n_features = None if expected is None else expected.n_features
    if table.ndim != 2:
        raise InputError(
            f"X must have two dimensions, (n_samples, n_features); it has shape {table.shape}. "
            "Reshape your data: one row as X.reshape(1, -1), one feature as X.reshape(-1, 1)."
        )
    if len(table) == 0 or (table.shape[1] == 0 and not none_will_do):
        count, what = (len(table), "sample") if len(table) == 0 else (0, "feature")
        raise InputError(
            f"X must have a row and a feature at least; it has {count} {what}(s) "
            f"(shape={table.shape}) while a minimum of 1 is required. Of rankings without "
            "features only the learner 'default', the consensus, can make something."
        )
    if n_features is not None and table.shape[1] != n_features:
        raise InputError(
            f"X has {table.shape[1]} features, but predict is expecting {n_features} features as "
            "input, those that the model was fitted on. Select the same columns, in the same order."
        )
    features = np.ascontiguousarray(table, np.float64) if exact else _float32(table)
    bad = np.isinf(features)
    if np.count_nonzero(bad):  # a third of what `any` takes for one row
        row, column = np.argwhere(bad)[0]
        name = f"'{given[column]}'" if given else str(column)
        raise InputError(
            f"X must hold finite float32 numbers, or NaN for a missing value; "
            f"row {row}, column {name} is {table[row, column]} ({bad.any(1).sum()} of "
            f"{len(bad)} rows fail). Replace infinities with NaN or with a large number."
        )
    if given and n_features is not None and names is None and not is_default(X):
        warn_user(
            f"the features of the model have no names: the columns of X, '{given[0]}' and so on, "
            "are taken in their order. Fit with feature_names=... to have names decide."
        )
    return Features(features, found)


def _categories(
    X: Any, expected: Expected | None, names: list[str] | None
) -> tuple[dict[int, Category], dict[int, NDArray]]:
    """Find the categories of a frame, and their codes as numbers."""
    if library_of(X) is None:
        return {}, {}
    if expected is not None:
        found = categories_of(X, "X", list(expected.categories))
        return found, coded_features(found, expected.categories, names, expected.unseen)
    found = categories_of(X, "X")
    return found, {j: np.where(c.codes < 0, np.nan, c.codes) for j, c in found.items()}


def _require_categories(
    table: NDArray, expected: Expected, known: Mapping[int, Any], names: list[str] | None
) -> None:
    """Raise InputError where a model takes a category and a column holds numbers."""
    if table.ndim != 2 or table.shape[1] != expected.n_features:
        return  # which is told later
    for j, levels in expected.categories.items():
        numbers = ~np.isnan(table[:, j])
        if j in known or not numbers.any():
            continue
        column = j if names is None else repr(names[j])
        examples = ", ".join(map(repr, levels.names[:2])) or "none"
        row = int(np.argmax(numbers))
        raise InputError(
            f"X must hold a category in column {column}, with levels such as {examples}; "
            f"row {row} is the number {table[row, j]:g} ({numbers.sum()} of {len(table)} rows "
            "fail). Give a data frame with that column as text or as a category, in pandas with "
            '.astype("category").'
        )


def _dense(X: Any) -> NDArray:
    # First float32, which takes half the memory; of complex numbers `as_numbers` tells.
    narrow = X.dtype.kind in "biuf"
    try:
        with np.errstate(over="ignore"):
            return (X.astype(np.float32) if narrow else X).toarray()
    except MemoryError as error:
        cells = " x ".join(str(size) for size in X.shape)
        raise InputError(
            f"X must fit into memory as a dense table; its {cells} cells take "
            f"{4 * np.prod(X.shape, dtype=float) / 2**30:.1f} GiB. Pass fewer rows at a time, or "
            "fewer columns: OneHotEncoder(max_categories=...), or OrdinalEncoder."
        ) from error


def _float32(table: NDArray) -> NDArray:  # C-contiguous
    if table.dtype == _FLOAT32:
        return np.ascontiguousarray(table)
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(table, np.float32)


def require_same_columns(X: Any, names: Sequence[str] | None) -> None:
    """Raise InputError for a frame with other columns than a model's, or in another order.

    ``names`` are ``None`` where the model was fitted without.
    """
    given, expected = column_names(X, "X"), None if names is None else list(names)
    if given is None or given == expected:
        return
    remedy = "X[list(model.feature_names_in_)]"
    if expected is None:
        remedy = "X[sorted(X.columns)]"
        # Pandas numbers columns without names, and then knows them by these numbers.
        expected = counted(len(given))
        if given == expected or sorted(given) != sorted(expected):
            return
    elif own_names(X, "X") is None and sorted(given) != sorted(expected):
        return
    if sorted(given) == sorted(expected):
        at = next(j for j, name in enumerate(given) if name != expected[j])
        raise InputError(
            "X must have its columns in the order that the model was fitted on; column "
            f"{at} is '{given[at]}' and must be '{expected[at]}'. Reorder them: {remedy}."
        )
    raise InputError(
        f"X must have the {len(expected)} columns that the model was fitted on; "
        f"{difference(expected, given)}. Select them: X[list(model.feature_names_in_)]."
    )
