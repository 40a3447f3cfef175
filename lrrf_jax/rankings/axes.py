"""What functions of NumPy arrays share with those of JAX arrays: namespaces and broadcasting."""

from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from lrrf_jax._typing import Array, NDArray

AnyKind = TypeVar("AnyKind", Array, NDArray)


def namespace_of(*arrays: Any) -> Any:
    """Return `jax.numpy` where one of the arrays is JAX's or is traced, else `numpy`."""
    return jnp if any(isinstance(array, jax.Array) for array in arrays) else np


def with_leading_axes(values: AnyKind, n_axes: int) -> AnyKind:
    """Put axes of length 1 in front until there are ``n_axes``, as NumPy broadcasts.

    Examples
    --------
    >>> with_leading_axes(np.arange(3), 2).tolist()
    [[0, 1, 2]]
    """
    expanded: AnyKind = namespace_of(values).expand_dims(values, tuple(range(n_axes - values.ndim)))
    return expanded
