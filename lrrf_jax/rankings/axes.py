"""Shapes that broadcast where a caller forbids JAX to put axes in front of them."""

from typing import TypeVar

import jax.numpy as jnp
import numpy as np

from lrrf_jax._typing import Array, NDArray

AnyKind = TypeVar("AnyKind", Array, NDArray)


def with_leading_axes(values: AnyKind, n_axes: int) -> AnyKind:
    """Put axes of length 1 in front until there are ``n_axes``, as NumPy broadcasts.

    Examples
    --------
    >>> with_leading_axes(np.arange(3), 2).tolist()
    [[0, 1, 2]]
    """
    xp = np if isinstance(values, np.ndarray) else jnp
    return xp.expand_dims(values, tuple(range(n_axes - values.ndim)))
