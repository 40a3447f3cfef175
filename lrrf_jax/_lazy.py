"""Names of a package that are imported when they are first asked for (PEP 562)."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazily(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package.

    ``homes`` tells the module in the package (with a dot before it: beside it) that defines a
    name; "" says that the name is one.

    >>> find, _ = lazily("lrrf_jax", {"InputError": "_validation", "metrics": ""})
    >>> find("InputError").__name__, find("metrics").__name__
    ('InputError', 'lrrf_jax.metrics')
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if not homes[name]:
            return importlib.import_module(f".{name}", package)
        value = getattr(importlib.import_module(f".{homes[name]}", package), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return find, names
