"""Many trees: what each draws, how they are run, and how they become one :class:`Forest`.

Tree ``i`` depends on ``fold_in(key, i)`` and the table alone, so neither the number of trees,
nor the threads, nor the chunks they are grown in can change it.
"""

import concurrent.futures
import functools
import math
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lrrf_jax._typing import Array, NDArray
from lrrf_jax.trees.forest import Forest
from lrrf_jax.trees.grower import Draw, GrowthConfig, Samples, grow_tree
from lrrf_jax.trees.xla import COMPILER_OPTIONS, take

# int32 (n_slots, n_leaf_stats) sums -> int32 (n_slots, n_outputs); hashable, to be static.
LeafValue = Callable[[Array], Array]


class Tree(NamedTuple):
    """One grown tree, or a chunk of them with a leading axis."""

    feature: Array  # int32 (2**depth - 1,)
    threshold: Array  # float32 (2**depth - 1,)
    missing_left: Array  # bool (2**depth - 1,)
    gain: Array  # float32 (2**depth - 1,)
    leaf_slot: Array  # int32 (2**depth,), rows of leaf_value
    leaf_value: Array  # int32 (n_most_slots, n_outputs)
    n_slots: Array  # int32 (), leaves that exist


def bootstrap_counts(
    key: Array,
    n_samples: Array,  # int32 ()
    n_rows: int,  # n_samples and padding
) -> Array:  # int32 (n_rows,)
    """How often each row comes in ``n_samples`` draws with replacement; padding never."""
    words = jax.random.bits(key, (n_rows,), jnp.uint32)
    drawn = _high_word(words, n_samples.astype(jnp.uint32)).astype(jnp.int32)
    counts = jnp.arange(n_rows, dtype=jnp.int32) < n_samples
    return jnp.zeros(n_rows, jnp.int32).at[drawn].add(counts.astype(jnp.int32))


def _high_word(a: Array, b: Array) -> Array:  # uint32
    """Upper half of the 64-bit product: ``a`` uniform over 32 bits gives 0 .. b - 1.

    One random word a draw, and the same draws in every version of JAX, whose ``randint`` is free
    to change. No row is favoured by more than n_samples / 2**32.
    """
    half = jnp.uint32(0xFFFF)
    a_low, a_high, b_low, b_high = a & half, a >> 16, b & half, b >> 16
    cross = a_high * b_low + (a_low * b_low >> 16)
    return a_high * b_high + (cross >> 16) + ((a_low * b_high + (cross & half)) >> 16)


def tree_counts(key: Array, tree: Array, n_samples: Array, n_rows: int, bootstrap: bool) -> Array:
    """Row counts of tree number ``tree``, int32 (n_rows,): what its growth saw."""
    if not bootstrap:
        return (jnp.arange(n_rows, dtype=jnp.int32) < n_samples).astype(jnp.int32)
    return bootstrap_counts(_tree_keys(key, tree)[0], n_samples, n_rows)


def _tree_keys(key: Array, tree: Array) -> tuple[Array, Array]:
    draw, growth = jax.random.split(jax.random.fold_in(key, tree))
    return draw, growth


def _capacity(n_rows: int, bootstrap: bool) -> int:
    """Room for the distinct rows of a bootstrap: eight standard deviations above their mean."""
    if not bootstrap:
        return n_rows
    return min(n_rows, math.ceil(0.63213 * n_rows + 8 * math.sqrt(0.0973 * n_rows)) + 8)


@functools.partial(
    jax.jit, static_argnames=("config", "leaf_value"), compiler_options=COMPILER_OPTIONS
)
def grow_one(
    key: Array,
    tree: Array,  # int32 ()
    samples: Samples,
    config: GrowthConfig,
    leaf_value: LeafValue,
) -> Tree:
    """Draw, grow and fill tree number ``tree``."""
    n_rows = samples.weight.shape[0]
    counts = tree_counts(key, tree, samples.n_samples, n_rows, config.bootstrap)
    capacity = _capacity(n_rows, config.bootstrap)
    row = jnp.nonzero(counts, size=capacity, fill_value=0)[0].astype(jnp.int32)
    real = jnp.arange(capacity, dtype=jnp.int32) < (counts > 0).sum()
    draw = Draw(row, jnp.where(real, take(counts, row), 0))

    splits, leaf = grow_tree(_tree_keys(key, tree)[1], samples, draw, config)
    is_split = splits.edge < config.n_bins - 1
    edge = jnp.minimum(splits.edge, config.n_bins - 2)
    threshold = jnp.where(is_split, samples.thresholds[splits.feature, edge], jnp.inf)

    # The samples of an unsplit node all end in the last leaf below it. So the slot of a leaf is
    # the number of occupied leaves before it.
    n_leaves = 2**config.max_depth
    at = jnp.where(draw.count > 0, leaf, n_leaves)
    occupied = jnp.zeros(n_leaves, jnp.int32).at[at].set(1, mode="drop")
    leaf_slot = jnp.cumsum(occupied) - occupied
    n_most = min(n_leaves, capacity)
    slot = jnp.where(draw.count > 0, take(leaf_slot, leaf), n_most)
    weight = take(samples.weight, draw.row) * draw.count
    stat = samples.leaf_stat[draw.row] * weight[:, None]
    sums = jnp.zeros((n_most, stat.shape[1]), jnp.int32).at[slot].add(stat, mode="drop")
    return Tree(
        splits.feature,
        threshold,
        splits.missing_left,
        splits.gain,
        leaf_slot,
        leaf_value(sums),
        occupied.sum(),
    )


