"""The best split of every node, from its histogram.

``x >= threshold`` goes left, so threshold ``e`` sends the bins up to ``e`` to the right. Where
values are missing, the last bin holds them, and each threshold is tried with them on either
side. Ties go to the first candidate, then to one threshold by a fixed rule, that of
``largest_of_columns``, then to "missing right".
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lrrf_jax._columns import largest_of_columns
from lrrf_jax._numerics import running_sums
from lrrf_jax._typing import Array
from lrrf_jax._xla import fusion_barrier

# Sums of the right child and of the node, int32 (..., n_stats, width) and (n_stats, width) ->
# (purity score of both children, samples right, samples left), each (..., n_lanes).
Evaluate = Callable[[Array, Array], tuple[Array, Array, Array]]


class Split(NamedTuple):
    """The split chosen in each lane, or in each node."""

    score: Array  # float32, -inf where no split leaves enough samples on both sides
    edge: Array  # int32, index of the threshold
    missing_left: Array  # bool


def _allowed_score(right: Array, total: Array, evaluate: Evaluate, min_leaf: Array) -> Array:
    score, n_right, n_left = evaluate(right, total)
    # Counts of 16 bits are compared as such; as many samples as they hold are not in both children.
    most = np.iinfo(n_right.dtype).max
    least = jnp.minimum(min_leaf, most).astype(n_right.dtype)
    return jnp.where((n_right >= least) & (n_left >= least), score, -jnp.inf)


def _among(score: Array, n_edges: Array | None) -> Array:
    """Leave out the thresholds that are not in use, float32 (n_edges and more, n_lanes)."""
    if n_edges is None:
        return score
    in_use = jnp.arange(len(score), dtype=jnp.int32) < n_edges
    return jnp.where(in_use[:, None], score, -jnp.inf)


def _largest_of_ranks(
    score: Array,  # float32 (n_ranks, n_lanes), at most 32 ranks
    ranks: Array,  # uint8 (n_bins, n_lanes), rank of each bin
    n_edges: Array | None,  # int32 (), see `best_split`
) -> tuple[Array, Array, Array]:  # float32, int32, int32 (n_lanes,)
    """Largest entry of each column, the bin that holds it, and its rank.

    Bins of a rank tie, and the bin is the one that :func:`largest_of_columns` takes among all bins.
    """
    assert len(score) <= 32  # a bit of a word each
    largest, _ = largest_of_columns(score)
    bit = jnp.uint32(1) << jnp.arange(len(score), dtype=jnp.uint32)[:, None]
    holders = jnp.where(score == largest, bit, 0).sum(0, dtype=jnp.uint32)
    holds = (holders >> ranks.astype(jnp.uint32) & 1) > 0
    _, edge = largest_of_columns(_among(jnp.where(holds, jnp.float32(0), -jnp.inf), n_edges))
    rank = jnp.take_along_axis(ranks, edge[None], axis=0)[0].astype(jnp.int32)
    return largest, edge, rank


def best_split(
    histogram: Array,  # int32 (n_bins, n_stats, width)
    evaluate: Evaluate,
    *,
    n_edges: Array | None,  # int32 (), thresholds in use, where values are missing
    min_leaf: Array,  # int32 ()
    ranks: Array | None = None,  # uint8 (n_all_bins, n_lanes), where those of the histogram are
) -> Split:  # each (n_lanes,)
    """Try every threshold of every lane. O(n_bins n_stats width).

    Where no value is missing, one that is not in use sends all samples to one side.
    """

    def largest(score: Array) -> tuple[Array, Array, Array]:
        if ranks is not None:
            return _largest_of_ranks(score, ranks if n_edges is None else ranks[:-1], n_edges)
        score, edge = largest_of_columns(_among(score, n_edges))
        return score, edge, edge

    right, total = running_sums(histogram)
    if n_edges is None:
        score = fusion_barrier(_allowed_score(right, total, evaluate, min_leaf))
        score, edge, _ = largest(score)
        return Split(score, edge, jnp.zeros(len(edge), bool))
    right = right[:-1]
    score_left = _allowed_score(right, total, evaluate, min_leaf)
    score_right = _allowed_score(right + histogram[-1], total, evaluate, min_leaf)
    score_left, score_right = fusion_barrier(score_left, score_right)
    score, edge, place = largest(jnp.maximum(score_left, score_right))
    missing_left = jnp.take_along_axis(score_left > score_right, place[None], axis=0)[0]
    return Split(score, edge, missing_left)


def few_splits(
    parts: Array,  # int32 (n_parts, n_stats, n_lanes), see :mod:`lrrf_jax.trees.thresholds`
    evaluate: Evaluate,
    edges: Array,  # int32 (n_cuts, n_lanes), rising: the thresholds between the parts
    *,
    has_missing: bool,
    min_leaf: Array,  # int32 ()
) -> Split:  # each (n_lanes,)
    """Try the few thresholds of each lane."""
    total = parts.sum(0, dtype=parts.dtype)
    best = None
    for cut, edge in enumerate(edges):
        right = parts[: cut + 1].sum(0, dtype=parts.dtype)
        score = _allowed_score(right, total, evaluate, min_leaf)
        missing_left = jnp.zeros(len(edge), bool)
        if has_missing:
            score_right = _allowed_score(right + parts[-1], total, evaluate, min_leaf)
            score, missing_left = jnp.maximum(score, score_right), score > score_right
        split = Split(score, edge, missing_left)
        if best is None:
            best = split
        else:
            better = split.score > best.score
            best = jax.tree.map(lambda a, b, better=better: jnp.where(better, b, a), best, split)
    assert best is not None
    return best


def choose_candidate(
    lanes: Split,  # each (n_nodes * n_candidates,)
    candidates: Array,  # int32 (n_nodes, n_candidates), features
    n_candidates: Array,  # int32 (), those in use
) -> tuple[Split, Array]:  # each (n_nodes,); int32 (n_nodes,) its feature
    """Take the best candidate feature of each node, the first on a tie."""
    table = Split(*(field.reshape(candidates.shape) for field in lanes))
    in_use = jnp.arange(candidates.shape[1], dtype=jnp.int32) < n_candidates
    at = jnp.argmax(jnp.where(in_use, table.score, -jnp.inf), axis=1)[:, None]
    best, feature = jax.tree.map(
        lambda field: jnp.take_along_axis(field, at, axis=1)[:, 0], (table, candidates)
    )
    return best, feature
