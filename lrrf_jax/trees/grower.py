"""Grow trees together, level by level, from binned features and integer statistics.

Several trees are one graph with several roots: their samples lie behind each other, and node
``n`` of tree ``t`` is number ``t 2**level + n`` of its level, so that its children are 2 i and
2 i + 1, as in one tree. Nothing passes between trees, and sums are exact, so a tree does not
depend on its company; but a pass over many short arrays costs what a pass over one long one does.

Each level is three flat passes: sum the samples into histograms, search them for the best split
of every node, move the samples to their child. A level works on *slots*, one for each node that
may still be split, so that a deep tree costs memory only for nodes that hold samples. All levels
share one compiled body, which searches the slots in blocks, as many as the level has: a program
for each level would take long to compile.
"""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from lrrf_jax._typing import AnyArray, Array
from lrrf_jax.trees.criterion import ClassEntropy, Criterion, SparseClassEntropy, Variance
from lrrf_jax.trees.histogram import Layout, add_classes, add_vectors, candidate_bins
from lrrf_jax.trees.sparse_classes import group_evaluation, split_groups
from lrrf_jax.trees.splitter import (
    Split,
    best_split,
    choose_candidate,
    draw_candidates,
    random_split,
)
from lrrf_jax.trees.xla import fusion_barrier, take


@dataclasses.dataclass(frozen=True)
class GrowthConfig:
    """What is the same for all trees of a forest, and shapes their program."""

    criterion: Criterion
    max_depth: int
    n_candidates: int
    n_features: int
    n_bins: int
    has_missing: bool = False
    splitter: str = "best"  # or "random"
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    bootstrap: bool = True
    histogram_bytes: int = 512 * 2**20  # more than that is summed in several passes
    search_bytes: int = 2**18  # searched at a time: what stays in a core's cache


class Samples(NamedTuple):
    """The training table as growth sees it."""

    bin_index: AnyArray  # uint8 (n_samples * n_features,), rows one after the other
    stat: AnyArray  # int32 (n_samples, ...), what the criterion sums
    leaf_stat: AnyArray  # int32 (n_samples, n_leaf_stats), what the leaves sum
    weight: AnyArray  # int32 (n_samples,), 0 for padding rows
    n_samples: AnyArray  # int32 (), rows that are not padding, at least 1
    thresholds: AnyArray  # float32 (n_features, n_bins - 1)


class Draw(NamedTuple):
    """The samples of some trees, one tree after the other, each sample once a tree."""

    tree: Array  # int32 (n_drawn,), 0 .. n_trees - 1
    row: Array  # int32 (n_drawn,)
    copies: Array  # int32 (n_drawn,), how often it was drawn; 0 = padding
    weight: Array  # int32 (n_drawn,), copies times the sample's own weight


class Splits(NamedTuple):
    """The tests of some nodes."""

    feature: Array  # int32 (n_nodes,)
    edge: Array  # int32 (n_nodes,), index of the threshold; n_bins - 1 where not split
    missing_left: Array  # bool (n_nodes,)
    gain: Array  # float32 (n_nodes,), rise of the purity score, 0 where not split


class Lottery(NamedTuple):
    """All that chance decides in a tree beside its samples, by the number of the node."""

    candidates: Array  # int32 (n_nodes, n_candidates), features that a node may split on
    uniform: Array | None  # float32 (n_nodes, n_candidates), for random thresholds


def draw_lottery(key: Array, config: GrowthConfig) -> Lottery:
    """Draw for every node of one tree, breadth first."""
    key_candidates, key_thresholds = jax.random.split(key)
    n_nodes, n_candidates = 2**config.max_depth - 1, config.n_candidates
    candidates = draw_candidates(key_candidates, n_nodes, config.n_features, n_candidates)
    if config.splitter == "best":
        return Lottery(candidates, None)
    return Lottery(candidates, jax.random.uniform(key_thresholds, (n_nodes, n_candidates)))


