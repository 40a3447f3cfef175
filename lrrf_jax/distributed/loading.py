"""A model in the memory of a worker process, loaded with the first batch that it ranks."""

import functools
import os
import threading
from typing import Any

_loading = threading.Lock()


def load_once(path: str | os.PathLike[str]) -> Any:
    """Load a model where this process does not hold it yet.

    For functions that an engine calls once a batch or a partition: a ranker that is kept keeps
    its compiled programs. The file is read again where it was replaced.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    fitted LabelRanker
        The same for every caller, which may be on several threads; do not change it.

    Raises
    ------
    ModelFileError
        As :func:`lrrf_jax.load`.
    """
    name = os.path.abspath(os.fsdecode(path))
    try:
        status = os.stat(name)
        version = (status.st_ino, status.st_size, status.st_mtime_ns)
    except OSError:  # told by what reads the file
        version = (0, 0, 0)
    with _loading:
        return _loaded(name, version)


@functools.lru_cache(maxsize=4)
def _loaded(path: str, version: tuple[int, int, int]) -> Any:
    from lrrf_jax.learners import load

    return load(path)
