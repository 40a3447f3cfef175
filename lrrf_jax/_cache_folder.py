"""Folders on disk that compiled programs are kept in, which nobody else may write to.

Programs are machine code: whoever may write to such a folder runs code as its reader.
"""

import contextlib
import hashlib
import os
import platform
import stat
import warnings


def default_directory() -> str:
    """Return ``lrrf_jax/xla`` in the user's cache, as platformdirs knows it."""
    import platformdirs

    return os.path.join(platformdirs.user_cache_dir("lrrf_jax"), "xla")


def open_folder(directory: str | os.PathLike[str], *below: str) -> str | None:
    """Make the folder of this kind of processor in a directory, for its owner alone.

    ``below`` names folders in it, the last of which is returned. None where it cannot be made,
    and, with a warning, where another user owns a part of the way or all users may write to it.
    """
    directory = os.fspath(directory)
    ways = [directory, os.path.join(directory, _processor())]
    for name in below:
        ways.append(os.path.join(ways[-1], name))
    for way in ways:
        try:
            os.makedirs(way, mode=0o700, exist_ok=True)
            shared = _strangers_may_write(way)
        except OSError:
            return None
        if shared:
            warnings.warn(
                f"{way}: other users may write to this directory of compiled programs, and what "
                "they put there would be run. It is not used. Own it, and take the right from "
                "them: chmod o-w.",
                stacklevel=3,
            )
            return None
    return ways[-1]


def is_in_own_home(directory: str) -> bool:
    """Tell whether this user owns what there is of the way to a directory.

    With the home of another user, as under ``sudo``, a folder made there would lock that user out.
    """
    while not os.path.exists(directory) and os.path.dirname(directory) != directory:
        directory = os.path.dirname(directory)
    try:
        return os.name != "posix" or os.stat(directory).st_uid == os.geteuid()
    except OSError:
        return False


def is_own(status: os.stat_result) -> bool:
    """Tell whether nobody else could have written this."""
    if os.name != "posix":
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & stat.S_IWOTH


def _strangers_may_write(path: str) -> bool:
    return not is_own(os.stat(path))


def _processor() -> str:
    """Name the kind of processor: programs for another one may hold illegal instructions."""
    kind = f"{platform.machine()} {platform.processor()}"
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as lines:
        kind += next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return f"{platform.machine()}-{hashlib.sha256(kind.encode()).hexdigest()[:8]}"
