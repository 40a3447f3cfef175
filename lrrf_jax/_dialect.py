"""How a text table is written: what parts its cells, the sign in its decimals, its encoding."""

import codecs
import contextlib
import csv
import functools
import io
import itertools
import os
import sys
from collections.abc import Generator, Iterator
from typing import NamedTuple

from lrrf_jax._table_names import is_tsv, open_bytes, reading, unique_names
from lrrf_jax._validation import InputError

_CANDIDATES = (",", ";", "\t", "|")
_LOOKED_AT = 50  # rows that have to fit a delimiter which nobody named
_MARKS = {b"\xff\xfe\x00\x00": "utf-32", b"\x00\x00\xfe\xff": "utf-32"}
_MARKS |= {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
UTF8 = "utf-8-sig"  # with the mark, or without


class Dialect(NamedTuple):
    """What a user says of text tables, or, of one of them, what holds."""

    delimiter: str = ""  # "": found in the file
    decimal: str = "."
    encoding: str = ""  # "": UTF-8, or what a mark at the beginning of the file says


UNTOLD = Dialect()


def as_dialect(
    delimiter: str | None = None, decimal: str | None = None, encoding: str | None = None
) -> Dialect:
    r"""Check what a user says of text tables.

    >>> as_dialect(delimiter="\\t", encoding="latin1")
    Dialect(delimiter='\t', decimal='.', encoding='latin1')
    """
    if delimiter is not None:
        delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter)
        if not isinstance(delimiter, str) or len(delimiter) != 1 or not _can_part(delimiter):
            raise InputError(
                f"delimiter must be a single sign that parts cells, such as ';' or '\\t'; it is "
                f"{delimiter!r}."
            )
    if decimal is not None and decimal not in (".", ","):
        raise InputError(f"decimal must be '.' or ','; it is {decimal!r}.")
    if encoding is not None:
        try:
            codecs.getincrementaldecoder(encoding)
            "a".encode(encoding).decode(encoding, "surrogateescape")
        except (LookupError, UnicodeError, TypeError, ValueError) as error:
            raise InputError(
                f"encoding must be one that Python knows, such as 'utf-8', 'latin1', 'cp1252' or "
                f"'utf-16'; it is {encoding!r}."
            ) from error
    return Dialect(delimiter or "", decimal or ".", encoding or "")


def _can_part(sign: str) -> bool:
    return sign.isascii() and not sign.isalnum() and sign not in "\"'\r\n.-+\0"


def dialect_of(path: str, told: Dialect) -> Dialect:
    """Return how a text table is written: as told, or as it shows without doubt.

    The delimiter of a .csv file is the one of comma, semicolon, tab and bar that parts its header
    and its first rows into as many cells each, two at least; where none does, the comma.

    Raises
    ------
    InputError
        Where several do, or the file begins with the mark of another encoding than the one told.
    """
    status = os.stat(path)
    return _dialect_of(path, told, status.st_size, status.st_mtime_ns)


@functools.lru_cache(64)  # asked for by every part of a file
def _dialect_of(path: str, told: Dialect, size: int, changed: int) -> Dialect:
    with reading(path):
        encoding = encoding_of(path, told.encoding)
        delimiter = told.delimiter or ("\t" if is_tsv(path) else _delimiter(path, encoding))
    return Dialect(delimiter, told.decimal, encoding)


def encoding_of(path: str, told: str) -> str:
    """Return the encoding of a text file: as told, by the mark it begins with, or UTF-8."""
    with open_bytes(path) as file:
        start = file.read(4)
    marked = next((name for mark, name in _MARKS.items() if start.startswith(mark)), None)
    if not told:
        return marked or UTF8
    if marked is None:
        return UTF8 if _same_codec(told, "utf-8") else told
    kind = marked.removesuffix("-sig")
    if not told.lower().replace("_", "-").startswith((kind, kind.replace("-", ""))):
        raise InputError(
            f"{path}: encoding={told!r} (--encoding) is said, and the file begins with the mark of "
            f"{kind.upper()}. Leave the encoding out, or say {kind!r}."
        )
    return marked


