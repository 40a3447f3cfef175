"""The best split of every slot of a level.

A class or vector criterion sums the samples into a table of histograms, in passes where memory
is short, and searches it block by block, as many as the level has. A criterion with very many
classes runs along sorted samples, see :mod:`lrrf_jax.trees.sorted_search`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from lrrf_jax._typing import Array
from lrrf_jax.trees.criterion import SparseClassEntropy, VectorCriterion
from lrrf_jax.trees.growth import GrowthConfig, Lottery, Samples, Splits
from lrrf_jax.trees.histogram import Layout, add_classes, add_vectors, block_of
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


class Plan(NamedTuple):
    """How the slots of a level are dealt with: in passes over the samples, each of blocks."""

    n_trees: int
    n_slots: int  # room for the nodes of a level that may be split, rounded up to whole passes
    n_passes: int
    layout: Layout | None  # of one pass; None for a sparse criterion

    @property
    def empty_table(self) -> Array:  # (layout.size,), all 0
        """The room that histograms are summed in."""
        if self.layout is None:
            return jnp.zeros(0, jnp.int32)
        return jnp.zeros(self.layout.size, self.layout.dtype)


def make_plan(config: GrowthConfig, n_trees: int, n_samples: int) -> Plan:
    """Plan for the widest level of ``n_trees`` trees."""
    widest = max(1, n_samples // max(2, config.min_samples_split))
    n_slots = n_trees * min(2 ** (config.max_depth - 1), widest)
    if isinstance(config.criterion, SparseClassEntropy):
        return Plan(n_trees, n_slots, 1, None)
    n_stats = config.criterion.n_stats
    rows = isinstance(config.criterion, VectorCriterion)
    dtype: Any = jnp.int32
    if config.short_sums:
        dtype = jnp.int16 if rows else jnp.uint16
    n_cells = config.n_bins * n_stats * config.n_candidates
    one_node = n_cells * jnp.dtype(dtype).itemsize
    # Rows are turned in blocks, faster with more lanes, though less of that stays in the cache.
    search_bytes = config.search_bytes * (4 if rows else 1)
    block_nodes = _floor_power_of_two(max(1, min(n_slots, search_bytes // one_node)))
    n_blocks = -(-n_slots // block_nodes)
    pass_blocks = max(1, min(n_blocks, config.histogram_bytes // (one_node * block_nodes)))
    n_passes = -(-n_blocks // pass_blocks)
    sizes = pass_blocks, config.n_bins, n_stats, block_nodes, config.n_candidates
    layout = Layout(*sizes, dtype, rows)
    return Plan(n_trees, n_passes * pass_blocks * block_nodes, n_passes, layout)


def _floor_power_of_two(number: int) -> int:
    return 1 << (number.bit_length() - 1)


def search_level(
    table: Array,  # (layout.size,), all 0
    lottery: Lottery,  # of each slot
    drawn: Drawn,
    sample_bins: SampleBins,
    order: FeatureOrder | None,  # for a sparse criterion
    n_used: Array,  # int32 (), slots that hold a node
    samples: Samples,
    config: GrowthConfig,
    plan: Plan,
) -> tuple[Array, Splits]:
    """Find the best split of every slot; returns the table, all 0 again, and the splits.

    A slot that no split leaves enough samples on both sides of has gain -inf.
    """
    zero, layout = samples.zero, plan.layout
    bins = candidate_lookup(sample_bins, drawn.at, lottery.candidates, config.n_features, zero)
    if layout is None:
        assert order is not None
        best, feature, parent = search_sorted(order, bins, lottery, drawn, samples, config)
        return table, _splits(best, feature, parent)
    n_slots, block_nodes, n_blocks = plan.n_slots, layout.block_nodes, layout.n_blocks
    used_blocks = (n_used + block_nodes - 1) // block_nodes

    def search_pass(number, carry):
        table, found = carry
        first = number * n_blocks
        table = _add_samples(table, first * block_nodes, bins, drawn, samples, plan, config)

        def search_block(block, carry):
            table, found = carry
            start = (first + block) * block_nodes
            these = jax.tree.map(
                lambda field: lax.dynamic_slice_in_dim(field, start, block_nodes), lottery
            )
            part = block_of(table, block, layout, zero)
            result = _packed(_search_block(part, these, samples, config))
            found = lax.dynamic_update_slice_in_dim(found, result, start, 1)
            # Clearing what was used costs less than new room for every level. It comes after the
            # search by a dependence (features are never negative): else XLA would copy the table.
            cell = block * layout.block_size + jnp.minimum(result[_FEATURE].min(), 0)
            nothing = jnp.zeros(layout.block_size, layout.dtype)
            return lax.dynamic_update_slice_in_dim(table, nothing, cell, 0), found

        n_here = jnp.minimum(used_blocks - first, n_blocks)
        return lax.fori_loop(jnp.int32(0), n_here, search_block, (table, found))

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
    bins: Callable[[Array], Array],
    drawn: Drawn,
    samples: Samples,
    plan: Plan,
    config: GrowthConfig,
) -> Array:  # (layout.size,)
    """Sum the samples whose slots lie in this pass."""
    layout, criterion, zero = plan.layout, config.criterion, samples.zero
    assert layout is not None
    assert not isinstance(criterion, SparseClassEntropy)
    slot, weight, count = drawn.at, drawn.weight, drawn.copies
    if plan.n_passes > 1:
        slot = slot - first_slot
        here = (slot >= 0) & (slot < layout.n_blocks * layout.block_nodes)
        slot, weight, count = (jnp.where(here, a, 0) for a in (slot, weight, count))
    if isinstance(criterion, VectorCriterion):
        columns = [samples.stat[drawn.row] * weight[:, None]]
        if criterion.weight_row:
            columns.append(weight[:, None])
        if criterion.count_row:
            columns.append(count[:, None])
        return add_vectors(table, bins, slot, jnp.concatenate(columns, axis=1), layout, zero)
    has_class = drawn.label < criterion.n_classes
    label = jnp.where(has_class, drawn.label, 0)
    weight, count = jnp.where(has_class, weight, 0), jnp.where(has_class, count, 0)
    table = add_classes(table, bins, slot, label, weight, layout, zero)
    if criterion.separate_count:
        last = jnp.full_like(label, criterion.n_classes)
        table = add_classes(table, bins, slot, last, count, layout, zero)
    return table


def _search_block(
    table: Array,  # (n_bins, n_stats, n_lanes)
    lottery: Lottery,  # of the nodes of the block
    samples: Samples,
    config: GrowthConfig,
) -> Splits:
    criterion, zero = config.criterion, samples.zero
    assert not isinstance(criterion, SparseClassEntropy)

    def evaluate(right, total):
        left = total - right
        score = criterion.score(right, zero) + criterion.score(left, zero)
        return score, criterion.count(right), criterion.count(left)

    best, feature = _best_of_node(table, evaluate, lottery, samples, config)
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
    table: Array, evaluate: Evaluate, lottery: Lottery, samples: Samples, config: GrowthConfig
) -> tuple[Split, Array]:
    candidates = lottery.candidates
    if config.splitter == "best":
        lanes = best_split(
            table,
            evaluate,
            has_missing=config.has_missing,
            min_leaf=config.min_samples_leaf,
            zero=samples.zero,
        )
    else:
        assert not isinstance(config.criterion, SparseClassEntropy)
        lanes = few_splits(
            table,
            config.criterion.count(table),
            evaluate,
            samples.thresholds[candidates.reshape(-1)],
            None if lottery.uniform is None else lottery.uniform.reshape(-1),
            splitter=config.splitter,
            n_cuts=config.n_cuts,
            has_missing=config.has_missing,
            min_leaf=config.min_samples_leaf,
        )
    return choose_candidate(lanes, candidates)
