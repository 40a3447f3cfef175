"""The training rows that share leaves with a row, by weight."""

import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._programs import jit
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._xla import COMPILER_OPTIONS
from lrrf_jax.inference.ready import ReadyForest
from lrrf_jax.learners.forest.covers import drawn_weights
from lrrf_jax.learners.forest.leaves import slots
from lrrf_jax.learners.forest.warm_start import LastFit

_QUERIES_PER_CALL = 64


@functools.partial(jit, static_argnames=("k",), compiler_options=COMPILER_OPTIONS)
def _heaviest(
    query: Array,  # int32 (n_queries, n_trees), leaves
    leaf: Array,  # int32 (n_trees, n_training), leaves; -1: not drawn
    share: Array,  # float32 (n_trees, n_training)
    k: int,
) -> tuple[Array, Array]:
    n_queries, n_trees = query.shape
    chex.assert_shape([leaf, share], (n_trees, None))
    chex.assert_equal_shape([leaf, share])
    chex.assert_type([query, leaf, share], [jnp.int32, jnp.int32, jnp.float32])

    def add(total, tree):
        mine, theirs, share = tree
        same = mine[:, None] == theirs[None, :]
        return total + jnp.where(same, share, jnp.float32(0)), None

    total = jnp.zeros((n_queries, leaf.shape[1]), jnp.float32)
    total = lax.scan(add, total, (query.T, leaf, share))[0]
    # top_k puts the lower index first among equals.
    weight, row = lax.top_k(total, k)
    return jnp.where(weight > 0, row, -1), weight


def neighbors(
    features: NDArray, k: int, forest: ReadyForest, last: LastFit
) -> tuple[NDArray, NDArray]:  # int64 (n_samples, k), float32 (n_samples, k)
    """Find the training rows of most weight in the leaves of each row."""
    n_training, n_trees = len(last.features), forest.leaf_slot.shape[0]
    slot = slots(last.features, forest)
    weight = drawn_weights(last, n_trees)
    of_slot = np.bincount(slot.ravel(), weight.ravel(), len(forest.leaf_value))
    share = weight / np.maximum(of_slot[slot], np.finfo(np.float64).tiny) / n_trees
    training_slot = np.where(weight > 0, slot, -1).astype(np.int32)
    query = slots(features, forest)

    width = min(k, n_training)
    rows = np.full((len(features), k), -1, np.int64)
    weights = np.zeros((len(features), k), np.float32)
    tables = jax.device_put((training_slot.T, share.T.astype(np.float32)))
    for start in range(0, len(features), _QUERIES_PER_CALL):
        block = query[start : start + _QUERIES_PER_CALL]
        used = len(block)
        block = np.pad(block, ((0, _QUERIES_PER_CALL - used), (0, 0)), constant_values=-2)
        found, value = jax.device_get(_heaviest(block, *tables, k=width))
        found, value = found[:used], value[:used]
        rows[start : start + used, :width] = np.where(found >= 0, last.row[found], -1)
        weights[start : start + used, :width] = value
    return rows, weights
