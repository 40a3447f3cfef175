"""Growing the forest: over devices and processes, from a checkpoint on where there is one."""

import dataclasses
import functools
import hashlib
import json
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, Self

import jax
import numpy as np

from lrrf_jax import _devices as mesh
from lrrf_jax._typing import AnyArray, Array, NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.learners._table import TrainingTable
from lrrf_jax.learners.forest.aggregation import LeafValue, largest_sum
from lrrf_jax.learners.forest.checkpoints import Checkpoint
from lrrf_jax.learners.forest.config import ForestConfig
from lrrf_jax.learners.forest.samples import growth_samples
from lrrf_jax.learners.persistence.schema import Stored
from lrrf_jax.trees.blocks import Grown, grow_blocks, join_grown, take_trees
from lrrf_jax.trees.forest import Forest, is_split
from lrrf_jax.trees.growth import GrowthConfig, Samples

Importances = Annotated[AnyArray, Stored("float32", "n_features", minimum=0)]


class ForestParams(NamedTuple):
    """What a fitted forest is made of."""

    forest: Forest
    importances: Importances


class Grower:
    """Grows the trees of one fit in their order, and takes those that a checkpoint has from there.

    Neither the devices, nor the memory, nor the checkpoint, nor how many trees are asked for at a
    time change a byte of them. Where the devices belong to several processes, each of them must
    make the same calls, and gets every tree. Used in a ``with`` block, at whose end all finished
    trees are in the checkpoint.
    """

    def __init__(
        self,
        key: Array,
        table: TrainingTable,
        config: ForestConfig,
        first_tree: int = 0,
        *,
        memory_budget: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        on_trees: Callable[[int], None] = lambda n_grown: None,
    ) -> None:
        _require_room(table, config)
        self._key, self._table, self._config = key, table, config
        self._memory_budget, self._on_trees = memory_budget, on_trees
        self._next = self._first = first_tree
        self._saved: Checkpoint | None = None
        self._finished: Grown | None = None
        together = mesh.spans_processes(mesh.growing_devices())
        if together or checkpoint is not None:
            fit = describe_fit(key, table, config)
            if together:
                _require_same_everywhere({**fit, "a checkpoint": checkpoint is not None})
            if checkpoint is not None:
                n_features = table.features.shape[1]
                self._saved = Checkpoint(checkpoint, fit, n_features, together=together)
                self._finished = self._saved.finished(first_tree, config.n_trees - first_tree)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._saved:
            self._saved.flush()

    @functools.cached_property
    def _samples(self) -> tuple[Samples, GrowthConfig, LeafValue]:
        share = mesh.memory_share(self._memory_budget)
        return growth_samples(self._table, self._config, share)

    def grow(self, n_trees: int) -> Grown:
        """Grow the trees that come next, at least one."""
        trees = range(self._next, self._next + n_trees)
        self._next = trees.stop
        parts = []
        if self._finished is not None:
            start = trees.start - self._first
            stop = min(trees.stop - self._first, self._finished.forest.n_trees)
            if start < stop:
                parts.append(take_trees(self._finished, start, stop))
                self._on_trees(stop - start)
                trees = trees[stop - start :]
        if trees:
            samples, growth, leaf_value = self._samples
            blocks = grow_blocks(
                self._key, samples, growth, trees, memory_budget=self._memory_budget
            )
            for block in blocks:
                values = leaf_value(np.asarray(block.forest.leaf_value))
                parts.append(block._replace(forest=block.forest._replace(leaf_value=values)))
                self._on_trees(block.forest.n_trees)
                if self._saved:
                    self._saved.add(parts[-1])
        return join_grown(*parts)


def _require_room(table: TrainingTable, config: ForestConfig) -> None:
    """Raise InputError for sums that would overflow, and scores that are not there."""
    if largest_sum(config.n_trees, config.n_labels, config.aggregation) >= 2**31:
        raise InputError(
            f"n_estimators must be smaller for so many labels; the sums of {config.n_trees} trees "
            f"over {config.n_labels} labels do not fit 32 bits. Use fewer trees, or "
            'aggregation="two-step" where there is a choice.'
        )
    if config.weighting == "difference" and table.scores is None:
        raise InputError(
            'weighting="difference" needs scores of the labels, by whose differences it weighs. '
            'Call fit(X, scores=U) in place of fit(X, y), or set weighting="equal".'
        )


def describe_fit(key: Array, table: TrainingTable, config: ForestConfig) -> dict[str, Any]:
    """Name all that trees depend on besides their numbers; JSON can hold it."""
    settings = dataclasses.asdict(config)
    del settings["n_trees"]
    return {
        "lrrf_jax": getattr(sys.modules["lrrf_jax"], "__version__", "unknown"),
        "random_state": jax.random.key_data(key).tolist(),
        "X": hash_of(table.features),
        "y": hash_of(rankings_learnt(table, config)),
        "sample_weight": None if table.weight is None else hash_of(table.weight),
        **settings,
    }


def rankings_learnt(table: TrainingTable, config: ForestConfig) -> NDArray:
    """Return what trees learn: positions, or scores where their differences count."""
    scores = table.scores if config.weighting == "difference" else None
    return table.positions if scores is None else scores


def hash_of(array: NDArray) -> str:
    """Tell arrays of other values, type or shape apart by a short text."""
    digest = hashlib.sha256(f"{array.dtype.str} {array.shape}".encode())
    digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:32]


def _require_same_everywhere(fit: dict[str, Any]) -> None:
    entries = [hashlib.sha256(json.dumps(value).encode()).digest()[:8] for value in fit.values()]
    words = np.frombuffer(b"".join(entries), np.uint32)
    every = mesh.of_every_process(words)
    if (every != every[0]).any():
        process, word = np.argwhere(every != every[0])[0]
        raise InputError(
            f"{list(fit)[word // 2]} must be the same in every process; it differs between "
            f"process 0 and process {process}. Fit the same rows with the same parameters in all "
            "of them, or let each fit alone: lrrf_jax.distributed.use_devices("
            "jax.local_devices())."
        )


def importances_of(grown: Grown, n_features: int) -> NDArray:
    """Sum of each tree's importances, float32 (n_features,): gains, in shares of the tree's."""
    forest, gain = grown
    gain = np.where(is_split(forest), np.maximum(gain, 0), 0).astype(np.float64)
    share = gain / np.maximum(gain.sum(1, keepdims=True), np.finfo(np.float64).tiny)
    total = np.bincount(forest.feature.ravel(), share.ravel(), n_features)
    return total.astype(np.float32)
