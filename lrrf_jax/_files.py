"""Files that appear under their name only when they are whole."""

import contextlib
import os
import stat
import uuid
from collections.abc import Iterator
from typing import IO


@contextlib.contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of ``path`` when the block ends without an error.

    A new file has the mode that the umask allows, as with any program; one that is replaced keeps
    its mode, as with an editor. After an error what was there is there, and nothing else.

    Raises
    ------
    OSError
        Where it cannot be written.
    """
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.{uuid.uuid4().hex[:12]}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        take_mode(temporary, path)
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(OSError):
            os.remove(temporary)


def take_mode(temporary: str, path: str) -> None:
    """Give a file the mode of that which it is about to replace, if there is one."""
    with contextlib.suppress(FileNotFoundError):
        os.chmod(temporary, stat.S_IMODE(os.stat(path).st_mode))
