"""From preferences between pairs of labels to bucket orders: rankings with ties.

A *pair preference* is a number from -1 to 1 for each pair (i, j), i < j, of `pairwise`: the share
of rankings that place label i first less the share that place label j first; a tie is for neither,
and NaN says that nothing is known. With C[i, j] of the literature, the share that prefers i plus
half of the ties, it is 2 C[i, j] - 1.

The *optimal bucket order* B, in which a pair is 1, 0 or -1, minimises the sum of the differences to
the preferences (Gionis, Mannila, Puolamäki, Ukkonen, "Algorithms for discovering bucket orders from
data", KDD 2006). The *bucket pivot algorithm* (BPA; there, and Ukkonen, Puolamäki, Gionis, Mannila,
"A randomized approximation algorithm for computing bucket orders", 2009) comes close to it, and has
variants: several pivots (MP), in two stages (MP2), and the pivot of least indecision first (LIA),
by Aledo, Gámez, Rosete, "Utopia in the solution of the bucket order problem", 2017. Partial label
ranking (Alfaro, Aledo, Gámez, "Learning decision trees for the partial label ranking problem",
2021) uses LIA with MP2.
"""

import functools
import numbers

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_choice
from lrrf_jax.rankings.bucket_pivot import Variant, pivot_places
from lrrf_jax.rankings.optimal_buckets import MAX_LABELS, optimal_places
from lrrf_jax.rankings.pairwise import n_labels_of_pairs, pair_indices

_VARIANTS = {
    "bpa": Variant(),
    "bpa-mp": Variant(several=True),
    "bpa-mp2": Variant(several=True, second=True),
    "bpa-lia": Variant(),
    "bpa-lia-mp": Variant(several=True),
    "bpa-lia-mp2": Variant(several=True, second=True),
    "scikit-lr": Variant(several=True, second=True),
}
METHODS = ("optimal", *_VARIANTS)
DEFAULT_METHOD, DEFAULT_THRESHOLD = "bpa-lia-mp2", 0.25
UNKNOWN = ("abstain", "last")
# Sums and comparisons are those of whole numbers, in which shares of up to 16, and of 18, 20, 25,
# 50, 75 and 100 equal votes are exact; float32 tells them apart.
_UNIT = 3_603_600
_COARSE = 2**7  # of sums of indecision, in these units
_CELLS_AT_ONCE = 2**18  # of samples x labels x labels


