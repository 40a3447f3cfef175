"""The best split of every slot of a level.

A class or vector criterion sums the samples into a table of histograms, in passes where memory
is short, and searches it block by block, as many as the level has. The table has all bins of a
feature, the ranks of those that a node of few rows occupies (:mod:`lrrf_jax.trees.compact_bins`),
or the parts between few thresholds (:mod:`lrrf_jax.trees.few_cuts`). A criterion with very many
classes runs along sorted samples, see :mod:`lrrf_jax.trees.sorted_search`.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

from lrrf_jax._typing import Array
from lrrf_jax.trees.compact_bins import rank_bins, rank_lookup
from lrrf_jax.trees.criterion import SparseClassEntropy, VectorCriterion
from lrrf_jax.trees.few_cuts import choose_edges, part_lookup
from lrrf_jax.trees.growth import GrowthConfig, Lottery, Samples, Splits
from lrrf_jax.trees.histogram import Layout, add_classes, add_vectors, block_of, clear_block
from lrrf_jax.trees.level_plan import Plan, Room, SlotKind
from lrrf_jax.trees.level_slots import Drawn
from lrrf_jax.trees.sample_bins import SampleBins, candidate_lookup
from lrrf_jax.trees.sorted_runs import FeatureOrder
from lrrf_jax.trees.sorted_search import search_sorted
from lrrf_jax.trees.splitter import (
    Evaluate,
    Split,
    best_split,
    choose_candidate,
    few_splits,
)


def search_level(
    room: Room,  # all 0
    lottery: Lottery,  # of each slot
    drawn: Drawn,
    sample_bins: SampleBins,
    order: FeatureOrder | None,  # for a sparse criterion
    exists: Array,  # bool (n_slots,), slots that hold a node
    samples: Samples,
    config: GrowthConfig,
    plan: Plan,
) -> tuple[Room, Splits]:
    """Find the best split of every slot; returns the room, all 0 again, and the splits.

    A slot that no split leaves enough samples on both sides of has gain -inf.
    """
    bins = candidate_lookup(
        sample_bins, drawn.at, lottery.candidates, config.n_features, samples.zero
    )
    if order is not None:
        best, feature, parent = search_sorted(order, bins, lottery, drawn, samples, config)
        return room, _splits(best, feature, parent)
    zeros = jnp.zeros(plan.n_slots, jnp.int32)
    gain = jnp.full(plan.n_slots, -jnp.inf, jnp.float32)
    carry = room, _packed(Splits(zeros, zeros, zeros.astype(bool), gain))
    edges = None
    if plan.occupancy is not None:
        n_used, layout = exists.sum(dtype=jnp.int32), plan.occupancy
        table, edges = choose_edges(
            room.table, bins, lottery, drawn, n_used, samples, config, layout
        )
        carry = room._replace(table=table), carry[1]
        bins = part_lookup(bins, drawn.at, edges, config)
    for kind in plan.kinds:
        n_used = exists[kind.first : kind.first + kind.n_slots].sum(dtype=jnp.int32)
        carry = _search_kind(
            carry, kind, n_used, bins, edges, lottery, drawn, samples, config, plan
        )
    room, found = carry
    gain = lax.bitcast_convert_type(found[3], jnp.float32)
    return room, Splits(found[_FEATURE], found[_EDGE], found[2].astype(bool), gain)


def _search_kind(
    carry: tuple[Room, Array],  # the room, and the packed splits of all slots
    kind: SlotKind,
    n_used: Array,  # int32 (), slots that hold a node
    bins: Callable[[Array], Array],
    edges: Array | None,  # int32 (n_cuts, n_candidates, at least n_slots), where not all are tried
    lottery: Lottery,
    drawn: Drawn,
    samples: Samples,
    config: GrowthConfig,
    plan: Plan,
) -> tuple[Room, Array]:
    """Find the best split of every slot of a kind."""
    zero, layout = samples.zero, kind.layout
    assert layout is not None
    block_nodes, n_blocks = layout.block_nodes, layout.n_blocks
    used_blocks = (n_used + block_nodes - 1) // block_nodes
    one_pass = kind.n_slots == plan.n_slots and kind.n_passes == 1

    def search_pass(number, carry):
        room, found = carry
        first = number * n_blocks
        n_here = jnp.minimum(used_blocks - first, n_blocks)
        at = drawn if one_pass else _in_pass(drawn, kind.first + first * block_nodes, layout)
        room = _add_samples(room, n_here, bins, at, samples, config, kind)

        def search_block(block, carry):
            (table, all_ranks), found = carry
            start = kind.first + (first + block) * block_nodes
            these = jax.tree.map(
                lambda field: lax.dynamic_slice_in_dim(field, start, block_nodes), lottery
            )
            part, ranks = block_of(table, block, layout, zero), None
            if kind.ranks is not None:
                ranks = block_of(all_ranks, block, kind.ranks, zero)[:, 0]
            tried = None
            if edges is not None:
                tried = lax.dynamic_slice_in_dim(edges, start, block_nodes, axis=2)
            result = _packed(_search_block(part, ranks, these, tried, samples, config))
            found = lax.dynamic_update_slice_in_dim(found, result, start, 1)
            # Clearing what was used costs less than new room for every level.
            table = clear_block(table, block, layout, result[_FEATURE])
            if kind.ranks is not None:
                all_ranks = clear_block(all_ranks, block, kind.ranks, result[_EDGE])
            return Room(table, all_ranks), found

        return lax.fori_loop(jnp.int32(0), n_here, search_block, (room, found))

    if one_pass:
        return search_pass(jnp.int32(0), carry)
    used_passes = (used_blocks + n_blocks - 1) // n_blocks
    return lax.fori_loop(jnp.int32(0), used_passes, search_pass, carry)


def _in_pass(drawn: Drawn, first_slot: Array, layout: Layout) -> Drawn:
    """Count slots from the first of a pass; samples of others count nowhere."""
    slot = drawn.at - first_slot
    here = (slot >= 0) & (slot < layout.n_blocks * layout.block_nodes)
    slot, weight, copies = (jnp.where(here, a, 0) for a in (slot, drawn.weight, drawn.copies))
    return drawn._replace(at=slot, weight=weight, copies=copies)


_FEATURE, _EDGE = 0, 1


def _packed(splits: Splits) -> Array:  # int32 (4, n_nodes): one array is cheaper to update
    gain = lax.bitcast_convert_type(splits.gain, jnp.int32)
    return jnp.stack([splits.feature, splits.edge, splits.missing_left.astype(jnp.int32), gain])


def _add_samples(
    room: Room,
    n_blocks: Array,  # int32 (), those that hold a node
    bins: Callable[[Array], Array],
    drawn: Drawn,  # in the slots of the pass
    samples: Samples,
    config: GrowthConfig,
    kind: SlotKind,
) -> Room:
    """Sum the samples of a pass."""
    layout, criterion, zero = kind.layout, config.criterion, samples.zero
    assert layout is not None
    assert not isinstance(criterion, SparseClassEntropy)
    (table, ranks), slot, weight, count = room, drawn.at, drawn.weight, drawn.copies
    if kind.ranks is not None:
        assert ranks is not None
        missing_rank = layout.n_bins - 1 if config.has_missing else None
        counts = count > 0
        ranks = rank_bins(ranks, bins, slot, counts, n_blocks, missing_rank, kind.ranks, zero)
        bins = rank_lookup(ranks, bins, slot, kind.ranks, zero)
    if isinstance(criterion, VectorCriterion):
        columns = [samples.stat[drawn.row] * weight[:, None]]
        if criterion.weight_row:
            columns.append(weight[:, None])
        if criterion.count_row:
            columns.append(count[:, None])
        vector = jnp.concatenate(columns, axis=1)
        return Room(add_vectors(table, bins, slot, vector, layout, zero), ranks)
    has_class = drawn.label < criterion.n_classes
    label = jnp.where(has_class, drawn.label, 0)
    weight, count = jnp.where(has_class, weight, 0), jnp.where(has_class, count, 0)
    table = add_classes(table, bins, slot, label, weight, layout, zero)
    if criterion.separate_count:
        last = jnp.full_like(label, criterion.n_classes)
        table = add_classes(table, bins, slot, last, count, layout, zero)
    return Room(table, ranks)


def _search_block(
    table: Array,  # (n_bins, n_stats, n_lanes)
    ranks: Array | None,  # uint8 (config.n_bins, n_lanes), where the table has fewer bins
    lottery: Lottery,  # of the nodes of the block
    edges: Array | None,  # int32 (n_cuts, n_candidates, n_nodes), where not all are tried
    samples: Samples,
    config: GrowthConfig,
) -> Splits:
    criterion, zero = config.criterion, samples.zero
    assert not isinstance(criterion, SparseClassEntropy)

    def evaluate(right, total):
        left = total - right
        score = criterion.score(right, zero) + criterion.score(left, zero)
        return score, criterion.count(right), criterion.count(left)

    best, feature = _best_of_node(table, ranks, evaluate, lottery, edges, samples.zero, config)
    # Every candidate counts the same samples.
    total = table[:, :, :: config.n_candidates].sum(0, dtype=table.dtype)
    parent_score = criterion.score(total, zero)
    if isinstance(criterion, VectorCriterion):
        accepted = criterion.accepts(best.score, parent_score, criterion.weight(total))
        if accepted is not None:
            best = best._replace(score=jnp.where(accepted, best.score, -jnp.inf))
    return _splits(best, feature, parent_score)


def _splits(best: Split, feature: Array, parent_score: Array) -> Splits:
    return Splits(feature, best.edge, best.missing_left, best.score - parent_score)


def _best_of_node(
    table: Array,
    ranks: Array | None,
    evaluate: Evaluate,
    lottery: Lottery,
    edges: Array | None,
    zero: Array,
    config: GrowthConfig,
) -> tuple[Split, Array]:
    has_missing, min_leaf = config.has_missing, config.min_samples_leaf
    if edges is None:
        lanes = best_split(
            table, evaluate, has_missing=has_missing, min_leaf=min_leaf, zero=zero, ranks=ranks
        )
    else:
        of_lanes = edges.swapaxes(1, 2).reshape(len(edges), -1)
        lanes = few_splits(table, evaluate, of_lanes, has_missing=has_missing, min_leaf=min_leaf)
    return choose_candidate(lanes, lottery.candidates)