def _same_codec(one: str, other: str) -> bool:
    return codecs.lookup(one).name == codecs.lookup(other).name


def _delimiter(path: str, encoding: str) -> str:
    def first_rows(delimiter: str, count: int) -> Iterator[int]:  # cells of each
        with contextlib.closing(csv_rows(path, Dialect(delimiter, encoding=encoding))) as rows:
            yield from (len(cells) for _, cells in itertools.islice(rows, count))

    n_names = {sign: next(first_rows(sign, 1), 0) for sign in _CANDIDATES}
    parting = [sign for sign, count in n_names.items() if count > 1]
    if parting in ([], [","]):
        return ","
    fitting = [
        sign
        for sign in parting
        if all(count == n_names[sign] for count in first_rows(sign, _LOOKED_AT))
    ]
    if len(fitting) > 1:
        raise InputError(
            f"{path}: its cells may be parted by {' or by '.join(map(repr, fitting))}: header and "
            f"rows fit both. Say which with delimiter= (--delimiter {fitting[-1]!r})."
        )
    return fitting[0] if fitting else ","


@contextlib.contextmanager
def _long_cells() -> Iterator[None]:
    """Let the csv module read cells of more than 128 KiB."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def csv_rows(path: str, dialect: Dialect) -> Generator[tuple[int, list[str]], None, None]:
    """Yield (line, cells) for each row that is not blank; the header comes first.

    Bytes that the encoding does not know come as lone surrogates.
    """
    line = 1
    with (
        _long_cells(),
        io.TextIOWrapper(
            open_bytes(path), dialect.encoding or UTF8, "surrogateescape", newline=""
        ) as lines,
    ):
        reader = csv.reader(lines, delimiter=dialect.delimiter)
        try:
            for cells in reader:
                if cells:
                    yield line, cells
                line = reader.line_num + 1
        except UnicodeDecodeError as error:  # of UTF-16, where a sign takes several bytes
            raise not_encoded(path, line, dialect.encoding, near=True) from error


def is_decoded(text: str) -> bool:
    """Tell whether all bytes of a cell of `csv_rows` were known to the encoding."""
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)


def not_encoded(
    path: str, line: int, encoding: str, column: str = "", *, near: bool = False
) -> InputError:
    """Return the error for a line that is not written in its encoding."""
    where = f"{'near ' * near}line {line}"
    if encoding and encoding != UTF8:
        return InputError(
            f"{path}: {where} is not {encoding} text{column}. Name the encoding that the file was "
            "saved in with encoding= (--encoding)."
        )
    return InputError(
        f"{path}: {where} is not UTF-8 text{column}. Name its encoding, such as encoding='latin1' "
        "(--encoding latin1) or 'cp1252', or save the file in the UTF-8 encoding."
    )


def csv_header(path: str, dialect: Dialect) -> list[str]:
    """Return the column names of a text table, each of them once."""
    with reading(path):
        with contextlib.closing(csv_rows(path, dialect)) as rows:
            line, names = next(rows, (1, []))
    if not all(map(is_decoded, names)):
        raise not_encoded(path, line, dialect.encoding)
    if not names:
        raise InputError(f"{path}: the file is empty. Write a header line and the rows below it.")
    if names[0].lower().startswith("sep=") and len(names) < 3:  # for a spreadsheet
        raise InputError(
            f"{path}: the first line, {dialect.delimiter.join(names)!r}, is no header. Remove it, "
            "and say delimiter= (--delimiter) if the cells are not parted by commas."
        )
    if any("\0" in name for name in names):
        raise InputError(
            f"{path}: the header holds NUL signs, as UTF-16 without a mark does when it is read as "
            "another encoding. Say encoding='utf-16-le' or 'utf-16-be' (--encoding) if it is."
        )
    return unique_names(path, names)
