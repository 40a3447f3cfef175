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

from lrrf_jax._typing import AnyArray, Array, NDArray
from lrrf_jax.trees.forest import Forest
from lrrf_jax.trees.grower import Draw, GrowthConfig, Samples, draw_lottery, grow_trees
from lrrf_jax.trees.xla import COMPILER_OPTIONS, take

# int32 (n_slots, n_leaf_stats) sums -> int32 (n_slots, n_outputs); hashable, to be static.
LeafValue = Callable[[Array], Array]


# Rows that trees grow on together, where a cache has to hold them; elsewhere memory decides.
_CPU_ROWS = 2**15
_MOST_TREES_AT_ONCE = 32


class Trees(NamedTuple):
    """Some grown trees."""

    feature: AnyArray  # int32 (n_trees, 2**depth - 1)
    threshold: AnyArray  # float32 (n_trees, 2**depth - 1)
    missing_left: AnyArray  # bool (n_trees, 2**depth - 1)
    gain: AnyArray  # float32 (n_trees, 2**depth - 1)
    leaf_slot: AnyArray  # int32 (n_trees, 2**depth), rows of leaf_value
    leaf_value: AnyArray  # int32 (n_most_slots, n_outputs)
    n_slots: AnyArray  # int32 (), leaves that exist


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
def grow_numbered(
    key: Array,
    numbers: Array,  # int32 (n_trees,), negative: an empty tree
    samples: Samples,
    config: GrowthConfig,
    leaf_value: LeafValue,
) -> Trees:
    """Draw, grow and fill the trees of these numbers, all at once."""
    n_trees, n_rows = len(numbers), samples.weight.shape[0]
    draw = _draw_samples(key, numbers, samples, config)
    lottery = jax.vmap(lambda number: draw_lottery(_tree_keys(key, number)[1], config))(numbers)
    splits, leaf = grow_trees(lottery, samples, draw, config)
    is_split = splits.edge < config.n_bins - 1
    edge = jnp.minimum(splits.edge, config.n_bins - 2)
    threshold = jnp.where(is_split, samples.thresholds[splits.feature, edge], jnp.inf)

    # The samples of an unsplit node all end in the last leaf below it. So the slot of a leaf is
    # the number of occupied leaves before it.
    n_leaves = n_trees * 2**config.max_depth
    real = draw.copies > 0
    occupied = (
        jnp.zeros(n_leaves, jnp.int32).at[jnp.where(real, leaf, n_leaves)].set(1, mode="drop")
    )
    leaf_slot = jnp.cumsum(occupied) - occupied
    n_most = min(n_leaves, n_trees * n_rows)
    slot = jnp.where(real, take(leaf_slot, leaf), n_most)
    stat = samples.leaf_stat[draw.row] * draw.weight[:, None]
    sums = jnp.zeros((n_most, stat.shape[1]), jnp.int32).at[slot].add(stat, mode="drop")
    return Trees(
        splits.feature,
        threshold,
        splits.missing_left,
        splits.gain,
        leaf_slot.reshape(n_trees, -1),
        leaf_value(sums),
        occupied.sum(),
    )


def _draw_samples(key: Array, numbers: Array, samples: Samples, config: GrowthConfig) -> Draw:
    n_rows = samples.weight.shape[0]
    capacity = _capacity(n_rows, config.bootstrap)
    place = jnp.arange(capacity, dtype=jnp.int32)

    def draw_one(number):
        counts = tree_counts(key, number, samples.n_samples, n_rows, config.bootstrap)
        row = jnp.nonzero(counts, size=capacity, fill_value=0)[0].astype(jnp.int32)
        real = (place < (counts > 0).sum()) & (number >= 0)
        return row, jnp.where(real, take(counts, row), 0)

    row, count = jax.vmap(draw_one)(numbers)
    tree = jnp.broadcast_to(jnp.arange(len(numbers), dtype=jnp.int32)[:, None], row.shape)
    weight = take(samples.weight, row) * count
    return Draw(*(field.reshape(-1) for field in (tree, row, count, weight)))


def grow_forest(
    key: Array,
    samples: Samples,
    config: GrowthConfig,
    leaf_value: LeafValue,
    n_trees: int,
    *,
    first_tree: int = 0,
    n_threads: int | None = None,
    trees_at_once: int | None = None,
    on_trees: Callable[[int], None] = lambda n_grown: None,
) -> tuple[Forest, NDArray]:  # float32 (n_trees, 2**depth - 1) gains
    """Grow trees ``first_tree .. first_tree + n_trees - 1``.

    They grow in chunks of ``trees_at_once``, which on a CPU are spread over threads.

    Returns
    -------
    Forest
        With NumPy arrays; see :func:`join` to put several together.
    float32 (n_trees, 2**depth - 1)
        Rise of the purity score at each node.
    """
    size = trees_at_once or _trees_at_once(samples, config, n_trees)
    chunks = []
    for start in range(0, n_trees, size):
        numbers = np.arange(first_tree + start, first_tree + start + size, dtype=np.int32)
        # The last chunk keeps the shape of the others.
        chunks.append(np.where(numbers < first_tree + n_trees, numbers, -1).astype(np.int32))

    def grow(numbers):
        return jax.device_get(grow_numbered(key, numbers, samples, config, leaf_value))

    parts, gains = [], []
    for numbers, trees in zip(chunks, _map_chunks(grow, chunks, n_threads), strict=True):
        real = numbers >= 0
        part = Forest(
            feature=trees.feature[real],
            threshold=trees.threshold[real],
            missing_left=trees.missing_left[real],
            leaf_slot=trees.leaf_slot[real],
            leaf_value=trees.leaf_value[: trees.n_slots],
        )
        parts.append(part)
        gains.append(trees.gain[real])
        on_trees(int(real.sum()))
    return join(*parts), np.concatenate(gains)


def _trees_at_once(samples: Samples, config: GrowthConfig, n_trees: int) -> int:
    n_drawn = _capacity(samples.weight.shape[0], config.bootstrap)
    one_tree = 4 * config.n_bins * config.n_candidates * getattr(config.criterion, "n_stats", 1)
    one_tree *= min(2 ** (config.max_depth - 1), samples.weight.shape[0] // 2)
    most = min(n_trees, max(1, config.histogram_bytes // one_tree))
    if jax.default_backend() == "cpu":
        most = min(most, max(1, _CPU_ROWS // n_drawn), _MOST_TREES_AT_ONCE)
    n_chunks = -(-n_trees // most)
    return -(-n_trees // n_chunks)


def _map_chunks(grow, chunks, n_threads: int | None) -> Iterator[Trees]:
    yield grow(chunks[0])  # alone, so that the program is compiled once
    n_threads = n_threads or (len(os.sched_getaffinity(0)) if jax.default_backend() == "cpu" else 1)
    if n_threads == 1:
        yield from map(grow, chunks[1:])
        return
    with concurrent.futures.ThreadPoolExecutor(n_threads) as pool:
        yield from pool.map(grow, chunks[1:])


def join(*forests: Forest) -> Forest:
    """Put the trees of several forests behind each other; host side."""
    sizes = [len(forest.leaf_value) for forest in forests]
    first_slot = np.cumsum([0, *sizes[:-1]]).astype(np.int32)
    shifted = [
        forest._replace(leaf_slot=forest.leaf_slot + first)
        for forest, first in zip(forests, first_slot, strict=True)
    ]
    return Forest(*(np.concatenate(fields) for fields in zip(*shifted, strict=True)))
