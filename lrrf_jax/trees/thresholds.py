"""Few thresholds per feature, chosen by the values in a node and not by what is summed.

So they are there before the sums: samples are summed by *part*, the interval between two of the
``n_cuts`` thresholds of their node, as if these were all. Missing values are the last part, as
they are the last bin. Such a table of ``n_cuts + 1`` bins is small.
"""

from typing import cast

import jax
import jax.numpy as jnp
from jax import lax

from lrrf_jax._typing import Array
from lrrf_jax._xla import fusion_barrier, take
from lrrf_jax.trees.criterion import HistogramCriterion, Statistic
from lrrf_jax.trees.growth import GrowthConfig, Level
from lrrf_jax.trees.histogram import Bins, block_of, sum_samples
from lrrf_jax.trees.numerics import product, running_sums

_HUGE = 1e38


def choose_edges(level: Level) -> Array:
    """Choose the thresholds to try, without a look at the statistic.

    "random": one, drawn evenly between the lowest and the highest that part the samples
    (extremely randomised trees, Geurts et al. 2006). "width": those between ``n_cuts + 1``
    intervals of equal width; "frequency": of equally many samples. The nearest threshold of the
    feature is taken in each case.

    Returns int32 (n_cuts, n_candidates, at least n_slots) edges that rise from cut to cut.
    """
    assert level.plan.occupancy is not None
    n_used, n_lanes = level.exists.sum(dtype=jnp.int32), level.plan.occupancy.n_lanes
    used_blocks = (n_used + n_lanes - 1) // n_lanes
    if level.config.splitter == "frequency":
        return _edges_at_frequencies(level, used_blocks)
    return _edges_at_widths(level, used_blocks)


def _shares(config: GrowthConfig) -> list[float]:
    return [k / (config.n_cuts + 1) for k in range(1, config.n_cuts + 1)]


def _edges_at_widths(level: Level, used_blocks: Array) -> Array:
    layout, config, slot = level.plan.occupancy, level.config, level.drawn.at
    assert layout is not None
    n_slots, n_candidates = level.candidates.feature.shape
    n_lanes, width = layout.n_lanes, layout.n_blocks * layout.n_lanes
    counts = _counted(level) > 0

    def add_range(k, ranges):
        value = fusion_barrier(level.bins(k))
        found = jnp.stack(parting_range(value, slot, counts, width, config))
        return lax.dynamic_update_slice_in_dim(ranges, found[:, None], k, axis=1)

    ranges = jnp.zeros((2, n_candidates, width), jnp.int32)
    ranges = lax.fori_loop(jnp.int32(0), jnp.int32(n_candidates), add_range, ranges)
    by_candidate = jax.tree.map(
        lambda field: jnp.pad(field, ((0, width - n_slots), (0, 0))).T, level.candidates
    )

    def choose_block(block, edges):
        start = block * n_lanes
        (first, last), own = jax.tree.map(
            lambda field: lax.dynamic_slice_in_dim(field, start, n_lanes, axis=field.ndim - 1),
            (ranges, by_candidate),
        )
        shares = _shares(config) if own.uniform is None else [own.uniform]
        chosen = [
            edge_at_share(first, last, own.feature, level.samples.thresholds, share)
            for share in shares
        ]
        return lax.dynamic_update_slice_in_dim(edges, _rising(chosen), start, axis=2)

    edges = jnp.zeros((config.n_cuts, n_candidates, width), jnp.int32)
    return lax.fori_loop(jnp.int32(0), used_blocks, choose_block, edges)


