"""Rankings of a few rows in NumPy: what `aggregation` gives, to the last bit, without a program.

Sums are whole numbers in float64, which BLAS multiplies, below 2**31 by what `aggregation` asks of
its caller. An *ordering* of many rows or of one is found first; positions follow from it.
"""

import functools
import itertools

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.rankings.aggregation import EXACT_LIMIT
from lrrf_jax.rankings.pairwise import pair_indices

_FLOAT32 = np.finfo(np.float32)
_TINY = float(_FLOAT32.tiny)
ONE_WIN = 2.0**32  # above any sum of preferences
_BITS_ROUNDED_OFF = np.array(2**29 - 1)  # from float64 to float32
_HALFWAY = np.array(2**28)


def ordering_of_scores(
    scores: NDArray,  # (..., n_labels), larger is better, no NaN
) -> NDArray:  # intp (..., n_labels)
    """List the labels by decreasing score, equal ones by index."""
    return np.negative(scores).argsort(-1, "stable")


def ranks_of_ordering(
    ordering: NDArray,  # intp (n_samples, n_labels), or (n_labels,) of one row; is overwritten
    positions: NDArray,  # int32 (n_labels,), 1..n_labels
) -> NDArray:  # int32 (n_samples, n_labels)
    """Turn orderings into positions."""
    n_labels = len(positions)
    ranks = np.empty((ordering.size // n_labels, n_labels), np.int32)
    if ordering.ndim == 2:
        ordering += np.arange(0, ordering.size, n_labels)[:, None]
    ranks.put(ordering, positions)  # which repeats them for every row
    return ranks


# ------------------------------------------------------------------------- from preferences
def label_totals(
    preferences: NDArray,  # float64 (..., n_pairs), whole numbers
    n_labels: int,
) -> NDArray:  # float64 (..., n_labels)
    """Sum each label's preferences over the others."""
    total: NDArray = preferences @ pair_sides(n_labels)
    return total


def copeland_ordering(preferences: NDArray, n_labels: int) -> NDArray:  # intp (..., n_labels)
    """Order as `aggregation.copeland` does; `preferences` as of `label_totals`."""
    return ordering_of_scores(label_totals(np.sign(preferences) * ONE_WIN + preferences, n_labels))


def kemeny_ordering(preferences: NDArray, n_labels: int) -> NDArray:  # intp (..., n_labels)
    """Order as `aggregation.kemeny` does; `preferences` as of `label_totals`."""
    rows = np.atleast_2d(preferences)
    if n_labels > EXACT_LIMIT:
        ordering = ordering_of_scores(label_totals(rows, n_labels))
        for row, start in zip(rows, ordering, strict=True):
            _improve(start, _matrix(row, n_labels))
    else:
        won = label_totals(np.sign(rows), n_labels)
        ordering = ordering_of_scores(won)
        # Nothing beats a ranking that every majority agrees with. The wins are those of one
        # where their squares have the largest sum that they can have.
        undecided = np.square(won).sum(-1) < n_labels * (n_labels**2 - 1) / 3
        if undecided.any():
            orderings, signs = _all_orderings(n_labels)
            ordering[undecided] = orderings[(rows[undecided] @ signs).argmax(-1)]
    return ordering.reshape(*preferences.shape[:-1], n_labels)


@functools.cache
def pair_sides(n_labels: int) -> NDArray:  # float64 (n_pairs, n_labels)
    """Of every pair, 1 for the first label and -1 for the second."""
    sides = np.eye(n_labels)
    first, second = pair_indices(n_labels)
    return sides[first] - sides[second]


@functools.cache
def _all_orderings(n_labels: int) -> tuple[NDArray, NDArray]:
    """List all orderings in lexicographic order, and which way each has the pairs.

    intp (n_orderings, n_labels); float64 (n_pairs, n_orderings), 1 or -1.
    """
    orderings = np.array(list(itertools.permutations(range(n_labels))))
    place = orderings.argsort(1)
    first, second = pair_indices(n_labels)
    return orderings, np.where(place[:, first] < place[:, second], 1.0, -1.0).T.copy()


@functools.cache
def _upper_cells(n_labels: int) -> NDArray:  # intp (n_pairs,)
    first, second = pair_indices(n_labels)
    return first * np.intp(n_labels) + second


def _matrix(preferences: NDArray, n_labels: int) -> NDArray:  # float64 (n_labels, n_labels)
    matrix = np.zeros((n_labels, n_labels))
    matrix.put(_upper_cells(n_labels), preferences)
    return matrix - matrix.T


def _improve(ordering: NDArray, matrix: NDArray) -> None:
    """Search as `aggregation.kemeny_local_search` does, of one row and in place."""
    n_labels = len(ordering)
    backwards = np.tri(n_labels)  # target <= origin
    labels = ordering.tolist()
    here = matrix.take(ordering, 0).take(ordering, 1)
    for _ in range(4 * n_labels**2):
        upto = here.cumsum(1)
        gain = here * backwards
        gain -= upto
        gain += upto.diagonal()[:, None]
        best = int(gain.argmax())
        start, end = divmod(best, n_labels)
        if gain[start, end] <= 0:
            break
        labels.insert(end, labels.pop(start))
        here = matrix.take(labels, 0).take(labels, 1)
    ordering[:] = labels


# ------------------------------------------------------------------------------------ scores
def mean_scores(
    total: NDArray,  # float64 (n_samples, n_labels), whole numbers below 2**31
    count: int,
) -> NDArray:  # float32 (n_samples, n_labels)
    """Divide as XLA's programs do: the whole part, plus the rest times the inverse of ``count``.

    They round once, after the sum, in one instruction of the processor.
    """
    whole = np.floor(total / count)  # exact: the quotient is no closer than 2**-31 to the next
    rest = (total - whole * count).astype(np.float32)
    return _sum_rounded_once(whole, rest * _inverse(count))


@functools.cache
def _inverse(count: int) -> NDArray:  # float64 ()
    return np.array(np.float32(1) / np.float32(count), np.float64)


def _sum_rounded_once(whole: NDArray, part: NDArray) -> NDArray:  # float32
    """Add float64, of which ``whole`` is not less than ``part`` or is 0, and round to float32."""
    total = whole + part
    halfway = (total.view(np.int64) & _BITS_ROUNDED_OFF) == _HALFWAY
    if np.count_nonzero(halfway):  # between two float32 only because this sum is rounded already
        rounded_off = part - (total - whole)
        beyond = np.nextafter(total, np.copysign(np.inf, rounded_off))
        total = np.where(halfway & (rounded_off != 0), beyond, total)
    return total.astype(np.float32)


def scores_in_order(
    scores: NDArray,  # float32 (n_samples, n_labels), finite, multiples of a normal number
    ordering: NDArray,  # intp (n_samples, n_labels)
) -> NDArray:  # float32 (n_samples, n_labels)
    """Redistribute scores as `aggregation.scores_in_order` does."""
    first_of_row = np.arange(0, ordering.size, ordering.shape[1])[:, None]
    mine = scores.take(ordering + first_of_row)
    one, other = mine[:, :-1], mine[:, 1:]
    falls = other < one
    if np.count_nonzero(falls) == falls.size:
        return scores
    odd = ~(falls | ((other == one) & (ordering[:, 1:] > ordering[:, :-1])))
    for row in np.flatnonzero(odd.any(1)):
        scores[row, ordering[row]] = _placed(scores[row].tolist(), ordering[row].tolist())
    return scores


def _placed(scores: list[float], labels: list[int]) -> list[float]:
    """Lower the scores, from the largest, until each is at its place; `labels` best first."""
    placed: list[float] = []
    for score, label in zip(sorted(scores, reverse=True), labels, strict=True):
        if placed and score >= placed[-1]:
            score = placed[-1]
            if label < labels[len(placed) - 1]:
                score = _lower(score)
        placed.append(score)
    return placed


def _lower(score: float) -> float:
    """Return the next float32 that is not subnormal."""
    if -_TINY < score <= 0:
        return -_TINY
    if 0 < score <= _TINY:
        return 0.0
    return float(np.nextafter(np.float32(score), np.float32(-np.inf)))
