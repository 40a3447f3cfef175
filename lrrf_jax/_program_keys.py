"""The name of a program: a hash of all that its machine code depends on.

Programs are found by it before they are traced, so whatever tracing, lowering or compiling reads
has to be in it: our own sources, the versions of what they call, JAX's settings, XLA's flags, the
device, the settings of the program, and the shapes and types of its arguments. What cannot be
told in words that mean the same in every process has no name (`NamelessError`).
"""

import dataclasses
import enum
import functools
import hashlib
import importlib.metadata
import os
import pathlib
import platform
import sys
import time
from collections.abc import Iterator
from typing import Any

import jax
import jaxlib
import numpy as np
from jax._src import config  # which alone knows what a thread works with

_PACKAGE = __package__
_IMPORTED_AT = time.time()
# Settings that are about files, messages and the choice of devices, not about programs.
_NO_MATTER = (
    "_cache",
    "default_device",
    "jax_log_",
    "jax_platform",
    "logging_level",
    "traceback",
    "visible_devices",
)


class NamelessError(Exception):
    """A program depends on something that cannot be told from process to process."""


def program_name(
    function: Any, options: Any, static: Any, arguments: str, device: jax.Device
) -> str:
    """Return the name of a program; ``arguments``: their structure, shapes and types."""
    surroundings = _surroundings()
    if surroundings is None:
        raise NamelessError(f"{_PACKAGE} changed after it was imported, perhaps")
    if " at 0x" in arguments:  # of a pytree with objects that say where they are
        raise NamelessError(arguments)
    parts = (
        surroundings,
        _of_device(device),
        *_settings(),
        _words(function),
        _words(options),
        _words(static),
        arguments,
    )
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _words(value: Any) -> str:
    """Write a setting so that equal words mean equal programs, in any process."""
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, enum.Enum):
        return str(value)
    if isinstance(value, tuple | list):
        return f"{_global_name(type(value))}[{', '.join(map(_words, value))}]"
    if isinstance(value, dict):
        items = (f"{_words(key)}: {_words(value[key])}" for key in sorted(value))
        return f"{{{', '.join(items)}}}"
    if isinstance(value, functools.partial):
        return f"partial {_words((value.func, value.args, value.keywords))}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return f"{_global_name(type(value))}{_words(fields)}"
    return _global_name(value)


def _global_name(value: Any) -> str:
    """Name a function or class of this package, whose sources are known, or of Python itself."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        raise NamelessError(repr(value))
    if module != "builtins" and module.partition(".")[0] != _PACKAGE:
        raise NamelessError(f"{module}.{name} is not in {_PACKAGE}")
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    while found is not value:
        found = getattr(found, "__wrapped__", None)
        if found is None:  # made in a function, or replaced
            raise NamelessError(f"{module}.{name} is not what it was")
    return f"{module}.{name}"


@functools.cache
def _surroundings() -> str | None:
    """Collect sources, versions and flags, which are of the process; None where they changed."""
    versions = [jax.__version__, jaxlib.__version__, np.__version__]
    try:
        versions.append(importlib.metadata.version("optax"))
        sources = _sources()
    except (OSError, importlib.metadata.PackageNotFoundError):
        return None
    flags = [os.environ.get(name, "") for name in ("XLA_FLAGS", "LIBTPU_INIT_ARGS")]
    return sources and "\n".join([sources, platform.python_version(), *versions, *flags])


def _sources() -> str | None:
    """Hash the package, as it was when it was imported."""
    digest = hashlib.sha256()
    folder = pathlib.Path(__file__).parent
    for path in sorted(folder.rglob("*.py")):
        status = path.stat()
        if max(status.st_mtime, status.st_ctime) > _IMPORTED_AT:
            return None
        digest.update(f"{path.relative_to(folder).as_posix()}\0{status.st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _of_device(device: jax.Device) -> str:
    client = device.client
    return f"{client.platform}, {client.platform_version}, {device.device_kind}, {device.id}"


def _settings() -> Iterator[str]:
    """Yield JAX's settings, as this thread sees them, and what ``with`` blocks add."""
    for name, value in sorted(jax.config.values.items()):
        if not any(part in name for part in _NO_MATTER):
            yield f"{name}={_plain(value)}"
    for value in config.trace_context():
        yield _plain(value)


def _plain(value: Any) -> str:
    if value is None or isinstance(value, bool | int | float | str | enum.Enum):
        return str(value)
    if isinstance(value, tuple | list | frozenset) and not value:
        return "()"
    if isinstance(value, jax.Device):  # which is in the name by itself
        return str(None)
    if type(value).__name__ == "AxisEnv" and not value.axis_sizes:
        return "no axes"
    if type(value).__name__ == "AbstractMesh" and value.empty:
        return "no mesh"
    raise NamelessError(f"a setting is {value!r}")
