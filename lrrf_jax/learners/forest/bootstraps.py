"""The bootstrap of every tree, drawn again from its key."""

import functools

import chex
import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._programs import jit
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._xla import COMPILER_OPTIONS, bucket_size
from lrrf_jax.trees.draws import count_rows, keys_of_trees


@functools.partial(jit, static_argnames=("n_rows", "bootstrap"), compiler_options=COMPILER_OPTIONS)
def _all_counts(
    key: Array,  # uint32 (n_trees, 2)
    n_samples: Array,  # int32 ()
    *,
    n_rows: int,
    bootstrap: bool,
) -> Array:  # int32 (n_trees, n_rows)
    chex.assert_shape([key, n_samples], [(None, 2), ()])
    chex.assert_type([key, n_samples], [jnp.uint32, jnp.int32])
    return lax.map(lambda tree: count_rows(tree[None], n_samples, n_rows, bootstrap).copies, key)


def bootstrap_table(
    key: Array, n_samples: int, n_trees: int, bootstrap: bool, first_tree: int = 0
) -> NDArray:  # int32 (n_samples, n_trees)
    """How often each tree, from the first on, drew each training row."""
    counts = _all_counts(
        keys_of_trees(key, np.arange(first_tree, first_tree + n_trees, dtype=np.int32)).rows,
        np.int32(n_samples),
        n_rows=bucket_size(n_samples),
        bootstrap=bootstrap,
    )
    return np.asarray(counts)[:, :n_samples].T
