"""Stored steps in a model file: an entry of its header, and arrays; checked before use."""

from typing import Any

from lrrf_jax._typing import NDArray
from lrrf_jax.learners.persistence import schema
from lrrf_jax.learners.persistence.schema import Unfit
from lrrf_jax.pipelines.stored_steps import Columns, StepArrays, StoredSteps

_PREFIX = "pipeline."  # of the names of arrays
_HEADER: dict[str, Any] = {
    "feature_names": list | None,
    "n_features": int,
    "levels": dict,  # column -> texts, or numbers
    "needs_level": list,
    "knows_levels": list,
    "unused": list,
    "steps": list,  # as scikit-learn prints them
}


def written(steps: StoredSteps) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Return the entry and the arrays of steps; Unfit where they could not be read again."""
    columns, arrays = steps.columns, steps.arrays
    assert columns is not None
    assert arrays is not None
    entry = {
        "feature_names": columns.names,
        "n_features": columns.n_columns,
        "levels": {str(j): list(levels) for j, levels in columns.levels.items()},
        "needs_level": sorted(columns.needs_level),
        "knows_levels": sorted(columns.knows_levels),
        "unused": sorted(columns.unused),
        "steps": list(steps.told),
    }
    own = {_PREFIX + name: array for name, array in arrays._asdict().items()}
    read_stored(entry, parted(own)[0])
    return entry, own


def parted(arrays: dict[str, NDArray]) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
    """Part the arrays of steps from the others, and take the prefix off their names."""
    own = {n.removeprefix(_PREFIX): array for n, array in arrays.items() if n.startswith(_PREFIX)}
    return own, {n: array for n, array in arrays.items() if not n.startswith(_PREFIX)}


def read_stored(entry: Any, arrays: dict[str, NDArray]) -> StoredSteps:
    """Make steps of what a file says; Unfit where no steps could be so."""
    columns = _read_columns(entry)
    read = schema.arrays_of(StepArrays, arrays, {"n_columns": columns.n_columns})
    return StoredSteps.of(columns, read, entry["steps"])


def _read_columns(told: Any) -> Columns:
    """Check what a header says of the columns that go in."""
    schema.require_entries(told, _HEADER, "pipeline")
    n_columns, names = told["n_features"], told["feature_names"]
    if not 1 <= n_columns < 2**31:
        raise Unfit(f"its pipeline takes {n_columns} features")
    if names is not None:
        names = schema.require_names(names, n_columns, "feature_names")
    unused = schema.require_names(told["unused"], None, "unused")
    if names is None and unused or set(unused) & set(names or []):
        raise Unfit("columns of its pipeline are used and unused")
    if not all(isinstance(step, str) for step in told["steps"]):
        raise Unfit("the steps of its pipeline are not all texts")
    levels = {}
    for key, known in told["levels"].items():
        column = _column(key, n_columns)
        levels[column] = _read_levels(known, column)
    flags = {}
    for entry in ("needs_level", "knows_levels"):
        if not all(type(j) is int and j in levels for j in told[entry]):
            raise Unfit(f"{entry} of its pipeline names no column of levels")
        flags[entry] = frozenset(told[entry])
    return Columns(names, n_columns, levels, **flags, unused=frozenset(unused))


def _column(key: str, n_columns: int) -> int:
    if not (key.isascii() and key.isdecimal() and len(key) < 11 and str(int(key)) == key):
        raise Unfit(f"the levels of its pipeline have a column {key!r:.40}")
    if int(key) >= n_columns:
        raise Unfit(f"the levels of its pipeline have a column {key}, of {n_columns} features")
    return int(key)


def _read_levels(known: Any, column: int) -> list[Any]:
    if not isinstance(known, list) or not known:
        raise Unfit(f"the levels of column {column} are no list")
    if isinstance(known[0], str):
        return schema.require_names(known, None, f"the levels of column {column}")
    numbers = all(type(level) in (int, float) and abs(level) < 2**1023 for level in known)
    if not numbers or len(set(known)) != len(known):
        raise Unfit(f"the levels of column {column} are no distinct numbers")
    return [float(level) for level in known]
