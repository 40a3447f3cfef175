"""The best split of every slot of a level, over histograms.

The samples are summed into a table of histograms, in passes where memory is short, and the table
is searched block by block, as far as it is in use. It has all bins of a feature, the ranks of
those that a node of few rows occupies ("compact bins" in :mod:`lrrf_jax.trees.histogram`), or the
parts between few thresholds (:mod:`lrrf_jax.trees.thresholds`).
"""

from typing import NamedTuple, cast

import jax
import jax.numpy as jnp
from jax import lax

from lrrf_jax._typing import Array
from lrrf_jax.trees.criterion import HistogramCriterion, Statistic
from lrrf_jax.trees.growth import Candidates, Drawn, GrowthConfig, Level, Scratch, Sizes, Splits
from lrrf_jax.trees.histogram import (
    Layout,
    block_of,
    clear_blocks,
    rank_bins,
    rank_lookup,
    sum_samples,
)
from lrrf_jax.trees.nodes import SlotKind
from lrrf_jax.trees.splitter import best_split, choose_candidate, few_splits
from lrrf_jax.trees.thresholds import choose_edges, part_lookup


class _Block(NamedTuple):
    """Some nodes, whose histograms stay in the cache."""

    sums: Array  # (n_bins, n_stats, n_lanes)
    ranks: Array | None  # uint8 (config.n_bins, n_lanes), where the sums have fewer bins
    candidates: Candidates  # of the nodes
    edges: Array | None  # int32 (n_cuts, n_candidates, n_nodes), where not all are tried


class _Found(NamedTuple):
    """What the search of some slots leaves."""

    splits: Splits  # of all slots
    scratch: Scratch


def search_histograms(level: Level) -> tuple[Splits, Scratch]:
    """Find the best split of every slot; gain -inf where none leaves enough samples on each side.

    Cost O(n_drawn n_candidates) for the sums of a class criterion, times the length of the vector
    for a vector criterion, and O(n_nodes n_candidates n_bins) for the search.
    """
    zeros = jnp.zeros(level.plan.n_slots, jnp.int32)
    splits = Splits(zeros, zeros, zeros.astype(bool), jnp.full(len(zeros), -jnp.inf, jnp.float32))
    edges = None
    if level.config.splitter != "best":
        edges = choose_edges(level)
        level = level._replace(bins=part_lookup(level, edges))
    found = _Found(splits, level.scratch)
    for kind in level.plan.kinds:
        found = _search_kind(level, kind, edges, found)
    return found.splits, found.scratch


def _search_kind(
    level: Level,
    kind: SlotKind,
    edges: Array | None,  # int32 (n_cuts, n_candidates, n_slots), where not all are tried
    found: _Found,
) -> _Found:
    """Find the best split of every slot of a kind, pass by pass."""
    layout = kind.layout
    n_used = level.exists[kind.first : kind.first + kind.n_slots].sum(dtype=jnp.int32)
    used_blocks = (n_used + layout.block_nodes - 1) // layout.block_nodes
    single = kind.n_slots == level.plan.n_slots and kind.n_passes == 1

    def search_pass(number: Array, found: _Found) -> _Found:
        first_block = number * layout.n_blocks
        first = kind.first + first_block * layout.block_nodes
        n_here = jnp.minimum(used_blocks - first_block, layout.n_blocks)
        drawn = level.drawn if single else _in_pass(level.drawn, first, layout)
        here = level._replace(drawn=drawn, scratch=found.scratch)
        tables = _sum_pass(here, kind, None if kind.at_once else n_here)

        def search_block(block: Array, splits: Splits) -> Splits:
            start = first + block * layout.block_nodes

            def own(array: Array, axis: int = 0) -> Array:
                return lax.dynamic_slice_in_dim(array, start, layout.block_nodes, axis)

            nodes = _Block(
                sums=block_of(tables.sums, block, layout),
                ranks=block_of(tables.ranks, block, kind.ranks)[:, 0] if kind.ranks else None,
                candidates=jax.tree.map(own, level.candidates),
                edges=None if edges is None else own(edges, axis=2),
            )
            splits = jax.tree.map(
                lambda whole, part: lax.dynamic_update_slice_in_dim(whole, part, start, 0),
                splits,
                _search_block(nodes, level.samples.sizes, level.config),
            )
            return splits

        if kind.at_once:
            return _Found(search_block(jnp.int32(0), found.splits), found.scratch)
        splits = lax.fori_loop(jnp.int32(0), n_here, search_block, found.splits)
        return _Found(splits, tables)

    if single:
        return search_pass(jnp.int32(0), found)
    used_passes = (used_blocks + layout.n_blocks - 1) // layout.n_blocks
    found = lax.fori_loop(jnp.int32(0), used_passes, search_pass, found)
    return found


