"""Rows in batches of a few sizes, so that any mix of batch sizes needs a few programs only."""

import concurrent.futures
import threading
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from lrrf_jax._backend import CPU, Backend
from lrrf_jax._devices import backend_in_use, local_devices
from lrrf_jax._jax_settings import our_settings
from lrrf_jax._threads import thread_count
from lrrf_jax._typing import NDArray
from lrrf_jax.learners.streaming import (
    Piece,
    Seen,
    Work,
    is_shortage,
    padded,
    pieces_of,
    stream_rows,
)

TILE = CPU.tile
_SMALL_SIZES = tuple(size for size in CPU.batch_sizes if size < TILE)
_TILES_PER_CALL = tuple(size // TILE for size in reversed(CPU.batch_sizes) if size >= TILE)
_CALLS_PER_THREAD = 2
_THREADED_ROWS = 2**15  # fewer are ranked in the time that it takes to start threads
# A call to an accelerator costs about as much as these rows do, or this share of those that there
# are: a model, not a measurement.
_SPARE_ROWS, _SPARE_SHARE = 2**13, 1 / 8


def batch_sizes(n_rows: int, n_threads: int = 1, backend: Backend = CPU) -> list[int]:
    """Sizes of the calls that ``n_rows`` rows are cut into; the last may be padded.

    Large calls cost less, but several threads need several calls each to end at one time.

    >>> batch_sizes(5), batch_sizes(500), batch_sizes(5000)
    ([8], [1024], [2048, 2048, 2048])
    >>> set(batch_sizes(80_000)), set(batch_sizes(80_000, n_threads=2))
    ({65536, 8192, 2048}, {8192, 2048})
    >>> from lrrf_jax._backend import ACCELERATOR
    >>> batch_sizes(70_000, backend=ACCELERATOR), batch_sizes(1_000_000, backend=ACCELERATOR)
    ([65536, 8192], [1048576])
    """
    if not backend.on_host:
        return _few_sizes(n_rows, backend.batch_sizes)
    for size in _SMALL_SIZES:
        if n_rows <= size:
            return [size]
    n_threads = n_threads if n_rows >= _THREADED_ROWS else 1
    n_tiles = -(-n_rows // TILE)
    most = n_tiles if n_threads == 1 else max(1, n_tiles // (_CALLS_PER_THREAD * n_threads))
    sizes, left = [], n_rows
    while left > 0:
        tiles = next(k for k in _TILES_PER_CALL if k == 1 or (k <= most and k * TILE <= left))
        sizes.append(tiles * TILE)
        left -= sizes[-1]
    return sizes


def _few_sizes(n_rows: int, sizes: tuple[int, ...]) -> list[int]:
    """Cut off the largest sizes until what is left may as well be padded to the next."""
    out, left = [], n_rows
    while left > 0:
        fits = [size for size in sizes if size <= left]
        above = next((size for size in sizes if size >= left), None)
        spare = max(_SPARE_ROWS, int(_SPARE_SHARE * left))
        pads = above is not None and (above - left <= spare or not fits)
        out.append(above if above is not None and pads else fits[-1])
        left -= out[-1]
    return out


def map_tiles(function: Callable[[Any], Any], features: Any, tile: int = TILE) -> Any:
    """Apply ``function`` to tiles of at most so many rows, within one program."""
    n_rows = len(features)
    if n_rows <= tile:
        return function(features)
    if n_rows % tile:  # of rows that lie on a device; our own batches are whole tiles
        filled = jnp.pad(features, ((0, -n_rows % tile), (0, 0)))
        return jax.tree.map(lambda field: field[:n_rows], map_tiles(function, filled, tile))
    out = lax.map(function, features.reshape(-1, tile, features.shape[1]))
    return jax.tree.map(lambda field: field.reshape(n_rows, *field.shape[2:]), out)


def map_rows(
    function: Callable[[NDArray], Any],
    features: NDArray,  # float32 (n_samples, n_features)
    seen: Seen | None = None,
    work: Callable[[], Work] | None = None,
) -> NDArray:  # (n_samples, ...)
    """Apply a jitted function of rows to all rows.

    On CPUs long tables are spread over threads. On accelerators one thread puts a block of rows
    while the one before is computed and the result of that before it is fetched; what ``work``
    returns is done there in place of ``function``, spread over the devices of this process.

    The function sees the sizes of :func:`batch_sizes` only (a first call on CPUs does with tiles in
    place of the larger ones), and its result must not depend on what other rows it sees. Where
    memory, that of a device say, does not suffice, rows are cut into smaller ones. ``seen``
    remembers between calls what sizes are compiled, since threads that need the same new program
    would each compile it, and which fit.
    """
    seen = Seen() if seen is None else seen
    with our_settings():
        backend = backend_in_use()
        if backend.on_host:
            return _map_on_host(function, features, seen)

        def cut(n_rows: int, largest: int) -> list[int]:
            return _few_sizes(n_rows, tuple(s for s in backend.batch_sizes if s <= largest))

        found = work() if work else Work.of(function)
        return stream_rows(found, features, local_devices(), backend, cut, seen)


def _map_on_host(function: Callable[[NDArray], Any], features: NDArray, seen: Seen) -> NDArray:
    n_threads = thread_count() if len(features) >= _THREADED_ROWS else 1
    sizes = batch_sizes(len(features), n_threads)
    if not seen.worth_compiling({size for size in sizes if size > TILE}):
        sizes = [TILE] * -(-len(features) // TILE)
    if sizes == [len(features)] and sizes[0] <= TILE:
        result = np.asarray(function(features))  # nothing to cut or to fill up
        seen.sizes.add(sizes[0])
        return result
    out: list[NDArray] = []
    first_result = threading.Lock()

    def run(piece: Piece) -> None:
        start, used, size = piece
        try:
            result = np.asarray(function(padded(features, piece)))
        except (MemoryError, RuntimeError) as error:
            if size <= TILE or not is_shortage(error):
                raise
        else:
            seen.sizes.add(size)
            if used == len(features) == size:
                out.append(result)
                return
            with first_result:
                if not out:
                    out.append(np.empty((len(features), *result.shape[1:]), result.dtype))
            out[0][start : start + used] = result[:used]
            return
        smaller = max(s for s in CPU.batch_sizes if s < size)
        for piece in pieces_of(start, used, [smaller] * -(-used // smaller)):
            run(piece)

    rest = []
    for piece in pieces_of(0, len(features), sizes):
        if piece[2] in seen.sizes:
            rest.append(piece)
        else:
            run(piece)
    if len(rest) > 1 and n_threads > 1:
        device = jax.config.jax_default_device  # type: ignore[attr-defined]

        def run_there(piece: Piece) -> None:
            with our_settings(), jax.default_device(device):  # which threads do not inherit
                run(piece)

        with concurrent.futures.ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(run_there, rest))
    else:
        for piece in rest:
            run(piece)
    return out[0]
