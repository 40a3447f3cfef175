"""Few thresholds per feature, chosen by the values in a node and not by what is summed.

So they are there before the sums: samples are summed by *part*, the interval between two of the
``n_cuts`` thresholds of their node, as if these were all. Missing values are the last part, as
they are the last bin. Such a table of ``n_cuts + 1`` bins is small.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any, cast

import jax.numpy as jnp
from jax import lax

from lrrf_jax._backend import by_platform
from lrrf_jax._columns import least_of_columns
from lrrf_jax._numerics import multiply_add, product, running_sums
from lrrf_jax._typing import Array
from lrrf_jax._xla import add_at, fusion_barrier, repeat, take
from lrrf_jax.trees.criterion import HistogramCriterion
from lrrf_jax.trees.growth import GrowthConfig, Level
from lrrf_jax.trees.histogram import Bins

_HUGE = 1e38
_SLOTS_AT_ONCE = 128  # whose bins stay in the cache; the upper levels of a tree have few


def choose_edges(level: Level) -> Array:
    """Choose the thresholds to try, without a look at the statistic.

    "random": one, drawn evenly between the lowest and the highest that part the samples
    (extremely randomised trees, Geurts et al. 2006). "width": those between ``n_cuts + 1``
    intervals of equal width; "frequency": of equally many samples. The nearest threshold of the
    feature is taken in each case.

    Returns int32 (n_cuts, n_candidates, n_slots) edges that rise from cut to cut.
    """
    config, slot, counted = level.config, level.drawn.at, _counted(level)
    n_slots, n_candidates = level.candidates.feature.shape
    if config.large_steps:
        return _choose_at_once(level, counted)

    def choose(k: Array, edges: Array) -> Array:
        value, own = fusion_barrier(level.bins(k)), level.candidates.of(k)
        if config.splitter == "frequency":
            chosen = _edges_at_quantiles(value, slot, counted, n_slots, config)
        else:
            ends = parting_range(value, slot, counted > 0, n_slots, config)
            shares = _shares(config) if own.uniform is None else [own.uniform]
            thresholds = level.samples.thresholds
            chosen = [edge_at_share(*ends, own.feature, thresholds, share) for share in shares]
        # Shares rise, and so do their edges, but for how a share of the way is rounded.
        rising = list(itertools.accumulate(chosen, jnp.maximum))
        return lax.dynamic_update_slice_in_dim(edges, jnp.stack(rising)[:, None], k, axis=1)

    edges: Array = jnp.zeros((config.n_cuts, n_candidates, n_slots), jnp.int32)
    edges = level.over_candidates(choose, edges)
    return edges


def _choose_at_once(level: Level, counted: Array) -> Array:
    """Do the same for all candidates at once, in lanes ``slot * n_candidates + candidate``."""
    config, candidates = level.config, level.candidates
    n_slots, n_candidates = candidates.feature.shape
    value = jnp.stack([level.bins(k) for k in range(n_candidates)], axis=1)
    lane = level.drawn.at[:, None] * n_candidates + jnp.arange(n_candidates, dtype=jnp.int32)
    counted = jnp.broadcast_to(counted[:, None], value.shape).reshape(-1)
    value, lane, n_lanes = value.reshape(-1), lane.reshape(-1), n_slots * n_candidates
    if config.splitter == "frequency":
        occupancy = jnp.zeros(config.n_bins * n_lanes, jnp.int32)
        occupancy = add_at(occupancy, value * n_lanes + lane, counted).reshape(-1, n_lanes)
        chosen = [edge_at_quantile(occupancy, s, config.has_missing) for s in _shares(config)]
    else:
        ends = parting_range(value, lane, counted > 0, n_lanes, config)
        uniform, feature = candidates.uniform, candidates.feature.reshape(-1)
        shares = _shares(config) if uniform is None else [uniform.reshape(-1)]
        thresholds = level.samples.thresholds
        chosen = [edge_at_share(*ends, feature, thresholds, share) for share in shares]
    rising = jnp.stack(list(itertools.accumulate(chosen, jnp.maximum)))
    return rising.reshape(-1, n_slots, n_candidates).swapaxes(1, 2)


def _shares(config: GrowthConfig) -> list[Any]:
    return [cut / (config.n_cuts + 1) for cut in range(1, config.n_cuts + 1)]


def _edges_at_quantiles(
    value: Array,  # int32 (n_drawn,), bins
    slot: Array,  # int32 (n_drawn,)
    counted: Array,  # int32 (n_drawn,)
    n_slots: int,
    config: GrowthConfig,
) -> list[Array]:  # n_cuts of int32 (n_slots,)
    """Count the samples of each slot by bin, and look for quantiles in slots that hold any."""
    shape = -(-n_slots // _SLOTS_AT_ONCE), config.n_bins, _SLOTS_AT_ONCE
    block, lane = slot // _SLOTS_AT_ONCE, slot % _SLOTS_AT_ONCE
    cell = (block * config.n_bins + value) * _SLOTS_AT_ONCE + lane
    occupancy = add_at(jnp.zeros(math.prod(shape), jnp.int32), cell, counted).reshape(shape)

    def choose_block(number: Array, edges: Array) -> Array:
        some = lax.dynamic_index_in_dim(occupancy, number, keepdims=False)
        found = [edge_at_quantile(some, share, config.has_missing) for share in _shares(config)]
        start = number * _SLOTS_AT_ONCE
        return lax.dynamic_update_slice_in_dim(edges, jnp.stack(found), start, axis=1)

    edges = jnp.zeros((config.n_cuts, shape[0] * _SLOTS_AT_ONCE), jnp.int32)
    return list(lax.fori_loop(jnp.int32(0), block.max() + 1, choose_block, edges)[:, :n_slots])


def _counted(level: Level) -> Array:  # int32 (n_drawn,)
    """Return what each sample adds to the count of its node."""
    criterion = cast(HistogramCriterion, level.config.criterion)
    value = criterion.statistics(level.drawn, level.samples)[-1].value
    return value if value.ndim == 1 else value[:, -1]


def parting_range(
    bin_: Array,  # int32 (n_drawn,)
    slot: Array,  # int32 (n_drawn,)
    counts: Array,  # bool (n_drawn,)
    n_slots: int,
    config: GrowthConfig,
) -> tuple[Array, Array]:  # int32 (n_slots,) each
    """First and last threshold that parts the known values of each slot.

    Where they share a bin, or there are none, the last is before the first.
    """
    known, last = counts & (bin_ < config.n_bins - config.has_missing), config.n_bins - 1
    lowest = jnp.full(n_slots, last, jnp.int32)
    lowest = lowest.at[slot].min(jnp.where(known, bin_, last), mode="promise_in_bounds")
    highest = jnp.zeros(n_slots, jnp.int32)
    highest = highest.at[slot].max(jnp.where(known, bin_, 0), mode="promise_in_bounds")
    return lowest, highest - 1


def part_lookup(
    level: Level,
    edges: Array,  # int32 (n_cuts, n_candidates, n_slots)
) -> Bins:
    """Return the function from a candidate's number to each sample's part, int32 (n_drawn,)."""
    config = level.config

    def parts_of_candidate(k: int | Array) -> Array:
        value = level.bins(k)
        part = jnp.zeros_like(value)
        if config.has_missing:
            part = (value == config.n_bins - 1).astype(jnp.int32)
        for cut in range(config.n_cuts):
            edge = take(lax.dynamic_index_in_dim(edges[cut], k, keepdims=False), level.drawn.at)
            part = part + (value > edge).astype(jnp.int32)
        return part

    return parts_of_candidate


def edge_at_share(
    first: Array,  # int32 (n_lanes,), see `parting_range`
    last: Array,
    feature: Array,  # int32 (n_lanes,)
    thresholds: Array,  # float32 (n_features, n_bins - 1), rising
    share: Array | float,  # float32 (n_lanes,), in [0, 1]
) -> Array:  # int32 (n_lanes,)
    """Threshold nearest to the value at a share of the way from the first to the last that part.

    The lower of two as near. A lane whose known values share a bin can only part them from the
    missing ones. O(n_lanes log n_bins).
    """
    n_edges = thresholds.shape[1]
    flat, row = thresholds.reshape(-1), feature * n_edges

    def value(edge: Array) -> Array:  # -inf and padding are kept out of differences
        return jnp.clip(take(flat, row + edge), -_HUGE, _HUGE)

    # Edge where it holds, as it then does up to high; else high.
    def lowest(low: Array, high: Array, holds: Callable[[Array], Array]) -> Array:
        def halve(_: int | Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
            low, high = ends
            middle = (low + high) >> 1
            found = holds(middle)
            above = jnp.minimum(middle + 1, high)
            return jnp.where(found, low, above), jnp.where(found, middle, high)

        found: Array = repeat(n_edges.bit_length(), halve, (low, high))[1]
        return found

    low, high = (jnp.clip(edge, 0, n_edges - 1) for edge in (first, last))
    wanted = fusion_barrier(_at_share(value(low), value(high), share))
    above = lowest(low, high, lambda edge: value(edge) >= wanted)
    below = jnp.maximum(above - 1, low)
    # Thresholds so near to each other that their distances are rounded to the same are as near.
    off = fusion_barrier(jnp.abs(value(below) - wanted))
    nearest = lowest(low, below, lambda edge: jnp.abs(value(edge) - wanted) <= off)
    edge = jnp.where(jnp.abs(value(above) - wanted) < off, above, nearest)
    return jnp.where(last < first, jnp.maximum(first - 1, 0), edge)


def _at_share(low: Array, high: Array, share: Array | float) -> Array:
    """Go a share of the way; rounded as XLA:CPU rounds a sum of two products."""

    def go(low: Array, high: Array) -> Array:
        return multiply_add(low, 1 - share, product(high, jnp.float32(share)))

    value: Array = by_platform(
        low, high, cpu=lambda low, high: low * (1 - share) + high * share, accelerator=go
    )
    return value


def edge_at_quantile(
    occupancy: Array,  # int32 (n_bins, n_lanes), samples in each bin
    share: float,
    has_missing: bool,
) -> Array:  # int32 (n_lanes,)
    """Threshold below which the share of the known samples is nearest to ``share``.

    Bins in which there are no samples do not part them, so of equal thresholds the lower is
    taken; ends, which part nothing, are not. A lane whose known values share a bin can only part
    them from the missing ones.
    """
    below = running_sums(occupancy)[0][: len(occupancy) - has_missing]
    total = below[-1]
    wanted = product(jnp.float32(share), total.astype(jnp.float32))
    off = jnp.abs(below.astype(jnp.float32) - wanted)
    parts = (below > 0) & (below < total)
    off = fusion_barrier(jnp.where(parts, off, jnp.inf))
    nearest, edge = least_of_columns(off)
    before = ((below == 0) & (total > 0)).sum(0, dtype=jnp.int32)
    return jnp.where(nearest < jnp.inf, edge, jnp.maximum(before - 1, 0))
