"""Compiled programs on disk, so that the next process need not compile them again."""

import contextlib
import hashlib
import os
import platform
import stat
import time
import warnings

_SECONDS_IN_THE_MAKING = 60


def use_compilation_cache(
    directory: str | os.PathLike[str] | None = None, *, max_bytes: int = 2**30
) -> str | None:
    """Let JAX keep compiled programs on disk, for this process and later ones.

    The first fit in a process compiles for some seconds; with its programs on disk, for about
    one. The command line does so by itself. Call it before anything is fitted or predicted.

    Parameters
    ----------
    directory : path, optional
        By default ``lrrf_jax/xla`` in the user's cache, as platformdirs knows it: on Linux
        ``$XDG_CACHE_HOME`` or else ``~/.cache``, on macOS ``~/Library/Caches``, on Windows
        ``%LOCALAPPDATA%``. Each kind of processor has a directory of its own in it.
    max_bytes : int
        Programs that were not used for longest are deleted beyond it.

    Returns
    -------
    str or None
        Where programs are kept. None where nothing was changed: the directory cannot be written,
        or ``JAX_COMPILATION_CACHE_DIR`` says what to use. Also None, with a warning, where another
        user owns the directory or all users may write to it: what they put there would be run.

    Raises
    ------
    InputError
        Where ``max_bytes`` is no whole number, or less than 1.

    Notes
    -----
    Several processes may use one directory at a time. Programs that a killed process left half
    written are deleted.
    """
    import platformdirs

    from lrrf_jax._validation import require_integer  # NumPy, which `lrrf --help` does without

    require_integer(max_bytes, "max_bytes", 1)
    if os.environ.get("JAX_COMPILATION_CACHE_DIR"):
        return None
    if directory is None:
        directory = os.path.join(platformdirs.user_cache_dir("lrrf_jax"), "xla")
    folder = os.path.join(directory, _processor())
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError:
        return None
    if not os.access(folder, os.W_OK):
        return None
    for path in (directory, folder):
        if _strangers_may_write(path):
            warnings.warn(
                f"{os.fspath(path)}: other users may write to this directory of compiled programs, "
                "and what they put there would be run. It is not used. Own it, and take the right "
                "from them: chmod o-w.",
                stacklevel=2,
            )
            return None
    _drop_half_entries(folder)
    import jax

    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
    # With a largest size JAX takes a lock, so that no job reads what another half wrote.
    jax.config.update("jax_compilation_cache_max_size", max_bytes)
    return folder


def _strangers_may_write(path: str | os.PathLike[str]) -> bool:
    """Tell whether another user owns a directory, or all users may write to it."""
    if os.name != "posix":
        return False
    status = os.stat(path)
    return status.st_uid != os.geteuid() or bool(status.st_mode & stat.S_IWOTH)


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
