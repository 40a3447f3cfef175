"""The search of :mod:`lrrf_jax.trees.sorted_search` in few large steps, as accelerators want it.

Sums are kept by *cell*, the samples of one slot in one bin, for which these need not be sorted;
what comes before a sample in its node and class still takes a sort for each candidate. Where there
are fewer cells than samples, all are kept, empty ones too: a threshold after one parts as that
before it does, which is taken on a tie.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from lrrf_jax._numerics import LOWEST, float_key, running_sum
from lrrf_jax._typing import Array
from lrrf_jax._xla import add_at, fusion_barrier, take
from lrrf_jax.trees.growth import Level, Scratch, Splits
from lrrf_jax.trees.sorted_search import Found, Search, bin_on_side, entropies, search_candidates
from lrrf_jax.trees.splitter import Split


class SlotCells(NamedTuple):
    """The cells of all slots, for one candidate; in the order of slots, then bins."""

    of_sample: Array  # int32 (n_drawn,); n_cells or more for samples in no slot
    slot: Array  # int32 (n_cells,); n_slots where there is no cell, at the end
    value: Array  # int32 (n_cells,), bin
    start: Array  # int32 (n_slots + 1,), first cell of each slot
    end: Array  # int32 (n_slots + 1,)

    def running(self, values: Array) -> tuple[Array, Array]:
        """Sum rows, int32 (n_drawn, n), along each slot.

        Returns the sums up to and with each cell, int32 (n, n_cells), and those of whole slots,
        (n, n_slots + 1).
        """
        cells = jnp.zeros((len(self.slot), values.shape[1]), jnp.int32)
        cells = fusion_barrier(cells.at[self.of_sample].add(values, mode="drop")).T
        running = jnp.pad(jnp.cumsum(cells, axis=1), ((0, 0), (1, 0)))
        before = running[:, self.start]
        return running[:, 1:] - before[:, self.slot], running[:, self.end] - before

    def sums(self, values: list[Array]) -> list[tuple[Array, Array, Array]]:
        """Sum int32 (n_drawn,) values: up to and with each cell, of its slot, and by slot."""
        running, total = fusion_barrier(*self.running(jnp.stack(values, axis=1)))
        there = total[:, self.slot]
        return [(running[k], there[k], total[k, :-1]) for k in range(len(values))]


def cells_of(slot: Array, value: Array, n_slots: int, n_bins: int) -> SlotCells:
    """Give all cells numbers, or where these are too many, those that hold samples.

    Of samples, int32 (n_drawn,) each: their slots, ``n_slots`` for none, and their bins.
    """
    n_drawn, n_cells = len(slot), n_slots * n_bins
    if n_cells <= n_drawn:
        cell = jnp.arange(n_cells, dtype=jnp.int32)
        start = n_bins * jnp.arange(n_slots + 1, dtype=jnp.int32)
        end = jnp.minimum(start + n_bins, n_cells)
        return SlotCells(slot * n_bins + value, cell // n_bins, cell % n_bins, start, end)
    sample = _sort_samples(slot, value, n_slots + 1, n_bins)
    slot_there, value_there = take(slot, sample), take(value, sample)
    differs = (slot_there[1:] != slot_there[:-1]) | (value_there[1:] != value_there[:-1])
    starts = jnp.pad(differs, (1, 0), constant_values=True) & (slot_there < n_slots)
    cell = jnp.cumsum(starts.astype(jnp.int32)) - 1
    cell = jnp.where(slot_there < n_slots, cell, n_drawn)
    sizes = add_at(jnp.zeros(n_slots + 1, jnp.int32), slot_there, starts.astype(jnp.int32))
    end = jnp.cumsum(sizes)
    nowhere = jnp.full(n_drawn, n_slots, jnp.int32)
    return SlotCells(
        of_sample=jnp.zeros(n_drawn, jnp.int32).at[sample].set(cell),
        slot=nowhere.at[cell].set(slot_there, mode="drop"),
        value=jnp.zeros(n_drawn, jnp.int32).at[cell].set(value_there, mode="drop"),
        start=end - sizes,
        end=end,
    )


def _sort_samples(major: Array, value: Array, n_major: int, n_bins: int) -> Array:
    """Order samples by ``major``, then bin, int32 (n_drawn,) each; equal ones in any order."""
    position = jnp.arange(len(major), dtype=jnp.int32)
    if n_major * n_bins <= 2**32:
        keys = [major.astype(jnp.uint32) * n_bins + value.astype(jnp.uint32)]
    else:
        keys = [major, value]
    sample: Array = lax.sort((*keys, position), num_keys=len(keys), is_stable=False)[-1]
    return sample


def search_cells(level: Level) -> tuple[Splits, Scratch]:
    """Find the best split of every slot; gain -inf where none leaves enough samples on each side.

    Also returns `Level.scratch`. Costs a sort or two, and a few passes over samples and cells, per
    candidate, and what the criterion adds.
    """
    return search_candidates(level, _search_side)


def _search_side(
    search: Search,
    side: int,
    bin_: Array,  # int32 (n_drawn,)
    feature: Array,  # int32 (n_slots,)
    edge: Array | None,  # int32 (n_slots,), the only threshold to try
) -> Found:
    """Search with the missing values on one side: last, so left, or first, so right."""
    config, n_slots = search.level.config, len(feature)
    value = bin_on_side(bin_, side, config)
    cells = cells_of(search.slot, value, n_slots, config.n_bins)
    sides = entropies(search, cells, *_class_counts(search, value))
    low, high, whole, _, _ = search.criterion.weigh(search.prepared, cells, sides)

    min_leaf = search.level.samples.sizes.min_samples_leaf
    parts = (low.n_samples >= min_leaf) & (high.n_samples >= min_leaf)
    if edge is not None:
        wanted = take(jnp.pad(edge, (0, 1)), cells.slot) + side
        parts &= (cells.value <= wanted) & (jnp.pad(cells.value[1:], (0, 1)) > wanted)
    # A node of one class has no split worth making.
    parts &= take(jnp.pad(whole.n_classes > 1, (0, 1)), cells.slot)
    score = fusion_barrier(jnp.where(parts, low.score + high.score, -jnp.inf))
    # The first of the best, by keys: accelerators know the maximum of integers, not of floats.
    key, at = float_key(score), jnp.arange(len(score), dtype=jnp.int32)
    best_key = jnp.full(n_slots + 1, LOWEST, jnp.int32).at[cells.slot].max(key)
    chosen = jnp.where(parts & (key == take(best_key, cells.slot)), cells.slot, n_slots)
    place = jnp.full(n_slots, len(at), jnp.int32).at[chosen].min(at, mode="drop")
    found, place = place < len(at), jnp.minimum(place, len(at) - 1)
    low, high = (jax.tree.map(lambda field: take(field, place), part) for part in (low, high))
    accepted = found & search.criterion.accepts(low, high, whole)
    best = jnp.where(accepted, take(score, place), -jnp.inf)
    if edge is None:
        edge = jnp.clip(take(cells.value, place) - side, 0, config.n_bins - 2)
    missing_left = jnp.full(n_slots, side == 0 and config.has_missing)
    return Found(Split(best, edge, missing_left), whole.score)


def _class_counts(search: Search, value: Array) -> tuple[Array, Array]:  # int32 (n_drawn,) each
    """Weigh what comes before each sample in its node and class, and all of that class."""
    group, weight, n_drawn = search.group, search.level.drawn.weight, len(value)
    sample = _sort_samples(group, value, n_drawn + 1, search.level.config.n_bins)
    there, own = take(group, sample), take(weight, sample)
    total = add_at(jnp.zeros(n_drawn + 1, jnp.int32), group, weight)
    before = running_sum(own) - own - take(jnp.cumsum(total) - total, there)
    return jnp.zeros(n_drawn, jnp.int32).at[sample].set(before), take(total, group)
