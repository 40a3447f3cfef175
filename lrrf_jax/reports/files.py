"""Pages on disk: whole or not at all."""

import os

from lrrf_jax._files import replacing
from lrrf_jax._validation import InputError


def save_page(path: str | os.PathLike[str], page: str) -> None:
    """Write a page; what was there stays until the new one is whole.

    Raises
    ------
    InputError
        Where the place cannot be written.
    """
    target = os.fsdecode(path)
    try:
        if os.path.isdir(target):
            raise IsADirectoryError(0, "is a directory")
        with replacing(target) as file:
            file.write(page.encode())
    except OSError as error:
        raise InputError(
            f"{target}: the page cannot be written ({error.strerror}). Free space, or choose "
            "another place."
        ) from error
