"""Quotients, roots and sums of floats, for accelerators with the roundings of XLA:CPU.

GPUs divide and take roots approximately, and round a product and a sum once. Where results are
compared afterwards, ties would break, and come about. CPUs do what they did: programs for them do
not change.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._backend import by_platform
from lrrf_jax._typing import Array

_SIGN = -(2**31)
_MAGNITUDE = 2**31 - 1
_LEAST_NORMAL_BITS = 0x00800000
_INFINITY_BITS = 0x7F800000
_LOWEST_FLOAT = np.finfo(np.float32).min
_ADDED_IN_KERNEL = 16


def quotient(
    dividend: Array,  # float32, finite
    divisor: Array,  # float32, positive and normal; shapes are broadcast
) -> Array:  # float32
    """Divide as XLA:CPU does, to the last bit: what is below the normal numbers becomes 0.

    GPUs multiply by an approximate inverse, which is off by up to two units of the last bit: equal
    quotients become different ones, and the other way round. A quotient is rounded to the nearest;
    where one divisor goes with many dividends, XLA multiplies by its inverse, rounded so.
    """
    shape = jnp.broadcast_shapes(dividend.shape, divisor.shape)

    def divide(dividend: Array, divisor: Array) -> Array:
        # Behind a barrier: it is too long to be done again wherever a quotient is read.
        has_many = divisor.shape != shape
        top = jnp.ones_like(divisor) if has_many else jnp.broadcast_to(dividend, shape)
        found: Array = lax.optimization_barrier(_long_division(top, divisor))
        return dividend * found if has_many else found

    result: Array = by_platform(dividend, divisor, cpu=jnp.divide, accelerator=divide)
    return result


def _long_division(dividend: Array, divisor: Array) -> Array:
    """Divide the significands bit by bit, as integers."""
    bits, divisor_bits = (lax.bitcast_convert_type(x, jnp.int32) for x in (dividend, divisor))
    magnitude = bits & _MAGNITUDE
    rest, part = ((x & 0x7FFFFF) | 0x800000 for x in (magnitude, divisor_bits))
    below = rest < part
    exponent = (magnitude >> 23) - (divisor_bits >> 23) - below.astype(jnp.int32)
    rest = jnp.where(below, 2 * rest, rest) - part  # the first bit of the quotient is 1

    def next_bit(_: Any, state: tuple[Array, Array]) -> tuple[Array, Array]:
        rest, found = state
        one = 2 * rest >= part
        return jnp.where(one, 2 * rest - part, 2 * rest), 2 * found + one.astype(jnp.int32)

    start = rest, jnp.ones_like(rest)
    rest, found = lax.fori_loop(0, 23, next_bit, start, unroll=23)
    found = found + (2 * rest > part).astype(jnp.int32)  # 2 rest == part cannot be
    found = (jnp.minimum(exponent, 127) + 127 << 23) + found - 0x800000
    found = jnp.where(exponent > 127, _INFINITY_BITS, found)
    is_least = (magnitude < _LEAST_NORMAL_BITS) | (found < _LEAST_NORMAL_BITS)
    found = jnp.where(is_least, 0, found)
    return lax.bitcast_convert_type((bits & _SIGN) | found, jnp.float32)


def square_root(
    values: Array,  # float32, not negative
) -> Array:  # float32
    """Take the square root, and round to the nearest; GPUs have an approximation only."""
    result: Array = by_platform(values, cpu=lax.sqrt, accelerator=_root_by_digits)
    return result


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
    plain = (bits >= _LEAST_NORMAL_BITS) & (bits < _INFINITY_BITS)
    result = jnp.where(plain, result, jnp.where(bits < _LEAST_NORMAL_BITS, 0, bits))
    return lax.bitcast_convert_type(result, jnp.float32)


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

    unroll = max(1, min(len(rest), _ADDED_IN_KERNEL))
    total: Array = lax.scan(add, first[0], rest, unroll=unroll)[0]
    return total
