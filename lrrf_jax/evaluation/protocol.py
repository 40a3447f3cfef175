"""What a cross-validation holds equal for all learners: folds, deleted labels, seeds.

Everything is drawn from (seed, repeat, purpose), so a fold can be run alone, in any order and in
any process, and gives what it gives in a run of all.
"""

import contextlib
import dataclasses
import functools
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from lrrf_jax import metrics
from lrrf_jax._frames import column_names, library_of, own_names, row_count, take_rows
from lrrf_jax._names import made_up_labels
from lrrf_jax._numbers import as_array
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import (
    InputError,
    as_weights,
    require_choice,
    require_integer,
    require_share,
)
from lrrf_jax.evaluation import leaf_time_deletion
from lrrf_jax.evaluation.unranked import rankable, unranked_last, warn_of_unranked
from lrrf_jax.learners import LEARNERS
from lrrf_jax.rankings.missing import delete_labels
from lrrf_jax.rankings.validation import require_rankings

DELETE_ONCE, AS_RUN_BY_AUTHORS = PROTOCOLS = ("delete-once", "as-run-by-authors")
# What a random number is drawn for; one stream each, so that none disturbs another.
_FOLDS, _DELETION, _ESTIMATOR, _LEAVES = range(4)


@dataclasses.dataclass(frozen=True)
class Protocol:
    """How folds are cut and labels deleted; see `cross_validate`."""

    folds: int = 10
    missing: float = 0.0
    seed: int = 0
    name: str = DELETE_ONCE
    stratified: bool = False

    def __post_init__(self) -> None:
        require_choice(self.name, "protocol", PROTOCOLS)
        require_integer(self.folds, "folds", 2)
        require_integer(self.seed, "seed", 0)
        require_share(self.missing, "missing")


class Table(NamedTuple):
    """A data set, checked."""

    take: Callable[[NDArray], Any]  # rows of the features, a data frame kept as one
    rankings: NDArray  # float, (n_samples, n_labels), NaN: missing
    labels: tuple[str, ...]
    weight: NDArray | None = None  # float64 (n_samples,); None: all the same

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.rankings)


class Fold(NamedTuple):
    """Rows to train on and rows to test, in the order of the table."""

    repeat: int
    number: int
    train: NDArray  # int64, row numbers
    test: NDArray


class FoldScore(NamedTuple):
    """What one fold gave."""

    tau: float  # NaN where no test row has a known pair
    fit_seconds: float
    predict_seconds: float


def as_table(X: Any, y: Any, sample_weight: Any = None) -> Table:
    """Check the features, rankings and weights of a data set."""
    take, n_samples = _rows(X)
    rankings = require_rankings(y, n_samples)
    if not ((~np.isnan(rankings)).sum(1) > 1).any():
        raise InputError("y must rank two labels in one row at least; no row does.")
    labels = tuple(own_names(y, "y") or made_up_labels(rankings.shape[1]))
    return Table(take, rankings, labels, as_weights(sample_weight, n_samples))


def as_estimator(learner: Any, protocol: str = DELETE_ONCE) -> Any:
    """Return the estimator that a name stands for under a protocol, or check the one given."""
    if isinstance(learner, str):
        if learner not in LEARNERS:
            raise InputError(
                f"there is no learner {learner!r}; there are {', '.join(LEARNERS)}. Give one of "
                "these names, or an estimator."
            )
        if (learner, protocol) == ("lr-rf", AS_RUN_BY_AUTHORS):
            return leaf_time_deletion.forest_as_run_by_authors()
        learner = LEARNERS[learner]()
    if isinstance(learner, type) or not all(
        hasattr(learner, method) for method in ("fit", "predict", "get_params")
    ):
        raise InputError(
            "learner must be an estimator with fit, predict and get_params, or one of the names "
            f"{', '.join(LEARNERS)}; it is {learner!r}."
        )
    if protocol == AS_RUN_BY_AUTHORS:
        leaf_time_deletion.require_forest_of_authors(learner)
    return learner


def learner_name(estimator: Any) -> str:
    """Name of a learner in ``LEARNERS``, or that of its class."""
    return getattr(estimator, "name", None) or type(estimator).__name__


def fold_rows(rankings: NDArray, protocol: Protocol, repeat: int) -> list[Fold]:
    """Cut the shuffled rows into folds of near-equal size.

    Stratified folds hold near-equal numbers of each distinct ranking too: no two folds differ by
    more than one row in a ranking.
    """
    n_samples, folds = len(rankings), protocol.folds
    require_integer(folds, "folds", 2, n_samples)
    order = _generator(protocol.seed, repeat, _FOLDS).permutation(n_samples)
    if protocol.stratified:
        known = np.where(np.isnan(rankings), 0, rankings)
        classes = np.unique(known, axis=0, return_inverse=True)[1].reshape(-1)
        order = order[np.argsort(classes[order], kind="stable")]
        tests = [order[number::folds] for number in range(folds)]
    else:
        tests = np.array_split(order, folds)
    parts = []
    for number, test in enumerate(tests):
        in_test = np.zeros(n_samples, bool)
        in_test[test] = True
        # In the order of the table: what a learner sees does not depend on the shuffle.
        parts.append(Fold(repeat, number, np.flatnonzero(~in_test), np.flatnonzero(in_test)))
    return parts


def incomplete_rankings(rankings: NDArray, protocol: Protocol, repeat: int) -> NDArray:
    """Training rankings of a repeat, with labels deleted once where the protocol says so."""
    if protocol.name == AS_RUN_BY_AUTHORS:
        leaf_time_deletion.require_complete(rankings)
        return rankings
    generator = _generator(protocol.seed, repeat, _DELETION)
    return delete_labels(rankings, protocol.missing, generator)


