"""A trained model as one file: named arrays and a header, and nothing that could execute.

The file is a safetensors file, so any tool for that format can list its arrays. Its metadata has
one key, ``lrrf_jax``, that holds a JSON document: ``format_version``, ``library_version``,
``sha256``, and what the caller stores. This module knows nothing of learners.
"""

import contextlib
import hashlib
import io
import json
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from lrrf_jax import _safetensors
from lrrf_jax._files import replacing
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import (
    TRAIN_AGAIN,
    InputError,
    ModelFileError,
    require_model_content,
    require_output_place,
    unwritable,
)

# 1: forests as flat arrays. 2: forests node by node; an entry of "extra" may be null.
FORMAT_VERSION = 2
_KEY = "lrrf_jax"
_OWN_ENTRIES = ("format_version", "library_version", "sha256")


def write_model(
    path: str | os.PathLike[str], arrays: Mapping[str, NDArray], header: Mapping[str, Any]
) -> None:
    """Write arrays and a header to one file, which appears under its name only when it is whole.

    Parameters
    ----------
    path : str or path-like
        A file that is there already is replaced, and its mode is kept; a new one has the mode
        that the umask allows. Its directory must exist.
    arrays : mapping of str to ndarray
        Of numbers or bools; stored as they are, little-endian.
    header : mapping of str to what JSON can hold
        May not use the keys ``format_version``, ``library_version`` and ``sha256``, which are
        added here.

    Raises
    ------
    InputError
        Where an array does not hold numbers, or the header holds what JSON cannot; its subclass
        OutputError where the file cannot be written. Nothing is left behind.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "toy.lrrf")
    >>> write_model(path, {"weight": np.array([0.5, 2.0])}, {"labels": ["a", "b"]})
    >>> header, arrays = read_model(path)
    >>> header["labels"], arrays["weight"]
    (['a', 'b'], array([0.5, 2. ]))
    >>> folder.cleanup()
    """
    target = os.fsdecode(path)
    require_output_place(target)
    stored = {key: _storable(target, key, array) for key, array in arrays.items()}
    document = _document(target, stored, header)
    try:
        with replacing(target) as file:
            _safetensors.write(file, stored, {_KEY: _canonical(document)})
    except _safetensors.Malformed as error:
        raise InputError(
            f"{target}: the model cannot be saved ({error}). Use shorter names, or fewer features."
        ) from error
    except OSError as error:
        raise unwritable(target, error) from error


