"""Data frames of pandas, polars and pyarrow, known by what they offer; none of them is imported.

The core may not need a library of tables, and a frame need not be asked for more than its names,
its columns as arrays, some of its rows, and one of its own kind with other numbers in it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError

PANDAS, POLARS, ARROW = "pandas", "polars", "pyarrow"


def library_of(table: Any) -> str | None:
    """Tell whose frame a table is like; ``None`` where it is no frame in memory."""
    kind = type(table)  # a property of a lazy table may compute, so only the type is asked
    if kind is np.ndarray or is_lazy(table):
        return None
    if hasattr(kind, "iloc") and hasattr(kind, "columns"):
        return PANDAS
    if hasattr(kind, "get_columns") and hasattr(kind, "schema"):
        return POLARS
    if hasattr(kind, "column_names") and hasattr(kind, "to_pydict"):
        return ARROW
    return None


def is_lazy(table: Any) -> bool:
    """Tell whether a table is a plan of one: polars' LazyFrame, a frame of Dask or Spark."""
    kind = type(table)
    return hasattr(kind, "columns") and (hasattr(kind, "collect") or hasattr(kind, "compute"))


def column_names(table: Any, argument: str) -> list[str] | None:
    """Names of the columns of a frame, as text; ``None`` for other input.

    Raises
    ------
    InputError
        Where two columns have one name.
    """
    library = library_of(table)
    if library is None:
        return None
    names = [str(name) for name in (table.column_names if library == ARROW else table.columns)]
    if len(set(names)) < len(names):
        repeated = sorted({name for name in names if names.count(name) > 1})
        raise InputError(
            f"{argument} must have distinct columns; '{repeated[0]}' is there "
            f"{names.count(repeated[0])} times ({len(repeated)} names are repeated). Rename them."
        )
    return names


def own_names(table: Any, argument: str) -> list[str] | None:
    """Names of the columns of a frame, ``None`` where it has none either.

    The whole numbers 0, 1, 2, ... in this order, which pandas gives to columns without names, are
    no names. Other numbers are, and so are the same ones in another order.
    """
    names = column_names(table, argument)
    if names is None or library_of(table) != PANDAS:
        return names
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in table.columns)
    return None if whole and names == counted(len(names)) else names


def counted(count: int) -> list[str]:
    """Return the names "0", "1", ... of columns that have none."""
    return [str(number) for number in range(count)]


def column_arrays(frame: Any) -> list[NDArray]:  # each of (n_samples,)
    """Columns as arrays: numbers with NaN where a value is missing, else objects."""
    library = library_of(frame)
    if library == PANDAS:
        dtypes = set(frame.dtypes)
        if len(dtypes) == 1 and isinstance(next(iter(dtypes)), np.dtype):
            return list(frame.to_numpy().T)  # all at once
        return [_from_pandas(frame.iloc[:, j]) for j in range(frame.shape[1])]
    if library == POLARS:
        return [_from_polars(column) for column in frame.get_columns()]
    return [_from_arrow(frame.column(j)) for j in range(len(frame.column_names))]


def columns_of_levels(frame: Any) -> Iterator[tuple[int, Any]]:
    """Yield the number and content of each column that may hold categories.

    The content is ``(codes, levels)`` of a pandas category, a polars Categorical or Enum, an Arrow
    dictionary, with codes int64 (n_samples,), -1: missing; and an array of objects for text.
    """
    library = library_of(frame)
    if library == PANDAS:
        for j, dtype in enumerate(frame.dtypes):
            if hasattr(dtype, "categories"):
                column = frame.iloc[:, j].array
                yield j, (np.asarray(column.codes, np.int64), dtype.categories.tolist())
            elif str(dtype).startswith("dictionary"):  # of Arrow, in pandas
                yield j, _arrow_levels(frame.iloc[:, j].array.__arrow_array__())
            elif dtype.kind in "OU":  # of Python objects, or pandas' own of text
                yield j, np.asarray(frame.iloc[:, j], object)
    elif library == POLARS:
        for j, column in enumerate(frame.get_columns()):
            kind = str(column.dtype).partition("(")[0]
            if kind == "Enum":
                codes = column.to_physical().cast(int).fill_null(-1).to_numpy()
                yield j, (codes, column.dtype.categories.to_list())
            elif kind == "Categorical":  # whose levels may be those of every such column there is
                levels = column.unique().drop_nulls().to_list()
                number = {level: code for code, level in enumerate(levels)} | {None: -1}
                yield j, (np.array([number[cell] for cell in column.to_list()], np.int64), levels)
            elif kind in ("String", "Object"):
                yield j, _objects(column.to_list())
    elif library == ARROW:
        for j in range(len(frame.column_names)):
            column = frame.column(j)
            kind = str(column.type)
            if kind.startswith("dictionary"):
                yield j, _arrow_levels(column)
            elif kind in ("string", "large_string", "string_view"):
                yield j, _objects(column.to_pylist())


def _arrow_levels(column: Any) -> tuple[NDArray, list[Any]]:
    """Codes and levels of a dictionary, whose chunks may differ, and which may hold null."""
    number: dict[Any, int] = {}
    parts = []
    for chunk in getattr(column, "chunks", [column]):
        levels = chunk.dictionary.to_pylist()
        of_level = [-1 if v is None else number.setdefault(v, len(number)) for v in levels]
        codes = chunk.indices.fill_null(len(levels)).to_numpy(zero_copy_only=False)
        parts.append(np.array([*of_level, -1], np.int64)[codes])
    return np.concatenate([np.empty(0, np.int64), *parts]), list(number)


def row_count(frame: Any) -> int:
    """Return the number of rows."""
    return int(frame.num_rows if library_of(frame) == ARROW else frame.shape[0])


def take_rows(frame: Any, rows: NDArray) -> Any:
    """Return rows of a frame, by number, as a frame of its kind."""
    library = library_of(frame)
    if library == PANDAS:
        return frame.iloc[rows]
    return frame[rows] if library == POLARS else frame.take(rows)


def frame_like(frame: Any, values: NDArray, names: Sequence[Any] | None = None) -> Any:
    """Put numbers, (n_samples, n_columns), into a frame of the kind, with the index, of another.

    ``names`` are those of the columns; by default they are those of ``frame``.
    """
    kind, library = type(frame), library_of(frame)
    if library == PANDAS:
        columns = frame.columns if names is None else list(names)
        return kind(values, index=frame.index, columns=columns)
    if names is None:
        names = frame.column_names if library == ARROW else frame.columns
    columns = {str(name): np.ascontiguousarray(values[:, j]) for j, name in enumerate(names)}
    return kind.from_pydict(columns) if library == ARROW else kind(columns)


def _from_pandas(column: Any) -> NDArray:
    # Nullable, sparse and Arrow's numbers would become objects with pandas.NA among them.
    if not isinstance(column.dtype, np.dtype) and getattr(column.dtype, "kind", "O") in "iuf":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return column.to_numpy()


def _from_polars(column: Any) -> NDArray:
    try:
        return column.to_numpy()
    except Exception:  # of a class of polars' own, for integers of 128 bits
        return _objects(column.to_list())


def _from_arrow(column: Any) -> NDArray:
    if hasattr(column.type, "index_type") and hasattr(column.type, "value_type"):  # a dictionary
        column = column.cast(column.type.value_type)
    try:
        return column.to_numpy(zero_copy_only=False)
    except NotImplementedError:
        return _objects(column.to_pylist())


def _objects(cells: list[Any]) -> NDArray:
    array = np.empty(len(cells), object)
    array[:] = cells
    return array
