"""Streams of pieces -> batches of checked float32 features."""

import functools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lrrf_jax._csv import csv_line
from lrrf_jax._dialect import dialect_of
from lrrf_jax._table_names import (
    TEXT_SUFFIXES,
    no_rows,
    suffix_of,
)
from lrrf_jax._tabular import Rows, finite_features, is_text, numbers, without_missing
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.io._cells import Cells, level_codes
from lrrf_jax.io._feature_columns import chosen_features
from lrrf_jax.io._sources import array_names, array_shape, arrays, table_schema, tables

Batch = tuple[NDArray, pa.Table | None]
_TILE_ROWS = 2048


def table_batches(
    path: str,
    features: list[str],
    kept: list[str],
    batch_rows: int,
    first: int,
    stop: int | None,
    cells: Cells,
) -> Iterator[Batch]:
    """Yield batches of the rows ``first..stop-1`` of a file with named columns."""
    line_of = None
    if suffix_of(path) in TEXT_SUFFIXES:
        line_of = functools.partial(csv_line, path, dialect_of(path, cells.dialect))
    rows = Rows(path, line_of, decimal=cells.dialect.decimal)
    done = first
    categories = cells.categories(features)
    numeric = [name for name in features if name not in set(categories)]
    verbatim = [*kept, *categories]
    schema = table_schema(path)
    coded = [
        name
        for name in categories
        if name not in kept and schema is not None and is_text(schema.field(name).type)
    ]
    pieces = tables(
        path, numeric, verbatim, batch_rows, first, stop, cells.missing, cells.dialect, coded
    )
    for table in _regrouped(pieces, batch_rows, rows.decimal):
        X = feature_matrix(table, features, rows._replace(first=done), cells)
        done += len(X)
        yield X, table.select(kept) if kept else None
    if done == 0:
        raise no_rows(path)


def _regrouped(pieces: Iterable[pa.Table], batch_rows: int, decimal: str) -> Iterator[pa.Table]:
    """Cut and join tables so that all but the last have ``batch_rows`` rows; nothing is copied."""
    waiting: list[pa.Table] = []
    room = batch_rows
    for piece in pieces:
        start = 0
        while start < piece.num_rows:
            part = piece.slice(start, room)
            waiting.append(part)
            start += part.num_rows
            room -= part.num_rows
            if room == 0:
                yield _joined(waiting, decimal)
                waiting, room = [], batch_rows
    if waiting:
        yield _joined(waiting, decimal)


def _joined(parts: list[pa.Table], decimal: str) -> pa.Table:
    # A text file read as numbers at first may go on as text.
    if not all(part.schema.equals(parts[0].schema) for part in parts):
        parts = [_as_text(part, decimal) for part in parts]
    return pa.concat_tables(parts)


def _as_text(table: pa.Table, decimal: str) -> pa.Table:
    columns = []
    for column in table.columns:
        text = column.cast(pa.string())
        if decimal != "." and pa.types.is_floating(column.type):
            text = pc.replace_substring(text, ".", decimal)
        columns.append(text)
    return pa.table(columns, names=table.column_names)


def feature_matrix(table: pa.Table, names: Sequence[str], rows: Rows, cells: Cells) -> NDArray:
    """Convert columns to float32 (n_rows, n_features), C-contiguous; categories to codes."""
    columns = np.empty((len(names), table.num_rows), np.float32)
    for j, name in enumerate(names):
        if j in cells.levels:
            columns[j] = level_codes(table[name], name, cells.levels[j], rows, cells)
        else:
            values = numbers(table[name], name, rows, cells.missing)
            columns[j] = finite_features(values, name, rows)
    X = np.empty(columns.shape[::-1], np.float32)
    for start in range(0, len(X), _TILE_ROWS):  # tiles that fit the cache: a fast transpose
        X[start : start + _TILE_ROWS] = columns[:, start : start + _TILE_ROWS].T
    return X


def array_batches(
    path: str,
    feature_names: Sequence[str] | None,
    n_features: int,
    features: str | Sequence[str] | None,
    keep: str | Sequence[str],
    batch_rows: int,
    first: int,
    stop: int | None,
    cells: Cells,
) -> Iterator[Batch]:
    """Check an npy or npz file against the model, then yield its batches."""
    if keep:
        raise InputError(
            f"{path}: keep= (--keep) needs columns with names, which {suffix_of(path)} files "
            "lack. Use .parquet or .csv."
        )
    n_rows, width = array_shape(path)
    names = array_names(path)
    require_no_categories(path, feature_names, n_features, cells)
    order: list[int] | None = None
    if names is not None and len(names) != width:
        raise InputError(
            f"{path}: 'feature_names' holds {len(names)} names, 'X' has {width} columns."
        )
    if names is not None and (features is not None or feature_names is not None):
        chosen = chosen_features(path, names, feature_names, n_features, features)
        order = [names.index(name) for name in chosen]
    elif features is not None:
        raise InputError(
            f"{path}: features= (--features) needs columns with names; this file has none. "
            f"Give it exactly the {n_features} features of the model."
        )
    elif width != n_features:
        raise InputError(
            f"{path}: the table has {width} columns, the model has {n_features} features. Give "
            "exactly the features, in the order of the training table."
        )
    if n_rows == 0:
        raise no_rows(path)
    return _checked_arrays(
        path, order, names, arrays(path, batch_rows, first, stop), first, cells.missing
    )


def require_no_categories(
    path: str, feature_names: Sequence[str] | None, n_features: int, cells: Cells
) -> None:
    """Raise InputError where a model takes categories and a table can hold numbers only."""
    if cells.levels:
        j = min(cells.levels)
        column = repr(feature_names[j]) if feature_names is not None else str(j)
        raise InputError(
            f"{path}: holds numbers, and the model takes categories in column {column} "
            f"({len(cells.levels)} of {n_features} features). Use a .parquet or .csv file."
        )


def _checked_arrays(
    path: str,
    order: list[int] | None,
    names: list[str] | None,
    pieces: Iterator[NDArray],
    first: int,
    missing: Sequence[str],
) -> Iterator[Batch]:
    done = first
    for piece in pieces:
        piece = without_missing(piece, missing)
        rows = Rows(path, first=done)
        done += len(piece)
        with np.errstate(over="ignore"):
            X = np.ascontiguousarray(piece, np.float32)
        if np.isinf(X).any():
            column = int(np.argmax(np.isinf(X).any(axis=0)))
            label = names[column] if names else str(column)
            finite_features(piece[:, column].astype(np.float64), label, rows)
        yield X if order is None else np.ascontiguousarray(X[:, order]), None
