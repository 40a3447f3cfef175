"""Ways to alter a model file: its bytes, or what it says, with the checksum made to fit."""

import copy
import io
import json
import struct

import numpy as np

from lrrf_jax import _safetensors, model_file


def parts(content):
    """Split a safetensors file into its header, as JSON, and its data."""
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def joined(header, data):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def bit_flipped(content, rng):
    altered = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        altered[rng.integers(len(altered))] ^= 1 << rng.integers(8)
    return altered


def truncated(content, rng):
    return content[: rng.integers(len(content))]


def lengthened(content, rng):
    return content + rng.bytes(rng.integers(1, 20))


def byte_replaced(content, rng):
    altered = bytearray(content)
    altered[rng.integers(len(altered))] = rng.integers(256)
    return altered


def header_edited(content, rng):
    (length,) = struct.unpack("<Q", content[:8])
    header = bytearray(content[8 : 8 + length])
    start = rng.integers(length)
    piece = [b"", b'"', b"}", b"[", b"9", b"\\", b"-1", b"\xff", b"1e999"][rng.integers(9)]
    header[start : start + rng.integers(3)] = piece
    return struct.pack("<Q", len(header)) + bytes(header) + content[8 + length :]


def length_edited(content, rng):
    return struct.pack("<Q", int(rng.integers(2**63) >> rng.integers(63))) + content[8:]


def zeroed(content, rng):
    altered = bytearray(content)
    start = rng.integers(len(altered))
    altered[start : start + 16] = bytes(len(altered[start : start + 16]))
    return altered


MUTATIONS = [
    bit_flipped,
    truncated,
    lengthened,
    byte_replaced,
    header_edited,
    length_edited,
    zeroed,
]


def opened(content):
    """Take a whole file apart into its document and its arrays."""
    header, _ = parts(content)
    document = json.loads(header["__metadata__"]["lrrf_jax"])
    return document, _safetensors.loads(content)


def sealed(document, arrays):
    """Put a document and arrays into a file, with the checksum that belongs to them."""
    document = {**document, "sha256": model_file._checksum(arrays, document)}
    file = io.BytesIO()
    _safetensors.write(file, arrays, {"lrrf_jax": json.dumps(document)})
    return file.getvalue()


# What a document is altered to. Each is a trap somewhere: a bool is an int, a float may be whole.
AWKWARD = [
    None, True, False, 0, 1, -1, 2, 3, 7, 16, 17, 31, 255, 256, 65536, 2**31 - 1, 2**31, 2**53,
    10**18, 0.0, 0.5, 1.0, -1.0, 1e-300, 1e300, 1e39, "", "x", "two-step", "one-step", "copeland",
    "kemeny", "auto", "exact", "soft", "binary", "uniform", "distance", "lr-rf", "ib-m", "rpc",
    "default", "\0", "\ud800", "n\u0303", "9" * 50, [], {}, [[]], {"a": 1}, ["a", "a"], ["a"],
    ["a", "b", "c"],
]  # fmt: skip


def _edit_document(document, rng):
    places = []

    def visit(value, path):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            places.append((value, key))
            if isinstance(inner, dict | list):
                visit(inner, (*path, key))

    visit(document, ())
    inside, key = places[rng.integers(len(places))]
    other_inside, other_key = places[rng.integers(len(places))]
    awkward = copy.deepcopy(AWKWARD[rng.integers(len(AWKWARD))])
    value = inside[key]
    way = rng.integers(8)
    if way < 3:
        inside[key] = awkward
    elif way == 3:
        del inside[key]
    elif way == 4 and isinstance(inside, dict):
        inside[f"{key}2"] = value
    elif way == 4:
        inside.insert(key, copy.deepcopy(value))
    elif way == 5:
        other = copy.deepcopy(other_inside[other_key])
        other_inside[other_key] = copy.deepcopy(value)
        inside[key] = other
    elif isinstance(value, int | float) and not isinstance(value, bool):
        change = [value + 1, value - 1, -value, value * 2, float(value), str(value)]
        inside[key] = change[rng.integers(len(change))]
    elif isinstance(value, str):
        change = [value.upper(), value + " ", value[:-1], list(value), [value]]
        inside[key] = change[rng.integers(len(change))]
    else:
        inside[key] = awkward


def _edit_array(arrays, rng):
    names = list(arrays)
    name, other = names[rng.integers(len(names))], names[rng.integers(len(names))]
    array = arrays[name].copy()
    way = rng.integers(14)
    place = rng.integers(max(array.size, 1))
    if way < 5 and array.size:
        extremes = _extremes(array.dtype)
        count = int(rng.integers(1, 4)) if way else array.size
        at = (place + np.arange(count)) % array.size
        array.reshape(-1)[at] = extremes[rng.integers(len(extremes))]
        arrays[name] = array
    elif way < 8 and array.size:  # a bit
        if array.dtype == bool:
            array.reshape(-1)[place] ^= True
        else:
            raw = array.reshape(-1).view(np.uint8)
            raw[rng.integers(len(raw))] ^= np.uint8(1 << rng.integers(8))
        arrays[name] = array
    elif way == 8:
        arrays[name] = array[tuple(slice(int(rng.integers(2))) for _ in array.shape)]
    elif way == 9 and array.ndim:
        axis = int(rng.integers(array.ndim))
        cut = [array[:-1], array[:0], np.repeat(array, 2, axis), array.swapaxes(0, axis), array[1:]]
        arrays[name] = np.ascontiguousarray(cut[rng.integers(len(cut))])
    elif way == 10:
        shapes = [array.reshape(-1), array[None], array[..., None], array.reshape(-1)[:1].squeeze()]
        arrays[name] = np.ascontiguousarray(shapes[rng.integers(len(shapes))])
    elif way == 11:
        with np.errstate(all="ignore"):
            dtypes = ["i8", "f8", "i4", "f4", "u1", "bool", "f2", "c8"]
            arrays[name] = np.real(array).astype(dtypes[rng.integers(len(dtypes))])
    elif way == 12:
        arrays[name], arrays[other] = arrays[other], arrays[name]
    else:
        arrays[[f"{name}2", other, "x"][rng.integers(3)]] = arrays.pop(name)


def _extremes(dtype):
    if dtype.kind == "b":
        return [True, False]
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.clip([limits.min, 0, 1, 2, 3, 4, 1024, 4096, limits.max], limits.min, limits.max)
    limits = np.finfo(dtype)
    signalling = np.array([0x7F800001], np.uint32).view(np.float32)[0]
    return [
        0,
        -0.0,
        1,
        -1,
        2.5,
        limits.max,
        limits.min,
        limits.tiny,
        1e-45,
        *(np.nan, np.inf, -np.inf, signalling),
    ]


def altered_and_sealed(content, rng):
    """Alter what a file says in one to three places, and make its checksum fit."""
    document, arrays = opened(content)
    for _ in range(int(rng.integers(1, 4))):
        if rng.integers(2):
            _edit_document(document, rng)
        elif arrays:
            _edit_array(arrays, rng)
        if not document or not arrays:
            break
    return sealed(document, arrays)
