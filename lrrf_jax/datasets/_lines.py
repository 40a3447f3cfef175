"""Lines of a text file, decoded one by one so that the first faulty one can be named."""

from lrrf_jax._tabular import open_bytes, reading
from lrrf_jax._validation import InputError


def text_lines(path: str) -> list[str]:
    """Return the lines of a UTF-8 file, with or without a byte order mark."""
    with reading(path), open_bytes(path) as file:
        content = file.read().splitlines()
    lines = []
    for number, line in enumerate(content, 1):
        try:
            lines.append(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except UnicodeDecodeError:
            raise InputError(
                f"{path}: line {number} is not UTF-8 text. Save the file in the UTF-8 encoding."
            ) from None
    return lines
