"""Fitted steps of a pipeline -> stored steps, which do the same.

What becomes of levels, the steps are asked: they transform rows that hold each level in turn, so
encoders need not be taken apart. At last made-up rows go both ways, and must come out alike.
"""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from lrrf_jax._categories import CodedRows
from lrrf_jax._numbers import is_sparse
from lrrf_jax._typing import NDArray
from lrrf_jax.learners.persistence.schema import Unfit
from lrrf_jax.pipelines.reading import Reader, Wire
from lrrf_jax.pipelines.stored_steps import Columns, StepArrays, StoredSteps

_N_ROWS = 64  # made up, to compare
_CELLS_AT_ONCE = 2**22  # of the answers to questions
_UNKNOWN_TEXT = "\uffff no level of any column"


def read_steps(steps: Pipeline, n_columns: int, names: list[str] | None) -> StoredSteps:
    """Make stored steps of fitted ones, all of them transformers.

    Raises
    ------
    Unfit
        For a step, or an option of one, of which it is not known what it does to each column.
    """
    reader = Reader()
    wires = reader.through(steps, [Wire(j) for j in range(n_columns)])
    for wire in wires:
        if wire.is_text:
            raise Unfit(f"text of column {_named(wire.source, names)} reaches the learner")
    rows = _Rows(reader, n_columns, names)
    columns, found = _ask(steps, wires, reader, rows)
    arrays = _as_arrays(wires, found)
    _require_alike(steps, columns, arrays, rows)
    columns, arrays = _without_unused(columns, arrays)
    told = [_told(step) for _, step in steps.steps]
    return StoredSteps.of(columns, arrays, told)


def _without_unused(columns: Columns, arrays: StepArrays) -> tuple[Columns, StepArrays]:
    """Leave out columns that have names and of which nothing is made."""
    if columns.names is None:
        return columns, arrays
    used = sorted({*arrays.source.tolist(), *columns.levels})  # levels may be refused all the same
    number = {j: k for k, j in enumerate(used)}
    names = [columns.names[j] for j in used]
    kept = Columns(
        names,
        len(used),
        {number[j]: levels for j, levels in columns.levels.items()},
        frozenset(number[j] for j in columns.needs_level),
        frozenset(number[j] for j in columns.knows_levels),
        frozenset(columns.names) - frozenset(names),
    )
    source = np.array([number[j] for j in arrays.source.tolist()], np.int32)
    return kept, arrays._replace(source=source)


def _named(column: int, names: list[str] | None) -> str:
    return str(column) if names is None else repr(names[column])


def _told(step: Any) -> str:
    return " ".join(repr(step).split())


class _Rows:
    """Makes rows of the kind that the steps were fitted on."""

    def __init__(self, reader: Reader, n_columns: int, names: list[str] | None) -> None:
        self.reader, self.n_columns, self.names = reader, n_columns, names
        self.text = {j for j, levels in reader.levels.items() if isinstance(levels[0], str)}

    def first(self, count: int) -> list[Any]:
        """Columns that hold 0, or the first level."""
        cells: list[Any] = [0.0] * self.n_columns
        for j, levels in self.reader.levels.items():
            cells[j] = levels[0]
        return [self.column(j, [cell] * count) for j, cell in enumerate(cells)]

    def column(self, j: int, cells: Sequence[Any]) -> NDArray:
        """Put cells into a column."""
        return np.array(cells, object if j in self.text else np.float64)

    def null(self, j: int) -> Any:
        """Return what is missing in a column."""
        return self.reader.null.get(j, np.nan)

    def table(self, columns: Sequence[NDArray]) -> Any:
        """Put columns into a table."""
        if self.names is None:
            dtype = object if self.text else np.float64
            return np.stack([column.astype(dtype) for column in columns], axis=1)
        try:
            from pandas import DataFrame
        except ImportError:
            from polars import DataFrame
        return DataFrame(dict(zip(self.names, columns, strict=True)))


def _transformed(steps: Pipeline, table: Any) -> NDArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = steps.transform(table)
    return np.asarray(out.toarray() if is_sparse(out) else out, np.float64)


