"""Few thresholds per feature: which are chosen, and what is summed between them."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrrf_jax.trees.binning import (
    candidate_bins,
)
from lrrf_jax.trees.criterion import Statistic
from lrrf_jax.trees.growth import Candidates, Drawn, GrowthConfig, Level, Samples, Sizes
from lrrf_jax.trees.histogram import Layout, block_of, sum_samples
from lrrf_jax.trees.nodes import Plan, n_parts
from lrrf_jax.trees.thresholds import choose_edges, edge_at_quantile, edge_at_share, part_lookup
from lrrf_jax.trees.vector_criterion import Variance
from tests.strategies import N_BINS, fewer, histograms
from tests.trees.growing import N_SAMPLES, grow, ranking_table, samples_of_rankings

N_FEATURES, N_SLOTS, N_DRAWN = 4, 5, 60


def nearest(values, wanted, edges):
    """First of the edges whose value is nearest to ``wanted``."""
    return min(edges, key=lambda edge: (abs(np.float32(values[edge] - wanted)), edge))


def plain_edge(bins, copies, thresholds, splitter, share, has_missing):
    """Threshold of one node and feature, by a loop over all of them."""
    known = np.repeat(bins, copies)
    known = known[known < N_BINS - has_missing]
    if known.min() == known.max():
        return max(known.min() - 1, 0)
    parting = range(known.min(), known.max())
    if splitter == "frequency":
        below = np.array([(known <= edge).sum() for edge in range(N_BINS)], np.float32)
        return nearest(below, np.float32(share) * np.float32(len(known)), parting)
    values = np.clip(thresholds, -1e38, 1e38)
    return nearest(values, values[parting[0]] * (1 - share) + values[parting[-1]] * share, parting)


def level_of(seed, splitter, n_cuts, has_missing):
    """Nodes of a level: many ties, a constant feature, and a node of one sample."""
    rng = np.random.default_rng(seed)
    shape = {"max_depth": 4, "n_candidates": 3, "n_features": N_FEATURES, "n_bins": N_BINS}
    cuts = {"splitter": splitter, "n_cuts": n_cuts, "has_missing": has_missing}
    config = GrowthConfig(Variance(2), **shape, **cuts)
    bins = rng.integers(0, N_BINS - has_missing, (N_DRAWN, N_FEATURES)).astype(np.int32)
    bins[:, 1] = rng.integers(3, 6, N_DRAWN)
    bins[:, 2] = 7
    slot = rng.integers(0, N_SLOTS - 1, N_DRAWN).astype(np.int32)
    slot[0] = N_SLOTS - 1
    if has_missing:
        bins[1:][rng.random((N_DRAWN - 1, N_FEATURES)) < 0.3] = N_BINS - 1
    copies = rng.integers(0, 3, N_DRAWN).astype(np.int32)
    copies[0] = 1
    slot[copies == 0] = 0
    nothing = np.zeros(N_DRAWN, np.int32)
    row = np.arange(N_DRAWN, dtype=np.int32)
    drawn = Drawn(row, slot, copies, copies, nothing)
    candidates = np.stack([rng.permutation(N_FEATURES)[:3] for _ in range(N_SLOTS)])
    candidates = Candidates(candidates.astype(np.int32), None)
    if splitter == "random":
        quarters = rng.integers(0, 4, candidates.feature.shape) / 4  # of which products are exact
        candidates = candidates._replace(uniform=quarters.astype(np.float32))
    thresholds = np.sort(rng.integers(-8, 8, (N_FEATURES, N_BINS - 1)), axis=1).astype(np.float32)
    thresholds[0, -4:] = np.inf
    bins[:, 0] = np.where(bins[:, 0] < N_BINS - 1, bins[:, 0] % 12, bins[:, 0])
    stat = rng.integers(-3, 4, (N_DRAWN, 2)).astype(np.int32)
    bins = bins.astype(np.uint8)
    sizes = Sizes(*map(np.int32, (N_DRAWN, N_FEATURES, 3, N_BINS - 1, 1)))
    samples = Samples(bins, stat, stat, copies, thresholds, sizes)
    samples, drawn, candidates = jax.device_put((samples, drawn, candidates))
    return Level(
        config=config,
        plan=Plan(1, N_SLOTS, ()),
        samples=samples,
        drawn=drawn,
        exists=jnp.ones(N_SLOTS, bool),
        candidates=candidates,
        bins=candidate_bins(samples.bin_index, drawn.row, drawn.at, candidates.feature),
        order=None,
        scratch=None,
    )


def on_host(level):
    """What loops read of a level: bins, samples' slots and copies, and the candidates."""
    values = level.samples.bin_index, level.drawn.at, level.drawn.copies, level.candidates
    return jax.tree.map(np.asarray, values)


