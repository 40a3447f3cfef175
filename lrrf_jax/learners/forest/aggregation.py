"""From the rankings in a leaf to its integers, and from their sums over trees to a ranking."""

import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from lrrf_jax._backend import by_platform
from lrrf_jax._numerics import multiply_add
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._xla import fusion_barrier
from lrrf_jax.learners.forest.preferences import Rankings
from lrrf_jax.rankings.aggregation import copeland, kemeny, scores_in_order
from lrrf_jax.rankings.on_host import ordering_of_scores, ranks_of_ordering
from lrrf_jax.rankings.pairwise import preference_matrix, reordered_pairs
from lrrf_jax.rankings.permutations import rank_scores
from lrrf_jax.rankings.statistics import borda_votes_on_host

AGGREGATIONS = ("two-step", "one-step", "copeland", "kemeny")
SHRUNKEN = ("copeland", "kemeny")  # leaves start with half an observation of mean weight
VOTE_UNIT = 2**10  # of a mean vote in a leaf
PAIR_UNIT = 2**12  # of a mean preference in a leaf
_COMPARED_LABELS = 32  # above, comparing all pairs takes longer than a sort
_LEAVES_AT_ONCE = 2**14
_SHRINKAGE = 0.5  # observations of "no preference" that every pair of a leaf starts with


# int32 (n_slots, n_leaf_stats), sums of a leaf's samples -> int32 (n_slots, n_outputs); host side.
LeafValue = Callable[[NDArray], NDArray]


def borda_ranks(sums: NDArray) -> NDArray:
    """Turn sums of votes into positions by Borda's method, int32 (n_slots, n_labels)."""
    places = np.arange(1, sums.shape[1] + 1, dtype=np.int32)
    return ranks_of_ordering(ordering_of_scores(sums), places)


def mean_votes(sums: NDArray, vote_scale: int) -> NDArray:
    """Turn sums of votes and of weights into mean votes in fixed point, (n_slots, n_labels)."""
    one = np.float32(1)
    mean = sums[:, :-1].astype(np.float32) * (one / np.maximum(sums[:, -1:], 1).astype(np.float32))
    return np.rint(mean * np.float32(VOTE_UNIT / vote_scale)).astype(np.int32)


def mean_preferences(sums: NDArray, n_pairs: int, weight_scale: float) -> NDArray:
    """Turn sums of signs and of observations into mean preferences, int32 (n_slots, n_pairs).

    ``sum(sign) / (n_observed + 1/2)``: a pair that a leaf has seen once counts for less than
    one on which many rankings agree.
    """
    signs, observed = np.split(sums.astype(np.float32), [n_pairs], axis=1)
    seen = observed + np.float32(_SHRINKAGE * weight_scale)
    # One number of observations for all pairs: by its inverse, as forests were always grown.
    mean = signs * (np.float32(1) / seen) if seen.size < signs.size else signs / seen
    return np.rint(mean * np.float32(PAIR_UNIT)).astype(np.int32)


def leaf_statistics(
    rankings: Rankings,
    aggregation: str,
    vote_scale: int,
    weight_scale: float,
) -> tuple[NDArray, LeafValue]:
    """Choose what leaves sum, int32 (n_rows, n_leaf_stats), and how sums become leaf values.

    Parameters
    ----------
    vote_scale
        Votes of partial rankings are fractions; they are rounded to multiples of its inverse.
    weight_scale
        What a weight of 1 is among the integer weights.
    """
    positions = rankings.positions
    ones = np.ones((len(positions), 1), np.int32)
    if aggregation in ("two-step", "one-step"):
        votes = borda_votes_on_host(positions)
        if (votes == np.round(votes)).all():
            vote_scale = 1
        votes = np.round(votes * vote_scale).astype(np.int32)
        if aggregation == "two-step":
            return votes, borda_ranks
        sums = np.concatenate([votes, ones], axis=1)
        return sums, functools.partial(mean_votes, vote_scale=vote_scale)
    signs, observed = rankings.pairs()
    n_pairs = signs.shape[1]
    informative = observed.any(1)
    if (observed[informative] == 1).all():
        observed = ones  # of complete rankings the weight is the number of observations
    of_sums = functools.partial(mean_preferences, n_pairs=n_pairs, weight_scale=weight_scale)
    return np.concatenate([signs, observed], axis=1), of_sums


def relabelled(leaf_value: LeafValue, order: NDArray, aggregation: str) -> LeafValue:
    """Give leaves, of labels in this ``order``, the values of the labels in their own order.

    Preferences begin with one unit for the label that comes first there: where a leaf knows
    nothing of a pair, or trees say opposite things, all training rankings decide, not the index.
    """
    place = np.argsort(order)

    def values(sums: NDArray) -> NDArray:
        value = leaf_value(sums)
        if aggregation not in SHRUNKEN:
            return value[:, place]
        return reordered_pairs(np.minimum(value + 1, PAIR_UNIT), place)

    return values


