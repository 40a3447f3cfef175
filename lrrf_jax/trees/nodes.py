"""Which nodes of a level are open, and where their samples are.

A level starts with *places*, two for every slot of the level above: the children of its nodes.
A place that holds enough samples, and may gain by a split, opens a *slot*; histograms are kept
for slots only. The samples of all other places rest where they are.

Of a criterion of vectors a node of few samples keeps few bins, see "compact bins" in
:mod:`lrrf_jax.trees.histogram`: its slot comes after the others, and is of another *kind*.
"""

from typing import Any, NamedTuple, cast

import jax.numpy as jnp

from lrrf_jax._typing import Array
from lrrf_jax._xla import add_at, fusion_barrier, take
from lrrf_jax.trees.criterion import HistogramCriterion
from lrrf_jax.trees.draws import drawn_capacity
from lrrf_jax.trees.growth import Drawn, GrowthConfig, Nodes, Samples, Scratch
from lrrf_jax.trees.histogram import Layout, quick_width, rank_layout

_MAX_COMPACT_BINS = 32  # a bit of a word each, see `splitter.best_split`
_MIN_COMPACT_BINS = 8


class SlotKind(NamedTuple):
    """Slots that are searched alike: in passes over the samples, each of blocks."""

    first: int  # number of the first
    n_slots: int  # room, rounded up to whole passes
    n_passes: int
    layout: Layout  # of one pass
    ranks: Layout | None = None  # of the ranks of bins, where the layout has fewer
    most_rows: int = 0  # maximum for a node, where the layout has fewer bins
    at_once: bool = False  # all slots in one step, whether in use or not: without loops


class Plan(NamedTuple):
    """The slots of a level."""

    n_trees: int
    n_slots: int
    kinds: tuple[SlotKind, ...]  # those of nodes of many rows first; none for a sorted search

    @property
    def scratch(self) -> Scratch:
        """Room for the tables of any kind."""
        size = max((kind.layout.size for kind in self.kinds if not kind.at_once), default=0)
        dtype = self.kinds[0].layout.dtype if self.kinds else jnp.int32
        n_ranks = max((kind.ranks.size for kind in self.kinds if kind.ranks), default=0)
        return Scratch(jnp.zeros(size, dtype), jnp.zeros(n_ranks, jnp.uint8))

    @property
    def n_places(self) -> int:
        """Places for the children of all slots, and for the roots."""
        return max(2 * self.n_slots, self.n_trees)


def make_plan(config: GrowthConfig, n_trees: int, n_draws: int) -> Plan:
    """Plan for the widest level of some trees, which draw so many rows in all."""
    numbers = level_nodes(config, n_trees, n_draws)
    if config.criterion.searches_sorted:
        return Plan(n_trees, numbers[0][0], ())
    kinds: list[SlotKind] = []
    n_slots = 0
    for n_nodes, n_bins in numbers:
        kinds.append(_slot_kind(config, n_slots, n_nodes, n_bins))
        n_slots += kinds[-1].n_slots
    return Plan(n_trees, n_slots, tuple(kinds))


