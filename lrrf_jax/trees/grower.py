"""Grow one tree, level by level, from binned features and integer statistics.

Each level is three flat passes: sum the samples into histograms, search them for the best split
of every node, move the samples to their child. A level works on *slots*, one for each node that
may still be split, so that a deep tree costs memory only for nodes that hold samples. All levels
share one compiled body, which searches the slots in blocks, as many as the level has: a program
for each level would take long to compile.
"""

import dataclasses
import functools
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from lrrf_jax._typing import Array
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
    splitter: Literal["best", "random"] = "best"
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    bootstrap: bool = True
    histogram_bytes: int = 512 * 2**20  # more than that is summed in several passes
    search_bytes: int = 2**18  # searched at a time: what stays in a core's cache


class Samples(NamedTuple):
    """The training table as growth sees it."""

    bin_index: Array  # uint8 (n_samples * n_features,), rows one after the other
    stat: Array  # int32 (n_samples, ...), what the criterion sums
    leaf_stat: Array  # int32 (n_samples, n_leaf_stats), what the leaves sum
    weight: Array  # int32 (n_samples,), 0 for padding rows
    n_samples: Array  # int32 (), rows that are not padding, at least 1
    thresholds: Array  # float32 (n_features, n_bins - 1)


class Draw(NamedTuple):
    """The samples of one tree, each once."""

    row: Array  # int32 (n_drawn,)
    count: Array  # int32 (n_drawn,), how often it was drawn; 0 = padding


class Splits(NamedTuple):
    """The tests of one tree, in breadth-first order."""

    feature: Array  # int32 (n_nodes,)
    edge: Array  # int32 (n_nodes,), index of the threshold; n_bins - 1 where not split
    missing_left: Array  # bool (n_nodes,)
    gain: Array  # float32 (n_nodes,), rise of the purity score, 0 where not split


class _Level(NamedTuple):
    """What one level hands to the next."""

    depth: Array  # int32 ()
    node: Array  # int32 (n_drawn,), number of each sample's node within the level
    stage: Array  # int32 (n_drawn,), which column of classes its node looks at
    group: Array  # int32 (n_drawn,), its (node, class) pair, for SparseClassEntropy
    alive: Array  # bool (2 ** (max_depth - 1),), nodes of the level that may be split
    table: Array  # int32 (prod(layout.shape),), all 0: the room that histograms are summed in
    splits: Splits


def grow_tree(
    key: Array,
    samples: Samples,
    draw: Draw,
    config: GrowthConfig,
) -> tuple[Splits, Array]:  # int32 (n_drawn,) leaf 0 .. 2**max_depth - 1
    """Grow one tree on the samples of ``draw``; pure, to be jitted by the caller.

    Cost O(max_depth n_drawn n_candidates) for the sums of a class criterion, times the length
    of the vector for a vector criterion, and O(n_nodes n_candidates n_bins) for the search.
    """
    n_drawn, depth = len(draw.row), config.max_depth
    n_nodes = 2**depth - 1
    zeros = jnp.zeros(n_drawn, jnp.int32)
    plan = _plan(config, samples.weight.shape[0])
    lottery = _draw_lottery(key, config)
    level = _Level(
        depth=jnp.int32(0),
        node=zeros,
        stage=zeros,
        group=samples.stat[draw.row, 0],
        alive=jnp.arange(2 ** (depth - 1)) == 0,
        table=jnp.zeros(plan.layout.size if plan.layout else 0, jnp.int32),
        splits=Splits(
            feature=jnp.zeros(n_nodes, jnp.int32),
            edge=jnp.full(n_nodes, config.n_bins - 1, jnp.int32),
            missing_left=jnp.zeros(n_nodes, bool),
            gain=jnp.zeros(n_nodes, jnp.float32),
        ),
    )
    if isinstance(config.criterion, SparseClassEntropy):
        level = level._replace(group=split_groups(level.group, draw.count > 0))
    level = lax.while_loop(
        lambda level: (level.depth < depth) & level.alive.any(),
        functools.partial(
            _grow_level, lottery=lottery, samples=samples, draw=draw, config=config, plan=plan
        ),
        level,
    )
    # Where growth ended early, the rest of every way goes right.
    rest = depth - level.depth
    return level.splits, ((level.node + 1) << rest) - 1


