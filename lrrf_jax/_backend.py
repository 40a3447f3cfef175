"""What a kind of device wants; no other module asks for a platform.

None of it changes a result. What is decided on the host is read from a record, which the devices in
use choose; what is decided inside of a program, when it is compiled, goes through `by_platform`.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
from jax import lax

Result = TypeVar("Result")


@dataclasses.dataclass(frozen=True)
class Backend:
    """What is decided by the kind of device."""

    on_host: bool  # its cores and memory are those of the host, and threads hand it work
    slices_bits: bool  # forests are asked by bits, in tiles that a cache holds; else walked
    tile: int  # rows that a forest is applied to at a time
    batch_sizes: tuple[int, ...]  # rows per call, rising: each has a program of its own
    large_steps: bool  # few large kernels; else loops over what a core's cache holds
    short_sums: bool  # 16-bit sums halve what a cache must hold; elsewhere they are slow loops
    search_bytes: int  # of histograms that are searched at a time
    grown_rows: int | None  # rows that trees grow on together; None: as many as memory holds
    grown_trees: int  # maximum number of trees that grow together
    grown_bytes: int | None  # of tables that trees grow on together; None: as many as memory holds
    memory: int | None  # bytes to grow in, unless told otherwise; None: half of the device's


CPU = Backend(
    on_host=True,
    slices_bits=True,
    tile=2048,
    batch_sizes=(1, 8, 32, 128, 256, 1024, 2048, 4 * 2048, 32 * 2048),
    large_steps=False,
    short_sums=True,
    search_bytes=2**17,
    grown_rows=2**15,
    grown_trees=32,
    grown_bytes=2**25,  # larger ones are out of the caches, and their pages new in every call
    memory=2**30,
)
ACCELERATOR = Backend(
    on_host=False,
    slices_bits=False,
    tile=2**20,
    batch_sizes=(2**10, 2**13, 2**16, 2**20),
    large_steps=True,
    short_sums=False,
    search_bytes=2**28,  # a search of so much takes longer than the host to start the next
    grown_rows=None,
    grown_trees=1024,
    grown_bytes=None,
    memory=None,
)


def backend_of(devices: Sequence[jax.Device]) -> Backend:
    """Return what these devices want, which are of one kind."""
    return CPU if devices[0].platform == "cpu" else ACCELERATOR


def by_platform(
    *operands: Any, cpu: Callable[..., Result], accelerator: Callable[..., Result]
) -> Result:
    """Apply one of two functions that give the same values, whichever the device is faster at.

    Only the one that is needed gets into the compiled program.
    """
    chosen: Result = lax.platform_dependent(*operands, cpu=cpu, default=accelerator)
    return chosen


def host_device() -> jax.Device | None:
    """Return a device that is the host, where JAX has been told to use one beside accelerators."""
    try:
        return jax.local_devices(backend="cpu")[0]
    except RuntimeError:  # of JAX_PLATFORMS=cuda
        return None
