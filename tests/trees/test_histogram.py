"""Sums by bin and node, and the ranks of bins, against plain loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lrrf_jax.trees.criterion import Statistic
from lrrf_jax.trees.histogram import (
    Layout,
    block_of,
    clear_blocks,
    quick_width,
    rank_bins,
    rank_layout,
    rank_lookup,
    sum_samples,
)

N_DRAWN, N_NODES, N_CANDIDATES, N_BINS = 70, 6, 3, 16


def drawn_samples(rng):
    """Slots of samples, and their bins of each candidate, (N_CANDIDATES, N_DRAWN)."""
    slot = rng.integers(0, N_NODES - 1, N_DRAWN).astype(np.int32)  # the last node is empty
    return slot, rng.integers(0, N_BINS, (N_CANDIDATES, N_DRAWN)).astype(np.int32)


def blocks_of(table, layout):
    """All blocks of a table as (n_nodes, n_candidates, n_bins, n_stats)."""
    blocks = [
        np.asarray(block_of(table, jnp.int32(block), layout)) for block in range(layout.n_blocks)
    ]
    lanes = np.concatenate(blocks, axis=2)  # (n_bins, n_stats, lanes)
    return np.moveaxis(lanes, 2, 0).reshape(-1, layout.n_candidates, *lanes.shape[:2])


@pytest.mark.parametrize(
    ("block_nodes", "rows", "dtype", "kind"),
    [
        (8, False, jnp.int32, "classes"),
        (2, False, jnp.uint16, "classes and count"),
        (1, True, jnp.int16, "vectors"),
        (4, True, jnp.int32, "vectors"),
        (4, False, jnp.int32, "vectors, a column after another"),
    ],
)
def test_sums_are_those_of_numpy_for_any_layout(block_nodes, rows, dtype, kind):
    rng = np.random.default_rng(block_nodes)
    slot, bins = drawn_samples(rng)
    n_stats = 5
    if kind == "vectors":
        statistics = [(None, rng.integers(-9, 10, (N_DRAWN, n_stats)))]
    else:
        classes = rng.integers(0, n_stats - 1, N_DRAWN)
        statistics = [(classes, rng.integers(0, 4, N_DRAWN))]
        if kind == "classes and count":
            statistics.append((np.full(N_DRAWN, n_stats - 1), rng.integers(0, 2, N_DRAWN)))
        elif kind.startswith("vectors"):
            columns = rng.integers(-9, 10, (n_stats, N_DRAWN))
            statistics = [(np.full(N_DRAWN, k), column) for k, column in enumerate(columns)]
    layout = Layout(-(-N_NODES // block_nodes), N_BINS, n_stats, block_nodes, N_CANDIDATES)
    layout = layout._replace(dtype=dtype, **({"rows": True, "n_filling": 3} if rows else {}))
    expected = np.zeros((layout.n_blocks * block_nodes, N_CANDIDATES, N_BINS, n_stats), int)
    for component, value in statistics:
        for k in range(N_CANDIDATES):
            at = (slot, k, bins[k])
            np.add.at(expected, at if component is None else (*at, component), value)

    def sums(slot, bins, statistics):
        table = jnp.zeros(layout.size, dtype)
        return sum_samples(
            table, layout, bins.__getitem__, slot, [Statistic(*pair) for pair in statistics], None
        )

    words = jax.tree.map(lambda array: jnp.asarray(array, jnp.int32), statistics)
    table = jax.jit(sums)(slot, bins, words)
    assert table.dtype == dtype
    assert table.shape == (layout.size,)
    np.testing.assert_array_equal(blocks_of(table, layout), expected)
    assert (expected < 0).any() == kind.startswith("vectors")


def test_rows_are_filled_up_by_an_eighth_or_two_numbers_to_lengths_that_are_added_fast():
    for n_stats in range(1, 2000):
        width = quick_width(n_stats)
        assert 0 <= width - n_stats <= max(2, n_stats // 8)
        assert width % 4 != 2
        assert n_stats % 2 == 0 or width == n_stats
    assert [quick_width(n) for n in (4, 6, 12, 28, 44, 46, 254)] == [4, 8, 12, 28, 48, 48, 256]


def test_blocks_in_use_are_cleared_of_whatever_they_hold_and_no_others():
    layout = Layout(5, N_BINS, 3, 2, N_CANDIDATES)
    garbage = np.random.default_rng(0).integers(1, 99, layout.size + 7).astype(np.int32)
    for n_blocks in (0, 1, 4, 5):
        found = clear_blocks(jnp.asarray(garbage), jnp.int32(n_blocks), layout)
        first = n_blocks * layout.block_size
        assert not found[:first].any()
        np.testing.assert_array_equal(found[first:], garbage[first:])


def test_blocks_that_are_not_in_use_keep_their_ranks():
    layout = rank_layout(Layout(3, 8, 5, 2, N_CANDIDATES, rows=True), N_BINS)
    assert layout.shape == (3, N_BINS, 1, 2 * N_CANDIDATES)
    counts = np.random.default_rng(1).integers(0, 2, layout.size).astype(np.uint8)
    found = np.asarray(rank_bins(jnp.asarray(counts), jnp.int32(2), layout, None))
    first = 2 * layout.block_size
    np.testing.assert_array_equal(found[first:], counts[first:])
    occupied = counts[:first].reshape(2, N_BINS, -1).astype(int)
    occupied[:, 0] = 0
    np.testing.assert_array_equal(found[:first].reshape(2, N_BINS, -1), occupied.cumsum(1))


@pytest.mark.parametrize("missing", [False, True])
def test_ranks_are_those_of_a_loop_over_the_bins_that_hold_samples(missing):
    rng = np.random.default_rng(missing)
    n_bins, n_nodes, n_candidates, n_ranks = 64, 6, 3, 16
    layout = rank_layout(Layout(4, n_ranks, 5, 2, n_candidates, rows=True), n_bins)
    slot = np.repeat(np.arange(n_nodes, dtype=np.int32), n_ranks - 2)
    bins = rng.integers(0, n_bins, (n_candidates, len(slot))).astype(np.int32)
    bins[0, slot == 0] = 7
    bins[1, slot == 1] = n_bins - 1
    counts = rng.random(len(slot)) < 0.8

    @jax.jit
    def look_up(slot, bins, counts):
        lookup = bins.__getitem__
        counted = Statistic(jnp.zeros_like(slot), counts)
        table = jnp.zeros(layout.size, jnp.uint8)
        table = sum_samples(table, layout, lookup, slot, [counted], jnp.int32(n_candidates))
        table = rank_bins(table, jnp.int32(3), layout, n_ranks - 1 if missing else None)
        ranks = rank_lookup(table, layout, lookup, slot)
        return jnp.stack([ranks(jnp.int32(k)) for k in range(n_candidates)])

    found = np.asarray(look_up(slot, bins, counts))
    for k in range(n_candidates):
        for node in range(n_nodes):
            here = counts & (slot == node)
            held = set(bins[k, here]) - {0}
            for sample in np.flatnonzero(here):
                rank = sum(b <= bins[k, sample] for b in held)
                if missing and bins[k, sample] == n_bins - 1:
                    rank = n_ranks - 1
                assert found[k, sample] == rank
    assert found.max() < n_ranks
