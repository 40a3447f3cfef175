"""How one open file is filled with pieces of a table: CSV, Parquet, npy."""

import csv
import io
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.io._kept_types import as_stored


class Sink:
    """What one format does with the pieces; the first one fixes the columns."""

    def __init__(self, file: IO[bytes], first: pa.Table | NDArray):
        raise NotImplementedError

    def append(self, piece: pa.Table | NDArray) -> None:
        """Write the rows of a piece."""
        raise NotImplementedError

    def finish(self) -> None:
        """Write what comes after the last row; the file stays open."""
        raise NotImplementedError

    def abandon(self) -> None:
        """Write nothing more, not even when this object is deleted."""


class _TableSink(Sink):
    format: str

    def __init__(self, file: IO[bytes], first: pa.Table | NDArray):
        self._schema = self._table(first).schema
        self._writer = self._open(file)

    def append(self, piece: pa.Table | NDArray) -> None:
        table = self._table(piece)
        if not table.schema.equals(self._schema):
            raise InputError(
                f"a piece with the columns {_described(table.schema)} cannot follow one with "
                f"{_described(self._schema)}."
            )
        self._writer.write_table(table)

    def finish(self) -> None:
        self._writer.close()

    def _open(self, file: IO[bytes]) -> Any:
        raise NotImplementedError

    def _table(self, piece: pa.Table | NDArray) -> pa.Table:
        if isinstance(piece, np.ndarray):
            raise InputError("an array has no column names: give a table, or write npy.")
        return as_stored(piece.replace_schema_metadata(None), self.format)


def _described(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} ({field.type})" for field in schema)


class _CsvSink(_TableSink):
    format = "csv"

    def _open(self, file: IO[bytes]) -> Any:
        header = io.StringIO()
        csv.writer(header, lineterminator="\n").writerow(self._schema.names)
        file.write(header.getvalue().encode())
        options = pa.csv.WriteOptions(include_header=False)
        return pa.csv.CSVWriter(file, self._schema, write_options=options)


class _ParquetSink(_TableSink):
    format = "parquet"

    def _open(self, file: IO[bytes]) -> Any:
        return pa.parquet.ParquetWriter(file, self._schema, write_page_checksum=True)

    def abandon(self) -> None:
        self._writer.is_open = False  # or its finaliser writes a footer into the closed file


class _NpySink(Sink):
    def __init__(self, file: IO[bytes], first: pa.Table | NDArray):
        block = self._block(first)
        self._file, self._dtype, self._width = file, block.dtype, block.shape[1]
        self._n_rows = 0
        self._header_length = self._write_header()

    def append(self, piece: pa.Table | NDArray) -> None:
        block = self._block(piece)
        if block.dtype != self._dtype or block.shape[1] != self._width:
            raise InputError(
                f"a piece of {block.dtype} with {block.shape[1]} columns cannot follow one of "
                f"{self._dtype} with {self._width}."
            )
        self._file.write(block.data)
        self._n_rows += len(block)

    def finish(self) -> None:
        self._file.seek(0)
        if self._write_header() != self._header_length:
            raise ValueError("the npy header grew")

    def _write_header(self) -> int:
        # NumPy pads the header so that the row count can grow in place.
        np.lib.format.write_array_header_1_0(
            self._file,
            {
                "descr": np.lib.format.dtype_to_descr(self._dtype),
                "fortran_order": False,
                "shape": (self._n_rows, self._width),
            },
        )
        return self._file.tell()

    @staticmethod
    def _block(piece: pa.Table | NDArray) -> NDArray:
        if isinstance(piece, np.ndarray):
            block = piece
        else:
            for name, type_ in zip(piece.column_names, piece.schema.types, strict=True):
                if not (pa.types.is_integer(type_) or pa.types.is_floating(type_)):
                    raise InputError(
                        f"column {name!r} holds {type_}, and npy files hold numbers only. Write "
                        ".parquet or .csv."
                    )
            block = _joined(piece)
        if block.ndim != 2 or block.dtype.kind not in "biuf":
            raise InputError(
                f"npy files hold two-dimensional tables of numbers; the piece has shape "
                f"{block.shape} and type {block.dtype}."
            )
        return np.ascontiguousarray(block)


def _joined(table: pa.Table) -> NDArray:
    """Put columns of numbers side by side; InputError where that would alter one."""
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.null_count and pa.types.is_integer(column.type):
            raise InputError(
                f"column {name!r} holds whole numbers and {column.null_count} empty cells, which "
                "npy files cannot tell apart. Write .parquet or .csv."
            )
        columns.append(column.to_numpy())
    block = np.column_stack(columns)
    if block.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            for name, column in zip(table.column_names, columns, strict=True):
                if (
                    column.dtype.kind in "iu"
                    and (column.astype(block.dtype).astype(column.dtype) != column).any()
                ):
                    raise InputError(
                        f"column {name!r} holds whole numbers beyond what {block.dtype} holds, "
                        "the type that an npy file needs for all columns. Write .parquet or .csv."
                    )
    return block


SINKS: dict[str, type[Sink]] = {"csv": _CsvSink, "parquet": _ParquetSink, "npy": _NpySink}
