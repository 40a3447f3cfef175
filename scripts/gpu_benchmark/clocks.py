"""Take times of work on a device, and of what the device can do at most."""

import functools
import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

COPIED_BYTES = 2**28
ROUNDS = 7
CALLS_IN_A_ROW = 20
MULTIPLIED = 2**22  # integers, each times itself so often:
MULTIPLICATIONS = 512


def median_seconds(run: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """Time a call that is waited for; the first one, which compiles, is left out."""
    jax.block_until_ready(run())
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        jax.block_until_ready(run())
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def seconds_in_a_row(run: Callable[[], Any], calls: int = CALLS_IN_A_ROW) -> float:
    """Time a call among many, of which only the last is waited for: what the device takes."""

    def all_of_them() -> Any:
        for _ in range(calls):
            last = run()
        return last

    return median_seconds(all_of_them, rounds=3) / calls


def copy_bandwidth() -> float:
    """Measure bytes a second that a kernel reads and writes when it does next to nothing."""
    source = jnp.zeros(COPIED_BYTES // 4, jnp.float32)
    add_one = jax.jit(lambda x: x + jnp.float32(1))
    return 2 * source.nbytes / median_seconds(lambda: add_one(source))


def issue_rate() -> float:
    """Measure integer instructions a second, of all threads: one multiplication and addition each.

    They depend on one another, as the tests of a tree do, and the compiler cannot shorten them.
    """

    @jax.jit
    def multiply(x: jax.Array, y: jax.Array) -> jax.Array:
        return functools.reduce(lambda total, _: total * total + y, range(MULTIPLICATIONS), x)

    x = jnp.arange(MULTIPLIED, dtype=jnp.int32)
    return MULTIPLIED * MULTIPLICATIONS / median_seconds(lambda: multiply(x, x))


def peak_device_mib() -> float | None:
    """Most bytes that were in use on the device so far, where it tells."""
    stats = jax.devices()[0].memory_stats() or {}
    peak = stats.get("peak_bytes_in_use")
    return None if peak is None else round(peak / 2**20, 1)
