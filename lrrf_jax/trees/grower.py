"""Grow trees together, level by level: draw, open nodes, search splits, move samples, fill leaves.

Several trees are one graph with several roots: their samples follow one another, and node
``n`` of tree ``t`` is number ``t 2**level + n`` of its level, so that its children are 2 i and
2 i + 1, as in one tree. Nothing passes between trees, and sums are exact, so a tree does not
depend on its company; but one pass over a long array costs less than many over short ones.

All levels share one compiled body: a program for each would take long to compile.
"""

from collections.abc import Callable
from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp
from jax import lax

from lrrf_jax._programs import jit
from lrrf_jax._typing import AnyArray, Array
from lrrf_jax._xla import COMPILER_OPTIONS, fusion_barrier, take
from lrrf_jax.trees.binning import bins_of_rows, candidate_bins
from lrrf_jax.trees.cell_search import search_cells
from lrrf_jax.trees.draws import (
    TreeKeys,
    draw_candidates,
    draw_for_all_nodes,
    draw_samples,
)
from lrrf_jax.trees.growth import (
    Candidates,
    Drawn,
    GrowthConfig,
    Level,
    Nodes,
    Samples,
    Scratch,
    Sizes,
    Splits,
)
from lrrf_jax.trees.nodes import Plan, make_plan, open_slots
from lrrf_jax.trees.search import search_histograms
from lrrf_jax.trees.sorted_search import search_sorted, sort_samples


class Trees(NamedTuple):
    """Some grown trees."""

    feature: AnyArray  # int32 (n_trees, 2**depth - 1)
    threshold: AnyArray  # float32 (n_trees, 2**depth - 1)
    missing_left: AnyArray  # bool (n_trees, 2**depth - 1)
    gain: AnyArray  # float32 (n_trees, 2**depth - 1)
    leaf_slot: AnyArray  # int32 (n_trees, 2**depth), rows of leaf_sums
    leaf_sums: AnyArray  # int32 (max_slots, n_leaf_stats)
    n_slots: AnyArray  # int32 (), leaves that exist


def grow_trees(
    keys: TreeKeys,
    exists: Array,  # bool (n_trees,), the others stay empty
    samples: Samples,
    config: GrowthConfig,
) -> Trees:
    """Draw, grow and fill the trees of these keys, all at once."""
    _check(keys, exists, samples, config)
    roots = draw_samples(keys.rows, exists, samples, config)
    splits, leaf = grow_splits(keys, samples, roots, config)
    is_split = splits.edge < config.n_bins - 1
    edge = jnp.minimum(splits.edge, config.n_bins - 2)
    threshold = jnp.where(is_split, samples.thresholds[splits.feature, edge], jnp.inf)
    leaves = _sum_leaves(leaf, len(exists), samples, roots, config)
    return Trees(splits.feature, threshold, splits.missing_left, splits.gain, *leaves)


grow_together: Callable[..., Trees] = jit(
    grow_trees, static_argnames="config", compiler_options=COMPILER_OPTIONS
)


def _check(keys: TreeKeys, exists: Array, samples: Samples, config: GrowthConfig) -> None:
    """Assert the shapes and types that are promised, as a program is traced."""
    n_trees, n_rows, n_features = exists.size, samples.weight.size, config.n_features
    chex.assert_shape([exists, *keys], [(n_trees,), *[(n_trees, 2)] * 3])
    chex.assert_type([exists, *keys], [jnp.bool_, *[jnp.uint32] * 3])
    of_rows = (n_rows, n_features), (n_rows, ...), (n_rows, None), (n_rows,)
    *arrays, sizes = samples
    chex.assert_shape(arrays, [*of_rows, (n_features, config.n_bins - 1)])
    chex.assert_shape([*sizes], ())
    chex.assert_type(arrays, [jnp.uint8, *[jnp.int32] * 3, jnp.float32])
    chex.assert_type([*sizes], jnp.int32)


