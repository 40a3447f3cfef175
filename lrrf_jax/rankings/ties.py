"""Ties: labels that share a position, in one normal form, and labels in an order of their own.

A tie covers places, and each of its labels has the mean of them: ``[1, 2.5, 2.5, 4]``. Positions
may come as *competition* ranks (``1, 2, 2, 4``), as *dense* ones (``1, 2, 2, 3``) or as these
*average* ones; a row says the same in any of them.
"""

from collections.abc import Iterator

import numpy as np

from lrrf_jax._typing import NDArray

_CELLS_AT_ONCE = 2**20


def has_ties(
    positions: NDArray,  # float (n_samples, n_labels), NaN: missing
) -> bool:
    """Whether a row gives two labels the same position.

    Examples
    --------
    >>> has_ties(np.array([[1.0, 2], [2, 1]])), has_ties(np.array([[1.0, np.nan], [1, 1]]))
    (False, True)
    """
    return any(rows_with_ties(positions[block]).any() for block in _blocks(positions))


def rows_with_ties(
    positions: NDArray,  # float (n_samples, n_labels), NaN: missing
) -> NDArray:  # bool (n_samples,)
    """Tell the rows that give two labels the same position.

    Examples
    --------
    >>> rows_with_ties(np.array([[1.0, 2, 3], [1, 1, np.nan]])).tolist()
    [False, True]
    """
    ordered = np.sort(positions, axis=1)  # NaN goes to the end, and equals nothing
    return np.asarray((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))


def mean_places(
    positions: NDArray,  # float (n_samples, n_labels), any scale, smaller is better, NaN: missing
) -> NDArray:  # float64 (n_samples, n_labels)
    """Rank the labels of each row 1..m', tied ones at the mean of their places.

    Costs O(n_labels log n_labels) per row.

    Examples
    --------
    >>> mean_places(np.array([[1.0, 7, 7, 9], [np.nan, 0, 3, 3]])).tolist()
    [[1.0, 2.5, 2.5, 4.0], [nan, 1.0, 2.5, 2.5]]
    """
    places = np.empty(positions.shape)
    for block in _blocks(positions):
        first, last, _ = _spans(positions[block])
        places[block] = (first + last) / 2
    places[np.isnan(positions)] = np.nan
    return places


def are_positions(
    positions: NDArray,  # float (n_samples, n_labels), NaN: missing
) -> NDArray:  # bool (n_samples,)
    """Tell the rows that are competition, dense or average ranks, without gaps.

    Examples
    --------
    >>> are_positions(np.array([[1.0, 1, 3], [1, 1, 2], [1.5, 1.5, 3], [1, 3, 3]])).tolist()
    [True, True, True, False]
    """
    good = np.empty(len(positions), bool)
    for block in _blocks(positions):
        rows = positions[block]
        first, last, level = _spans(rows)
        missing = np.isnan(rows)
        forms = [(missing | (rows == form)).all(1) for form in (first, level, (first + last) / 2)]
        good[block] = np.logical_or.reduce(forms)
    return good


def _spans(
    rows: NDArray,  # float (n_rows, n_labels)
) -> tuple[NDArray, NDArray, NDArray]:  # int64, each (n_rows, n_labels)
    """First and last place that the tie of each label covers, and the number of its level."""
    order = np.argsort(rows, axis=1, kind="stable")
    ordered = np.take_along_axis(rows, order, axis=1)
    starts = np.ones(rows.shape, bool)  # a NaN, at the end, starts a level of its own
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    ends = np.ones(rows.shape, bool)
    ends[:, :-1] = starts[:, 1:]
    n_labels = rows.shape[1]
    place = np.arange(1, n_labels + 1)
    first = np.maximum.accumulate(np.where(starts, place, 0), axis=1)
    last = np.minimum.accumulate(np.where(ends, place, n_labels)[:, ::-1], axis=1)[:, ::-1]
    spans = np.empty((3, *rows.shape), np.int64)
    for span, of_place in zip(spans, (first, last, starts.cumsum(axis=1)), strict=True):
        np.put_along_axis(span, order, of_place, axis=1)
    return spans[0], spans[1], spans[2]


def _blocks(positions: NDArray) -> Iterator[slice]:
    n_rows = max(1, _CELLS_AT_ONCE // max(1, positions.shape[1]))
    for start in range(0, len(positions), n_rows):
        yield slice(start, start + n_rows)


def canonical_order(
    positions: NDArray,  # float32 (n_samples, n_labels), NaN: missing
    votes: NDArray,  # float (n_samples, n_labels), of the labels, larger is better
) -> NDArray:  # int64 (n_labels,)
    """Order labels by their votes in all rows, and equal ones by their positions, row by row.

    It depends on what the columns hold, not on where they are; labels that it cannot tell apart
    have the same positions in every row. What is learnt from columns in this order, and of equal
    labels takes the first, follows the columns when they are permuted.

    Examples
    --------
    >>> positions = np.array([[2.0, 1.0, 3.0], [1.0, 2.5, 2.5]], np.float32)
    >>> canonical_order(positions, 4 - positions).tolist()
    [0, 1, 2]
    """
    # Column by column, so that each sum is added up alike wherever its column is.
    total = [float(np.sum(column)) for column in np.ascontiguousarray(votes.T, np.float64)]

    def key(label: int) -> tuple[float, bytes]:
        return -total[label], np.ascontiguousarray(positions[:, label], ">f4").tobytes()

    return np.array(sorted(range(len(total)), key=key), np.int64)
