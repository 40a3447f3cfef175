"""Lock files that are gone when nobody holds them."""

import contextlib
import os
from collections.abc import Iterator

import filelock


@contextlib.contextmanager
def held(path: str | os.PathLike[str], timeout: float) -> Iterator[None]:
    """Hold a lock file, which is removed at the end; the system frees that of a killed run.

    Raises `filelock.Timeout` where another run holds it for ``timeout`` seconds, and OSError or
    NotImplementedError where the file system has no locks.

    Notes
    -----
    A lock is on a file and not on its name: who opened a file that is removed before it is locked
    would hold nothing while another run makes a new one. So it is removed by its holder alone,
    while it is held, and filelock takes a lock again that turns out to be on a file without a name.
    Before 3.29.5 it removes files itself, a second time, which may then be those of others.
    """
    with filelock.FileLock(path, timeout=timeout):
        try:
            yield
        finally:
            # Windows removes no open file: there filelock does, later. Where a file system has no
            # locks, what filelock makes instead holds the number of the process, and it removes it.
            with contextlib.suppress(OSError):
                if os.path.getsize(path) == 0:
                    os.remove(path)
