"""Squared distances that depend on the two rows alone, to the last bit."""

import jax.numpy as jnp
from jax import lax

from lrrf_jax._backend import by_platform
from lrrf_jax._numerics import product
from lrrf_jax._typing import Array

UNROLLED = 16  # features that one fused loop sums; more go in turns of so many


def squared_distances(
    rows: Array,  # float32 (n_tile, width); a multiple of `UNROLLED` where that is less
    blocks: Array,  # float32 (n_tile or 1, n_blocks, width, 32)
) -> Array:  # float32 (n_tile, n_blocks, 32)
    """Sum the squares of the differences, feature by feature."""
    return by_platform(rows, blocks, cpu=_in_turns, accelerator=_in_one_loop)


def _in_turns(rows: Array, blocks: Array) -> Array:
    width = rows.shape[1]

    def add(total: Array, rows: Array, blocks: Array) -> Array:
        for feature in range(rows.shape[1]):  # one fused loop
            gap = rows[:, feature, None, None] - blocks[:, :, feature]
            total = total + gap * gap
        return total

    def add_turn(turn: Array, total: Array) -> Array:
        at = turn * UNROLLED
        return add(
            total,
            lax.dynamic_slice_in_dim(rows, at, UNROLLED, axis=1),
            lax.dynamic_slice_in_dim(blocks, at, UNROLLED, axis=2),
        )

    zero = jnp.zeros((len(rows), *blocks.shape[1::2]), jnp.float32)
    if width <= UNROLLED:
        return add(zero, rows, blocks)
    return lax.fori_loop(0, width // UNROLLED, add_turn, zero)


def _in_one_loop(rows: Array, blocks: Array) -> Array:
    """Sum in the order and with the roundings of CPUs that multiply and add in one operation.

    These round the square of the feature that comes first, and no other. Of a sum of two squares,
    which is what a turn without a sum before it starts with, compilers take the second for that.
    """
    width = rows.shape[1]
    features = list(range(width))
    if 1 < width <= UNROLLED:
        features[:2] = 1, 0

    def gap(feature: int) -> Array:
        return rows[:, feature, None, None] - blocks[:, :, feature]

    first = gap(features[0])
    total = product(first, first)
    for feature in features[1:]:
        total = _add_square(total, gap(feature))
    return total


def _add_square(total: Array, number: Array) -> Array:
    """Square, add, and round once, which XLA does on CPUs and not on GPUs.

    The square is taken in two parts, exactly, and summed by way of the odd neighbour of what is
    left over (Boldo and Melquiond 2008).
    """
    square = product(number, number)
    bits = lax.bitcast_convert_type(number, jnp.int32)
    high = lax.bitcast_convert_type(bits & -(2**12), jnp.float32)
    low = number - high
    error = product(high, high) - square + product(2 * high, low) + product(low, low)
    below, lowest = _two_sum(total, error)
    above, rest = _two_sum(square, below)
    rest, lost = _two_sum(rest, lowest)
    bits = lax.bitcast_convert_type(rest, jnp.int32)
    odd = jnp.where((lost > 0) == (rest > 0), bits + 1, bits - 1)
    odd = jnp.where((lost == 0) | (bits & 1 == 1), bits, odd)
    plain = square + total
    exact = above + lax.bitcast_convert_type(odd, jnp.float32)
    return jnp.where(jnp.isfinite(plain), exact, plain)


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return a sum, rounded, and what is lost; Knuth."""
    total = a + b
    second = total - a
    return total, (a - (total - second)) + (b - second)
