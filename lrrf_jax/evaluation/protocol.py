"""What a cross-validation holds equal for all learners: folds, deleted labels, seeds.

Everything is drawn from (seed, repeat, purpose), so a fold can be run alone, in any order and in
any process, and gives what it gives in a run of all.
"""

import contextlib
import dataclasses
import itertools
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from lrrf_jax import metrics
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_choice, require_integer, require_share
from lrrf_jax.evaluation import leaf_time_deletion
from lrrf_jax.evaluation.baselines import single_best_of
from lrrf_jax.evaluation.folds import (
    DEFAULT_FOLDS,
    OF_DELETION,
    OF_ESTIMATOR,
    OF_LEAVES,
    Fold,
    Splits,
    fold_of,
    folds_of,
    generator_of,
)
from lrrf_jax.evaluation.measured import HeldOut, Sums, sums_of_fold
from lrrf_jax.evaluation.measures import Measure
from lrrf_jax.evaluation.tables import OF_SCORES, Table
from lrrf_jax.evaluation.unranked import rankable, unranked_last, warn_of_unranked
from lrrf_jax.learners import LEARNERS
from lrrf_jax.rankings.missing import delete_labels

DELETE_ONCE, AS_RUN_BY_AUTHORS = PROTOCOLS = ("delete-once", "as-run-by-authors")


@dataclasses.dataclass(frozen=True)
class Protocol:
    """How folds are cut, labels deleted, and predictions measured; see `cross_validate`."""

    folds: int = DEFAULT_FOLDS
    missing: float = 0.0
    seed: int = 0
    name: str = DELETE_ONCE
    stratified: bool = False
    measures: tuple[Measure, ...] = ()

    def __post_init__(self) -> None:
        require_choice(self.name, "protocol", PROTOCOLS)
        require_integer(self.folds, "folds", 1)
        require_integer(self.seed, "seed", 0)
        require_share(self.missing, "missing")


class FoldScore(NamedTuple):
    """What one fold gave."""

    tau: float  # NaN where no test row has a known pair
    fit_seconds: float
    predict_seconds: float
    sums: dict[str, Sums]  # of each measure that is asked for


def as_estimator(learner: Any, protocol: str = DELETE_ONCE) -> Any:
    """Return the estimator that a name stands for under a protocol, or check the one given."""
    if isinstance(learner, str):
        if learner not in LEARNERS:
            raise InputError(f"{LEARNERS.no_learner(learner)} Give a name, or an estimator.")
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


def require_agreement(table: Table, protocol: Protocol) -> None:
    """Raise InputError where a protocol does not go with a table."""
    if protocol.stratified and table.splits.name:
        raise InputError(
            "stratified must be False where groups, fold numbers, leave-one-out or a splitter say "
            "how rows are cut. Take a splitter that does both, such as StratifiedGroupKFold."
        )
    if protocol.name == AS_RUN_BY_AUTHORS and table.target == OF_SCORES:
        raise InputError(
            f"protocol {AS_RUN_BY_AUTHORS!r} knows rankings without ties, and no scores. Give y, "
            f"or use {DELETE_ONCE!r}."
        )


def fold_rows(
    rankings: NDArray, protocol: Protocol, repeat: int, splits: Splits | None = None
) -> list[Fold]:
    """Cut the rows of a table into the folds of a repeat; see `folds.tested_in`."""
    if splits is None:
        require_integer(protocol.folds, "folds", 2, len(rankings))
        splits = Splits(protocol.folds)
    return list(folds_of(rankings, splits, repeat, protocol.seed, protocol.stratified))


def incomplete_rankings(rankings: NDArray, protocol: Protocol, repeat: int) -> NDArray:
    """Training rankings of a repeat, with labels deleted once where the protocol says so."""
    if protocol.name == AS_RUN_BY_AUTHORS:
        leaf_time_deletion.require_complete(rankings)
        return rankings
    generator = generator_of(protocol.seed, repeat, OF_DELETION)
    return delete_labels(rankings, protocol.missing, generator)


