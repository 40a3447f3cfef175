"""Lines of a text file, decoded one by one so that the first faulty one can be named."""

import re

from lrrf_jax._dialect import UTF8, encoding_of
from lrrf_jax._table_names import open_bytes, reading
from lrrf_jax._validation import InputError


def text_lines(path: str, encoding: str = "") -> list[str]:
    """Return the lines of a file, in the encoding that was told or that it shows."""
    with reading(path):
        encoding = encoding_of(path, encoding)
    if encoding != UTF8:
        with reading(path), open_bytes(path) as file:
            return re.split("\r\n|\r|\n", file.read().decode(encoding).rstrip("\r\n"))
    with reading(path), open_bytes(path) as file:
        content = file.read().splitlines()
    lines = []
    for number, line in enumerate(content, 1):
        try:
            lines.append(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except UnicodeDecodeError:
            raise InputError(
                f"{path}: line {number} is not UTF-8 text. Save the file in the UTF-8 encoding, or "
                "name its own with encoding= (--encoding)."
            ) from None
    return lines
