"""Sums of the statistic in every (bin, component, node, candidate feature) cell.

The last axis is the *lane*, ``node * n_candidates + candidate``: the search for a split works
on contiguous lanes. Nodes come in blocks, so that the search over one stays in the cache. Sums
are integers, so neither the order of the samples nor the device can change them.
"""

import math
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax

from lrrf_jax._typing import Array
from lrrf_jax.trees.xla import add_at, fusion_barrier, take


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
    n_nodes, n_candidates = candidates.shape
    # A look-up costs more than arithmetic: as many features as fit share a word.
    bits = max(1, (n_features - 1).bit_length())
    per_word = min(31 // bits, n_candidates)
    shift = bits * jnp.arange(per_word, dtype=jnp.int32)
    word = jnp.pad(candidates, ((0, 0), (0, -n_candidates % per_word)))
    word = (word.reshape(n_nodes, -1, per_word) << shift).sum(-1, dtype=jnp.int32)
    word = fusion_barrier(zero, take(fusion_barrier(zero, word), slot))
    feature = (word[:, :, None] >> shift) & (2**bits - 1)
    feature = feature.reshape(len(slot), -1)[:, :n_candidates]
    at = fusion_barrier(zero, feature + (rows * n_features)[:, None])
    return take(bin_index, at)  # one gather a loop: XLA nests them badly


def _first_cell(slot: Array, layout: Layout) -> Array:
    """Cell of component 0, bin 0 and the first candidate of each sample; int32 (n_drawn,)."""
    bits = layout.block_nodes.bit_length() - 1
    block, node = slot >> bits, slot & layout.block_nodes - 1
    block_size = layout.n_bins * layout.n_stats * layout.n_lanes
    return block * block_size + node * layout.n_candidates


def _cells(first: Array, bins: Array, layout: Layout) -> Array:
    """Cell of each sample and candidate, int32 (n_drawn, n_candidates)."""
    candidate = jnp.arange(layout.n_candidates, dtype=jnp.int32)
    bin_size = layout.n_stats * layout.n_lanes
    return bins.astype(jnp.int32) * bin_size + first[:, None] + candidate


def add_classes(
    table: Array,  # (layout.size,)
    bins: Array,  # uint8 (n_drawn, n_candidates)
    slot: Array,  # int32 (n_drawn,)
    component: Array,  # int32 (n_drawn,), the component that a sample adds to
    weight: Array,  # int32 (n_drawn,), 0 where a sample counts nowhere
    layout: Layout,
    zero: Array,
) -> Array:  # (layout.size,)
    """Add each sample's weight to one component: one update a sample and candidate."""
    first = fusion_barrier(zero, _first_cell(slot, layout) + component * layout.n_lanes)
    cell = _cells(first, bins, layout)
    weight = jnp.broadcast_to(weight.astype(layout.dtype)[:, None], cell.shape)
    cell, weight = fusion_barrier(zero, cell, weight)
    return add_at(table, cell.reshape(-1), weight.reshape(-1))


def add_vectors(
    table: Array,  # int32 (layout.size,)
    bins: Array,  # uint8 (n_drawn, n_candidates)
    slot: Array,  # int32 (n_drawn,)
    stat: Array,  # int32 (n_drawn, n_stats), weighted; 0 where a sample counts nowhere
    layout: Layout,
    zero: Array,
) -> Array:  # int32 (layout.size,)
    """Add each sample's whole vector: ``n_stats`` updates a sample and candidate."""
    first = fusion_barrier(zero, _first_cell(slot, layout))
    first = _cells(first, bins, layout).reshape(-1)
    first, columns = fusion_barrier(zero, first, stat.T)

    def add_component(k, table):
        values = lax.dynamic_index_in_dim(columns, k, keepdims=False)
        values = jnp.broadcast_to(values[:, None], bins.shape).reshape(-1)
        return add_at(table, first + k * layout.n_lanes, values)

    return lax.fori_loop(jnp.int32(0), jnp.int32(layout.n_stats), add_component, table)
