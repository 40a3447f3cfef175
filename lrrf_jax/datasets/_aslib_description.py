"""``description.txt`` of an ASlib scenario: what its other files mean."""

import math
import os
from typing import NamedTuple

from lrrf_jax._table_names import resembling
from lrrf_jax._validation import InputError, require_number
from lrrf_jax.datasets._yaml import Block, read_yaml

_TYPES = ("runtime", "solution_quality")
_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}


class Scenario(NamedTuple):
    """What the description says of the measure that was asked for, and of names."""

    name: str
    measure: str
    is_runtime: bool
    maximize: bool
    cutoff: float  # NaN: none
    algorithms: tuple[str, ...]  # those that are named; there may be others
    steps: dict[str, tuple[str, ...]]  # features that a step provides


def read_description(folder: str, measure: str | None, cutoff: float | None) -> Scenario:
    """Read ``description.txt``; ``measure`` and ``cutoff`` are those of `read_aslib`."""
    path = os.path.join(folder, "description.txt")
    if not os.path.isfile(path):
        raise InputError(f"{path}: there is no such file. Name the folder of an ASlib scenario.")
    blocks = read_yaml(path)
    names = _list(path, blocks, "performance_measures")
    if not names:
        raise blocks["performance_measures"].fault("one measure at least")
    measure = names[0] if measure is None else measure
    if measure not in names:
        raise InputError(
            f"{path}: measure asks for {measure!r}, which is no performance measure of the "
            f"scenario. {resembling(measure, names)}"
        )
    at = names.index(measure)
    kind = _entry(path, blocks, "performance_type", at, names)
    if kind not in _TYPES:
        raise blocks["performance_type"].fault(f"'runtime' or 'solution_quality'; it holds {kind}")
    maximize = _BOOLEANS.get(_entry(path, blocks, "maximize", at, names).lower())
    if maximize is None:
        raise blocks["maximize"].fault("true or false")
    if maximize and kind == "runtime":
        raise blocks["maximize"].fault(f"false for {measure!r}, which is a runtime")
    return Scenario(
        _scalar(blocks, "scenario_id") or os.path.basename(os.path.abspath(folder)),
        measure,
        kind == "runtime",
        maximize,
        _cutoff(blocks) if cutoff is None else _given(cutoff),
        _algorithms(blocks),
        _steps(blocks),
    )


def _given(cutoff: float) -> float:
    require_number(cutoff, "cutoff")
    return float(cutoff)


def _scalar(blocks: dict[str, Block], key: str) -> str | None:
    return blocks[key].scalar() if key in blocks else None


def _list(path: str, blocks: dict[str, Block], key: str) -> list[str]:
    if key not in blocks:
        raise InputError(
            f"{path}: there is no {key!r}. A description names performance_measures, maximize and "
            "performance_type."
        )
    return blocks[key].values()


def _entry(path: str, blocks: dict[str, Block], key: str, at: int, names: list[str]) -> str:
    values = _list(path, blocks, key)
    if len(values) != len(names):
        raise blocks[key].fault(f"{len(names)} values, one for each of performance_measures")
    return values[at]


def _cutoff(blocks: dict[str, Block]) -> float:
    text = _scalar(blocks, "algorithm_cutoff_time")
    if text is None:
        return math.nan
    try:
        cutoff = float(text)
    except ValueError:
        cutoff = math.nan
    if not (math.isfinite(cutoff) and cutoff > 0):
        raise blocks["algorithm_cutoff_time"].fault(f"seconds, or '?'; it holds {text!r}")
    return cutoff


def _algorithms(blocks: dict[str, Block]) -> tuple[str, ...]:
    found: list[str] = []
    if "metainfo_algorithms" in blocks:
        found += blocks["metainfo_algorithms"].blocks()
    for key in ("algorithms_deterministic", "algorithms_stochastic"):
        if key in blocks:
            found += blocks[key].values()
    return tuple(dict.fromkeys(found))


def _steps(blocks: dict[str, Block]) -> dict[str, tuple[str, ...]]:
    """Return the features of each step, those that need its result in another step among them."""
    if "feature_steps" not in blocks:
        return {}
    steps = {name: step.blocks() for name, step in blocks["feature_steps"].blocks().items()}
    provided = {
        name: step["provides"].values() if "provides" in step else []
        for name, step in steps.items()
    }
    needed = {
        name: step["requires"].values() if "requires" in step else []
        for name, step in steps.items()
    }
    found = {}
    for name in steps:
        # A step that requires this one, directly or not, has no result either where this one fails.
        without, grown = {name}, True
        while grown:
            more = {other for other in steps if without & set(needed[other])} - without
            without, grown = without | more, bool(more)
        features = [feature for other in steps if other in without for feature in provided[other]]
        found[name] = tuple(dict.fromkeys(features))
    return found
