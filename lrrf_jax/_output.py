"""Predictions as the frames that users ask for, with the names of their columns."""

import importlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lrrf_jax._frames import ARROW, PANDAS, POLARS, library_of
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_choice

_LIBRARIES = {"pandas": PANDAS, "polars": POLARS, "arrow": ARROW}
OUTPUTS = (None, "same", *_LIBRARIES)


def require_output(output: str | None) -> None:
    """Raise InputError for a kind that there is not, or whose library is not installed."""
    require_choice(output, "output", OUTPUTS)
    if output in _LIBRARIES:
        try:
            importlib.import_module(_LIBRARIES[output])
        except ImportError as error:
            raise InputError(
                f'output="{output}" needs {_LIBRARIES[output]}, which is not installed. Install it '
                f"with pip install {_LIBRARIES[output]}, or leave output out, for an array."
            ) from error


def as_output(
    values: NDArray,  # (n_samples, n_columns), numbers or text
    names: Sequence[str],
    X: Any,
    output: str | None,
) -> Any:
    """Put predictions of rows ``X`` into a frame.

    ``None`` is the array as it is; "same" is the kind of ``X``, an array where that is no frame.
    Frames of pandas have the index of ``X``, where that is one too.
    """
    library = library_of(X) if output == "same" else _LIBRARIES.get(output or "")
    if library is None:
        return values
    if library == PANDAS:
        module = importlib.import_module(library)
        index = X.index if library_of(X) == PANDAS else None
        return module.DataFrame(values, index=index, columns=list(names))
    columns = {
        name: column.tolist() if column.dtype.kind == "U" else np.ascontiguousarray(column)
        for name, column in zip(names, values.T, strict=True)
    }
    return as_frame(columns, library)


def as_frame(columns: Mapping[str, Any], library: str) -> Any:
    """Make a data frame of "pandas", "polars" or "pyarrow" of columns by their names."""
    library = _LIBRARIES.get(library, library)
    module = importlib.import_module(library)
    return module.table(columns) if library == ARROW else module.DataFrame(columns)


def answer(
    ranker: Any,
    X: Any,
    output: str | None,
    of_features: Callable[[NDArray], NDArray],
    names: Sequence[str] | None = None,
) -> Any:
    """Compute what a learner says of rows, and put it into the frame that is asked for.

    The columns have the names of the labels, or others.
    """
    if output is None:
        return of_features(ranker._features(X))
    require_output(output)
    values = of_features(ranker._features(X))
    return as_output(values, ranker.labels_.tolist() if names is None else names, X, output)


def pair_names(labels: Sequence[str]) -> list[str]:
    """Return the names "a>b", ... of columns that tell how pairs of labels are preferred."""
    return [f"{one}>{other}" for one, other in itertools.combinations(labels, 2)]


def place_names(count: int) -> list[str]:
    """Return the names "place_1", "place_2", ... of columns that hold labels, best first."""
    return [f"place_{place + 1}" for place in range(count)]
