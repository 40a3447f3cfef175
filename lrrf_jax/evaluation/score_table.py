"""A table of scores, data sets x methods: read from what users have, checked, and ranked."""

from typing import Any, NamedTuple

import narwhals.stable.v1 as nw
import numpy as np
from scipy.stats import rankdata

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_choice, require_integer

MISSING = ("raise", "drop")


class ScoreTable(NamedTuple):
    """Scores of methods on data sets, larger is better.

    Attributes
    ----------
    scores : ndarray, float64 (n_datasets, n_methods)
        NaN where a method has no result.
    datasets, methods : tuple of str
    labelled : bool
        Whether results computed from it are pandas objects, with the methods as index.
    """

    scores: NDArray
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    labelled: bool = False

    def method_index(self, method: Any, argument: str) -> int:
        """Return the column of a method that is given by name or by column number."""
        if str(method) in self.methods:
            return self.methods.index(str(method))
        if isinstance(method, int | np.integer) and -len(self.methods) <= method < 0:
            return int(method) % len(self.methods)
        raise InputError(
            f"{argument} must be one of the methods {', '.join(map(repr, self.methods))}; it is "
            f"{method!r}."
        )

    def per_method(self, values: NDArray) -> Any:
        """Return one value a method, or one a pair of methods, named as the table is."""
        if not self.labelled:
            return values
        import pandas as pd

        index = list(self.methods)
        if values.ndim == 1:
            return pd.Series(values, index)
        return pd.DataFrame(values, index, index)


def as_score_table(table: Any, missing: str = "raise", decimals: int | None = None) -> ScoreTable:
    """Check a table of scores.

    Parameters
    ----------
    table : data frame, `ScoreTable` or array-like, (n_datasets, n_methods)
        Scores, larger is better. A text column of a data frame, if its first one, names the data
        sets; else the index of a pandas frame does. Methods of an array are called "0", "1", ...
    missing : {"raise", "drop"}
        What to do with data sets on which a method has no result (NaN).
    decimals : int, optional
        Round scores to so many decimals, so that what prints alike ties.

    Returns
    -------
    ScoreTable
        Without NaN.

    Raises
    ------
    InputError
        Where it is no table of numbers, has fewer than two methods or two data sets (after those
        with NaN are dropped), or has NaN.
    """
    require_choice(missing, "missing", MISSING)
    scores = table if isinstance(table, ScoreTable) else _read(table)
    values = scores.scores
    if values.ndim != 2 or values.shape[1] < 2:
        raise InputError(
            "table must have a row a data set and a column a method, at least two of each; its "
            f"shape is {values.shape}."
        )
    if len(set(scores.methods)) < len(scores.methods):
        twice = next(name for name in scores.methods if scores.methods.count(name) > 1)
        raise InputError(f"table must name every method once; {twice!r} is there more than once.")
    if np.isinf(values).any():
        row, column = np.argwhere(np.isinf(values))[0]
        raise InputError(
            f"table must hold finite scores; {scores.methods[column]!r} on "
            f"{scores.datasets[row]!r} is {values[row, column]}."
        )
    known = ~np.isnan(values).any(1)
    if missing == "raise" and not known.all():
        row, column = np.argwhere(np.isnan(values))[0]
        raise InputError(
            f"table must have a score for every method on every data set; "
            f"{scores.methods[column]!r} has none on {scores.datasets[row]!r} "
            f"({(~known).sum()} of {len(known)} data sets fail). Leave such data sets out with "
            'missing="drop", or take the method out of the table.'
        )
    if known.sum() < 2:
        raise InputError(
            f"table must have two data sets at least on which every method has a score; "
            f"{known.sum()} of {len(known)} has. Take methods with few results out of the table."
        )
    if decimals is not None:
        require_integer(decimals, "decimals", 0)
        values = np.round(values, decimals)
    datasets = tuple(name for name, kept in zip(scores.datasets, known, strict=True) if kept)
    return scores._replace(scores=values[known], datasets=datasets)


def rank_table(
    table: Any, *, missing: str = "raise", decimals: int | None = None
) -> NDArray:  # float64 (n_datasets, n_methods)
    """Rank the methods on every data set, 1 = best; methods that tie share their mean rank.

    See `average_ranks` for the parameters and errors.

    Examples
    --------
    >>> rank_table([[0.9, 0.8, 0.9], [0.1, 0.2, 0.3]])
    array([[1.5, 3. , 1.5],
           [3. , 2. , 1. ]])
    """
    scores = as_score_table(table, missing, decimals).scores
    return rankdata(-scores, axis=1, method="average")


def _read(table: Any) -> ScoreTable:
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        values = _numbers(table)
        width = values.shape[1] if values.ndim == 2 else 0
        return ScoreTable(values, _numbered(len(values)), _numbered(width))
    names = [str(name) for name in frame.columns]
    labelled = frame.implementation.is_pandas()
    columns = [frame[name] for name in frame.columns]
    if columns and not columns[0].dtype.is_numeric() and _is_text(columns[0]):
        datasets = tuple(map(str, columns[0].to_list()))
        names, columns = names[1:], columns[1:]
    elif labelled:
        datasets = tuple(map(str, frame.to_native().index))
    else:
        datasets = _numbered(len(frame))
    for name, column in zip(names, columns, strict=True):
        if not column.dtype.is_numeric():
            raise InputError(
                f"table must hold numbers; column {name!r} holds {column.dtype}. Make the names "
                "of the data sets the first column, or the index, and drop other text."
            )
    stacked = np.zeros((len(frame), len(columns)))
    for j, column in enumerate(columns):
        stacked[:, j] = column.cast(nw.Float64).to_numpy()
    return ScoreTable(stacked, datasets, tuple(names), labelled)


def _is_text(column: Any) -> bool:
    return all(isinstance(value, str) for value in column.to_list())


def _numbers(table: Any) -> NDArray:
    try:
        values = np.array(table, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"table must hold numbers ({error}).") from None
    if values.ndim == 0:
        raise InputError("table must have a row a data set and a column a method; it is a number.")
    return values


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(str(number) for number in range(count))