def _in_pass(drawn: Drawn, first_slot: Array, layout: Layout) -> Drawn:
    """Count slots from the first of a pass; samples of others count nowhere."""
    slot = drawn.at - first_slot
    here = (slot >= 0) & (slot < layout.n_blocks * layout.block_nodes)
    slot, weight, copies = (jnp.where(here, a, 0) for a in (slot, drawn.weight, drawn.copies))
    return drawn._replace(at=slot, weight=weight, copies=copies)


def _sum_pass(level: Level, kind: SlotKind, n_blocks: Array | None) -> Scratch:
    """Sum the samples of a pass, which are in its slots, by bins or, if compact, their ranks."""
    drawn, bins, (sums, ranks) = level.drawn, level.bins, level.scratch
    if kind.ranks:
        assert n_blocks is not None
        missing_rank = kind.layout.n_bins - 1 if level.config.has_missing else None
        counts = Statistic(jnp.zeros_like(drawn.at), drawn.copies > 0)
        ranks = clear_blocks(ranks, n_blocks, kind.ranks)
        ranks = sum_samples(ranks, kind.ranks, bins, drawn.at, [counts], level.n_candidates)
        ranks = rank_bins(ranks, n_blocks, kind.ranks, missing_rank)
        bins = rank_lookup(ranks, kind.ranks, bins, drawn.at)
    criterion = cast(HistogramCriterion, level.config.criterion)
    sums = clear_blocks(sums, n_blocks, kind.layout)
    statistics = criterion.statistics(drawn, level.samples)
    sums = sum_samples(sums, kind.layout, bins, drawn.at, statistics, level.n_candidates)
    return Scratch(sums, ranks)


def _search_block(nodes: _Block, sizes: Sizes, config: GrowthConfig) -> Splits:
    """Find the best split of each node of a block."""
    criterion = cast(HistogramCriterion, config.criterion)

    def evaluate(right: Array, total: Array) -> tuple[Array, Array, Array]:
        left = total - right
        score = criterion.score(right) + criterion.score(left)
        return score, criterion.count(right), criterion.count(left)

    has_missing, min_leaf = config.has_missing, sizes.min_samples_leaf
    if nodes.edges is None:
        n_edges = sizes.n_edges if has_missing else None
        lanes = best_split(
            nodes.sums, evaluate, n_edges=n_edges, min_leaf=min_leaf, ranks=nodes.ranks
        )
    else:
        edges = nodes.edges.swapaxes(1, 2).reshape(len(nodes.edges), -1)
        lanes = few_splits(nodes.sums, evaluate, edges, has_missing=has_missing, min_leaf=min_leaf)
    best, feature = choose_candidate(lanes, nodes.candidates.feature, sizes.n_candidates)
    # Every candidate counts the same samples.
    total = nodes.sums[:, :, :: config.n_candidates].sum(0, dtype=nodes.sums.dtype)
    parent_score = criterion.score(total)
    accepted = criterion.accepts(best.score, parent_score, total)
    score = jnp.where(accepted, best.score, -jnp.inf)
    return Splits(feature, best.edge, best.missing_left, score - parent_score)
