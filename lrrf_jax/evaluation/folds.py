"""How the rows of a table are cut into folds: shuffled, by groups, as given, or by a splitter.

Everything is drawn from (seed, repeat, purpose), so a fold can be cut alone, in any order and in
any process, and is what it is in a run of all.
"""

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from lrrf_jax._numbers import VECTOR, as_numbers, shown
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_integer
from lrrf_jax.evaluation.groups import as_groups, group_folds, require_whole_groups
from lrrf_jax.evaluation.splitters import checked_splits, with_random_state
from lrrf_jax.evaluation.stratified import StratifiedByRanking

LEAVE_ONE_OUT = "leave-one-out"
DEFAULT_FOLDS = 10
# What a random number is drawn for; one stream each, so that none disturbs another.
OF_FOLDS, OF_DELETION, OF_ESTIMATOR, OF_LEAVES = range(4)


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
    folds: Any,  # None: the usual number, or that of the groups where these are fewer
    X: Any,
    rankings: NDArray,  # float (n_samples, n_labels), NaN: missing
    groups: Any = None,
    seed: int = 0,
) -> Splits:
    """Check how a table is to be cut, as `compare` takes it; ``seed`` is for splitters."""
    n_samples = len(rankings)
    codes, values = as_groups(groups, n_samples)
    if folds is None:
        folds = DEFAULT_FOLDS if codes is None else min(DEFAULT_FOLDS, int(codes.max()) + 1)
    if hasattr(folds, "split") and not isinstance(folds, str):
        target = rankings if isinstance(folds, StratifiedByRanking) else numbered_rankings(rankings)
        return _of_splitter(folds, (X, target, values), codes, seed)
    if isinstance(folds, str):
        if folds != LEAVE_ONE_OUT:
            raise InputError(
                f"folds must be a whole number, '{LEAVE_ONE_OUT}', a fold number for each row, or "
                f"a splitter of scikit-learn; it is {folds!r}."
            )
        given = np.arange(n_samples) if codes is None else codes
        n_folds = int(given.max()) + 1
        require_integer(n_samples, "the number of rows", 2)
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
            require_whole_groups(given != number, given == number, codes, values)
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
        yield _cut(numbers, repeat, number)


def fold_of(
    rankings: NDArray, splits: Splits, repeat: int, number: int, seed: int, stratified: bool
) -> Fold:
    """Cut the rows of a repeat, and return one fold."""
    if splits.splitter is None:
        return _cut(tested_in(rankings, splits, repeat, seed, stratified), repeat, number)
    for fold in folds_of(rankings, splits, repeat, seed, stratified):
        if fold.number == number:
            return fold
    raise InputError(
        f"folds must be a splitter that cuts as many folds each time; {splits.splitter!r} cut "
        f"{splits.n_folds} at first, and fewer in repeat {repeat}."
    )


def _cut(numbers: NDArray, repeat: int, number: int) -> Fold:
    in_test = numbers == number
    # In the order of the table: what a learner sees does not depend on the shuffle.
    return Fold(repeat, number, np.flatnonzero(~in_test), np.flatnonzero(in_test))


def tested_in(
    rankings: NDArray, splits: Splits, repeat: int, seed: int, stratified: bool
) -> NDArray:  # int64 (n_samples,)
    """Return the fold that tests each row.

    Shuffled folds are of near-equal size. Stratified ones hold near-equal numbers of each distinct
    ranking too: no two differ by more than one row in a ranking. Folds of groups: see
    `group_folds`.
    """
    if splits.given is not None:
        return splits.given
    n_samples = len(rankings)
    generator = generator_of(seed, repeat, OF_FOLDS)
    if splits.groups is not None:
        return group_folds(splits.groups, splits.n_folds, generator)
    order = generator.permutation(n_samples)
    if stratified:
        ranking = numbered_rankings(rankings)
        # The rankings in another order each time: where all differ, rows would never be shuffled.
        place = generator.permutation(ranking.max() + 1)[ranking]
        order = order[np.argsort(place[order], kind="stable")]
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


def numbered_rankings(rankings: NDArray) -> NDArray:  # int64 (n_samples,)
    """Give each distinct ranking a number; missing labels sort first, as folds were always cut."""
    known = np.where(np.isnan(rankings), 0, rankings)
    return np.unique(known, axis=0, return_inverse=True)[1].reshape(-1)


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
    splitter = with_random_state(splits.splitter, generator_of(seed, repeat, OF_FOLDS))
    for number, (train, test) in enumerate(checked_splits(splitter, *splits.arguments)):
        if splits.groups is not None:
            require_whole_groups(train, test, splits.groups, splits.arguments[2])
        yield Fold(repeat, number, np.flatnonzero(train), np.flatnonzero(test))


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
