"""Arithmetic that gives the same bits on every device, however a compiler groups it.

Integers sum alike in any order. Floats do where each operation rounds by itself: so a product
rounds before anything is added, quotients are rounded as IEEE 754 has it, logarithms are made of
products, sums have a fixed order, and values are compared as integers.
"""

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._backend import by_platform
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._xla import fusion_barrier

LOWEST = -(2**31)  # the key of NaN: below every number
HIGHEST = 2**31 - 1  # above every number
INFINITY_KEY = 0x7F800000  # the bits of infinity, and its key
_LOWEST_FLOAT = np.finfo(np.float32).min
_LEAST_NORMAL_BITS = 0x00800000
_UNROLLED_TERMS = 8
_UNROLLED_IN_KERNEL = 64  # accelerators: terms that one kernel adds up
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
    is_nan = (key > INFINITY_KEY) | (key < -INFINITY_KEY)
    return jnp.where(is_nan, lowest, key)


def float_key_on_host(
    values: NDArray,  # float32, any shape
) -> NDArray:  # int32, same shape
    """:func:`float_key` in NumPy, for tables that are prepared once: no program to compile."""
    bits = np.ascontiguousarray(values, np.float32).view(np.int32).astype(np.int64)
    key = np.where(bits < 0, LOWEST - bits, bits)
    return np.where(np.isnan(values), LOWEST, key).astype(np.int32)


# ------------------------------------------------------------- products, quotients, logarithms
def product(a: Array, b: Array) -> Array:  # float32
    """Multiply, and round before anything is added.

    Compilers contract a product and a sum into one operation that rounds once, in some loops
    and not in others: a score would depend on the device and on how nodes are grouped. They
    cannot where the sum is of a maximum, and no finite product is below the lowest float.
    """
    return lax.max(a * b, jnp.float32(_LOWEST_FLOAT))


def multiply_add(
    a: Any,  # float32, normal or 0
    b: Any,  # float32, normal or 0
    c: Any,  # float32, normal or 0
) -> Array:  # float32
    """Multiply and add, and round once, as CPUs do where they contract the two.

    A GPU contracts them or not, so there it is computed from parts (Boldo and Melquiond 2008).
    Nothing on the way, the error of the product included, may overflow or be subnormal.
    """
    a, b, c = jnp.broadcast_arrays(*(jnp.asarray(part, jnp.float32) for part in (a, b, c)))
    result: Array = by_platform(
        a, b, c, cpu=lambda a, b, c: a * b + c, accelerator=multiply_add_in_parts
    )
    return result


def multiply_add_in_parts(a: Array, b: Array, c: Array) -> Array:
    """Do what `multiply_add` does in any program, contracted or not; of one shape, normal or 0."""
    whole, error = _two_product(a, b)
    low, lowest = _two_sum(c, error)
    high, rest = _two_sum(whole, low)
    rest, lost = _two_sum(rest, lowest)
    # To the odd neighbour where something is lost, so that the last sum rounds as if it were not.
    bits = lax.bitcast_convert_type(rest, jnp.int32)
    step = jnp.where((lost > 0) == (rest > 0), 1, -1)
    odd = lax.bitcast_convert_type(jnp.where(bits & 1 == 0, bits + step, bits), jnp.float32)
    return high + jnp.where(lost == 0, rest, odd)


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Sum, rounded, and what is lost; Knuth."""
    total = a + b
    second = total - a
    return total, (a - (total - second)) + (b - second)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Multiply, rounded, and what is lost; Dekker, on halves of the mantissas."""
    total, halves = product(a, b), []
    for factor in (a, b):
        bits = lax.bitcast_convert_type(factor, jnp.int32)
        high = lax.bitcast_convert_type(bits & -(2**12), jnp.float32)
        halves.append((high, factor - high))
    (a, a_low), (b, b_low) = halves
    lost = product(a, b) - total + product(a, b_low) + product(a_low, b)
    return total, lost + product(a_low, b_low)


