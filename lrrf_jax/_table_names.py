"""Names of files, columns and missing values, for which neither NumPy nor pyarrow is needed."""

import collections
import contextlib
import csv
import difflib
import fnmatch
import gzip
import os
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, cast

from lrrf_jax._validation import InputError

# What pandas reads as missing, and what ARFF, MySQL and pandas itself write for it.
MISSING = (
    *("", "NaN", "nan", "-NaN", "-nan", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>"),
    *("NULL", "null", "None", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "?", "\\N", "NaT"),
)
DEFAULT = "default"  # in a text that lists such cells, stands for all of these
TEXT_SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
ARROW_SUFFIXES = (".arrow", ".feather", ".ipc")
# What the libraries below raise on files that are cut off or altered, besides pyarrow's own.
_DAMAGE = (OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile, csv.Error)


def suffix_of(path: str) -> str:
    """Return the suffix in lower case, with that of the format kept before ``.gz``."""
    stem, suffix = os.path.splitext(path.lower())
    return os.path.splitext(stem)[1] + suffix if suffix == ".gz" else suffix


def is_tsv(path: str) -> bool:
    """Tell whether the cells of a text table are parted by tabs, as its suffix says."""
    return suffix_of(path).startswith(".tsv")


@contextlib.contextmanager
def reading(path: str) -> Iterator[None]:
    """Turn what the libraries below raise on a damaged file into an InputError that names it."""
    try:
        yield
    except InputError:
        raise
    except PermissionError as error:
        raise InputError(f"{path}: permission denied. Make the file readable.") from error
    except MemoryError as error:  # perhaps of a header that tells an untrue size
        raise InputError(
            f"{path}: needs more memory than there is ({error}). Cut the table into smaller ones, "
            "or write it again if it is small: its header is damaged."
        ) from error
    except _damage() as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(
            f"{path}: cannot be read as {suffix_of(path) or 'a table'} ({reason[0].rstrip('.')}). "
            "The file is damaged or of another format: write it again."
        ) from error


def _damage() -> tuple[type[Exception], ...]:
    """Return what is raised; pyarrow raises nothing where nobody has imported it."""
    arrow = sys.modules.get("pyarrow")
    return _DAMAGE if arrow is None else (*_DAMAGE, arrow.ArrowException)


def open_bytes(path: str) -> IO[bytes]:
    """Open a file that may be gzipped."""
    if path.lower().endswith(".gz"):
        return cast(IO[bytes], gzip.open(path, "rb"))
    return open(path, "rb")


def unique_names(path: str, names: Sequence[str]) -> list[str]:
    """Return the names as a list, or raise InputError where one is there twice."""
    counts = collections.Counter(names)
    repeated = sorted(name for name, count in counts.items() if count > 1)
    if repeated:
        raise InputError(
            f"{path}: column {repeated[0]!r} is there {counts[repeated[0]]} times "
            f"({len(repeated)} names are repeated). Give every column a name of its own."
        )
    return list(names)


def no_rows(path: str) -> InputError:
    """Return the error for a table without rows."""
    return InputError(f"{path}: the table has no rows. Add rows, or leave the file out.")


def as_patterns(patterns: str | Sequence[str]) -> list[str]:
    """Split comma-separated text into patterns; a sequence passes unchanged."""
    if isinstance(patterns, str):
        return [pattern.strip() for pattern in patterns.split(",") if pattern.strip()]
    return list(patterns)


def match_columns(
    path: str, names: Sequence[str], patterns: str | Sequence[str], argument: str
) -> list[str]:
    """Return the columns that the names or shell globs pick: by pattern, then as in the file.

    Examples
    --------
    >>> match_columns("t.csv", ["A1", "A2", "A10", "L1"], "A*", "features")
    ['A1', 'A2', 'A10']
    """
    chosen: dict[str, None] = {}
    known = set(names)
    whole = isinstance(patterns, str) and patterns in known
    for pattern in [patterns] if whole else as_patterns(patterns):
        found = [pattern] if pattern in known else fnmatch_names(names, str(pattern))
        if not found:
            raise InputError(
                f"{path}: {argument} asks for {pattern!r}, which no column is called or matches. "
                f"{resembling(str(pattern), names)}"
            )
        chosen.update(dict.fromkeys(found))
    return list(chosen)


def fnmatch_names(names: Sequence[str], pattern: str) -> list[str]:
    """Return the names that a shell glob matches; upper and lower case differ."""
    return [name for name in names if fnmatch.fnmatchcase(name, pattern)]


def resembling(name: str, names: Sequence[str]) -> str:
    """Name the columns that look like ``name``, or the first ones where none does."""
    folded = {known.strip().casefold(): known for known in reversed(names)}
    close = difflib.get_close_matches(name.strip().casefold(), list(folded), n=3)
    if close:
        return f"Close to it: {', '.join(repr(folded[match]) for match in close)}."
    shown = ", ".join(repr(known) for known in names[:10])
    return f"The columns are {shown}{', ...' if len(names) > 10 else '.'}"


def as_missing(missing: str | Sequence[str]) -> tuple[str, ...]:
    """List the cells that say "missing": a text is split at commas, a sequence is taken as it is.

    >>> as_missing("-9, x"), len(as_missing("default,-9")) == len(MISSING) + 1
    (('-9', 'x'), True)
    """
    if not isinstance(missing, str):
        cells = list(missing) if isinstance(missing, Iterable) else [missing]
        if not all(isinstance(cell, str) for cell in cells):
            raise InputError(f"missing values must be texts such as 'NA' or '-9'; got {cells}.")
        return tuple(cells)
    found: list[str] = []
    for cell in map(str.strip, missing.split(",")):
        found += MISSING if cell == DEFAULT else [cell]
    return tuple(dict.fromkeys(found))
