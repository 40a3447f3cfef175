"""Numbers as users hold them, in arrays, lists and data frames, to NumPy; or an InputError."""

import math
import types
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np

from lrrf_jax import _frames
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, NoNumberError

TABLE = "an array, a list of rows or a data frame"
VECTOR = "an array or a list"
_LONGEST_CELL = 40


def as_array(values: Any, name: str, form: str = TABLE) -> NDArray:
    """Bring what is no data frame to NumPy, of whatever type; what is masked becomes NaN.

    Raises
    ------
    InputError
        For what is no table or vector in memory, and for rows of different lengths.
    """
    if type(values) is np.ndarray:
        array = values
    else:
        require_container(values, name, form)
        array = _listed(values, name, form)
    if array.dtype.names is not None:
        raise InputError(
            f"{name} must be {form}; it is a structured array with the fields "
            f"{', '.join(array.dtype.names[:5])}. Take it as a data frame, "
            f"pandas.DataFrame({name}), or as "
            f"numpy.lib.recfunctions.structured_to_unstructured({name})."
        )
    return array


def as_numbers(
    values: Any,
    name: str,
    *,
    remedy: str,
    form: str = TABLE,
    booleans: bool = False,
    known: Mapping[int, NDArray] = types.MappingProxyType({}),
) -> NDArray:
    """Bring a table or a vector to an array of real numbers, NaN where a value is missing.

    Missing are NaN, None, null, ``pandas.NA``, and what a masked array masks. Integers and floats
    keep their type; other numbers, such as Decimal, become float64. Text is no number. Of a frame
    the columns ``known`` are numbers already.

    Raises
    ------
    InputError
        As `as_array`, and for cells that are no numbers, or beyond float64: ``remedy`` is the way
        out for text. Booleans are numbers only where ``booleans`` says so.
    """
    if _frames.library_of(values) is not None:
        return _numbers_of_frame(values, name, remedy, booleans, known)
    array = as_array(values, name, form)
    numbers, bad = _numbers(array, name, remedy, booleans)
    if bad is not None:
        at = tuple(np.argwhere(bad)[0].tolist())
        where = "".join(f", column {k}" for k in at[1:2])
        raise _no_number(array[at], f"{f'row {at[0]}' if at else 'it'}{where}", bad, name, remedy)
    return numbers


def _numbers_of_frame(
    frame: Any, name: str, remedy: str, booleans: bool, known: Mapping[int, NDArray]
) -> NDArray:
    columns, names = [], _frames.own_names(frame, name)
    for j, column in enumerate(_frames.column_arrays(frame)):
        if j in known:
            columns.append(known[j])
            continue
        label = f"column {j if names is None else repr(names[j])}"
        numbers, bad = _numbers(column, f"{label} of {name}", remedy, booleans)
        if bad is not None:
            row = int(np.argmax(bad))
            raise _no_number(column[row], f"row {row}, {label}", bad, name, remedy)
        # Numbers of one frame are floats of one type, float64 unless some are wider.
        columns.append(numbers if numbers.dtype.itemsize > 8 else numbers.astype(np.float64))
    return np.stack(columns, axis=1) if columns else np.empty((_frames.row_count(frame), 0))


def _numbers(
    array: NDArray, name: str, remedy: str, booleans: bool
) -> tuple[NDArray, NDArray | None]:
    """Return an array as numbers, or which of its cells are none."""
    kind = array.dtype.kind
    if kind in "iuf" or (kind == "b" and booleans):
        return array, None
    if kind == "c":
        raise InputError(f"{name} must hold real numbers; Complex data not supported.")
    if kind not in "OUST":
        if kind in "mM":
            remedy = "Make numbers of times first, such as days since a date, or leave them out."
        raise InputError(f"{name} must hold numbers; it holds {array.dtype}. {remedy}")
    numbers = np.full(array.size, np.nan)
    bad = np.zeros(array.size, bool)
    for at, cell in enumerate(array.ravel().tolist()):
        try:
            numbers[at] = _number(cell, booleans)
        except Exception:  # whatever a stranger's object raises
            bad[at] = True
    return numbers.reshape(array.shape), bad.reshape(array.shape) if bad.any() else None


def require_container(values: Any, name: str, form: str) -> None:
    """Raise InputError for what holds no numbers in an order, or not in memory."""
    what, way_out = None, "Write it as a list or an array."
    if values is None or isinstance(values, str | bytes | bool):
        what = "None" if values is None else repr(values)
    elif is_sparse(values):
        what, way_out = "a sparse matrix", f"Make it dense with {name}.toarray()."
    elif _frames.is_lazy(values):
        what = f"a {type(values).__name__}, a table that is not computed yet"
        way_out = f"Use {name}.{'collect' if hasattr(values, 'collect') else 'compute'}() instead."
    elif isinstance(values, Mapping):
        what, way_out = "a dict", f"Make a data frame of it, pandas.DataFrame({name})."
    elif isinstance(values, Iterator):
        what = f"a {type(values).__name__}, which can be read once only"
        way_out = f"Use list({name}) instead."
    elif isinstance(values, Set):
        what, way_out = "a set, which has no order", "Write it as a list, in the order you mean."
    elif isinstance(values, Sequence):
        for i, row in enumerate(values):
            if isinstance(row, Mapping | Set | Iterator):
                what, way_out = f"a list with {shown(row)} in it, row {i}", "Write rows as lists."
                if isinstance(row, Mapping):
                    way_out = f"Make a data frame of it, pandas.DataFrame({name})."
                break
    if what is not None:
        raise InputError(f"{name} must be {form}; it is {what}. {way_out}")


