"""The best split of a histogram against a loop over thresholds and ways of the missing values.

Little is compiled: the functions run operation by operation, on small integers, so that every
score and every tie is exact.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrrf_jax import _columns
from lrrf_jax.trees import splitter
from lrrf_jax.trees.splitter import Split, best_split
from tests.strategies import N_BINS, N_LANES, N_STATS, fewer, histograms


@pytest.fixture(autouse=True)
def _operation_by_operation():
    with jax.disable_jit():
        yield


def score_of(right, left):
    """Some purity of two children, exact in float32; more of it where the children differ."""
    return (right[0] - right[1]) ** 2 + (left[0] - left[1]) ** 2


def evaluate(right, total):
    left = total - right
    at = tuple(jnp.moveaxis(sums, -2, 0) for sums in (right, left))
    return score_of(*at).astype(jnp.float32), at[0][2], at[1][2]


def tournament(entries):
    """Place of the winner of rounds between an entry and the one half a list further on."""
    places = list(range(len(entries)))
    while len(places) > 1:
        half = (len(places) + 1) // 2
        places = [
            second[0] if second and entries[second[0]] > entries[first] else first
            for first, second in (
                (places[k], places[half + k : half + k + 1] if half + k < len(places) else [])
                for k in range(half)
            )
        ]
    return places[0]


def best_by_loop(histogram, lane, has_missing, min_leaf):
    """Try every threshold, and the missing values on either side of each."""
    bins = histogram[:, :, lane]
    total = bins.sum(0)
    known = bins[:-1] if has_missing else bins
    tried = []
    for edge in range(len(known)):
        right = known[: edge + 1].sum(0)
        ways = [(right, False)]
        if has_missing:
            ways = [(right + bins[-1], False), (right, True)]
        best, missing_left = -np.inf, False
        for side, way in ways:
            left = total - side
            allowed = side[2] >= min_leaf and left[2] >= min_leaf
            score = float(score_of(side, left)) if allowed else -np.inf
            if score > best:
                best, missing_left = score, way
        tried.append((best, missing_left))
    edge = tournament([score for score, _ in tried])
    return tried[edge][0], edge, tried[edge][1]


def edges_of(has_missing):
    """All thresholds are in use."""
    return jnp.int32(N_BINS - 1) if has_missing else None


@pytest.mark.parametrize("has_missing", [False, True])
@fewer(3)
@given(histogram=histograms(), min_leaf=st.sampled_from([1, 5, 40]))
def test_the_best_split_is_that_of_a_loop_over_all(has_missing, histogram, min_leaf):
    found = splitter.best_split(
        jnp.asarray(histogram), evaluate, n_edges=edges_of(has_missing), min_leaf=min_leaf
    )
    expected = [best_by_loop(histogram, lane, has_missing, min_leaf) for lane in range(N_LANES)]
    scores, edges, ways = zip(*expected, strict=True)
    assert found.score.tolist() == list(scores)
    assert found.edge.tolist() == list(edges)
    assert found.missing_left.tolist() == list(ways)


@fewer(3)
@given(st.lists(st.integers(0, 3), min_size=N_BINS, max_size=N_BINS))
def test_the_largest_of_equals_is_that_of_a_tournament(entries):
    score = jnp.asarray(np.array(entries, np.float32)[:, None])
    largest, place = _columns.largest_of_columns(score)
    assert largest.tolist() == [max(entries)]
    assert place.tolist() == [tournament(entries)]


def test_of_places_1_and_2_of_four_equals_it_is_2():
    for entries, place in (([7, 7], 0), ([1, 7, 7, 1], 2), ([7, 1, 7, 1], 0), ([1, 1, 7], 2)):
        found = _columns.largest_of_columns(jnp.asarray(np.array(entries, np.float32)[:, None]))
        assert (found[0].tolist(), found[1].tolist()) == ([max(entries)], [place])


@pytest.mark.parametrize("has_missing", [False, True])
@fewer(3)
@given(histogram=histograms(), data=st.data())
def test_bins_of_one_rank_give_the_split_of_all_bins(has_missing, histogram, data):
    # A rank is a run of bins, of which all but its first are empty; missing values keep a rank.
    occupied = histogram.any(1)
    occupied[0] = True
    if has_missing:
        occupied[-1] = True
    ranks = (np.cumsum(occupied, axis=0) - 1).astype(np.uint8)
    n_ranks = N_BINS
    short = np.zeros((n_ranks, N_STATS, N_LANES), np.int32)
    for lane in range(N_LANES):
        if has_missing:  # the last row is that of the missing values, whatever their rank
            np.add.at(short[:, :, lane], ranks[:-1, lane], histogram[:-1, :, lane])
            short[-1, :, lane] = histogram[-1, :, lane]
        else:
            np.add.at(short[:, :, lane], ranks[:, lane], histogram[:, :, lane])
    options = {"n_edges": edges_of(has_missing), "min_leaf": 1}
    whole = splitter.best_split(jnp.asarray(histogram), evaluate, **options)
    found = splitter.best_split(jnp.asarray(short), evaluate, ranks=jnp.asarray(ranks), **options)
    for a, b in zip(found, whole, strict=True):
        assert a.tolist() == b.tolist()


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

    options = {"n_edges": jnp.int32(n_bins - 1) if missing else None, "min_leaf": 1}
    with jax.disable_jit(False):
        of_bins = jax.jit(lambda table: best_split(table, evaluate, **options))(histogram)
        of_ranks = jax.jit(
            lambda table, ranks: best_split(table, evaluate, ranks=ranks, **options)
        )(compact, ranks)
    possible = np.isfinite(of_bins.score)
    assert possible.sum() > n_lanes // 2
    for one, other in zip(of_bins, of_ranks, strict=True):
        np.testing.assert_array_equal(np.asarray(one)[possible], np.asarray(other)[possible])
    assert isinstance(of_ranks, Split)


@pytest.mark.parametrize("has_missing", [False, True])
@fewer(3)
@given(histogram=histograms(), seed=st.integers(0, 2**32 - 1))
def test_few_cuts_are_tried_one_after_another(has_missing, histogram, seed):
    rng = np.random.default_rng(seed)
    n_known = N_BINS - has_missing
    edges = np.sort(rng.integers(0, n_known, (3, N_LANES)), axis=0).astype(np.int32)
    parts = np.zeros((4 + has_missing, N_STATS, N_LANES), np.int32)
    expected = []
    for lane in range(N_LANES):
        of_bin = (np.arange(n_known)[:, None] > edges[:, lane]).sum(1)
        np.add.at(parts[:, :, lane], of_bin, histogram[:n_known, :, lane])
        if has_missing:
            parts[-1, :, lane] = histogram[-1, :, lane]
        best = None
        for edge in edges[:, lane]:
            right, total = histogram[: edge + 1, :, lane].sum(0), histogram[:, :, lane].sum(0)
            ways = [(right, False)]
            if has_missing:
                ways = [(right + histogram[-1, :, lane], False), (right, True)]
            for side, way in ways:
                left = total - side
                allowed = side[2] >= 2 and left[2] >= 2
                score = float(score_of(side, left)) if allowed else -np.inf
                if best is None or score > best[0]:
                    best = score, int(edge), way
        expected.append(best)
    found = splitter.few_splits(
        jnp.asarray(parts), evaluate, jnp.asarray(edges), has_missing=has_missing, min_leaf=2
    )
    assert list(zip(*(field.tolist() for field in found), strict=True)) == expected


@fewer(3)
@given(st.integers(0, 2**32 - 1))
def test_the_first_of_the_best_candidates_in_use_is_taken(seed):
    rng = np.random.default_rng(seed)
    score = rng.integers(0, 3, (5, 3)).astype(np.float32)
    candidates = rng.permuted(np.tile(np.arange(7, dtype=np.int32), (5, 1)), axis=1)[:, :3]
    lanes = splitter.Split(score.ravel(), np.arange(15, dtype=np.int32), np.arange(15) % 2 == 0)
    in_use = int(rng.integers(1, 4))
    lanes = splitter.Split(*map(jnp.asarray, lanes))
    best, feature = splitter.choose_candidate(lanes, candidates, jnp.int32(in_use))
    score = score[:, :in_use]
    at = score.argmax(1)
    assert best.score.tolist() == score.max(1).tolist()
    assert best.edge.tolist() == (3 * np.arange(5) + at).tolist()
    assert best.missing_left.tolist() == ((3 * np.arange(5) + at) % 2 == 0).tolist()
    assert feature.tolist() == candidates[np.arange(5), at].tolist()


@pytest.mark.parametrize("n_places", [1, 2, 3, 15, 63, 64, 255])
def test_ties_go_to_the_first_in_the_order_of_halves(n_places):
    order = _columns._order_of_ties(n_places)
    assert sorted(order) == list(range(n_places))
    rng = np.random.default_rng(n_places)
    for _ in range(200):
        score = rng.integers(0, 3, n_places)
        held = [place for place in order if score[place] == score.max()]
        assert held[0] == tournament(score)


@pytest.mark.parametrize("n_places", [1, 15, 31])
def test_the_largest_is_found_at_once_as_by_halves(n_places):
    score = np.random.default_rng(1).integers(0, 3, (n_places, 64)).astype(np.float32)
    score[:, :4] = -np.inf
    largest, place = _columns._largest_at_once(jnp.asarray(score))
    np.testing.assert_array_equal(largest, score.max(0))
    np.testing.assert_array_equal(place, _columns._largest_by_halves(jnp.asarray(score))[1])
    np.testing.assert_array_equal(place, [tournament(column) for column in score.T])
