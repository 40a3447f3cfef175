"""How the rows of a table are cut into folds: shuffled, by groups, as given, or by a splitter.

Everything is drawn from (seed, repeat, purpose), so a fold can be cut alone, in any order and in
any process, and is what it is in a run of all.
"""

import copy
import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from lrrf_jax._numbers import VECTOR, as_numbers, shown
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_integer

LEAVE_ONE_OUT = "leave-one-out"
DEFAULT_FOLDS = 10
# What a random number is drawn for; one stream each, so that none disturbs another.
OF_FOLDS, OF_DELETION, OF_ESTIMATOR, OF_LEAVES = range(4)
_SCALARS = (str, bytes)


class Fold(NamedTuple):
    """Rows to train on and rows to test, in the order of the table."""

    repeat: int
    number: int
    train: NDArray  # int64, row numbers
    test: NDArray


class Splits(NamedTuple):
    """How the rows of one table are cut; without anything else, shuffled into ``n_folds``."""

    n_folds: int
    name: str = ""  # tells other cuts apart, in files of results too
    given: NDArray | None = None  # int64 (n_samples,), the fold that tests each row
    groups: NDArray | None = None  # int64 (n_samples,), number of the group of each row
    splitter: Any = None
    arguments: tuple[Any, Any, Any] = (None, None, None)  # X, y and groups of the splitter


def as_splits(
    folds: Any,
    X: Any,
    rankings: NDArray,  # float (n_samples, n_labels), NaN: missing
    groups: Any = None,
    seed: int = 0,
) -> Splits:
    """Check how a table is to be cut, as `cross_validate` takes it; ``seed`` is for splitters."""
    n_samples = len(rankings)
    codes, values = _as_groups(groups, n_samples)
    if hasattr(folds, "split") and not isinstance(folds, str):
        return _of_splitter(folds, (X, ranking_classes(rankings), values), codes, seed)
    if isinstance(folds, str):
        if folds != LEAVE_ONE_OUT:
            raise InputError(
                f"folds must be a whole number, '{LEAVE_ONE_OUT}', a fold number for each row, or "
                f"a splitter of scikit-learn; it is {folds!r}."
            )
        given = np.arange(n_samples) if codes is None else codes
        n_folds = int(given.max()) + 1
        if n_folds < 2:
            what = "row" if codes is None else "group"
            raise InputError(f"folds='{LEAVE_ONE_OUT}' needs two {what}s at least; there is one.")
        name = LEAVE_ONE_OUT if codes is None else f"leave-one-group-out {_digest(codes)}"
        return Splits(n_folds, name, given)
    if np.ndim(folds) == 0:
        require_integer(folds, "folds", 2, n_samples)
        if codes is None:
            return Splits(int(folds))
        n_groups = int(codes.max()) + 1
        if folds > n_groups:
            raise InputError(
                f"folds must not be more than the groups, of which there are {n_groups}; it is "
                f"{folds}. Take fewer folds, or '{LEAVE_ONE_OUT}' for one group a fold."
            )
        return Splits(int(folds), f"groups {_digest(codes)}", None, codes)
    given = _as_fold_numbers(folds, n_samples)
    if codes is not None:
        for number in range(int(given.max()) + 1):
            _require_whole_groups(given != number, given == number, codes, values)
    return Splits(int(given.max()) + 1, f"given {_digest(given)}", given)


def folds_of(
    rankings: NDArray, splits: Splits, repeat: int, seed: int, stratified: bool
) -> Iterator[Fold]:
    """Cut the rows of a repeat, one fold after another."""
    if splits.splitter is not None:
        yield from _split(splits, repeat, seed)
        return
    numbers = tested_in(rankings, splits, repeat, seed, stratified)
    for number in range(splits.n_folds):
        in_test = numbers == number
        # In the order of the table: what a learner sees does not depend on the shuffle.
        yield Fold(repeat, number, np.flatnonzero(~in_test), np.flatnonzero(in_test))


def fold_of(
    rankings: NDArray, splits: Splits, repeat: int, number: int, seed: int, stratified: bool
) -> Fold:
    """Cut the rows of a repeat, and return one fold."""
    for fold in folds_of(rankings, splits, repeat, seed, stratified):
        if fold.number == number:
            return fold
    raise InputError(
        f"folds must be a splitter that cuts as many folds each time; {splits.splitter!r} cut "
        f"{splits.n_folds} at first, and fewer in repeat {repeat}."
    )


def tested_in(
    rankings: NDArray, splits: Splits, repeat: int, seed: int, stratified: bool
) -> NDArray:  # int64 (n_samples,)
    """Return the fold that tests each row.

    Shuffled folds are of near-equal size. Stratified ones hold near-equal numbers of each distinct
    ranking too: no two differ by more than one row in a ranking. Folds of groups: see
    `_group_folds`.
    """
    if splits.given is not None:
        return splits.given
    n_samples = len(rankings)
    generator = generator_of(seed, repeat, OF_FOLDS)
    if splits.groups is not None:
        return _group_folds(splits.groups, splits.n_folds, generator)
    order = generator.permutation(n_samples)
    if stratified:
        order = order[np.argsort(ranking_classes(rankings)[order], kind="stable")]
        of_order = np.arange(n_samples) % splits.n_folds
    else:
        sizes = [len(part) for part in np.array_split(order, splits.n_folds)]
        of_order = np.repeat(np.arange(splits.n_folds), sizes)
    numbers = np.empty(n_samples, np.int64)
    numbers[order] = of_order
    return numbers


