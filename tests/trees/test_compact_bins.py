"""Few bins for nodes of few samples, against all bins and against plain loops."""

import dataclasses

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lrrf_jax.trees.criterion import ClassEntropy, Statistic, Variance
from lrrf_jax.trees.histogram import Layout, rank_bins, rank_layout, rank_lookup, sum_samples
from lrrf_jax.trees.nodes import level_nodes, make_plan
from lrrf_jax.trees.splitter import Split, best_split
from tests.trees.cases import N_ROWS, config_for, features_with_ties, samples_of
from tests.trees.growing import grow

N_SAMPLES = 110


def _grown(missing, weighted, max_thresholds, **changes):
    rng = np.random.default_rng([int(100 * missing), weighted, max_thresholds])
    x = features_with_ties(rng, N_SAMPLES, 5, missing)
    signal = np.nan_to_num(x[:, [1, 2, 4]]) + 3 * rng.standard_normal((N_SAMPLES, 3))
    values = np.sign(signal).astype(np.int32)
    weight = rng.integers(1, 9, N_SAMPLES).astype(np.int32) if weighted else None
    samples, thresholds = samples_of(x, values, weight, max_thresholds=max_thresholds)
    criterion = Variance(3, signs=True, separate_count=weighted)
    return samples, config_for(x, thresholds, criterion, max_depth=8, **changes)


def _rows_of_split_nodes(forest):
    rows_of_leaf = (forest.leaf_value > 0).sum(1)
    for threshold, slots in zip(forest.threshold, forest.leaf_slot, strict=True):
        for k in range(forest.depth):
            for node, below in enumerate(slots.reshape(2**k, -1)):
                if np.isfinite(threshold[2**k - 1 + node]):
                    yield rows_of_leaf[np.unique(below)].sum()


@pytest.mark.parametrize(
    ("missing", "weighted", "max_thresholds", "changes"),
    [
        (0.15, True, 255, {}),
        (0.0, False, 31, {"histogram_bytes": 1, "short_sums": True}),
        pytest.param(0.0, True, 255, {"search_bytes": 1}, marks=pytest.mark.slow),
        pytest.param(0.15, False, 31, {}, marks=pytest.mark.slow),
    ],
)
def test_compact_bins_of_nodes_of_few_rows_do_not_change_a_tree(
    missing, weighted, max_thresholds, changes
):
    samples, config = _grown(missing, weighted, max_thresholds)
    all_bins = grow(samples, dataclasses.replace(config, compact_bins=()))
    config = dataclasses.replace(config, **changes)
    kinds = make_plan(config, 2, N_ROWS, N_ROWS).kinds
    # 31 thresholds make 32 bins, and that of missing values is one too many for 32.
    few = [64 if missing else 32, 8]
    assert [kind.layout.n_bins for kind in kinds] == ([128, 32, 8] if max_thresholds > 31 else few)
    chex.assert_trees_all_equal(grow(samples, config), all_bins)
    sizes = np.array(list(_rows_of_split_nodes(all_bins.forest)))
    for least, most in ((2, 6), (8, 29), (32, N_SAMPLES)):  # one range a kind
        assert ((sizes >= least) & (sizes <= most)).sum() >= 5
    assert all_bins.forest.missing_left.any() == (missing > 0)


def test_only_small_nodes_of_vectors_that_can_be_many_keep_compact_bins():
    _, config = _grown(0.0, False, 31)
    assert level_nodes(config, 1000, 700) == [(87, 32), (128, 8)]
    for change in (
        {"criterion": ClassEntropy(3)},
        {"splitter": "random"},
        {"min_samples_split": 10},
        {"max_depth": 7},
        {"n_bins": 16},
    ):
        assert len(level_nodes(dataclasses.replace(config, **change), 1000, 700)) == 1


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
        table = sum_samples(table, layout, lookup, slot, [counted])
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


@pytest.mark.parametrize("missing", [False, True])
def test_the_search_by_ranks_finds_the_edge_of_the_search_over_all_bins(missing):
    rng = np.random.default_rng(5)
    n_bins, n_lanes, n_ranks = 64, 200, 8
    # Ones and minus ones in few bins: many thresholds tie.
    histogram = np.zeros((n_bins, 2, n_lanes), np.int32)
    ranks = np.zeros((n_bins, n_lanes), np.uint8)
    compact = np.zeros((n_ranks, 2, n_lanes), np.int32)
    for lane in range(n_lanes):
        bins = rng.integers(0, n_bins, n_ranks - 2)
        if missing:
            bins[:2] = n_bins - 1
        for b in bins:
            histogram[b, :, lane] += rng.choice([-1, 1]), 1
        held = (histogram[:, 1, lane] > 0).astype(np.uint8)
        held[0] = 0
        ranks[:, lane] = np.cumsum(held)
        if missing:
            ranks[-1, lane] = n_ranks - 1
        np.add.at(compact[:, :, lane], ranks[:, lane], histogram[:, :, lane])

    def evaluate(right, total):
        left = total - right
        score = (right[..., 0, :] ** 2 + left[..., 0, :] ** 2).astype(jnp.float32)
        return score, right[..., 1, :], left[..., 1, :]

    options = {"has_missing": missing, "min_leaf": 1}
    of_bins = jax.jit(lambda table: best_split(table, evaluate, **options))(histogram)
    of_ranks = jax.jit(lambda table, ranks: best_split(table, evaluate, ranks=ranks, **options))(
        compact, ranks
    )
    possible = np.isfinite(of_bins.score)
    assert possible.sum() > n_lanes // 2
    for one, other in zip(of_bins, of_ranks, strict=True):
        np.testing.assert_array_equal(np.asarray(one)[possible], np.asarray(other)[possible])
    assert isinstance(of_ranks, Split)
