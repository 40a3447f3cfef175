"""Orderings as users write them, checked and turned into lists of label indices from 0."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from lrrf_jax._validation import InputError
from lrrf_jax.rankings.validation import require_rows

_LARGEST = 2**62


def indices_of_names(rows: list[list[Any]], labels: Sequence[Hashable]) -> list[list[int]]:
    """Look every label name up; None and -1 at the end of a row are padding."""
    if len(set(labels)) != len(labels):
        raise InputError(f"labels must differ from each other; they are {list(labels)}.")
    index = {label: i for i, label in enumerate(labels)}
    index.setdefault(None, -1)  # padding, as is -1 itself
    index.setdefault(-1, -1)
    known = [all(isinstance(name, Hashable) and name in index for name in row) for row in rows]
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
