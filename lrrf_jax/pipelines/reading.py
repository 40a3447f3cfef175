"""Fitted steps of a pipeline -> the columns that go in and out, and what is done to numbers.

That is read from the attributes of scalers and imputers; of encoders the levels are. A step that
is not known is refused.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from lrrf_jax._numbers import is_missing
from lrrf_jax.learners.persistence.schema import Unfit
from lrrf_jax.pipelines import stored_steps

KNOWN = (
    "StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, SimpleImputer, OneHotEncoder, "
    "OrdinalEncoder, ColumnTransformer, Pipeline, 'passthrough' and 'drop'"
)


class Wire(NamedTuple):
    """A column between steps: the one that it is made of, and how."""

    source: int
    operations: tuple[tuple[int, float], ...] = ()  # of numbers
    is_level: bool = False
    is_text: bool = False  # as is the source, and not encoded so far


class Reader:
    """Follows wires through the steps, and gathers the levels of the columns."""

    def __init__(self) -> None:
        self.levels: dict[int, list[Any]] = {}
        self.null: dict[int, Any] = {}  # what stands for a missing value in a column of levels

    def through(self, step: Any, wires: list[Wire]) -> list[Wire]:
        """Return what a step makes of columns; Unfit for one that is not known."""
        kind = type(step)
        if step is None or (isinstance(step, str) and step == "passthrough"):
            return wires
        if isinstance(step, Pipeline):
            for _, inner in step.steps:
                wires = self.through(inner, wires)
            return wires
        if kind is FunctionTransformer and step.func is None:
            return wires
        if kind is ColumnTransformer:
            return self._columns(step, wires)
        if kind is SimpleImputer:
            return self._imputer(step, wires)
        if kind in (OneHotEncoder, OrdinalEncoder):
            return self._encoder(step, wires)
        if kind in _SCALERS:
            columns = _SCALERS[kind](step, len(wires))
            return [
                wire if wire.is_level else wire._replace(operations=(*wire.operations, *operations))
                for wire, operations in zip(wires, columns, strict=True)
            ]
        raise Unfit(f"{kind.__name__} is no step that files can hold; these are {KNOWN}")

    def _columns(self, step: ColumnTransformer, wires: list[Wire]) -> list[Wire]:
        if step.transformer_weights is not None:
            raise Unfit("ColumnTransformer(transformer_weights=...) is none that files can hold")
        placed = {}
        for name, inner, _ in step.transformers_:
            place = step.output_indices_[name]
            if place.stop > place.start:
                taken = [wires[j] for j in step._transformer_to_input_indices[name]]
                placed[place.start] = self.through(inner, taken)
        return [wire for start in sorted(placed) for wire in placed[start]]

    def _imputer(self, step: SimpleImputer, wires: list[Wire]) -> list[Wire]:
        if not is_missing(step.missing_values):
            raise Unfit(
                f"SimpleImputer(missing_values={step.missing_values!r}) is none that files can "
                "hold; missing values are NaN"
            )
        filled = []
        for wire, statistic in zip(wires, step.statistics_.tolist(), strict=True):
            if isinstance(statistic, str):
                filled.append(wire._replace(is_text=True))
            elif step.keep_empty_features or not is_missing(statistic):
                operation = () if wire.is_level else ((stored_steps.FILL, float(statistic)),)
                filled.append(wire._replace(operations=(*wire.operations, *operation)))
        if step.indicator_ is not None:
            mark = ((stored_steps.IS_MISSING, 0.0),)
            for j in step.indicator_.features_.tolist():
                wire = wires[j]
                filled.append(wire._replace(operations=() if wire.is_level else mark))
        return filled

    def _encoder(self, step: Any, wires: list[Wire]) -> list[Wire]:
        coded = []
        widths = [1] * len(wires)
        if isinstance(step, OneHotEncoder):
            widths = _widths(step)
        for wire, levels, width in zip(wires, step.categories_, widths, strict=True):
            if not wire.is_level:
                self._add_levels(wire, levels.tolist(), type(step).__name__)
            coded += [Wire(wire.source, (), is_level=True)] * width
        return coded

    def _add_levels(self, wire: Wire, levels: list[Any], encoder: str) -> None:
        if any(operation != stored_steps.FILL for operation, _ in wire.operations):
            raise Unfit(f"{encoder} of numbers that were scaled is none that files can hold")
        known = dict.fromkeys(self.levels.get(wire.source, []))
        for level in levels:
            if is_missing(level):
                self.null[wire.source] = level
                continue
            if not isinstance(level, str):
                exact = float(level)
                if exact != level:
                    raise Unfit(f"the level {level!r} is no float64")
                level = exact
            known[level] = None
        if not known or len({isinstance(level, str) for level in known}) > 1:
            raise Unfit(f"{encoder} has a column whose levels are not all text, or all numbers")
        self.levels[wire.source] = list(known)


def _widths(step: OneHotEncoder) -> list[int]:
    """Count the columns that an encoder makes of each of its own."""
    dropped = [None] * len(step.categories_) if step.drop_idx_ is None else step.drop_idx_
    rare = getattr(step, "infrequent_categories_", None) or [None] * len(step.categories_)
    return [
        len(levels) - (0 if few is None else len(few) - 1) - (left_out is not None)
        for levels, few, left_out in zip(step.categories_, rare, dropped, strict=True)
    ]


def _affine(pairs: Sequence[tuple[int, Any]], n_columns: int) -> list[list[tuple[int, float]]]:
    """Put operations with an operand for each column, or for all, column by column."""
    operands = [(op, np.broadcast_to(value, n_columns).tolist()) for op, value in pairs]
    return [[(op, float(values[j])) for op, values in operands] for j in range(n_columns)]


def _standard(step: StandardScaler, n_columns: int) -> list[list[tuple[int, float]]]:
    pairs = [(stored_steps.SUBTRACT, step.mean_)] if step.with_mean else []
    pairs += [(stored_steps.DIVIDE, step.scale_)] if step.with_std else []
    return _affine(pairs, n_columns)


def _clip(low: float, high: float) -> list[tuple[int, Any]]:
    return [(stored_steps.AT_LEAST, low), (stored_steps.AT_MOST, high)]


def _min_max(step: MinMaxScaler, n_columns: int) -> list[list[tuple[int, float]]]:
    pairs = [(stored_steps.MULTIPLY, step.scale_), (stored_steps.ADD, step.min_)]
    return _affine(pairs + (_clip(*step.feature_range) if step.clip else []), n_columns)


def _max_abs(step: MaxAbsScaler, n_columns: int) -> list[list[tuple[int, float]]]:
    clips = _clip(-1, 1) if getattr(step, "clip", False) else []
    return _affine([(stored_steps.DIVIDE, step.scale_), *clips], n_columns)


def _robust(step: RobustScaler, n_columns: int) -> list[list[tuple[int, float]]]:
    pairs = [(stored_steps.SUBTRACT, step.center_)] if step.with_centering else []
    pairs += [(stored_steps.DIVIDE, step.scale_)] if step.with_scaling else []
    return _affine(pairs, n_columns)


_SCALERS: dict[type, Any] = {
    StandardScaler: _standard,
    MinMaxScaler: _min_max,
    MaxAbsScaler: _max_abs,
    RobustScaler: _robust,
}
