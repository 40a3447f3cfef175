"""CSV and TSV files: their header, their lines, and blocks that hold the longest of these."""

import contextlib
import os
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.csv

from lrrf_jax._dialect import Dialect, csv_rows, is_decoded, not_encoded
from lrrf_jax._table_names import no_rows, open_bytes, reading
from lrrf_jax._tabular import open_arrow
from lrrf_jax._validation import InputError

# The parser takes a file in blocks, and a row has to fit into one.
BLOCK = 4 << 20
_MOST = (1 << 31) - 1
_STEP = BLOCK // 2
_blocks: dict[tuple[str, int, int], int] = {}  # what was found out, of (path, size, time)


def read_text_columns(path: str, dialect: Dialect, names: list[str]) -> pa.Table:
    """Read columns as text, so that a cell which is no number can be shown as it stands."""
    types = dict.fromkeys(names, pa.string())
    with reading(path):
        block = block_size(path)
        while True:
            try:
                return pa.csv.read_csv(
                    open_arrow(path), **_options(dialect, types, block, missing=())
                )
            except (pa.ArrowInvalid, UnicodeDecodeError) as error:
                block = _larger(path, dialect, block, error)


def text_batches(
    path: str, dialect: Dialect, numeric: Sequence[str], verbatim: Sequence[str], missing: list[str]
) -> Iterator[pa.RecordBatch]:
    """Yield columns in pieces: numbers as numbers, which is fast; from a failure on, as text."""
    names = dict.fromkeys([*numeric, *verbatim])
    types = {name: pa.string() if name in verbatim else pa.float64() for name in names}
    done = 0
    with reading(path):
        block = block_size(path)
        while True:
            at = 0
            options = _options(dialect, types, block, missing)
            try:
                for batch in pa.csv.open_csv(open_arrow(path), **options):
                    skipped = min(max(done - at, 0), batch.num_rows)
                    at += batch.num_rows
                    done = max(done, at)
                    yield batch.slice(skipped)
                return
            except (pa.ArrowInvalid, OSError, UnicodeDecodeError) as error:
                as_text = all(pa.types.is_string(type_) for type_ in types.values())
                if _is_too_long(error) or as_text:
                    block = _larger(path, dialect, block, error)
                else:  # the next pass reads what this one could not, or tells what is wrong
                    types = dict.fromkeys(names, pa.string())


def _options(
    dialect: Dialect, types: dict[str, pa.DataType], block: int, missing: Sequence[str]
) -> dict[str, object]:
    return {
        # The parser skips the mark of UTF-8 itself, and looks at no byte that it does not need.
        "read_options": pa.csv.ReadOptions(
            block_size=block, encoding=dialect.encoding.removesuffix("-sig")
        ),
        "parse_options": pa.csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True),
        "convert_options": pa.csv.ConvertOptions(
            include_columns=list(types),
            column_types=types,
            null_values=list(missing),
            decimal_point=dialect.decimal,
        ),
    }


def _is_too_long(error: Exception) -> bool:
    return "straddling" in str(error)


def _larger(path: str, dialect: Dialect, block: int, error: Exception) -> int:
    """Return a larger block where a row did not fit, and note it; or raise what is wrong."""
    if isinstance(error, OSError):
        raise error
    if not _is_too_long(error) or block == _MOST:
        raise csv_problem(path, dialect, error) from error
    block = min(2 * block, _MOST)
    _blocks[_identity(path)] = block
    return block


def _identity(path: str) -> tuple[str, int, int]:
    status = os.stat(path)
    return os.path.abspath(path), status.st_size, status.st_mtime_ns


def block_size(path: str, *, scan_compressed: bool = False) -> int:
    """Return the bytes of a block that holds the longest line; ``BLOCK``, where that is short.

    Costs next to nothing: one look at every two megabytes. Compressed files have to be read as a
    whole for it, which is done where ``scan_compressed`` says so; rows with line breaks in quotes
    may be longer than a line. Where a block does not do, readers take a larger one.
    """
    identity = _identity(path)
    if identity not in _blocks and (scan_compressed or not path.lower().endswith(".gz")):
        with reading(path):
            without = _steps_without_line_end(path)
        block = BLOCK
        while block < _STEP * (without + 2):
            block *= 2
        _blocks.clear()
        _blocks[identity] = min(block, _MOST)
    return _blocks.get(identity, BLOCK)


def _steps_without_line_end(path: str) -> int:
    """Count the most steps in a row that no line ends in: a line has two more at most."""
    longest = run = 0
    with open_bytes(path) as file:
        start = 0
        while True:
            if path.lower().endswith(".gz"):
                piece = file.read(_STEP)
            else:
                file.seek(start)
                piece = file.read(1 << 12)
                if not _has_line_end(piece):
                    piece += file.read(_STEP - len(piece))
            if not piece:
                return longest
            run = 0 if _has_line_end(piece) else run + 1
            longest = max(longest, run)
            start += _STEP


def _has_line_end(piece: bytes) -> bool:
    return b"\n" in piece or b"\r" in piece


def csv_line(path: str, dialect: Dialect, row: int) -> int:
    """Return the line, from 1, on which data row ``row``, from 0, starts. Cost: one scan."""
    with contextlib.closing(csv_rows(path, dialect)) as rows:
        for number, (line, _) in enumerate(rows):
            if number == row + 1:
                return line
    return row + 2


def csv_problem(path: str, dialect: Dialect, error: Exception) -> InputError:
    """Scan a text table that could not be parsed for the first fault, and describe it."""
    n_rows = 0
    with contextlib.closing(csv_rows(path, dialect)) as rows:
        line, names = next(rows, (1, []))
        for n_rows, (line, cells) in enumerate(rows, 1):  # noqa: B007
            if len(cells) != len(names):
                return InputError(
                    f"{path}: row {n_rows} (line {line}) has {len(cells)} cells, the header has "
                    f"{len(names)}. Give every row one cell a column, empty where a value is "
                    "missing."
                )
            for name, cell in zip(names, cells, strict=True):
                if not is_decoded(cell):
                    return not_encoded(path, line, dialect.encoding, f" (column {name!r})")
    if n_rows == 0:
        return no_rows(path)
    return InputError(f"{path}: cannot be read as a table ({str(error).splitlines()[0]}).")