def quotient(
    dividend: Any,  # float32: normal, 0, infinite or NaN
    divisor: Any,  # float32: positive, normal; shapes are broadcast
) -> Array:  # float32
    """Divide as XLA:CPU does, to the last bit: rounded to the nearest, 0 below the normal numbers.

    GPUs multiply by an approximate inverse, which is off by up to two units of the last place:
    equal quotients become different ones, and the other way round. Where one divisor goes with
    many dividends, XLA multiplies by its inverse, rounded to the nearest, and so is done here.
    """
    dividend, divisor = jnp.asarray(dividend, jnp.float32), jnp.asarray(divisor, jnp.float32)
    shape = jnp.broadcast_shapes(dividend.shape, divisor.shape)

    def divide(dividend: Array, divisor: Array) -> Array:
        if divisor.size < math.prod(shape):
            return product(dividend, _divide_by_integers(jnp.ones_like(divisor), divisor))
        return _divide_by_integers(*jnp.broadcast_arrays(dividend, divisor))

    return by_platform(dividend, divisor, cpu=jnp.divide, accelerator=divide)


def _divide_by_integers(a: Array, b: Array) -> Array:
    """Long division of mantissas, in digits of 8 bits, to the nearest, of two the even one."""
    sign, exponent, mantissa = _parts_of(a)
    _, exponent_b, divisor = _parts_of(b)
    smaller = mantissa < divisor  # then the quotient of the mantissas is below 1
    exponent = exponent - exponent_b + 127 - smaller.astype(jnp.int32)
    rest = jnp.where(smaller, mantissa << 1, mantissa) - divisor
    quotient = jnp.ones_like(rest)  # 25 bits: those of the mantissa, and one to round by
    for _ in range(3):
        shifted = rest << 8
        digit = shifted // divisor
        quotient, rest = quotient << 8 | digit, shifted - digit * divisor
    half, odd = quotient & 1, quotient >> 1 & 1
    up = half & ((rest != 0).astype(jnp.uint32) | odd)
    # Where rounding carries over, the exponent rises by 1, as it should.
    rounded = ((quotient >> 1) + up).astype(jnp.int32) - (1 << 23) + (exponent << 23)
    bits = jnp.where(exponent < 1, 0, jnp.where(rounded < INFINITY_KEY, rounded, INFINITY_KEY))
    bits = jnp.where(exponent > 254, INFINITY_KEY, bits)
    found = lax.bitcast_convert_type(bits | sign, jnp.float32)
    magnitude = lax.bitcast_convert_type(a, jnp.int32) & 0x7FFFFFFF
    return jnp.where((magnitude == 0) | (magnitude >= INFINITY_KEY), a, found)


def _parts_of(number: Array) -> tuple[Array, Array, Array]:  # int32, int32, uint32
    """Sign bit, exponent and 24-bit mantissa."""
    bits = lax.bitcast_convert_type(number, jnp.int32)
    mantissa = (bits & 0x7FFFFF | 1 << 23).astype(jnp.uint32)
    return bits & jnp.int32(-(2**31)), bits >> 23 & 0xFF, mantissa


def square_root(
    values: Array,  # float32, not negative
) -> Array:  # float32
    """Take the square root, and round to the nearest; GPUs have an approximation only."""
    return by_platform(values, cpu=lax.sqrt, accelerator=_root_by_digits)


