"""Arithmetic that gives the same bits on every device, however a compiler groups it.

Integers sum alike in any order. Floats do where each operation rounds by itself: so a product
rounds before anything is added, logarithms are made of products, sums have a fixed order, and
values are compared as integers.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._typing import Array, NDArray
from lrrf_jax._xla import fusion_barrier

LOWEST = -(2**31)  # the key of NaN: below every number
HIGHEST = 2**31 - 1  # above every number
_INFINITY_BITS = 0x7F800000
_LOWEST_FLOAT = np.finfo(np.float32).min
_UNROLLED_TERMS = 8
_LANE = 32
# log2(1 + y) ~ y (c6 + y (c5 + ...)): minimax fit on [0, 1) that is exact at both ends.
_LOG2_COEFFICIENTS = (
    -0.02584144982967,
    0.121797910687826,
    -0.27790423602866,
    0.45754919692582,
    -0.7181452567504,
    1.44254494359510,
)


# ------------------------------------------------------------------------------ keys of floats
def float_key(
    values: Array,  # float32, any shape
) -> Array:  # int32, same shape
    """Map float32 to int32 so that ``a >= b`` holds for the keys as it does for the numbers.

    XLA:CPU flushes subnormals to zero in floating-point comparisons (-1e-40 >= 0 holds there
    and not in NumPy); integers compare alike on every device. -0.0 gets the key of 0.0, and NaN
    one below every number, so that ``key(x) >= key(threshold)`` is false for it.
    """
    lowest = jnp.int32(LOWEST)
    bits = lax.bitcast_convert_type(values, jnp.int32)
    key = jnp.where(bits < 0, lowest - bits, bits)  # -0.0 is LOWEST itself and becomes 0
    is_nan = (key > _INFINITY_BITS) | (key < -_INFINITY_BITS)
    return jnp.where(is_nan, lowest, key)


def float_key_on_host(
    values: NDArray,  # float32, any shape
) -> NDArray:  # int32, same shape
    """:func:`float_key` in NumPy, for tables that are prepared once: no program to compile."""
    bits = np.ascontiguousarray(values, np.float32).view(np.int32).astype(np.int64)
    key = np.where(bits < 0, LOWEST - bits, bits)
    return np.where(np.isnan(values), LOWEST, key).astype(np.int32)


# ------------------------------------------------------------------------ products, logarithms
def product(a: Array, b: Array) -> Array:  # float32
    """Multiply, and round before anything is added.

    Compilers contract a product and a sum into one operation that rounds once, in some loops
    and not in others: a score would depend on the device and on how nodes are grouped. They
    cannot where the sum is of a maximum, and no finite product is below the lowest float.
    """
    return lax.max(a * b, jnp.float32(_LOWEST_FLOAT))


def log2_of(
    number: Array,  # float32, positive and normal
) -> Array:  # float32
    """Logarithm from the exponent bits and a polynomial of the mantissa.

    The error is below 1e-5, and none at powers of two; ``jnp.log2`` is slower, and its last bits
    differ between devices.
    """
    bits = lax.bitcast_convert_type(number, jnp.int32)
    mantissa = lax.bitcast_convert_type(bits & 0x7FFFFF | 0x3F800000, jnp.float32) - 1.0
    log = jnp.zeros_like(mantissa)
    for coefficient in _LOG2_COEFFICIENTS:
        log = product(mantissa, coefficient + log)
    return ((bits >> 23) - 127).astype(jnp.float32) + log


def xlog2x(
    counts: Array,  # integers, not negative
) -> Array:  # float32
    """``x log2 x`` of counts, 0 at 0."""
    number = counts.astype(jnp.float32)
    return product(number, log2_of(jnp.maximum(number, 1.0)))


# ---------------------------------------------------------------------------------------- sums
def sum_terms(
    n_terms: int,
    term: Callable[[Any], Array],  # of an int, or of an int32 () in a loop
    shape: tuple[int, ...],
    dtype: Any = jnp.float32,
) -> Array:
    """Sum ``term(k)``, each of ``shape`` and ``dtype``, for k in 0..n_terms-1, in this order.

    A loop rather than a reduction over an axis, so that XLA:CPU vectorises over the lanes; in
    blocks, so that many terms do not make a long program.
    """
    total = jnp.zeros(shape, dtype)
    n_blocks = n_terms // _UNROLLED_TERMS if n_terms > 2 * _UNROLLED_TERMS else 0

    def add_block(block: Array, total: Array) -> Array:
        for k in range(_UNROLLED_TERMS):
            total = total + term(block * _UNROLLED_TERMS + k)
        return total

    if n_blocks:
        total = lax.fori_loop(jnp.int32(0), jnp.int32(n_blocks), add_block, total)
    for k in range(n_blocks * _UNROLLED_TERMS, n_terms):
        total = total + term(k)
    return total


def running_sums(
    histogram: Array,  # int32 (n_bins, n_stats, width)
) -> tuple[Array, Array]:  # int32 (n_bins, n_stats, width), (n_stats, width)
    """Sum over the bins up to each, and over all of them.

    A scan: ``cumsum`` on XLA:CPU does work that grows with the square of the bins.
    """

    def add(total: Array, some: Array) -> tuple[Array, Array]:
        total = total + some
        return total, total

    total, upto = lax.scan(add, jnp.zeros_like(histogram[0]), histogram)
    return upto, total


def running_sum(
    values: Array,  # int32 (..., n)
) -> Array:  # int32 (..., n)
    """Sum up to each place of the last axis; in lanes, as XLA:CPU does not vectorise ``cumsum``."""
    *rest, n_values = values.shape
    padded = jnp.pad(values, [(0, 0)] * len(rest) + [(0, -n_values % _LANE)])
    lanes = jnp.moveaxis(padded.reshape(*rest, -1, _LANE), -1, 0)
    upto, total = running_sums(fusion_barrier(lanes))
    before = jnp.cumsum(total, axis=-1) - total
    return jnp.moveaxis(upto + before, 0, -1).reshape(padded.shape)[..., :n_values]