def level_nodes(config: GrowthConfig, n_trees: int, n_draws: int) -> list[tuple[int, int]]:
    """Return the maximum of nodes per level that may be split, and the bins of each.

    Where nodes of few rows can be many, and a quarter of the bins is enough for them, they come
    apart, after the others; not on accelerators, which add bytes in loops.
    """
    deepest = n_trees * 2 ** (config.max_depth - 1)
    n_nodes = min(deepest, max(n_trees, n_draws // max(2, config.min_samples_split)))
    if config.splitter != "best":
        return [(n_nodes, n_parts(config))]
    compact = min(_MAX_COMPACT_BINS, config.n_bins // 4)
    few, n_drawn = _most_rows(config, compact), drawn_capacity(n_draws, config.bootstrap)
    if (
        not (config.compacts_bins and config.criterion.adds_vectors)
        or config.large_steps
        or compact < _MIN_COMPACT_BINS
        or few < config.min_samples_split
        or n_drawn >= deepest * few
    ):
        return [(n_nodes, config.n_bins)]
    return [(min(deepest, max(n_trees, n_drawn // (few + 1))), config.n_bins), (n_nodes, compact)]


def _most_rows(config: GrowthConfig, n_bins: int) -> int:
    """Rows that fit in so many compact bins: one each, but for bin 0 and that of missing values."""
    return n_bins - 1 - config.has_missing


def _slot_kind(config: GrowthConfig, first: int, n_slots: int, n_bins: int) -> SlotKind:
    criterion = cast(HistogramCriterion, config.criterion)
    n_stats, rows = criterion.n_stats, criterion.adds_vectors
    dtype: Any = jnp.int32
    if config.short_sums:
        dtype = jnp.int16 if rows else jnp.uint16
    few_cuts = config.splitter != "best"
    compact = n_bins < config.n_bins and not few_cuts
    width = quick_width(n_stats) if rows and not config.large_steps else n_stats
    one_node = n_bins * width * config.n_candidates * jnp.dtype(dtype).itemsize
    # Blocks of rows are transposed, faster with more lanes, though less stays in the cache.
    search_bytes = config.search_bytes * (4 if rows and not few_cuts else 1)
    block_nodes = _floor_power_of_two(max(1, min(n_slots, search_bytes // one_node)))
    n_blocks = -(-n_slots // block_nodes)
    one_node += compact * config.n_bins * config.n_candidates
    pass_blocks = max(1, min(n_blocks, config.histogram_bytes // (one_node * block_nodes)))
    n_passes = -(-n_blocks // pass_blocks)
    sizes = pass_blocks, n_bins, n_stats, block_nodes, config.n_candidates
    layout = Layout(*sizes, dtype, rows, width - n_stats)
    n_slots = n_passes * pass_blocks * block_nodes
    if not compact:
        at_once = config.large_steps and n_blocks == 1
        return SlotKind(first, n_slots, n_passes, layout, at_once=at_once)
    ranks = rank_layout(layout, config.n_bins)
    return SlotKind(first, n_slots, n_passes, layout, ranks, _most_rows(config, n_bins))


def n_parts(config: GrowthConfig) -> int:
    """Bins of a table for few thresholds per feature, see :mod:`lrrf_jax.trees.thresholds`."""
    return config.n_cuts + 1 + config.has_missing


def _floor_power_of_two(number: int) -> int:
    return 1 << (number.bit_length() - 1)


# --------------------------------------------------------------------------------------- slots
def open_slots(
    places: Nodes, drawn: Drawn, samples: Samples, config: GrowthConfig, plan: Plan
) -> tuple[Nodes, Drawn]:  # nodes (n_slots,), those of each kind in the order of their places
    """Open a slot for each place that may be split; ``drawn.at`` goes from places to slots."""
    count, cannot_gain, places, drawn = config.criterion.examine(places, drawn, samples)
    opens = places.exists & ~cannot_gain & (count >= config.min_samples_split)
    slot_of_place, exists = _number_slots(opens, drawn, plan)
    written = jnp.where(opens, slot_of_place, plan.n_slots)
    nothing = jnp.zeros(plan.n_slots, jnp.int32)
    nodes = Nodes(
        number=nothing.at[written].set(places.number, mode="drop"),
        exists=exists,
        stage=nothing.at[written].set(places.stage, mode="drop"),
    )
    slot = take(fusion_barrier(jnp.where(opens, slot_of_place, -1)), drawn.at)
    inside = slot >= 0
    return nodes, drawn._replace(
        at=jnp.maximum(slot, 0),
        copies=jnp.where(inside, drawn.copies, 0),
        weight=jnp.where(inside, drawn.weight, 0),
    )


def _number_slots(
    opens: Array,  # bool (n_places,)
    drawn: Drawn,  # in places
    plan: Plan,
) -> tuple[Array, Array]:  # int32 (n_places,), undefined where none opens; bool (n_slots,)
    """Give each slot that opens a number, from the first of its kind; also say which exist."""
    if len(plan.kinds) < 2:
        number = jnp.cumsum(opens.astype(jnp.int32)) - 1
        return number, jnp.arange(plan.n_slots, dtype=jnp.int32) < opens.sum(dtype=jnp.int32)
    nothing = jnp.zeros(len(opens), jnp.int32)
    n_rows = add_at(nothing, drawn.at, (drawn.copies > 0).astype(jnp.int32))
    few = n_rows <= plan.kinds[1].most_rows
    number, exists = nothing, []
    for part, kind in zip((opens & ~few, opens & few), plan.kinds, strict=True):
        own = jnp.cumsum(part.astype(jnp.int32)) + (kind.first - 1)
        number = jnp.where(part, own, number)
        exists.append(jnp.arange(kind.n_slots, dtype=jnp.int32) < part.sum(dtype=jnp.int32))
    return number, jnp.concatenate(exists)
