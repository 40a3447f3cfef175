"""Tables of numbers as users hold them, checked on the host before any work is done."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lrrf_jax._numbers import as_numbers, shown
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.rankings.ties import are_positions, has_ties, mean_places

_LONGEST_ROW_SHOWN = 12
_LARGEST_SCORE = 1e300  # sums of as many rows as fit into memory stay finite
_TEXT_REMEDY = (
    "Convert texts such as 'b>d>a' with `rankings_from_strings`, lists of labels with "
    "`rankings_from_orderings`; leave a missing label empty (None or NaN)."
)


def number_table(
    values: Any,  # array, list of lists, pandas or polars DataFrame
    name: str,
    *,
    finite: bool = False,
) -> NDArray:  # float64 (n_samples, n_labels), NaN: missing
    """Convert a table to float64; None, null, ``pandas.NA`` and what is masked become NaN.

    Raises
    ------
    InputError
        If there are not two dimensions, a cell is no number, or (``finite``) one is infinite; and
        for what is no table in memory.
    """
    table = as_numbers(values, name, remedy=_TEXT_REMEDY)
    if table.ndim != 2 or table.shape[1] < 1:
        raise InputError(
            f"{name} must have two dimensions, (n_samples, n_labels); it has shape {table.shape}. "
            f"Write a single ranking as a table of one row: np.reshape({name}, (1, -1))."
        )
    with np.errstate(over="ignore"):
        numbers = table.astype(np.float64)
    if table.dtype.itemsize > 8:  # of longdouble
        require_rows(
            np.asarray((np.isinf(numbers) == np.isinf(table)).all(axis=1)),
            table,
            f"{name} must hold numbers within float64",
            "Rescale them.",
        )
    table = numbers
    if finite:
        require_rows(
            np.asarray(~np.isinf(table).any(axis=1)),
            table,
            f"{name} must hold finite numbers, or NaN for a missing label",
            'Write NaN for a label that a top-k list leaves out, and say missing="last".',
        )
    return table


def require_positions(
    table: NDArray,  # float (n_samples, n_labels), NaN: missing
    name: str,
) -> None:
    """Check that a table of `number_table` holds positions; ties and gaps are allowed.

    Raises
    ------
    InputError
        Where it does not. The range tells most tables of scores, which would be read upside down.
    """
    n_labels = table.shape[1]
    require_rows(
        (np.isnan(table) | ((table >= 1) & (table <= n_labels))).all(axis=1),
        table,
        f"{name} must hold positions from 1 to {n_labels}, or NaN where unknown",
        "Convert scores with `rankings_from_scores`; close gaps with `densify`.",
    )


def require_rankings(
    y: Any,
    n_samples: int | None = None,
    *,
    name: str = "y",
    ties: bool = True,
) -> NDArray:  # float32 (n_samples, n_labels), NaN: missing, tied labels at their mean place
    """Check that each row holds the positions 1..m' of the labels that it ranks.

    Labels may tie, where ``ties``: as competition, dense or average ranks (`rankings.ties`).

    Raises
    ------
    InputError
        Otherwise, for fewer than two labels, or for another number of rows than ``n_samples``.
    """
    if y is None:
        raise InputError(
            "y must hold rankings, or scores= be given in its place: fit requires y to be passed, "
            "but the target y is None."
        )
    table = number_table(y, name, finite=True)
    _require_size(table, name, n_samples)
    complete = not np.isnan(table).any()
    need = f"{name} must hold the positions "
    need += f"1..{table.shape[1]}" if complete else "1..m' of the m' labels it ranks"
    if ties and has_ties(table):
        need += " in each row, where a tie is 1, 1, 3 or 1, 1, 2 or 1.5, 1.5, 3"
        require_rows(are_positions(table), table, need, _REMEDY)
        table = mean_places(table)
    else:
        require_rows(_are_strict(table), table, f"{need} once per row", _REMEDY)
    return table.astype(np.float32)


def require_scores(
    scores: Any,
    n_samples: int | None = None,
) -> NDArray:  # float64 (n_samples, n_labels), NaN: unknown
    """Check a table of scores or utilities, larger is better.

    Raises
    ------
    InputError
        For what is no such table; where ``n_samples`` is given, for another number of rows, and for
        fewer than two labels.
    """
    table = number_table(scores, "scores")
    if n_samples is not None:
        _require_size(table, "scores", n_samples)
    require_rows(
        np.asarray((np.isnan(table) | (np.abs(table) <= _LARGEST_SCORE)).all(axis=1)),
        table,
        f"scores must hold finite numbers within {_LARGEST_SCORE:g} of 0, or NaN where unknown",
        "Write a finite penalty for what failed, such as ten times the cutoff (PAR10).",
    )
    return table


def _require_size(table: NDArray, name: str, n_samples: int | None) -> None:
    if table.shape[1] < 2:
        raise InputError(
            f"{name} must have two labels at least, one column each; it has shape {table.shape}."
        )
    if n_samples is not None and len(table) != n_samples:
        raise InputError(
            f"{name} must have one row for each row of X; X has {n_samples}, {name} has "
            f"{len(table)}."
        )


def _are_strict(table: NDArray) -> NDArray:  # bool (n_samples,)
    places = np.sort(np.where(np.isnan(table), np.inf, table), axis=1)
    wanted = np.where(np.isinf(places), np.inf, np.arange(1.0, table.shape[1] + 1))
    return np.asarray((places == wanted).all(axis=1))


_REMEDY = (
    "Convert scores with `rankings_from_scores`, lists of labels with `rankings_from_orderings`, "
    "close gaps with `densify`."
)


def require_rows(
    good: NDArray,  # bool (n_samples,)
    rows: Sequence[Any] | NDArray,
    need: str,
    remedy: str,
) -> None:
    """Raise an InputError that shows the first row that is not ``good``, if there is one."""
    if np.all(good):
        return
    bad = np.flatnonzero(~np.asarray(good))
    raise InputError(
        f"{need}; row {bad[0]} is {_shown(rows[bad[0]])} ({len(bad)} of {len(good)} rows fail). "
        f"{remedy}"
    )


def _shown(row: Any) -> str:
    """Write a row as a short list, a number as itself; whole ones without a decimal point."""
    if isinstance(row, np.generic):
        return _shown([row])[1:-1]
    if isinstance(row, str | bytes) or not np.iterable(row):
        return shown(row)
    cells = [cell.item() if isinstance(cell, np.generic) else cell for cell in row]
    cells = [int(cell) if isinstance(cell, float) and cell.is_integer() else cell for cell in cells]
    text = [shown(cell, str) for cell in cells[:_LONGEST_ROW_SHOWN]]
    return f"[{', '.join(text)}{', ...' if len(cells) > _LONGEST_ROW_SHOWN else ''}]"
