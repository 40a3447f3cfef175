"""The smallest numbers of each row, and where they are."""

import functools
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._backend import by_platform
from lrrf_jax._typing import Array

_MOST_PASSES = 64  # above, a sort takes less time


def smallest(
    values: Array,  # float32 (n_rows, n_columns), no NaN
    k: int,  # at most n_columns
) -> tuple[Array, Array]:  # float32 (n_rows, k), rising; int32 (n_rows, k), their columns
    """Find the ``k`` smallest numbers of each row; of equal ones the first come first.

    Accelerators, whose `lax.top_k` is a sort of whole rows, pass over a row once for each.
    """
    passes = _by_passes if k <= _MOST_PASSES else _by_top_k
    return by_platform(
        values, cpu=functools.partial(_by_top_k, k=k), accelerator=functools.partial(passes, k=k)
    )


def _by_top_k(values: Array, *, k: int) -> tuple[Array, Array]:
    negative, place = lax.top_k(-values, k)  # the lower place of equals
    return -negative, place


def _by_passes(values: Array, *, k: int) -> tuple[Array, Array]:
    column = lax.broadcasted_iota(jnp.int32, values.shape, 1)
    beyond = np.float32(np.inf), np.int32(np.iinfo(np.int32).max)

    def find_next(last: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Any]:
        value, place = last[0][:, None], last[1][:, None]
        is_after = (values > value) | ((values == value) & (column > place))
        candidates = (
            jnp.where(is_after, values, beyond[0]),
            jnp.where(is_after, column, beyond[1]),
        )
        found: tuple[Array, Array] = lax.reduce(candidates, beyond, _lesser, (1,))
        return found, found

    n_rows = len(values)
    start = jnp.full(n_rows, -jnp.inf, jnp.float32), jnp.full(n_rows, -1, jnp.int32)
    _, (value, place) = lax.scan(find_next, start, length=k)
    return value.T, place.T


def _lesser(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
    first = (one[0] < other[0]) | ((one[0] == other[0]) & (one[1] < other[1]))
    return jnp.where(first, one[0], other[0]), jnp.where(first, one[1], other[1])