def _edges_at_frequencies(level: Level, used_blocks: Array) -> Array:
    layout, config, slot = level.plan.occupancy, level.config, level.drawn.at
    assert layout is not None
    n_candidates = level.candidates.feature.shape[1]
    counted = Statistic(jnp.zeros_like(slot), _counted(level))

    def choose(k, edges):
        table = jnp.zeros(layout.size, layout.dtype)
        table = sum_samples(table, layout, lambda _: level.bins(k), slot, [counted])

        def choose_block(block, edges):
            occupancy = block_of(table, block, layout)[:, 0]
            chosen = [
                edge_at_quantile(occupancy, share, config.has_missing) for share in _shares(config)
            ]
            found = _rising(chosen)[:, None]
            return lax.dynamic_update_slice(edges, found, (0, k, block * layout.n_lanes))

        return lax.fori_loop(jnp.int32(0), used_blocks, choose_block, edges)

    edges = jnp.zeros((config.n_cuts, n_candidates, layout.n_blocks * layout.n_lanes), jnp.int32)
    return lax.fori_loop(jnp.int32(0), jnp.int32(n_candidates), choose, edges)


def _counted(level: Level) -> Array:
    return cast(HistogramCriterion, level.config.criterion).counted(level.drawn)


def _rising(chosen: list[Array]) -> Array:  # int32 (n_cuts, ...)
    # Shares rise, and so do their edges, but for how a share of the way is rounded.
    rising = chosen[:1]
    for edge in chosen[1:]:
        rising.append(jnp.maximum(rising[-1], edge))
    return jnp.stack(rising)


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
    known = counts & (bin_ < config.n_bins - config.has_missing)
    lowest = jnp.full(n_slots, config.n_bins - 1, jnp.int32)
    lowest = lowest.at[slot].min(
        jnp.where(known, bin_, config.n_bins - 1), mode="promise_in_bounds"
    )
    highest = jnp.zeros(n_slots, jnp.int32)
    highest = highest.at[slot].max(jnp.where(known, bin_, 0), mode="promise_in_bounds")
    return lowest, highest - 1


def part_lookup(
    level: Level,
    edges: Array,  # int32 (n_cuts, n_candidates, at least n_slots)
) -> Bins:
    """Return the function from a candidate's number to each sample's part, int32 (n_drawn,)."""
    config = level.config

    def parts_of_candidate(k: Array) -> Array:
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

    def value(edge):  # -inf and padding are kept out of differences
        return jnp.clip(take(flat, row + edge), -_HUGE, _HUGE)

    def lowest(low, high, holds):  # edge where it holds, as it then does up to high; else high
        def halve(_, ends):
            low, high = ends
            middle = (low + high) >> 1
            found = holds(middle)
            above = jnp.minimum(middle + 1, high)
            return jnp.where(found, low, above), jnp.where(found, middle, high)

        n_steps = jnp.int32(n_edges.bit_length())
        return lax.fori_loop(jnp.int32(0), n_steps, halve, (low, high))[1]

    low, high = (jnp.clip(edge, 0, n_edges - 1) for edge in (first, last))
    wanted = fusion_barrier(value(low) * (1 - share) + value(high) * share)
    above = lowest(low, high, lambda edge: value(edge) >= wanted)
    below = jnp.maximum(above - 1, low)
    # Thresholds so near to each other that their distances are rounded to the same are as near.
    off = fusion_barrier(jnp.abs(value(below) - wanted))
    nearest = lowest(low, below, lambda edge: jnp.abs(value(edge) - wanted) <= off)
    edge = jnp.where(jnp.abs(value(above) - wanted) < off, above, nearest)
    return jnp.where(last < first, jnp.maximum(first - 1, 0), edge)


def edge_at_quantile(
    occupancy: Array,  # integers (n_bins, n_lanes), samples in each bin, n_bins a multiple of 8
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
    edge = jnp.broadcast_to(jnp.arange(len(off), dtype=jnp.int32)[:, None], off.shape)
    while len(off) > 1:
        # The nearer of neighbours, the first on a tie: XLA:CPU vectorises that, and not `argmin`.
        pad = ((0, len(off) % 2), (0, 0))
        off, edge = jnp.pad(off, pad, constant_values=jnp.inf), jnp.pad(edge, pad)
        second = off[1::2] < off[::2]
        off, edge = (jnp.where(second, a[1::2], a[::2]) for a in (off, edge))
    before = ((below == 0) & (total > 0)).sum(0, dtype=jnp.int32)
    return jnp.where(off[0] < jnp.inf, edge[0], jnp.maximum(before - 1, 0))
