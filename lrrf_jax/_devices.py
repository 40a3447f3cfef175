"""Which devices work, and how arrays get to them: one axis of a mesh, of one host or several.

Whatever is spread over the axis does not depend on its neighbours there, so the devices change
how long work takes, and nothing else.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from lrrf_jax._backend import Backend, backend_of
from lrrf_jax._jax_backend import require_backend
from lrrf_jax._threads import thread_count
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError

Devices = tuple[jax.Device, ...]

_chosen: Devices | None = None


@contextlib.contextmanager
def use_devices(devices: Sequence[jax.Device] | Mesh) -> Iterator[None]:
    """Let fits and predictions inside the ``with`` block work on these devices.

    Parameters
    ----------
    devices : sequence of jax.Device, or jax.sharding.Mesh
        Such as ``jax.devices()[:2]`` or ``jax.make_mesh((4,), ("trees",))``; the shape of a mesh
        does not matter. With several processes: devices of this process only, or some of every
        process, in which case every process must fit with the same data and parameters.

    Raises
    ------
    InputError
        Where there is no device, one comes twice, they are of several kinds, or they belong to
        some other processes but not to all.

    Notes
    -----
    Outside of such a block: the device that ``jax.default_device`` names, where it is set; else
    every accelerator of every process; else, on CPUs, one device per process, whose cores are used
    by threads. The choice holds for all threads of the process, and changes no result.

    Examples
    --------
    >>> import jax
    >>> with use_devices(jax.devices()[:1]):
    ...     len(growing_devices())
    1
    """
    global _chosen
    require_backend()
    flat = devices.devices.flat if isinstance(devices, Mesh) else devices
    before, _chosen = _chosen, _checked(tuple(flat))
    try:
        yield
    finally:
        _chosen = before


def _checked(devices: Devices) -> Devices:
    odd = [device for device in devices if not isinstance(device, jax.Device)]
    if odd or not devices or len(set(devices)) < len(devices):
        raise InputError(
            "use_devices needs one or more distinct devices, such as jax.devices()[:2]; "
            f"it got {odd[0] if odd else list(devices)!r}."
        )
    kinds = sorted({device.platform for device in devices})
    if len(kinds) > 1:
        raise InputError(f"use_devices needs devices of one kind; these are {', '.join(kinds)}.")
    owners = {device.process_index for device in devices}
    if owners != {jax.process_index()} and len(owners) < jax.process_count():
        raise InputError(
            "use_devices needs devices of this process only, or some of every process; these "
            f"belong to {len(owners)} of {jax.process_count()} processes. Take "
            "jax.local_devices(), or jax.devices()."
        )
    return devices


def growing_devices() -> Devices:
    """Devices that trees are spread over, of all processes that take part."""
    if _chosen is not None:
        return _chosen
    pinned = jax.config.jax_default_device  # type: ignore[attr-defined]
    if pinned is not None:
        return (pinned if isinstance(pinned, jax.Device) else jax.local_devices(backend=pinned)[0],)
    devices = jax.devices()
    if not backend_of(devices).on_host:
        return tuple(devices)
    # The cores are those of the process however many devices it makes of them, and threads
    # need no program of their own.
    return tuple({device.process_index: device for device in reversed(devices)}.values())[::-1]


def local_devices() -> Devices:
    """Those of :func:`growing_devices` that belong to this process: rows are spread over them."""
    return tuple(d for d in growing_devices() if d.process_index == jax.process_index())


def backend_in_use() -> Backend:
    """Return what the devices of :func:`growing_devices` want; asked for in each prediction."""
    if _chosen is None and jax.config.jax_default_device is None:  # type: ignore[attr-defined]
        return backend_of(jax.devices())
    return backend_of(growing_devices())


def spans_processes(devices: Devices) -> bool:
    """Whether other processes take part, so that all must do the same."""
    return len({device.process_index for device in devices}) > 1


def n_workers(devices: Devices) -> int:
    """Threads of this process that hand work to its devices; more than one on CPUs only."""
    if not backend_of(devices).on_host:
        return 1
    return max(1, thread_count() // n_in_one_memory(devices))


def memory_share(memory_budget: int) -> int:
    """Bytes for one worker, of those for all that share a memory."""
    devices = growing_devices()
    return memory_budget // (n_workers(devices) * n_in_one_memory(devices))


def n_in_one_memory(devices: Devices) -> int:
    """Devices of this process that share a memory: CPUs do; accelerators have their own."""
    if not backend_of(devices).on_host:
        return 1
    return sum(device.process_index == jax.process_index() for device in devices)


# ---------------------------------------------------------------------------------- arrays
def line_up(devices: Devices, axis: str) -> Mesh:
    """Make a mesh of one axis."""
    return jax.make_mesh((len(devices),), (axis,), axis_types=(AxisType.Auto,), devices=devices)


def replicate(tree: Any, mesh: Mesh) -> Any:
    """Put a copy of host arrays on every device of the mesh."""
    return jax.tree.map(lambda array: _place(np.asarray(array), mesh, PartitionSpec()), tree)


def split(array: NDArray, mesh: Mesh) -> jax.Array:
    """Put equal shares of a host array's rows on the devices of the mesh."""
    return _place(array, mesh, PartitionSpec(*mesh.axis_names))


def _place(array: NDArray, mesh: Mesh, spec: PartitionSpec) -> jax.Array:
    # Not `device_put`, which would send the array to every process to see whether all have the
    # same; that is checked once for the whole table.
    return jax.make_array_from_callback(
        array.shape, NamedSharding(mesh, spec), lambda index: array[index]
    )


def fetch(tree: Any, mesh: Mesh) -> Any:
    """Bring arrays that are spread over the mesh to the host, whole, in every process.

    With several processes all of them must call it, in the same order.
    """
    if spans_processes(tuple(mesh.devices.flat)):
        tree = _gather(tree, NamedSharding(mesh, PartitionSpec()))
        tree = jax.tree.map(lambda array: array.addressable_data(0), tree)
    return jax.device_get(tree)


def _gather(tree: Any, everywhere: NamedSharding) -> Any:
    return jax.jit(_same, out_shardings=everywhere)(tree)


def _same(tree: Any) -> Any:
    return tree


# ------------------------------------------------------------------------------- processes
def of_every_process(words: NDArray) -> NDArray:  # (n_processes, n_words)
    """Show every process the integers of each; of one length, and called by all."""
    return np.atleast_2d(multihost_utils.process_allgather(words))


def of_first_process(content: bytes) -> bytes:
    """Give every process the bytes that the first one passes; called by all."""
    if jax.process_count() == 1:
        return content
    # As words, for sums of floats, which this goes through, do not keep the sign of a zero.
    words = np.frombuffer(content + bytes(-len(content) % 4), np.uint32)
    size = multihost_utils.broadcast_one_to_all(np.array([len(content), len(words)], np.uint32))
    if jax.process_index() != 0:
        words = np.zeros(size[1], np.uint32)
    return np.asarray(multihost_utils.broadcast_one_to_all(words)).tobytes()[: size[0]]
