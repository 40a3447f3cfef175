"""Splitters of scikit-learn that stratify classes, for rankings: complete, partial or with ties."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_integer
from lrrf_jax.rankings.validation import number_table


class StratifiedByRanking:
    """Lets a splitter of scikit-learn stratify rankings, which it would refuse as targets.

    For ``cv=`` in scikit-learn, and for ``folds=`` here.

    Parameters
    ----------
    splitter : int, or splitter that stratifies classes
        `sklearn.model_selection.StratifiedKFold`, ``RepeatedStratifiedKFold``,
        ``StratifiedShuffleSplit``, ``StratifiedGroupKFold`` or alike, with its own shuffling and
        ``random_state``. A number is that of the folds of a ``StratifiedKFold``.
    min_rows : int
        Fewest rows of a stratum, at least the number of folds; see `ranking_strata`.

    Examples
    --------
    >>> from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
    >>> from lrrf_jax import ConsensusLabelRanker
    >>> from lrrf_jax.datasets import load
    >>> data = load("iris")
    >>> splitter = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
    >>> folds = StratifiedByRanking(splitter)
    >>> cross_val_score(ConsensusLabelRanker(), data.X, data.y, cv=folds).shape
    (10,)
    """

    def __init__(self, splitter: Any = 5, *, min_rows: int = 10) -> None:
        require_integer(min_rows, "min_rows", 1)
        if isinstance(splitter, int | np.integer):
            from sklearn.model_selection import StratifiedKFold

            require_integer(splitter, "splitter", 2)
            splitter = StratifiedKFold(int(splitter))
        if not hasattr(splitter, "split") or not hasattr(splitter, "get_n_splits"):
            raise InputError(
                "splitter must be a number of folds, or a splitter of scikit-learn that stratifies "
                f"classes; it is {splitter!r:.60}."
            )
        self.splitter: Any = splitter
        self.min_rows = min_rows

    @property
    def random_state(self) -> Any:
        """That of the splitter; None where it takes another one each time."""
        return getattr(self.splitter, "random_state", 0)

    @random_state.setter
    def random_state(self, state: Any) -> None:
        self.splitter.random_state = state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits."""
        return int(self.splitter.get_n_splits(X, None if y is None else self._strata(y), groups))

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[NDArray, NDArray]]:
        """Yield the numbers of the rows to train on and of those to test, int64 (n_rows,).

        Parameters
        ----------
        X : array-like or data frame, (n_samples, n_features)
        y : array-like or data frame, (n_samples, n_labels)
            Positions, 1 = best, NaN = missing; labels may tie.
        groups : array-like, (n_samples,), optional
            For splitters that keep groups together.

        Raises
        ------
        InputError
            For a ``y`` that is no table of numbers.
        """
        yield from self.splitter.split(X, self._strata(y), groups)

    def _strata(self, y: Any) -> NDArray:
        folds = getattr(self.splitter, "cvargs", {}).get("n_splits", 1)  # of those that repeat
        folds = max(folds, getattr(self.splitter, "n_splits", 1))
        return ranking_strata(y, max(self.min_rows, folds))

    def __repr__(self) -> str:
        return f"StratifiedByRanking({self.splitter!r}, min_rows={self.min_rows})"


def ranking_strata(y: Any, min_rows: int = 10) -> NDArray:
    """Give rows whose rankings begin alike one number: the same best label, then the next ones.

    A stratum is parted by the next place as long as each part has ``min_rows`` rows; parts with
    fewer stay together. So strata are whole rankings where these are common, and else what most
    rows of them have in common.

    Parameters
    ----------
    y : array-like or data frame, (n_samples, n_labels)
        Positions, 1 = best, NaN = missing. Labels on one place are one beginning together; missing
        ones say nothing, so that a row is placed by the labels that it ranks.
    min_rows : int
        Fewest rows of a stratum, where there are as many.

    Returns
    -------
    int64 (n_samples,)
        From 0.

    Raises
    ------
    InputError
        For a ``y`` that is no table of numbers.

    Examples
    --------
    >>> y = [[1, 2, 3], [1, 3, 2], [1, 2, None], [2, 1, 3], [None, 1, 2], [2, 1, None]]
    >>> ranking_strata(y, min_rows=3).tolist()
    [0, 0, 0, 1, 1, 1]
    >>> ranking_strata(y, min_rows=1).tolist()
    [1, 2, 0, 4, 5, 3]
    """
    require_integer(min_rows, "min_rows", 1)
    positions = number_table(y, "y", finite=True)
    beginnings = _beginnings(positions)
    strata = np.zeros(len(positions), np.int64)
    for number, rows in enumerate(_parted(np.arange(len(positions)), beginnings, 0, min_rows)):
        strata[rows] = number
    return strata


def _beginnings(positions: NDArray) -> NDArray:  # int64 (n_samples, n_labels + 1)
    """Write each ranking from its best label on; -1 is its end.

    A label that ties the one before it has another number than one that follows it.
    """
    n_labels = positions.shape[1]
    order = np.argsort(positions, axis=1, kind="stable")  # NaN last
    ordered = np.take_along_axis(positions, order, axis=1)
    ties = np.zeros(order.shape, bool)
    ties[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    written = np.where(np.isnan(ordered), -1, order + n_labels * ties)
    return np.column_stack([written, np.full(len(written), -1)])


def _parted(rows: NDArray, beginnings: NDArray, place: int, min_rows: int) -> list[NDArray]:
    """Part rows that begin alike up to a place by what stands there, where parts are large."""
    here = beginnings[rows, place]
    found = np.unique(here)
    if found.tolist() == [-1]:
        return [rows]
    parts = [rows[here == what] for what in found]
    large = [(what, part) for what, part in zip(found, parts, strict=True) if len(part) >= min_rows]
    if not large:
        return [rows]
    strata: list[NDArray] = []
    for what, part in large:
        strata += [part] if what == -1 else _parted(part, beginnings, place + 1, min_rows)
    rest = [part for part in parts if len(part) < min_rows]
    if rest:
        together = np.concatenate(rest)
        if len(together) >= min_rows:
            strata.append(np.sort(together))
        else:
            smallest = min(range(len(strata)), key=lambda k: len(strata[k]))
            strata[smallest] = np.sort(np.concatenate([strata[smallest], together]))
    return strata
