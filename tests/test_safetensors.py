"""The container of a model file, as a stranger might write it; and what reading costs."""

import io
import json
import os
import stat
import struct
import tracemalloc

import numpy as np
import pytest
from safetensors.numpy import load_file

from lrrf_jax import _safetensors
from lrrf_jax._validation import InputError, ModelFileError
from lrrf_jax.model_file import read_model, write_model
from tests.models.mutations import opened, sealed

ARRAYS = {"a": np.array([[0.5, -2.0]], np.float32), "b": np.array([True, False])}
HEADER = {"learner": "lr-rf", "labels": ["a", "ä"]}


def raw(path, header, data=b""):
    path.write_bytes(struct.pack("<Q", len(header)) + header + data)


def document(text):
    return lambda path: raw(path, json.dumps({"__metadata__": {"lrrf_jax": text}}).encode())


def header(content):
    return lambda path: raw(path, content)


def sparse(path):
    """A file that takes no room on the disk, and would take all memory."""
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", 2) + b"{}")
        file.truncate(2**40)


FILES = {
    "a key twice": (document('{"format_version":1,"format_version":2}'), "no valid JSON"),
    "a key twice below": (document('{"format_version":1,"a":{"b":1,"b":2}}'), "no valid JSON"),
    "half a surrogate": (document('{"a":"\\ud800"}'), "no format version"),
    "infinite": (document('{"a":Infinity}'), "no valid JSON"),
    "5000 digits": (document('{"a":' + "1" * 5000 + "}"), "no valid JSON"),
    "deep document": (document("[" * 99_999), "no valid JSON"),
    "no UTF-8": (header(b'{"__metadata__":{"lrrf_jax":"\xff"}}'), "is no model file"),
    "a text more": (
        header(b'{"__metadata__":{"lrrf_jax":"{}","format":"pt"}}'),
        "texts besides those of the model",
    ),
    "an array twice": (
        header(b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":1}'),
        "is no model file",
    ),
    "brackets": (header(b"[" * (2**20 + 1)), "more lists than any model"),
    "keys": (header(b'"a":' * (2**16 + 1)), "more keys than any model"),
    "deep header": (header(b'{"a":' * 9999), "is no model file"),
    "long header": (header(b" " * (2**24 + 1)), "has 16777217 bytes, of 16777216 at most"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "is no regular file"),
    "loop of links": (lambda path: path.symlink_to(path.name), "is no regular file"),
    "sparse": (sparse, "is no model file"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_that_is_no_model_is_refused_in_no_time_and_little_memory(tmp_path, case):
    make, fragment = FILES[case]
    path = tmp_path / "m"
    make(path)
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=fragment) as caught:
            read_model(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert str(caught.value).startswith(f"{path}: ")
    size = 0 if path.is_symlink() or case == "sparse" else path.stat().st_size
    assert peak < 2 * size + 2**20


def entries(**arrays):
    """The header of a file with arrays at the places given."""
    fields = ("dtype", "shape", "data_offsets")
    header = {name: dict(zip(fields, array, strict=True)) for name, array in arrays.items()}
    return json.dumps(header | {"__metadata__": {"lrrf_jax": "{}"}}).encode()


TWO = ("F32", [2], [0, 8])
PLACES = {
    "sharing bytes": (entries(a=TWO, b=("F32", [1], [4, 8])), 8, "arrays share bytes"),
    "leaving bytes out": (entries(a=("F32", [1], [4, 8])), 8, "or leave some out"),
    "not to the end": (entries(a=TWO), 9, "its arrays have 8 bytes, and the file has 9"),
    "beyond the end": (entries(a=TWO), 4, "its arrays have 8 bytes, and the file has 4"),
    "backwards": (entries(a=("F32", [1], [4, 0])), 4, "not that of its shape"),
    "of another size": (entries(a=("F32", [3], [0, 8])), 8, "not that of its shape"),
    "negative": (entries(a=("F32", [-1], [0, 8])), 8, "the shape or the place"),
    "a truth value": (entries(a=("F32", [True], [0, 4])), 4, "the shape or the place"),
    "a fraction": (entries(a=("F32", [1.0], [0, 4])), 4, "the shape or the place"),
    "huge and empty": (entries(a=("F32", [2**50, 2**50, 0], [0, 0])), 0, "the shape or the place"),
    "many axes": (entries(a=("F32", [1] * 99, [0, 4])), 4, "the shape or the place"),
    "three ends": (entries(a=("F32", [1], [0, 4, 4])), 4, "the place"),
    "F8": (entries(a=("F8_E4M3", [4], [0, 4])), 4, "an unknown type"),
    "BF16": (entries(a=("BF16", [2], [0, 4])), 4, "an unknown type"),
    "no type": (entries(a=(4, [1], [0, 4])), 4, "an unknown type"),
    "a list": (b'{"a":[]}', 0, "in another way"),
    "an entry less": (b'{"a":{"dtype":"U8","shape":[0]}}', 0, "in another way"),
    "an entry more": (
        b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"strides":[1]}}',
        0,
        "in another way",
    ),
    "numbers for texts": (b'{"__metadata__":{"a":1}}', 0, "no list of arrays and texts"),
    "no table": (b"[1]", 0, "no list of arrays and texts"),
}


@pytest.mark.parametrize("case", PLACES)
def test_arrays_that_do_not_lie_as_the_format_has_it_are_refused(tmp_path, case):
    header, n_bytes, fragment = PLACES[case]
    raw(tmp_path / "m", header, bytes(n_bytes))
    with pytest.raises(ModelFileError, match=fragment) as caught:
        read_model(tmp_path / "m")
    assert str(caught.value).startswith(f"{tmp_path / 'm'}: ")


def test_what_a_limit_still_allows_is_read_and_one_more_is_not():
    allowed = {
        "axes": ([1] * 8, 1, [1] * 9),
        "numbers": ([2**48, 0], 0, [2**48 + 1, 0]),
    }
    for shape, n_bytes, beyond in allowed.values():
        _, places = _safetensors.parse_header(entries(a=("U8", shape, [0, n_bytes])), n_bytes)
        assert places["a"] == (np.uint8, tuple(shape), 0)
        with pytest.raises(_safetensors.Malformed, match="the shape or the place"):
            _safetensors.parse_header(entries(a=("U8", beyond, [0, n_bytes])), n_bytes)
    for text in (b"[" * 2**20, b"{[" * 2**19, b'":' * 2**16, b" " * 2**24):
        _safetensors._require_moderate(text)
        with pytest.raises(_safetensors.Malformed, match="the header (holds|has)"):
            _safetensors._require_moderate(text + text[:2])


def test_the_length_of_a_header_is_from_2_to_all_that_follows_and_to_16_mib():
    for length, n_bytes in ((2, 10), (2, 99), (3, 11), (2**24, 2**24 + 8)):
        start = struct.pack("<Q", length)
        assert _safetensors.header_bytes(start, n_bytes) == length
        assert _safetensors.header_bytes(start + b"more", n_bytes) == length
    for length, n_bytes in ((0, 99), (1, 99), (3, 10)):
        with pytest.raises(_safetensors.Malformed, match="does not begin with the length"):
            _safetensors.header_bytes(struct.pack("<Q", length), n_bytes)
    with pytest.raises(_safetensors.Malformed, match="does not begin with the length"):
        _safetensors.header_bytes(struct.pack("<Q", 2)[:7], 99)
    with pytest.raises(_safetensors.Malformed, match="16777217 bytes, of 16777216 at most"):
        _safetensors.header_bytes(struct.pack("<Q", 2**24 + 1), 2**30)


@pytest.mark.parametrize("length", range(1, 10))
def test_arrays_begin_at_a_multiple_of_eight_after_as_few_spaces_as_that_takes(length):
    name = "ä" + "n" * length
    array = np.array([1.5, -2.0])
    file = io.BytesIO()
    _safetensors.write(file, {name: array, "b": np.array([True])}, {})
    content = file.getvalue()
    (n_header,) = struct.unpack("<Q", content[:8])
    header = content[8 : 8 + n_header]
    assert n_header % 8 == 0
    assert n_header - len(header.rstrip(b" ")) < 8
    assert name.encode() in header
    assert content[8 + n_header :] == array.tobytes() + b"\1"
    again = _safetensors.loads(content)
    assert again[name].tolist() == [1.5, -2.0]
    assert again["b"].tolist() == [True]


def test_the_least_container_holds_nothing():
    assert _safetensors.loads(struct.pack("<Q", 2) + b"{}") == {}


def test_truth_values_other_than_0_and_1_are_refused(tmp_path):
    path = tmp_path / "m"
    write_model(path, ARRAYS, HEADER)
    content = bytearray(path.read_bytes())
    assert content[-2:] == bytes([1, 0])
    content[-1] = 2
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="other bytes than 0 and 1"):
        read_model(path)


