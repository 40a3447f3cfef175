"""Input from a pipe: kept in a temporary file while it is read, since readers go back in it."""

import contextlib
import gzip
import io
import os
import shutil
import stat
import tempfile
import zlib
from collections.abc import Iterator
from typing import IO

from lrrf_jax._validation import InputError, OutputError, is_no_room

STANDARD_INPUT = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
# What files of a format begin with; all others are text.
_MAGIC = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"\xff\xff\xff\xff": ".arrow",  # a stream
    b"\x93NUMPY": ".npy",
    b"PK\x03\x04": ".npz",
}
_PEEK = 1 << 16


def shown_name(path: str) -> str:
    """Return what messages call a path."""
    return "standard input" if path in STANDARD_INPUT and is_pipe(path) else path


def is_pipe(path: str) -> bool:
    """Tell whether a path stands for standard input, a pipe, or what a shell puts in its place."""
    if path == "-" and os.path.exists(path):
        return False  # a file that is called so
    if path in STANDARD_INPUT or path.startswith(("/dev/fd/", "/proc/self/fd/")):
        return True
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextlib.contextmanager
def as_file(path: str, format: str | None = None) -> Iterator[str]:
    """Give the path of a regular file with the content of ``path``, which may be a pipe.

    Parameters
    ----------
    path : str
    format : str, optional
        Suffix of the format, such as "csv" or "tsv.gz". By default that of ``path``, or else what
        the first bytes tell: Parquet, Arrow, npy and npz have a mark, and text is CSV.

    Raises
    ------
    InputError
        For a terminal or a device, for a pipe that nothing comes from, and, with the name that was
        typed, for whatever the reader of the file raises; its subclass OutputError where the
        folder of temporary files is full.
    """
    if not is_pipe(path):
        if format is not None:
            raise InputError(
                f"{path}: format= (--input-format) is for pipes; the suffix tells that of a file. "
                "Leave it out, or rename the file."
            )
        yield path
        return
    shown = shown_name(path)
    with tempfile.TemporaryDirectory(prefix="lrrf-") as folder:
        file = _kept(path, shown, folder, format)
        try:
            yield file
        except InputError as error:
            error.args = (str(error).replace(file, shown), *error.args[1:])
            raise


def _kept(path: str, shown: str, folder: str, format: str | None) -> str:
    """Copy a pipe to a file in ``folder`` that is called like it, with the suffix of the format."""
    try:
        with _opened(path, shown) as pipe:
            first = _first_bytes(pipe)
            if not first:
                raise InputError(f"{shown}: nothing came from the pipe. Check what writes to it.")
            suffix = _suffix(path, first, format)
            stem = "stdin" if shown == "standard input" else os.path.basename(path).split(".")[0]
            kept = os.path.join(folder, stem + suffix)
            with open(kept, "wb") as file:
                file.write(first)
                shutil.copyfileobj(pipe, file, 1 << 20)
    except OSError as error:
        if is_no_room(error):
            raise OutputError(
                f"{shown}: cannot be kept in {tempfile.gettempdir()} while it is read "
                f"({error.strerror}). Free space, name another folder in TMPDIR, or save it to a "
                "file first."
            ) from error
        raise InputError(
            f"{shown}: cannot be read ({error.strerror or error}). Save it to a file first."
        ) from error
    return kept


def _opened(path: str, shown: str) -> IO[bytes]:
    if path in STANDARD_INPUT:
        stream = os.fdopen(os.dup(0), "rb", buffering=0)  # also where it is a socket
    else:
        stream = open(path, "rb", buffering=0)
    mode = os.fstat(stream.fileno()).st_mode
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        kind = "a terminal" if stream.isatty() else "a device"
        stream.close()
        raise InputError(f"{shown}: is {kind}, not a table. Give a file, or pipe a table into it.")
    return stream


def _first_bytes(pipe: IO[bytes]) -> bytes:
    """Read until there is enough to tell the format: a pipe may give less at a time."""
    first = b""
    while len(first) < 8 and (piece := pipe.read(_PEEK)):
        first += piece
    return first


def _suffix(path: str, first: bytes, format: str | None) -> str:
    if format is not None:
        return "." + format.lower().lstrip(".")
    stem, suffix = os.path.splitext(path.lower())
    if suffix and path not in STANDARD_INPUT and not stem.endswith("/"):
        return (os.path.splitext(stem)[1] if suffix == ".gz" else "") + suffix
    packed = first.startswith(b"\x1f\x8b")
    if packed:
        with contextlib.suppress(OSError, EOFError, zlib.error):
            first = gzip.GzipFile(fileobj=io.BytesIO(first)).read1(64)
    known = next((s for mark, s in _MAGIC.items() if first.startswith(mark)), ".csv")
    return known + ".gz" * packed