def _sum_leaves(
    leaf: Array,  # int32 (n_drawn,)
    n_trees: int,
    samples: Samples,
    drawn: Drawn,
    config: GrowthConfig,
) -> tuple[Array, Array, Array]:  # see `Trees`
    """Sum the samples of each leaf.

    The samples of an unsplit node all end in the last leaf below it. So the slot of a leaf is
    the number of occupied leaves before it.
    """
    n_leaves = n_trees * 2**config.max_depth
    max_slots = min(n_leaves, len(leaf))
    real = drawn.copies > 0
    occupied = jnp.zeros(n_leaves, jnp.int32)
    occupied = occupied.at[jnp.where(real, leaf, n_leaves)].set(1, mode="drop")
    leaf_slot = jnp.cumsum(occupied) - occupied
    slot = jnp.where(real, take(leaf_slot, leaf), max_slots)
    stat = take(samples.leaf_stat, drawn.row) * drawn.weight[:, None]
    sums = jnp.zeros((max_slots, stat.shape[1]), jnp.int32).at[slot].add(stat, mode="drop")
    return leaf_slot.reshape(n_trees, -1), sums, occupied.sum()


class _State(NamedTuple):
    """What one level hands to the next."""

    depth: Array  # int32 ()
    node: Array  # int32 (n_drawn,), number of each sample's node within the level
    drawn: Drawn  # in places
    places: Nodes  # (n_places,), children of the slots of the level above
    splits: Splits  # fields (n_trees * n_nodes,)
    scratch: Scratch


def grow_splits(
    keys: TreeKeys,
    samples: Samples,
    roots: Drawn,
    config: GrowthConfig,
) -> tuple[Splits, Array]:  # (n_trees, n_nodes), breadth first; int32 (n_drawn,)
    """Grow trees on the samples at their ``roots``, level by level.

    Returns the splits, and the leaf that each sample ends in, ``tree 2**max_depth + leaf``.
    """
    criterion, depth, n_trees = config.criterion, config.max_depth, len(keys.candidates)
    plan = make_plan(config, n_trees, config.n_draws or n_trees * len(samples.weight))
    n_nodes = 2**depth - 1
    candidates = _candidate_draws(keys, samples.sizes, plan, config)
    order, search = None, search_histograms
    if criterion.searches_sorted and config.large_steps:
        search = search_cells
    elif criterion.searches_sorted:
        order, search = sort_samples(samples, roots.row, config), search_sorted

    def grow_level(state: _State) -> _State:
        nodes, drawn = open_slots(state.places, state.drawn, samples, config, plan)
        index = _breadth_first(nodes.number, state.depth, n_nodes)
        own = candidates(nodes.number, state.depth)
        bins = candidate_bins(samples.bin_index, drawn.row, drawn.at, own.feature)
        level = Level(config, plan, samples, drawn, nodes.exists, own, bins, order, state.scratch)
        found, scratch = search(level)
        split = jnp.isfinite(found.gain) & nodes.exists
        found = Splits(
            feature=jnp.where(split, found.feature, 0),
            edge=jnp.where(split, found.edge, config.n_bins - 1),
            missing_left=split & found.missing_left,
            gain=found.gain,
        )
        written = jnp.where(split, index, n_trees * n_nodes)
        right = _goes_right(found, level)
        label = criterion.follow(drawn, right, roots.copies > 0)
        return _State(
            depth=state.depth + 1,
            node=2 * state.node + right,
            drawn=drawn._replace(at=2 * drawn.at + right, label=label),
            places=_children(nodes, split, plan),
            splits=jax.tree.map(
                lambda whole, part: whole.at[written].set(part.astype(whole.dtype), mode="drop"),
                state.splits,
                found,
            ),
            scratch=scratch,
        )

    state = _first_state(roots, config, plan)
    state = lax.while_loop(
        lambda state: (state.depth < depth) & state.places.exists.any(), grow_level, state
    )
    # Where growth ended early, the rest of every path goes right.
    rest = depth - state.depth
    splits = state.splits._replace(missing_left=state.splits.missing_left > 0)
    splits = jax.tree.map(lambda field: field.reshape(n_trees, n_nodes), splits)
    return splits, ((state.node + 1) << rest) - 1


