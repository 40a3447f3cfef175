"""Columns of categories in data frames: their levels, and codes in place of them."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lrrf_jax import _frames
from lrrf_jax._numbers import is_missing, shown
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_storable_names

_MOST_SHOWN = 5


class Category(NamedTuple):
    """A column of categories."""

    codes: NDArray  # int64 (n_samples,), numbers of ``levels``; -1: missing
    levels: list[str]  # distinct
    declared: bool  # by the type of the column; else these are the texts in its rows


class CodedRows(NamedTuple):
    """Rows for a model whose categories are codes of the model already, as readers make them."""

    codes: (
        NDArray  # float32 (n_samples, n_features), NaN: missing, -1: a level that it does not know
    )


def categories_of(frame: Any, argument: str, known: Sequence[int] = ()) -> dict[int, Category]:
    """Find the columns of categories: by their type, or text of which no cell reads as a number.

    Text in the columns ``known`` is a category whatever it reads as.

    Raises
    ------
    InputError
        For text that is a number in some cells and not in others, and for levels that are one text.
    """
    names, found = _frames.own_names(frame, argument), {}
    for j, column in _frames.columns_of_levels(frame):
        label = f"column {j if names is None else repr(names[j])} of {argument}"
        if isinstance(column, tuple):
            codes, levels = column
            category = Category(codes, [str(level) for level in levels], True)
            _require_distinct(category.levels, label)
        else:
            text = _of_text(column, label, j in known)
            if text is None:
                continue
            category = text
        require_storable_names(category.levels, f"the levels of {label}")
        found[j] = category
    return found


def _require_distinct(levels: list[str], label: str) -> None:
    if len(set(levels)) < len(levels):
        repeated = next(level for level in levels if levels.count(level) > 1)
        raise InputError(
            f"{label} must have distinct levels, as text; {repeated!r} is there "
            f"{levels.count(repeated)} times. Rename the levels."
        )


def _of_text(cells: NDArray, label: str, is_known: bool) -> Category | None:
    """Give each text of a column a code; ``None`` where cells are no texts, or all numbers."""
    number: dict[str, int] = {}
    codes = np.full(len(cells), -1, np.int64)
    for i, cell in enumerate(cells.tolist()):
        if isinstance(cell, str):
            codes[i] = number.setdefault(cell, len(number))
        elif not is_missing(cell):
            return None  # which what reads numbers tells about
    if not number:
        return None
    numeric = [] if is_known else [text for text in number if _reads_as_number(text)]
    if len(numeric) == len(number):
        return None
    if numeric:
        row, other = (
            np.argmax(codes == number[numeric[0]]),
            next(t for t in number if t not in numeric),
        )
        raise InputError(
            f"{label} must hold numbers, or categories none of which reads as a number; row {row} "
            f"is {shown(numeric[0])} and row {np.argmax(codes == number[other])} is {shown(other)} "
            f"({len(numeric)} of {len(number)} different texts are numbers). Correct the cells, or "
            'say that it is a category, in pandas with .astype("category").'
        )
    return Category(codes, list(number), False)


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def code_levels(category: Category, known: Sequence[str], empty: Sequence[str] = ()) -> NDArray:
    """Give each row the code of its level in a model, int64: -1 where it is missing.

    -2 is a level that is ``empty`` in the model, and -3 one that it does not know.
    """
    code = {name: -2 for name in empty} | {name: k for k, name in enumerate(known)}
    of_level = np.array([code.get(level, -3) for level in category.levels] + [-1], np.int64)
    return of_level[category.codes]


def unknown_level(level: str, where: str, n_rows: int, n_bad: int, known: Sequence[str]) -> str:
    """Say that a level is not one of the model."""
    folded = {name.strip().casefold(): name for name in reversed(known)}
    near = difflib.get_close_matches(level.strip().casefold(), list(folded), 1)
    hint = f" (is it {folded[near[0]]!r}?)" if near else ""
    listed = ", ".join(repr(name) for name in known[:_MOST_SHOWN])
    more = f", ... ({len(known)} in all)" if len(known) > _MOST_SHOWN else ""
    return (
        f"{where} is {shown(level)}{hint}, a level that the model does not know ({n_bad} of "
        f"{n_rows} rows fail); it knows {listed}{more}."
    )


TAKE_AS_MISSING = 'ranker.set_params(unseen="missing") takes such levels as missing'


def coded_features(
    found: Mapping[int, Category],
    expected: Mapping[int, Any],  # of `Levels`, with ``names`` and ``empty``
    names: Sequence[str] | None,
    unseen: str,
) -> dict[int, NDArray]:  # by column, float64 (n_samples,): NaN missing, -1 not known
    """Bring the categories of rows to the codes of a model.

    Raises
    ------
    InputError
        For a level that the model does not know, where ``unseen`` is "error", and for a category
        where it took numbers.
    """
    columns = {}
    for j, category in found.items():
        column = j if names is None else repr(names[j])
        if j not in expected:
            raise InputError(
                f"X must hold numbers where the model was fitted on numbers; column {column} "
                f"holds categories: {', '.join(map(shown, category.levels[:2])) or 'none'}. "
                "Convert the column to numbers."
            )
        levels = expected[j]
        codes = code_levels(category, levels.names, levels.empty)
        bad = codes == -3
        if unseen == "error" and bad.any():
            row = int(np.argmax(bad))
            level = category.levels[category.codes[row]]
            told = unknown_level(
                level, f"row {row}, column {column}", len(bad), int(bad.sum()), levels.names
            )
            raise InputError(
                f"X must hold levels that the model was fitted on; {told} Correct it, or fit anew "
                f"with such rows, or: {TAKE_AS_MISSING}."
            )
        columns[j] = np.where(codes == -1, np.nan, np.maximum(codes, -1).astype(np.float64))
    return columns
