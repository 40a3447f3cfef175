"""Pages on disk: whole or not at all."""

import contextlib
import os
import uuid

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
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name}.{uuid.uuid4().hex[:12]}.tmp")
    try:
        with open(temporary, "x", encoding="utf-8", newline="\n") as file:
            file.write(page)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        raise unwritable(target, error) from error
    finally:
        with contextlib.suppress(OSError):
            os.remove(temporary)