def bucket_orders(
    preferences: NDArray,  # float32 or float64 (n_samples, n_pairs) in [-1, 1], NaN: unknown
    *,
    method: str = DEFAULT_METHOD,
    threshold: float = DEFAULT_THRESHOLD,
    unknown: str = "abstain",
) -> NDArray:  # float32 (n_samples, n_labels)
    """Turn pair preferences into positions; tied labels have the mean of the places they cover.

    Parameters
    ----------
    method : str
        "optimal", for up to 12 labels; "bpa", with one pivot, several ("-mp") or several in two
        stages ("-mp2"), chosen by index or, "-lia", by least indecision. "scikit-lr" is
        "bpa-lia-mp2" as scikit-lr has it, see below.
    threshold : float in [0, .5]
        Of the pivot algorithms: a label joins a bucket where the share that prefers it to the
        pivots is at most so far from one half. 0 ties what is level; .5 ties everything.
    unknown : {"abstain", "last"}
        Labels of which no preference is known get NaN; or they share a last bucket.

    Notes
    -----
    A pair of which nothing is known, of labels of which something is, counts as level.

    Where the sources leave the order of the labels open, what they have decides: "-lia" methods
    visit them by rising indecision, and equal ones by total preference, the middle first, then the
    middles of the halves; of several optima, the one of the fewest buckets is taken, then the one
    with the labels of least total preference in its last buckets. What is equal in all that is
    decided by index; and so are "bpa", "bpa-mp", "bpa-mp2", where the sources draw at random, and
    "scikit-lr", whose pivot is the label of least indecision and which visits labels by index.

    Preferences are rounded to 3e-7, and as much beyond the threshold is still within it. Costs
    O(n_labels^2) per row and round for the pivot algorithms, O(3^n_labels) for "optimal". Rows do
    not depend on each other. Arguments are not checked.

    Examples
    --------
    >>> import numpy as np
    >>> votes = np.array([[0.9, 0.9, 0.1], [np.nan, 1.0, np.nan]], np.float32)
    >>> bucket_orders(votes).tolist()
    [[1.0, 2.5, 2.5], [1.0, nan, 2.0]]
    >>> bucket_orders(votes, method="optimal", unknown="last").tolist()
    [[1.0, 2.5, 2.5], [1.0, 3.0, 2.0]]
    """
    n_labels = n_labels_of_pairs(preferences.shape[1])
    out = np.empty((len(preferences), n_labels), np.float32)
    step = max(1, _CELLS_AT_ONCE // max(1, n_labels) ** 2)
    for start in range(0, len(preferences), step):
        rows = slice(start, start + step)
        matrix, known = _matrix(preferences[rows], n_labels)
        place = _places(matrix, known, method, threshold)
        out[rows] = _positions(place, known, unknown).T
    return out


def _matrix(preferences: NDArray, n_labels: int) -> tuple[NDArray, NDArray]:
    """Lay preferences out, int32 (n_labels, n_labels, n_samples); bool (n_labels, n_samples)."""
    first, second = pair_indices(n_labels)
    given = ~np.isnan(preferences).T
    whole = np.rint(np.where(given.T, preferences, 0).astype(np.float64) * _UNIT).astype(np.int32).T
    matrix = np.zeros((n_labels, n_labels, len(preferences)), np.int32)
    matrix[first, second], matrix[second, first] = whole, -whole
    known = np.full((n_labels, len(preferences)), n_labels == 1)
    for pair, labels in zip(given, zip(first, second, strict=True), strict=True):
        for label in labels:
            known[label] |= pair
    return matrix, known


def _places(
    matrix: NDArray, known: NDArray, method: str, threshold: float
) -> NDArray:  # int32 (n_labels, n_samples), labels in buckets before; unknown ones: n_labels
    n_labels, n_samples = known.shape
    total = matrix.sum(1, dtype=np.int64)
    size = np.abs(matrix)
    undecided = np.minimum(size, _UNIT - size).sum(1, dtype=np.int64)
    undecided = (
        undecided + _COARSE // 2
    ) // _COARSE  # sums of other pairs may be meant to be equal
    if method == "optimal":
        visit = np.lexsort((undecided, -total, ~known), axis=0)
    elif method.startswith("bpa-lia"):
        ahead = np.stack([((total > mine) & known).sum(0) for mine in total])
        halves = _by_halves(n_labels)[known.sum(0), np.minimum(ahead, n_labels - 1)]
        visit = np.lexsort((halves, undecided), axis=0)
    else:
        visit = np.repeat(np.arange(n_labels)[:, None], n_samples, axis=1)
    sample = np.arange(n_samples)
    matrix, known = matrix[visit[:, None], visit, sample], known[visit, sample]
    if method == "optimal":
        place = _optimal(matrix, known)
    else:
        priority = np.arange(n_labels)[:, None] + np.zeros_like(visit)
        if method == "scikit-lr":
            np.put_along_axis(priority, np.lexsort((undecided,), axis=0), priority.copy(), axis=0)
        limit = round(2 * threshold * _UNIT) + 1
        place = pivot_places(matrix, priority, known, limit, _VARIANTS[method])
    out = np.empty_like(place)
    np.put_along_axis(out, visit, place, axis=0)
    return out


@functools.cache
def _by_halves(n_labels: int) -> NDArray:  # intp (n_labels + 1, n_labels)
    """Give numbers to the places of labels, the middle first, then the middles of the halves.

    >>> _by_halves(5)[5].tolist()
    [3, 1, 0, 4, 2]
    """
    numbers = np.zeros((n_labels + 1, n_labels), np.intp)
    for n_places in range(n_labels + 1):
        order, parts = [], [range(n_places)]
        for part in parts:  # which grows
            if part:
                middle = len(part) // 2
                order.append(part[middle])
                parts += [part[:middle], part[middle + 1 :]]
        numbers[n_places, order] = np.arange(n_places)
    return numbers


def _optimal(matrix: NDArray, known: NDArray) -> NDArray:
    """Solve samples that know as many labels, which are the first, together."""
    place = np.full(known.shape, len(known), np.int32)
    n_known = known.sum(0)
    for count in np.unique(n_known):
        samples = np.flatnonzero(n_known == count)
        part = np.moveaxis(matrix[:count, :count, samples], 2, 0).astype(np.float64)
        place[:count, samples] = optimal_places(part, _UNIT).T
    return place


def _positions(place: NDArray, known: NDArray, unknown: str) -> NDArray:  # float32, as place
    positions = np.empty(place.shape, np.float32)
    for label, mine in enumerate(place):
        before = (place < mine).sum(0)
        positions[label] = before + ((place == mine).sum(0) + 1) / 2
    if unknown == "abstain":
        positions[~known] = np.nan
    return positions


def require_settings(method: str, threshold: float, unknown: str, n_labels: int) -> None:
    """Raise InputError for settings that `bucket_orders` does not take for so many labels."""
    require_choice(method, "method", METHODS)
    require_choice(unknown, "unknown", UNKNOWN)
    real = isinstance(threshold, numbers.Real) and not isinstance(threshold, bool)
    if not real or not 0 <= threshold <= 0.5:
        raise InputError(f"threshold must be a number from 0 to .5; it is {threshold!r}.")
    if method != "optimal":
        return
    if n_labels > MAX_LABELS:
        raise InputError(
            f'method "optimal" takes up to {MAX_LABELS} labels, for each more makes three times '
            f'the work; there are {n_labels}. Use "{DEFAULT_METHOD}".'
        )
    if threshold != DEFAULT_THRESHOLD:
        raise InputError(
            'threshold must be left out with method="optimal", which weighs costs alone; it is '
            f"{threshold!r}. Leave it out, or choose another method."
        )
