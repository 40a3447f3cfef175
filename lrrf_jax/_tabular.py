"""What every reader of a table needs: names, numbers and errors that say where the fault is."""

import contextlib
import functools
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lrrf_jax._table_names import DEFAULT
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError

_LONGEST_MARK = 12  # of a cell that may mean "missing"

ArrowValues = TypeVar("ArrowValues", pa.Array, pa.ChunkedArray)


class Rows(NamedTuple):
    """Tells where a row of a table lies: its file, its number and, in a text file, its line.

    Also how that file writes numbers.
    """

    path: str
    line_of: Callable[[int], int] | None = None  # row of the file, from 0 -> line, from 1
    first: int = 0  # rows of the file that come before row 0 of the table at hand
    decimal: str = "."  # the sign in numbers that are written as text

    def at(self, row: int) -> str:
        """Return ``row 3 (line 4)`` for the third data row."""
        number = self.first + int(row) + 1
        line = f" (line {self.line_of(number - 1)})" if self.line_of else ""
        return f"row {number}{line}"


def open_arrow(path: str) -> pa.NativeFile:
    """Open a file that may be gzipped, for pyarrow."""
    return pa.input_stream(path, compression="gzip" if path.lower().endswith(".gz") else None)


@contextlib.contextmanager
def open_npz(path: str) -> Iterator[Mapping[str, NDArray]]:
    """Open an npz archive; its arrays are read when they are asked for."""
    with open(path, "rb") as file, zipfile.ZipFile(file):  # raises unless it is an archive
        file.seek(0)
        with np.load(file, allow_pickle=False) as archive:
            yield archive