def numbers_in_leaf(n_labels: int, aggregation: str) -> int:
    """Count the integers that a leaf holds: one per label, or one per pair of labels."""
    by_label = aggregation in ("two-step", "one-step")
    return n_labels if by_label else n_labels * (n_labels - 1) // 2


def largest_sum(n_trees: int, n_labels: int, aggregation: str) -> int:
    """Bound every number on the way from the leaves of so many trees to ranks and scores."""
    if aggregation == "two-step":
        return n_trees * (n_labels + 1)
    if aggregation == "one-step":
        return n_trees * (n_labels + 1) * VOTE_UNIT
    # Kemeny's search sums rows of the matrix twice; up to seven labels, all pairs.
    return n_trees * max(2 * n_labels, 21) * PAIR_UNIT


def leaf_violation(
    values: NDArray,  # int32 (n_slots, n_outputs)
    n_trees: int,
    n_labels: int,
    aggregation: str,
) -> str | None:
    """Say which values of leaves no aggregation gives, or could not sum."""
    if largest_sum(n_trees, n_labels, aggregation) >= 2**31:
        return f"the sums of {n_trees} trees over {n_labels} labels do not fit 32 bits"
    if aggregation == "two-step":
        places = np.arange(1, n_labels + 1, dtype=np.int32)
        for start in range(0, len(values), _LEAVES_AT_ONCE):
            if (np.sort(values[start : start + _LEAVES_AT_ONCE], axis=1) != places).any():
                return "a leaf holds no ranking"
        return None
    least, most = -PAIR_UNIT, PAIR_UNIT
    if aggregation == "one-step":
        least, most = 0, (n_labels + 1) * VOTE_UNIT
    if values.min() < least or values.max() > most:
        return f"leaves hold numbers from {values.min()} to {values.max()}"
    return None


def ranks_of_sums(
    sums: Array,  # int32 (n_samples, n_outputs), over trees
    n_labels: int,
    aggregation: str,
) -> Array:  # int32 (n_samples, n_labels)
    """Rank labels by what the trees say together; exact, equal scores to the lower index."""
    if aggregation in ("two-step", "one-step"):
        scores = -sums if aggregation == "two-step" else sums
        if n_labels > _COMPARED_LABELS:
            return rank_scores(scores)
        return by_platform(scores, cpu=_rank_by_columns, accelerator=rank_scores)
    if aggregation == "copeland":
        return copeland(sums)
    return kemeny(sums, n_labels)


def _rank_by_columns(
    scores: Array,  # int32 (n_samples, n_labels)
) -> Array:  # int32 (n_samples, n_labels)
    """Rank as `rank_scores` does, each label against all at once, along contiguous rows."""
    scores = fusion_barrier(scores.T)
    label = jnp.arange(len(scores), dtype=jnp.int32)[:, None]
    ranks = jnp.ones_like(scores)
    for other in range(len(scores)):
        # It is ahead where they tie, too, of the labels behind it; no sum is the lowest integer.
        ties_won = (label > other).astype(jnp.int32)
        ranks = ranks + (scores[other] > scores - ties_won).astype(jnp.int32)
    return fusion_barrier(ranks).T


def scores_of_sums(
    sums: Array,  # int32 (n_samples, n_outputs)
    n_labels: int,
    aggregation: str,
    n_trees: int,
    fused: Callable[[Any, Any, Any], Array] = multiply_add,
) -> Array:  # float32 (n_samples, n_labels)
    """Score labels in the order of :func:`ranks_of_sums`.

    Mean Borda votes, 1 .. n_labels, for "two-step" and "one-step"; mean preference over the
    other labels, -1 .. 1, for the rest, redistributed to agree with the ranks. ``fused`` multiplies
    and adds, rounding once: by default as CPUs do in our own programs.
    """
    ranks = ranks_of_sums(sums, n_labels, aggregation)
    if aggregation == "two-step":
        scores = _quotient((n_labels + 1) * n_trees - sums, n_trees, fused)
    elif aggregation == "one-step":
        scores = _quotient(sums, n_trees * VOTE_UNIT, fused)
    else:
        total = preference_matrix(sums).sum(-1, dtype=jnp.int32)
        scores = _quotient(total, n_trees * PAIR_UNIT * (n_labels - 1), fused)
    return scores_in_order(scores, ranks)


def _quotient(
    total: Array, count: int, fused: Callable[[Any, Any, Any], Array]
) -> Array:  # float32
    """Divide integers by the inverse of one; whole results stay whole."""
    # As XLA:CPU would do it, written out, so that all devices do the same.
    rest = (total % count).astype(jnp.float32)
    return fused(rest, 1 / np.float32(count), (total // count).astype(jnp.float32))
