"""Grow trees together, level by level, from binned features and integer statistics.

Several trees are one graph with several roots: their samples lie behind each other, and node
``n`` of tree ``t`` is number ``t 2**level + n`` of its level, so that its children are 2 i and
2 i + 1, as in one tree. Nothing passes between trees, and sums are exact, so a tree does not
depend on its company; but a pass over many short arrays costs what a pass over one long one does.

Each level is three steps: open a slot for every node that may be split
(:mod:`lrrf_jax.trees.level_slots`), search the best split of every slot
(:mod:`lrrf_jax.trees.level_search`), move the samples to their children. All levels share one
compiled body: a program for each would take long to compile.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from lrrf_jax._typing import Array
from lrrf_jax._xla import fusion_barrier, take
from lrrf_jax.trees.criterion import ClassEntropy, SparseClassEntropy
from lrrf_jax.trees.growth import Draw, GrowthConfig, Lottery, Samples, Splits
from lrrf_jax.trees.level_plan import Plan, Room, make_plan
from lrrf_jax.trees.level_search import search_level
from lrrf_jax.trees.level_slots import Drawn, Nodes, class_in_stage, open_slots
from lrrf_jax.trees.sample_bins import SampleBins, bin_of_feature, fetch_bins
from lrrf_jax.trees.sorted_runs import FeatureOrder, sort_samples
from lrrf_jax.trees.sparse_classes import split_groups


class _Level(NamedTuple):
    """What one level hands to the next."""

    depth: Array  # int32 ()
    node: Array  # int32 (n_drawn,), number of each sample's node within the level
    drawn: Drawn  # in places
    places: Nodes  # (2 n_slots,), children of the slots of the level above
    room: Room  # all 0
    splits: Splits  # level after level, n_trees (2**max_depth - 1) nodes in all


def grow_trees(
    lottery: Lottery,  # (n_trees, n_nodes, n_candidates)
    samples: Samples,
    draw: Draw,
    config: GrowthConfig,
) -> tuple[Splits, Array]:  # (n_trees, n_nodes), breadth first; int32 (n_drawn,)
    """Grow trees on the samples of ``draw``; pure, to be jitted by the caller.

    Returns the splits, and the leaf that each sample ends in, ``tree 2**max_depth + leaf``.

    Cost O(max_depth n_drawn n_candidates) for the sums of a class criterion, times the length
    of the vector for a vector criterion, and O(n_nodes n_candidates n_bins) for the search.
    """
    depth, n_trees = config.max_depth, len(lottery.candidates)
    n_nodes = n_trees * (2**depth - 1)
    plan = make_plan(config, n_trees, samples.weight.shape[0], len(draw.row) // n_trees)
    n_places = max(2 * plan.n_slots, n_trees)
    place = jnp.arange(n_places, dtype=jnp.int32)
    level = _Level(
        depth=jnp.int32(0),
        node=draw.tree,
        drawn=_drawn(samples, draw, config),
        places=Nodes(number=place, exists=place < n_trees, stage=jnp.zeros_like(place)),
        room=plan.empty_room,
        splits=Splits(
            feature=jnp.zeros(n_nodes, jnp.int32),
            edge=jnp.full(n_nodes, config.n_bins - 1, jnp.int32),
            missing_left=jnp.zeros(n_nodes, bool),
            gain=jnp.zeros(n_nodes, jnp.float32),
        ),
    )
    sample_bins = fetch_bins(samples, draw, config.n_features)
    sparse = isinstance(config.criterion, SparseClassEntropy)
    level = lax.while_loop(
        lambda level: (level.depth < depth) & level.places.exists.any(),
        functools.partial(
            _grow_level,
            lottery=jax.tree.map(_by_level, lottery),
            samples=samples,
            sample_bins=sample_bins,
            order=sort_samples(sample_bins, config) if sparse else None,
            draw=draw,
            config=config,
            plan=plan,
        ),
        level,
    )
    # Where growth ended early, the rest of every way goes right.
    rest = depth - level.depth
    splits = jax.tree.map(lambda field: _by_tree(field, n_trees), level.splits)
    return splits, ((level.node + 1) << rest) - 1


def _drawn(samples: Samples, draw: Draw, config: GrowthConfig) -> Drawn:
    """All samples at the roots of their trees."""
    criterion = config.criterion
    label = group = jnp.zeros(0, jnp.int32)
    if isinstance(criterion, ClassEntropy):
        label = class_in_stage(draw.row, jnp.zeros_like(draw.row), samples, criterion)
    if isinstance(criterion, SparseClassEntropy):
        group = draw.tree * criterion.n_classes + samples.stat[draw.row, 0]
        group = split_groups(group, draw.copies > 0)
    return Drawn(draw.row, draw.tree, draw.copies, draw.weight, label, group)


def _by_level(nodes: Array) -> Array:
    """(n_trees, n_nodes, ...) breadth first -> level after level, the trees side by side."""
    n_trees, n_nodes = nodes.shape[:2]
    place = jnp.arange(n_trees * n_nodes, dtype=jnp.int32)
    level, first = _level_of(place // n_trees)
    within = place - n_trees * first
    tree, node = within >> level, within & first
    return take(nodes.reshape(-1, *nodes.shape[2:]), n_nodes * tree + first + node)


def _by_tree(nodes: Array, n_trees: int) -> Array:
    """Undo :func:`_by_level`."""
    node = jnp.arange(len(nodes) // n_trees, dtype=jnp.int32)
    level, first = _level_of(node)
    tree = jnp.arange(n_trees, dtype=jnp.int32)[:, None]
    return take(nodes, n_trees * first + (tree << level) + node - first)


def _level_of(node: Array) -> tuple[Array, Array]:
    """Level of each node of a tree, breadth first, and the first node of that level."""
    level = 31 - lax.clz(node + 1)
    return level, (jnp.int32(1) << level) - 1


def _grow_level(
    level: _Level,
    *,
    lottery: Lottery,  # level after level
    samples: Samples,
    sample_bins: SampleBins,
    order: FeatureOrder | None,
    draw: Draw,
    config: GrowthConfig,
    plan: Plan,
) -> _Level:
    nodes, drawn = open_slots(level.places, level.drawn, samples, config, plan)
    number = plan.n_trees * ((jnp.int32(1) << level.depth) - 1) + nodes.number
    room, found = search_level(
        level.room,
        jax.tree.map(lambda field: field.at[number].get(mode="clip"), lottery),
        drawn,
        sample_bins,
        order,
        nodes.exists,
        samples,
        config,
        plan,
    )
    split = jnp.isfinite(found.gain) & nodes.exists
    found = Splits(
        feature=jnp.where(split, found.feature, 0),
        edge=jnp.where(split, found.edge, config.n_bins - 1),
        missing_left=split & found.missing_left,
        gain=found.gain,
    )
    written = jnp.where(split, number, len(level.splits.feature))
    splits = jax.tree.map(
        lambda whole, part: whole.at[written].set(part, mode="drop"), level.splits, found
    )
    right = _goes_right(found, drawn, sample_bins, samples.zero, config)
    drawn = drawn._replace(at=2 * drawn.at + right)
    if isinstance(config.criterion, SparseClassEntropy):
        group = split_groups(2 * drawn.group + right, draw.copies > 0)
        drawn = drawn._replace(group=group)
    child = (2 * nodes.number[:, None] + jnp.arange(2, dtype=jnp.int32)).reshape(-1)
    n_more = len(level.places.number) - len(child)
    places = Nodes(child, jnp.repeat(split, 2), jnp.repeat(nodes.stage, 2))
    return _Level(
        depth=level.depth + 1,
        node=2 * level.node + right,
        drawn=drawn,
        places=jax.tree.map(lambda field: jnp.pad(field, (0, n_more)), places),
        room=room,
        splits=splits,
    )


def _goes_right(
    splits: Splits,  # of the slots
    drawn: Drawn,
    sample_bins: SampleBins,
    zero: Array,
    config: GrowthConfig,
) -> Array:  # int32 (n_drawn,), 0 or 1
    """Answer the test of each sample's slot.

    Samples of a node that is not split, and those that rest, go right, as x >= +inf would send
    them.
    """
    # One look-up of a word a sample, not three: feature, threshold, and the way of NaN.
    word = splits.feature << 9 | splits.edge << 1 | splits.missing_left.astype(jnp.int32)
    test = fusion_barrier(zero, take(fusion_barrier(zero, word), drawn.at))
    value = bin_of_feature(sample_bins, test >> 9)
    left = value > (test >> 1 & 0xFF)
    if config.has_missing:
        left = jnp.where(value == config.n_bins - 1, (test & 1) > 0, left)
    return (~left | (drawn.copies == 0)).astype(jnp.int32)
