"""Rows in batches of a few sizes, so that any mix of batch sizes needs a few programs only."""

import concurrent.futures
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import lax

from lrrf_jax._threads import thread_count
from lrrf_jax._typing import NDArray

SMALL_SIZES = (1, 8, 32, 128, 256, 1024)
TILE = 2048
_TILES_A_CALL = (32, 4, 1)
PROGRAM_SIZES = (*SMALL_SIZES, *(TILE * k for k in reversed(_TILES_A_CALL)))


def batch_sizes(n_rows: int) -> list[int]:
    """Sizes of the calls that ``n_rows`` rows are cut into; the last may be padded.

    >>> batch_sizes(5), batch_sizes(500), batch_sizes(5000)
    ([8], [1024], [2048, 2048, 2048])
    >>> batch_sizes(200_000)[:4]
    [65536, 65536, 65536, 2048]
    """
    for size in SMALL_SIZES:
        if n_rows <= size:
            return [size]
    sizes, left = [], n_rows
    while left > 0:
        n_tiles = next(k for k in _TILES_A_CALL if k * TILE <= left or k == 1)
        sizes.append(n_tiles * TILE)
        left -= sizes[-1]
    return sizes


def map_tiles(function: Callable[[Any], Any], features: Any) -> Any:
    """Apply ``function`` to tiles of at most 2,048 rows, within one program."""
    n_rows = len(features)
    if n_rows <= TILE:
        return function(features)
    out = lax.map(function, features.reshape(-1, TILE, features.shape[1]))
    return jax.tree.map(lambda field: field.reshape(n_rows, *field.shape[2:]), out)


def map_rows(
    function: Callable[[NDArray], Any],
    features: NDArray,  # float32 (n_samples, n_features)
) -> NDArray:  # (n_samples, ...)
    """Apply a jitted function of rows to all rows; long tables are spread over threads.

    ``function`` sees the sizes of :func:`batch_sizes` only, and its result must not depend on
    what other rows it sees.
    """
    sizes = batch_sizes(len(features))
    if sizes == [len(features)]:
        return np.asarray(function(features))  # nothing to cut or to fill up
    pieces, start = [], 0
    for size in sizes:
        pieces.append((start, min(size, len(features) - start), size))
        start += size
    out: list[NDArray] = []

    def run(piece: tuple[int, int, int]) -> NDArray:
        start, used, size = piece
        block = features[start : start + used]
        if used < size:
            block = np.concatenate([block, np.zeros((size - used, block.shape[1]), block.dtype)])
        result = np.asarray(function(block))
        if not out:
            out.append(np.empty((len(features), *result.shape[1:]), result.dtype))
        out[0][start : start + used] = result[:used]
        return result

    run(pieces[0])  # alone, so that a program is compiled once
    if len(pieces) > 2 and (n_threads := thread_count()) > 1:
        device = jax.config.jax_default_device  # type: ignore[attr-defined]

        def run_there(piece: tuple[int, int, int]) -> NDArray:
            with jax.default_device(device):  # which threads do not inherit
                return run(piece)

        with concurrent.futures.ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(run_there, pieces[1:]))
    else:
        for piece in pieces[1:]:
            run(piece)
    return out[0]
