"""Sums of the statistic in every (bin, component, node, candidate feature) cell.

The last axis is the *lane*, ``node * n_candidates + candidate``: the search for a split works
on contiguous lanes. Nodes come in blocks, so that the search over one stays in the cache. Sums
are integers, so neither the order of the samples nor the device can change them.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax

from lrrf_jax._typing import Array
from lrrf_jax.trees.xla import add_at, fusion_barrier


class Layout(NamedTuple):
    """Shape of a table of histograms: (n_blocks, n_bins, n_stats, block_nodes * n_candidates)."""

    n_blocks: int
    n_bins: int
    n_stats: int
    block_nodes: int  # a power of two
    n_candidates: int
    dtype: Any = jnp.int32  # or uint16, where no sum is larger

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Axes of the table."""
        return self.n_blocks, self.n_bins, self.n_stats, self.n_lanes

    @property
    def size(self) -> int:
        """Cells of the table."""
        return math.prod(self.shape)

    @property
    def bin_size(self) -> int:
        """Cells of one bin of one block."""
        return self.n_stats * self.n_lanes

    @property
    def n_lanes(self) -> int:
        """Lanes of one block."""
        return self.block_nodes * self.n_candidates


def _first_cell(slot: Array, layout: Layout) -> Array:
    """Cell of component 0, bin 0 and the first candidate of each sample; int32 (n_drawn,)."""
    bits = layout.block_nodes.bit_length() - 1
    block, node = slot >> bits, slot & layout.block_nodes - 1
    return block * (layout.n_bins * layout.bin_size) + node * layout.n_candidates


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
    first = _first_cell(slot, layout) + component * layout.n_lanes
    first, weight = fusion_barrier(zero, first, weight.astype(layout.dtype))

    def add_candidate(k, table):
        return add_at(table, bins(k) * layout.bin_size + (first + k), weight)

    return lax.fori_loop(jnp.int32(0), jnp.int32(layout.n_candidates), add_candidate, table)


def add_vectors(
    table: Array,  # int32 (layout.size,)
    bins: Callable[[Array], Array],  # candidate -> int32 (n_drawn,)
    slot: Array,  # int32 (n_drawn,)
    stat: Array,  # int32 (n_drawn, n_stats), weighted; 0 where a sample counts nowhere
    layout: Layout,
    zero: Array,
) -> Array:  # int32 (layout.size,)
    """Add each sample's whole vector: ``n_stats`` updates a sample and candidate."""
    first, columns = fusion_barrier(zero, _first_cell(slot, layout), stat.T)

    def add_candidate(k, table):
        cell = fusion_barrier(zero, bins(k) * layout.bin_size + (first + k))

        def add_component(component, table):
            values = lax.dynamic_index_in_dim(columns, component, keepdims=False)
            return add_at(table, cell + component * layout.n_lanes, values)

        return lax.fori_loop(jnp.int32(0), jnp.int32(layout.n_stats), add_component, table)

    return lax.fori_loop(jnp.int32(0), jnp.int32(layout.n_candidates), add_candidate, table)
