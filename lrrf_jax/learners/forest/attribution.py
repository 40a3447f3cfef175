"""What each feature adds to the score of a label, or to the preference for one of two."""

import concurrent.futures
import itertools
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from lrrf_jax._devices import backend_in_use
from lrrf_jax._jax_settings import our_settings
from lrrf_jax._numerics import float_key_on_host
from lrrf_jax._threads import thread_count
from lrrf_jax._typing import NDArray
from lrrf_jax._xla import bucket_size
from lrrf_jax.learners.forest.aggregation import PAIR_UNIT, SHRUNKEN, VOTE_UNIT
from lrrf_jax.learners.forest.config import ForestConfig
from lrrf_jax.learners.forest.covers import node_covers, shares_of_children
from lrrf_jax.learners.forest.leaf_paths import LeafPaths, leaf_paths
from lrrf_jax.learners.forest.nodes import nodes_of
from lrrf_jax.learners.forest.pair_shares import leaf_signs
from lrrf_jax.learners.forest.shapley import Block, add_up_leaves, blocks_of
from lrrf_jax.rankings.on_host import label_totals
from lrrf_jax.trees.forest import Forest, is_split

_FEW_ROWS, _ROWS, _ROWS_OF_ACCELERATOR = 8, 128, 4096  # that a program takes
_BLOCKS_AT_ONCE = 64  # that each thread is handed


def explained_values(
    value: NDArray,  # int32 (n_slots, n_numbers), of leaves
    config: ForestConfig,
    of: str,  # "scores" or "pairs"
) -> NDArray:  # float64 (n_slots, n_outputs)
    """Write what a leaf of a tree adds to the score of each label, or to each preference."""
    n_labels, aggregation = config.n_labels, config.aggregation
    of_pairs = aggregation in SHRUNKEN
    if of == "pairs" and not of_pairs:
        value = leaf_signs(value, aggregation)
    value = value.astype(np.float64)
    if of == "pairs":
        out = value / PAIR_UNIT if of_pairs else value
    elif of_pairs:
        out = label_totals(value, n_labels) / (PAIR_UNIT * (n_labels - 1))
    else:
        out = n_labels + 1.0 - value if aggregation == "two-step" else value / VOTE_UNIT
    return out / config.n_trees


def shap_values(
    features: NDArray,  # float32 (n_samples, n_features)
    forest: Forest,
    config: ForestConfig,
    of: str,
    leaf: NDArray,  # int32 (n_others, n_trees), of the rows that are averaged over
    weight: NDArray | None,  # (n_others, n_trees), what these count; None: all alike
) -> tuple[NDArray, NDArray]:  # float32 (n_samples, n_features, n_outputs), float64 (n_outputs,)
    """Explain rows; returns the values, and what they are added to."""
    nodes, slots = nodes_of(forest), np.asarray(forest.leaf_value)
    n_samples, n_features = features.shape
    columns, n_columns = _columns_in_use(forest, n_features)
    place = np.zeros(n_features, np.int64)
    place[columns] = np.arange(len(columns))
    n_outputs = explained_values(slots[:1], config, of).shape[1]
    base = np.zeros(n_outputs)

    def trees() -> Iterator[tuple[LeafPaths, NDArray]]:
        for tree in range(forest.n_trees):
            of_tree = None if weight is None else weight[:, tree]
            share = shares_of_children(node_covers(leaf[:, tree], of_tree, forest.depth))
            paths = leaf_paths(forest, nodes.of_tree(tree), tree, share)
            value = explained_values(slots[paths.slot], config, of)
            mean = paths.weight @ value
            base[:] += mean
            # Less the mean: a constant explains nothing, and rounding is less.
            yield paths._replace(feature=place[paths.feature]), value - mean

    size = _rows_of_program(n_samples)
    starts = range(0, n_samples, size)
    keys = []
    for start in starts:
        rows = features[start : start + size, columns]
        rows = np.pad(rows, ((0, size - len(rows)), (0, n_columns - len(columns))))
        keys.append(float_key_on_host(np.ascontiguousarray(rows.T)))
    total = np.zeros((len(keys), n_columns, n_outputs, size))

    def add(number: int, blocks: list[Block]) -> None:
        for block in blocks:
            total[number] += np.asarray(add_up_leaves(keys[number], block))

    blocks = blocks_of(trees(), n_columns)
    while some := list(itertools.islice(blocks, _BLOCKS_AT_ONCE)):
        _in_threads(add, len(keys), some)
    values = np.zeros((n_samples, n_features, n_outputs), np.float32)
    for start, part in zip(starts, total, strict=True):
        block = values[start : start + size]
        block[:, columns] = part.transpose(2, 0, 1)[: len(block), : len(columns)]
    return values, base


def _columns_in_use(forest: Forest, n_features: int) -> tuple[NDArray, int]:
    """Find the features to work on, and how many a program has room for.

    All of them, unless a wide table has far fewer that some tree asks for.
    """
    used = np.unique(np.asarray(forest.feature)[is_split(forest)])
    room = bucket_size(len(used), per_octave=1)
    return (used, room) if room < n_features else (np.arange(n_features), n_features)


def _rows_of_program(n_samples: int) -> int:
    if not backend_in_use().on_host:
        return _ROWS_OF_ACCELERATOR
    return _FEW_ROWS if n_samples <= _FEW_ROWS else _ROWS


def _in_threads(add: Any, n_parts: int, blocks: list[Block]) -> None:
    """Explain the parts of the rows, in threads where there are several; programs first."""
    n_threads = min(thread_count(), n_parts) if backend_in_use().on_host else 1
    if n_threads == 1:
        for number in range(n_parts):
            add(number, blocks)
        return
    add(0, blocks)  # threads that need the same new program would each compile it
    device = jax.config.jax_default_device  # type: ignore[attr-defined]

    def add_there(number: int) -> None:
        with our_settings(), jax.default_device(device):  # which threads do not inherit
            add(number, blocks)

    with concurrent.futures.ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(add_there, range(1, n_parts)))
