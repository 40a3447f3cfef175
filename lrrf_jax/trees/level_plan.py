"""How the nodes of a level that may be split are dealt with.

All nodes share one room: a histogram for each, as wide as the criterion asks. Of a vector
criterion a node of few samples keeps few bins, see :mod:`lrrf_jax.trees.compact_bins`.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp

from lrrf_jax._typing import Array
from lrrf_jax.trees.compact_bins import rank_layout
from lrrf_jax.trees.criterion import SparseClassEntropy, VectorCriterion
from lrrf_jax.trees.growth import GrowthConfig
from lrrf_jax.trees.histogram import Layout

_MOST_OCCUPANCY_LANES = 128  # of a block: the upper levels of a tree use few


class SlotKind(NamedTuple):
    """Slots that are searched alike: in passes over the samples, each of blocks."""

    first: int  # number of the first
    n_slots: int  # room, rounded up to whole passes
    n_passes: int
    layout: Layout | None  # of one pass; None for a sparse criterion
    ranks: Layout | None = None  # of the ranks of bins, where the layout has fewer
    most_rows: int = 0  # of a node, where the layout has fewer bins


class Room(NamedTuple):
    """What a level works in, all 0 before and after."""

    table: Array  # (layout.size,) of the largest kind, histograms
    ranks: Array | None  # uint8 (ranks.size,), ranks of bins


class Plan(NamedTuple):
    """The slots of a level."""

    n_trees: int
    kinds: tuple[SlotKind, ...]  # those of nodes of many rows first
    occupancy: Layout | None  # for few thresholds a feature: the bins that they are chosen by

    @property
    def n_slots(self) -> int:
        """Slots of all kinds."""
        return sum(kind.n_slots for kind in self.kinds)

    @property
    def empty_room(self) -> Room:
        """All 0."""
        layouts = [kind.layout for kind in self.kinds if kind.layout is not None]
        if not layouts:
            return Room(jnp.zeros(0, jnp.int32), None)
        size, n_stats = max(layout.size for layout in layouts), layouts[0].n_stats
        if self.occupancy is not None:  # in turn in the same table, which is of whole rows
            size = max(size, -(-self.occupancy.size // n_stats) * n_stats)
        table = jnp.zeros(size, layouts[0].dtype)
        n_ranks = max(0 if kind.ranks is None else kind.ranks.size for kind in self.kinds)
        return Room(table, jnp.zeros(n_ranks, jnp.uint8) if n_ranks else None)


def make_plan(config: GrowthConfig, n_trees: int, n_samples: int, n_drawn: int) -> Plan:
    """Plan for the widest level of trees that draw ``n_drawn`` of ``n_samples`` rows each."""
    kinds: list[SlotKind] = []
    for n_nodes, n_bins in level_nodes(config, n_samples, n_drawn):
        first = sum(kind.n_slots for kind in kinds)
        kinds.append(_slot_kind(config, first, n_trees * n_nodes, n_bins))
    occupancy, layout = None, kinds[0].layout
    if config.splitter != "best" and layout is not None:
        occupancy = occupancy_layout(config, kinds[0].n_slots, layout.dtype)
    return Plan(n_trees, tuple(kinds), occupancy)


def level_nodes(config: GrowthConfig, n_samples: int, n_drawn: int) -> list[tuple[int, int]]:
    """Most nodes of a level of a tree that may be split, and the bins that each keeps.

    Where nodes of few rows can be many, and a quarter of the bins is enough for them, they come
    apart, after the others.
    """
    deepest = 2 ** (config.max_depth - 1)
    n_nodes = min(deepest, max(1, n_samples // max(2, config.min_samples_split)))
    kinds, n_bins = [], config.n_bins
    if config.splitter != "best":
        return [(n_nodes, n_parts(config))]
    if isinstance(config.criterion, VectorCriterion):
        for fewer in config.compact_bins:
            few = _most_rows(config, fewer)
            many = config.min_samples_split <= few and n_drawn < deepest * few
            if many and n_bins >= 4 * fewer:
                kinds.append((min(deepest, max(1, n_drawn // (few + 1))), n_bins))
                n_bins = fewer
    return [*kinds, (n_nodes, n_bins)]


def _most_rows(config: GrowthConfig, n_bins: int) -> int:
    """Rows that fit in so many compact bins: one each, but for bin 0 and that of missing values."""
    return n_bins - 1 - config.has_missing


def _slot_kind(config: GrowthConfig, first: int, n_slots: int, n_bins: int) -> SlotKind:
    if isinstance(config.criterion, SparseClassEntropy):
        return SlotKind(first, n_slots, 1, None)
    n_stats = config.criterion.n_stats
    rows = isinstance(config.criterion, VectorCriterion)
    dtype: Any = jnp.int32
    if config.short_sums:
        dtype = jnp.int16 if rows else jnp.uint16
    few_cuts = config.splitter != "best"
    compact = n_bins < config.n_bins and not few_cuts
    one_node = n_bins * n_stats * config.n_candidates * jnp.dtype(dtype).itemsize
    # Rows are turned in blocks, faster with more lanes, though less of that stays in the cache.
    search_bytes = config.search_bytes * (4 if rows and not few_cuts else 1)
    block_nodes = _floor_power_of_two(max(1, min(n_slots, search_bytes // one_node)))
    n_blocks = -(-n_slots // block_nodes)
    one_node += compact * config.n_bins * config.n_candidates
    pass_blocks = max(1, min(n_blocks, config.histogram_bytes // (one_node * block_nodes)))
    n_passes = -(-n_blocks // pass_blocks)
    sizes = pass_blocks, n_bins, n_stats, block_nodes, config.n_candidates
    layout = Layout(*sizes, dtype, rows)
    n_slots = n_passes * pass_blocks * block_nodes
    if not compact:
        return SlotKind(first, n_slots, n_passes, layout)
    ranks = rank_layout(layout, config.n_bins)
    return SlotKind(first, n_slots, n_passes, layout, ranks, _most_rows(config, n_bins))


def n_parts(config: GrowthConfig) -> int:
    """Bins of a table for few thresholds a feature, see :mod:`lrrf_jax.trees.few_cuts`."""
    return config.n_cuts + 1 + config.has_missing


def occupancy_layout(config: GrowthConfig, n_slots: int, dtype: Any) -> Layout:
    """Shape of the table that counts samples by slot and bin, for one candidate at a time.

    Only "frequency" counts; the others go by the same blocks of slots.
    """
    n_bins = config.n_bins if config.splitter == "frequency" else 1
    most = max(1, min(_MOST_OCCUPANCY_LANES, config.search_bytes // (4 * n_bins), n_slots))
    lanes = 1 << (most.bit_length() - 1)
    return Layout(-(-n_slots // lanes), n_bins, 1, lanes, 1, dtype)


def _floor_power_of_two(number: int) -> int:
    return 1 << (number.bit_length() - 1)