class _Found(NamedTuple):
    """What becomes of levels, of several columns that come out."""

    usual: NDArray  # float64 (n_out,), of most levels
    out: NDArray  # int64 (n_codes,), columns
    code: NDArray  # int64 (n_codes,), levels of which it is another
    value: NDArray  # float64 (n_codes,)


def _ask(steps: Pipeline, wires: list[Wire], reader: Reader, rows: _Rows) -> tuple[Columns, _Found]:
    """Ask what becomes of each level, of a missing one, and of one that is not known."""
    needs_level: set[int] = set()
    knows_levels: set[int] = set()
    usual, parts = np.zeros(len(wires)), [_Found(*np.zeros((4, 0)))]
    at_once = max(3, _CELLS_AT_ONCE // max(1, len(wires)))
    for j, levels in reader.levels.items():
        mine = [k for k, wire in enumerate(wires) if wire.is_level and wire.source == j]
        other = _UNKNOWN_TEXT if j in rows.text else max(levels) + max(1.0, abs(max(levels)))
        starts = range(0, len(levels), at_once)
        pieces = [(start, levels[start : start + at_once]) for start in starts]
        pieces += [(len(levels), [rows.null(j)]), (len(levels) + 1, [other])]
        for start, cells in pieces:
            table = rows.first(len(cells))
            table[j] = rows.column(j, cells)
            try:
                made = np.ascontiguousarray(_transformed(steps, rows.table(table))[:, mine])
            except (ValueError, TypeError):
                if start < len(levels):
                    raise
                (needs_level if start == len(levels) else knows_levels).add(j)
                continue
            if start == 0:
                usual[mine] = np.sort(made, axis=0)[len(made) // 2]
            # Bit by bit: NaN is NaN, and the zeros are two.
            code, column = np.nonzero(made.view(np.int64) != usual[mine].view(np.int64))
            out = np.array(mine, np.int64)[column]
            parts.append(_Found(usual, out, code + start, made[code, column]))
    columns = Columns(
        rows.names, rows.n_columns, reader.levels, frozenset(needs_level), frozenset(knows_levels)
    )
    joined = [np.concatenate([part[field] for part in parts]) for field in (1, 2, 3)]
    return columns, _Found(usual, *joined)


def _as_arrays(wires: list[Wire], found: _Found) -> StepArrays:
    operations = [pair for wire in wires for pair in wire.operations]
    order = np.lexsort([found.code, found.out])
    return StepArrays(
        np.array([wire.source for wire in wires], np.int32),
        np.array([wire.is_level for wire in wires], bool),
        np.array([len(wire.operations) for wire in wires], np.int32),
        np.array([operation for operation, _ in operations], np.uint8),
        np.array([operand for _, operand in operations], np.float64),
        found.usual,
        np.bincount(found.out.astype(np.int64), minlength=len(wires)).astype(np.int32),
        found.code[order].astype(np.int32),
        found.value[order],
    )


def _require_alike(steps: Pipeline, columns: Columns, arrays: StepArrays, rows: _Rows) -> None:
    """Send made-up rows both ways: numbers of all sizes, missing ones, levels, missing ones."""
    draws = np.random.default_rng(0)
    table, codes = [], np.empty((_N_ROWS, rows.n_columns))
    for j in range(rows.n_columns):
        if j in columns.levels:
            levels = list(columns.levels[j])
            number = draws.integers(len(levels) + (j not in columns.needs_level), size=_N_ROWS)
            cells = [*levels, rows.null(j)]
            table.append(rows.column(j, [cells[code] for code in number]))
            codes[:, j] = np.where(number == len(levels), np.nan, number)
            if j not in rows.text:
                codes[:, j] = table[-1]
        else:
            number = draws.standard_normal(_N_ROWS) * 10.0 ** draws.integers(-3, 4, _N_ROWS)
            number[draws.random(_N_ROWS) < 0.1] = np.nan
            table.append(number)
            codes[:, j] = number
    try:
        expected = _transformed(steps, rows.table(table)).astype(np.float32)
    except (ValueError, TypeError) as error:
        raise Unfit(f"the steps do not take rows that were made up: {error}") from error
    found = StoredSteps.of(columns, arrays, ()).transform(CodedRows(codes))
    if not np.array_equal(found, expected, equal_nan=True):
        raise Unfit(
            "the steps do to made-up rows what is not known of them, in this version of "
            "scikit-learn"
        )
