"""What a model file must hold, said next to each learner with `Annotated`, and checked here.

An array is ``Annotated[AnyArray, Stored("float32", "n_features", "n_outputs")]`` in the NamedTuple
of a learner's parameters; a setting ``Annotated[int, Range(1, 16)]`` in its configuration. Shapes
are names of sizes: known ones, such as ``n_features``, must fit; a new name takes the size that it
meets first. Nothing of a file is used before it has been through here.
"""

import dataclasses
import inspect
import math
import types
import typing
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_choice
from lrrf_jax.learners._coding import UNSEEN
from lrrf_jax.learners._table import TableShape

Sizes = dict[str, int]
# Metadata of a setting that came when there were models without it; it has a default.
LATER: Mapping[str, bool] = types.MappingProxyType({"later": True})
_MAX = 2**63 - 1  # of whole numbers that nothing else bounds


class Unfit(ValueError):
    """Content that no model has; the message says what."""


@dataclasses.dataclass(frozen=True, init=False)
class Stored:
    """The type and shape of an array, and the values that it may hold.

    Parameters
    ----------
    dtype : str
        Exactly.
    *shape : str
        Names of sizes.
    minimum, maximum : float or str
        Bounds, themselves allowed; a name stands for one less than a size, the last index.
    missing, infinite : bool
        Whether NaN, and infinities, may occur.
    """

    dtype: str
    shape: tuple[str, ...]
    minimum: float
    maximum: float | str
    missing: bool
    infinite: bool

    def __init__(
        self,
        dtype: str,
        *shape: str,
        minimum: float = -math.inf,
        maximum: float | str = math.inf,
        missing: bool = False,
        infinite: bool = False,
    ) -> None:
        fields = {"dtype": dtype, "shape": shape, "minimum": minimum, "maximum": maximum}
        fields |= {"missing": missing, "infinite": infinite}
        for name, value in fields.items():
            object.__setattr__(self, name, value)


@dataclasses.dataclass(frozen=True)
class Range:
    """Bounds of a number, themselves allowed."""

    minimum: float
    maximum: float = math.inf


@dataclasses.dataclass(frozen=True)
class OneOf:
    """The texts that a setting may be."""

    choices: tuple[str, ...]


def arrays_of(kind: type, arrays: dict[str, NDArray], sizes: Sizes) -> Any:
    """Put arrays into nested NamedTuples of type ``kind``, each as its annotation says.

    Raises
    ------
    Unfit
        Where one is absent, or is not as it must be, or there is one more.
    """
    taken: set[str] = set()
    out = _arrays_of(kind, arrays, sizes, "", taken)
    for name in arrays:
        if name not in taken:
            raise Unfit(f"the array {name!r} belongs to no such model")
    return out


def _arrays_of(kind: Any, arrays: dict, sizes: Sizes, prefix: str, taken: set[str]) -> Any:
    fields = {}
    for field, hint in typing.get_type_hints(kind, include_extras=True).items():
        name = prefix + field
        if hasattr(hint, "_fields"):
            fields[field] = _arrays_of(hint, arrays, sizes, f"{name}.", taken)
            continue
        if name not in arrays:
            raise Unfit(f"the array {name!r} is absent")
        taken.add(name)
        (stored,) = hint.__metadata__
        fields[field] = _require_array(name, arrays[name], stored, sizes)
    return kind(**fields)


def _require_array(name: str, array: NDArray, stored: Stored, sizes: Sizes) -> NDArray:
    if array.dtype != stored.dtype or array.ndim != len(stored.shape):
        raise Unfit(
            f"{name} is {array.dtype} of {array.ndim} dimensions, not {stored.dtype} "
            f"({', '.join(stored.shape)})"
        )
    for axis, size in zip(stored.shape, array.shape, strict=True):
        if sizes.setdefault(axis, size) != size:
            raise Unfit(f"{name} has the wrong shape, {array.shape}: {axis} is {sizes[axis]}")
    if not array.size or array.dtype == bool:
        return array
    with np.errstate(invalid="ignore"):  # NaN that signal
        low, high = array.min(), array.max()  # NaN where there is one; no copy
        if np.isnan(low):
            if not stored.missing:
                raise Unfit(f"{name} holds NaN, which is not finite")
            low, high = np.fmin.reduce(array, axis=None), np.fmax.reduce(array, axis=None)
    if np.isnan(low):
        return array
    bound = stored.maximum
    maximum = sizes[bound] - 1 if isinstance(bound, str) else bound
    if (np.isinf(low) or np.isinf(high)) and not stored.infinite:
        raise Unfit(f"{name} holds a number that is not finite")
    if low < stored.minimum or high > maximum:
        raise Unfit(
            f"{name} holds a number outside {stored.minimum}..{maximum}; they go from {low} to "
            f"{high}"
        )
    return array


def settings_of(kind: type, entries: Any, what: str) -> Any:
    """Make a frozen dataclass of the entries of a header, each as its annotation says.

    Raises
    ------
    Unfit
        Where one is absent, or is not as it must be, or there is one more.
    """
    hints = typing.get_type_hints(kind, include_extras=True)
    optional = {
        field.name for field in dataclasses.fields(kind) if field.default is not dataclasses.MISSING
    }
    require_entries(entries, hints, what, optional=optional)
    # JSON knows one kind of number; programs know two.
    return kind(**{name: _as_float(hints[name], value) for name, value in entries.items()})


