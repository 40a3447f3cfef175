"""The best split of every node, from its histogram.

``x >= threshold`` goes left, so threshold ``e`` sends the bins up to ``e`` to the right. Where
values are missing, the last bin holds them, and each threshold is tried with them on either
side. Ties go to the first candidate, then to the lower threshold, then to "missing right".
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from lrrf_jax._typing import Array
from lrrf_jax.trees.xla import fusion_barrier

# Sums of the right child and of the node, int32 (..., n_stats, width) and (n_stats, width) ->
# (purity score of both children, samples right, samples left), each (..., n_lanes).
Evaluate = Callable[[Array, Array], tuple[Array, Array, Array]]

_HUGE = 1e38
_BINS_PER_BLOCK = 8


class Split(NamedTuple):
    """The split chosen in each lane, or in each node."""

    score: Array  # float32, -inf where no split leaves enough samples on both sides
    edge: Array  # int32, index of the threshold
    missing_left: Array  # bool


def _allowed_score(right: Array, total: Array, evaluate: Evaluate, min_leaf: int) -> Array:
    score, n_right, n_left = evaluate(right, total)
    return jnp.where((n_right >= min_leaf) & (n_left >= min_leaf), score, -jnp.inf)


def running_sums(
    histogram: Array,  # int32 (n_bins, n_stats, width), n_bins a multiple of 8
    zero: Array,
) -> tuple[Array, Array]:  # int32 (n_bins, n_stats, width), (n_stats, width)
    """Sum over the bins up to each, and over all of them.

    Within blocks of eight bins, then over blocks: three passes over memory, where ``cumsum``
    on XLA:CPU does work that grows with the square, and a scan pays for each of its steps.
    """
    blocks = histogram.reshape(-1, _BINS_PER_BLOCK, *histogram.shape[1:])
    parts = [blocks[:, 0]]
    for k in range(1, _BINS_PER_BLOCK):
        parts.append(parts[-1] + blocks[:, k])
    within = fusion_barrier(zero, jnp.stack(parts, axis=1))
    before = [jnp.zeros_like(within[0, 0])]
    for k in range(len(within)):
        before.append(before[-1] + within[k, -1])
    before = fusion_barrier(zero, jnp.stack(before))
    return (within + before[:-1, None]).reshape(histogram.shape), before[-1]


def _first_largest(score: Array) -> tuple[Array, Array]:  # float32, int32 (n_lanes,)
    """Largest entry of each column, and the first place that holds it.

    By halves: XLA:CPU vectorises that, and not ``argmax`` over the first axis.
    """
    place = jnp.broadcast_to(jnp.arange(len(score), dtype=jnp.int32)[:, None], score.shape)
    while len(score) > 1:
        half = (len(score) + 1) // 2
        first, second = score[:half], score[half:]
        pad = half - len(second)
        second = jnp.pad(second, ((0, pad), (0, 0)), constant_values=-jnp.inf)
        second_wins = second > first
        place = jnp.where(second_wins, jnp.pad(place[half:], ((0, pad), (0, 0))), place[:half])
        score = jnp.where(second_wins, second, first)
    return score[0], place[0]


def _largest_of_ranks(
    score: Array,  # float32 (n_ranks, n_lanes), at most 32 ranks
    ranks: Array,  # uint8 (n_bins, n_lanes), rank of each bin
) -> tuple[Array, Array, Array]:  # float32, int32, int32 (n_lanes,)
    """Largest entry of each column, the bin that holds it, and its rank.

    Bins of a rank tie, and the bin is the one that :func:`_first_largest` takes among all bins.
    """
    largest, _ = _first_largest(score)
    bit = jnp.uint32(1) << jnp.arange(len(score), dtype=jnp.uint32)[:, None]
    holders = jnp.where(score == largest, bit, 0).sum(0, dtype=jnp.uint32)
    holds = (holders >> ranks.astype(jnp.uint32) & 1) > 0
    _, edge = _first_largest(jnp.where(holds, jnp.float32(0), -jnp.inf))
    rank = jnp.take_along_axis(ranks, edge[None], axis=0)[0].astype(jnp.int32)
    return largest, edge, rank


def best_split(
    histogram: Array,  # int32 (n_bins, n_stats, width)
    evaluate: Evaluate,
    *,
    has_missing: bool,
    min_leaf: int,
    zero: Array,
    ranks: Array | None = None,  # uint8 (n_all_bins, n_lanes), where those of the histogram are
) -> Split:  # each (n_lanes,)
    """Try every threshold of every lane. O(n_bins n_stats width)."""

    def largest(score):
        if ranks is not None:
            return _largest_of_ranks(score, ranks[:-1] if has_missing else ranks)
        score, edge = _first_largest(score)
        return score, edge, edge

    right, total = running_sums(histogram, zero)
    if not has_missing:
        score = fusion_barrier(zero, _allowed_score(right, total, evaluate, min_leaf))
        score, edge, _ = largest(score)
        return Split(score, edge, jnp.zeros(len(edge), bool))
    right = right[:-1]
    score_left = _allowed_score(right, total, evaluate, min_leaf)
    score_right = _allowed_score(right + histogram[-1], total, evaluate, min_leaf)
    score_left, score_right = fusion_barrier(zero, score_left, score_right)
    score, edge, place = largest(jnp.maximum(score_left, score_right))
    missing_left = jnp.take_along_axis(score_left > score_right, place[None], axis=0)[0]
    return Split(score, edge, missing_left)


def try_edge(
    histogram: Array,  # int32 (n_bins, n_stats, n_lanes)
    evaluate: Evaluate,
    edge: Array,  # int32 (n_lanes,)
    *,
    has_missing: bool,
    min_leaf: int,
) -> Split:  # each (n_lanes,)
    """Try one threshold a lane."""
    n_bins = len(histogram)
    below = jnp.arange(n_bins, dtype=jnp.int32)[:, None, None] <= edge
    if has_missing:
        below = below & (jnp.arange(n_bins) < n_bins - 1)[:, None, None]
    right, total = jnp.where(below, histogram, 0).sum(0), histogram.sum(0)
    score_right = _allowed_score(right, total, evaluate, min_leaf)
    if not has_missing:
        return Split(score_right, edge, jnp.zeros(len(edge), bool))
    score_left = score_right
    score_right = _allowed_score(right + histogram[-1], total, evaluate, min_leaf)
    return Split(jnp.maximum(score_left, score_right), edge, score_left > score_right)


def parting_edges(
    occupancy: Array,  # int32 (n_bins, n_lanes), samples in each bin
    has_missing: bool,
) -> tuple[Array, Array]:  # int32 (n_lanes,) each
    """First and last threshold that parts the known values of each lane.

    Where they share a bin the last is before the first.
    """
    known = (occupancy[: len(occupancy) - has_missing] > 0).astype(jnp.int32)
    first = jnp.argmax(known, axis=0).astype(jnp.int32)
    return first, jnp.int32(len(known) - 2) - jnp.argmax(known[::-1], axis=0).astype(jnp.int32)


def edge_at_share(
    first: Array,  # int32 (n_lanes,), see `parting_edges`
    last: Array,
    thresholds: Array,  # float32 (n_lanes, n_bins - 1), those of each lane's feature
    share: Array | float,  # float32 (n_lanes,), in [0, 1]
) -> Array:  # int32 (n_lanes,)
    """Threshold nearest to the value at a share of the way from the first to the last that part.

    A lane whose known values share a bin can only part them from the missing ones.
    """
    n_edges = thresholds.shape[1]
    thresholds = jnp.clip(thresholds, -_HUGE, _HUGE)  # keep -inf and padding out of differences

    def threshold_at(edge):
        edge = jnp.clip(edge, 0, n_edges - 1)[:, None]
        return jnp.take_along_axis(thresholds, edge, axis=1)[:, 0]

    wanted = threshold_at(first) * (1 - share) + threshold_at(last) * share
    edges = jnp.arange(n_edges, dtype=jnp.int32)
    between = (edges >= first[:, None]) & (edges <= last[:, None])
    distance = jnp.where(between, jnp.abs(thresholds - wanted[:, None]), jnp.inf)
    edge = jnp.argmin(distance, axis=1).astype(jnp.int32)
    return jnp.where(last < first, jnp.maximum(first - 1, 0), edge)


def edge_at_quantile(
    occupancy: Array,  # int32 (n_bins, n_lanes), samples in each bin
    share: float,
    has_missing: bool,
) -> Array:  # int32 (n_lanes,)
    """Threshold below which the share of the known samples is nearest to ``share``.

    Bins in which there are no samples do not part them, so of equal thresholds the lower is
    taken; ends, which part nothing, are not.
    """
    known = occupancy[: len(occupancy) - has_missing]
    below = jnp.cumsum(known, axis=0)
    total = below[-1]
    off = jnp.abs(below.astype(jnp.float32) - share * total.astype(jnp.float32))
    parts = (below > 0) & (below < total)
    edge = jnp.argmin(jnp.where(parts, off, jnp.inf), axis=0).astype(jnp.int32)
    first, _ = parting_edges(occupancy, has_missing)
    return jnp.where(parts.any(0), edge, jnp.maximum(first - 1, 0))


def few_splits(
    histogram: Array,  # int32 (n_bins, n_stats, n_lanes)
    occupancy: Array,  # int32 (n_bins, n_lanes)
    evaluate: Evaluate,
    thresholds: Array,  # float32 (n_lanes, n_bins - 1)
    uniform: Array | None,  # float32 (n_lanes,), in [0, 1), for "random"
    *,
    splitter: str,  # "random", "width" or "frequency"
    n_cuts: int,
    has_missing: bool,
    min_leaf: int,
) -> Split:  # each (n_lanes,)
    """Try a few thresholds a lane, chosen without a look at the statistic.

    "random": one, drawn evenly between the least and the largest that part the samples
    (extremely randomised trees, Geurts et al. 2006). "width": those between ``n_cuts + 1``
    intervals of equal width; "frequency": of equally many samples. The nearest threshold of the
    feature is taken in each case.
    """
    first, last = parting_edges(occupancy, has_missing)
    if splitter == "random":
        assert uniform is not None
        edges = [edge_at_share(first, last, thresholds, uniform)]
    else:
        shares = [k / (n_cuts + 1) for k in range(1, n_cuts + 1)]
        if splitter == "width":
            edges = [edge_at_share(first, last, thresholds, share) for share in shares]
        else:
            edges = [edge_at_quantile(occupancy, share, has_missing) for share in shares]
    attempt = functools.partial(
        try_edge, histogram, evaluate, has_missing=has_missing, min_leaf=min_leaf
    )
    best = attempt(edges[0])
    for edge in edges[1:]:
        other = attempt(edge)
        better = other.score > best.score
        best = jax.tree.map(lambda a, b, better=better: jnp.where(better, b, a), best, other)
    return best


def choose_candidate(
    lanes: Split,  # each (n_nodes * n_candidates,)
    candidates: Array,  # int32 (n_nodes, n_candidates), features
) -> tuple[Split, Array]:  # each (n_nodes,); int32 (n_nodes,) its feature
    """Take the best candidate feature of each node, the first on a tie."""
    table = Split(*(field.reshape(candidates.shape) for field in lanes))
    at = jnp.argmax(table.score, axis=1)[:, None]
    best, feature = jax.tree.map(
        lambda field: jnp.take_along_axis(field, at, axis=1)[:, 0], (table, candidates)
    )
    return best, feature


def draw_candidates(
    key: Array,
    n_nodes: int,
    n_features: int,
    n_candidates: int,
) -> Array:  # int32 (n_nodes, n_candidates)
    """Draw each node's candidate features, without replacement.

    Floyd's sampling: the k-th draw is among the first features up to the k-th from the end, or
    that last one where it is taken already. A sort of all features would cost more than a level
    of growth.
    """
    if n_candidates == n_features:
        every = jnp.arange(n_features, dtype=jnp.int32)
        return jnp.broadcast_to(every, (n_nodes, n_features))
    words = jax.random.bits(key, (n_candidates, n_nodes), jnp.uint32)

    def draw(k, chosen):
        last = n_features - n_candidates + k
        drawn = (words[k] % (last + 1).astype(jnp.uint32)).astype(jnp.int32)
        drawn = jnp.where((chosen == drawn).any(0), last, drawn)
        return chosen.at[k].set(drawn)

    nothing = jnp.full((n_candidates, n_nodes), -1, jnp.int32)
    return lax.fori_loop(jnp.int32(0), jnp.int32(n_candidates), draw, nothing).T
