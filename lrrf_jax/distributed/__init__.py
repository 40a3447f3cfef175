"""Work for several devices, hosts or processes: growth, prediction with Ray and other engines.

Importing this package imports neither Ray nor JAX; the functions do when they are called.
"""

from typing import TYPE_CHECKING

from lrrf_jax._lazy import lazily
from lrrf_jax._threads import limit_threads

if TYPE_CHECKING:
    from lrrf_jax.distributed.devices import use_devices
    from lrrf_jax.distributed.loading import load_once
    from lrrf_jax.distributed.ray_data import predict_dataset

_HOMES = {"load_once": "loading", "predict_dataset": "ray_data", "use_devices": "devices"}

__all__ = ["limit_threads", "load_once", "predict_dataset", "use_devices"]

# Imported when first asked for: each module here needs libraries that others do not.
if not TYPE_CHECKING:  # for a type checker would take any name for one of these
    __getattr__, __dir__ = lazily(__name__, _HOMES)
