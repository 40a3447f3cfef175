"""Rows of JSON, objects by feature name or arrays, to the features that a model takes."""

import contextlib
import itertools
import operator
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
import pyarrow as pa

from lrrf_jax._features import Expected, as_features
from lrrf_jax._names import counted, difference
from lrrf_jax._numbers import shown
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError

_NUMBERS = {float, int, bool, type(None)}


def features_of(
    rows: Sequence[Any],
    expected: Expected,
    unused: Set[str] = frozenset(),
    *,
    exact: bool = False,
) -> NDArray:  # float32 (n_rows, n_features), or float64 where ``exact``; codes of categories
    """Check rows, and put them into a table.

    Parameters
    ----------
    rows : list of dict, or list of list
        Cells are numbers, bools, text, and None for a missing value.
    expected : Expected
        What the model takes.
    unused : set of str
        Names that rows may have besides.
    exact : bool
        As `as_features`.

    Raises
    ------
    InputError
        For no rows, for names and numbers of cells that are not those of the model, and for cells
        that `as_features` refuses.
    """
    if not rows:
        raise InputError("rows must hold a row at least; it holds none.")
    by_name = isinstance(rows[0], Mapping)
    cells = _by_name(rows, expected, unused) if by_name else _in_order(rows, expected)
    if not expected.categories and set(map(type, itertools.chain(*cells))) <= _NUMBERS:
        table = np.array(cells, np.float64).reshape(len(cells), expected.n_features)
        with contextlib.suppress(InputError):  # which names no columns: it is raised again below
            return as_features(table, expected, none_will_do=True, exact=exact).values
    known = counted(expected.n_features) if expected.names is None else expected.names
    names = [str(name) for name in known]
    columns = [
        _column(name, column, expected.categories.get(j))
        for j, (name, column) in enumerate(zip(names, zip(*cells, strict=True), strict=True))
    ]
    frame = pa.table(columns, names)
    return as_features(frame, expected._replace(names=names), none_will_do=True, exact=exact).values


def _by_name(rows: Sequence[Any], expected: Expected, unused: Set[str]) -> list[tuple[Any, ...]]:
    if expected.names is None:
        raise InputError(
            "rows must be arrays, for the features of the model have no names; row 0 is an object. "
            f"Write the {expected.n_features} cells of a row as [1.5, ...], in the order of "
            "training."
        )
    names = list(map(str, expected.names))
    wanted = set(names)
    for i, row in enumerate(rows):
        if row.keys() != wanted and row.keys() - unused != wanted:
            bad = sum(other.keys() - unused != wanted for other in rows)
            raise InputError(
                f"rows must have the {len(names)} features of the model; in row {i} "
                f"{difference(names, [name for name in row if name not in unused])} ({bad} of "
                f"{len(rows)} rows fail). Write null where a value is missing, and leave out what "
                "is no feature."
            )
    if len(names) == 1:
        return [(row[names[0]],) for row in rows]
    return list(map(operator.itemgetter(*names), rows)) if names else [()] * len(rows)


def _in_order(rows: Sequence[Any], expected: Expected) -> Sequence[Any]:
    bad = [i for i, row in enumerate(rows) if len(row) != expected.n_features]
    if bad:
        raise InputError(
            f"rows must have {expected.n_features} cells each, the features of the model; row "
            f"{bad[0]} has {len(rows[bad[0]])} ({len(bad)} of {len(rows)} rows fail). Write null "
            "where a value is missing, or rows as objects, by name."
        )
    return rows


def _column(name: str, cells: Sequence[Any], levels: Any) -> pa.Array:
    """Make a column of text, where ``levels`` says that it is a category, or else of numbers."""
    cells = [None if cell != cell else cell for cell in cells]  # NaN, which JSON should not have
    bad = [i for i, c in enumerate(cells) if c is not None and isinstance(c, str) != bool(levels)]
    if bad:
        need, way_out = "a number", "Write numbers without quotes"
        if levels:
            known = ", ".join(map(repr, levels.names[:2]))
            need, way_out = f"a level such as {known}", "Write levels in quotes"
        raise InputError(
            f"rows must hold {need} in '{name}'; row {bad[0]} is {shown(cells[bad[0]])} "
            f"({len(bad)} of {len(cells)} rows fail). {way_out}, and null where it is missing."
        )
    return pa.array(cells, pa.string() if levels else pa.float64())