def is_text(type_: pa.DataType) -> bool:
    """Tell whether an Arrow type holds text."""
    return str(type_) in ("string", "large_string", "string_view")


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Decode dictionaries (pandas category, polars enum) and runs, and bring text to one type."""
    if pa.types.is_dictionary(column.type):
        value_type = pa.large_string() if is_text(column.type.value_type) else None
        value_type = value_type or column.type.value_type
        # Arrow does not cast dictionaries of string views, but their values.
        chunks = [
            as_type(chunk.dictionary, value_type).take(chunk.indices) for chunk in column.chunks
        ]
        return plain(pa.chunked_array(chunks, value_type))
    if pa.types.is_run_end_encoded(column.type):
        chunks = [pc.run_end_decode(chunk) for chunk in column.chunks]
        return plain(pa.chunked_array(chunks, column.type.value_type))
    return as_type(column, pa.large_string()) if is_text(column.type) else column


def different_cells(
    column: pa.ChunkedArray, name: str, rows: Rows
) -> Iterator[tuple[list[Any], NDArray]]:
    """Yield the different cells of each piece of a column, and which of them each row has.

    A row without a cell has the number after the last. Cells that differ may be there twice.
    """
    if pa.types.is_run_end_encoded(column.type):
        column = plain(column)
    if pa.types.is_nested(column.type) and not pa.types.is_dictionary(column.type):
        raise InputError(
            f"{rows.path}: column {name!r} must hold categories, and its type is {column.type}. "
            "Convert it to text, or leave it out."
        )
    for chunk in column.chunks:
        coded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        cells = coded.dictionary.to_pylist()
        indices = coded.indices.fill_null(len(cells)) if coded.null_count else coded.indices
        yield cells, indices.to_numpy(zero_copy_only=False)


def as_type(values: ArrowValues, type_: pa.DataType) -> ArrowValues:
    """Cast; views, which older versions of pyarrow cannot cast, through Python objects."""
    try:
        return values.cast(type_)
    except pa.ArrowNotImplementedError:
        if not str(values.type).endswith("_view"):
            raise
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    made = [pa.array(chunk.to_pylist(), type_) for chunk in chunks]
    return pa.chunked_array(made, type_) if isinstance(values, pa.ChunkedArray) else made[0]


@functools.lru_cache(8)
def _missing_numbers(missing: tuple[str, ...]) -> tuple[float, ...]:
    """Those of the cells that are numbers: they mean the value, however it is written."""
    values = []
    for cell in missing:
        with contextlib.suppress(ValueError):
            values.append(float(cell))
    return tuple(value for value in values if np.isfinite(value))


def without_missing(values: NDArray, missing: Sequence[str]) -> NDArray:
    """Return numbers with NaN in place of those that say "missing", such as -9."""
    coded = _missing_numbers(tuple(missing))
    if not coded:
        return values
    floats = values if values.dtype.kind == "f" else values.astype(np.float64)
    return np.where(np.isin(values, np.asarray(coded).astype(floats.dtype)), np.nan, floats)


@functools.lru_cache(8)  # tables may have 100,000 columns
def _value_set(missing: tuple[str, ...], type_: pa.DataType) -> pa.Array:
    return pa.array(list(missing), type_)


def trimmed_text(column: pa.ChunkedArray, missing: Sequence[str]) -> pa.ChunkedArray:
    """Trim text and make the cells that say "missing" null."""
    column = pc.utf8_trim_whitespace(column)
    if not missing:
        return column
    is_missing = pc.is_in(column, value_set=_value_set(tuple(missing), column.type))
    return pc.if_else(is_missing, pa.scalar(None, column.type), column)


def numbers(
    column: pa.ChunkedArray,
    name: str,
    rows: Rows,
    missing: Sequence[str],
    way_out: str = "",
) -> NDArray:
    """Return a column as float32 or float64 (n,), with NaN for null and missing cells.

    ``way_out`` is one more of them, for text.
    Raises InputError that names the column, the row and the cell where a cell is no number.
    """
    column = plain(column)
    type_ = column.type
    if pa.types.is_null(type_):
        return np.full(len(column), np.nan, np.float32)
    if is_text(type_):
        column = _parsed(trimmed_text(column, missing), name, rows, way_out)
    elif not pa.types.is_float32(type_):
        if not (
            pa.types.is_boolean(type_)
            or pa.types.is_integer(type_)
            or pa.types.is_floating(type_)
            or pa.types.is_decimal(type_)
        ):
            raise InputError(
                f"{rows.path}: column {name!r} must hold numbers, and its type is {type_}. "
                "Convert it to numbers, or leave it out of the features and labels."
            )
        if pa.types.is_boolean(type_):
            column = column.cast(pa.uint8())
        column = column.cast(pa.float64(), safe=False)
    return without_missing(pc.fill_null(column, float("nan")).to_numpy(), missing)


def _parsed(text: pa.ChunkedArray, name: str, rows: Rows, way_out: str) -> pa.ChunkedArray:
    """Cast text to float64; where that fails, halve down to the first cell at fault."""
    try:
        return _cast(text, rows.decimal)
    except pa.ArrowInvalid:
        low, high = 0, len(text)  # the first fault lies in low..high-1
        while high - low > 1:
            middle = (low + high) // 2
            try:
                _cast(text.slice(low, middle - low), rows.decimal)
                low = middle
            except pa.ArrowInvalid:
                high = middle
        cell = text[low].as_py()
        raise InputError(
            f"{rows.path}: column {name!r} must hold numbers; {rows.at(low)} holds {cell!r}"
            f"{foreign_number(cell, rows.decimal)}. Correct the cell, leave it empty where the "
            f"value is missing, say which cells mean that with missing={_marks(cell)} "
            f"(--missing-values), or leave the column out with exclude= (--exclude).{way_out}"
        ) from None


def _marks(cell: str) -> str:
    """Say a cell beside those that mean missing already; "" where it is no such mark."""
    return "" if "," in cell or len(cell) > _LONGEST_MARK else repr(f"{DEFAULT},{cell}")


def _cast(text: pa.ChunkedArray, decimal: str) -> pa.ChunkedArray:
    if decimal == ".":
        return text.cast(pa.float64())
    if pc.any(pc.match_substring(text, ".")).as_py():
        raise pa.ArrowInvalid("a point in a number with a decimal comma")
    return pc.replace_substring(text, decimal, ".").cast(pa.float64())


_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:([.,' \u00a0\u202f])\d{3})(?:\1\d{3})*(?:([.,])\d*)?")


def foreign_number(cell: str, decimal: str) -> str:
    """Say that a cell which is no number would be one with other signs in it; "" where it is none.

    >>> foreign_number("1,5", "."), foreign_number("red", ".")
    (" (with a decimal comma? Say decimal=',', --decimal ,)", '')
    >>> foreign_number("1.234,5", ",")
    ' (with a sign between thousands? Such are not read: write 1234,5)'
    """
    other, word = (",", "comma") if decimal == "." else (".", "point")
    grouped = _THOUSANDS.fullmatch(cell)
    plain = cell.replace(grouped[1], "") if grouped else ""
    if re.fullmatch(rf"[-+]?(\d+[{other}]\d*|[{other}]\d+)([eE][-+]?\d+)?", cell):
        thousands = f"; or write {plain} if the {word} parts thousands" if grouped else ""
        return f" (with a decimal {word}? Say decimal={other!r}, --decimal {other}{thousands})"
    if grouped and grouped[1] != grouped[2]:
        whole = plain if grouped[2] is None else plain.replace(grouped[2], decimal)
        return f" (with a sign between thousands? Such are not read: write {whole})"
    return ""


def finite_features(values: NDArray, name: str, rows: Rows) -> NDArray:
    """Round features to float32; NaN means missing, an infinity raises InputError."""
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float32)
    bad = np.isinf(narrow)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"{rows.path}: column {name!r} must hold finite float32 numbers; {rows.at(row)} holds "
            f"{values[row]} ({int(bad.sum())} of {len(bad)} rows fail). Rescale the column, or "
            "leave the cell empty where the value is missing."
        )
    return narrow
