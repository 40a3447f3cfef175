"""Pages on disk: whole or not at all."""

import os

from lrrf_jax._files import replacing
from lrrf_jax._validation import require_output_place, unwritable


def save_page(path: str | os.PathLike[str], page: str) -> None:
    """Write a page; what was there stays until the new one is whole.

    Raises
    ------
    InputError
        Where no file can be there; its subclass OutputError where the place cannot be written.
    """
    target = os.fsdecode(path)
    require_output_place(target)
    try:
        with replacing(target) as file:
            file.write(page.encode())
    except OSError as error:
        raise unwritable(target, error) from error
