import json
import os
import signal
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from lrrf_jax import model_file
from lrrf_jax._validation import InputError, ModelFileError
from lrrf_jax.model_file import read_model, write_model
from tests.models.mutations import MUTATIONS, joined, parts

ARRAYS = {
    "feature": np.array([[0, 2, -1], [1, 0, -1]], np.int32),
    "threshold": np.array([[0.5, np.nan, -np.inf], [1e-45, 3.0, -0.0]], np.float32),
    "leaf_value": np.arange(8, dtype=np.int64).reshape(4, 2),
    "split": np.array([True, False]),
    "scalar": np.float64(0.1),
    "none": np.zeros((0, 3), np.uint8),
}
HEADER = {"learner": "lr-rf", "labels": ["a", "ä", "π>b"], "params": {"p": 0.1, "q": None}}


def written(path):
    write_model(path, ARRAYS, HEADER)
    return path


def assert_holds_what_was_written(header, arrays):
    assert {key: header[key] for key in HEADER} == HEADER
    assert set(header) == {*HEADER, "format_version", "library_version", "sha256"}
    assert set(arrays) == set(ARRAYS)
    for name, array in arrays.items():
        assert array.dtype == ARRAYS[name].dtype
        assert array.shape == ARRAYS[name].shape
        assert array.tobytes() == np.asarray(ARRAYS[name]).tobytes()


def test_what_was_written_is_read_back_bit_for_bit(tmp_path):
    assert_holds_what_was_written(*read_model(written(tmp_path / "m.lrrf")))
    assert os.listdir(tmp_path) == ["m.lrrf"]


dtypes = st.sampled_from(["<i4", ">i4", "<f4", ">f8", "?", "u1", "<c8"])
shapes = st.sampled_from([(), (0,), (3,), (2, 3), (1, 0, 2)])


@given(kinds=st.dictionaries(st.text(max_size=4), st.tuples(dtypes, shapes), max_size=4))
def test_any_number_type_and_shape_is_read_back(tmp_path_factory, kinds):
    kinds = {name: kind for name, kind in kinds.items() if name != "__metadata__"}
    arrays = {
        name: np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
        for name, (dtype, shape) in kinds.items()
    }
    path = tmp_path_factory.mktemp("arrays") / "m"
    write_model(path, arrays, {"names": list(arrays)})
    header, read = read_model(path)
    assert header["names"] == list(arrays)
    assert set(read) == set(arrays)
    for name, array in read.items():
        assert array.dtype == arrays[name].dtype.newbyteorder("<")
        np.testing.assert_array_equal(array, arrays[name])


def test_other_tools_read_the_arrays(tmp_path):
    arrays = load_file(written(tmp_path / "m.safetensors"))
    np.testing.assert_array_equal(arrays["threshold"], ARRAYS["threshold"])


def test_equal_models_are_equal_files_whatever_the_order_of_their_parts(tmp_path):
    written(tmp_path / "first")
    write_model(tmp_path / "second", dict(reversed(ARRAYS.items())), dict(reversed(HEADER.items())))
    first, second = (read_model(tmp_path / name)[0]["sha256"] for name in ("first", "second"))
    assert first == second
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_a_column_major_array_is_stored_in_its_order(tmp_path):
    array = np.arange(6).reshape(2, 3)
    write_model(tmp_path / "m", {"a": np.asfortranarray(array), "b": array[:, ::2]}, {})
    _, arrays = read_model(tmp_path / "m")
    np.testing.assert_array_equal(arrays["a"], array)
    np.testing.assert_array_equal(arrays["b"], array[:, ::2])


# Files that are no model, each with its own reason


def safetensors_file(path, document):
    text = document if isinstance(document, str) else json.dumps(document)
    save_file({"a": np.zeros(1)}, path, metadata={"lrrf_jax": text})


def cut(path):
    path.write_bytes(written(path).read_bytes()[:-1])


def claim(length):
    return lambda path: path.write_bytes(struct.pack("<Q", length) + b'{"a":1}' * 3)


