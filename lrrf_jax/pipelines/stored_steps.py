"""What fitted steps do to rows, column by column, as arrays in place of scikit-learn's objects.

Each column that comes out is made of one that goes in: of its number, by operations one after
another in float64, as scikit-learn does them; or of its level, by looking up a value.
"""

from collections.abc import Mapping, Sequence, Set
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from lrrf_jax._features import Expected, as_features
from lrrf_jax._frames import PANDAS, POLARS, library_of, own_names
from lrrf_jax._typing import AnyArray, NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.learners._coding import Levels
from lrrf_jax.learners.persistence.schema import Stored, Unfit

FILL, SUBTRACT, DIVIDE, MULTIPLY, ADD, AT_LEAST, AT_MOST, IS_MISSING = range(8)
_FEW = 4  # codes that are compared one by one: of one-hot columns there is one
_IN_PLACE = {
    SUBTRACT: np.subtract,
    DIVIDE: np.divide,
    MULTIPLY: np.multiply,
    ADD: np.add,
    AT_LEAST: np.maximum,
    AT_MOST: np.minimum,
}


class StepArrays(NamedTuple):
    """What is done to the columns."""

    source: Annotated[AnyArray, Stored("int32", "n_out", minimum=0, maximum="n_columns")]
    is_level: Annotated[AnyArray, Stored("bool", "n_out")]  # else it is a number
    n_operations: Annotated[AnyArray, Stored("int32", "n_out", minimum=0, maximum=64)]
    operation: Annotated[AnyArray, Stored("uint8", "n_steps", minimum=0, maximum=IS_MISSING)]
    operand: Annotated[AnyArray, Stored("float64", "n_steps")]
    # Of columns of levels: what most levels become, and the codes of those that become another
    # value. After the levels comes the code of a missing one, then that of all that are not known.
    usual: Annotated[AnyArray, Stored("float64", "n_out", missing=True)]
    n_others: Annotated[AnyArray, Stored("int32", "n_out", minimum=0)]
    code: Annotated[AnyArray, Stored("int32", "n_codes", minimum=0)]
    value: Annotated[AnyArray, Stored("float64", "n_codes", missing=True)]


class Columns(NamedTuple):
    """The columns that go in; those of levels hold text, or numbers each of which is a level."""

    names: list[str] | None
    n_columns: int
    levels: Mapping[int, Sequence[Any]]  # by the number of the column: distinct, no NaN
    needs_level: frozenset[int]  # columns of levels that may not be missing
    knows_levels: frozenset[int]  # columns in which other levels are refused
    unused: frozenset[str] = frozenset()  # names of columns that may be there too

    def is_text(self, column: int) -> bool:
        """Tell whether a column of levels holds text."""
        return isinstance(self.levels[column][0], str)


