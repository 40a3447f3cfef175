"""Growing the forest: over devices and processes, from a checkpoint on where there is one."""

import dataclasses
import hashlib
import json
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import jax
import numpy as np

from lrrf_jax import _devices as mesh
from lrrf_jax._typing import AnyArray, Array, NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.learners._table import TrainingTable
from lrrf_jax.learners.forest.aggregation import largest_sum
from lrrf_jax.learners.forest.checkpoints import Checkpoint
from lrrf_jax.learners.forest.config import ForestConfig
from lrrf_jax.learners.forest.samples import growth_samples
from lrrf_jax.learners.persistence.schema import Stored
from lrrf_jax.trees.blocks import Grown, grow_blocks, join, join_grown
from lrrf_jax.trees.forest import Forest, is_split

Importances = Annotated[AnyArray, Stored("float32", "n_features", minimum=0)]


class ForestParams(NamedTuple):
    """What a fitted forest is made of."""

    forest: Forest
    importances: Importances


def fit_forest(
    key: Array,
    table: TrainingTable,
    config: ForestConfig,
    first_trees: Forest | None = None,
    *,
    memory_budget: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    on_trees: Callable[[int], None] = lambda n_grown: None,
) -> ForestParams:
    """Grow the forest; ``first_trees`` of an earlier call with the same key are kept.

    Neither the devices, nor the memory, nor the checkpoint change a byte of it. Where the devices
    belong to several processes, each of them must make this call, and gets the whole forest. The
    importances are those of the trees that were grown now or taken from the checkpoint.
    """
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
    n_features = table.features.shape[1]
    n_first = 0 if first_trees is None else first_trees.n_trees
    together = mesh.spans_processes(mesh.growing_devices())
    saved = None
    if together or checkpoint is not None:
        fit = describe_fit(key, table, config)
        if together:
            _require_same_everywhere({**fit, "a checkpoint": checkpoint is not None})
        if checkpoint is not None:
            saved = Checkpoint(checkpoint, fit, n_features, together=together)
    grown = _grow(key, table, config, n_first, memory_budget, saved, on_trees)
    importances = _importances(grown.forest, grown.gain, n_features)
    forest = grown.forest if first_trees is None else join(first_trees, grown.forest)
    return ForestParams(forest, importances)


def _grow(
    key: Array,
    table: TrainingTable,
    config: ForestConfig,
    first_tree: int,
    memory_budget: int | None,
    saved: Checkpoint | None,
    on_trees: Callable[[int], None],
) -> Grown:
    parts: list[Grown] = []
    if saved and (finished := saved.finished(first_tree, config.n_trees - first_tree)):
        parts.append(finished)
        first_tree += finished.forest.n_trees
        on_trees(finished.forest.n_trees)
    if first_tree < config.n_trees:
        share = mesh.memory_share(memory_budget)
        samples, growth, leaf_value = growth_samples(table, config, share)
        trees = range(first_tree, config.n_trees)
        blocks = grow_blocks(key, samples, growth, trees, memory_budget=memory_budget)
        try:
            for block in blocks:
                values = leaf_value(np.asarray(block.forest.leaf_value))
                block = block._replace(forest=block.forest._replace(leaf_value=values))
                parts.append(block)
                on_trees(block.forest.n_trees)
                if saved:
                    saved.add(block)
        finally:
            if saved:
                saved.flush()
    return join_grown(*parts)


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


def _importances(forest: Forest, gain: NDArray, n_features: int) -> NDArray:
    """Sum of each tree's importances, float32 (n_features,): gains, in shares of the tree's."""
    gain = np.where(is_split(forest), np.maximum(gain, 0), 0).astype(np.float64)
    share = gain / np.maximum(gain.sum(1, keepdims=True), np.finfo(np.float64).tiny)
    total = np.bincount(forest.feature.ravel(), share.ravel(), n_features)
    return total.astype(np.float32)