@pytest.mark.parametrize(
    ("splitter", "n_cuts", "has_missing", "slots_at_once"),
    [
        ("width", 1, False, 128),
        ("width", 3, True, 128),
        ("frequency", 1, True, 128),
        ("frequency", 3, False, 2),
        ("random", 1, True, 128),
    ],
)
def test_edges_are_those_that_a_loop_over_nodes_and_features_chooses(
    monkeypatch, splitter, n_cuts, has_missing, slots_at_once
):
    monkeypatch.setattr("lrrf_jax.trees.thresholds._SLOTS_AT_ONCE", slots_at_once)  # of five
    level = level_of(3, splitter, n_cuts, has_missing)
    edges = np.asarray(choose_edges(level))
    bin_index, at, copies, candidates = on_host(level)
    thresholds = np.asarray(level.samples.thresholds)
    n_constant = 0
    for slot in range(N_SLOTS):
        here = (at == slot) & (copies > 0)
        for k, feature in enumerate(candidates.feature[slot]):
            bins = bin_index[here, feature].astype(int)
            n_constant += len(np.unique(bins)) == 1
            for cut in range(n_cuts):
                share = np.float32((cut + 1) / (n_cuts + 1))
                if splitter == "random":
                    share = candidates.uniform[slot, k]
                expected = plain_edge(
                    bins, copies[here], thresholds[feature], splitter, share, has_missing
                )
                assert edges[cut, k, slot] == expected
    assert n_constant >= 3


def test_parts_sum_the_samples_between_two_thresholds_and_the_missing_ones():
    level = level_of(4, "width", 3, has_missing=True)
    edges = np.asarray(choose_edges(level))
    layout = Layout(1, n_parts(level.config), 2, 8, 3, jnp.int32, rows=True)
    bin_index, at, copies, candidates = on_host(level)
    weighted = np.asarray(level.samples.stat) * copies[:, None]
    table = jnp.zeros(layout.size, jnp.int32)
    summed = [Statistic(None, jnp.asarray(weighted))]
    table = sum_samples(
        table, layout, part_lookup(level, jnp.asarray(edges)), level.drawn.at, summed, None
    )
    sums = np.asarray(block_of(table, jnp.int32(0), layout))
    for slot in range(N_SLOTS):
        for k, feature in enumerate(candidates.feature[slot]):
            bin_, here = bin_index[:, feature], at == slot
            missing = bin_ == N_BINS - 1
            for cut in range(3):
                right = here & ~missing & (bin_ <= edges[cut, k, slot])
                np.testing.assert_array_equal(
                    sums[: cut + 1, :, 3 * slot + k].sum(0), weighted[right].sum(0)
                )
            np.testing.assert_array_equal(
                sums[-1, :, 3 * slot + k], weighted[here & missing].sum(0)
            )
            np.testing.assert_array_equal(
                sums[-1, :, 3 * slot + k], weighted[here & missing].sum(0)
            )
            np.testing.assert_array_equal(sums[:, :, 3 * slot + k].sum(0), weighted[here].sum(0))


def test_of_thresholds_as_near_the_lowest_is_taken_where_differences_are_rounded():
    share = 0.5
    thresholds = np.array([[0, 1e-9, 2e-9, 1, 1, 2, 2, np.inf]], np.float32)
    pairs = [(a, b) for b in range(7) for a in range(b + 1)]
    first, last = np.array(pairs, np.int32).T
    feature = jnp.zeros(len(pairs), jnp.int32)
    edges = edge_at_share(
        jnp.asarray(first), jnp.asarray(last), feature, jnp.asarray(thresholds), share
    )
    n_tied = 0
    for edge, a, b in zip(edges, first, last, strict=True):
        wanted = thresholds[0, a] * np.float32(1 - share) + thresholds[0, b] * np.float32(share)
        off = np.abs(thresholds[0, a : b + 1] - wanted)
        assert edge == a + off.argmin()
        n_tied += (off == off.min()).sum() > 1
    assert n_tied > 3


