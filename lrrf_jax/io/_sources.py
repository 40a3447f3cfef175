"""Files as streams of tables or arrays, none of them held in memory as a whole."""

import functools
import os
import zipfile
from collections.abc import Iterator, Sequence
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from lrrf_jax._csv import text_batches
from lrrf_jax._dialect import UNTOLD, Dialect, csv_header, dialect_of
from lrrf_jax._table_names import (
    ARROW_SUFFIXES,
    MISSING,
    TEXT_SUFFIXES,
    reading,
    suffix_of,
    unique_names,
)
from lrrf_jax._tabular import open_npz
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError

TABLE_SUFFIXES = (*TEXT_SUFFIXES, ".parquet", *ARROW_SUFFIXES)
ARRAY_SUFFIXES = (".npy", ".npz")
# A column chunk is read through a buffer of this size, not as a whole: memory does not grow with
# the row groups, and reading is no slower.
PARQUET_BUFFER = 1 << 18


def table_columns(path: str, told: Dialect = UNTOLD) -> list[str]:
    """Return the column names of a table file; cost: its header or metadata."""
    suffix = suffix_of(path)
    if suffix in TEXT_SUFFIXES:
        return csv_header(path, dialect_of(path, told))
    with reading(path):
        if suffix == ".parquet":
            return unique_names(path, pa.parquet.read_schema(path).names)
        with _ipc_reader(path) as reader:
            return unique_names(path, reader.schema.names)


def table_schema(path: str) -> pa.Schema | None:
    """Return the columns and types of a table file; None for text, which has no types."""
    suffix = suffix_of(path)
    if suffix in TEXT_SUFFIXES:
        return None
    with reading(path):
        if suffix == ".parquet":
            return pa.parquet.read_schema(path)
        with _ipc_reader(path) as reader:
            return reader.schema


def tables(
    path: str,
    numeric: list[str],
    verbatim: list[str],
    size: int,
    first: int = 0,
    stop: int | None = None,
    missing: Sequence[str] = MISSING,
    told: Dialect = UNTOLD,
    coded: Sequence[str] = (),
) -> Iterator[pa.Table]:
    """Yield the columns ``numeric`` and ``verbatim`` in pieces of about ``size`` rows.

    Text of those that are ``coded`` too comes as dictionaries where that is faster.

    Cells of text files in ``numeric`` arrive as float64 where that is possible, as text where
    it is not; those in ``verbatim`` arrive as the text that the file holds. Rows before ``first``
    and from ``stop`` on are left out: row groups and record batches of others are not read,
    lines of text are read and dropped.
    """
    suffix = suffix_of(path)
    names = list(dict.fromkeys([*numeric, *verbatim]))
    if not names:  # the rows count, whatever they hold
        names = verbatim = table_columns(path, told)[:1]
    if suffix in TEXT_SUFFIXES:
        dialect = dialect_of(path, told)
        batches = text_batches(path, dialect, numeric, verbatim, list(missing))
        yield from _window((pa.Table.from_batches([batch]) for batch in batches), first, stop)
        return
    with reading(path):
        if suffix == ".parquet":
            with pa.parquet.ParquetFile(
                path,
                page_checksum_verification=True,
                buffer_size=PARQUET_BUFFER,
                pre_buffer=False,  # or a whole row group would be fetched at once
                read_dictionary=list(coded),
            ) as file:
                sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
                groups, before = _overlapping(sizes, first, stop)
                batches = file.iter_batches(batch_size=size, row_groups=groups, columns=names)
                yield from _window(_selected(batches, names), first, stop, before)
            return
        with _ipc_reader(path, names) as reader:
            if isinstance(reader, pa.ipc.RecordBatchFileReader):
                blocks, before = list(range(reader.num_record_batches)), 0
                if first or stop is not None:
                    blocks, before = _overlapping(record_batch_rows(path) or [], first, stop)
                batches = map(reader.get_batch, blocks)
            else:
                batches, before = iter(reader), 0
            yield from _window(_selected(batches, names), first, stop, before)


def _selected(batches: Iterator[pa.RecordBatch], names: list[str]) -> Iterator[pa.Table]:
    for batch in batches:
        batch.validate(full=True)  # an altered file may point outside its buffers
        yield pa.Table.from_batches([batch]).select(names)


def _overlapping(sizes: Sequence[int], first: int, stop: int | None) -> tuple[list[int], int]:
    """Return which blocks of rows hold some of ``first..stop-1``, and the rows before them.

    >>> _overlapping([4, 4, 4], 5, 8), _overlapping([4, 4, 4], 3, None)
    (([1], 4), ([0, 1, 2], 0))
    """
    found: list[int] = []
    before = at = 0
    for index, rows in enumerate(sizes):
        if at + rows > first and (stop is None or at < stop):
            before = before if found else at
            found.append(index)
        at += rows
    return found, before


def _window(
    pieces: Iterator[pa.Table], first: int, stop: int | None, at: int = 0
) -> Iterator[pa.Table]:
    """Cut a stream of tables that starts at row ``at`` to the rows ``first..stop-1``."""
    for piece in pieces:
        low = max(first - at, 0)
        high = piece.num_rows if stop is None else min(stop - at, piece.num_rows)
        if low < high:
            yield piece.slice(low, high - low)
        at += piece.num_rows
        if stop is not None and at >= stop:
            return


