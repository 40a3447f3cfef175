"""The other notations of rankings, to and from positions (1 = best, NaN = missing label)."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from lrrf_jax._frames import frame_like, library_of, own_names
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_integer
from lrrf_jax.rankings.orderings import (
    indices_of_names,
    indices_of_numbers,
    listed_labels,
    listed_orderings,
    listed_texts,
)
from lrrf_jax.rankings.validation import number_table, require_rows


def rankings_from_scores(scores: Any) -> Any:
    """Rank labels by decreasing score.

    Parameters
    ----------
    scores : array-like or DataFrame of numbers, shape (n_samples, n_labels)
        Larger is better; compared as float64. NaN means that the label is missing.

    Returns
    -------
    rankings : ndarray or DataFrame, shape (n_samples, n_labels)
        int32, or float64 with NaN if a label is missing. Of equal scores, the lower label index
        comes first. A data frame gives one of its kind, with the same columns and index.

    Raises
    ------
    InputError
        If ``scores`` is not a two-dimensional table of numbers.

    Examples
    --------
    >>> rankings_from_scores([[0.1, 0.7, 0.2], [0.5, 0.5, 0.9]])
    array([[3, 1, 2],
           [2, 3, 1]], dtype=int32)
    """
    # Zero less the score, since a NaN sorts last either way.
    return _framed_as(scores, _ranked_by(0 - number_table(scores, "scores")))


def densify(rankings: Any) -> Any:
    """Close the gaps of rankings: the positions of the ranked labels become 1..m'.

    Parameters
    ----------
    rankings : array-like or DataFrame of numbers, shape (n_samples, n_labels)
        Smaller is better, NaN means that the label is missing.

    Returns
    -------
    rankings : ndarray or DataFrame, shape (n_samples, n_labels)
        int32, or float64 with NaN if a label is missing. A data frame gives one of its kind, with
        the same columns and index.

    Raises
    ------
    InputError
        If ``rankings`` is not a two-dimensional table of finite numbers or NaN, or has ties.

    Examples
    --------
    >>> densify([[5, np.nan, 2], [0, 1, 9]])
    array([[ 2., nan,  1.],
           [ 1.,  2.,  3.]])
    """
    table = number_table(rankings, "rankings", finite=True)
    _reject_ties(table)
    return _framed_as(rankings, _ranked_by(table))


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
        Label indices, or names where ``labels`` is given. Rows may be shorter than n_labels, or be
        padded at their end with -1 (with None or NaN, too, and with 0 for ``start=1``).
    n_labels : int, optional
        Number of labels. Left out, it is the length of the longest row, padding included.
    labels : sequence of label names, optional
        The names of the columns of the result, in their order.
    start : {0, 1}
        Index of the first label.

    Returns
    -------
    rankings : ndarray or DataFrame, shape (n_samples, n_labels)
        int32, or float64 with NaN if a row leaves labels out. A data frame of names gives one of
        its kind, with ``labels`` as columns and the same index.

    Raises
    ------
    InputError
        If a row names an unknown label, the same label twice, or a label after padding.

    Examples
    --------
    >>> rankings_from_orderings([[3, 1, 2, 4, 0]])
    array([[5, 2, 3, 1, 4]], dtype=int32)
    >>> rankings_from_orderings([["b", "d", "a"]], labels=["a", "b", "c", "d"])
    array([[ 3.,  1., nan,  2.]])
    """
    if start not in (0, 1):
        raise InputError(f"start must be 0 or 1, the index of the first label; it is {start!r}.")
    given = listed_orderings(orderings)
    if labels is not None:
        labels = listed_labels(labels)
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
        "Remove the repeated labels; a ranking has no ties.",
    )
    rankings = np.full((len(rows), n_labels), np.nan)
    rankings[sample, label] = place
    rankings = _integers_if_complete(rankings)
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

    Raises
    ------
    InputError
        If ``rankings`` is not a table of finite numbers or NaN, has ties, or ``labels`` has
        another length than a row, or other names than a data frame.

    Examples
    --------
    >>> orderings_from_rankings([[3, 1, np.nan, 2]], labels=["a", "b", "c", "d"])
    [['b', 'd', 'a']]
    """
    table = number_table(rankings, "rankings", finite=True)
    _reject_ties(table)
    labels = _labels_beside(labels, rankings)
    if labels is not None and len(labels) != table.shape[1]:
        raise InputError(
            f"labels must name the {table.shape[1]} columns of rankings; "
            f"it has {len(labels)} names."
        )
    lengths = np.sum(~np.isnan(table), axis=1).tolist()
    rows = np.argsort(table, axis=1, kind="stable").tolist()
    if labels is not None:
        rows = [[labels[index] for index in row] for row in rows]
    return [row[:length] for row, length in zip(rows, lengths, strict=True)]


def rankings_from_strings(
    strings: Iterable[str], labels: Sequence[str] | None = None
) -> tuple[NDArray, list[str]]:
    """Read texts such as ``b>d>a``: label names, best first.

    Parameters
    ----------
    strings : iterable of str, such as a list or a column of a data frame
        White space around a name does not matter; ``?`` is a ranking that is wholly missing.
    labels : sequence of str, optional
        The names of the columns of the result. Left out, they are all names that occur, sorted.

    Returns
    -------
    rankings : ndarray, shape (n_samples, n_labels)
        int32, or float64 with NaN if a label is missing.
    labels : list of str
        The names of the columns.

    Raises
    ------
    InputError
        If a text has an empty part, names a label twice, holds a tie (``a=b``, ``a~b``, ``{a,b}``)
        or a name that ``labels`` lacks.

    Examples
    --------
    >>> rankings, labels = rankings_from_strings(["b>d>a", "d>a>b"])
    >>> labels
    ['a', 'b', 'd']
    >>> rankings.tolist()
    [[3, 1, 2], [2, 3, 1]]
    """
    strings = listed_texts(strings)
    require_rows(
        np.array([isinstance(text, str) for text in strings], bool),
        strings,
        "strings must hold texts such as 'b>d>a'",
        "Write '?' for a ranking that is missing.",
    )
    parts = {text: [part.strip() for part in text.split(">")] for text in set(strings)}
    names = sorted({part for text in parts.values() for part in text} - {"?", ""})
    known = names if labels is None else listed_labels(labels)
    if labels is None:  # where the labels are given, a sign of a tie can be part of a name
        _require_texts(
            strings,
            {text: not set(text) & set("=~{}|<") for text in parts},
            "strings must hold labels joined by '>'",
            "Break ties first; give labels if such a sign belongs to a name.",
        )
    _require_texts(
        strings,
        {text: part == ["?"] or "" not in part for text, part in parts.items()},
        "strings must name a label before and after every '>'",
        "Write '?' for a ranking that is missing.",
    )
    _require_texts(
        strings,
        {text: part == ["?"] or set(part) <= set(known) for text, part in parts.items()},
        f"strings must name the labels {', '.join(known)}",
        "Give every name in labels; ties such as 'a>bc' are not read.",
    )
    _require_texts(
        strings,
        {text: len(part) == len(set(part)) for text, part in parts.items()},
        "strings must name a label once at most",
        "Remove the repeated labels; a ranking has no ties.",
    )
    # Few texts are distinct where there are few labels, so each is read once.
    rows = [[] if part == ["?"] else part for part in parts.values()]
    row_of_text = {text: row for row, text in enumerate(parts)}
    distinct = rankings_from_orderings(rows, labels=known)
    return distinct[np.array([row_of_text[text] for text in strings], int)], known


def _require_texts(strings: list[str], good: dict[str, bool], need: str, remedy: str) -> None:
    require_rows(np.array([good[text] for text in strings], bool), strings, need, remedy)


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


def _reject_ties(table: NDArray) -> None:
    ordered = np.sort(table, axis=1)  # NaN goes to the end, and equals nothing
    require_rows(
        (ordered[:, 1:] != ordered[:, :-1]).all(axis=1),
        table,
        "rankings must give every ranked label a position of its own",
        "Break ties first: `rankings_from_scores` puts the lower label index first.",
    )


def _ranked_by(keys: NDArray) -> NDArray:  # float64 (n_samples, n_labels), smaller is better
    order = np.argsort(keys, axis=1, kind="stable")
    rankings = np.empty(keys.shape)
    place = np.arange(1, keys.shape[1] + 1, dtype=np.float64)
    np.put_along_axis(rankings, order, np.broadcast_to(place, keys.shape), axis=1)
    rankings[np.isnan(keys)] = np.nan
    return _integers_if_complete(rankings)


def _integers_if_complete(rankings: NDArray) -> NDArray:
    return rankings if np.isnan(rankings).any() else rankings.astype(np.int32)