class _Level(NamedTuple):
    """What one level hands to the next."""

    depth: Array  # int32 ()
    node: Array  # int32 (n_drawn,), number of each sample's node within the level
    group: Array  # int32 (n_drawn,), its (node, class) pair, for SparseClassEntropy
    alive: Array  # bool (n_trees 2**(max_depth - 1),), nodes of the level that may be split
    stage: Array  # int32 (same,), which column of classes each node looks at
    table: Array  # int32 (layout.size,), all 0: the room that histograms are summed in
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
    n_nodes, n_widest = n_trees * (2**depth - 1), n_trees * 2 ** (depth - 1)
    plan = _plan(config, n_trees, samples.weight.shape[0])
    level = _Level(
        depth=jnp.int32(0),
        node=draw.tree,
        group=jnp.zeros_like(draw.tree),
        alive=jnp.arange(n_widest) < n_trees,
        stage=jnp.zeros(n_widest, jnp.int32),
        table=jnp.zeros(plan.layout.size if plan.layout else 0, jnp.int32),
        splits=Splits(
            feature=jnp.zeros(n_nodes, jnp.int32),
            edge=jnp.full(n_nodes, config.n_bins - 1, jnp.int32),
            missing_left=jnp.zeros(n_nodes, bool),
            gain=jnp.zeros(n_nodes, jnp.float32),
        ),
    )
    if isinstance(config.criterion, SparseClassEntropy):
        group = draw.tree * config.criterion.n_classes + samples.stat[draw.row, 0]
        level = level._replace(group=split_groups(group, draw.copies > 0))
    level = lax.while_loop(
        lambda level: (level.depth < depth) & level.alive.any(),
        functools.partial(
            _grow_level,
            lottery=jax.tree.map(lambda field: _by_level(field, depth), lottery),
            samples=samples,
            draw=draw,
            config=config,
            plan=plan,
        ),
        level,
    )
    # Where growth ended early, the rest of every way goes right.
    rest = depth - level.depth
    splits = jax.tree.map(lambda field: _by_tree(field, n_trees, depth), level.splits)
    return splits, ((level.node + 1) << rest) - 1


def _by_level(nodes: Array, depth: int) -> Array:
    """(n_trees, n_nodes, ...) breadth first -> level after level, the trees side by side."""
    levels = [nodes[:, 2**k - 1 : 2 ** (k + 1) - 1] for k in range(depth)]
    return jnp.concatenate([level.reshape(-1, *nodes.shape[2:]) for level in levels])


def _by_tree(nodes: Array, n_trees: int, depth: int) -> Array:
    """Undo :func:`_by_level`."""
    ends = [n_trees * (2**k - 1) for k in range(depth + 1)]
    levels = [nodes[a:b].reshape(n_trees, -1) for a, b in zip(ends, ends[1:], strict=False)]
    return jnp.concatenate(levels, axis=1)


class _Plan(NamedTuple):
    """How the slots of a level are dealt with: in passes over the samples, each of blocks."""

    n_trees: int
    n_slots: int  # room for the nodes of a level that may be split, rounded up to whole passes
    n_passes: int
    layout: Layout | None  # of one pass; None for a sparse criterion, which has its own


