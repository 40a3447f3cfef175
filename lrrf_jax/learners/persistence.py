"""Fitted parameters as named arrays, and back; parameters of learners as JSON."""

import json
import typing
from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import ModelFileError


def flatten(params: Any, prefix: str = "") -> dict[str, NDArray]:
    """Name every array of nested NamedTuples: ``forest.feature``, ``forest.threshold``, ..."""
    arrays: dict[str, NDArray] = {}
    for name, value in params._asdict().items():
        if hasattr(value, "_asdict"):
            arrays |= flatten(value, f"{prefix}{name}.")
        else:
            arrays[prefix + name] = np.asarray(value)
    return arrays


def restore(params_type: type, arrays: dict[str, NDArray], prefix: str = "") -> Any:
    """Put arrays back into nested NamedTuples of type ``params_type``.

    Raises
    ------
    ModelFileError
        Where an array is absent.
    """
    fields = {}
    for name, kind in typing.get_type_hints(params_type).items():
        if isinstance(kind, type) and hasattr(kind, "_fields"):
            fields[name] = restore(kind, arrays, f"{prefix}{name}.")
        elif prefix + name in arrays:
            fields[name] = arrays[prefix + name]
        else:
            raise ModelFileError(f"the array '{prefix}{name}' is absent")
    return params_type(**fields)


def plain(params: dict[str, Any]) -> dict[str, Any]:
    """Keep the parameters that JSON can hold; a RandomState or generator becomes ``None``."""
    plain = {}
    for name, value in params.items():
        if isinstance(value, np.generic):
            value = value.item()
        try:
            json.dumps(value)
        except TypeError:
            value = None
        plain[name] = value
    return plain
