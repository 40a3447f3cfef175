"""How many rows a batch may have, so that the process stays within a budget."""

import os
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet

from lrrf_jax._csv import block_size
from lrrf_jax._dialect import UNTOLD, Dialect
from lrrf_jax._table_names import ARROW_SUFFIXES, suffix_of
from lrrf_jax._validation import InputError
from lrrf_jax.io._sources import (
    PARQUET_BUFFER,
    array_shape,
    column_major_bytes,
    record_batch_rows,
    table_schema,
    tables,
)

MOST_ROWS = 1 << 18  # above, no learner gets faster; for an accelerator it is a stream of blocks
FEWEST_ROWS = 1 << 11  # below, the cost of a call outweighs that of its rows
_MOST_BYTES = 1 << 30  # where no budget is given
# Compiled programs and their buffers, thread stacks, and what allocators hold back.
ALLOWANCE = 224 << 20
_PAGE = 2 << 20  # a decoded page of a Parquet column, with its dictionary
_TEXT = 32  # bytes of a value of no fixed width, where none was seen


class Budget(NamedTuple):
    """What a run may take."""

    total: int | None  # bytes of the process; None: no bound is asked for
    held: int  # bytes that it took before the run


class Width(NamedTuple):
    """Bytes that the rows of a table take while they are read."""

    read: int  # a row, as the reader hands it over
    kept: int  # a row, of the columns that go to the output unchanged
    fixed: int  # apart from the batches: buffers, pages, blocks


def table_width(
    path: str,
    features: list[str],
    kept: list[str],
    exact: bool = False,
    categories: Sequence[str] = (),
    told: Dialect = UNTOLD,
) -> Width:
    """Return the width of some columns of a file; kept text is measured on the first rows.

    ``categories``, of the features, are read as text. ``exact`` lets the longest line of
    compressed text be looked for, which takes a pass over it.
    """
    schema = table_schema(path)
    kept_row = _measured(path, kept, told) if _has_varying_width(schema, kept) else None
    suffix = suffix_of(path)
    if schema is None:
        text = [name for name in categories if name not in kept]
        text_row = (_measured(path, text, told) if text else 0) or _TEXT * len(text)
        numeric = len(features) - len(categories)
        read = 8 * numeric + text_row + (kept_row or _TEXT * len(kept))
        # The parser holds several blocks, as bytes and converted.
        return Width(
            read, kept_row or _TEXT * len(kept), 12 * block_size(path, scan_compressed=exact)
        )
    kept_bytes = kept_row or sum(_bytes(schema.field(name).type) for name in kept)
    read = sum(_bytes(schema.field(name).type) for name in features) + kept_bytes
    if suffix in ARROW_SUFFIXES:
        return Width(read, kept_bytes, 2 * _largest_batch(path, read))
    fixed = 0
    if suffix == ".parquet":
        fixed = (len(features) + len(kept)) * (PARQUET_BUFFER + _PAGE)
    return Width(read, kept_bytes, fixed)


def _bits(type_: pa.DataType) -> int | None:
    try:
        return type_.bit_width
    except ValueError:
        return None


def _bytes(type_: pa.DataType) -> int:
    bits = _bits(type_)
    return _TEXT if bits is None else -(-bits // 8)


def _largest_batch(path: str, row: int) -> int:
    blocks = record_batch_rows(path)
    return 0 if blocks is None else row * max(blocks, default=0)


def _has_varying_width(schema: pa.Schema | None, kept: list[str]) -> bool:
    if schema is None:
        return bool(kept)
    types = [schema.field(name).type for name in kept]
    return any(_bits(type_) is None or pa.types.is_dictionary(type_) for type_ in types)


def _measured(path: str, kept: list[str], told: Dialect) -> int | None:
    """Return the bytes of a row of the kept columns; None where they cannot be read."""
    try:
        first = next(tables(path, [], kept, FEWEST_ROWS, 0, FEWEST_ROWS, told=told))
    except (InputError, StopIteration):
        return None  # whoever reads the rows will tell
    return -(-_bytes_of(first) // first.num_rows)


def _bytes_of(table: pa.Table) -> int:
    try:
        return table.nbytes
    except pa.ArrowTypeError:  # older versions of pyarrow do not know the size of views
        return table.get_total_buffer_size()


def plan_batch_rows(
    path: str,
    width: Width,
    n_features: int,
    n_labels: int,
    budget: Budget,
    answer: int | None = None,
) -> int:
    """Return how many rows a batch has, while one is read, one computed and one written.

    ``answer`` is the bytes of a row of what is written besides kept columns; by default positions.

    Raises
    ------
    InputError
        Where the budget is too small for batches of 2,048 rows.
    """
    features, ranks = 4 * n_features, 4 * n_labels
    answer = ranks if answer is None else answer
    row = (
        2 * width.read
        + 2 * features  # being read: decoded, joined, by column, by row
        + (features + width.kept)  # waiting to be computed
        + (features + width.kept + 2 * ranks + answer)  # being computed
        + (answer + width.kept)  # waiting to be written
        + (2 * answer + 2 * width.kept)  # being written, and encoded
    )
    room = _MOST_BYTES
    if budget.total is not None:
        room = budget.total - budget.held - ALLOWANCE - width.fixed
        if room < FEWEST_ROWS * row:
            needed = budget.total - room + FEWEST_ROWS * row
            raise InputError(
                f"{path}: memory_budget (--memory-budget) must be {_mib(needed)} at least for this "
                f"table and model; it is {_mib(budget.total)}. This process holds "
                f"{_mib(budget.held)} already, and {_mib(width.fixed)} go to what the file makes "
                "readers decode at once. Raise it, or keep fewer columns."
            )
    rows = max(FEWEST_ROWS, min(MOST_ROWS, room // row))
    step = 1 << 16 if rows >= 1 << 16 else FEWEST_ROWS  # sizes of the compiled programs
    return rows // step * step


def _mib(size: int) -> str:
    return f"{-(-size // (1 << 20)):,} MiB"


def resident_bytes() -> int:
    """Return the memory that this process holds now; 0.5 GiB where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 1 << 29


def array_width(path: str) -> Width:
    """Return the width of an npy or npz file."""
    return Width(8 * array_shape(path)[1], 0, column_major_bytes(path))
