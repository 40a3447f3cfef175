"""Trees by their numbers: what each draws, and what its leaves hold.

Tree ``i`` depends on ``fold_in(key, i)`` and the table alone, so the trees that it is grown with
cannot change it.
"""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from lrrf_jax._typing import AnyArray, Array
from lrrf_jax.trees.grower import grow_trees
from lrrf_jax.trees.growth import Draw, GrowthConfig, Samples, draw_lottery
from lrrf_jax.trees.xla import COMPILER_OPTIONS, add_at, fusion_barrier, take

# int32 (n_slots, n_leaf_stats) sums -> int32 (n_slots, n_outputs); hashable, to be static.
LeafValue = Callable[[Array], Array]


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
    key: Array,  # (n_trees,)
    n_samples: Array,  # int32 ()
    n_rows: int,  # n_samples and padding
) -> Array:  # int32 (n_trees, n_rows)
    """How often each row comes in ``n_samples`` draws with replacement; padding never."""
    words = jax.vmap(lambda key: jax.random.bits(key, (n_rows,), jnp.uint32))(key)
    drawn = _high_word(words, n_samples.astype(jnp.uint32)).astype(jnp.int32)
    # One flat table: XLA:CPU adds to that at the speed of a C loop, and not to a matrix.
    first = n_rows * jnp.arange(len(key), dtype=jnp.int32)[:, None]
    real = jnp.arange(n_rows, dtype=jnp.int32) < n_samples
    real = jnp.broadcast_to(real.astype(jnp.int32), drawn.shape)
    counts = jnp.zeros(drawn.size, jnp.int32)
    return add_at(counts, (first + drawn).reshape(-1), real.reshape(-1)).reshape(drawn.shape)


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
    return _counts_of_trees(key, tree[None], n_samples, n_rows, bootstrap)[0]


def _counts_of_trees(
    key: Array, trees: Array, n_samples: Array, n_rows: int, bootstrap: bool
) -> Array:  # int32 (n_trees, n_rows)
    if not bootstrap:
        every = (jnp.arange(n_rows, dtype=jnp.int32) < n_samples).astype(jnp.int32)
        return jnp.broadcast_to(every, (len(trees), n_rows))
    draw_keys = jax.vmap(lambda tree: _tree_keys(key, tree)[0])(trees)
    return bootstrap_counts(draw_keys, n_samples, n_rows)


def _tree_keys(key: Array, tree: Array) -> tuple[Array, Array]:
    draw, growth = jax.random.split(jax.random.fold_in(key, tree))
    return draw, growth


def drawn_capacity(n_rows: int, bootstrap: bool) -> int:
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
    stat = take(samples.leaf_stat, draw.row) * draw.weight[:, None]
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
    n_trees, n_rows = len(numbers), samples.weight.shape[0]
    capacity = drawn_capacity(n_rows, config.bootstrap)
    counts = _counts_of_trees(key, numbers, samples.n_samples, n_rows, config.bootstrap)
    drawn = ((counts > 0) & (numbers >= 0)[:, None]).astype(jnp.int32)
    # Rows that are drawn go to the front of their tree's places, in order.
    place = fusion_barrier(samples.zero, _marks_before(drawn, samples.zero))
    tree = jnp.arange(n_trees, dtype=jnp.int32)[:, None]
    place = jnp.where(drawn > 0, place + capacity * tree, capacity * n_trees).reshape(-1)
    row = jnp.broadcast_to(jnp.arange(n_rows, dtype=jnp.int32), counts.shape).reshape(-1)
    nothing = jnp.zeros(n_trees * capacity, jnp.int32)
    row = nothing.at[place].set(row, mode="drop")
    copies = nothing.at[place].set(counts.reshape(-1), mode="drop")
    return Draw(
        tree=jnp.repeat(tree[:, 0], capacity),
        row=row,
        copies=copies,
        weight=take(samples.weight, row) * copies,
    )


def _marks_before(mark: Array, zero: Array) -> Array:
    """Count the 1s before each place of each row; int32 (n_trees, n_rows) of 0 and 1.

    By words of 32 places, and bits within a word: XLA:CPU vectorises that, and not ``cumsum``.
    """
    n_rows = mark.shape[1]
    bits = jnp.pad(mark, ((0, 0), (0, -n_rows % 32))).astype(jnp.uint32)
    place = jnp.arange(32, dtype=jnp.uint32)
    bits = bits.reshape(len(mark), -1, 32)
    word = fusion_barrier(zero, (bits << place).sum(-1, dtype=jnp.uint32))
    count = lax.population_count(word)
    before = fusion_barrier(zero, jnp.cumsum(count, axis=1) - count)
    within = lax.population_count(word[:, :, None] & ((jnp.uint32(1) << place) - 1))
    return (before[:, :, None] + within).astype(jnp.int32).reshape(len(mark), -1)[:, :n_rows]
