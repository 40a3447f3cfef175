"""Lists of labels, best first, to and from positions (1 = best, NaN = missing label)."""

from collections.abc import Hashable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from lrrf_jax._frames import frame_like, library_of, own_names
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_integer
from lrrf_jax.rankings.from_numbers import integers_if_strict, shared_places
from lrrf_jax.rankings.orderings import (
    indices_of_names,
    indices_of_numbers,
    listed_labels,
    listed_orderings,
    without_ties,
)
from lrrf_jax.rankings.validation import number_table, require_rows


def rankings_from_orderings(
    orderings: Any,
    n_labels: int | None = None,
    *,
    labels: Sequence[Hashable] | None = None,
    start: int = 0,
) -> Any:
    """Convert lists of labels, best first, into rankings.

    Parameters
    ----------
    orderings : iterable of sequences, or array or DataFrame of shape (n_samples, n_places)
        Label indices, or names where ``labels`` is given. Labels that tie stand in a tuple, list or
        set on the place that they share: ``["b", ("a", "c"), "d"]``; a tuple that is itself one of
        ``labels`` is that label. Rows may be shorter than n_labels, or be padded at their end with
        -1 (with None or NaN, too, and with 0 for ``start=1``).
    n_labels : int, optional
        Number of labels. Left out, it is the number in the longest row, padding included.
    labels : sequence of label names, optional
        The names of the columns of the result, in their order.
    start : {0, 1}
        Index of the first label.

    Returns
    -------
    rankings : ndarray or DataFrame, shape (n_samples, n_labels)
        int32; float64 if a row leaves labels out (NaN) or ties them: each of these has the mean of
        the places that they cover. A data frame of names gives one of its kind, with ``labels`` as
        columns and the same index.

    Raises
    ------
    InputError
        If a row names an unknown label, the same label twice, or a label after padding, or has an
        empty place.

    Examples
    --------
    >>> rankings_from_orderings([[3, 1, 2, 4, 0]])
    array([[5, 2, 3, 1, 4]], dtype=int32)
    >>> rankings_from_orderings([["b", "d", "a"]], labels=["a", "b", "c", "d"])
    array([[ 3.,  1., nan,  2.]])
    >>> rankings_from_orderings([["b", ("a", "c"), "d"]], labels=["a", "b", "c", "d"])
    array([[2.5, 1. , 2.5, 4. ]])
    """
    if start not in (0, 1):
        raise InputError(f"start must be 0 or 1, the index of the first label; it is {start!r}.")
    given = listed_orderings(orderings)
    labels = None if labels is None else listed_labels(labels)
    given, sizes = without_ties(given, labels)
    if labels is not None:
        if n_labels not in (None, len(labels)):
            raise InputError(
                f"n_labels must be left out or be the number of labels, {len(labels)}; "
                f"it is {n_labels!r}."
            )
        rows = indices_of_names(given, labels)
        n_labels, start = len(labels), 0
    else:
        rows = indices_of_numbers(given, start)
        if n_labels is None:
            n_labels = max(map(len, given), default=0)
        require_integer(n_labels, "n_labels", 0)
    # Written by flat index: a loop over rows would cost microseconds per label.
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    label = np.array([index for row in rows for index in row], dtype=np.int64)
    sample = np.repeat(np.arange(len(rows)), lengths)
    place = np.arange(len(label)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + 1
    tied = any(size is not None for size in sizes)
    if tied:
        place = np.array(_place_numbers(rows, sizes, given), dtype=np.int64)
    known = np.ones(len(rows), bool)
    known[sample[(label < 0) | (label >= n_labels)]] = False
    require_rows(
        known,
        given,
        f"orderings must hold the label indices {start}..{n_labels - 1 + start}",
        "Give n_labels if rows leave labels out, and start=1 if counting starts at 1.",
    )
    n_times = np.bincount(sample * n_labels + label, minlength=len(rows) * n_labels)
    once = np.asarray((n_times.reshape(len(rows), n_labels) <= 1).all(axis=1))
    names = labels if labels is not None else range(start, n_labels + start)
    require_rows(
        once,
        [[names[index] for index in row] for row in rows] if not once.all() else rows,
        "orderings must name a label once at most",
        "Remove the repeated labels; those that tie stand together, as in ['b', ('a', 'c')].",
    )
    rankings = np.full((len(rows), n_labels), np.nan)
    rankings[sample, label] = place
    rankings = shared_places(rankings) if tied else integers_if_strict(rankings)
    return rankings if labels is None else _framed_as(orderings, rankings, labels)


def orderings_from_rankings(
    rankings: Any, labels: Sequence[Hashable] | None = None
) -> list[list[Any]]:
    """List the labels of every ranking, best first, missing labels left out.

    Parameters
    ----------
    rankings : array-like or DataFrame of numbers, shape (n_samples, n_labels)
        Positions, smaller is better; NaN means that the label is missing.
    labels : sequence of n_labels label names, optional
        Left out, they are the names of the columns of a data frame. Without any names the result
        holds label indices from 0.

    Returns
    -------
    orderings : list of n_samples lists
        Labels with equal positions stand in a tuple, in the order of the columns.

    Raises
    ------
    InputError
        If ``rankings`` is not a table of finite numbers or NaN, or ``labels`` has another length
        than a row, or other names than a data frame.

    Examples
    --------
    >>> orderings_from_rankings([[3, 1, np.nan, 2]], labels=["a", "b", "c", "d"])
    [['b', 'd', 'a']]
    >>> orderings_from_rankings([[2.5, 1, 2.5, 4]], labels=["a", "b", "c", "d"])
    [['b', ('a', 'c'), 'd']]
    """
    table = number_table(rankings, "rankings", finite=True)
    labels = _labels_beside(labels, rankings)
    if labels is not None and len(labels) != table.shape[1]:
        raise InputError(
            f"labels must name the {table.shape[1]} columns of rankings; "
            f"it has {len(labels)} names."
        )
    lengths = np.sum(~np.isnan(table), axis=1).tolist()
    order = np.argsort(table, axis=1, kind="stable")
    ordered = np.take_along_axis(table, order, axis=1)  # NaN goes to the end, and equals nothing
    level = ordered[:, 1:] == ordered[:, :-1]
    rows = order.tolist()
    if labels is not None:
        rows = [[labels[index] for index in row] for row in rows]
    rows = [row[:length] for row, length in zip(rows, lengths, strict=True)]
    for i in np.flatnonzero(level.any(axis=1)).tolist():
        rows[i] = _grouped(rows[i], level[i].tolist())
    return rows


def _grouped(row: list[Any], level: list[bool]) -> list[Any]:
    """Put labels that are level with the one before them into a tuple with it."""
    places: list[list[Any]] = []
    for label, joins in zip(row, [False, *level], strict=False):
        if joins:
            places[-1].append(label)
        else:
            places.append([label])
    return [tuple(place) if len(place) > 1 else place[0] for place in places]


def _place_numbers(
    rows: list[list[int]], sizes: list[list[int] | None], shown: list[Any]
) -> list[int]:
    """Count the places of all rows, one row after another, each as often as it has labels."""
    numbers: list[int] = []
    whole = np.ones(len(rows), bool)
    for i, (row, size) in enumerate(zip(rows, sizes, strict=True)):
        if size is None:
            numbers += range(len(row))
            continue
        whole[i] = len(row) in accumulate(size, initial=0)  # what is cut off is whole places
        number = [place for place, count in enumerate(size) for _ in range(count)]
        numbers += number[: len(row)]
    require_rows(
        whole,
        shown,
        "orderings must hold padding at the end of a row only",
        "Leave it out of the places that labels share.",
    )
    return numbers


def _labels_beside(labels: Any, rankings: Any) -> Any:
    """Names of the columns: those of a data frame, or else those given."""
    own = own_names(rankings, "rankings")
    labels = None if labels is None else listed_labels(labels)
    if labels is None or own is None or own == [str(label) for label in labels]:
        return own if labels is None else labels
    raise InputError(
        f"labels must be left out, or be the names of the columns of rankings, {own}; they are "
        f"{labels}. Rename the columns of the data frame instead."
    )


def _framed_as(given: Any, rankings: NDArray, labels: Sequence[Hashable] | None = None) -> Any:
    """Put rankings into a data frame of the kind that was given, where one was."""
    return rankings if library_of(given) is None else frame_like(given, rankings, labels)
