"""What is said: lines and documents on stdout, messages on stderr. Imports nothing heavy.

Names that a stranger chose can do nothing to a terminal.
"""

import contextlib
import json
import os
import shutil
import sys
import unicodedata
from collections.abc import Iterator
from typing import Any

import typer

# Control characters, and the invisible ones that reorder or hide what stands around them.
_DANGEROUS = ("Cc", "Cf", "Cs", "Zl", "Zp")


def printable(text: str, keep: str = "\n\t") -> str:
    r"""Write characters that steer a terminal as Python writes them in a literal.

    >>> print(printable("red \x1b[31m name"))
    red \x1b[31m name
    """
    return "".join(
        char.encode("unicode_escape").decode("ascii")
        if unicodedata.category(char) in _DANGEROUS and char not in keep
        else char
        for char in text
    )


def say(text: str) -> None:
    """Write a line to stderr; where nobody can read it, go on."""
    with contextlib.suppress(OSError):
        typer.echo(printable(text), err=True)


def show(text: str) -> None:
    """Write lines to stdout, at once; see `write` for errors."""
    write(printable(text))


def write(text: str) -> None:
    """Write to stdout what is `printable` already.

    Raises
    ------
    OutputError
        Where they cannot be written. A reader that has enough, as in ``lrrf ... | head -1``, is
        no error: the command goes on, and says nothing more.
    """
    with _stdout_written():
        typer.echo(text)
        sys.stdout.flush()


def copy(path: str) -> None:
    """Write the bytes of a file to stdout; raises as `write`."""
    with open(path, "rb") as file, _stdout_written():
        sys.stdout.flush()
        if hasattr(sys.stdout, "buffer"):
            shutil.copyfileobj(file, sys.stdout.buffer)
        else:  # that of a notebook, which takes text alone
            sys.stdout.write(file.read().decode())
        sys.stdout.flush()


@contextlib.contextmanager
def _stdout_written() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        from lrrf_jax._validation import unwritable

        drop_stdout()
        if not isinstance(error, BrokenPipeError):
            raise unwritable("standard output", error) from error


def print_json(document: Any) -> None:
    """Write the one JSON document of a command to stdout."""
    show(json.dumps(document, indent=2, allow_nan=False))


def drop_stdout() -> None:
    """Send what stdout still holds nowhere, or the interpreter would fail on it at its end."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
