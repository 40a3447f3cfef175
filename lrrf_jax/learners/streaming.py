"""Rows to an accelerator and back: a block is put, one is computed, one fetched, all at a time.

JAX hands work to an accelerator and goes on, so one thread keeps all three busy as long as it
waits for nothing but the result of the block before the last. Blocks are put from memory as
NumPy has it: XLA's client for GPUs copies them through pinned memory of its own, and an array of
JAX in pinned memory would be one more copy, made by this thread.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import jax
import numpy as np

from lrrf_jax import _devices
from lrrf_jax._backend import Backend
from lrrf_jax._typing import Array, NDArray

Piece: TypeAlias = tuple[int, int, int]  # first row, rows, size that they are padded to
_BLOCKS_HELD = 3  # put ahead, being computed, and being fetched
_SHARE_OF_FREE = 0.5  # of a device's memory: what an allocator cannot use is unknown


class Seen:
    """What is known of a function of rows from earlier calls."""

    def __init__(self) -> None:
        self.sizes: set[int] = set()  # rows for which its program is compiled
        self.fitting: int | None = None  # rows, where a device had no memory for more
        self.done_without: dict[int, int] = {}  # by size: work that spared compiling its program
        self._asked_once: set[int] = set()

    def worth_compiling(self, sizes: set[int]) -> bool:
        """Whether all of these were asked for before, so that their programs may be needed again.

        They only save a few calls of a smaller one, which takes far less than compiling them.
        """
        new = sizes - self.sizes - self._asked_once
        self._asked_once |= new
        return not new


class Work(NamedTuple):
    """A function of rows, and what an accelerator has to know of it."""

    on: Callable[[_devices.Devices], Callable[[Any], Any]]  # one that works on these devices
    spreads: bool  # whether that may be several; it is then given arrays that lie there
    row_bytes: int  # of a device's memory that a row takes while it is computed, features apart
    largest: int | None  # no result is larger, or negative; None: they are no such integers

    @classmethod
    def of(cls, function: Callable[[NDArray], Any]) -> "Work":
        """Describe a function that puts its rows itself, and of which nothing is known."""
        return cls(lambda devices: function, False, 0, None)


def is_shortage(error: BaseException) -> bool:
    """Whether memory, of the host or of a device, did not suffice."""
    return isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error)


def pieces_of(start: int, n_rows: int, sizes: list[int]) -> Iterator[Piece]:
    """Place batches of these sizes one after another on the rows from ``start`` on."""
    end = start + n_rows
    for size in sizes:
        yield start, min(size, end - start), size
        start += size


def padded(features: NDArray, piece: Piece) -> NDArray:
    """Take the rows of a piece, filled up with zeros."""
    start, used, size = piece
    block = features[start : start + used]
    if used == size:
        return block
    return np.concatenate([block, np.zeros((size - used, *block.shape[1:]), block.dtype)])


def stream_rows(
    work: Work,
    features: NDArray,  # float32 (n_samples, n_features)
    devices: _devices.Devices,
    backend: Backend,
    cut: Callable[[int, int], list[int]],  # rows, largest size -> sizes
    seen: Seen,
) -> NDArray:  # (n_samples, ...)
    """Do the work on all rows, in blocks that the memory of the devices has room for."""
    sizes = backend.batch_sizes
    if not work.spreads or len(features) <= sizes[0]:
        devices = devices[:1]
    row_bytes = work.row_bytes + _BLOCKS_HELD * features.itemsize * features.shape[1]
    largest = seen.fitting or _planned(row_bytes, devices, sizes)
    apply, put = work.on(devices), _putter(devices, work.spreads)
    out: list[NDArray] = []
    done = 0
    while done < len(features):
        left = len(features) - done
        shares = cut(-(-left // len(devices)), largest)
        pieces = pieces_of(done, left, [size * len(devices) for size in shares])
        try:
            for (start, used, size), result in _stream(apply, put, features, pieces, work.largest):
                if not out:
                    out.append(_host_array(len(features), result, work.largest))
                out[0][start : start + used] = result[:used]
                done = start + used
                seen.sizes.add(size // len(devices))
        except (MemoryError, RuntimeError) as error:
            smaller = [size for size in sizes if size < largest]
            if not smaller or not is_shortage(error):
                raise
            seen.fitting = largest = smaller[-1]  # what was in flight is computed again
    return out[0]


def _stream(
    apply: Callable[[Any], Any],
    put: Callable[[NDArray], Any],
    features: NDArray,
    pieces: Iterator[Piece],
    largest: int | None,
) -> Iterator[tuple[Piece, NDArray]]:
    """Yield pieces and their results, on the host and in order."""
    ahead: tuple[Piece, Any] | None = None
    behind: tuple[Piece, Any] | None = None
    for piece in pieces:
        following = piece, put(padded(features, piece))
        if ahead is not None:
            started = ahead[0], _started(apply(ahead[1]), largest)
            if behind is not None:
                yield behind[0], np.asarray(behind[1])
            behind = started
        ahead = following
    if ahead is not None:
        started = ahead[0], _started(apply(ahead[1]), largest)
        ahead = None
        if behind is not None:
            yield behind[0], np.asarray(behind[1])
        yield started[0], np.asarray(started[1])


def _started(result: Any, largest: int | None) -> Any:
    """Let a result start on its way to the host, as narrow as it can be."""
    if largest is not None:
        result = narrowed(result, largest=largest)
    if not isinstance(result, np.ndarray):
        result.copy_to_host_async()
    return result


@functools.partial(jax.jit, static_argnames="largest")
def narrowed(values: Array, *, largest: int) -> Array:
    """Convert integers 0 .. ``largest`` to as few bytes as hold them."""
    return values.astype(np.min_scalar_type(largest))


def _host_array(n_rows: int, first: NDArray, largest: int | None) -> NDArray:
    dtype = first.dtype if largest is None else np.int32
    return np.empty((n_rows, *first.shape[1:]), dtype)


def _planned(row_bytes: int, devices: _devices.Devices, sizes: tuple[int, ...]) -> int:
    """Return the largest size for which each device has memory, as far as it tells."""
    free = [_free_bytes(device) for device in devices]
    room = min((bytes_ for bytes_ in free if bytes_ is not None), default=None)
    if room is None:
        return sizes[-1]
    fitting = [size for size in sizes if size * row_bytes <= _SHARE_OF_FREE * room]
    return max(fitting, default=sizes[0])


def _free_bytes(device: jax.Device) -> int | None:
    stats = device.memory_stats() or {}
    if "bytes_limit" not in stats:
        return None
    return int(stats["bytes_limit"]) - int(stats.get("bytes_in_use", 0))


def _putter(devices: _devices.Devices, spreads: bool) -> Callable[[NDArray], Any]:
    if not spreads:
        return lambda block: block  # the function puts it
    if len(devices) == 1:
        return lambda block: jax.device_put(block, devices[0])
    line = _devices.line_up(devices, "rows")
    return lambda block: _devices.split(block, line)