def _candidate_draws(
    keys: TreeKeys, sizes: Sizes, plan: Plan, config: GrowthConfig
) -> Callable[[Array, Array], Candidates]:
    """Return the function from numbers within a level, and the level, to what nodes may split on.

    Drawn for all nodes at once, or for the slots of each level where these are fewer: a tree of 16
    levels has 65,535 nodes, most of which a small table does not open.
    """
    n_nodes = 2**config.max_depth - 1
    if plan.n_slots * config.max_depth < plan.n_trees * n_nodes:

        def draw(number: Array, depth: Array) -> Candidates:
            tree = jnp.clip(number >> depth, 0, plan.n_trees - 1)  # of slots without a node, any
            own = jax.tree.map(lambda field: take(field, tree), keys)
            first: Array = (jnp.int32(1) << depth) - 1
            return draw_candidates(own, first + (number & first), sizes, config)

        return draw

    every = draw_for_all_nodes(keys, sizes, config)

    def look_up(number: Array, depth: Array) -> Candidates:
        index = _breadth_first(number, depth, n_nodes)
        own: Candidates = jax.tree.map(lambda field: field.at[index].get(mode="clip"), every)
        return own

    return look_up


def _first_state(roots: Drawn, config: GrowthConfig, plan: Plan) -> _State:
    """All samples at the roots of their trees, and no split."""
    place = jnp.arange(plan.n_places, dtype=jnp.int32)
    n_nodes = plan.n_trees * (2**config.max_depth - 1)
    return _State(
        depth=jnp.int32(0),
        node=roots.at,
        drawn=roots,
        places=Nodes(number=place, exists=place < plan.n_trees, stage=jnp.zeros_like(place)),
        splits=Splits(
            feature=jnp.zeros(n_nodes, jnp.int32),
            edge=jnp.full(n_nodes, config.n_bins - 1, jnp.int32),
            # A word each, for GPUs write single bytes by compare-and-swap.
            missing_left=jnp.zeros(n_nodes, jnp.int32),
            gain=jnp.zeros(n_nodes, jnp.float32),
        ),
        scratch=plan.scratch,
    )


def _breadth_first(number: Array, depth: Array, n_nodes: int) -> Array:
    """Turn numbers of nodes within a level into places in arrays (n_trees * n_nodes,)."""
    first: Array = (jnp.int32(1) << depth) - 1
    return n_nodes * (number >> depth) + first + (number & first)


def _children(nodes: Nodes, split: Array, plan: Plan) -> Nodes:
    """Two places for each slot, and some that stay empty."""
    child = (2 * nodes.number[:, None] + jnp.arange(2, dtype=jnp.int32)).reshape(-1)
    places = Nodes(child, jnp.repeat(split, 2), jnp.repeat(nodes.stage, 2))
    n_more = plan.n_places - len(child)
    return Nodes(*(jnp.pad(field, (0, n_more)) for field in places))


def _goes_right(splits: Splits, level: Level) -> Array:  # int32 (n_drawn,), 0 or 1
    """Answer the test of each sample's slot.

    Samples of a node that is not split, and those that rest, go right, as x >= +inf would send
    them.
    """
    drawn, config = level.drawn, level.config
    # One look-up per sample instead of three: feature, threshold, and the way of NaN.
    word = splits.feature << 9 | splits.edge << 1 | splits.missing_left.astype(jnp.int32)
    test = take(fusion_barrier(word), drawn.at)
    value = bins_of_rows(level.samples.bin_index, drawn.row, test >> 9)
    left = value > (test >> 1 & 0xFF)
    if config.has_missing:
        left = jnp.where(value == config.n_bins - 1, (test & 1) > 0, left)
    return (~left | (drawn.copies == 0)).astype(jnp.int32)
