"""Where the command line meets its process: memory, terminals, files, failures."""

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator
from typing import Any

import typer

from lrrf_jax._validation import BackendError, InputError, OutputError
from lrrf_jax.cli._streams import print_json as print_json
from lrrf_jax.cli._streams import say as say
from lrrf_jax.cli._streams import show as show

_M_ARENA_MAX = -8  # of malloc.h


def share_one_heap() -> None:
    """Let all threads allocate from one heap, where the C library is glibc.

    With a heap per thread, memory creeps up by some percent over a long run: an array that one
    thread allocates and another one frees leaves a hole that nobody else may fill.
    """
    if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ:
        with contextlib.suppress(AttributeError, OSError):
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def progress(total: int | None, unit: str) -> Any:
    """Return a progress bar on stderr, silent unless that is a terminal."""
    from tqdm import tqdm

    return tqdm(total=total, unit=f" {unit}", unit_scale=True, disable=not sys.stderr.isatty())


@contextlib.contextmanager
def naming(source: str) -> Iterator[None]:
    """Put the name of the data before the message of an InputError that lacks it."""
    try:
        yield
    except InputError as error:
        if source in str(error):
            raise
        raise InputError(f"{source}: {error}") from error


def require_model_file(path: str) -> None:
    """Raise ModelFileError where a model is not there: at once, before anything is imported.

    Also for standard input: a model is checked as a whole, in its file.
    """
    from lrrf_jax._pipes import is_pipe
    from lrrf_jax._validation import ModelFileError, require_model_content

    if is_pipe(path):
        raise ModelFileError(
            f"{path}: is a pipe or a device, and a model is read from a file. Save it to a file "
            "first."
        )
    require_model_content(path)


def read_model_file(path: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the header and arrays of a model file, for which JAX is not needed."""
    require_model_file(path)
    from lrrf_jax import model_file

    return model_file.read_model(path)


def draw_without_window() -> None:
    """Let figures be drawn where there is no screen; for commands that only write them."""
    with contextlib.suppress(ImportError):
        import matplotlib

        matplotlib.use("agg")


def same_file(first: str, second: str) -> bool:
    """Tell whether two paths lead to one file, which need not be there yet."""
    return os.path.realpath(first) == os.path.realpath(second)


class Failures:
    """Parts of a command that failed while the others go on."""

    def __init__(self) -> None:
        self.messages: dict[str, str] = {}
        self._errors: list[Exception] = []
        self._partly: set[str] = set()

    @contextlib.contextmanager
    def caught(self, part: str, n_parts: int, partly: bool = False) -> Iterator[None]:
        """Note the failure of a part and tell it at once; a single part fails as a whole.

        With ``partly``, something of this part is done all the same.
        """
        try:
            yield
        except (typer.Exit, typer.BadParameter, OutputError):  # the others cannot go on either
            raise
        except Exception as error:
            if n_parts == 1 and not partly:
                raise
            if partly:
                self._partly.add(part)
            known = isinstance(error, InputError | BackendError)
            text = str(error) if known else f"{part}: unexpected {type(error).__name__}: {error}"
            self.messages[part] = f"{self.messages[part]} {text}" if part in self.messages else text
            self._errors.append(error)
            say(f"error: {text}")

    def end(self, n_parts: int) -> None:
        """Exit with code 5 where some parts failed; raise the first failure where all did."""
        if not self.messages:
            return
        names = [f"{part} (in part)" if part in self._partly else part for part in self.messages]
        say(f"{len(names)} of {n_parts} failed: {', '.join(names)}")
        if len(names) == n_parts and not self._partly:
            raise self._errors[0]
        raise typer.Exit(5)
