"""Columns that are neither features nor labels: the fold of a row, and the group it belongs to."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lrrf_jax._tabular import Rows, is_text, numbers, plain, trimmed_text
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.datasets._reading import Reading


def apart_columns(table: pa.Table, rows: Rows, how: Reading) -> dict[str, NDArray]:
    """Read the columns that were named: ``folds`` and ``groups``, each (n_samples,), or neither."""
    found = {}
    if how.fold_column is not None:
        cells = numbers(table[how.fold_column], how.fold_column, rows, how.missing)
        found["folds"] = whole_folds(cells, f"column {how.fold_column!r}", rows)
    if how.group_column is not None:
        found["groups"] = _groups(table[how.group_column], how.group_column, rows, how.missing)
    return found


def whole_folds(
    cells: NDArray,  # float or int (n_samples,)
    what: str,
    rows: Rows,
) -> NDArray:  # int64 (n_samples,)
    """Check that every row has a fold, a whole number."""
    with np.errstate(invalid="ignore"):
        bad = ~(np.isfinite(cells) & (np.abs(cells) < 2**53) & (cells == np.floor(cells)))
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"{rows.path}: {what} must hold the fold of every row, a whole number; {rows.at(row)} "
            f"holds {cells[row]:g} ({int(bad.sum())} of {len(bad)} rows fail). Number the folds, "
            "and give every row one."
        )
    return cells.astype(np.int64)


def _groups(column: pa.ChunkedArray, name: str, rows: Rows, missing: Sequence[str]) -> NDArray:
    """Return groups as text where the file says text, else as the values of the column."""
    column = plain(column)
    text = is_text(column.type)
    if text:
        column = trimmed_text(column, missing)
    nulls = pc.is_null(column, nan_is_null=True).to_numpy()
    if nulls.any():
        row = int(np.argmax(nulls))
        raise InputError(
            f"{rows.path}: column {name!r} must hold the group of every row; {rows.at(row)} has "
            f"none ({int(nulls.sum())} of {len(nulls)} rows fail). Give a row that belongs to no "
            "other a group of its own."
        )
    return np.array(column.to_pylist()) if text else column.to_numpy()
