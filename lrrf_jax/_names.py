"""Names of columns, the user's and those that a model knows: which column is which."""

import difflib
from collections.abc import Sequence
from typing import Any

import numpy as np

from lrrf_jax._frames import column_names, counted, own_names
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, as_names, warn_user


def made_up_labels(count: int) -> list[str]:
    """Return the names L1, L2, ... of labels that have none."""
    return [f"L{number + 1}" for number in range(count)]


def names_beside(given: Any, table: Any, count: int, what: str, argument: str) -> list[str] | None:
    """Names of the columns of a table: its own, or ``given`` ones where it has none.

    Raises
    ------
    InputError
        Where a data frame has other names than those given, or these are not ``count`` distinct
        ones.
    """
    own = own_names(table, argument)
    if given is None:
        return own
    names = as_names(given, count, what, argument)
    if own is not None and own != names and not is_default(table):
        at = next(i for i, (name, mine) in enumerate(zip(names, own, strict=True)) if name != mine)
        raise InputError(
            f"{argument} must be left out where the columns have names, or be these names in their "
            f"order; column {at} is called '{own[at]}', and {argument} says '{names[at]}'. Rename "
            "the columns of the data frame instead."
        )
    return names


def column_order(
    table: Any, expected: Sequence[str], argument: str, need: str, *, nameless: bool = False
) -> NDArray | None:  # int64 (n_columns,)
    """Find the column of each expected name; ``None`` where columns are in order, or unnamed.

    Names that a library gives to columns without any (0, 1, ... and polars' "column_0", ...)
    decide only where they are the expected ones in another order. With ``nameless``, ``expected``
    are made up: they decide where one of them is given, as do the numbers 0, 1, ... in any order;
    other names are warned of, and the columns taken in their order.

    Raises
    ------
    InputError
        For names that are unknown or absent; ``need`` says whose names are expected.
    """
    given = column_names(table, argument)
    if given is None or given == list(expected):
        return None
    place = {name: j for j, name in enumerate(given)}
    if place.keys() == set(expected):
        return np.array([place[name] for name in expected])
    if nameless and place.keys() == set(counted(len(expected))):
        return np.array([place[name] for name in counted(len(expected))])
    if is_default(table):
        return None
    if nameless and not place.keys() & set(expected):
        warn_user(
            f"the labels of {need} have no names: the columns of {argument}, '{given[0]}' and so "
            "on, are taken in their order. Fit with labels=... to have names decide."
        )
        return None
    raise InputError(
        f"{argument} must have the {len(expected)} labels of {need} as columns; "
        f"{difference(list(expected), given)}. Rename or select them."
    )


def paired_order(table: Any, other: Any, argument: str, other_argument: str) -> NDArray | None:
    """Find the column of ``other`` for each column of ``table``; ``None`` where they are in order.

    Names decide where both are data frames with names of their own.

    Raises
    ------
    InputError
        Where the frames have different names.
    """
    expected, given = column_names(table, argument), column_names(other, other_argument)
    if expected is None or given is None:
        return None
    if is_default(table) and set(expected) != set(given):
        return None
    return column_order(other, expected, other_argument, argument)


def difference(expected: list[str], given: list[str]) -> str:
    """Say which names are absent and which are unknown, with a name that looks alike."""
    absent = [name for name in expected if name not in set(given)]
    extra = [name for name in given if name not in set(expected)]
    parts = []
    if absent:
        folded = {name.strip().casefold(): name for name in reversed(extra)}
        near = difflib.get_close_matches(absent[0].strip().casefold(), list(folded), 1)
        hint = f" (is it '{folded[near[0]]}'?)" if near else ""
        parts.append(f"'{absent[0]}' is missing{hint}, {len(absent)} in all")
    if extra:
        parts.append(f"'{extra[0]}' is not known, {len(extra)} in all")
    return "; ".join(parts)


def is_default(table: Any) -> bool:
    """Tell a table without names, or with those that a library gives to columns without any."""
    names = own_names(table, "")
    return names is None or names == [f"column_{j}" for j in range(len(names))]