def test_arrays_that_lie_unevenly_are_read():
    header = entries(a=("U8", [1], [0, 1]), b=("F32", [2], [1, 9]))
    _, places = _safetensors.parse_header(header, 9)
    data = np.frombuffer(b"\7" + np.array([0.5, 2], "<f4").tobytes(), np.uint8)
    arrays = _safetensors.arrays_in(data, places)
    assert arrays["b"].tolist() == [0.5, 2]
    assert arrays["b"].flags.aligned


def test_the_library_of_that_name_reads_every_type_and_shape(tmp_path):
    rng = np.random.default_rng(0)
    types = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
    arrays = {
        f"{kind} {shape}": rng.integers(0, 2, shape).astype(kind)
        for kind in types
        for shape in ((), (0,), (3,), (2, 0, 2), (2, 3))
    }
    write_model(tmp_path / "m", arrays, HEADER)
    found = load_file(tmp_path / "m")
    assert set(found) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "m"
    write_model(path, {"a": np.arange(2**17)}, HEADER)  # more than is read ahead
    whole = path.read_bytes()
    parse_header = _safetensors.parse_header
    changes = [lambda: os.truncate(path, 2**18), lambda: path.write_bytes(whole + b"more")]
    for change in changes:

        def parse(text, n_data, change=change):
            change()
            return parse_header(text, n_data)

        monkeypatch.setattr(_safetensors, "parse_header", parse)
        with pytest.raises(ModelFileError, match="changed while it was read"):
            read_model(path)
        path.write_bytes(whole)


