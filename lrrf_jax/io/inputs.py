"""What is typed as inputs -> the tables to rank, and the row ranges that each is cut into."""

import glob
import os
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.parquet

from lrrf_jax._table_names import ARROW_SUFFIXES, no_rows, reading, suffix_of
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, existing_file
from lrrf_jax.io._sources import (
    ARRAY_SUFFIXES,
    TABLE_SUFFIXES,
    array_shape,
    record_batch_rows,
    row_count,
)

RowRange: TypeAlias = tuple[int, int]  # first row, and the row after the last


class MemoryInput(NamedTuple):
    """A table that is in memory already."""

    name: str
    features: NDArray  # float32 (n_rows, n_features), in the order of the model


class Source(NamedTuple):
    """One table to rank."""

    number: int  # from 0, among the inputs
    name: str  # as typed
    key: str  # the same in every working directory
    memory: MemoryInput | None
    fingerprint: tuple[int, int]  # bytes, and time of the last change in nanoseconds
    ranges: tuple[RowRange, ...] | None  # None: parts are met one after another, while reading
    n_rows: int | None
    error: InputError | None  # why it cannot be read


def list_inputs(inputs: Any) -> tuple[list[str | MemoryInput], bool]:
    """Expand files, directories and globs.

    A directory stands for the tables in it, sorted by name; not for its subdirectories, and not
    for files that are hidden (``.name``, ``_name``) or of no known format. A glob, where no file
    is called like it, stands for the tables that it matches; ``**`` crosses directories.

    Returns
    -------
    list of str or MemoryInput
        A path that is not there is returned as it is.
    bool
        Whether a directory or a glob was among them.

    Raises
    ------
    InputError
        Where a directory or a glob holds no table.
    """
    given = [inputs] if isinstance(inputs, str | os.PathLike | MemoryInput) else list(inputs)
    if not given:
        raise InputError("there are no inputs. Name a table, or a directory of tables.")
    found: list[str | MemoryInput] = []
    expanded = False
    for item in given:
        if isinstance(item, MemoryInput):
            found.append(item)
            continue
        path = os.fsdecode(item)
        if os.path.isdir(path):
            within = [os.path.join(path, name) for name in os.listdir(path)]
        elif not os.path.exists(path) and glob.has_magic(path):
            within = glob.glob(path, recursive=True)
        else:
            found.append(path)
            continue
        expanded = True
        tables = sorted(filter(_is_table, within))
        if not tables:
            raise InputError(
                f"{path}: there is no table in it, or none that matches. Tables end in "
                f"{', '.join((*TABLE_SUFFIXES, *ARRAY_SUFFIXES))}."
            )
        found += tables
    return found, expanded


def _is_table(path: str) -> bool:
    hidden = os.path.basename(path).startswith((".", "_"))
    known = suffix_of(path) in (*TABLE_SUFFIXES, *ARRAY_SUFFIXES)
    return known and not hidden and os.path.isfile(path)


def look_at(number: int, item: str | MemoryInput, part_rows: int | None) -> Source:
    """Find out what can be told of an input without reading its rows; never raises InputError.

    ``part_rows`` is about how many rows a part should have; None: one part.
    """
    if isinstance(item, MemoryInput):
        held = len(item.features)
        ranges = cut_rows([held], None)
        return Source(number, item.name, item.name, item, (held, 0), ranges, held, None)
    key = os.path.abspath(item)
    fingerprint = (-1, -1)
    try:
        existing_file(item)
        fingerprint = fingerprint_of(item)
        n_rows, parts = _extent(item, part_rows)
        if n_rows == 0:
            raise no_rows(item)
    except InputError as error:
        return Source(number, item, key, None, fingerprint, None, None, error)
    except OSError as error:
        why = InputError(f"{item}: cannot be read ({error.strerror}). Make the file readable.")
        return Source(number, item, key, None, fingerprint, None, None, why)
    return Source(number, item, key, None, fingerprint, parts, n_rows, None)


def fingerprint_of(path: str) -> tuple[int, int]:
    """Return what changes when a file is written to: its size and time of change."""
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


def _extent(path: str, part_rows: int | None) -> tuple[int | None, tuple[RowRange, ...] | None]:
    """Return the rows of a file, and its parts where they can be read apart from each other."""
    suffix = suffix_of(path)
    with reading(path):
        if suffix == ".npy":
            n_rows = array_shape(path)[0]
            size = part_rows or n_rows or 1
            starts = range(0, n_rows, size)
            return n_rows, tuple((start, min(start + size, n_rows)) for start in starts)
        if suffix == ".parquet":
            metadata = pa.parquet.read_metadata(path)
            groups = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
            return metadata.num_rows, cut_rows(groups, part_rows)
        if suffix in ARROW_SUFFIXES and (blocks := record_batch_rows(path)) is not None:
            return sum(blocks), cut_rows(blocks, part_rows)
    return row_count(path), None


def cut_rows(blocks: Sequence[int], part_rows: int | None) -> tuple[RowRange, ...]:
    """Join blocks of rows to parts of at most ``part_rows`` rows; larger blocks stay whole.

    >>> cut_rows([4, 4, 4, 20, 1], 8)
    ((0, 8), (8, 12), (12, 32), (32, 33))
    """
    ranges: list[RowRange] = []
    start = stop = 0
    for rows in blocks:
        if part_rows is not None and stop > start and stop + rows - start > part_rows:
            ranges.append((start, stop))
            start = stop
        stop += rows
    if stop > start:
        ranges.append((start, stop))
    return tuple(ranges)