NO_MODELS = {
    "missing": (lambda path: None, "there is no such file. Check the path"),
    "directory": (Path.mkdir, "is a directory. Name the model file in it"),
    "pipe": (os.mkfifo, "is no regular file"),
    "dangling link": (lambda path: path.symlink_to("nowhere"), "is no regular file"),
    "empty": (Path.touch, "the file is empty. Copy it again"),
    "three bytes": (lambda path: path.write_bytes(b"abc"), "no model file, or is cut short"),
    "one byte short": (cut, "is cut short or altered"),
    "text": (lambda path: path.write_text("A1,L1,L2\n1,1,2\n" * 9), "is no model file"),
    "pickle": (lambda path: path.write_bytes(b"\x80\x04\x95" + b"." * 99), "is no model file"),
    "huge header": (claim(2**63), "is no model file, or is cut short or altered"),
    "1 GB header": (claim(2**30), "is no model file, or is cut short or altered"),
    "other model": (
        lambda path: save_file({"a": np.zeros(1)}, path),
        "holds no lrrf_jax model. Give a file that `save` or `lrrf train` wrote",
    ),
    "other metadata": (
        lambda path: save_file({"a": np.zeros(1)}, path, metadata={"format": "pt"}),
        "holds no lrrf_jax model",
    ),
    "newer": (
        lambda path: safetensors_file(path, {"format_version": 3, "library_version": "9.1"}),
        r"written by a newer lrrf_jax \(9.1, format 3; .* format 2\). Upgrade",
    ),
    "no checksum": (
        lambda path: safetensors_file(path, {"format_version": 1, "library_version": "0"}),
        "the checksum",
    ),
    "no library": (lambda path: safetensors_file(path, {"format_version": 1}), "no format"),
    "no version": (lambda path: safetensors_file(path, {}), "no format version"),
    "odd version": (lambda path: safetensors_file(path, {"format_version": True}), "no format"),
    "version 0": (
        lambda path: safetensors_file(path, {"format_version": 0, "library_version": "0"}),
        "no format version",
    ),
    "no object": (lambda path: safetensors_file(path, [1]), "no format version"),
    "no JSON": (lambda path: safetensors_file(path, "{'a': 1}"), "no valid JSON"),
    "NaN": (lambda path: safetensors_file(path, '{"format_version":NaN}'), "no valid JSON"),
    "beyond float": (lambda path: safetensors_file(path, '{"a":1e999}'), "no valid JSON"),
    "nested": (lambda path: safetensors_file(path, "[" * 200_000), "no valid JSON"),
    "digits": (lambda path: safetensors_file(path, '{"a":' + "9" * 9999 + "}"), "no valid JSON"),
}


@pytest.mark.parametrize("case", NO_MODELS)
def test_a_file_that_is_no_model_is_refused_with_path_reason_and_way_out(tmp_path, case):
    make, fragment = NO_MODELS[case]
    path = tmp_path / "m.lrrf"
    make(path)
    with pytest.raises(ModelFileError, match=fragment) as caught:
        read_model(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert str(caught.value).endswith(".")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads anything")
def test_a_file_without_permission_is_refused(tmp_path):
    written(tmp_path / "m").chmod(0)
    with pytest.raises(ModelFileError, match="cannot be read"):
        read_model(tmp_path / "m")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (PermissionError(13, "Permission denied", "m"), "cannot be read .Permission denied.[.]"),
        (OSError("gone"), "cannot be read .gone.[.]"),
        (ValueError("\nfirst line\nsecond line"), "cut short or altered .first line.[.]"),
        (KeyError(), "cut short or altered .KeyError.[.]"),
        (MemoryError(), "not enough memory to load it"),
    ],
)
def test_whatever_reading_raises_is_told_in_one_line(tmp_path, error, reason, monkeypatch):
    def fail(*_):
        raise error

    monkeypatch.setattr(model_file._safetensors, "parse_header", fail)
    with pytest.raises(ModelFileError, match=reason) as caught:
        read_model(written(tmp_path / "m"))
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX signals")
def test_a_pipe_that_takes_the_place_of_a_file_does_not_block(tmp_path, monkeypatch):
    path = written(tmp_path / "m")
    look = model_file.require_model_content

    def look_and_replace(target):
        look(target)
        path.unlink()
        os.mkfifo(path)

    def blocked(*_):
        raise TimeoutError("blocked")

    monkeypatch.setattr(model_file, "require_model_content", look_and_replace)
    before = signal.signal(signal.SIGALRM, blocked)
    signal.setitimer(signal.ITIMER_REAL, 5)
    try:
        with pytest.raises(ModelFileError, match="is no regular file"):
            read_model(path)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_file_taken_apart_and_joined_again_is_read(tmp_path):
    path = written(tmp_path / "m")
    content = path.read_bytes()
    path.write_bytes(joined(*parts(content)))
    assert path.read_bytes() != content  # spaces were added
    assert_holds_what_was_written(*read_model(path))


