"""Pages on disk: whole or not at all."""

import contextlib
import os
import uuid

from lrrf_jax._validation import InputError


def save_page(path: str | os.PathLike[str], page: str) -> None:
    """Write a page; what was there stays until the new one is whole.

    Raises
    ------
    InputError
        Where the place cannot be written.
    """
    target = os.fsdecode(path)
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name}.{uuid.uuid4().hex[:12]}.tmp")
    try:
        if os.path.isdir(target):
            raise IsADirectoryError(0, "is a directory")
        with open(temporary, "x", encoding="utf-8", newline="\n") as file:
            file.write(page)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        raise InputError(
            f"{target}: the page cannot be written ({error.strerror}). Free space, or choose "
            "another place."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            os.remove(temporary)