class _Lottery(NamedTuple):
    """All that chance decides in a tree, by the breadth-first number of the node."""

    candidates: Array  # int32 (n_nodes, n_candidates), features that a node may split on
    uniform: Array | None  # float32 (n_nodes, n_candidates), for random thresholds


def _draw_lottery(key: Array, config: GrowthConfig) -> _Lottery:
    key_candidates, key_thresholds = jax.random.split(key)
    n_nodes, n_candidates = 2**config.max_depth - 1, config.n_candidates
    candidates = draw_candidates(key_candidates, n_nodes, config.n_features, n_candidates)
    if config.splitter == "best":
        return _Lottery(candidates, None)
    return _Lottery(candidates, jax.random.uniform(key_thresholds, (n_nodes, n_candidates)))


class _Plan(NamedTuple):
    """How the slots of a level are dealt with: in passes over the samples, each of blocks."""

    n_slots: int  # room for the nodes of a level that may be split, rounded up to whole passes
    n_passes: int
    layout: Layout | None  # of one pass; None for a sparse criterion, which has its own


def _plan(config: GrowthConfig, n_samples: int) -> _Plan:
    widest = max(1, n_samples // max(2, config.min_samples_split))
    n_slots = min(2 ** (config.max_depth - 1), widest)
    if isinstance(config.criterion, SparseClassEntropy):
        return _Plan(n_slots, 1, None)
    n_stats = config.criterion.n_stats
    one_node = 4 * config.n_bins * n_stats * config.n_candidates
    block_nodes = _floor_power_of_two(max(1, min(n_slots, config.search_bytes // one_node)))
    n_blocks = -(-n_slots // block_nodes)
    pass_blocks = max(1, min(n_blocks, config.histogram_bytes // (one_node * block_nodes)))
    n_passes = -(-n_blocks // pass_blocks)
    layout = Layout(pass_blocks, config.n_bins, n_stats, block_nodes, config.n_candidates)
    return _Plan(n_passes * pass_blocks * block_nodes, n_passes, layout)


def _floor_power_of_two(number: int) -> int:
    return 1 << (number.bit_length() - 1)


class _Drawn(NamedTuple):
    """The samples that a level may still part, in the terms of that level."""

    row: Array  # int32 (n_drawn,)
    slot: Array  # int32 (n_drawn,), 0 for samples in no slot
    inside: Array  # bool (n_drawn,), whether in a slot
    count: Array  # int32 (n_drawn,), 0 outside
    weight: Array  # int32 (n_drawn,), 0 outside
    stage: Array  # int32 (n_drawn,)
    group: Array  # int32 (n_drawn,)


def _grow_level(
    level: _Level,
    *,
    lottery: _Lottery,
    samples: Samples,
    draw: Draw,
    config: GrowthConfig,
    plan: _Plan,
) -> _Level:
    n_slots = plan.n_slots
    n_alive = len(level.alive)
    inside = take(level.alive, level.node) & (draw.count > 0)
    slot_of_node = jnp.cumsum(level.alive.astype(jnp.int32)) - 1
    slot = jnp.where(inside, take(slot_of_node, level.node), 0)
    count = jnp.where(inside, draw.count, 0)
    weight = take(samples.weight, draw.row) * count
    drawn = _Drawn(draw.row, slot, inside, count, weight, level.stage, level.group)
    # Slots without a node get number n_alive, which every write below drops.
    node = jnp.nonzero(level.alive, size=n_slots, fill_value=n_alive)[0].astype(jnp.int32)

    stage, pure = _advance_stage(drawn, samples, config, n_slots)
    drawn = drawn._replace(stage=stage)
    heap = (jnp.int32(1) << level.depth) - 1 + node
    here = jax.tree.map(lambda field: field.at[heap].get(mode="clip"), lottery)
    if plan.layout is None:
        table, found = level.table, _search_sparse(here, drawn, samples, config)
    else:
        table, found = _search_level(level.table, here, drawn, samples, config, plan)
    best, feature, parent_score = found

    split = jnp.isfinite(best.score) & ~pure & (node < n_alive)
    edge = jnp.where(split, best.edge, config.n_bins - 1)
    feature = jnp.where(split, feature, 0)
    missing_left = split & best.missing_left
    written = jnp.where(split, heap, len(level.splits.feature))
    values = Splits(feature, edge, missing_left, best.score - parent_score)
    splits = jax.tree.map(
        lambda whole, part: whole.at[written].set(part, mode="drop"), level.splits, values
    )

    # Samples of a node that is not split go right, as x >= +inf would send them.
    value = take(samples.bin_index, draw.row * config.n_features + take(feature, slot))
    value = value.astype(jnp.int32)
    left = value > take(edge, slot)
    if config.has_missing:
        left = jnp.where(value == config.n_bins - 1, take(missing_left, slot), left)
    right = (~left | ~inside).astype(jnp.int32)

    group = level.group
    if isinstance(config.criterion, SparseClassEntropy):
        group = split_groups(2 * group + right, draw.count > 0)

    child_count = jnp.zeros(2 * n_slots, jnp.int32).at[2 * slot + right].add(count)
    child = (2 * node[:, None] + jnp.arange(2, dtype=jnp.int32)).reshape(-1)
    goes_on = jnp.repeat(split, 2) & (child_count >= config.min_samples_split)
    alive = jnp.zeros_like(level.alive)
    alive = alive.at[jnp.where(goes_on, child, n_alive)].set(True, mode="drop")
    return _Level(level.depth + 1, 2 * level.node + right, stage, group, alive, table, splits)


def _search_level(
    table: Array,  # int32 (layout.size,), all 0
    lottery: _Lottery,  # of each slot
    drawn: _Drawn,
    samples: Samples,
    config: GrowthConfig,
    plan: _Plan,
) -> tuple[Array, tuple[Split, Array, Array]]:
    """Find the best split of every slot.

    Returns the table, all 0 again, and for each slot the split, its feature, and the node's own
    score.
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
            table, first * block_nodes, bins, drawn, samples, plan, config.criterion
        )

        def search_block(block, found):
            start = (first + block) * block_nodes
            these = jax.tree.map(
                lambda field: lax.dynamic_slice_in_dim(field, start, block_nodes), lottery
            )
            part = lax.dynamic_slice_in_dim(table, block * block_size, block_size)
            part = fusion_barrier(zero, part).reshape(layout.shape[1:])
            result = _search_block(part, these, samples, config)
            return jax.tree.map(
                lambda whole, part: lax.dynamic_update_slice_in_dim(whole, part, start, 0),
                found,
                result,
            )

        def clear_block(block, table):
            nothing = jnp.zeros(block_size, jnp.int32)
            return lax.dynamic_update_slice_in_dim(table, nothing, block * block_size, 0)

        n_here = jnp.minimum(used_blocks - first, n_blocks)
        found = lax.fori_loop(jnp.int32(0), n_here, search_block, found)
        # Clearing what was used costs less than new room for every level. It comes after the
        # search by a dependence (features are never negative): else XLA would copy the table.
        n_clear = n_here + jnp.minimum(found[1].min(), 0)
        return lax.fori_loop(jnp.int32(0), n_clear, clear_block, table), found

    zeros = jnp.zeros(n_slots, jnp.int32)
    no_score = jnp.full(n_slots, -jnp.inf, jnp.float32)
    found = Split(no_score, zeros, zeros.astype(bool)), zeros, no_score
    if plan.n_passes == 1:
        return search_pass(jnp.int32(0), (table, found))
    used_passes = (used_blocks + n_blocks - 1) // n_blocks
    return lax.fori_loop(jnp.int32(0), used_passes, search_pass, (table, found))


def _add_samples(
    table: Array,
    first_slot: Array,
    bins: Array,
    drawn: _Drawn,
    samples: Samples,
    plan: _Plan,
    criterion: ClassEntropy | Variance,
) -> Array:  # int32 (layout.size,)
    """Sum the samples whose slots lie in this pass."""
    layout, zero = plan.layout, _zero(samples)
    assert layout is not None
    slot, weight, count = drawn.slot, drawn.weight, drawn.count
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
    label = _class_of(drawn, samples)
    has_class, label = label >= 0, jnp.maximum(label, 0)
    weight, count = jnp.where(has_class, weight, 0), jnp.where(has_class, count, 0)
    table = add_classes(table, bins, slot, label, weight, layout, zero)
    if criterion.separate_count:
        last = jnp.full_like(label, criterion.n_classes)
        table = add_classes(table, bins, slot, last, count, layout, zero)
    return table


def _search_block(
    table: Array,  # int32 (n_bins, n_stats, n_lanes)
    lottery: _Lottery,  # of the nodes of the block
    samples: Samples,
    config: GrowthConfig,
) -> tuple[Split, Array, Array]:
    criterion, zero = config.criterion, _zero(samples)
    assert not isinstance(criterion, SparseClassEntropy)

    def evaluate(right, total):
        left = total - right
        score = criterion.score(right, zero) + criterion.score(left, zero)
        return score, criterion.count(right), criterion.count(left)

    occupancy = criterion.count(table) if config.splitter == "random" else None
    best, feature = _best_of_node(table, occupancy, evaluate, None, lottery, samples, config)
    total = table[:, :, :: config.n_candidates].sum(0)  # every candidate counts the same samples
    return best, feature, criterion.score(total, zero)


def _search_sparse(
    lottery: _Lottery, drawn: _Drawn, samples: Samples, config: GrowthConfig
) -> tuple[Split, Array, Array]:
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
        drawn.count,
        config.n_bins,
        n_slots,
        _zero(samples),
    )
    best, feature = _best_of_node(
        table, occupancy, evaluate, column_lane, lottery, samples, config
    )
    return best, feature, parent_score


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


def _class_of(drawn: _Drawn, samples: Samples) -> Array:
    n_stages = samples.stat.shape[1]
    return take(samples.stat.reshape(-1), drawn.row * n_stages + drawn.stage)


def _advance_stage(
    drawn: _Drawn, samples: Samples, config: GrowthConfig, n_slots: int
) -> tuple[Array, Array]:
    """Move each node on to the first stage in which its samples differ.

    Returns the stage of each sample, int32 (n_drawn,), and the nodes that are pure to the end,
    bool (n_slots,).
    """
    criterion = config.criterion
    if isinstance(criterion, SparseClassEntropy):
        # The search finds no split worth making in a pure node, see `group_evaluation`.
        return drawn.stage, jnp.zeros(n_slots, bool)
    if isinstance(criterion, Variance):
        return drawn.stage, _agree(criterion, drawn, samples, n_slots)

    def pure_nodes(stage):
        label = _class_of(drawn._replace(stage=stage), samples)
        cell = drawn.slot * criterion.n_classes + jnp.maximum(label, 0)
        weight = jnp.where(label >= 0, drawn.weight, 0)
        sums = jnp.zeros(n_slots * criterion.n_classes, jnp.int32)
        sums = sums.at[cell].add(weight, mode="promise_in_bounds")
        return criterion.is_pure(sums.reshape(n_slots, -1).T)

    def moving(state):
        stage, pure = state
        return drawn.inside & take(pure, drawn.slot) & (stage < criterion.n_stages - 1)

    def step(state):
        stage = state[0] + moving(state).astype(jnp.int32)
        return stage, pure_nodes(stage)

    state = drawn.stage, pure_nodes(drawn.stage)
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