class StoredSteps(TransformerMixin, BaseEstimator):
    """Fitted steps of a pipeline as they are in a model file; a transformer that cannot be fitted.

    Made by ``RankingPipeline.stored``. Its result is float32 (n_samples, n_columns_out).
    """

    columns: Columns | None = None
    arrays: StepArrays | None = None

    def __init__(self, told: tuple[str, ...] = ()) -> None:
        self.told = told

    @classmethod
    def of(cls, columns: Columns, arrays: StepArrays, told: Sequence[str]) -> Self:
        """Make steps of what they do; Unfit where it does not belong together."""
        require_consistent(columns, arrays)
        steps = cls(tuple(told))
        steps.columns, steps.arrays = columns, arrays
        return steps

    @property
    def n_features_in_(self) -> int:
        """Columns that go in."""
        return self._columns.n_columns

    @property
    def feature_names_in_(self) -> NDArray:
        """Their names."""
        names = self._columns.names
        if names is None:
            raise AttributeError("these steps were fitted without names of columns")
        return np.array(names, object)

    @property
    def n_features_out(self) -> int:
        """Columns that come out."""
        return 0 if self.arrays is None else len(self.arrays.source)

    @property
    def _columns(self) -> Columns:
        if self.columns is None:
            raise AttributeError("these steps are not fitted")
        return self.columns

    @property
    def categories(self) -> dict[int, Levels]:
        """The columns of text, with the levels that they may hold."""
        columns = self._columns
        return {
            j: Levels(tuple(levels)) for j, levels in columns.levels.items() if columns.is_text(j)
        }

    @property
    def unseen(self) -> str:
        """What other levels are in columns of text: "error" if all refuse them, else "missing"."""
        return "error" if self.categories.keys() <= self._columns.knows_levels else "missing"

    def __sklearn_is_fitted__(self) -> bool:
        return self.columns is not None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Refuse: only the pipeline that was saved can be fitted."""
        raise InputError(
            "steps that were read from a model file cannot be fitted anew; they hold what was "
            "learnt, not how. Build the pipeline again of scikit-learn's transformers: "
            + (", ".join(self.told) or "none")
        )

    def transform(self, X: Any) -> NDArray:
        """Do to rows what the steps did."""
        columns, arrays = self._columns, self.arrays
        assert arrays is not None
        expected = Expected(columns.n_columns, columns.names, self.categories, self.unseen)
        table = as_features(_without(X, columns.unused), expected, exact=True).values
        codes = {j: self._codes(j, table[:, j]) for j in sorted(columns.levels)}
        out = np.empty((len(table), len(arrays.source)), np.float32)
        step = start = 0
        with np.errstate(all="ignore"):  # of what is not finite the learner tells
            for k, source in enumerate(arrays.source.tolist()):
                if arrays.is_level[k]:
                    stop = start + int(arrays.n_others[k])
                    others = arrays.code[start:stop], arrays.value[start:stop]
                    _look_up(out[:, k], codes[source], arrays.usual[k], *others)
                    start = stop
                    continue
                stop = step + int(arrays.n_operations[k])
                number = table[:, source].copy()
                for operation, operand in zip(
                    arrays.operation[step:stop].tolist(), arrays.operand[step:stop], strict=True
                ):
                    _operate(number, operation, operand)
                out[:, k] = number
                step = stop
        return out

    def _codes(self, column: int, cells: NDArray) -> NDArray:  # int64 (n_samples,)
        """Return the numbers of levels; then comes a missing one, then one that is not known."""
        columns = self._columns
        levels = columns.levels[column]
        if columns.is_text(column):
            known = np.where(cells == -1, len(levels) + 1, cells)  # codes already
        else:
            order = np.argsort(levels)
            place = np.minimum(np.searchsorted(levels, cells, sorter=order), len(levels) - 1)
            at = order[place]
            known = np.where(np.asarray(levels)[at] == cells, at, len(levels) + 1)
        codes = np.where(np.isnan(cells), len(levels), known).astype(np.int64)
        name = repr(columns.names[column]) if columns.names else str(column)
        listed = ", ".join(map(repr, levels[:5])) + (", ..." if len(levels) > 5 else "")
        for refused, code, what in (
            (columns.needs_level, len(levels), "is missing"),
            (columns.knows_levels, len(levels) + 1, "is a level that it does not know"),
        ):
            bad = codes == code
            if column in refused and bad.any():
                raise InputError(
                    f"X must hold levels that the pipeline was fitted on; row {np.argmax(bad)}, "
                    f"column {name} {what} ({bad.sum()} of {len(bad)} rows fail); it knows "
                    f"{listed}. Correct it, or fit anew with an encoder that takes it: "
                    'handle_unknown="ignore".'
                )
        return codes


def _without(X: Any, names: Set[str]) -> Any:
    """Leave columns of a frame out."""
    library = library_of(X)
    if library is None or not names:
        return X
    left_out = [name for name in own_names(X, "X") or [] if name in names]
    if library == PANDAS:
        return X.drop(columns=left_out)
    return X.drop(left_out) if library == POLARS else X.drop_columns(left_out)


def _look_up(
    out: NDArray,  # float32 (n_samples,)
    codes: NDArray,  # int64 (n_samples,)
    usual: float,
    others: NDArray,  # int32 (n_others,)
    value: NDArray,  # float64 (n_others,)
) -> None:
    """Write what each code becomes."""
    if len(others) > _FEW:
        table = np.full(int(max(codes.max(), others.max())) + 1, usual)
        table[others] = value
        out[:] = table[codes]
        return
    out[:] = usual
    for code, other in zip(others.tolist(), value.tolist(), strict=True):
        out[codes == code] = other


def _operate(number: NDArray, operation: int, operand: float) -> None:
    """Do one operation in place."""
    if operation == FILL:
        number[np.isnan(number)] = operand
    elif operation == IS_MISSING:
        number[:] = np.isnan(number)
    else:
        _IN_PLACE[operation](number, operand, out=number)


def require_consistent(columns: Columns, arrays: StepArrays) -> None:
    """Raise Unfit where arrays, each as it must be by itself, do not belong together."""
    if int(arrays.n_operations.sum(dtype=np.int64)) != len(arrays.operation):
        raise Unfit("the operations of the steps are cut short, or too many")
    if (arrays.n_operations[arrays.is_level] != 0).any():
        raise Unfit("a column of levels has operations")
    sources = arrays.source[arrays.is_level].tolist()
    if any(source not in columns.levels for source in sources):
        raise Unfit("a column of levels has none")
    if int(arrays.n_others.sum(dtype=np.int64)) != len(arrays.code):
        raise Unfit("the values of levels are cut short, or too many")
    n_codes = np.zeros(len(arrays.source), np.int64)
    n_codes[arrays.is_level] = [len(columns.levels[source]) + 2 for source in sources]
    if (arrays.code >= np.repeat(n_codes, arrays.n_others)).any():
        raise Unfit("a level has a code beyond those there are")
    numbers = set(arrays.source[~arrays.is_level].tolist())
    if any(columns.is_text(source) for source in numbers & columns.levels.keys()):
        raise Unfit("a column of text is taken for numbers")
