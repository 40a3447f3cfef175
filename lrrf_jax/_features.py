"""Features as users pass them, arrays or data frames, to float32."""

import difflib
from collections.abc import Sequence
from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError


def column_names(table: Any) -> list[str] | None:
    """Names of the columns of a pandas, polars or pyarrow table; ``None`` for other input."""
    if isinstance(table, np.ndarray):
        return None
    import narwhals.stable.v1 as nw  # here, so that arrays need jax, numpy and scikit-learn only

    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return None
    names = list(frame.columns)
    return names if all(isinstance(name, str) for name in names) else None


def as_features(
    X: Any,
    *,
    n_features: int | None = None,
    names: Sequence[str] | None = None,
) -> NDArray:  # float32 (n_samples, n_features), C-contiguous
    """Convert a table of features to float32.

    Parameters
    ----------
    X : array-like or pandas, polars or pyarrow table, (n_samples, n_features)
        Numbers; NaN, null and ``pandas.NA`` stand for a missing value.
    n_features, names
        What a fitted model expects.

    Raises
    ------
    InputError
        For another shape, other columns, text, infinities (or float64 beyond float32), no rows.
    """
    given = column_names(X)
    if names is not None and given is not None:
        _require_same_columns(list(names), given)
    table = _numbers(X, given)
    if table.ndim != 2:
        raise InputError(
            f"X must have two dimensions, (n_samples, n_features); it has shape {table.shape}. "
            "Reshape your data: one row as X.reshape(1, -1), one feature as X.reshape(-1, 1)."
        )
    if 0 in table.shape:
        count, what = (len(table), "sample") if len(table) == 0 else (0, "feature")
        raise InputError(
            f"X must have a row and a feature at least; it has {count} {what}(s) "
            f"(shape={table.shape}) while a minimum of 1 is required."
        )
    if n_features is not None and table.shape[1] != n_features:
        raise InputError(
            f"X must have the {n_features} features that the model was fitted on; "
            f"it has {table.shape[1]}. Select the same columns, in the same order."
        )
    with np.errstate(over="ignore"):
        features = np.ascontiguousarray(table, np.float32)
    bad = np.isinf(features)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        name = f"'{given[column]}'" if given else str(column)
        raise InputError(
            f"X must hold finite float32 numbers, or NaN for a missing value; "
            f"row {row}, column {name} is {table[row, column]} ({bad.any(1).sum()} of "
            f"{len(bad)} rows fail). Replace infinities with NaN or with a large number."
        )
    return features


def _numbers(X: Any, names: list[str] | None) -> NDArray:
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise InputError("X must be dense; it is a sparse matrix. Convert it with X.toarray().")
    if names is not None:
        return _frame_numbers(X)
    try:
        table = np.asarray(X)
    except ValueError as error:
        raise InputError("X must be a table; its rows have different lengths.") from error
    if table.dtype.kind == "c":
        raise InputError("X must hold real numbers; Complex data not supported.")
    if table.dtype.kind in "biuf":
        return table
    try:
        missing = np.array([_is_missing(cell) for cell in table.ravel()]).reshape(table.shape)
        return np.where(missing, np.nan, table).astype(np.float64)
    except (TypeError, ValueError):
        row, column = next(
            at for at in np.ndindex(table.shape) if not missing[at] and not _is_number(table[at])
        )
        raise InputError(
            f"X must hold numbers; row {row}, column {column} is {table[row, column]!r}. "
            "Encode text first, for example with sklearn.preprocessing.OrdinalEncoder."
        ) from None


def _is_missing(cell: Any) -> bool:
    # pandas.NA is known by its type's name: pandas need not be installed.
    return cell is None or type(cell).__name__ == "NAType"


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def _frame_numbers(table: Any) -> NDArray:
    import narwhals.stable.v1 as nw

    frame = nw.from_native(table, eager_only=True)
    duplicates = sorted({name for name in frame.columns if frame.columns.count(name) > 1})
    if duplicates:
        raise InputError(f"X must have distinct columns; {duplicates} occur twice.")
    for name, dtype in frame.schema.items():
        if not (dtype.is_numeric() or dtype == nw.Boolean):
            raise InputError(
                f"X must hold numbers; column '{name}' holds {dtype}. Leave it out, or encode it "
                "first, for example with sklearn.preprocessing.OrdinalEncoder."
            )
    columns = [frame[name].cast(nw.Float64).to_numpy().astype(np.float64) for name in frame.columns]
    return np.stack(columns, axis=1) if columns else np.empty((len(frame), 0))


def _require_same_columns(expected: list[str], given: list[str]) -> None:
    if given == expected:
        return
    absent = [name for name in expected if name not in given]
    extra = [name for name in given if name not in expected]
    if not absent and not extra:
        raise InputError(
            "X must have its columns in the order that the model was fitted on. "
            "Reorder them: X[list(model.feature_names_in_)]."
        )
    parts = []
    if absent:
        near = difflib.get_close_matches(absent[0], extra, 1)
        hint = f" (is it '{near[0]}'?)" if near else ""
        parts.append(f"'{absent[0]}' is missing{hint}, {len(absent)} in all")
    if extra:
        parts.append(f"'{extra[0]}' is not known, {len(extra)} in all")
    raise InputError(
        f"X must have the {len(expected)} columns that the model was fitted on; "
        f"{'; '.join(parts)}. Select them: X[list(model.feature_names_in_)]."
    )
