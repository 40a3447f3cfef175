"""Few thresholds a feature, chosen by the values in a node and not by what is summed.

So they are there before the sums: samples are summed by *part*, the interval between two of the
``n_cuts`` thresholds of their node, as if these were all. Missing values are the last part, as
they are the last bin. Such a table of ``n_cuts + 1`` bins is small.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

from lrrf_jax._typing import Array
from lrrf_jax._xla import fusion_barrier, take
from lrrf_jax.trees.criterion import ClassEntropy, SparseClassEntropy
from lrrf_jax.trees.growth import GrowthConfig, Lottery, Samples
from lrrf_jax.trees.histogram import Layout, add_classes, block_of, clear_block
from lrrf_jax.trees.level_slots import Drawn
from lrrf_jax.trees.splitter import edge_at_quantile, edge_at_share


def choose_edges(
    table: Array,  # at least (layout.size,), all 0
    bins: Callable[[Array], Array],  # candidate -> int32 (n_drawn,)
    lottery: Lottery,  # of each slot
    drawn: Drawn,
    n_used: Array,  # int32 (), slots that hold a node
    samples: Samples,
    config: GrowthConfig,
    layout: Layout,  # see `Plan.occupancy`
) -> tuple[Array, Array]:
    """Choose the thresholds to try, without a look at the statistic.

    "random": one, drawn evenly between the least and the largest that part the samples
    (extremely randomised trees, Geurts et al. 2006). "width": those between ``n_cuts + 1``
    intervals of equal width; "frequency": of equally many samples. The nearest threshold of the
    feature is taken in each case.

    Returns the table, all 0 again, and int32 (n_cuts, n_candidates, at least n_slots) edges that
    rise from cut to cut.
    """
    count, used_blocks = _counted(drawn, config), (n_used + layout.n_lanes - 1) // layout.n_lanes
    if config.splitter == "frequency":
        n_candidates, zero = lottery.candidates.shape[1], samples.zero
        return _edges_at_frequencies(
            table, bins, n_candidates, drawn.at, count, used_blocks, config, layout, zero
        )
    return table, _edges_at_widths(
        bins, lottery, drawn.at, count > 0, used_blocks, samples, config, layout
    )


def _shares(config: GrowthConfig) -> list[float]:
    return [k / (config.n_cuts + 1) for k in range(1, config.n_cuts + 1)]


def _edges_at_widths(
    bins: Callable[[Array], Array],
    lottery: Lottery,
    slot: Array,
    counts: Array,  # bool (n_drawn,)
    used_blocks: Array,
    samples: Samples,
    config: GrowthConfig,
    layout: Layout,
) -> Array:  # int32 (n_cuts, n_candidates, at least n_slots)
    zero = samples.zero
    n_slots, n_candidates = lottery.candidates.shape
    n_lanes, width = layout.n_lanes, layout.n_blocks * layout.n_lanes

    def add_range(k, ranges):
        value = fusion_barrier(zero, bins(k))
        found = jnp.stack(parting_range(value, slot, counts, width, config))
        return lax.dynamic_update_slice_in_dim(ranges, found[:, None], k, axis=1)

    ranges = jnp.zeros((2, n_candidates, width), jnp.int32)
    ranges = lax.fori_loop(jnp.int32(0), jnp.int32(n_candidates), add_range, ranges)
    by_candidate = jax.tree.map(
        lambda field: jnp.pad(field, ((0, width - n_slots), (0, 0))).T, lottery
    )

    def choose_block(block, edges):
        start = block * n_lanes
        (first, last), own = jax.tree.map(
            lambda field: lax.dynamic_slice_in_dim(field, start, n_lanes, axis=field.ndim - 1),
            (ranges, by_candidate),
        )
        shares = _shares(config) if own.uniform is None else [own.uniform]
        chosen = [
            edge_at_share(first, last, own.candidates, samples.thresholds, share, zero)
            for share in shares
        ]
        return lax.dynamic_update_slice_in_dim(edges, _rising(chosen), start, axis=2)

    edges = jnp.zeros((config.n_cuts, n_candidates, width), jnp.int32)
    return lax.fori_loop(jnp.int32(0), used_blocks, choose_block, edges)


def _edges_at_frequencies(
    table: Array,
    bins: Callable[[Array], Array],
    n_candidates: int,
    slot: Array,
    count: Array,  # int32 (n_drawn,)
    used_blocks: Array,
    config: GrowthConfig,
    layout: Layout,
    zero: Array,
) -> tuple[Array, Array]:  # table; int32 (n_cuts, n_candidates, at least n_slots)

    def choose(k, carry):
        table, edges = carry
        nothing = jnp.zeros_like(slot)
        table = add_classes(table, lambda _: bins(k), slot, nothing, count, layout, zero)

        def choose_block(block, carry):
            table, edges = carry
            occupancy = block_of(table, block, layout, zero)[:, 0]
            chosen = [
                edge_at_quantile(occupancy, share, config.has_missing, zero)
                for share in _shares(config)
            ]
            found = _rising(chosen)[:, None]
            edges = lax.dynamic_update_slice(edges, found, (0, k, block * layout.n_lanes))
            return clear_block(table, block, layout, found), edges

        return lax.fori_loop(jnp.int32(0), used_blocks, choose_block, (table, edges))

    edges = jnp.zeros((config.n_cuts, n_candidates, layout.n_blocks * layout.n_lanes), jnp.int32)
    return lax.fori_loop(jnp.int32(0), jnp.int32(n_candidates), choose, (table, edges))


def _counted(drawn: Drawn, config: GrowthConfig) -> Array:  # int32 (n_drawn,)
    """Return what each sample adds to the count of a group, see `criterion.count`."""
    criterion = config.criterion
    assert not isinstance(criterion, SparseClassEntropy)
    if isinstance(criterion, ClassEntropy):
        count = drawn.copies if criterion.separate_count else drawn.weight
        return jnp.where(drawn.label < criterion.n_classes, count, 0)
    return drawn.copies if criterion.count_row else drawn.weight


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
    least = jnp.full(n_slots, config.n_bins - 1, jnp.int32)
    least = least.at[slot].min(jnp.where(known, bin_, config.n_bins - 1), mode="promise_in_bounds")
    largest = jnp.zeros(n_slots, jnp.int32)
    largest = largest.at[slot].max(jnp.where(known, bin_, 0), mode="promise_in_bounds")
    return least, largest - 1


def part_lookup(
    bins: Callable[[Array], Array],  # candidate -> int32 (n_drawn,)
    slot: Array,  # int32 (n_drawn,)
    edges: Array,  # int32 (n_cuts, n_candidates, at least n_slots)
    config: GrowthConfig,
) -> Callable[[Array], Array]:
    """Return the function from a candidate's number to each sample's part, int32 (n_drawn,)."""

    def parts_of_candidate(k: Array) -> Array:
        value = bins(k)
        part = jnp.zeros_like(value)
        if config.has_missing:
            part = (value == config.n_bins - 1).astype(jnp.int32)
        for cut in range(config.n_cuts):
            edge = take(lax.dynamic_index_in_dim(edges[cut], k, keepdims=False), slot)
            part = part + (value > edge).astype(jnp.int32)
        return part

    return parts_of_candidate
