"""How many threads this process may use: one per core, or fewer where it was told so."""

import os

_most: int | None = None


def thread_count() -> int:
    """Return the number of threads to spread rows or trees over.

    It is that of the cores which the operating system gives to this process, or what
    :func:`limit_threads` says where that is less.

    >>> thread_count() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return cores if _most is None else min(cores, _most)


def limit_threads(count: int | None) -> None:
    """Use at most ``count`` threads in this process from now on; None takes the limit away.

    For processes that share a machine with others of their kind: ten workers with as many
    threads each as there are cores get in each other's way.
    """
    global _most
    _most = None if count is None else max(1, count)
