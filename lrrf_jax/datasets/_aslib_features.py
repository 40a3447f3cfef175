"""Features and folds of the instances of an ASlib scenario."""

from typing import NamedTuple

import numpy as np

from lrrf_jax._tabular import finite_features
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.datasets._apart import whole_folds
from lrrf_jax.datasets._arff import Attribute
from lrrf_jax.datasets._aslib_description import Scenario
from lrrf_jax.datasets._aslib_tables import (
    MISSING,
    STATUSES,
    Table,
    codes,
    means_of,
    needed_table,
    open_table,
    tell,
)

_STEP_STATUSES = (*STATUSES, "presolved")


class Features(NamedTuple):
    """What is known of instances."""

    instances: list[str]
    names: tuple[str, ...]
    values: NDArray  # float64 (n_instances, n_features), NaN: not computed


def read_features(folder: str, scenario: Scenario, gaps: list[str]) -> Features:
    """Read ``feature_values.arff``, without what steps gave that failed, if a file says so."""
    table = needed_table(folder, "feature_values.arff")
    on, repetition = table.texts("instance_id"), table.repetitions()
    table.require_once(list(zip(on, repetition, strict=True)), "this instance")
    instances = list(dict.fromkeys(on))
    keys = {table.name_of("instance_id"), table.name_of("repetition")}
    attributes = [attribute for attribute in table.attributes if attribute.name not in keys]
    failed = _failed(folder, scenario, on, repetition, gaps)
    values = np.empty((len(instances), len(attributes)))
    row, n_dropped = codes(on, instances), 0
    for j, attribute in enumerate(attributes):
        column = _feature(table, attribute)
        if attribute.name in failed:
            n_dropped += int((failed[attribute.name] & ~np.isnan(column)).sum())
            column[failed[attribute.name]] = np.nan
        values[:, j] = means_of(row, repetition, column, len(instances), attribute.is_numeric)
    tell(gaps, n_dropped, "feature values of a step that failed, not used")
    return Features(instances, tuple(attribute.name for attribute in attributes), values)


def _feature(table: Table, attribute: Attribute) -> NDArray:  # float64 (n_rows,), NaN: missing
    if attribute.is_numeric:
        column = table.numbers(attribute.name)
        return finite_features(column, attribute.name, table.rows).astype(np.float64)
    known = attribute.categories
    if known is None:
        raise InputError(
            f"{table.path}: attribute {attribute.name!r} (line {attribute.line}) must be NUMERIC "
            f"or list its categories; it is {attribute.kind!r}. Correct the header."
        )
    code = {category: float(number) for number, category in enumerate(known)}
    code |= dict.fromkeys(MISSING, float("nan"))
    cells = table.cells[attribute.name].to_pylist()
    for row, cell in enumerate(cells):
        if cell not in code:
            raise table.fault(row, f"{attribute.name!r} is {cell!r}, none of {', '.join(known)}")
    return np.array([code[cell] for cell in cells])


def _failed(
    folder: str, scenario: Scenario, on: list[str], repetition: list[int], gaps: list[str]
) -> dict[str, NDArray]:  # bool (n_rows,), by feature
    """Tell of which rows of the features a step failed that provides the feature."""
    table = open_table(folder, "feature_runstatus.arff")
    if table is None:
        return {}
    keys = list(zip(table.texts("instance_id"), table.repetitions(), strict=True))
    table.require_once(keys, "this instance")
    row_of = {key: row for row, key in enumerate(keys)}
    at = np.array([row_of.get(key, -1) for key in zip(on, repetition, strict=True)])
    tell(gaps, int((at < 0).sum()), "rows of features without a status")
    failed: dict[str, NDArray] = {}
    undescribed = 0
    for step in table.cells.column_names:
        if step in (table.name_of("instance_id"), table.name_of("repetition")):
            continue
        bad = ~np.isin(table.statuses(step, _STEP_STATUSES), ("ok", "presolved"))
        undescribed += step not in scenario.steps
        for feature in scenario.steps.get(step, ()):
            before = failed.get(feature, np.zeros(len(on), bool))
            failed[feature] = before | (bad[at] & (at >= 0))
    tell(gaps, undescribed, "feature steps without a description")
    return failed


def read_folds(folder: str, instances: list[str], gaps: list[str]) -> NDArray | None:
    """Read the first repetition of ``cv.arff``: int64, a fold for each of ``instances``."""
    table = open_table(folder, "cv.arff")
    if table is None:
        return None
    fold = whole_folds(table.numbers("fold"), "attribute 'fold'", table.rows)
    on = table.texts("instance_id")
    first = np.flatnonzero(np.array(table.repetitions()) == 1)
    found: dict[str, int] = {}
    for row in first.tolist():
        if on[row] in found:
            raise table.fault(row, f"instance {on[row]!r} has a fold already")
        found[on[row]] = int(fold[row])
    lacking = [name for name in instances if name not in found]
    if lacking:
        raise InputError(
            f"{table.path}: instance {lacking[0]!r} has no fold in repetition 1 ({len(lacking)} of "
            f"{len(instances)} instances have none). Add them, or take the file away."
        )
    tell(gaps, len(set(found) - set(instances)), "instances with a fold and nothing else")
    return np.array([found[name] for name in instances], np.int64)
