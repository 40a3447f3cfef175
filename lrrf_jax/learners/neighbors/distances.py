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
    distances: Array = by_platform(rows, blocks, cpu=_in_turns, accelerator=_in_one_loop)
    return distances


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
        total = total + gap(feature) * gap(feature)
    return total
