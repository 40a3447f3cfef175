"""Groups: the samples of a tree that share a node and a class, where classes are very many.

There are never more groups than samples, where there may be ``n_nodes * n_classes`` pairs.
"""

import jax.numpy as jnp

from lrrf_jax._typing import Array


def split_groups(
    key: Array,  # int32 (n_drawn,), below 2 n_drawn: equal for samples of one group
    present: Array,  # bool (n_drawn,), False for padding
) -> Array:  # int32 (n_drawn,) groups 0.. without gaps; n_drawn for padding
    """Give numbers to the groups that hold samples, without gaps, in the order of their keys."""
    n_drawn = len(key)
    size = 2 * n_drawn
    used = jnp.zeros(size, bool).at[jnp.where(present, key, size)].set(True, mode="drop")
    number = jnp.cumsum(used.astype(jnp.int32)) - 1
    return jnp.where(present, number.at[key].get(mode="clip"), n_drawn)
