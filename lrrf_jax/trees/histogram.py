"""Sums of the statistic in every (bin, component, node, candidate feature) cell.

The last axis is the *lane*, ``node * n_candidates + candidate``: the search for a split works
on contiguous lanes. Nodes come in blocks, so that the search over one stays in the cache. Sums
are integers, so neither the order of the samples nor the device can change them.
"""

import math
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from lrrf_jax._typing import Array
from lrrf_jax.trees.xla import fusion_barrier, take


class Layout(NamedTuple):
    """Shape of a table of histograms: (n_blocks, n_bins, n_stats, block_nodes * n_candidates)."""

    n_blocks: int
    n_bins: int
    n_stats: int
    block_nodes: int
    n_candidates: int

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Axes of the table."""
        return self.n_blocks, self.n_bins, self.n_stats, self.n_lanes

    @property
    def size(self) -> int:
        """Cells of the table."""
        return math.prod(self.shape)

    @property
    def n_lanes(self) -> int:
        """Lanes of one block."""
        return self.block_nodes * self.n_candidates


def candidate_bins(
    bin_index: Array,  # uint8 (n_samples * n_features,), rows one after the other
    rows: Array,  # int32 (n_drawn,), the samples of this tree
    slot: Array,  # int32 (n_drawn,), the node of each sample
    candidates: Array,  # int32 (n_nodes, n_candidates), features that a node may split on
    n_features: int,
    zero: Array,
) -> Array:  # uint8 (n_drawn, n_candidates)
    """Look up the bin of each sample in each candidate feature of its node."""
    at = take(candidates, slot) + (rows * n_features)[:, None]
    return take(bin_index, fusion_barrier(zero, at))  # one gather a loop: XLA nests them badly


def _first_cell(slot: Array, bins: Array, layout: Layout) -> Array:
    """Cell of component 0 for each sample and candidate, int32 (n_drawn, n_candidates)."""
    block, node = slot // layout.block_nodes, slot % layout.block_nodes
    base = block * (layout.n_bins * layout.n_stats * layout.n_lanes) + node * layout.n_candidates
    candidate = jnp.arange(layout.n_candidates, dtype=jnp.int32)
    return bins.astype(jnp.int32) * (layout.n_stats * layout.n_lanes) + base[:, None] + candidate


def add_classes(
    table: Array,  # int32 (layout.size,)
    bins: Array,  # uint8 (n_drawn, n_candidates)
    slot: Array,  # int32 (n_drawn,)
    component: Array,  # int32 (n_drawn,), the component that a sample adds to
    weight: Array,  # int32 (n_drawn,), 0 where a sample counts nowhere
    layout: Layout,
    zero: Array,
) -> Array:  # int32 (layout.size,)
    """Add each sample's weight to one component: one update a sample and candidate."""
    cell = _first_cell(slot, bins, layout) + component[:, None] * layout.n_lanes
    weight = jnp.broadcast_to(weight[:, None], cell.shape)
    # Flat keys: XLA:CPU runs a one-dimensional scatter-add at the speed of a C loop.
    cell, weight = fusion_barrier(zero, cell, weight)
    return table.at[cell.reshape(-1)].add(weight.reshape(-1), mode="promise_in_bounds")


def add_vectors(
    table: Array,  # int32 (layout.size,)
    bins: Array,  # uint8 (n_drawn, n_candidates)
    slot: Array,  # int32 (n_drawn,)
    stat: Array,  # int32 (n_drawn, n_stats), weighted; 0 where a sample counts nowhere
    layout: Layout,
    zero: Array,
) -> Array:  # int32 (layout.size,)
    """Add each sample's whole vector: ``n_stats`` updates a sample and candidate."""
    first = _first_cell(slot, bins, layout).reshape(-1)
    first, columns = fusion_barrier(zero, first, stat.T)

    def add_component(k, table):
        values = lax.dynamic_index_in_dim(columns, k, keepdims=False)
        values = jnp.broadcast_to(values[:, None], bins.shape).reshape(-1)
        return table.at[first + k * layout.n_lanes].add(values, mode="promise_in_bounds")

    return lax.fori_loop(jnp.int32(0), jnp.int32(layout.n_stats), add_component, table)
