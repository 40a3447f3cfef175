"""What a fitted forest tells besides its predictions: leaves, neighbours, out-of-bag rankings."""

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax import metrics
from lrrf_jax._programs import jit
from lrrf_jax._threefry import key_from_seed
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._validation import warn_user
from lrrf_jax._xla import COMPILER_OPTIONS, bucket_size, take
from lrrf_jax.inference.ready import ReadyForest, find_leaves, make_ready, rows_at_once
from lrrf_jax.learners._table import TrainingTable
from lrrf_jax.learners.batching import map_rows, map_tiles
from lrrf_jax.learners.forest.aggregation import ranks_of_sums
from lrrf_jax.learners.forest.warm_start import LastFit
from lrrf_jax.learners.streaming import Seen
from lrrf_jax.trees.draws import count_rows, keys_of_trees
from lrrf_jax.trees.forest import Forest

_QUERIES_PER_CALL = 64


@contextlib.contextmanager
def progress(verbose: int, n_trees: int) -> Iterator[Callable[[int], None]]:
    """Show a bar on stderr where ``verbose`` asks for one."""
    if not verbose:
        yield lambda n_grown: None
        return
    from tqdm import tqdm  # here, so that growing trees does without it

    with tqdm(total=n_trees, unit="tree", file=sys.stderr) as bar:
        yield lambda n_grown: bar.update(n_grown) and None


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
    """Row of ``leaf_value`` that each row reaches in each tree, int32 (n_samples, n_trees)."""
    table = np.asarray(forest.leaf_slot)
    return table[np.arange(len(table)), leaves(features, forest)]


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
    key: Array, n_samples: int, n_trees: int, bootstrap: bool
) -> NDArray:  # int32 (n_samples, n_trees)
    """How often each tree drew each training row."""
    counts = _all_counts(
        keys_of_trees(key, np.arange(n_trees, dtype=np.int32)).rows,
        np.int32(n_samples),
        n_rows=bucket_size(n_samples),
        bootstrap=bootstrap,
    )
    return np.asarray(counts)[:, :n_samples].T


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
    key = key_from_seed(last.seed)
    # Rows of one unsplit node may have different leaf numbers; they share a slot.
    slot = slots(last.features, forest)
    weight = bootstrap_table(key, n_training, n_trees, last.config.bootstrap).astype(np.float64)
    if last.weight is not None:
        weight = weight * last.weight[:, None]
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


@functools.partial(
    jit, static_argnames=("n_labels", "aggregation"), compiler_options=COMPILER_OPTIONS
)
def _out_of_bag_ranks(
    forest: ReadyForest, features: Array, drawn: Array, *, n_labels: int, aggregation: str
) -> Array:
    n_trees = len(forest.leaf_slot)
    chex.assert_shape(drawn, (len(features), n_trees))
    chex.assert_rank([features, forest.leaf_value], 2)
    chex.assert_type([features, drawn, forest.leaf_value], [jnp.float32, jnp.int32, jnp.int32])
    leaf = find_leaves(forest, features)

    def add(total, tree):
        slots, leaf, drawn = tree
        value = take(forest.leaf_value, take(slots, leaf))
        return total + jnp.where((drawn == 0)[:, None], value, 0), None

    total = jnp.zeros((len(features), forest.leaf_value.shape[1]), jnp.int32)
    total = lax.scan(add, total, (forest.leaf_slot, leaf, drawn.T))[0]
    return ranks_of_sums(total, n_labels, aggregation)


def out_of_bag(
    key: Array, forest: Forest, table: TrainingTable, config: Any
) -> tuple[NDArray, float]:
    """Rank each training row by the trees that did not draw it.

    Returns float64 (n_rows, n_labels), NaN for rows that every tree drew or that were left out
    of training, and their mean tau, NaN where there is none.
    """
    n_samples, n_features = table.features.shape
    drawn = bootstrap_table(key, n_samples, forest.n_trees, config.bootstrap)
    ready = make_ready(forest)
    # Counts ride along as further columns, so that both are cut into the same batches.
    both = np.concatenate([table.features, drawn.astype(np.float32)], axis=1)

    def ranks(block):
        return _out_of_bag_ranks(
            ready,
            block[:, :n_features],
            block[:, n_features:].astype(np.int32),
            n_labels=config.n_labels,
            aggregation=config.aggregation,
        )

    out = np.full((table.n_rows, config.n_labels), np.nan)
    never: NDArray = np.all(drawn > 0, axis=1)
    out[table.row] = np.where(never[:, None], np.nan, map_rows(ranks, both))
    if never.any():
        warn_user(
            f"{never.sum()} of {n_samples} rows were drawn by every tree and have no out-of-bag "
            "ranking; grow more trees."
        )
    if never.all():
        return out, float("nan")
    ranked = table.row[~never]
    return out, metrics.kendall_tau(table.positions[~never], out[ranked], table.weight_of(~never))
