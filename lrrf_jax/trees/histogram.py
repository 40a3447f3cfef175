"""Sums of the statistic in every (bin, component, node, candidate feature) cell.

A *lane* is ``node * n_candidates + candidate``, and the search for a split works on contiguous
lanes. Samples of a class add to one component, so tables of classes are kept with the lanes last;
vectors add to all components, so their tables are kept with these last, for adding rows, and are
transposed for the search. Nodes come in blocks, so that the search over one stays in the cache.
Sums are integers, so neither the order of the samples nor the device can change them.

*Compact bins*: thirty samples leave most of 256 bins of a feature empty, and empty ones cost as
much to sum and search as full ones. So for nodes of few samples the bins of each lane are replaced
by their ranks: how many of the bins 1, 2, ... up to each hold a sample. A threshold above a bin
parts the samples as one above its rank does, and bin 0 keeps a rank of its own where it is empty,
for missing values may be parted from all others: the search finds what it would among all bins.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax

from lrrf_jax._numerics import running_sums
from lrrf_jax._typing import Array
from lrrf_jax._xla import add_at, fusion_barrier, take
from lrrf_jax.trees.criterion import Statistic

# Number of a candidate -> bin of each sample, int32 (n_drawn,).
Bins = Callable[[int | Array], Array]
_UNROLLED_CANDIDATES = 32


class Layout(NamedTuple):
    """Shape of a table of histograms."""

    n_blocks: int
    n_bins: int
    n_stats: int
    block_nodes: int  # a power of two
    n_candidates: int
    dtype: Any = jnp.int32  # or uint16, of vectors int16, where no sum is larger
    rows: bool = False  # of vectors: components last
    n_filling: int = 0  # of rows: components that fill them up, see `quick_width`

    @property
    def row_width(self) -> int:
        """Length of a row."""
        return self.n_stats + self.n_filling

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Axes of the table, lanes last, or components where it is of rows."""
        inner = (self.n_lanes, self.row_width) if self.rows else (self.n_stats, self.n_lanes)
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

    @property
    def bin_size(self) -> int:
        """Stride from one bin to the next: the cells, or rows, of a bin."""
        return self.n_lanes if self.rows else self.n_lanes * self.n_stats


def quick_width(n_stats: int) -> int:
    """Return the length, at least ``n_stats``, of a row that CPUs add fast.

    XLA:CPU adds 46 numbers one by one and 48 sixteen at a time, in a quarter of the time; of an odd
    number it takes the last alone. Longer tables cost something, too: 128 for 121 did not pay.
    """
    if n_stats % 2:
        return n_stats
    eights = -(-n_stats // 8) * 8
    if eights - n_stats <= n_stats // 8:
        return eights
    return n_stats + 2 if n_stats % 4 == 2 else n_stats


def block_of(table: Array, block: Array, layout: Layout) -> Array:
    """Copy a block out, lanes last; (n_bins, n_stats, n_lanes)."""
    part = lax.dynamic_slice_in_dim(table, block * layout.block_size, layout.block_size)
    part = part.reshape(layout.shape[1:])
    return fusion_barrier(part[..., : layout.n_stats].swapaxes(1, 2) if layout.rows else part)


def _first_cell(slot: Array, layout: Layout) -> Array:
    """Cell, or row, of bin 0 and the first candidate of each sample; int32 (n_drawn,)."""
    bits = layout.block_nodes.bit_length() - 1
    block, node = slot >> bits, slot & layout.block_nodes - 1
    return block * (layout.n_bins * layout.bin_size) + node * layout.n_candidates


def clear_blocks(table: Array, n_blocks: Array | None, layout: Layout) -> Array:
    """Set the first blocks of a table to 0: at upper levels far less work than for all.

    None: make a table of zeros instead.
    """
    if n_blocks is None:
        return jnp.zeros(layout.size, layout.dtype)
    nothing = jnp.zeros(layout.block_size, layout.dtype)

    def clear(block: Array, table: Array) -> Array:
        return lax.dynamic_update_slice_in_dim(table, nothing, block * layout.block_size, 0)

    cleared: Array = lax.fori_loop(jnp.int32(0), n_blocks, clear, table)
    return cleared


def sum_samples(
    table: Array,  # at least (layout.size,), 0 in the blocks in use
    layout: Layout,
    bins: Bins,
    slot: Array,  # int32 (n_drawn,)
    statistics: list[Statistic],
    n_candidates: Array | None,  # int32 (), those in use; None: all
) -> Array:
    """Sum samples by cell: one update per sample and candidate, of a number or a row.

    All of a few candidates: without a loop over them.
    """
    cells = table.reshape(-1, layout.row_width) if layout.rows else table
    for component, value in statistics:
        first = _first_cell(slot, layout)
        if component is not None:
            first = first + component * layout.n_lanes
        value = value.astype(layout.dtype)
        if layout.rows:
            value = jnp.pad(value, ((0, 0), (0, layout.n_filling)))
        first, value = fusion_barrier(first, value)

        def add(k: int | Array, cells: Array, first: Array = first, value: Array = value) -> Array:
            return add_at(cells, bins(k) * layout.bin_size + (first + k), value)

        if n_candidates is None and layout.n_candidates <= _UNROLLED_CANDIDATES:
            for k in range(layout.n_candidates):
                cells = add(k, cells)
        else:
            end = jnp.int32(layout.n_candidates) if n_candidates is None else n_candidates
            cells = lax.fori_loop(jnp.int32(0), end, add, cells)
    return cells.reshape(-1)


# -------------------------------------------------------------------------------- compact bins
def rank_layout(layout: Layout, n_bins: int) -> Layout:
    """Shape of the table of ranks that goes with one of histograms."""
    return layout._replace(n_bins=n_bins, n_stats=1, dtype=jnp.uint8, rows=False)


def rank_bins(
    table: Array,  # uint8 (layout.size,), samples per bin and lane, fewer than 256
    n_blocks: Array,  # int32 (), those in use
    layout: Layout,
    missing_rank: int | None,  # of the last bin, where that holds missing values
) -> Array:  # uint8 (layout.size,)
    """Rank the bins of every lane."""

    def rank_block(block: Array, table: Array) -> Array:
        occupied = jnp.minimum(block_of(table, block, layout), 1)
        ranks, _ = running_sums(occupied.at[0].set(0))
        if missing_rank is not None:
            ranks = ranks.at[-1].set(missing_rank)
        start = block * layout.block_size
        return lax.dynamic_update_slice_in_dim(table, ranks.reshape(-1), start, 0)

    ranked: Array = lax.fori_loop(jnp.int32(0), n_blocks, rank_block, table)
    return ranked


def rank_lookup(
    table: Array,  # uint8 (layout.size,), ranks
    layout: Layout,
    bins: Bins,
    slot: Array,  # int32 (n_drawn,)
) -> Bins:
    """Return the function from a candidate's number to the rank of each sample's bin."""
    first = fusion_barrier(_first_cell(slot, layout))

    def ranks_of_candidate(k: int | Array) -> Array:
        return take(table, bins(k) * layout.n_lanes + (first + k)).astype(jnp.int32)

    return ranks_of_candidate
