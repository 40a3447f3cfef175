"""How many threads this process may use: one per core, or fewer where it was told so."""

import contextlib
import contextvars
import numbers
import os
from collections.abc import Iterator
from typing import Any

from lrrf_jax._validation import InputError

_most: int | None = None
_asked: contextvars.ContextVar[int | None] = contextvars.ContextVar("n_jobs", default=None)


def thread_count() -> int:
    """Return the number of threads to spread rows or trees over.

    It is that of the cores which the operating system gives to this process, or what
    :func:`limit_threads` says where that is less, or what :func:`use_threads` makes of it.

    >>> thread_count() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    most = cores if _most is None else min(cores, _most)
    asked = _asked.get()
    if asked is None:
        return most
    return min(asked, most) if asked > 0 else max(1, most + 1 + asked)


def limit_threads(count: int | None) -> None:
    """Use at most ``count`` threads in this process from now on; None takes the limit away.

    For processes that share a machine with others of their kind: ten workers with as many
    threads each as there are cores get in each other's way.
    """
    global _most
    _most = None if count is None else max(1, count)


def require_n_jobs(n_jobs: Any) -> None:
    """Raise InputError for what is no number of threads."""
    whole = isinstance(n_jobs, numbers.Integral) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not whole or n_jobs == 0):
        raise InputError(
            "n_jobs must be a number of threads, None or -1 for one per core, or -2 for all cores "
            f"but one, and so on; it is {n_jobs!r}."
        )


def use_threads(n_jobs: int | None) -> contextlib.AbstractContextManager[None]:
    """Let what this thread calls inside a ``with`` block use so many threads.

    As joblib counts: -1 is one per core, -2 all but one; never more than there would be. None
    changes nothing, and costs next to nothing.
    """
    if n_jobs is None:
        return _AS_IT_IS
    require_n_jobs(n_jobs)
    return _use(n_jobs)


_AS_IT_IS = contextlib.nullcontext()


@contextlib.contextmanager
def _use(n_jobs: int) -> Iterator[None]:
    token = _asked.set(int(n_jobs))
    try:
        yield
    finally:
        _asked.reset(token)