def run_fold(
    estimator: Any, table: Table, protocol: Protocol, repeat: int, number: int
) -> FoldScore:
    """Fit a clone of an estimator on the training rows of one fold, and score it on the others."""
    from sklearn.base import clone

    if table.weight is not None:
        _require_use_of_weights(estimator, protocol)
    fold = fold_rows(table.rankings, protocol, repeat)[number]
    rankings = incomplete_rankings(table.rankings, protocol, repeat)[fold.train]
    known = rankable(rankings)
    ranker = _seeded(clone(estimator), protocol.seed, repeat, number)
    train, test = table.take(fold.train), table.take(fold.test)
    started = time.perf_counter()
    weights = {} if table.weight is None else {"sample_weight": table.weight[fold.train]}
    with _telling_the_fold(fold, rankings, table.labels):
        _fit(ranker, train, rankings[:, known], protocol.missing > 0, **weights)
    fitted = time.perf_counter()
    if protocol.name == AS_RUN_BY_AUTHORS:
        predicted = leaf_time_deletion.predict_with_deletion_in_leaves(
            ranker,
            train,
            rankings,
            test,
            protocol.missing,
            np.random.SeedSequence([protocol.seed, repeat, _LEAVES, number]),
        )
    else:
        predicted = ranker.predict(test)
    predict_seconds = time.perf_counter() - fitted
    predicted = unranked_last(predicted, known)
    taus = metrics.kendall_tau(table.rankings[fold.test], predicted, per_row=True)
    weight = None if table.weight is None else table.weight[fold.test]
    return FoldScore(_mean(taus, weight), fitted - started, predict_seconds)


def _require_use_of_weights(estimator: Any, protocol: Protocol) -> None:
    if protocol.name == AS_RUN_BY_AUTHORS:
        raise InputError(
            f"protocol {AS_RUN_BY_AUTHORS!r} knows no weights of rows; leave sample_weight out, or "
            f"use {DELETE_ONCE!r}."
        )
    from sklearn.utils.validation import has_fit_parameter

    if not has_fit_parameter(estimator, "sample_weight"):
        raise InputError(
            f"{learner_name(estimator)} takes no sample_weight, and the table has weights. Leave "
            "them out, or take another learner."
        )


def _mean(taus: NDArray, weight: NDArray | None) -> float:
    """Mean over the rows that have a tau, NaN where none has one, or none of any weight."""
    known = ~np.isnan(taus)
    if weight is None:
        return float(np.nanmean(taus)) if known.any() else float("nan")
    total = weight[known].sum()
    return float(np.average(taus[known], weights=weight[known])) if total > 0 else float("nan")


def warn_of_unranked_labels(
    table: Table, protocol: Protocol, repeats: int, n_folds: int, data: str = ""
) -> None:
    """Warn once of labels that no training row ranks, in the first folds of the repeats."""
    if protocol.name == AS_RUN_BY_AUTHORS:
        return  # for complete rankings alone

    def training_rankings() -> Iterator[tuple[Fold, NDArray]]:
        for repeat in range(repeats):
            rankings = incomplete_rankings(table.rankings, protocol, repeat)
            for fold in fold_rows(table.rankings, protocol, repeat)[:n_folds]:
                yield fold, rankings[fold.train]

    warn_of_unranked(training_rankings(), table.labels, data, stacklevel=3)


def plain(value: Any) -> Any:
    """Return what JSON can hold of a parameter: itself, or else its text."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, bool | int | float | str | None) else repr(value)


def plain_params(estimator: Any) -> dict[str, Any]:
    """Parameters of an estimator, and of its parts, as JSON can hold them."""
    return {key: plain(value) for key, value in estimator.get_params().items()}


def _rows(X: Any) -> tuple[Callable[[NDArray], Any], int]:
    """Return the function that takes rows of ``X``, a data frame kept as one, and their number."""
    if library_of(X) is not None:
        column_names(X, "X")  # which are distinct
        return functools.partial(take_rows, X), row_count(X)
    table = as_array(X, "X")
    if table.ndim != 2:
        raise InputError(
            f"X must have two dimensions, (n_samples, n_features); it has shape {table.shape}."
        )
    return functools.partial(np.take, table, axis=0), len(table)


def _generator(seed: int, repeat: int, purpose: int) -> np.random.Generator:
    return np.random.default_rng([seed, repeat, purpose])


def _seeded(ranker: Any, seed: int, repeat: int, fold: int) -> Any:
    """Set every ``random_state`` of an estimator, also of its parts."""
    draws = np.random.default_rng([seed, repeat, _ESTIMATOR, fold])
    names = [name for name in ranker.get_params() if name.split("__")[-1] == "random_state"]
    states = {name: int(draws.integers(2**31 - 1)) for name in sorted(names)}
    return ranker.set_params(**states)


def _fit(ranker: Any, X: Any, y: NDArray, deleted: bool, **weights: Any) -> None:
    with warnings.catch_warnings():
        if deleted:  # rows that lost nearly all labels are what was asked for
            warnings.filterwarnings("ignore", message=".*rows rank too few labels")
        ranker.fit(X, y, **weights)


@contextlib.contextmanager
def _telling_the_fold(fold: Fold, rankings: NDArray, labels: Sequence[str]) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        reason = str(error)
        n_ranked = int((~np.isnan(rankings)).any(0).sum())
        if n_ranked < 2:  # which a learner, that knows no names, would say of 'L1'
            reason = (
                f"the training rows rank {n_ranked} of the labels {', '.join(labels)}, and a "
                "learner needs two. Take fewer folds, or delete fewer labels."
            )
        raise InputError(
            f"repeat {fold.repeat}, fold {fold.number} (both from 0): {reason}"
        ) from error