def _root_by_digits(values: Array) -> Array:
    """Find the root of the significand bit by bit, as an integer."""
    bits = lax.bitcast_convert_type(values, jnp.int32)
    exponent = (bits >> 23) - 127
    odd = exponent & 1
    rest = ((bits & 0x7FFFFF) | 0x800000) << odd  # 24 or 25 bits, of which 2 a step are used
    ahead, root = rest >> 23, jnp.ones_like(rest)  # 1 .. 3, whose root is 1
    rest = rest & 0x7FFFFF

    def next_bit(_: Any, state: tuple[Array, ...]) -> tuple[Array, ...]:
        left, rest, root = state
        rest = rest << 2
        left = (left << 2) | (rest >> 23)
        one = left > root << 2  # at least (2 root + 1)^2 - (2 root)^2
        left = jnp.where(one, left - ((root << 2) | 1), left)
        return left, rest & 0x7FFFFF, (root << 1) | one.astype(jnp.int32)

    start = ahead - 1, rest, root
    left, _, root = lax.fori_loop(0, 23, next_bit, start, unroll=23)
    root = root + (left > root).astype(jnp.int32)  # a root is never half way between two numbers
    result = ((exponent >> 1) + 126 << 23) + root
    plain = (bits >= _LEAST_NORMAL_BITS) & (bits < INFINITY_KEY)
    result = jnp.where(plain, result, jnp.where(bits < _LEAST_NORMAL_BITS, 0, bits))
    return lax.bitcast_convert_type(result, jnp.float32)


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
    blocks, so that many terms do not make a long program. Blocks are longer where each round of
    a loop is a kernel that has to be launched.
    """

    def sum_in_blocks(unrolled: int) -> Array:
        total = jnp.zeros(shape, dtype)
        n_blocks = n_terms // unrolled if n_terms > 2 * unrolled else 0

        def add_block(block: Array, total: Array) -> Array:
            for k in range(unrolled):
                total = total + term(block * unrolled + k)
            return total

        if n_blocks:
            total = lax.fori_loop(jnp.int32(0), jnp.int32(n_blocks), add_block, total)
        for k in range(n_blocks * unrolled, n_terms):
            total = total + term(k)
        return total

    if n_terms <= 2 * _UNROLLED_TERMS:
        return sum_in_blocks(_UNROLLED_TERMS)
    return by_platform(
        cpu=lambda: sum_in_blocks(_UNROLLED_TERMS),
        accelerator=lambda: sum_in_blocks(_UNROLLED_IN_KERNEL),
    )


def running_sums(
    histogram: Array,  # integers (n_bins, n_stats, width)
) -> tuple[Array, Array]:  # as they are, (n_bins, n_stats, width), (n_stats, width)
    """Sum over the bins up to each, and over all of them.

    A scan: ``cumsum`` on XLA:CPU does work that grows with the square of the bins.
    """
    return by_platform(histogram, cpu=_scan_sums, accelerator=_cumulative_sums)


def _scan_sums(histogram: Array) -> tuple[Array, Array]:
    def add(total: Array, some: Array) -> tuple[Array, Array]:
        total = total + some
        return total, total

    total, upto = lax.scan(add, jnp.zeros_like(histogram[0]), histogram)
    return upto, total


def _cumulative_sums(histogram: Array) -> tuple[Array, Array]:
    upto = jnp.cumsum(histogram, axis=0, dtype=histogram.dtype)
    return upto, upto[-1]


def running_sum(
    values: Array,  # int32 (..., n)
) -> Array:  # int32 (..., n)
    """Sum up to each place of the last axis; in lanes, as XLA:CPU does not vectorise ``cumsum``."""
    return by_platform(
        values, cpu=_sum_in_lanes, accelerator=lambda values: jnp.cumsum(values, axis=-1)
    )


def _sum_in_lanes(values: Array) -> Array:
    *rest, n_values = values.shape
    padded = jnp.pad(values, [(0, 0)] * len(rest) + [(0, -n_values % _LANE)])
    lanes = jnp.moveaxis(padded.reshape(*rest, -1, _LANE), -1, 0)
    upto, total = _scan_sums(fusion_barrier(lanes))
    before = jnp.cumsum(total, axis=-1) - total
    return jnp.moveaxis(upto + before, 0, -1).reshape(padded.shape)[..., :n_values]


def sum_in_turn(
    values: Array,  # float32 (..., n, ...), finite; products that have not rounded do so
    axis: int = 0,
) -> Array:  # float32
    """Sum along an axis, one after another, in one kernel of an accelerator.

    Behind a barrier, for one that works the values out as well has too few registers.
    """
    slices = lax.optimization_barrier(jnp.moveaxis(values, axis, 0))
    slices = jnp.maximum(slices, jnp.float32(_LOWEST_FLOAT))
    first, rest = jnp.split(slices, [1])

    def add(total: Array, more: Array) -> tuple[Array, None]:
        return total + more, None

    unroll = max(1, min(len(rest), _UNROLLED_IN_KERNEL))
    total: Array = lax.scan(add, first[0], rest, unroll=unroll)[0]
    return total
