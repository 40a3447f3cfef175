"""Where compiled programs are kept, so that the next process need not compile them again."""

import contextlib
import os
import time
from typing import Literal

from lrrf_jax._cache_folder import default_directory, open_folder
from lrrf_jax._program_store import MAX_BYTES, VARIABLE, ProgramStore, is_off, use_store

_SECONDS_IN_THE_MAKING = 60


def use_compilation_cache(
    directory: str | os.PathLike[str] | Literal[False] | None = None, *, max_bytes: int = MAX_BYTES
) -> str | None:
    """Choose where compiled programs are kept on disk, for this process and later ones.

    Our own programs are kept without it: the first fit in a process compiles for some seconds, in
    the next one it loads them in a tenth of one. Called, it also has JAX keep all other programs
    there, those over several devices among them: that is a setting of the whole process. The
    command line does so. Call it before anything is fitted or predicted.

    Parameters
    ----------
    directory : path or False, optional
        By default the one that ``LRRF_JAX_CACHE`` in the environment names, or else
        ``lrrf_jax/xla`` in the user's cache, as platformdirs knows it: on Linux
        ``$XDG_CACHE_HOME`` or else ``~/.cache``, on macOS ``~/Library/Caches``, on Windows
        ``%LOCALAPPDATA%``. Each kind of processor has a directory of its own in it. False: none
        of our programs is kept, or taken, from now on.
    max_bytes : int
        Programs that were not used for longest are deleted beyond it: ours, and JAX's likewise.

    Returns
    -------
    str or None
        Where programs are kept. None where nothing was changed: the directory cannot be written,
        ``JAX_COMPILATION_CACHE_DIR`` says what to use, for our programs too, or
        ``LRRF_JAX_CACHE=0`` that nothing is to be kept. Also None, with a warning, where another
        user owns the directory or all users may write to it: what they put there would be run.

    Raises
    ------
    InputError
        Where ``max_bytes`` is no whole number, or less than 1.

    Notes
    -----
    Several processes may use one directory at a time. Programs that a killed process left half
    written are deleted. Where JAX has a cache of the caller's, or none by the caller's wish
    (``jax_compilation_cache_dir``, ``jax_enable_compilation_cache``), ours are not kept. They are
    found by the sources of this package: where its functions were replaced in a running process,
    switch it off.
    """
    from lrrf_jax._validation import require_integer  # NumPy, which `lrrf --help` does without

    require_integer(max_bytes, "max_bytes", 1)
    if directory is False:
        use_store(None)
        return None
    named = os.environ.get(VARIABLE)
    if os.environ.get("JAX_COMPILATION_CACHE_DIR") or is_off(named):
        return None
    if directory is None:
        directory = named or default_directory()
    folder = open_folder(directory)
    programs = folder and open_folder(directory, "programs")
    if folder is None or programs is None or not os.access(folder, os.W_OK):
        return None
    _drop_half_entries(folder)
    import jax

    use_store(ProgramStore(programs, max_bytes), beside=folder)
    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
    # With a largest size JAX takes a lock, so that no job reads what another half wrote.
    jax.config.update("jax_compilation_cache_max_size", max_bytes)
    return folder


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
