"""What it costs to bring rows to the device and ranks back: apart, in turn, and overlapped."""

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gpu_benchmark import clocks
from lrrf_jax._backend import ACCELERATOR
from lrrf_jax.inference.ready import make_ready
from lrrf_jax.learners.forest.predict import forest_ranks

BLOCK_ROWS = 2**20
BLOCKS = 8


def measure_transfers(ranker: Any, features: np.ndarray) -> dict[str, Any]:
    """Time a block of rows on its way there, through the forest and back; then many blocks.

    ``predict_seconds`` is what the library does: block after block is put, computed and fetched at
    one time. It cannot take less than the slowest of these three, of all blocks.
    """
    block = np.resize(features, (min(BLOCK_ROWS, len(features)), features.shape[1]))
    ready = make_ready(ranker.forest_, ACCELERATOR)
    static = {"n_labels": len(ranker.labels_), "aggregation": ranker.aggregation_}
    there = jax.device_put(block)
    ranks = forest_ranks(ready, there, **static)

    def in_turn() -> None:
        for _ in range(BLOCKS):
            rows = jax.block_until_ready(jax.device_put(block))
            np.asarray(jax.block_until_ready(forest_ranks(ready, rows, **static)))

    rows = np.resize(features, (BLOCKS * len(block), features.shape[1]))
    put = clocks.median_seconds(lambda: jax.device_put(block))
    compute = clocks.seconds_in_a_row(lambda: forest_ranks(ready, there, **static))
    fetch, fetch_bytes = _fetch_seconds(ranks), _fetch_seconds(ranks.astype(jnp.uint8))
    predict = clocks.median_seconds(lambda: ranker.predict(rows), rounds=3)
    slowest = max(put, compute, min(fetch, fetch_bytes))
    return {
        "block_rows": len(block),
        "blocks": BLOCKS,
        "put_seconds_a_block": put,
        "compute_seconds_a_block": compute,
        "fetch_seconds_a_block": fetch,
        "fetch_seconds_a_block_as_uint8": fetch_bytes,
        "put_gib_a_second": round(block.nbytes / put / 2**30, 2),
        "fetch_gib_a_second": round(ranks.nbytes / fetch / 2**30, 2),
        "in_turn_seconds": clocks.median_seconds(in_turn, rounds=3),
        "predict_seconds": predict,
        "share_of_slowest_part": round(BLOCKS * slowest / predict, 4),
    }


def _fetch_seconds(array: jax.Array) -> float:
    """Time bringing an array to the host; a copy each time, for a JAX array keeps what it got."""
    copy = jax.jit(lambda a: a + jnp.zeros((), a.dtype))
    seconds = []
    for _ in range(clocks.ROUNDS):
        fresh = jax.block_until_ready(copy(array))
        start = time.perf_counter()
        np.asarray(fresh)
        seconds.append(time.perf_counter() - start)
    return sorted(seconds)[len(seconds) // 2]
