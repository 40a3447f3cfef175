"""A graph of ONNX, put together one operator after another."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray

OPSET, OPSET_ML, IR_VERSION = 17, 3, 8  # of 2022: old enough for every runtime that is kept
ML = "ai.onnx.ml"

# The name of a tensor, or a constant that gets one.
Value = str | NDArray


class Graph:
    """Nodes and constants; names of tensors begin with ``/``, unless they are said.

    What a loop repeats is a graph inside of another, whose tensors it sees.
    """

    def __init__(self, around: "Graph | None" = None) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = [] if around is None else around.constants
        self._numbers: itertools.count = itertools.count() if around is None else around._numbers

    def __call__(
        self,
        operator: str,
        *inputs: Value,
        gives: str | Sequence[str] | None = None,
        domain: str = "",
        **attributes: Any,
    ) -> str:
        """Add a node; returns the name of what it gives, or of the first of several.

        Long lists among the attributes are better passed as arrays.
        """
        from onnx import helper

        if gives is None:
            gives = self.name(operator)
        names = [gives] if isinstance(gives, str) else list(gives)
        read = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        arrays = {key: value for key, value in attributes.items() if isinstance(value, np.ndarray)}
        others = {key: value for key, value in attributes.items() if key not in arrays}
        node = helper.make_node(operator, read, names, domain=domain, **others)
        for key, value in arrays.items():
            _add_list(node.attribute.add(), key, value)
        self.nodes.append(node)
        return names[0]

    def name(self, of: str) -> str:
        """Make up a name that no tensor has."""
        return f"/{of}_{next(self._numbers)}"

    def constant(self, values: NDArray) -> str:
        """Add a constant."""
        from onnx import numpy_helper

        values = np.asarray(values, object if values.dtype.kind == "U" else None, order="C")
        name = self.name("constant")
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def small(self, values: NDArray) -> str:
        """Add a constant of small whole numbers, float64, that takes a byte each in the file."""
        return self.cast(values.astype(np.int8), np.float64)

    def cast(self, value: Value, dtype: Any, gives: str | None = None) -> str:
        """Convert numbers to another type."""
        from onnx import helper

        to = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self("Cast", value, gives=gives, to=to)

    def pick(self, values: Value, at: Value) -> str:
        """Take from each row the values at int64 (n_samples, ..., 1)."""
        # Not GatherElements, which onnx.reference can do up to 32 places only.
        return self("GatherND", values, at, batch_dims=1)


def _add_list(attribute: Any, name: str, values: NDArray) -> None:
    """Fill an attribute with a list, whose numbers ``make_node`` would look at one by one."""
    field = {"i": "ints", "f": "floats", "S": "strings"}[values.dtype.kind]
    attribute.name, attribute.type = name, getattr(attribute, field.upper())
    getattr(attribute, field).extend(values.tolist())
