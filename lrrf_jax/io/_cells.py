"""What the cells of a table to be ranked mean: missing marks, decimals, levels of categories."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lrrf_jax._categories import unknown_level
from lrrf_jax._dialect import UNTOLD, Dialect, as_dialect
from lrrf_jax._table_names import MISSING, as_missing
from lrrf_jax._tabular import Rows, different_cells, without_missing
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_choice

_UNKNOWN = -3.0


class Cells(NamedTuple):
    """How the cells of tables are read for a model."""

    missing: tuple[str, ...] = MISSING
    dialect: Dialect = UNTOLD  # of text tables
    levels: Mapping[int, Any] = {}  # `Levels` of the features that are categories, by number
    unseen: str = "error"

    def categories(self, features: Sequence[str]) -> list[str]:
        """Return those columns of features that are categories."""
        return [features[j] for j in self.levels]


def as_stored(ranker: Any) -> Any:
    """Return a model that takes rows as they are read: a pipeline as files hold it."""
    return ranker.stored() if hasattr(ranker, "stored") else ranker


def cells_of(
    ranker: Any,
    missing: str | Sequence[str] | None = None,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    unseen: str | None = None,
) -> Cells:
    """Take what is given, and else what the model was trained with."""
    if missing is None:
        missing = getattr(ranker, "missing_values_", MISSING)
    if unseen is None:
        unseen = getattr(ranker, "unseen", "error")
    require_choice(unseen, "unseen", ("error", "missing"))
    return Cells(
        as_missing(missing),
        as_dialect(delimiter, decimal, encoding),
        getattr(ranker, "_categories", {}),
        unseen,
    )


def level_codes(
    column: pa.ChunkedArray, name: str, levels: Any, rows: Rows, cells: Cells
) -> NDArray:  # float32 (n_rows,)
    """Give each cell the code of its level in the model; NaN: missing, -1: not known.

    A level is found by its text, or the text without blanks around it, or, where it is a number,
    by its value. What is the name of a level names it, also where it could mean "missing".

    Raises
    ------
    InputError
        For a level that the model does not know, unless such are taken as missing.
    """
    code = _code_of(levels)
    pieces = [np.empty(0, np.float32)]
    for values, indices in different_cells(column, name, rows):
        of_value = [_code(value, code, cells.missing) for value in values]
        pieces.append(np.array([*of_value, np.nan], np.float32)[indices])
    codes = np.concatenate(pieces)
    strange = codes == _UNKNOWN
    if strange.any():
        if cells.unseen == "error":
            row = int(np.argmax(strange))
            where, cell = f"{rows.at(row)}, column {name!r}", column[row].as_py()
            told = unknown_level(
                str(cell), where, len(strange), int(strange.sum()), list(levels.names)
            )
            raise InputError(
                f"{rows.path}: {told} Correct it, or train anew with such rows, or take such "
                'levels as missing: unseen="missing" (--unseen missing).'
            )
        codes[strange] = -1
    return codes


def _code_of(levels: Any) -> dict[str | float, float]:
    """Map names of levels, and the values of those that are numbers, to codes."""
    code: dict[str | float, float] = dict.fromkeys(levels.empty, -1.0)
    code |= {name: float(number) for number, name in enumerate(levels.names)}
    by_value: dict[float, list[float]] = {}
    for name, number in code.items():
        value = _value(name)
        if value is not None:
            by_value.setdefault(value, []).append(number)
    return code | {value: number[0] for value, number in by_value.items() if len(number) == 1}


def _value(name: Any) -> float | None:
    try:
        value = float(name)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _code(cell: Any, code: Mapping[str | float, float], missing: Sequence[str]) -> float:
    if cell is None or cell != cell:
        return np.nan
    if isinstance(cell, str):
        if cell in code:
            return code[cell]
        text = cell.strip()
        if text not in code and text in missing:
            return np.nan
    else:
        text = str(cell)
        if isinstance(cell, int | float) and np.isnan(
            without_missing(np.array([cell]), missing)[0]
        ):
            return np.nan
    found = code.get(text)
    if found is None and (value := _value(text)) is not None:
        found = code.get(value)
    return _UNKNOWN if found is None else found
