"""Rows in batches of a few sizes, so that any mix of batch sizes needs a few programs only."""

import concurrent.futures
import threading
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import lax

from lrrf_jax._jax_settings import our_settings
from lrrf_jax._threads import thread_count
from lrrf_jax._typing import NDArray

SMALL_SIZES = (1, 8, 32, 128, 256, 1024)
TILE = 2048
_TILES_PER_CALL = (32, 4, 1)
_CALLS_PER_THREAD = 4
_THREADED_ROWS = 2**15  # fewer are ranked in the time that it takes to start threads
PROGRAM_SIZES = (*SMALL_SIZES, *(TILE * k for k in reversed(_TILES_PER_CALL)))


def batch_sizes(n_rows: int, n_threads: int = 1) -> list[int]:
    """Sizes of the calls that ``n_rows`` rows are cut into; the last may be padded.

    Large calls cost less, but several threads need several calls each to end at one time.

    >>> batch_sizes(5), batch_sizes(500), batch_sizes(5000)
    ([8], [1024], [2048, 2048, 2048])
    >>> set(batch_sizes(80_000)), set(batch_sizes(80_000, n_threads=2))
    ({65536, 8192, 2048}, {8192, 2048})
    """
    for size in SMALL_SIZES:
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


def map_tiles(function: Callable[[Any], Any], features: Any, tile: int = TILE) -> Any:
    """Apply ``function`` to tiles of at most so many rows, within one program."""
    n_rows = len(features)
    if n_rows <= tile:
        return function(features)
    out = lax.map(function, features.reshape(-1, tile, features.shape[1]))
    return jax.tree.map(lambda field: field.reshape(n_rows, *field.shape[2:]), out)


def map_rows(
    function: Callable[[NDArray], Any],
    features: NDArray,  # float32 (n_samples, n_features)
    compiled: set[int] | None = None,
) -> NDArray:  # (n_samples, ...)
    """Apply a jitted function of rows to all rows; long tables are spread over threads.

    ``function`` sees the sizes of :func:`batch_sizes` only, and its result must not depend on
    what other rows it sees. ``compiled`` remembers the sizes that it has seen: threads that
    need the same new program would each compile it.
    """
    with our_settings():
        return _map_rows(function, features, set() if compiled is None else compiled)


def _map_rows(function: Callable[[NDArray], Any], features: NDArray, compiled: set[int]) -> NDArray:
    n_threads = thread_count() if len(features) >= _THREADED_ROWS else 1
    sizes = batch_sizes(len(features), n_threads)
    if sizes == [len(features)]:
        result = np.asarray(function(features))  # nothing to cut or to fill up
        compiled.add(sizes[0])
        return result
    pieces, start = [], 0
    for size in sizes:
        pieces.append((start, min(size, len(features) - start), size))
        start += size
    out: list[NDArray] = []
    first_result = threading.Lock()

    def run(piece: tuple[int, int, int]) -> None:
        start, used, size = piece
        block = features[start : start + used]
        if used < size:
            block = np.concatenate([block, np.zeros((size - used, block.shape[1]), block.dtype)])
        result = np.asarray(function(block))
        with first_result:
            if not out:
                out.append(np.empty((len(features), *result.shape[1:]), result.dtype))
        out[0][start : start + used] = result[:used]
        compiled.add(size)

    rest = []
    for piece in pieces:
        if piece[2] in compiled:
            rest.append(piece)
        else:
            run(piece)
    if len(rest) > 1 and n_threads > 1:
        device = jax.config.jax_default_device  # type: ignore[attr-defined]

        def run_there(piece: tuple[int, int, int]) -> None:
            with our_settings(), jax.default_device(device):  # which threads do not inherit
                run(piece)

        with concurrent.futures.ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(run_there, rest))
    else:
        for piece in rest:
            run(piece)
    return out[0]
