"""A table of scores, data sets x methods: read from what users have, checked, and ranked."""

from typing import Any, NamedTuple

import numpy as np
import scipy  # which imports its parts when they are used

from lrrf_jax._frames import PANDAS, column_arrays, column_names, library_of, row_count
from lrrf_jax._numbers import as_numbers
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_choice, require_integer
from lrrf_jax.evaluation.report_table import ReportTable

MISSING = ("raise", "drop")
_REMEDY = (
    "Make the names of the data sets the first column, or the index of a pandas frame, and drop "
    "other text."
)


class ScoreTable(NamedTuple):
    """Scores of methods on data sets, larger is better.

    Attributes
    ----------
    scores : ndarray, float64 (n_datasets, n_methods)
        NaN where a method has no result.
    datasets, methods : tuple of str
    labelled : bool
        Whether results computed from it are pandas objects, with the methods as index.
    columns : tuple
        The methods as a pandas frame calls them, which need not be by text.
    """

    scores: NDArray
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    labelled: bool = False
    columns: tuple[Any, ...] = ()

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

    def complete(self) -> "ScoreTable":
        """Leave out methods without any score, then data sets on which one has none."""
        some = np.any(~np.isnan(self.scores), axis=0)
        whole = np.all(~np.isnan(self.scores[:, some]), axis=1)
        columns = self.columns or self.methods
        return self._replace(
            scores=self.scores[np.ix_(whole, some)],
            datasets=_kept(self.datasets, whole),
            methods=_kept(self.methods, some),
            columns=_kept(columns, some),
        )

    def table(self, title: str = "Scores") -> ReportTable:
        """Return a line per data set."""
        rows = [
            (data, *map(float, of_data))
            for data, of_data in zip(self.datasets, self.scores, strict=True)
        ]
        return ReportTable(title, ("data", *self.methods), rows, decimals=4)

    def per_method(self, values: NDArray) -> Any:
        """Return one value per method, or one per pair of methods, named as the table is."""
        if not self.labelled:
            return values
        import pandas as pd

        index = list(self.columns or self.methods)
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
            "table must have one row per data set, one column per method, at least two of each; "
            f"its shape is {values.shape}."
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
    known = np.all(~np.isnan(values), axis=1)
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
    return scores._replace(scores=values[known], datasets=_kept(scores.datasets, known))


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
    return scipy.stats.rankdata(-scores, axis=1, method="average")


def _read(table: Any) -> ScoreTable:
    library = library_of(table)
    if library is None:
        values = as_numbers(table, "table", remedy=_REMEDY).astype(np.float64)
        if values.ndim == 0:
            raise InputError(
                "table must have one row per data set and one column per method; it is a number."
            )
        width = values.shape[1] if values.ndim == 2 else 0
        return ScoreTable(values, _numbered(len(values)), _numbered(width))
    names = column_names(table, "table") or []
    own = list(table.columns) if library == PANDAS else names
    columns = column_arrays(table)
    if columns and _is_text(columns[0]):
        datasets = tuple(map(str, columns[0].tolist()))
        names, own, columns = names[1:], own[1:], columns[1:]
    elif library == PANDAS:
        datasets = tuple(map(str, table.index))
    else:
        datasets = _numbered(row_count(table))
    stacked = np.zeros((row_count(table), len(columns)))
    for j, (name, column) in enumerate(zip(names, columns, strict=True)):
        stacked[:, j] = as_numbers(column, f"column {name!r} of table", remedy=_REMEDY)
    return ScoreTable(stacked, datasets, tuple(names), library == PANDAS, tuple(own))


def _kept(names: tuple[Any, ...], are_kept: NDArray) -> tuple[Any, ...]:
    return tuple(name for name, kept in zip(names, are_kept, strict=True) if kept)


def _is_text(column: NDArray) -> bool:
    return column.dtype.kind in "OUT" and all(isinstance(value, str) for value in column.tolist())


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(str(number) for number in range(count))
