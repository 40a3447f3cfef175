"""Sums of the statistic in every (bin, component, node, candidate feature) cell.

A *lane* is ``node * n_candidates + candidate``, and the search for a split works on contiguous
lanes. Samples of a class add to one component, so tables of classes are kept with the lanes last;
vectors add to all components, and are kept with these last, for they are added as rows, and turned
when they are searched. Nodes come in blocks, so that the search over one stays in the cache. Sums
are integers, so neither the order of the samples nor the device can change them.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax

from lrrf_jax._typing import Array
from lrrf_jax._xla import add_at, fusion_barrier


class Layout(NamedTuple):
    """Shape of a table of histograms."""

    n_blocks: int
    n_bins: int
    n_stats: int
    block_nodes: int  # a power of two
    n_candidates: int
    dtype: Any = jnp.int32  # or uint16, of vectors int16, where no sum is larger
    rows: bool = False  # of vectors: components last

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Axes of the table, lanes last, or components where it is of rows."""
        inner = (self.n_lanes, self.n_stats) if self.rows else (self.n_stats, self.n_lanes)
        return self.n_blocks, self.n_bins, *inner

    @property
    def size(self) -> int:
        """Cells of the table."""
        return math.prod(self.shape)

    @property
    def block_size(self) -> int:
        """Cells of one block."""
        return self.size // self.n_blocks

    @property
    def n_lanes(self) -> int:
        """Lanes of one block."""
        return self.block_nodes * self.n_candidates


def block_of(table: Array, block: Array, layout: Layout, zero: Array) -> Array:
    """Copy a block out, lanes last; (n_bins, n_stats, n_lanes)."""
    part = lax.dynamic_slice_in_dim(table, block * layout.block_size, layout.block_size)
    part = part.reshape(layout.shape[1:])
    return fusion_barrier(zero, part.swapaxes(1, 2) if layout.rows else part)


def clear_block(
    table: Array,
    block: Array,
    layout: Layout,
    after: Array,  # int32 (...), not negative
) -> Array:
    """Set a block to 0, but not before ``after`` is known: XLA would copy what it still reads."""
    cell = block * layout.block_size + jnp.minimum(after.min(), 0)
    nothing = jnp.zeros(layout.block_size, layout.dtype)
    return lax.dynamic_update_slice_in_dim(table, nothing, cell, 0)


def first_cell(slot: Array, layout: Layout, bin_size: int) -> Array:
    """Cell, or row, of bin 0 and the first candidate of each sample; int32 (n_drawn,)."""
    bits = layout.block_nodes.bit_length() - 1
    block, node = slot >> bits, slot & layout.block_nodes - 1
    return block * (layout.n_bins * bin_size) + node * layout.n_candidates


def add_classes(
    table: Array,  # (layout.size,)
    bins: Callable[[Array], Array],  # candidate -> int32 (n_drawn,)
    slot: Array,  # int32 (n_drawn,)
    component: Array,  # int32 (n_drawn,), the component that a sample adds to
    weight: Array,  # int32 (n_drawn,), 0 where a sample counts nowhere
    layout: Layout,
    zero: Array,
) -> Array:  # (layout.size,)
    """Add each sample's weight to one component: one update a sample and candidate."""
    bin_size = layout.n_stats * layout.n_lanes
    first = first_cell(slot, layout, bin_size) + component * layout.n_lanes
    first, weight = fusion_barrier(zero, first, weight.astype(layout.dtype))

    def add_candidate(k, table):
        return add_at(table, bins(k) * bin_size + (first + k), weight)

    return lax.fori_loop(jnp.int32(0), jnp.int32(layout.n_candidates), add_candidate, table)


def add_vectors(
    table: Array,  # int32 (layout.size,)
    bins: Callable[[Array], Array],  # candidate -> int32 (n_drawn,)
    slot: Array,  # int32 (n_drawn,)
    stat: Array,  # int32 (n_drawn, n_stats), weighted; 0 where a sample counts nowhere
    layout: Layout,
    zero: Array,
) -> Array:  # int32 (layout.size,)
    """Add each sample's whole vector: one update of ``n_stats`` cells a sample and candidate."""
    first = first_cell(slot, layout, layout.n_lanes)
    first, stat = fusion_barrier(zero, first, stat.astype(layout.dtype))

    def add_candidate(k, rows):
        return add_at(rows, bins(k) * layout.n_lanes + (first + k), stat)

    rows = table.reshape(-1, layout.n_stats)
    rows = lax.fori_loop(jnp.int32(0), jnp.int32(layout.n_candidates), add_candidate, rows)
    return rows.reshape(-1)