def _plan(config: GrowthConfig, n_trees: int, n_samples: int) -> _Plan:
    widest = max(1, n_samples // max(2, config.min_samples_split))
    n_slots = n_trees * min(2 ** (config.max_depth - 1), widest)
    if isinstance(config.criterion, SparseClassEntropy):
        return _Plan(n_trees, n_slots, 1, None)
    n_stats = config.criterion.n_stats
    one_node = 4 * config.n_bins * n_stats * config.n_candidates
    block_nodes = _floor_power_of_two(max(1, min(n_slots, config.search_bytes // one_node)))
    n_blocks = -(-n_slots // block_nodes)
    pass_blocks = max(1, min(n_blocks, config.histogram_bytes // (one_node * block_nodes)))
    n_passes = -(-n_blocks // pass_blocks)
    layout = Layout(pass_blocks, config.n_bins, n_stats, block_nodes, config.n_candidates)
    return _Plan(n_trees, n_passes * pass_blocks * block_nodes, n_passes, layout)


def _floor_power_of_two(number: int) -> int:
    return 1 << (number.bit_length() - 1)


class _Drawn(NamedTuple):
    """The samples that a level may still part, in the terms of that level."""

    row: Array  # int32 (n_drawn,)
    slot: Array  # int32 (n_drawn,), 0 for samples in no slot
    inside: Array  # bool (n_drawn,), whether in a slot
    copies: Array  # int32 (n_drawn,), 0 outside
    weight: Array  # int32 (n_drawn,), 0 outside
    group: Array  # int32 (n_drawn,)


def _grow_level(
    level: _Level,
    *,
    lottery: Lottery,
    samples: Samples,
    draw: Draw,
    config: GrowthConfig,
    plan: _Plan,
) -> _Level:
    n_slots = plan.n_slots
    n_alive = len(level.alive)
    slot_of_node = jnp.where(level.alive, jnp.cumsum(level.alive.astype(jnp.int32)) - 1, -1)
    slot = jnp.where(draw.copies > 0, take(slot_of_node, level.node), -1)
    inside, slot = slot >= 0, jnp.maximum(slot, 0)
    count, weight = jnp.where(inside, draw.copies, 0), jnp.where(inside, draw.weight, 0)
    drawn = _Drawn(draw.row, slot, inside, count, weight, level.group)
    # Slots without a node get number n_alive, which every write below drops.
    node = jnp.nonzero(level.alive, size=n_slots, fill_value=n_alive)[0].astype(jnp.int32)

    stage = level.stage.at[node].get(mode="fill", fill_value=0)
    stage, pure = _advance_stage(stage, drawn, samples, config)
    number = plan.n_trees * ((jnp.int32(1) << level.depth) - 1) + node
    here = jax.tree.map(lambda field: field.at[number].get(mode="clip"), lottery)
    if plan.layout is None:
        table, found = level.table, _search_sparse(here, drawn, samples, config)
    else:
        table, found = _search_level(level.table, here, stage, drawn, samples, config, plan)
    split = jnp.isfinite(found.gain) & ~pure & (node < n_alive)
    edge = jnp.where(split, found.edge, config.n_bins - 1)
    feature = jnp.where(split, found.feature, 0)
    missing_left = split & found.missing_left
    written = jnp.where(split, number, len(level.splits.feature))
    values = Splits(feature, edge, missing_left, found.gain)
    splits = jax.tree.map(
        lambda whole, part: whole.at[written].set(part, mode="drop"), level.splits, values
    )

    # Samples of a node that is not split go right, as x >= +inf would send them.
    # One look-up of a word a sample, not three: feature, threshold, and the way of NaN.
    test = take(feature << 9 | edge << 1 | missing_left.astype(jnp.int32), slot)
    value = take(samples.bin_index, draw.row * config.n_features + (test >> 9))
    value = value.astype(jnp.int32)
    left = value > (test >> 1 & 0xFF)
    if config.has_missing:
        left = jnp.where(value == config.n_bins - 1, (test & 1) > 0, left)
    right = (~left | ~inside).astype(jnp.int32)

    group = level.group
    if isinstance(config.criterion, SparseClassEntropy):
        group = split_groups(2 * group + right, draw.copies > 0)

    child_count = jnp.zeros(2 * n_slots, jnp.int32).at[2 * slot + right].add(count)
    child = (2 * node[:, None] + jnp.arange(2, dtype=jnp.int32)).reshape(-1)
    goes_on = jnp.repeat(split, 2) & (child_count >= config.min_samples_split)
    alive = jnp.zeros_like(level.alive)
    child = jnp.where(goes_on, child, n_alive)
    return _Level(
        depth=level.depth + 1,
        node=2 * level.node + right,
        group=group,
        alive=alive.at[child].set(True, mode="drop"),
        stage=level.stage.at[child].set(jnp.repeat(stage, 2), mode="drop"),
        table=table,
        splits=splits,
    )


def _search_level(
    table: Array,  # int32 (layout.size,), all 0
    lottery: Lottery,  # of each slot
    stage: Array,  # int32 (n_slots,)
    drawn: _Drawn,
    samples: Samples,
    config: GrowthConfig,
    plan: _Plan,
) -> tuple[Array, Splits]:
    """Find the best split of every slot; returns the table, all 0 again, and the splits.

    A slot that no split leaves enough samples on both sides of has gain -inf.
    """
    assert plan.layout is not None
    layout, zero = plan.layout, _zero(samples)
    n_slots, block_nodes, n_blocks = plan.n_slots, layout.block_nodes, layout.n_blocks
    bins = candidate_bins(
        samples.bin_index, drawn.row, drawn.slot, lottery.candidates, config.n_features, zero
    )
    n_used = jnp.where(drawn.inside, drawn.slot, -1).max() + 1
    used_blocks = (n_used + block_nodes - 1) // block_nodes
    block_size = layout.size // n_blocks

    def search_pass(number, carry):
        table, found = carry
        first = number * n_blocks
        table = _add_samples(
            table, first * block_nodes, bins, stage, drawn, samples, plan, config.criterion
        )

        def search_block(block, found):
            start = (first + block) * block_nodes
            these = jax.tree.map(
                lambda field: lax.dynamic_slice_in_dim(field, start, block_nodes), lottery
            )
            part = lax.dynamic_slice_in_dim(table, block * block_size, block_size)
            part = fusion_barrier(zero, part).reshape(layout.shape[1:])
            result = _packed(_search_block(part, these, samples, config))
            return lax.dynamic_update_slice_in_dim(found, result, start, 1)

        def clear_block(block, table):
            nothing = jnp.zeros(block_size, jnp.int32)
            return lax.dynamic_update_slice_in_dim(table, nothing, block * block_size, 0)

        n_here = jnp.minimum(used_blocks - first, n_blocks)
        found = lax.fori_loop(jnp.int32(0), n_here, search_block, found)
        # Clearing what was used costs less than new room for every level. It comes after the
        # search by a dependence (features are never negative): else XLA would copy the table.
        n_clear = n_here + jnp.minimum(found[_FEATURE].min(), 0)
        return lax.fori_loop(jnp.int32(0), n_clear, clear_block, table), found

    zeros = jnp.zeros(n_slots, jnp.int32)
    nothing = Splits(zeros, zeros, zeros.astype(bool), jnp.full(n_slots, -jnp.inf, jnp.float32))
    carry = table, _packed(nothing)
    if plan.n_passes == 1:
        table, found = search_pass(jnp.int32(0), carry)
    else:
        used_passes = (used_blocks + n_blocks - 1) // n_blocks
        table, found = lax.fori_loop(jnp.int32(0), used_passes, search_pass, carry)
    gain = lax.bitcast_convert_type(found[3], jnp.float32)
    return table, Splits(found[_FEATURE], found[1], found[2].astype(bool), gain)


_FEATURE = 0


def _packed(splits: Splits) -> Array:  # int32 (4, n_nodes): one array is cheaper to update
    gain = lax.bitcast_convert_type(splits.gain, jnp.int32)
    return jnp.stack([splits.feature, splits.edge, splits.missing_left.astype(jnp.int32), gain])


def _add_samples(
    table: Array,
    first_slot: Array,
    bins: Array,
    stage: Array,
    drawn: _Drawn,
    samples: Samples,
    plan: _Plan,
    criterion: ClassEntropy | Variance,
) -> Array:  # int32 (layout.size,)
    """Sum the samples whose slots lie in this pass."""
    layout, zero = plan.layout, _zero(samples)
    assert layout is not None
    slot, weight, count = drawn.slot, drawn.weight, drawn.copies
    if plan.n_passes > 1:
        slot = slot - first_slot
        here = (slot >= 0) & (slot < layout.n_blocks * layout.block_nodes)
        slot, weight, count = (jnp.where(here, a, 0) for a in (slot, weight, count))
    if isinstance(criterion, Variance):
        columns = [samples.stat[drawn.row] * weight[:, None]]
        if not criterion.masked:
            columns.append(weight[:, None])
        if criterion.masked or criterion.separate_count:
            columns.append(count[:, None])
        return add_vectors(table, bins, slot, jnp.concatenate(columns, axis=1), layout, zero)
    label = _class_of(stage, drawn, samples)
    has_class, label = label >= 0, jnp.maximum(label, 0)
    weight, count = jnp.where(has_class, weight, 0), jnp.where(has_class, count, 0)
    table = add_classes(table, bins, slot, label, weight, layout, zero)
    if criterion.separate_count:
        last = jnp.full_like(label, criterion.n_classes)
        table = add_classes(table, bins, slot, last, count, layout, zero)
    return table


def _search_block(
    table: Array,  # int32 (n_bins, n_stats, n_lanes)
    lottery: Lottery,  # of the nodes of the block
    samples: Samples,
    config: GrowthConfig,
) -> Splits:
    criterion, zero = config.criterion, _zero(samples)
    assert not isinstance(criterion, SparseClassEntropy)

    def evaluate(right, total):
        left = total - right
        score = criterion.score(right, zero) + criterion.score(left, zero)
        return score, criterion.count(right), criterion.count(left)

    occupancy = criterion.count(table) if config.splitter == "random" else None
    best, feature = _best_of_node(table, occupancy, evaluate, None, lottery, samples, config)
    total = table[:, :, :: config.n_candidates].sum(0)  # every candidate counts the same samples
    return _splits(best, feature, criterion.score(total, zero))


def _search_sparse(
    lottery: Lottery, drawn: _Drawn, samples: Samples, config: GrowthConfig
) -> Splits:
    assert isinstance(config.criterion, SparseClassEntropy)
    bins = candidate_bins(
        samples.bin_index,
        drawn.row,
        drawn.slot,
        lottery.candidates,
        config.n_features,
        _zero(samples),
    )
    n_slots = len(lottery.candidates)
    slot = jnp.where(drawn.inside, drawn.slot, n_slots)
    evaluate, table, occupancy, parent_score, column_lane = group_evaluation(
        config.criterion,
        drawn.group,
        slot,
        bins,
        drawn.weight,
        drawn.copies,
        config.n_bins,
        n_slots,
        _zero(samples),
    )
    best, feature = _best_of_node(table, occupancy, evaluate, column_lane, lottery, samples, config)
    return _splits(best, feature, parent_score)


def _splits(best: Split, feature: Array, parent_score: Array) -> Splits:
    return Splits(feature, best.edge, best.missing_left, best.score - parent_score)


def _best_of_node(
    table, occupancy, evaluate, column_lane, lottery, samples, config
) -> tuple[Split, Array]:
    options = {"has_missing": config.has_missing, "min_leaf": config.min_samples_leaf}
    candidates = lottery.candidates
    if config.splitter == "best":
        lanes = best_split(table, evaluate, zero=_zero(samples), **options)
    else:
        thresholds = samples.thresholds[candidates.reshape(-1)]
        uniform = lottery.uniform.reshape(-1)
        lanes = random_split(
            table, occupancy, evaluate, thresholds, uniform, column_lane=column_lane, **options
        )
    return choose_candidate(lanes, candidates)


def _zero(samples: Samples) -> Array:
    """Give the 0 of `fusion_barrier`, which the compiler must not know."""
    return jnp.minimum(samples.n_samples, 0)


def _class_of(stage: Array, drawn: _Drawn, samples: Samples) -> Array:
    """Class of each sample in the stage of its slot, int32 (n_drawn,); -1 = none."""
    n_stages = samples.stat.shape[1]
    return take(samples.stat.reshape(-1), drawn.row * n_stages + take(stage, drawn.slot))


def _advance_stage(
    stage: Array, drawn: _Drawn, samples: Samples, config: GrowthConfig
) -> tuple[Array, Array]:
    """Move each node on to the first stage in which its samples differ.

    Returns the stages, int32 (n_slots,), and the nodes that are pure to the end, bool (n_slots,).
    """
    criterion, n_slots = config.criterion, len(stage)
    if isinstance(criterion, SparseClassEntropy):
        # The search finds no split worth making in a pure node, see `group_evaluation`.
        return stage, jnp.zeros(n_slots, bool)
    if isinstance(criterion, Variance):
        return stage, _agree(criterion, drawn, samples, n_slots)

    def pure_nodes(stage):
        label = _class_of(stage, drawn, samples)
        cell = drawn.slot * criterion.n_classes + jnp.maximum(label, 0)
        weight = jnp.where(label >= 0, drawn.weight, 0)
        sums = jnp.zeros(n_slots * criterion.n_classes, jnp.int32)
        sums = sums.at[cell].add(weight, mode="promise_in_bounds")
        return criterion.is_pure(sums.reshape(n_slots, -1).T)

    used = jnp.arange(n_slots, dtype=jnp.int32) <= drawn.slot.max()

    def moving(state):
        stage, pure = state
        return used & pure & (stage < criterion.n_stages - 1)

    def step(state):
        stage = state[0] + moving(state).astype(jnp.int32)
        return stage, pure_nodes(stage)

    state = stage, pure_nodes(stage)
    if criterion.n_stages == 1:
        return state
    return lax.while_loop(lambda state: moving(state).any(), step, state)


def _agree(
    criterion: Variance, drawn: _Drawn, samples: Samples, n_slots: int
) -> Array:  # bool (n_slots,)
    """Whether the samples of each node agree, so that no split can gain."""
    slot = jnp.where(drawn.inside, drawn.slot, n_slots)
    stat = samples.stat[drawn.row]
    if criterion.signs:
        signs = stat[:, : criterion.n_values]
        both = [
            jnp.zeros((n_slots, criterion.n_values), bool).at[slot].max(seen, mode="drop")
            for seen in (signs > 0, signs < 0)
        ]
        return ~(both[0] & both[1]).any(1)
    # Compare every sample with one of its node.
    position = jnp.arange(len(slot), dtype=jnp.int32)
    example = jnp.zeros(n_slots, jnp.int32).at[slot].max(position, mode="drop")
    differs = (stat != stat[take(example, drawn.slot)]).any(1)
    return ~jnp.zeros(n_slots, bool).at[slot].max(differs, mode="drop")