def test_a_file_that_is_deleted_while_it_is_read_is_read(tmp_path, monkeypatch):
    path = tmp_path / "m"
    write_model(path, ARRAYS, HEADER)
    parse_header = _safetensors.parse_header
    monkeypatch.setattr(
        _safetensors, "parse_header", lambda *given: (path.unlink(), parse_header(*given))[1]
    )
    np.testing.assert_array_equal(read_model(path)[1]["a"], ARRAYS["a"])


@pytest.mark.parametrize("is_whole", [True, False])
def test_reading_takes_at_most_twice_the_size_of_the_file(tmp_path, is_whole):
    path = tmp_path / "m"
    write_model(path, {"a": np.zeros(2**22), "b": np.zeros((2**20, 8), bool)}, HEADER)
    size = path.stat().st_size
    if not is_whole:
        with open(path, "rb+") as file:
            file.seek(-1, os.SEEK_END)
            file.write(b"\1")
    tracemalloc.start()
    try:
        if is_whole:
            read_model(path)
        else:
            with pytest.raises(ModelFileError, match="checksum"):
                read_model(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert size <= peak < 1.3 * size


def test_a_file_taken_apart_and_sealed_is_the_same_model(tmp_path):
    write_model(tmp_path / "m", ARRAYS, HEADER)
    (tmp_path / "again").write_bytes(sealed(*opened((tmp_path / "m").read_bytes())))
    header, arrays = read_model(tmp_path / "again")
    assert header == read_model(tmp_path / "m")[0]
    assert set(arrays) == set(ARRAYS)


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_mode_of_the_umask_and_one_that_is_replaced_keeps_its_own(
    tmp_path, umask, mode
):
    path = tmp_path / "m"
    before = os.umask(umask)
    try:
        write_model(path, ARRAYS, HEADER)
        assert stat.S_IMODE(path.stat().st_mode) == mode
        path.chmod(0o640)
        write_model(path, ARRAYS, HEADER)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
    finally:
        os.umask(before)


def test_a_header_too_long_to_be_read_again_is_not_written(tmp_path):
    many = {str(k): 0 for k in range(2**16 + 1)}
    for header in ({"labels": ["x" * 2**24]}, {"params": many}):
        with pytest.raises(InputError, match="m: the model cannot be saved .the header"):
            write_model(tmp_path / "m", {}, header)
    assert os.listdir(tmp_path) == []
