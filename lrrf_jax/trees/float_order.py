"""float32 values as integers of the same order, so that comparisons are exact everywhere."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._typing import Array, NDArray

LOWEST = -(2**31)  # the key of NaN: below every number
HIGHEST = 2**31 - 1  # above every number
_INFINITY_BITS = 0x7F800000


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