@fewer(3)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
def test_the_threshold_at_a_share_is_the_nearest_and_of_two_the_lower(seed, share):
    rng = np.random.default_rng(seed)
    n_lanes, n_edges = 64, N_BINS - 1
    thresholds = np.sort(rng.integers(-9, 9, (3, n_edges)), axis=1).astype(np.float32)
    thresholds[0, 0], thresholds[1, -2:] = -np.inf, np.inf  # missing values; padding
    first, last = rng.integers(0, n_edges + 1, (2, n_lanes)).astype(np.int32)
    feature = rng.integers(0, 3, n_lanes).astype(np.int32)
    shares = jnp.full(n_lanes, share, jnp.float32)
    with jax.disable_jit():
        edges = edge_at_share(*map(jnp.asarray, (first, last, feature, thresholds)), shares)
    for lane, edge in enumerate(edges.tolist()):
        if last[lane] < first[lane]:  # values in one bin are parted from the missing ones
            assert edge == max(first[lane] - 1, 0)
            continue
        low, high = min(first[lane], n_edges - 1), min(last[lane], n_edges - 1)
        value = np.clip(thresholds[feature[lane]], -1e38, 1e38).astype(np.float32)
        wanted = value[low] * np.float32(1 - share) + value[high] * np.float32(share)
        assert edge == low + np.abs(value[low : high + 1] - wanted).argmin()


@pytest.mark.parametrize("has_missing", [False, True])
@fewer(3)
@given(histogram=histograms(), share=st.sampled_from([0.0, 0.25, 0.5, 0.9]))
def test_the_threshold_at_a_quantile_parts_the_samples_nearest_to_the_share(
    has_missing, histogram, share
):
    occupancy = histogram[:, 2]
    with jax.disable_jit():
        edges = edge_at_quantile(jnp.asarray(occupancy), share, has_missing)
    for lane, edge in enumerate(edges.tolist()):
        known = occupancy[: N_BINS - has_missing, lane]
        below, total = np.cumsum(known), known.sum()
        parts = (below > 0) & (below < total)
        if parts.any():
            off = np.abs(below - np.float32(share) * np.float32(total))
            assert edge == np.where(parts, off, np.inf).argmin()
        else:  # one occupied bin at most: the threshold under it
            assert edge == (max(int(np.flatnonzero(known)[0]) - 1, 0) if total else 0)


@pytest.mark.parametrize("splitter", ["width", "frequency"])
def test_interval_splits_are_where_the_values_of_the_node_put_them(splitter):
    x, y = ranking_table(5)
    x = x[:, 1:2]
    samples, thresholds, config = samples_of_rankings(
        "dispersion", x, y, splitter=splitter, bootstrap=False, n_candidates=1, n_features=1
    )
    forest, _ = grow(samples, config, 1)
    members = {0: np.arange(N_SAMPLES)}
    n_checked = 0
    for node in range(7):
        rows = members.pop(node, np.zeros(0, int))
        threshold = forest.threshold[0, node]
        if threshold == np.inf:
            continue
        values = x[rows, 0]
        grid = thresholds[0]
        parting = grid[(grid > values.min()) & (grid <= values.max())]
        if splitter == "width":
            wanted = (parting[0] + parting[-1]) / 2
            nearest = np.abs(parting - wanted).min()
            assert abs(threshold - wanted) <= nearest * 1.001 + 1e-6
        else:
            below = np.array([(values < t).sum() for t in parting])
            off = abs((values < threshold).sum() - len(rows) / 2)
            assert off <= np.abs(below - len(rows) / 2).min() + 1e-6
        n_checked += 1
        left = values >= threshold
        members[2 * node + 1], members[2 * node + 2] = rows[left], rows[~left]
    assert n_checked > 3


def test_more_intervals_offer_more_thresholds():
    x, y = ranking_table(6)
    gains = []
    for n_cuts in (1, 7):
        samples, _, config = samples_of_rankings(
            "dispersion", x, y, splitter="width", bootstrap=False
        )
        config = dataclasses.replace(config, n_cuts=n_cuts, max_depth=1)
        gains.append(float(grow(samples, config, 1)[1][0, 0]))
    assert gains[1] >= gains[0]
    assert gains[1] > 0