def entries_of(settings: Any) -> dict[str, Any]:
    """Write settings down for a header: the way back of :func:`settings_of`.

    A field that is `LATER` is left out where it has its default: models that do not need it are
    written, and read by older versions, as they were before it came.
    """
    return {
        field.name: value
        for field, value in zip(
            dataclasses.fields(settings), dataclasses.asdict(settings).values(), strict=True
        )
        if not (field.metadata.get("later") and value == field.default)
    }


def _as_float(hint: Any, value: Any) -> Any:
    if typing.get_origin(hint) is Annotated:
        hint = typing.get_args(hint)[0]
    return float(value) if hint is float else value


def parameters_of(learner: type, entries: Any) -> Any:
    """Make a learner of the parameters in a header; one that is absent has its default.

    Raises
    ------
    Unfit
        Where the constructor does not know a parameter, or it is of another type.
    """
    known = inspect.signature(learner).parameters
    hints = typing.get_type_hints(getattr(learner, "__init__"))  # noqa: B009
    hints = {name: hints.get(name, Any) for name in known}
    require_entries(entries, hints, "params", optional=set(hints), lenient=True)
    return learner(**entries)


def require_entries(
    entries: Any,
    hints: dict[str, Any],
    what: str,
    *,
    optional: set[str] | frozenset[str] = frozenset(),
    lenient: bool = False,
) -> None:
    """Check the names and values of an object in the header against type hints.

    ``lenient``: bools and whole numbers of 0 and 1 stand for each other, as users write them.
    """
    if not isinstance(entries, dict):
        raise Unfit(f"{what} is no table of names and values")
    for name in entries:
        if name not in hints:
            raise Unfit(f"{what} has an entry {name!r}, which no such model has")
    for name, hint in hints.items():
        if name not in entries:
            if name not in optional:
                raise Unfit(f"{what} has no entry {name!r}")
        elif not _fits(entries[name], hint, lenient):
            raise Unfit(f"{name} is {_shown(entries[name])} in {what}")


def _fits(value: Any, hint: Any, lenient: bool) -> bool:
    if isinstance(value, int) and abs(value) > _MAX:
        return False
    if hint is Any:
        return value is None or isinstance(value, bool | int | float | str)
    if typing.get_origin(hint) is Annotated:
        kind, *rules = typing.get_args(hint)
        return _fits(value, kind, lenient) and all(_keeps(value, rule) for rule in rules)
    if isinstance(hint, types.UnionType):
        return any(_fits(value, kind, lenient) for kind in typing.get_args(hint))
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is bool and lenient:
        return isinstance(value, int) and value in (0, 1)
    if hint is int and not lenient:
        return type(value) is int
    return (
        value is None if hint is type(None) else isinstance(value, typing.get_origin(hint) or hint)
    )


def _keeps(value: Any, rule: Any) -> bool:
    if value is None:
        return True
    if isinstance(rule, Range):
        return rule.minimum <= value <= rule.maximum
    return value in rule.choices


def may_be_null(hint: Any) -> bool:
    """Whether an entry of this type may be null."""
    if typing.get_origin(hint) is Annotated:
        hint = typing.get_args(hint)[0]
    return isinstance(hint, types.UnionType) and type(None) in typing.get_args(hint)


def _shown(value: Any) -> str:
    if isinstance(value, list | dict):
        return f"a {type(value).__name__} of {len(value)}" if len(value) > 5 else repr(value)[:60]
    text = repr(value)
    return text if len(text) < 60 else f"{text[:57]}..."


def require_names(names: Any, count: int | None, what: str) -> list[str]:
    """Check a list of distinct names, of texts that every file and screen can hold."""
    texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not texts or len(set(names)) != len(names) or count not in (None, len(names)):
        needed = "" if count is None else f" {count}"
        raise Unfit(f"{what} is no list of{needed} distinct names")
    for name in names:
        if "\0" in name or not name.isascii() and not _is_text(name):
            raise Unfit(f"{what} holds {name!r}, which is no text")
    return names


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def without_later(learner: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Leave out parameters that are `LATER` and have their default; see `entries_of`."""
    later = {f.name: f.default for f in dataclasses.fields(learner) if f.metadata.get("later")}
    return {k: v for k, v in params.items() if k not in later or v != later[k]}


def require_categories(entries: Any, n_features: int) -> Any:
    """Check the levels of categories: for each column, those with rows and those without."""
    if not isinstance(entries, dict):
        raise Unfit("categories are no table of columns and levels")
    for column, levels in entries.items():
        if not (column.isascii() and column.isdecimal() and str(int(column)) == column):
            raise Unfit(f"categories have a column {_shown(column)}")
        if int(column) >= n_features:
            raise Unfit(f"categories have a column {column}, and there are {n_features} features")
        pair = isinstance(levels, list) and len(levels) == 2
        if not pair or not all(isinstance(part, list) for part in levels):
            raise Unfit(f"the levels of column {column} are no two lists")
        require_names([*levels[0], *levels[1]], None, f"the levels of column {column}")
    return entries


def require_usable(ranker: Any, n_features: int, n_labels: int) -> None:
    """Check the parameters of a learner as ``fit`` does; Unfit for those that it refuses."""
    try:
        require_choice(ranker.missing, "missing", ("unknown", "last"))
        require_choice(ranker.unseen, "unseen", UNSEEN)
        ranker._check_settings(TableShape(1, n_features, n_labels, complete=True))
    except (InputError, TypeError, OverflowError) as error:  # NumPy's, of numbers beyond its own
        raise Unfit(str(error).rstrip(".")) from error
