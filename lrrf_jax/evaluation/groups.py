"""Groups of rows, such as those of one patient, which no fold splits."""

from typing import Any

import numpy as np

from lrrf_jax._numbers import shown
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError


def as_groups(groups: Any, n_samples: int) -> tuple[NDArray | None, Any]:
    """Give the groups numbers as they come, and return what they are called, row by row."""
    if groups is None:
        return None, None
    if isinstance(groups, str | bytes) or not np.iterable(groups):
        raise InputError(
            f"groups must name one group per row, {n_samples} in all; it is {shown(groups)}."
        )
    names = groups.to_pylist() if hasattr(groups, "to_pylist") else list(groups)
    if len(names) != n_samples:
        raise InputError(
            f"groups must name one group per row; there are {n_samples} rows, and groups has "
            f"{len(names)}."
        )
    unknown = [row for row, name in enumerate(names) if _is_missing(name)]
    if unknown:
        raise InputError(
            f"groups must name a group for every row; row {unknown[0]} has none "
            f"({len(unknown)} of {n_samples} rows fail). Give rows without a group one of their "
            "own."
        )
    numbers: dict[Any, int] = {}
    try:
        codes = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)
    except TypeError as error:
        raise InputError(
            f"groups must hold values that can be told apart by hash: {error}."
        ) from None
    if len(numbers) < 2:
        raise InputError(
            f"groups must name two groups at least, as one is tested by what the others train; all "
            f"{n_samples} rows are of one."
        )
    values = np.empty(n_samples, object)
    values[:] = names
    plain = all(isinstance(name, type(names[0])) for name in names) and np.ndim(names[0]) == 0
    return codes, np.array(names) if plain else values


def _is_missing(name: Any) -> bool:
    """Tell None, NaN, NaT and pandas.NA, whose comparisons are no truth values."""
    try:
        return name is None or bool(name != name)
    except TypeError:  # pandas.NA
        return True
    except ValueError:  # an array, which is no name either way
        return False


def require_whole_groups(train: NDArray, test: NDArray, codes: NDArray, values: Any) -> None:
    """Raise InputError where a group has rows on both sides."""
    n_groups = int(codes.max()) + 1
    both = np.bincount(codes[train], minlength=n_groups) > 0
    both &= np.bincount(codes[test], minlength=n_groups) > 0
    if both.any():
        first = values[int(np.argmax(codes == np.argmax(both)))]
        raise InputError(
            f"folds must not split groups, so that no row is tested whose group was trained on; "
            f"group {shown(first)} is on both sides ({both.sum()} of {n_groups} groups fail). Take "
            "a whole number of folds, or a splitter that knows groups, such as GroupKFold."
        )


def group_folds(
    groups: NDArray, n_folds: int, generator: np.random.Generator
) -> NDArray:  # int64 (n_samples,)
    """Put groups, in shuffled order, each into the fold that has the fewest rows by then.

    No fold is empty, and two folds differ by no more rows than the largest group has.
    """
    sizes = np.bincount(groups)
    fold_of_group, n_rows = np.empty(len(sizes), np.int64), np.zeros(n_folds, np.int64)
    for group in generator.permutation(len(sizes)):
        fold = int(np.argmin(n_rows))
        fold_of_group[group] = fold
        n_rows[fold] += sizes[group]
    return fold_of_group[groups]