class _TrainingRows(NamedTuple):
    """What a learner is told of the training rows of a fold."""

    rankings: NDArray
    scores: NDArray | None  # NaN where the label was deleted, too
    weight: NDArray | None


def run_fold(
    estimator: Any, table: Table, protocol: Protocol, repeat: int, number: int
) -> FoldScore:
    """Fit a clone of an estimator on the training rows of one fold, and score it on the others."""
    from sklearn.base import clone

    if table.weight is not None:
        _require_use_of_weights(estimator, protocol)
    fold = fold_of(table.rankings, table.splits, repeat, number, protocol.seed, protocol.stratified)
    known_rows = _training_rows(table, protocol, repeat, fold)
    rankings = known_rows.rankings
    known = rankable(rankings)
    ranker = _seeded(clone(estimator), protocol.seed, repeat, number)
    train, test = table.take(fold.train), table.take(fold.test)
    started = time.perf_counter()
    with _telling_the_fold(fold, rankings, table.labels):
        _fit(ranker, train, known_rows, known, table.target)
    fitted = time.perf_counter()
    if protocol.name == AS_RUN_BY_AUTHORS:
        predicted = leaf_time_deletion.predict_with_deletion_in_leaves(
            ranker,
            train,
            rankings,
            test,
            protocol.missing,
            np.random.SeedSequence([protocol.seed, repeat, OF_LEAVES, number]),
        )
    else:
        predicted = ranker.predict(test)
    predict_seconds = time.perf_counter() - fitted
    predicted = unranked_last(predicted, known)
    taus = metrics.kendall_tau(table.rankings[fold.test], predicted, per_row=True)
    weight = None if table.weight is None else table.weight[fold.test]
    tested = HeldOut(table.rankings[fold.test], _some(table.scores, fold.test), weight)
    base = single_best_of(*known_rows)
    sums = sums_of_fold(protocol.measures, tested, predicted, base)
    return FoldScore(_mean(taus, weight), fitted - started, predict_seconds, sums)


def _training_rows(table: Table, protocol: Protocol, repeat: int, fold: Fold) -> _TrainingRows:
    rankings = incomplete_rankings(table.rankings, protocol, repeat)[fold.train]
    scores = _some(table.scores, fold.train)
    if scores is not None and protocol.missing > 0 and protocol.name == DELETE_ONCE:
        scores = np.where(np.isnan(rankings), np.nan, scores)
    return _TrainingRows(rankings, scores, _some(table.weight, fold.train))


def _some(values: NDArray | None, rows: NDArray) -> NDArray | None:
    return None if values is None else values[rows]


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
            cut = folds_of(table.rankings, table.splits, repeat, protocol.seed, protocol.stratified)
            for fold in itertools.islice(cut, n_folds):
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


def _seeded(ranker: Any, seed: int, repeat: int, fold: int) -> Any:
    """Set every ``random_state`` of an estimator, also of its parts."""
    draws = np.random.default_rng([seed, repeat, OF_ESTIMATOR, fold])
    names = [name for name in ranker.get_params() if name.split("__")[-1] == "random_state"]
    states = {name: int(draws.integers(2**31 - 1)) for name in sorted(names)}
    return ranker.set_params(**states)


def _fit(ranker: Any, X: Any, rows: _TrainingRows, known: NDArray, target: str) -> None:
    from sklearn.utils.validation import has_fit_parameter

    weights = {} if rows.weight is None else {"sample_weight": rows.weight}
    with warnings.catch_warnings():
        # Told of before, once; rows that lost their labels by deletion are what was asked for.
        warnings.filterwarnings("ignore", message=".*rows rank too few labels")
        if target == OF_SCORES and rows.scores is not None and has_fit_parameter(ranker, "scores"):
            ranker.fit(X, scores=rows.scores[:, known], **weights)
        else:
            ranker.fit(X, rows.rankings[:, known], **weights)


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