def generator_of(seed: int, repeat: int, purpose: int) -> np.random.Generator:
    """Return the stream of random numbers for a purpose."""
    return np.random.default_rng([seed, repeat, purpose])


def ranking_classes(rankings: NDArray) -> NDArray:  # int64 (n_samples,)
    """Give each distinct ranking a number."""
    known = np.where(np.isnan(rankings), 0, rankings)
    return np.unique(known, axis=0, return_inverse=True)[1].reshape(-1)


def _group_folds(
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


def _of_splitter(
    splitter: Any, arguments: tuple[Any, Any, Any], codes: NDArray | None, seed: int
) -> Splits:
    splits = Splits(0, "", None, codes, splitter, arguments)
    digest, n_folds = hashlib.sha256(), 0
    for fold in _split(splits, 0, seed):
        n_folds += 1
        for rows in (fold.train, fold.test):
            digest.update(f"{len(rows)} ".encode() + rows.tobytes())
    if n_folds == 0:
        raise InputError(
            f"folds must be a splitter that cuts one fold at least; {splitter!r} none."
        )
    name = f"{type(splitter).__name__} {digest.hexdigest()[:12]}"
    return splits._replace(n_folds=n_folds, name=name)


def _split(splits: Splits, repeat: int, seed: int) -> Iterator[Fold]:
    """Ask a splitter; one that has no random state gets that of the repeat."""
    splitter = copy.deepcopy(splits.splitter)
    if getattr(splitter, "random_state", 0) is None:
        draws = generator_of(seed, repeat, OF_FOLDS)
        splitter.random_state = int(draws.integers(2**31 - 1))
    X, y, groups = splits.arguments
    n_samples = len(y)
    for number, parts in enumerate(splitter.split(X, y, groups)):
        in_parts = []
        for part in parts:
            rows = np.asarray(part)
            if rows.dtype == bool and rows.shape == (n_samples,):
                rows = np.flatnonzero(rows)
            inside = np.zeros(n_samples, bool)
            whole = rows.ndim == 1 and rows.size > 0 and rows.dtype.kind in "iu"
            if not whole or rows.min() < 0 or rows.max() >= n_samples:
                raise InputError(
                    f"folds must be a splitter that cuts row numbers from 0 to {n_samples - 1}, "
                    f"one at least to train on and one to test; fold {number} of "
                    f"{splits.splitter!r} is none."
                )
            inside[rows] = True
            in_parts.append(inside)
        train, test = in_parts
        if (train & test).any():
            row = int(np.argmax(train & test))
            raise InputError(
                f"folds must be a splitter that tests no row it trains on; fold {number} of "
                f"{splits.splitter!r} has row {row} in both ({(train & test).sum()} rows fail)."
            )
        if splits.groups is not None:
            _require_whole_groups(train, test, splits.groups, groups)
        yield Fold(repeat, number, np.flatnonzero(train), np.flatnonzero(test))


def _require_whole_groups(train: NDArray, test: NDArray, codes: NDArray, values: Any) -> None:
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


def _as_groups(groups: Any, n_samples: int) -> tuple[NDArray | None, Any]:
    """Give the groups numbers as they come, and return what they are called, row by row."""
    if groups is None:
        return None, None
    if isinstance(groups, _SCALARS) or not np.iterable(groups):
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
    values = np.empty(n_samples, object)
    values[:] = names
    return codes, np.array(names) if len({type(name) for name in names}) == 1 else values


def _is_missing(name: Any) -> bool:
    """Tell None, NaN, NaT and pandas.NA, whose comparisons are no truth values."""
    try:
        return name is None or bool(name != name)
    except TypeError:
        return True


def _as_fold_numbers(folds: Any, n_samples: int) -> NDArray:  # int64 (n_samples,), 0, 1, ...
    remedy = "Give the number of the fold that tests each row."
    numbers = as_numbers(folds, "folds", form=VECTOR, remedy=remedy)
    if numbers.shape != (n_samples,):
        raise InputError(
            f"folds must have one fold number per row, shape ({n_samples},); it has shape "
            f"{numbers.shape}."
        )
    bad = ~(np.isfinite(numbers) & (numbers == np.floor(numbers)))
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"folds must hold whole numbers; row {row} is {shown(numbers[row].item())} "
            f"({bad.sum()} of {n_samples} rows fail). {remedy}"
        )
    found, codes = np.unique(numbers, return_inverse=True)
    if len(found) < 2:
        raise InputError(
            f"folds must name two folds at least, as each is tested by what the others train; all "
            f"{n_samples} rows are in fold {shown(found[0].item())}."
        )
    return codes.reshape(-1).astype(np.int64)


def _digest(codes: NDArray) -> str:
    return hashlib.sha256(codes.tobytes()).hexdigest()[:12]
