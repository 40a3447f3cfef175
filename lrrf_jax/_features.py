"""Features as users pass them, arrays or data frames, to float32."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lrrf_jax._frames import column_names, counted, own_names
from lrrf_jax._names import difference, is_default
from lrrf_jax._numbers import as_numbers, is_sparse
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, warn_user

_REMEDY = (
    "Convert numbers that are written as text with numpy.asarray(X, float); leave other text out, "
    "or encode it first, for example with sklearn.preprocessing.OrdinalEncoder."
)

_FLOAT32 = np.dtype(np.float32)


def as_features(
    X: Any,
    *,
    n_features: int | None = None,
    names: Sequence[str] | None = None,
    none_will_do: bool = False,
) -> NDArray:  # float32 (n_samples, n_features), C-contiguous
    """Convert a table of features to float32.

    Parameters
    ----------
    X : array-like, sparse, or pandas, polars or pyarrow table, (n_samples, n_features)
        Numbers; NaN, None, null and ``pandas.NA`` stand for a missing value, and so does a cell
        that a NumPy mask hides. A cell that a sparse matrix does not store is 0.
    n_features, names
        What a fitted model expects; ``n_features`` alone where it was fitted without names.
    none_will_do : bool
        Accept rows without features.

    Raises
    ------
    InputError
        For another shape, other columns or another order of them, text, infinities (or float64
        beyond float32), no rows, what is no table in memory, and a sparse table for which there is
        no memory.
    """
    if is_sparse(X):
        X = _dense(X)
    if type(X) is np.ndarray:
        given = None
    else:
        given = own_names(X, "X")
        if n_features is not None:
            require_same_columns(X, names)
    table = as_numbers(X, "X", remedy=_REMEDY, booleans=True)
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
    features = _float32(table)
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
    return features


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
