"""What the steps of a pipeline do to numbers, as operators of ONNX."""

from typing import Any

import numpy as np

from lrrf_jax._validation import InputError
from lrrf_jax.interchange.onnx_graph import Graph, Value
from lrrf_jax.pipelines import stored_steps
from lrrf_jax.pipelines.stored_steps import StoredSteps

_OPERATORS = {
    stored_steps.SUBTRACT: "Sub",
    stored_steps.DIVIDE: "Div",
    stored_steps.MULTIPLY: "Mul",
    stored_steps.ADD: "Add",
}
_BEYOND = {stored_steps.AT_LEAST: "Less", stored_steps.AT_MOST: "Greater"}


def require_numbers(steps: StoredSteps) -> None:
    """Raise InputError for steps that make numbers of levels."""
    columns = steps.columns
    assert columns is not None
    if columns.levels:
        first = next(iter(columns.levels))
        name = first if columns.names is None else repr(columns.names[first])
        raise InputError(
            "the steps of a pipeline must take numbers alone to be a part of a model of ONNX; "
            f"column {name} goes to an encoder ({len(columns.levels)} of {columns.n_columns} "
            "columns). Fit the learner on a data frame with categories, without an encoder: its "
            "model of ONNX takes them."
        )


def stepped(graph: Graph, rows: Value, steps: StoredSteps) -> str:  # float32 (n_samples, n_out)
    """Do to rows what `StoredSteps.transform` does, in float64 as there."""
    arrays = steps.arrays
    assert arrays is not None
    numbers = graph("Gather", rows, arrays.source.astype(np.int64), axis=1)
    numbers = graph.cast(numbers, np.float64)
    first = np.cumsum(arrays.n_operations) - arrays.n_operations
    for place in range(arrays.n_operations.max(initial=0)):
        has = arrays.n_operations > place
        at = first[has] + place
        operation, operand = (np.zeros(len(has), dtype) for dtype in (np.int64, np.float64))
        operation[has], operand[has] = arrays.operation[at], arrays.operand[at]
        for kind in np.unique(operation[has]).tolist():
            columns = has & (operation == kind)
            done = _operated(graph, numbers, kind, np.where(columns, operand, 1.0))
            numbers = graph("Where", columns, done, numbers)
    return graph.cast(numbers, np.float32)


def _operated(graph: Graph, numbers: str, kind: int, operand: Any) -> str:
    """Do one operation to all columns."""
    if kind in _OPERATORS:
        return graph(_OPERATORS[kind], numbers, operand)
    if kind in _BEYOND:  # a missing value, which is not, stays one
        return graph("Where", graph(_BEYOND[kind], numbers, operand), operand, numbers)
    missing = graph("IsNaN", numbers)
    if kind == stored_steps.IS_MISSING:
        return graph.cast(missing, np.float64)
    return graph("Where", missing, operand, numbers)
