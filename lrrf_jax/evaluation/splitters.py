"""Splitters of scikit-learn, and of users, asked for rows to train on and rows to test."""

import copy
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError


def with_random_state(splitter: Any, draws: np.random.Generator) -> Any:
    """Copy a splitter; one whose ``random_state`` is None gets one."""
    splitter = copy.deepcopy(splitter)
    if getattr(splitter, "random_state", 0) is None:
        splitter.random_state = int(draws.integers(2**31 - 1))
    return splitter


def checked_splits(
    splitter: Any, X: Any, y: NDArray, groups: Any
) -> Iterator[tuple[NDArray, NDArray]]:  # bool (n_samples,), rows to train on and rows to test
    """Ask a splitter for its folds, one after another."""
    for number, parts in enumerate(_asked(splitter, X, y, groups)):
        train, test = (_in_part(part, len(y), splitter, number) for part in parts)
        if (train & test).any():
            row = int(np.argmax(train & test))
            raise InputError(
                f"folds must be a splitter that tests no row it trains on; fold {number} of "
                f"{splitter!r} has row {row} in both ({(train & test).sum()} rows fail)."
            )
        yield train, test


def _in_part(part: Any, n_samples: int, splitter: Any, number: int) -> NDArray:  # bool (n_samples,)
    rows = np.asarray(part)
    if rows.dtype == bool and rows.shape == (n_samples,):
        rows = np.flatnonzero(rows)
    whole = rows.ndim == 1 and rows.size > 0 and rows.dtype.kind in "iu"
    if not whole or rows.min() < 0 or rows.max() >= n_samples:
        raise InputError(
            f"folds must be a splitter that cuts row numbers from 0 to {n_samples - 1}, one at "
            f"least to train on and one to test; fold {number} of {splitter!r} is none."
        )
    inside = np.zeros(n_samples, bool)
    inside[rows] = True
    return inside


def _asked(splitter: Any, X: Any, y: NDArray, groups: Any) -> Iterator[Any]:
    """Leave out the warning that groups are ignored: a splitter that splits them is refused."""
    splits: Any = None
    while True:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The groups parameter is ignored")
            splits = iter(splitter.split(X, y, groups)) if splits is None else splits
            parts = next(splits, None)
        if parts is None:
            return
        yield parts
