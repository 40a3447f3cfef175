"""Work for more than one process: bulk prediction on a Ray cluster.

Importing this package imports neither Ray nor what it needs; the functions do when called.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lrrf_jax.distributed.ray_data import predict_dataset

_HOMES = {"predict_dataset": "ray_data"}

__all__ = ["predict_dataset"]


def __getattr__(name: str) -> Any:
    # Imported when first asked for: each module here needs libraries that others do not.
    if name not in _HOMES:
        raise AttributeError(f"module 'lrrf_jax.distributed' has no attribute {name!r}")
    return getattr(importlib.import_module(f"lrrf_jax.distributed.{_HOMES[name]}"), name)