@functools.partial(
    jax.jit, static_argnames=("config", "leaf_value"), compiler_options=COMPILER_OPTIONS
)
def _grow_chunk(key, trees, samples, config, leaf_value) -> Tree:
    return jax.vmap(lambda tree: grow_one(key, tree, samples, config, leaf_value))(trees)


def grow_forest(
    key: Array,
    samples: Samples,
    config: GrowthConfig,
    leaf_value: LeafValue,
    n_trees: int,
    *,
    first_tree: int = 0,
    n_threads: int | None = None,
    on_tree: Callable[[int], None] = lambda n_done: None,
) -> tuple[Forest, NDArray]:  # float32 (n_trees, 2**depth - 1) gains
    """Grow trees ``first_tree .. first_tree + n_trees - 1``.

    On a CPU each tree is one call, spread over threads: a batch of trees would only crowd the
    cache. Elsewhere they are grown in chunks that keep within ``config.histogram_bytes``.

    Returns
    -------
    Forest
        With NumPy arrays; see :func:`join` to put several together.
    float32 (n_trees, 2**depth - 1)
        Rise of the purity score at each node.
    """
    numbers = range(first_tree, first_tree + n_trees)
    if jax.default_backend() == "cpu":
        grown = _grow_on_threads(key, samples, config, leaf_value, numbers, n_threads)
    else:
        grown = _grow_in_chunks(key, samples, config, leaf_value, numbers)
    trees = []
    for tree in grown:
        trees.append(tree._replace(leaf_value=tree.leaf_value[: tree.n_slots].copy()))
        on_tree(len(trees))
    first_slot = np.cumsum([0, *(int(tree.n_slots) for tree in trees[:-1])]).astype(np.int32)
    forest = Forest(
        feature=np.stack([tree.feature for tree in trees]),
        threshold=np.stack([tree.threshold for tree in trees]),
        missing_left=np.stack([tree.missing_left for tree in trees]),
        leaf_slot=np.stack([tree.leaf_slot for tree in trees]) + first_slot[:, None],
        leaf_value=np.concatenate([tree.leaf_value for tree in trees]),
    )
    return forest, np.stack([tree.gain for tree in trees])


def _grow_on_threads(key, samples, config, leaf_value, numbers, n_threads) -> Iterator[Tree]:
    def grow(number):
        return jax.device_get(grow_one(key, np.int32(number), samples, config, leaf_value))

    yield grow(numbers[0])  # alone, so that the program is compiled once
    n_threads = n_threads or len(os.sched_getaffinity(0))
    if n_threads == 1:
        yield from map(grow, numbers[1:])
        return
    with concurrent.futures.ThreadPoolExecutor(n_threads) as pool:
        yield from pool.map(grow, numbers[1:])


def _grow_in_chunks(key, samples, config, leaf_value, numbers) -> Iterator[Tree]:
    one = 4 * config.n_bins * config.n_candidates * 2 ** (config.max_depth - 1)
    one *= getattr(config.criterion, "n_stats", 1)
    size = max(1, min(len(numbers), config.histogram_bytes // max(one, 1)))
    for start in range(0, len(numbers), size):
        part = np.asarray(numbers[start : start + size], np.int32)
        padded = np.resize(part, size)  # the last chunk keeps the shape of the others
        chunk = jax.device_get(_grow_chunk(key, padded, samples, config, leaf_value))
        for k in range(len(part)):
            yield Tree(*(field[k] for field in chunk))


def join(first: Forest, second: Forest) -> Forest:
    """Put the trees of ``second`` behind those of ``first``; host side."""
    n_slots = len(first.leaf_value)
    second = second._replace(leaf_slot=second.leaf_slot + np.int32(n_slots))
    return Forest(*(np.concatenate(pair) for pair in zip(first, second, strict=True)))
