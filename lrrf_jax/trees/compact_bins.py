"""Few bins for nodes of few samples.

Thirty samples leave most of 256 bins of a feature empty, and to sum and search those costs as
much as full ones. So the bins of each lane (node and candidate feature) are replaced by their
ranks: how many of the bins 1, 2, ... up to each hold a sample. A threshold above a bin parts the
samples as one above its rank does, and bin 0 keeps a rank of its own where it is empty, for
missing values may be parted from all others: the search finds what it would find among all bins.
"""

from collections.abc import Callable

import jax.numpy as jnp
from jax import lax

from lrrf_jax._typing import Array
from lrrf_jax._xla import fusion_barrier, take
from lrrf_jax.trees.histogram import Layout, add_classes, block_of, first_cell
from lrrf_jax.trees.splitter import running_sums


def rank_layout(layout: Layout, n_bins: int) -> Layout:
    """Shape of the table of ranks that goes with one of histograms."""
    return layout._replace(n_bins=n_bins, n_stats=1, dtype=jnp.uint8, rows=False)


def rank_bins(
    table: Array,  # uint8 (layout.size,), all 0
    bins: Callable[[Array], Array],  # candidate -> int32 (n_drawn,)
    slot: Array,  # int32 (n_drawn,)
    counts: Array,  # bool (n_drawn,), whether a sample counts
    n_blocks: Array,  # int32 (), those that hold a node
    missing_rank: int | None,  # of the last bin, where that holds missing values
    layout: Layout,
    zero: Array,
) -> Array:  # uint8 (layout.size,)
    """Rank the bins of every lane; fewer than 256 samples may count in one."""
    table = add_classes(table, bins, slot, jnp.zeros_like(slot), counts, layout, zero)

    def rank_block(block, table):
        occupied = jnp.minimum(block_of(table, block, layout, zero), 1)
        ranks, _ = running_sums(occupied.at[0].set(0), zero)
        if missing_rank is not None:
            ranks = ranks.at[-1].set(missing_rank)
        start = block * layout.block_size
        return lax.dynamic_update_slice_in_dim(table, ranks.reshape(-1), start, 0)

    return lax.fori_loop(jnp.int32(0), n_blocks, rank_block, table)


def rank_lookup(
    table: Array,  # uint8 (layout.size,), ranks
    bins: Callable[[Array], Array],  # candidate -> int32 (n_drawn,)
    slot: Array,  # int32 (n_drawn,)
    layout: Layout,
    zero: Array,
) -> Callable[[Array], Array]:
    """Return the function from a candidate's number to the rank of each sample's bin."""
    first = fusion_barrier(zero, first_cell(slot, layout, layout.n_lanes))

    def ranks_of_candidate(k: Array) -> Array:
        return take(table, bins(k) * layout.n_lanes + (first + k)).astype(jnp.int32)

    return ranks_of_candidate
