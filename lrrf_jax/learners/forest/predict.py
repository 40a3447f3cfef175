"""Applying the forest: rows to rankings, on one device or spread over several."""

import functools
from typing import Any

import chex
import jax.numpy as jnp
import numpy as np

from lrrf_jax import _devices as mesh
from lrrf_jax._programs import jit
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._xla import SLICING_OPTIONS
from lrrf_jax.inference.ready import ReadyForest, rows_at_once, sum_over_trees
from lrrf_jax.learners.batching import TILE, map_tiles
from lrrf_jax.learners.forest.aggregation import ranks_of_sums, scores_of_sums
from lrrf_jax.learners.on_device import Placed, RowFunction, function_on

_jit = functools.partial(
    jit,
    static_argnames=("n_labels", "aggregation", "pallas"),
    compiler_options=SLICING_OPTIONS,
)


def _assert_applies(forest: ReadyForest, features: Array) -> None:
    chex.assert_rank([features, forest.leaf_slot, forest.leaf_value], 2)
    chex.assert_type(features, jnp.float32)
    chex.assert_type([forest.leaf_slot, forest.leaf_value], jnp.int32)


@_jit
def forest_ranks(
    forest: ReadyForest, features: Array, *, n_labels: int, aggregation: str, pallas: bool = False
) -> Array:  # int32 (n_samples, n_labels)
    """Rank the labels of each row; ``pallas``: see `sum_over_trees`."""
    _assert_applies(forest, features)

    def rank(rows):
        return ranks_of_sums(sum_over_trees(forest, rows, pallas=pallas), n_labels, aggregation)

    return map_tiles(rank, features, rows_at_once(forest))


@_jit
def forest_scores(
    forest: ReadyForest, features: Array, *, n_labels: int, aggregation: str, pallas: bool = False
) -> Array:  # float32 (n_samples, n_labels)
    """Score the labels of each row in the order of :func:`forest_ranks`."""
    _assert_applies(forest, features)
    n_trees = forest.leaf_slot.shape[0]

    def score(rows):
        sums = sum_over_trees(forest, rows, pallas=pallas)
        return scores_of_sums(sums, n_labels, aggregation, n_trees)

    return map_tiles(score, features, rows_at_once(forest))


@functools.partial(jit, compiler_options=SLICING_OPTIONS)
def forest_sums(
    forest: ReadyForest,
    features: Array,  # float32 (n_samples, n_features)
) -> Array:  # int32 (n_samples, n_outputs)
    """Sum what the leaves of each row hold."""
    _assert_applies(forest, features)
    return map_tiles(lambda rows: sum_over_trees(forest, rows), features, rows_at_once(forest))


def apply_spread(function: Any, placed: Placed, features: NDArray, **static: Any) -> Any:
    """Apply ``forest_ranks`` or ``forest_scores`` to a block of rows of the host.

    Where it has more than one tile, whole tiles are spread over the devices of this process.
    """
    devices = mesh.local_devices()
    n_tiles = -(-len(features) // TILE)
    if len(devices) == 1 or n_tiles < 2:
        return function(placed.on(devices[0]), features, **static)
    n_rows = -(-n_tiles // len(devices)) * TILE * len(devices)
    padded = np.pad(features, ((0, n_rows - len(features)), (0, 0)))
    apply = function_on(devices, RowFunction.of(function, **static), placed)
    return np.asarray(apply(mesh.split(padded, mesh.line_up(devices, "rows"))))[: len(features)]
