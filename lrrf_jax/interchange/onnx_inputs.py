"""What goes into a model of ONNX: one array of numbers, or columns where some are categories."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lrrf_jax._categories import TAKE_AS_MISSING
from lrrf_jax._validation import InputError
from lrrf_jax.interchange.onnx_graph import ML, Graph, Value
from lrrf_jax.learners._coding import Categories

ARRAY = "X"
_MISSING = ""
_UNSEEN = -1.0  # a level that the model does not know


def input_names(
    feature_names: Sequence[str] | None, n_features: int, categories: Categories, taken: set[str]
) -> list[str]:
    """Name the inputs: ``X``, or the columns as they are called, where that can be told apart.

    A column without a name is called by its number. Names of outputs, and such as tensors inside
    have, get an underscore at the end.
    """
    if not categories:
        return [ARRAY]
    names: list[str] = []
    for number in range(n_features):
        name = str(feature_names[number]) if feature_names is not None else f"column_{number}"
        others = taken | set(names) | set(map(str, feature_names or ())) - {name}
        name = name.lstrip("/") or f"column_{number}"
        while name in others:
            name += "_"
        names.append(name)
    return names


def require_expressible(
    categories: Categories, feature_names: Sequence[str] | None, unseen: str
) -> None:
    """Raise InputError for what ONNX could not do as the library does."""
    if not categories:
        return
    if unseen == "error":
        raise InputError(
            'unseen must be "missing" for a model of ONNX with categories, which cannot refuse a '
            f"level that it does not know; it is {unseen!r}. {TAKE_AS_MISSING} (--unseen missing)."
        )
    bad = [j for j, levels in categories.items() if _MISSING in (*levels.names, *levels.empty)]
    if bad:
        raise InputError(
            "levels must not be '', the text that is a missing value in a model of ONNX; column "
            f"{bad[0] if feature_names is None else repr(feature_names[bad[0]])} has such a level "
            f"({len(bad)} of {len(categories)} categories). Rename it, and fit anew."
        )


def value_infos(names: Sequence[str], n_features: int, categories: Categories) -> list[Any]:
    """Describe the inputs; the number of rows is open."""
    from onnx import TensorProto, helper

    if not categories:
        return [helper.make_tensor_value_info(ARRAY, TensorProto.FLOAT, ["n", n_features])]
    return [
        helper.make_tensor_value_info(
            name, TensorProto.STRING if j in categories else TensorProto.FLOAT, ["n", 1]
        )
        for j, name in enumerate(names)
    ]


def coded_rows(graph: Graph, names: Sequence[str], categories: Categories) -> str:
    """Join columns to rows with codes in place of levels, float32 (n_samples, n_features).

    NaN is a missing level, -1 one that the model does not know.
    """
    if not categories:
        return ARRAY
    columns = [
        _coded(graph, name, categories[j].names) if j in categories else name
        for j, name in enumerate(names)
    ]
    return graph("Concat", *columns, axis=1)


def _coded(graph: Graph, column: str, levels: Sequence[str]) -> str:
    return graph(
        "LabelEncoder",
        column,
        domain=ML,
        keys_strings=[*levels, _MISSING],
        values_floats=[*np.arange(len(levels), dtype=float).tolist(), float("nan")],
        default_float=_UNSEEN,
    )


def unknown_as_missing(graph: Graph, rows: Value, categories: Categories, n_features: int) -> str:
    """Put NaN in place of -1 in the columns of categories, as `_coding.unknown_as_missing`."""
    if not categories:
        return str(rows)
    lowest = np.full(n_features, -np.inf, np.float32)
    lowest[list(categories)] = 0
    known = graph("GreaterOrEqual", rows, lowest)
    return graph("Where", known, rows, np.array(np.nan, np.float32))


def one_hot(graph: Graph, rows: Value, categories: Categories, n_features: int) -> str:
    """Put a column for each level where a category was, as `_coding.one_hot`."""
    if not categories:
        return str(rows)
    widths = [len(categories[j].names) if j in categories else 1 for j in range(n_features)]
    source = np.repeat(np.arange(n_features), widths)
    level = np.concatenate([np.arange(width, dtype=np.float32) for width in widths])
    is_level = np.isin(source, list(categories))
    spread = graph("Gather", rows, source, axis=1)
    ones = graph.cast(graph("Equal", spread, level), np.float32)
    return graph("Where", is_level, ones, spread)