def _ipc_reader(
    path: str, names: list[str] | None = None
) -> pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader:
    """Open an Arrow file, or an Arrow stream: both use the same suffixes.

    The file is read, not mapped: pages of a map would count as memory of this process.
    """
    options = pa.ipc.IpcReadOptions()
    if names is not None:
        with _ipc_reader(path) as reader:
            at = {name: index for index, name in enumerate(reader.schema.names)}
            options.included_fields = [at[name] for name in names]
    source = pa.OSFile(path)
    try:
        return pa.ipc.open_file(source, options=options)
    except pa.ArrowInvalid:
        source.seek(0)
        return pa.ipc.open_stream(source, options=options)


def record_batch_rows(path: str) -> list[int] | None:
    """Return the rows of every record batch of an Arrow file; None for an Arrow stream."""
    status = os.stat(path)
    return _record_batch_rows(path, status.st_size, status.st_mtime_ns)


@functools.lru_cache(8)  # asked for by every part of a file
def _record_batch_rows(path: str, size: int, changed: int) -> list[int] | None:
    with _ipc_reader(path) as reader:
        if not isinstance(reader, pa.ipc.RecordBatchFileReader):
            return None
        narrowest = min(range(len(reader.schema)), key=lambda j: _width(reader.schema.types[j]))
    # Arrow keeps the counts next to the rows, so that one column of them has to be read.
    options = pa.ipc.IpcReadOptions(included_fields=[narrowest])
    with pa.ipc.open_file(pa.OSFile(path), options=options) as reader:
        return [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]


def _width(type_: pa.DataType) -> int:
    """Return the bits of a value, and a large number where they vary."""
    try:
        return type_.bit_width
    except ValueError:
        return 1 << 16


def array_shape(path: str) -> tuple[int, int]:
    """Return (rows, columns) of an npy file, or of the array ``X`` of an npz file."""
    with reading(path), _open_array(path) as file:
        shape, _, _ = _array_header(path, file)
    return shape


def column_major_bytes(path: str) -> int:
    """Return the size of the array of an npz file that can only be loaded whole, or 0."""
    if suffix_of(path) != ".npz":
        return 0
    with reading(path), _open_array(path) as file:
        (n_rows, width), fortran_order, dtype = _array_header(path, file)
    return n_rows * width * dtype.itemsize if fortran_order else 0


def array_names(path: str) -> list[str] | None:
    """Return ``feature_names`` of an npz file, where it holds them."""
    if suffix_of(path) != ".npz":
        return None
    with reading(path), open_npz(path) as archive:
        if "feature_names" not in archive:
            return None
        return unique_names(path, [str(name) for name in archive["feature_names"].ravel()])


def arrays(path: str, size: int, first: int = 0, stop: int | None = None) -> Iterator[NDArray]:
    """Yield rows ``first..stop-1`` of the array in pieces of ``size`` rows, read one by one."""
    with reading(path):
        with _open_array(path) as file:
            (n_rows, width), fortran_order, dtype = _array_header(path, file)
            end = n_rows if stop is None else min(stop, n_rows)
            if not fortran_order:
                file.seek(first * width * dtype.itemsize, os.SEEK_CUR)
                for start in range(first, end, size):
                    count = min(size, end - start)
                    content = file.read(count * width * dtype.itemsize)
                    if len(content) < count * width * dtype.itemsize:
                        raise InputError(
                            f"{path}: the file ends before row {n_rows}. Write it again."
                        )
                    yield np.frombuffer(content, dtype).reshape(count, width)
                return
        # Rows of a column-major array lie apart: map an npy file, load an npz member.
        if suffix_of(path) == ".npz":
            with open_npz(path) as archive:
                whole = archive["X"]
        else:
            whole = np.lib.format.open_memmap(path, mode="r")
        for start in range(first, end, size):
            yield whole[start : min(start + size, end)]


def _open_array(path: str) -> IO[bytes]:
    if suffix_of(path) == ".npy":
        return open(path, "rb")
    archive = zipfile.ZipFile(path)
    if "X.npy" not in archive.namelist():
        stored = ", ".join(os.path.splitext(name)[0] for name in archive.namelist())
        raise InputError(
            f"{path}: there is no array 'X'; the file holds {stored or 'none'}. Save it with "
            "np.savez(path, X=...)."
        )
    return archive.open("X.npy")


def _array_header(path: str, file: IO[bytes]) -> tuple[tuple[int, int], bool, np.dtype]:
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:
        raise ValueError(f"npy format {version}")
    shape, fortran_order, dtype = read(file)
    if len(shape) != 2 or dtype.kind not in "biuf":
        raise InputError(
            f"{path}: the features must be a two-dimensional table of numbers; the array has "
            f"shape {shape} and type {dtype}."
        )
    return (shape[0], shape[1]), fortran_order, dtype


def row_count(path: str | os.PathLike[str]) -> int | None:
    """Return the number of rows where the file tells it cheaply; None for text files.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".npy") as file:
    ...     np.save(file, np.zeros((7, 2)))
    ...     _ = file.flush()
    ...     row_count(file.name)
    7
    """
    text = os.fsdecode(path)
    suffix = suffix_of(text)
    if suffix in ARRAY_SUFFIXES:
        return array_shape(text)[0]
    with reading(text):
        if suffix == ".parquet":
            return pa.parquet.read_metadata(text).num_rows
        if suffix in ARROW_SUFFIXES:
            from pyarrow import dataset  # here: it imports pandas, where that is installed

            try:
                return dataset.dataset(text, format="ipc").count_rows()
            except pa.ArrowInvalid:  # a stream has no footer that would tell
                return None
    return None