def read_model(
    path: str | os.PathLike[str],
) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Read what `write_model` wrote, and check that it is unaltered.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    header : dict
        What the caller stored, with ``format_version``, ``library_version`` and ``sha256``.
    arrays : dict of str to ndarray

    Raises
    ------
    ModelFileError
        Where the file is not there, cannot be read, is cut short or altered, is no model file,
        or was written by a newer lrrf_jax. The message says which, and the way out.

    Notes
    -----
    Nothing in the file is executed. Memory: the file once; arrays are views of its bytes. Names,
    types and shapes are those of the file: who knows what a model must hold checks them.
    """
    target = os.fsdecode(path)
    require_model_content(target)
    with _reading(target), _opened(target) as file:
        n_bytes = os.fstat(file.fileno()).st_size
        start = file.read(_safetensors.LENGTH_BYTES)
        length = _safetensors.header_bytes(start, n_bytes)
        n_data = n_bytes - _safetensors.LENGTH_BYTES - length
        metadata, places = _safetensors.parse_header(file.read(length), n_data)
        if _KEY not in metadata:
            raise ModelFileError(
                f"{target}: is a safetensors file, but holds no lrrf_jax model. Give a file that "
                "`save` or `lrrf train` wrote."
            )
        if len(metadata) > 1:
            raise _safetensors.Malformed("it holds texts besides those of the model")
        header = _parsed(target, metadata[_KEY])
        data = np.empty(n_data, np.uint8)
        if file.readinto(data.data) != n_data or file.read(1):
            raise _safetensors.Malformed("it changed while it was read")
        arrays = _safetensors.arrays_in(data, places)
        checksum = _checksum(arrays, header)
    if header.get("sha256") != checksum:
        raise ModelFileError(
            f"{target}: the checksum does not fit the content: the file was altered or damaged. "
            f"{TRAIN_AGAIN}"
        )
    return header, arrays


def _storable(path: str, name: str, array: NDArray) -> NDArray:
    array = np.asarray(array, order="C")
    dtype = _safetensors.stored_dtype(array)
    if dtype is None:
        raise InputError(
            f"{path}: array {name!r} cannot be stored: its type is {array.dtype}. Store numbers "
            "of at most 8 bytes, or bools."
        )
    return array.astype(dtype, copy=False)


def _document(
    path: str, arrays: Mapping[str, NDArray], header: Mapping[str, Any]
) -> dict[str, Any]:
    taken = [key for key in _OWN_ENTRIES if key in header]
    if taken:
        raise InputError(f"{path}: the header may not hold {taken[0]!r}, which the file adds.")
    # Importing the package for its version would import the learners, which import this module.
    version = getattr(sys.modules["lrrf_jax"], "__version__", "unknown")
    document = {**header, "format_version": FORMAT_VERSION, "library_version": version}
    try:
        # Written and read once, so that tuples are lists and keys are text when it is hashed.
        document = json.loads(_canonical(document))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: the model cannot be saved, since its header holds what JSON cannot "
            f"({error}). Use parameters that are numbers, texts, None, or lists of them."
        ) from error
    document["sha256"] = _checksum(arrays, document)
    return document


def _canonical(document: Mapping[str, Any]) -> str:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _checksum(arrays: Mapping[str, NDArray], document: Mapping[str, Any]) -> str:
    """Hash everything that `read_model` returns, but the checksum itself."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        # Name, type and shape tell how many bytes follow, so no two sets of arrays hash alike.
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    rest = {key: value for key, value in document.items() if key != "sha256"}
    digest.update(_canonical(rest).encode())
    return digest.hexdigest()


def _opened(path: str) -> io.BufferedReader:
    """Open a regular file; one that has become a pipe since it was looked at does not block."""
    options = (getattr(os, name, 0) for name in ("O_NONBLOCK", "O_BINARY", "O_CLOEXEC"))
    descriptor = os.open(path, os.O_RDONLY | sum(options))
    file = os.fdopen(descriptor, "rb")
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        file.close()
        raise ModelFileError(f"{path}: is no regular file. Give the path of a model file.")
    return file


@contextlib.contextmanager
def _reading(path: str) -> Iterator[None]:
    """Turn whatever reading an altered file raises into a ModelFileError that names it."""
    try:
        yield
    except ModelFileError:
        raise
    except OSError as error:
        raise ModelFileError(
            f"{path}: cannot be read ({error.strerror or error}). Make the file readable."
        ) from error
    except MemoryError as error:
        raise ModelFileError(
            f"{path}: there is not enough memory to load it. Free memory, or load it on a larger "
            "machine."
        ) from error
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ModelFileError(
            f"{path}: is no model file, or is cut short or altered ({reason}). {TRAIN_AGAIN}"
        ) from error


def _parsed(path: str, text: str) -> dict[str, Any]:
    try:
        document = _safetensors.parse_json(text)
        _canonical(document)  # which knows no infinity
    except (ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{path}: the header is no valid JSON: the file was altered or damaged. {TRAIN_AGAIN}"
        ) from error
    entries = document if isinstance(document, dict) else {}
    version = entries.get("format_version")
    if type(version) is not int or version < 1 or type(entries.get("library_version")) is not str:
        raise ModelFileError(
            f"{path}: the header has no format version: the file was altered or damaged. "
            f"{TRAIN_AGAIN}"
        )
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{path}: was written by a newer lrrf_jax ({document.get('library_version')}, format "
            f"{version}; this one reads up to format {FORMAT_VERSION}). Upgrade lrrf_jax: "
            "pip install --upgrade lrrf_jax."
        )
    return document
