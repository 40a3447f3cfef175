"""Where the command line meets its process: compiled programs, terminals, files, failures."""

import contextlib
import ctypes
import hashlib
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from typing import Any

import typer

from lrrf_jax._validation import InputError

_M_ARENA_MAX = -8  # of malloc.h


_SECONDS_IN_THE_MAKING = 60


def use_compilation_cache(*, off: bool) -> None:
    """Let JAX keep compiled programs on disk, in ``$XDG_CACHE_HOME/lrrf_jax/xla``.

    Nothing happens where the directory cannot be made, or where ``JAX_COMPILATION_CACHE_DIR``
    says what to use.
    """
    if off or os.environ.get("JAX_COMPILATION_CACHE_DIR"):
        return
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.path.join(base, "lrrf_jax", "xla", _processor())
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError:
        return
    if not os.access(folder, os.W_OK):
        return
    _drop_half_entries(folder)
    import jax

    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
    # With a largest size JAX takes a lock, so that no job reads what another half wrote.
    jax.config.update("jax_compilation_cache_max_size", 2**30)


def _drop_half_entries(folder: str) -> None:
    """Delete programs without their time of use, which killed processes leave behind.

    JAX fails, and warns of, every later write where there is one. Those of the last minute may
    be in the making.
    """
    names = set(os.listdir(folder))
    for name in names:
        stem, dash, kind = name.rpartition("-")
        if kind == "cache" and f"{stem}{dash}atime" not in names:
            path = os.path.join(folder, name)
            with contextlib.suppress(OSError):
                if time.time() - os.path.getmtime(path) > _SECONDS_IN_THE_MAKING:
                    os.remove(path)


def _processor() -> str:
    """Name the kind of processor: programs for another one may hold illegal instructions."""
    kind = f"{platform.machine()} {platform.processor()}"
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as lines:
        kind += next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return f"{platform.machine()}-{hashlib.sha256(kind.encode()).hexdigest()[:8]}"


def share_one_heap() -> None:
    """Let all threads allocate from one heap, where the C library is glibc.

    With a heap a thread, memory creeps up by some percent over a long run: an array that one
    thread allocates and another one frees leaves a hole that nobody else may fill.
    """
    if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ:
        with contextlib.suppress(AttributeError, OSError):
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def say(text: str) -> None:
    """Write a line to stderr."""
    typer.echo(text, err=True)


def print_json(document: Any) -> None:
    """Write the one JSON document of a command to stdout."""
    typer.echo(json.dumps(document, indent=2, allow_nan=False))


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


def require_place(path: str) -> None:
    """Raise InputError where no file can be written under ``path``; costs nothing."""
    folder = os.path.dirname(path)
    if os.path.isdir(path):
        raise InputError(f"{path}: is a directory. Name a file in it.")
    if not os.path.isdir(folder or "."):
        raise InputError(f"{path}: there is no directory {folder!r}. Make it first.")
    if not os.access(folder or ".", os.W_OK):
        raise InputError(f"{path}: the directory cannot be written. Choose another one.")


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

    @contextlib.contextmanager
    def caught(self, part: str, n_parts: int) -> Iterator[None]:
        """Note the failure of a part and tell it at once; a single part fails as a whole."""
        try:
            yield
        except (typer.Exit, typer.BadParameter):
            raise
        except Exception as error:
            if n_parts == 1:
                raise
            known = isinstance(error, InputError)
            text = str(error) if known else f"{part}: unexpected {type(error).__name__}: {error}"
            self.messages[part] = text
            self._errors.append(error)
            say(f"error: {text}")

    def end(self, n_parts: int) -> None:
        """Exit with code 5 where some parts failed; raise the first failure where all did."""
        if not self.messages:
            return
        say(f"{len(self.messages)} of {n_parts} failed: {', '.join(self.messages)}")
        if len(self.messages) == n_parts:
            raise self._errors[0]
        raise typer.Exit(5)
