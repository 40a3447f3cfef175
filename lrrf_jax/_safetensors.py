"""The safetensors container: named arrays and texts, as bytes; written, and read as a stranger's.

Eight bytes give the length of a JSON header, which gives the type, the shape and the place of each
array in the bytes that follow. Read here and not by the library of that name: it maps the file, and
a file that is cut while it is mapped ends the process.
"""

import json
import math
from collections.abc import Mapping
from typing import IO, Any

import numpy as np

from lrrf_jax._typing import NDArray

LENGTH_BYTES = 8
# A million names of 13 characters fit. What JSON makes of a header may be twelve times its size,
# and of empty lists and of keys more, and they take time: no model has so many.
MOST_HEADER_BYTES = 2**24
_MOST_LISTS, _MOST_KEYS = 2**20, 2**16
_METADATA = "__metadata__"
_NUMBERS = {"I": "i", "U": "u", "F": "f"}
_DTYPES = {
    f"{letter}{8 * size}": np.dtype(f"<{kind}{size}")
    for letter, kind in _NUMBERS.items()
    for size in (1, 2, 4, 8)
    if (letter, size) != ("F", 1)
} | {"BOOL": np.dtype(bool), "C64": np.dtype("<c8")}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


class Malformed(ValueError):
    """Bytes that are no such container; the message says why."""


def stored_dtype(array: NDArray) -> np.dtype | None:
    """Return the type in which an array is stored, ``None`` where there is none."""
    dtype = array.dtype.newbyteorder("<")
    return dtype if dtype in _NAMES else None


def write(file: IO[bytes], arrays: Mapping[str, NDArray], metadata: Mapping[str, str]) -> None:
    """Write arrays of stored types and texts; equal ones give equal bytes.

    Raises
    ------
    Malformed
        Where the header would be too long to be read again.
    """
    # The widest numbers first, so that all lie on multiples of their size.
    names = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    header: dict[str, Any] = {_METADATA: dict(metadata)}
    end = 0
    for name in names:
        begin, end = end, end + arrays[name].nbytes
        header[name] = {
            "dtype": _NAMES[arrays[name].dtype],
            "shape": list(arrays[name].shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % LENGTH_BYTES)
    _require_moderate(text)
    file.write(len(text).to_bytes(LENGTH_BYTES, "little"))
    file.write(text)
    for name in names:
        file.write(np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data)


def header_bytes(start: bytes, n_bytes: int) -> int:
    """Read the length of the header from the first bytes of a file of ``n_bytes``."""
    length = int.from_bytes(start[:LENGTH_BYTES], "little")
    if len(start) < LENGTH_BYTES or not 2 <= length <= n_bytes - LENGTH_BYTES:
        raise Malformed("it does not begin with the length of a header")
    if length > MOST_HEADER_BYTES:
        raise Malformed(f"its header has {length} bytes, of {MOST_HEADER_BYTES} at most")
    return length


def parse_header(text: bytes, n_data: int) -> tuple[dict[str, str], dict[str, Any]]:
    """Read the texts, and where each array lies: name -> (dtype, shape, begin).

    Raises
    ------
    Malformed
        Where something is not as the format has it, or the arrays do not fill ``n_data`` bytes
        without a gap and without sharing one.
    """
    _require_moderate(text)
    header = parse_json(text.decode("utf-8"))
    metadata = header.pop(_METADATA, {}) if isinstance(header, dict) else None
    if not isinstance(metadata, dict) or not all(isinstance(t, str) for t in metadata.values()):
        raise Malformed("its header is no list of arrays and texts")
    places, spans = {}, []
    for name, entry in header.items():
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            raise Malformed("its header describes an array in another way")
        dtype, shape = entry["dtype"], entry["shape"]
        if not isinstance(dtype, str) or dtype not in _DTYPES:
            raise Malformed("an array has an unknown type")
        whole = _are_sizes(shape) and _are_sizes(entry["data_offsets"])
        if not whole or len(shape) > 8 or math.prod(max(n, 1) for n in shape) > 2**48:
            raise Malformed("the shape or the place of an array is impossible")
        if len(entry["data_offsets"]) != 2:
            raise Malformed("the place of an array is impossible")
        begin, end = entry["data_offsets"]
        if end - begin != math.prod(shape) * _DTYPES[dtype].itemsize:
            raise Malformed("an array has a size that is not that of its shape")
        spans.append((begin, end))
        places[name] = _DTYPES[dtype], tuple(shape), begin
    last = 0
    for begin, end in sorted(spans):
        if begin != last:
            raise Malformed("arrays share bytes, or leave some out")
        last = end
    if last != n_data:
        raise Malformed(f"its arrays have {last} bytes, and the file has {n_data} for them")
    return metadata, places


def arrays_in(data: NDArray, places: Mapping[str, Any]) -> dict[str, NDArray]:
    """Return the arrays in the bytes, uint8 (n_bytes,), which they share where they lie evenly."""
    arrays = {}
    for name, (dtype, shape, begin) in sorted(places.items()):
        raw = data[begin : begin + math.prod(shape) * dtype.itemsize]
        if dtype.kind == "b" and raw.max(initial=0) > 1:
            raise Malformed("an array of truth values holds other bytes than 0 and 1")
        if raw.ctypes.data % dtype.itemsize:
            raw = raw.copy()
        arrays[name] = raw.view(dtype).reshape(shape)
    return arrays


def loads(content: bytes) -> dict[str, NDArray]:
    """Read the arrays of a whole container."""
    length = header_bytes(content[:LENGTH_BYTES], len(content))
    data = np.frombuffer(content, np.uint8)[LENGTH_BYTES + length :].copy()
    text = content[LENGTH_BYTES : LENGTH_BYTES + length]
    return arrays_in(data, parse_header(text, len(data))[1])


def parse_json(text: str) -> Any:
    """Read JSON without a key twice and without NaN; a number beyond float64 is infinite.

    Raises
    ------
    ValueError, RecursionError
    """

    def refuse(constant: str) -> float:
        raise Malformed(f"{constant} is no JSON")

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        entries = dict(pairs)
        return entries if len(entries) == len(pairs) else refuse("a key twice")  # type: ignore

    return json.loads(
        text,
        parse_constant=refuse,
        object_pairs_hook=distinct,
    )


def _are_sizes(numbers: Any) -> bool:
    return isinstance(numbers, list) and all(type(n) is int and n >= 0 for n in numbers)


def _require_moderate(text: bytes) -> None:
    if len(text) > MOST_HEADER_BYTES:
        raise Malformed(f"the header has {len(text)} bytes, of {MOST_HEADER_BYTES} at most")
    if text.count(b"[") + text.count(b"{") > _MOST_LISTS:
        raise Malformed("the header holds more lists than any model has")
    if text.count(b'":') > _MOST_KEYS:
        raise Malformed("the header holds more keys than any model has")
