"""Applying the forest: rows to rankings, on one device or spread over several."""

import functools
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from lrrf_jax import _devices as mesh
from lrrf_jax._backend import backend_of
from lrrf_jax._programs import jit
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._xla import COMPILER_OPTIONS
from lrrf_jax.inference.ready import (
    ReadyForest,
    make_ready,
    rows_at_once,
    sum_over_trees,
)
from lrrf_jax.learners.batching import TILE, map_tiles
from lrrf_jax.learners.forest.aggregation import ranks_of_sums, scores_of_sums
from lrrf_jax.trees.forest import Forest

_jit = functools.partial(
    jit,
    static_argnames=("n_labels", "aggregation", "pallas"),
    compiler_options=COMPILER_OPTIONS,
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


@functools.partial(
    jit,
    static_argnames=("function", "n_labels", "aggregation", "line"),
    compiler_options=COMPILER_OPTIONS,
)
def on_row_shards(
    forest: ReadyForest,  # on every device
    features: Array,  # float32 (n_devices * n_samples, n_features), spread over the mesh
    *,
    function: Any,  # forest_ranks or forest_scores
    n_labels: int,
    aggregation: str,
    line: Mesh,
) -> Array:  # (n_devices * n_samples, n_labels)
    """Let each device apply the forest to its rows: one program, in which nothing is exchanged."""

    def apply(forest, rows):
        # The function itself: a jitted one with compiler options cannot be called from another.
        return function.__wrapped__(forest, rows, n_labels=n_labels, aggregation=aggregation)

    spread = PartitionSpec("rows")
    return jax.shard_map(
        apply, mesh=line, in_specs=(PartitionSpec(), spread), out_specs=spread, check_vma=False
    )(forest, features)


class ReadyForests:
    """A forest as it lies on the devices that have been asked to apply it."""

    def __init__(self, forest: Forest) -> None:
        self._forest = forest
        self._ready: dict[mesh.Devices, ReadyForest] = {}

    def on_one(self) -> ReadyForest:
        """Put it on the first device of this process."""
        return self._on(mesh.local_devices()[:1])

    def _on(self, devices: mesh.Devices) -> ReadyForest:
        if devices not in self._ready:
            ready = make_ready(self._forest, backend_of(devices))
            if len(devices) == 1:
                self._ready[devices] = jax.device_put(ready, devices[0])
            else:
                self._ready[devices] = mesh.replicate(ready, mesh.line_up(devices, "rows"))
        return self._ready[devices]

    def apply(self, function: Any, features: NDArray, **static: Any) -> Any:
        """Apply ``forest_ranks`` or ``forest_scores`` to a block of rows.

        Where it has more than one tile, whole tiles are spread over the devices of this process.
        """
        devices = mesh.local_devices()
        n_tiles = -(-len(features) // TILE)
        if len(devices) == 1 or n_tiles < 2:
            return function(self._on(devices[:1]), features, **static)
        n_rows = -(-n_tiles // len(devices)) * TILE * len(devices)
        line = mesh.line_up(devices, "rows")
        spread = mesh.split(np.pad(features, ((0, n_rows - len(features)), (0, 0))), line)
        out = on_row_shards(self._on(devices), spread, function=function, line=line, **static)
        return np.asarray(out)[: len(features)]
