"""Cells of a file -> features: numbers, and categories, each a text of some levels."""

import types
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lrrf_jax._table_names import match_columns
from lrrf_jax._tabular import (
    Rows,
    different_cells,
    finite_features,
    foreign_number,
    is_text,
    numbers,
    plain,
    trimmed_text,
    without_missing,
)
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.datasets._orderings import natural_key
from lrrf_jax.datasets._reading import Reading


class Features(NamedTuple):
    """The feature columns of a file."""

    names: tuple[str, ...]
    matrix: NDArray  # float32 (n_samples, n_features), NaN where a column holds categories
    categories: dict[str, pa.DictionaryArray]  # dictionary<int32, string>, by column

    @property
    def X(self) -> Any:  # as in LabelRankingData
        """Return the array, or a table where there are categories."""
        if not self.categories:
            return self.matrix
        columns = [
            self.categories.get(name, self.matrix[:, j]) for j, name in enumerate(self.names)
        ]
        return pa.table(columns, names=list(self.names))


def read_features(
    table: pa.Table,
    names: Sequence[str],
    rows: Rows,
    how: Reading,
    declared: Mapping[str, Sequence[str]] = types.MappingProxyType({}),
) -> Features:
    """Read the columns ``names``; ``declared`` has the levels of those that the file declares.

    Raises
    ------
    InputError
        For text among numbers, infinities, and a category that is no column of these.
    """
    named = set(match_columns(rows.path, names, how.categories, "categories"))
    matrix = np.full((table.num_rows, len(names)), np.nan, np.float32)
    categories = {}
    for j, name in enumerate(names):
        column = table[name]
        if name in named or name in declared or pa.types.is_dictionary(column.type):
            categories[name] = _category(column, name, rows, how, declared.get(name))
            _require_declared(categories[name], declared.get(name), name, rows)
            continue
        try:
            values = numbers(column, name, rows, how.missing, _way_out(name))
        except InputError:
            cells = trimmed_text(plain(column), how.missing) if is_text(column.type) else None
            if cells is None or _numbers_among(cells, name, rows):
                raise
            categories[name] = _category(column, name, rows, how)
        else:
            matrix[:, j] = finite_features(values, name, rows)
    return Features(tuple(names), matrix, categories)


def _way_out(name: str) -> str:
    return f" If the column holds categories, say categories={name!r} (--categories)."


def _numbers_among(cells: pa.ChunkedArray, name: str, rows: Rows) -> bool:
    """Tell whether text reads as a number here and there; InputError for a few such cells."""
    texts = cells.unique().drop_null().to_pylist()
    found = [text for text in texts if _reads_as_number(text, rows.decimal)]
    if not found or 2 * len(found) >= len(texts):
        return bool(found)
    row = cells.index(found[0]).as_py()
    raise InputError(
        f"{rows.path}: column {name!r} must hold numbers, or categories none of which reads as a "
        f"number; {rows.at(row)} holds {found[0]!r} ({len(found)} of {len(texts)} different cells "
        f"are numbers). Correct the cell, or say that all are categories: categories={name!r} "
        "(--categories)."
    )


def _reads_as_number(text: str, decimal: str) -> bool:
    try:
        float(text)
    except ValueError:
        return bool(foreign_number(text, decimal))
    return True


def _category(
    column: pa.ChunkedArray,
    name: str,
    rows: Rows,
    how: Reading,
    declared: Sequence[str] | None = None,
) -> pa.DictionaryArray:
    """Make levels of the different cells: in the order that is declared, or else by name."""
    levels: dict[str, None] = dict.fromkeys(declared or ())
    pieces = []
    for cells, indices in different_cells(column, name, rows):
        texts = [_level(cell, how.missing) for cell in cells]
        levels.update(dict.fromkeys(text for text in texts if text is not None))
        pieces.append((texts, indices))
    names = list(levels)
    if declared is None and not pa.types.is_dictionary(column.type):
        names.sort(key=natural_key)
    code = {name: number for number, name in enumerate(names)}
    codes = [
        np.array([-1 if text is None else code[text] for text in texts] + [-1], np.int32)[indices]
        for texts, indices in pieces
    ]
    found = np.concatenate([np.empty(0, np.int32), *codes])
    return pa.DictionaryArray.from_arrays(
        pa.array(found, mask=found < 0), pa.array(names, pa.string())
    )


def _require_declared(
    column: pa.DictionaryArray, declared: Sequence[str] | None, name: str, rows: Rows
) -> None:
    if declared is None or len(column.dictionary) == len(declared):
        return
    strange = column.indices.to_numpy(zero_copy_only=False) >= len(declared)  # NaN is not
    row = int(np.argmax(strange))
    raise InputError(
        f"{rows.path}: column {name!r} must hold one of {', '.join(declared)}; {rows.at(row)} "
        f"holds {column[row].as_py()!r} ({int(strange.sum())} of {len(strange)} rows fail). "
        "Correct the cell, or declare its value."
    )


def _level(value: Any, missing: Sequence[str]) -> str | None:
    """Return the name of a level as text; None where the value is missing."""
    if value is None or value != value:
        return None
    if isinstance(value, str):
        text = value.strip()
        return None if text in missing else text
    if isinstance(value, int | float) and np.isnan(without_missing(np.array([value]), missing)[0]):
        return None
    return str(value)
