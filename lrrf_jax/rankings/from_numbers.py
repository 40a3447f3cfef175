"""Numbers of any scale to rankings: scores, of which larger are better, and positions with gaps.

Positions are 1 = best, NaN where the label is missing; a tied label has the mean of the places that
its tie covers.
"""

from typing import Any, Literal

import numpy as np

from lrrf_jax._frames import frame_like, library_of
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import require_choice, require_number
from lrrf_jax.rankings.ties import mean_places
from lrrf_jax.rankings.validation import number_table

TIES = ("keep", "index", "random")


def rankings_from_scores(
    scores: Any,
    *,
    ties: Literal["keep", "index", "random"] = "keep",
    tolerance: float = 0.0,
    seed: int | np.random.Generator = 0,
) -> Any:
    """Rank labels by decreasing score.

    Parameters
    ----------
    scores : array-like or DataFrame of numbers, shape (n_samples, n_labels)
        Larger is better; compared as float64. NaN means that the label is missing.
    ties : {"keep", "index", "random"}
        What becomes of labels whose scores are equal: they stay tied, each at the mean of the
        places that they cover; or the lower label index comes first, which a learner then takes
        for a preference; or they come in random order.
    tolerance : float
        How far a score may lie below the best one of its tie, in the unit of the scores. Ties are
        formed from the best label on: it ties with all that lie within the tolerance below it, then
        the best of the remaining labels with those within the tolerance below that one, and so on.
    seed : int or numpy.random.Generator
        Of ``ties="random"``. Rows that are added at the end change no row before them.

    Returns
    -------
    rankings : ndarray or DataFrame, shape (n_samples, n_labels)
        int32; float64 if a label is missing (NaN) or tied. A data frame gives one of its kind, with
        the same columns and index.

    Raises
    ------
    InputError
        If ``scores`` is not a two-dimensional table of numbers, ``ties`` is none of the three, or
        ``tolerance`` is no finite number of 0 or more.

    Notes
    -----
    Costs O(n_labels log n_labels) per row.

    Examples
    --------
    >>> rankings_from_scores([[0.1, 0.7, 0.2], [0.5, 0.5, 0.9]])
    array([[3. , 1. , 2. ],
           [2.5, 2.5, 1. ]])
    >>> rankings_from_scores([[0.1, 0.7, 0.2], [0.5, 0.5, 0.9]], ties="index")
    array([[3, 1, 2],
           [2, 3, 1]], dtype=int32)
    >>> rankings_from_scores([[72.0, 70.0, 35.0, 0.0]], tolerance=5)
    array([[1.5, 1.5, 3. , 4. ]])
    """
    require_choice(ties, "ties", TIES)
    require_number(tolerance, "tolerance")
    table = number_table(scores, "scores")
    # Zero less the score, since a NaN sorts last either way.
    keys = 0 - table if tolerance == 0 else _buckets(table, float(tolerance))
    if ties == "keep":
        rankings = shared_places(keys)
    elif ties == "index":
        rankings = _ranked_by(keys)
    else:
        rankings = _ranked_by(keys, np.asarray(np.random.default_rng(seed).random(keys.shape)))
    return _framed_as(scores, rankings)


def densify(rankings: Any) -> Any:
    """Close the gaps of rankings: the ranked labels get the places 1..m'.

    Labels with equal positions are tied: each gets the mean of the places that they cover. So the
    competition ranks 1, 2, 2, 4, the dense ranks 1, 2, 2, 3 and the average ranks 1, 2.5, 2.5, 4
    become the same, the last ones, which is the form that all of this package keeps ties in.

    Parameters
    ----------
    rankings : array-like or DataFrame of numbers, shape (n_samples, n_labels)
        Smaller is better, NaN means that the label is missing.

    Returns
    -------
    rankings : ndarray or DataFrame, shape (n_samples, n_labels)
        int32; float64 if a label is missing (NaN) or tied. A data frame gives one of its kind, with
        the same columns and index.

    Raises
    ------
    InputError
        If ``rankings`` is not a two-dimensional table of finite numbers or NaN.

    Examples
    --------
    >>> densify([[5, np.nan, 2], [0, 1, 9]])
    array([[ 2., nan,  1.],
           [ 1.,  2.,  3.]])
    >>> densify([[1, 2, 2, 4], [3, 2, 1, 2]])
    array([[1. , 2.5, 2.5, 4. ],
           [4. , 2.5, 1. , 2.5]])
    """
    table = number_table(rankings, "rankings", finite=True)
    return _framed_as(rankings, shared_places(table))


def shared_places(
    keys: NDArray,  # float64 (n_samples, n_labels), smaller is better, NaN: missing
) -> NDArray:  # int32 (n_samples, n_labels), or float64 where one is missing or tied
    """Rank by keys; equal keys get the mean of the places that they cover."""
    return integers_if_strict(mean_places(keys))


def integers_if_strict(
    rankings: NDArray,  # float64 (n_samples, n_labels)
) -> NDArray:
    """Bring rankings in which no label is missing or tied to int32."""
    ordered = np.sort(rankings, axis=1)
    strict = (ordered == np.arange(1.0, rankings.shape[1] + 1)).all()
    return rankings.astype(np.int32) if strict else rankings


def _buckets(
    scores: NDArray,  # float64 (n_samples, n_labels), larger is better, NaN: missing
    tolerance: float,
) -> NDArray:  # float64 (n_samples, n_labels): number of the tie, from 0, best first; NaN: missing
    order = np.argsort(0 - scores, axis=1, kind="stable")
    ordered = np.take_along_axis(scores, order, axis=1)
    number = np.zeros(scores.shape)
    best = ordered[:, 0].copy()
    for place in range(1, scores.shape[1]):
        score = ordered[:, place]
        with np.errstate(invalid="ignore", over="ignore"):  # of infinities, which equal themselves
            apart = (score != best) & ~(best - score <= tolerance)
        number[:, place] = number[:, place - 1] + apart
        best = np.where(apart, score, best)
    bucket = np.empty(scores.shape)
    np.put_along_axis(bucket, order, number, axis=1)
    bucket[np.isnan(scores)] = np.nan
    return bucket


def _ranked_by(keys: NDArray, then_by: NDArray | None = None) -> NDArray:
    """Rank by keys, smaller first; equal ones by other keys, or else by their index."""
    if then_by is None:
        order = np.argsort(keys, axis=1, kind="stable")
    else:
        order = np.lexsort((then_by, keys), axis=1)
    rankings = np.empty(keys.shape)
    place = np.arange(1, keys.shape[1] + 1, dtype=np.float64)
    np.put_along_axis(rankings, order, np.broadcast_to(place, keys.shape), axis=1)
    missing = np.isnan(keys)
    rankings[missing] = np.nan
    return rankings if missing.any() else rankings.astype(np.int32)


def _framed_as(given: Any, rankings: NDArray) -> Any:
    """Put rankings into a data frame of the kind that was given, where one was."""
    return rankings if library_of(given) is None else frame_like(given, rankings)