def is_sparse(values: Any) -> bool:
    """Tell a sparse matrix or array of SciPy, which need not be imported."""
    return hasattr(type(values), "toarray") and hasattr(values, "nnz")


def shown(cell: Any, write: Callable[[Any], str] = repr) -> str:
    """Write a cell as Python does, cut where it is long."""
    try:
        text = write(cell.item() if isinstance(cell, np.generic) else cell)
    except ValueError:  # an integer of too many digits to be written
        text = "an integer of very many digits"
    return text if len(text) <= _LONGEST_CELL else text[: _LONGEST_CELL - 3] + "..."


def _listed(values: Any, name: str, form: str) -> NDArray:
    try:
        if not isinstance(values, np.ndarray) and _holds_masked(values):
            values = [_unmasked(row) for row in values]
        if isinstance(values, np.ma.MaskedArray):
            return _unmasked(values)
        return np.asarray(values)
    except ValueError as error:
        raise InputError(
            f"{name} must be a table; its rows have different lengths. Write a cell for each "
            "column in every row, None where a value is missing; lists of labels become "
            "positions by `rankings_from_orderings`."
        ) from error
    except Exception as error:  # of a stranger's object, such as a tensor on a device
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(
            f"{name} must be {form}; NumPy cannot read a {type(values).__name__} "
            f"({reason[0]:.80}). Make a NumPy array of it first."
        ) from error


def _holds_masked(values: Any) -> bool:
    """Tell whether a list holds masked rows or cells, whose mask NumPy would drop."""
    if not isinstance(values, list | tuple):
        return False
    return any(
        isinstance(row, np.ma.MaskedArray)
        or (isinstance(row, list | tuple) and any(cell is np.ma.masked for cell in row))
        for row in values
    )


def _unmasked(values: Any) -> Any:
    """Put NaN where a masked array is masked; a list of cells the same."""
    if isinstance(values, list | tuple):
        return [math.nan if cell is np.ma.masked else cell for cell in values]
    if values is np.ma.masked:
        return math.nan
    if not isinstance(values, np.ma.MaskedArray) or values.dtype.names is not None:
        return np.asarray(values)
    mask = np.ma.getmaskarray(values)
    if not mask.any():
        return np.asarray(values.data)
    kept = values.data.astype(values.dtype if values.dtype.kind in "fcO" else _float_of(values))
    kept[mask] = np.nan
    return kept


def _float_of(values: NDArray) -> Any:
    return np.float64 if values.dtype.kind in "biu" else object


def is_missing(cell: Any) -> bool:
    """Tell a cell that stands for a missing value: None, null, NaN, ``pandas.NA``."""
    try:
        return math.isnan(_number(cell, booleans=False))
    except Exception:  # whatever a stranger's object raises
        return False


def _number(cell: Any, booleans: bool) -> float:
    """Return one cell as a float; TypeError or ValueError where it is no real number."""
    kind = type(cell)
    if kind is float or kind is int:
        return float(cell)
    # pandas.NA is known by its type's name: pandas need not be installed.
    if cell is None or kind.__name__ == "NAType" or cell is np.ma.masked:
        return math.nan
    if isinstance(cell, bool | np.bool_):
        if not booleans:
            raise TypeError
        return float(cell)
    if isinstance(cell, str | bytes | complex | np.ndarray | np.datetime64 | np.timedelta64):
        raise TypeError
    number = float(cell)
    if math.isinf(number) and cell != number:
        raise OverflowError
    return number


def _no_number(cell: Any, where: str, bad: NDArray, name: str, remedy: str) -> InputError:
    if isinstance(cell, int) and not isinstance(cell, bool):
        remedy = "That is beyond float64: rescale the numbers."
    elif isinstance(cell, np.ndarray):
        remedy = f"Stack the rows, numpy.stack({name})."
    n_rows = int(bad.reshape(len(bad), -1).any(1).sum()) if bad.ndim else 1
    count = f" ({n_rows} of {len(bad)} rows fail)" if bad.ndim else ""
    message = f"{name} must hold numbers; {where} is {shown(cell)}{count}. {remedy}"
    if isinstance(
        cell, Mapping | Set | list | tuple
    ):  # scikit-learn's words, and its kind of error
        kind = type(cell).__name__
        return NoNumberError(f"{message} (An argument must be a string or a number, not a {kind}.)")
    return InputError(message)
