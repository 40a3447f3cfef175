"""From rows to leaves: the plain form, one gather per level.

It is the reference for :mod:`lrrf_jax.inference.bitsliced`, and the kernel for small batches, deep
trees and leaf numbers.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._numerics import LOWEST, float_key, float_key_on_host
from lrrf_jax._typing import AnyArray, Array
from lrrf_jax._xla import take
from lrrf_jax.trees.forest import Forest


class Tests(NamedTuple):
    """The tests of a forest in the form in which kernels ask them.

    A row goes right where ``uint32(key - origin) < limit``. Where NaN goes right, the origin is
    LOWEST, its key, which so becomes 0, below every limit; where it goes left, one more, and the
    key of NaN wraps to the largest word.
    """

    asked: AnyArray  # int32 (n_trees, n_nodes): 2 * feature, and 1 more where NaN goes left
    limit: AnyArray  # uint32 (n_trees, n_nodes)


def forest_tests(forest: Forest) -> Tests:
    """Turn thresholds into integer limits; host side."""
    key = float_key_on_host(np.asarray(forest.threshold)).astype(np.int64)
    missing_left = np.asarray(forest.missing_left).astype(np.int32)
    return Tests(
        asked=2 * np.asarray(forest.feature, np.int32) + missing_left,
        limit=(key - LOWEST - missing_left).astype(np.uint32),
    )


def find_leaves(
    tests: Tests,
    features: Array,  # float32 (n_samples, n_features)
    depth: int,
) -> Array:  # int32 (n_trees, n_samples), leaf 0 .. 2**depth - 1
    """Walk every row down every tree, in all trees at once. O(n_samples n_trees depth)."""
    n_trees, n_nodes = tests.limit.shape
    n_samples, n_features = features.shape
    key = float_key(features).reshape(-1)
    row = jnp.arange(n_samples, dtype=jnp.int32) * n_features
    first = (jnp.arange(n_trees, dtype=jnp.int32) * n_nodes)[:, None]
    all_asked, limit = (field.reshape(-1) for field in tests)

    def down(_: Array, node: Array) -> Array:
        at = first + node
        asked = take(all_asked, at)
        distance = take(key, row + (asked >> 1)) - (LOWEST + (asked & 1))  # wraps around
        right = lax.bitcast_convert_type(distance, jnp.uint32) < take(limit, at)
        return 2 * node + 1 + right.astype(jnp.int32)

    # A loop of XLA, not of Python: for one row XLA:CPU would fuse unrolled levels and compute
    # each anew for all its uses, which doubles with every level: minutes, gigabytes at 16.
    nodes = jnp.zeros((n_trees, n_samples), jnp.int32)
    leaves: Array = lax.fori_loop(0, depth, down, nodes) - n_nodes
    return leaves


def find_leaves_by_tree(
    tests: Tests,
    features: Array,  # float32 (n_samples, n_features)
    depth: int,
) -> Array:  # int32 (n_trees, n_samples)
    """Do as `find_leaves` does, tree after tree: each stays in the cache while all rows pass."""

    def of_tree(tree: Tests) -> Array:
        return find_leaves(Tests(*(field[None] for field in tree)), features, depth)[0]

    leaves: Array = lax.map(of_tree, tests)
    return leaves


def sum_leaves(
    leaf_slot: Array,  # int32 (n_trees, 2**depth)
    leaf_value: Array,  # int32 (n_slots, n_outputs)
    leaves: Array,  # int32 (n_trees, n_samples)
) -> Array:  # int32 (n_samples, n_outputs)
    """Add up the leaf values of each row over the trees; integers, so exact in any order."""

    def add(total: Array, tree: tuple[Array, Array]) -> tuple[Array, None]:
        slot, leaf = tree
        return total + take(leaf_value, take(slot, leaf)), None

    total = jnp.zeros((leaves.shape[1], leaf_value.shape[1]), jnp.int32)
    return lax.scan(add, total, (leaf_slot, leaves))[0]