@pytest.mark.parametrize(
    "edit",
    [
        lambda document: document["params"].update(p=0.2),
        lambda document: document["labels"].reverse(),
        lambda document: document.update(learner="rpc"),
        lambda document: document.update(library_version="0.0"),
        lambda document: document.update(extra=1),
        lambda document: document.pop("learner"),
        lambda document: document.update(sha256="0" * 64),
        lambda document: document.update(sha256=None),
        lambda document: document.pop("sha256"),
    ],
)
def test_an_edit_of_the_header_is_noticed(tmp_path, edit):
    path = written(tmp_path / "m")
    header, data = parts(path.read_bytes())
    document = json.loads(header["__metadata__"]["lrrf_jax"])
    edit(document)
    header["__metadata__"]["lrrf_jax"] = json.dumps(document)
    path.write_bytes(joined(header, data))
    with pytest.raises(ModelFileError, match="checksum does not fit .* Copy it again"):
        read_model(path)


def rename(header):
    header["other"] = header.pop("feature")


def swap(header):
    header["feature"], header["split"] = header["split"], header["feature"]


@pytest.mark.parametrize(
    "edit",
    [
        rename,
        swap,
        lambda header: header.pop("none"),
        lambda header: header["feature"].update(shape=[3, 2]),
        lambda header: header["feature"].update(dtype="U32"),
        lambda header: header["threshold"].update(dtype="I32"),
        lambda header: header["none"].update(shape=[3, 0]),
        lambda header: header.update(extra={"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}),
    ],
)
def test_an_edit_of_the_list_of_arrays_is_noticed(tmp_path, edit):
    path = written(tmp_path / "m")
    header, data = parts(path.read_bytes())
    edit(header)
    path.write_bytes(joined(header, data))
    with pytest.raises(ModelFileError):
        read_model(path)


@pytest.mark.parametrize("mutate", MUTATIONS)
def test_an_altered_file_is_refused_or_holds_exactly_what_was_written(tmp_path, mutate):
    content = written(tmp_path / "whole").read_bytes()
    path = tmp_path / "m"
    rng = np.random.default_rng(0)
    messages = []
    for _ in range(200):
        path.write_bytes(bytes(mutate(content, rng)))
        try:
            header, arrays = read_model(path)
        except ModelFileError as error:
            messages.append(str(error))
        else:  # the mutation did nothing, or changed white space
            assert_holds_what_was_written(header, arrays)
    assert all(message.startswith(f"{path}: ") for message in messages)
    assert len(messages) > 180


def test_every_single_flipped_bit_is_noticed(tmp_path):
    path = tmp_path / "m"
    write_model(path, {"a": np.arange(3, dtype=np.int16)}, {"b": 1})
    content = path.read_bytes()
    for place in range(len(content)):
        altered = bytearray(content)
        altered[place] ^= 1 << (place % 8)
        path.write_bytes(altered)
        with pytest.raises(ModelFileError):
            read_model(path)


# Writing


@pytest.mark.parametrize(
    ("name", "fragment"),
    [
        ("none/m.lrrf", "none/m.lrrf: there is no directory .* Make it first"),
        ("folder", "folder: is a directory. Name a file in it"),
        ("a" * 300, "cannot be written .* choose a directory"),
    ],
)
def test_a_path_that_cannot_be_written_is_refused(tmp_path, name, fragment):
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=fragment):
        written(tmp_path / name)
    assert os.listdir(tmp_path) == ["folder"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes anywhere")
def test_a_directory_without_permission_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="m: cannot be written"):
        written(tmp_path / "m")
    tmp_path.chmod(0o700)


@pytest.mark.parametrize("step", ["_safetensors.write", "os.fsync", "os.replace"])
def test_a_write_that_fails_keeps_the_old_file_and_leaves_nothing(tmp_path, step, monkeypatch):
    path = tmp_path / "m"
    path.write_text("old")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"{model_file.__name__}.{step}", full)
    with pytest.raises(InputError, match=f"{path}: cannot be written .No space left on device"):
        written(path)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["m"]
    assert path.read_text() == "old"


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        written(tmp_path / "m")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("arrays", "header", "fragment"),
    [
        ({"a": np.array(["x"])}, {}, "array 'a' cannot be stored: its type is <U1"),
        ({"a": np.array([None])}, {}, "its type is object"),
        ({"a": np.zeros(1, np.longdouble)}, {}, "at most 8 bytes"),
        ({}, {"rng": object()}, "holds what JSON cannot .*object"),
        ({}, {"p": float("nan")}, "holds what JSON cannot"),
        ({}, {"sha256": "x"}, "may not hold 'sha256'"),
        ({}, {"sha256": "x", "format_version": 2}, "may not hold 'format_version'"),
    ],
)
def test_what_cannot_be_stored_is_refused_and_nothing_is_left(tmp_path, arrays, header, fragment):
    with pytest.raises(InputError, match=fragment):
        write_model(tmp_path / "m", arrays, header)
    assert os.listdir(tmp_path) == []
