"""Files as streams of tables or arrays, none of them held in memory as a whole."""

import os
import zipfile
from collections.abc import Iterator
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet

from lrrf_jax._tabular import (
    ARROW_SUFFIXES,
    DELIMITERS,
    MISSING,
    csv_header,
    csv_problem,
    open_arrow,
    open_npz,
    reading,
    suffix_of,
    unique_names,
)
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError

TABLE_SUFFIXES = (*DELIMITERS, ".parquet", *ARROW_SUFFIXES)
ARRAY_SUFFIXES = (".npy", ".npz")


def table_columns(path: str) -> list[str]:
    """Return the column names of a table file; cost: its header or metadata."""
    suffix = suffix_of(path)
    if suffix in DELIMITERS:
        return csv_header(path, DELIMITERS[suffix])
    with reading(path):
        if suffix == ".parquet":
            return unique_names(path, pa.parquet.read_schema(path).names)
        with _ipc_reader(path) as reader:
            return unique_names(path, reader.schema.names)


def tables(path: str, numeric: list[str], verbatim: list[str], size: int) -> Iterator[pa.Table]:
    """Yield the columns ``numeric`` and ``verbatim`` in pieces of about ``size`` rows.

    Cells of text files in ``numeric`` arrive as float64 where that is possible, as text where
    it is not; those in ``verbatim`` arrive as the text that the file holds.
    """
    suffix = suffix_of(path)
    names = list(dict.fromkeys([*numeric, *verbatim]))
    if suffix in DELIMITERS:
        yield from _csv_tables(path, DELIMITERS[suffix], names, verbatim)
        return
    with reading(path):
        if suffix == ".parquet":
            with pa.parquet.ParquetFile(path, page_checksum_verification=True) as file:
                for batch in file.iter_batches(batch_size=size, columns=names):
                    yield pa.Table.from_batches([batch]).select(names)
            return
        with _ipc_reader(path, names) as reader:
            if isinstance(reader, pa.ipc.RecordBatchFileReader):
                batches = map(reader.get_batch, range(reader.num_record_batches))
            else:
                batches = iter(reader)
            for batch in batches:
                batch.validate(full=True)  # an altered file may point outside its buffers
                yield pa.Table.from_batches([batch]).select(names)


def _csv_tables(
    path: str, delimiter: str, names: list[str], verbatim: list[str]
) -> Iterator[pa.Table]:
    """Read numbers as numbers, which is fast; from the first failure on, read text."""
    done = 0
    try:
        types = {name: pa.string() if name in verbatim else pa.float64() for name in names}
        for batch in _open_csv(path, delimiter, types):
            yield pa.Table.from_batches([batch])
            done += batch.num_rows
        return
    except (pa.ArrowInvalid, OSError):
        pass  # the second pass either reads what the first could not, or tells what is wrong
    with reading(path):
        try:
            for batch in _open_csv(path, delimiter, dict.fromkeys(names, pa.string())):
                skipped = min(done, batch.num_rows)
                done -= skipped
                yield pa.Table.from_batches([batch.slice(skipped)])
        except pa.ArrowInvalid as error:
            raise csv_problem(path, delimiter, error) from error


def _open_csv(
    path: str, delimiter: str, types: dict[str, pa.DataType]
) -> pa.csv.CSVStreamingReader:
    return pa.csv.open_csv(
        open_arrow(path),
        read_options=pa.csv.ReadOptions(block_size=4 << 20),
        parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pa.csv.ConvertOptions(
            include_columns=list(types), column_types=types, null_values=list(MISSING)
        ),
    )


def _ipc_reader(
    path: str, names: list[str] | None = None
) -> pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader:
    """Open an Arrow file, or an Arrow stream: both use the same suffixes.

    The file is read, not mapped: pages of a map would count as memory of this process.
    """
    options = pa.ipc.IpcReadOptions()
    if names is not None:
        with _ipc_reader(path) as reader:
            options.included_fields = [reader.schema.names.index(name) for name in names]
    source = pa.OSFile(path)
    try:
        return pa.ipc.open_file(source, options=options)
    except pa.ArrowInvalid:
        source.seek(0)
        return pa.ipc.open_stream(source, options=options)


def array_shape(path: str) -> tuple[int, int]:
    """Return (rows, columns) of an npy file, or of the array ``X`` of an npz file."""
    with reading(path), _open_array(path) as file:
        shape, _, _ = _array_header(path, file)
    return shape


def array_names(path: str) -> list[str] | None:
    """Return ``feature_names`` of an npz file, where it holds them."""
    if suffix_of(path) != ".npz":
        return None
    with reading(path), open_npz(path) as archive:
        if "feature_names" not in archive:
            return None
        return unique_names(path, [str(name) for name in archive["feature_names"].ravel()])


def arrays(path: str, size: int) -> Iterator[NDArray]:
    """Yield pieces of ``size`` rows of the array; what is read is never more than one piece."""
    with reading(path):
        with _open_array(path) as file:
            (n_rows, width), fortran_order, dtype = _array_header(path, file)
            if not fortran_order:
                for start in range(0, n_rows, size):
                    count = min(size, n_rows - start)
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
        for start in range(0, n_rows, size):
            yield whole[start : start + size]


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
            try:
                return pa.dataset.dataset(text, format="ipc").count_rows()
            except pa.ArrowInvalid:  # a stream has no footer that would tell
                return None
    return None
