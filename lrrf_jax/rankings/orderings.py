"""Orderings as users write them, checked and turned into lists of label indices from 0."""

from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np

from lrrf_jax._frames import column_arrays, library_of
from lrrf_jax._numbers import as_array, require_container
from lrrf_jax._validation import InputError
from lrrf_jax.rankings.validation import require_rows

_LARGEST = 2**62
_TIED = (list, tuple, Set)  # how labels are written that share a place


def listed_texts(strings: Any) -> list[Any]:
    """List texts; a column of pyarrow holds scalars, and a frame no texts but columns."""
    if library_of(strings) is not None:
        raise InputError(
            "strings must be one column of texts; it is a data frame. Take the column, "
            "strings['ranking']."
        )
    form = "a list of texts such as 'b>d>a'"
    if not isinstance(strings, Iterator):
        require_container(strings, "strings", form)
    return (
        strings.to_pylist() if hasattr(strings, "to_pylist") else _listed(strings, "strings", form)
    )


def listed_orderings(orderings: Any) -> list[list[Any]]:
    """List the cells of every row; NaN, NA, and what is masked, pad a row as None does."""
    form = "a list of lists of labels, an array or a data frame"
    if library_of(orderings) is not None:
        columns = [column.tolist() for column in column_arrays(orderings)]
        orderings = list(zip(*columns, strict=True))
    elif not isinstance(orderings, Iterator):
        require_container(orderings, "orderings", form)
    if isinstance(orderings, np.ndarray):
        orderings = as_array(orderings, "orderings", form)
    rows = []
    for i, row in enumerate(_listed(orderings, "orderings", form)):
        if isinstance(row, Set | Mapping) or not isinstance(row, Iterable):
            raise InputError(
                f"orderings must be {form}; row {i} is {row!r:.60}, which has no order. Write "
                "every row as a list, best first."
            )
        cells = row.tolist() if isinstance(row, np.ndarray) else row
        rows.append([None if _is_padding(cell) else cell for cell in cells])
    return rows


def listed_labels(labels: Any) -> list[Any]:
    """List the names of labels, which must be in an order."""
    if isinstance(labels, Set | Mapping | Iterator) or not isinstance(labels, Iterable):
        raise InputError(
            f"labels must be a list of names, in the order of the columns; it is {labels!r:.60}."
        )
    return list(labels)


def _listed(values: Any, name: str, form: str) -> list[Any]:
    try:
        return list(values)
    except TypeError:
        raise InputError(f"{name} must be {form}; it is {values!r:.60}.") from None


def _is_padding(cell: Any) -> bool:
    return (isinstance(cell, float) and cell != cell) or type(cell).__name__ == "NAType"


def without_ties(
    rows: list[list[Any]], labels: Sequence[Hashable] | None
) -> tuple[list[list[Any]], list[list[int] | None]]:
    """Write the labels that share a place, such as ``("a", "c")`` in a row, one after another.

    Returns the rows, and of each that has such places the number of labels on every one of them. A
    cell that is itself one of ``labels`` is a label.
    """
    known = {label for label in labels or () if isinstance(label, _TIED)}
    flat: list[list[Any]] = []
    sizes: list[list[int] | None] = []
    for row in rows:
        if not any(issubclass(kind, _TIED) for kind in set(map(type, row))):
            flat.append(row)
            sizes.append(None)
            continue
        cells: list[Any] = []
        size = []
        for cell in row:
            if _is_tie(cell, known):
                cells += [None if _is_padding(label) else label for label in cell]
                size.append(len(cell))
            else:
                cells.append(cell)
                size.append(1)
        flat.append(cells)
        sizes.append(size)
    require_rows(
        np.array([size is None or 0 not in size for size in sizes], bool),
        rows,
        "orderings must hold a label at least on every place",
        "Leave an empty place out.",
    )
    return flat, sizes


def _is_tie(cell: Any, known: set[Any]) -> bool:
    tied = type(cell) is tuple or isinstance(cell, _TIED)  # the first is fast, and as good as all
    return tied and not (known and isinstance(cell, Hashable) and _in(cell, known))


def _in(cell: Any, known: Container[Any]) -> bool:
    try:
        return cell in known
    except TypeError:  # a tuple of lists
        return False


def indices_of_names(rows: list[list[Any]], labels: Sequence[Hashable]) -> list[list[int]]:
    """Look every label name up; None and -1 at the end of a row are padding."""
    if len(set(labels)) != len(labels):
        raise InputError(f"labels must differ from each other; they are {list(labels)}.")
    index = {label: i for i, label in enumerate(labels)}
    index.setdefault(None, -1)  # padding, as is -1 itself
    index.setdefault(-1, -1)
    known = [all(isinstance(name, Hashable) and _in(name, index) for name in row) for row in rows]
    require_rows(
        np.array(known, bool),
        rows,
        f"orderings must name the labels {', '.join(map(str, labels))}",
        "Give every name in labels, or correct the row.",
    )
    return _without_padding([[index[name] for name in row] for row in rows], rows)


def indices_of_numbers(rows: list[list[Any]], start: int) -> list[list[int]]:
    """Count labels from 0; None and numbers below ``start`` at the end of a row are padding."""
    whole = [
        set(map(type, row)) <= {int}
        or all(
            cell is None
            or (isinstance(cell, int | np.integer) and not isinstance(cell, bool))
            or (isinstance(cell, float | np.floating) and float(cell).is_integer())
            for cell in row
        )
        for row in rows
    ]
    require_rows(
        np.array(whole, bool),
        rows,
        "orderings must hold whole numbers, the indices of labels",
        "Give labels=[...] if the rows hold names; pad short rows with -1.",
    )
    # Beyond what an index can be, a number is as unknown as the largest one.
    return _without_padding(
        [
            [-1 if cell is None else min(int(cell) - start, _LARGEST) for cell in row]
            for row in rows
        ],
        rows,
    )


def _without_padding(rows: list[list[int]], shown: list[Any]) -> list[list[int]]:
    """Cut negative indices off the end of each row; there may be none before a label."""
    kept = []
    for row in rows:
        length = len(row)
        while length and row[length - 1] < 0:
            length -= 1
        kept.append(row[:length])
    require_rows(
        np.array([min(row, default=0) >= 0 for row in kept], bool),
        shown,
        "orderings must hold padding at the end of a row only",
        "Move the labels in front of it; say start=1 or start=0 as the labels are counted.",
    )
    return kept
