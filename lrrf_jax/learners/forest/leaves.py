"""Where rows end in the trees: leaves by number, and the rows of ``leaf_value`` that they read."""

import functools

import chex
import jax.numpy as jnp
import numpy as np

from lrrf_jax._programs import jit
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._xla import COMPILER_OPTIONS
from lrrf_jax.inference.ready import ReadyForest, find_leaves, rows_at_once
from lrrf_jax.learners.batching import map_rows, map_tiles
from lrrf_jax.learners.streaming import Seen


@functools.partial(jit, compiler_options=COMPILER_OPTIONS)
def _leaf_numbers(forest: ReadyForest, features: Array) -> Array:
    chex.assert_rank(features, 2)
    chex.assert_type(features, jnp.float32)
    return map_tiles(lambda rows: find_leaves(forest, rows).T, features, rows_at_once(forest))


def leaves(features: NDArray, forest: ReadyForest, seen: Seen | None = None) -> NDArray:
    """Leaf of each row in each tree, int32 (n_samples, n_trees); ``seen``: see `map_rows`."""
    return map_rows(lambda rows: _leaf_numbers(forest, rows), features, seen)


def leaf_at_depth(leaf: NDArray, depth: int, larger: int) -> NDArray:  # int32, the shape of leaf
    """Give leaves the numbers that they had if there were more levels of unsplit nodes.

    Rows go right through an unsplit node, so they end in the last leaf below it.
    """
    return ((leaf + 1) << (larger - depth)) - 1


def slots(features: NDArray, forest: ReadyForest) -> NDArray:
    """Row of ``leaf_value`` that each row reaches in each tree, int32 (n_samples, n_trees).

    Rows of one unsplit node may have different leaf numbers; they share a slot.
    """
    return slots_of_leaves(leaves(features, forest), np.asarray(forest.leaf_slot))


def slots_of_leaves(leaf: NDArray, leaf_slot: NDArray) -> NDArray:
    """Look up the rows of ``leaf_value`` of leaves, both int32 (n_samples, n_trees)."""
    return leaf_slot[np.arange(len(leaf_slot)), leaf]
