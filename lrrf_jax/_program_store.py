"""Files of compiled programs, each under the name of all that it depends on.

A file that is damaged, that bears the name of another, or that somebody else may have written is
not read, and the program is compiled again. Processes may share a folder: a file appears under its
name when it is whole, and one that vanishes was not there.
"""

import contextlib
import hashlib
import os
import stat
import tempfile
import time

from lrrf_jax._cache_folder import default_directory, is_in_own_home, is_own, open_folder

VARIABLE = "LRRF_JAX_CACHE"
MAX_BYTES = 2**28
_MAGIC = b"lrrf_jax program 1\n"
_SUFFIX = ".program"
_HALF = ".half"  # written by a process that may have been killed since
_SECONDS_IN_THE_MAKING = 3600


class ProgramStore:
    """The programs in one folder; those that were not used for longest go beyond ``max_bytes``."""

    def __init__(self, folder: str, max_bytes: int = MAX_BYTES) -> None:
        self.folder = folder
        self._max_bytes = max_bytes

    def read(self, name: str) -> bytes | None:
        """Return what was written under a name; None where there is nothing, or not all of it."""
        path = self._path(name)
        try:
            # Not through a link, which could lead to what others may write.
            file = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | _BINARY)
        except OSError:
            return None
        with os.fdopen(file, "rb") as opened:
            status = os.fstat(opened.fileno())
            if not (stat.S_ISREG(status.st_mode) and is_own(status)):
                return None
            with contextlib.suppress(OSError):
                head = opened.read(len(_MAGIC) + hashlib.sha256().digest_size)
                content = opened.read()
                if head == _MAGIC + _digest(name, content):
                    with contextlib.suppress(OSError):  # a disk that can only be read
                        os.utime(path)  # the time of its last use
                    return content
        return None

    def write(self, name: str, content: bytes) -> None:
        """Keep bytes under a name, where the disk and the bound allow it."""
        if len(content) > self._max_bytes:
            return
        with contextlib.suppress(OSError):
            file, half = tempfile.mkstemp(_HALF, dir=self.folder)  # for its owner alone
            try:
                with os.fdopen(file, "wb") as opened:
                    opened.write(_MAGIC + _digest(name, content) + content)
                os.replace(half, self._path(name))
            except BaseException:
                with contextlib.suppress(OSError):
                    os.remove(half)
                raise
            self._make_room()

    def remove(self, name: str) -> None:
        """Delete a program that turned out to be of no use."""
        with contextlib.suppress(OSError):
            os.remove(self._path(name))

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name + _SUFFIX)

    def _make_room(self) -> None:
        kept, now = [], time.time()
        for entry in os.scandir(self.folder):
            with contextlib.suppress(OSError):  # deleted by another process
                status = entry.stat(follow_symlinks=False)
                if entry.name.endswith(_SUFFIX):
                    kept.append((status.st_mtime, status.st_size, entry.path))
                elif entry.name.endswith(_HALF) and now - status.st_mtime > _SECONDS_IN_THE_MAKING:
                    os.remove(entry.path)
        surplus = sum(size for _, size, _ in kept) - self._max_bytes
        for _, size, path in sorted(kept):
            if surplus <= 0:
                break
            with contextlib.suppress(OSError):
                os.remove(path)
            surplus -= size


_BINARY = getattr(os, "O_BINARY", 0)


def _digest(name: str, content: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + content).digest()


# ------------------------------------------------------------------- the store of this process
_UNDECIDED = object()
_store: object = _UNDECIDED  # or a ProgramStore, or None
_beside: str | None = None  # the directory of JAX's own cache, where it is ours as well


def current_store() -> ProgramStore | None:
    """Return where this process keeps its programs; decided when it is first asked for.

    ``LRRF_JAX_CACHE`` in the environment names another directory than the default; "0": none.
    """
    global _store
    if _store is _UNDECIDED:
        _store = _store_by_environment()
    return _store  # type: ignore[return-value]


def chosen_store() -> tuple[ProgramStore | None, str | None]:
    """Return what `use_store` takes, to choose the same in another process."""
    return current_store(), _beside


def beside_ours(jax_directory: str) -> bool:
    """Tell whether it was us who gave JAX this directory for its own cache."""
    return jax_directory == _beside


def use_store(store: ProgramStore | None, beside: str | None = None) -> None:
    """Keep programs there from now on, or nowhere."""
    global _store, _beside
    _store, _beside = store, beside


def is_off(named: str | None) -> bool:
    """Tell whether the value of ``LRRF_JAX_CACHE`` asks for no cache."""
    return named is not None and named.lower() in ("0", "off", "false", "no")


def _store_by_environment() -> ProgramStore | None:
    named = os.environ.get(VARIABLE)
    if is_off(named):
        return None
    directory = named or default_directory()
    if not named and not is_in_own_home(directory):
        return None
    folder = open_folder(directory, "programs")
    return ProgramStore(folder) if folder else None
