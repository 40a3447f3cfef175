"""Some trees at once: drawn, grown, and their leaves filled."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from lrrf_jax._typing import AnyArray, Array
from lrrf_jax._xla import COMPILER_OPTIONS, take
from lrrf_jax.trees.draws import TreeKeys, draw_lottery, draw_samples
from lrrf_jax.trees.grower import grow_trees
from lrrf_jax.trees.growth import GrowthConfig, Samples

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


@functools.partial(
    jax.jit, static_argnames=("config", "leaf_value"), compiler_options=COMPILER_OPTIONS
)
def grow_together(
    keys: TreeKeys,
    exists: Array,  # bool (n_trees,), the others stay empty
    samples: Samples,
    config: GrowthConfig,
    leaf_value: LeafValue,
) -> Trees:
    """Draw, grow and fill the trees of these keys, all at once."""
    n_trees, n_rows = len(exists), samples.weight.shape[0]
    draw = draw_samples(keys.rows, exists, samples, config)
    splits, leaf = grow_trees(draw_lottery(keys, config), samples, draw, config)
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
