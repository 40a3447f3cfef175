"""What is said: lines and documents on stdout, messages on stderr. Imports nothing heavy."""

import contextlib
import json
import os
import sys
from typing import Any

import typer


def say(text: str) -> None:
    """Write a line to stderr; where nobody can read it, go on."""
    with contextlib.suppress(OSError):
        typer.echo(text, err=True)


def show(text: str) -> None:
    """Write lines to stdout, at once.

    Raises
    ------
    OutputError
        Where they cannot be written. A reader that has enough, as in ``lrrf ... | head -1``, is
        no error: the command goes on, and says nothing more.
    """
    try:
        typer.echo(text)
        sys.stdout.flush()
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
