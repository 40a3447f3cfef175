"""The formats that models are exported to, by name and by suffix; imports nothing."""

import os

from lrrf_jax._validation import InputError, require_output_place

# In files with the name as suffix.
FORMATS = ("onnx", "treelite", "stablehlo")


def format_of(path: str, format: str | None) -> str:
    """Return the format that is asked for, or that which the suffix of a path says.

    >>> format_of("m.onnx", None), format_of("m.bin", "treelite")
    ('onnx', 'treelite')
    """
    known = ", ".join(FORMATS)
    if format is not None:
        if format not in FORMATS:
            raise InputError(f"format must be one of {known}; it is {format!r:.40}.")
        return format
    suffix = os.path.splitext(path)[1].lower().removeprefix(".")
    if suffix not in FORMATS:
        raise InputError(
            f"{path}: the suffix must tell the format, one of {known}. Change it, or say which "
            "format it is."
        )
    return suffix


def files_of(path: str, format: str) -> tuple[str, ...]:
    """Name the files that an export writes, the model first."""
    return (path, f"{path}.json") if format == "stablehlo" else (path,)


def require_free(files: tuple[str, ...], overwrite: bool) -> None:
    """Raise InputError where files cannot be written, or are there and may not be replaced."""
    for file in files:
        require_output_place(file)
        if os.path.exists(file) and not overwrite:
            raise InputError(
                f"{file}: is there already. Choose another path, or replace it with "
                "overwrite=True (--overwrite)."
            )
