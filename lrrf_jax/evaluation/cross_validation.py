"""Repeated cross-validation of label rankers, also with labels deleted from the training part."""

import dataclasses
import functools
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.base import clone

from lrrf_jax import metrics
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_choice, require_integer
from lrrf_jax.learners import LEARNERS
from lrrf_jax.rankings.missing import delete_labels
from lrrf_jax.rankings.validation import require_rankings

PROTOCOLS = ("delete-once",)
# What a random number is drawn for; one stream each, so that none disturbs another.
_FOLDS, _DELETION, _ESTIMATOR = range(3)


@dataclasses.dataclass(frozen=True)
class CrossValidation:
    """Scores of one learner on one table, as `cross_validate` returns them.

    Attributes
    ----------
    learner : str
        Its name in ``LEARNERS``, or that of its class.
    scores : ndarray, float64 (repeats, folds)
        Mean Kendall tau of the test rows; NaN where no test row has a known pair.
    fit_seconds, predict_seconds : ndarray, float64 (repeats, folds)
        Wall-clock time; the first fold of a process includes compilation.
    settings : dict
        The arguments, and the parameters of the estimator.
    """

    learner: str
    scores: NDArray
    fit_seconds: NDArray
    predict_seconds: NDArray
    settings: dict[str, Any]

    @property
    def mean(self) -> float:
        """Mean score of all folds of all repeats."""
        return float(self._known().mean())

    @property
    def std(self) -> float:
        """Standard deviation of the scores of all folds of all repeats (divisor: number - 1)."""
        known = self._known()
        return float(known.std(ddof=1)) if known.size > 1 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, texts, lists and dicts that JSON can hold."""
        scores = self.scores.astype(object)
        scores[np.isnan(self.scores)] = None  # JSON has no NaN
        return {
            "learner": self.learner,
            "mean": self.mean,
            "std": self.std,
            "scores": scores.tolist(),
            "fit_seconds": self.fit_seconds.tolist(),
            "predict_seconds": self.predict_seconds.tolist(),
            "settings": self.settings,
        }

    def _known(self) -> NDArray:
        return self.scores[~np.isnan(self.scores)]


class _Fold(NamedTuple):
    repeat: int
    number: int
    train: NDArray  # int64, row numbers
    test: NDArray


def cross_validate(
    learner: Any,
    X: Any,
    y: Any,
    folds: int = 10,
    repeats: int = 5,
    missing: float = 0.0,
    seed: int = 0,
    protocol: str = "delete-once",
    *,
    on_fold: Callable[[int, int, float], None] | None = None,
) -> CrossValidation:
    """Score a learner by repeated cross-validation, the same folds for every learner.

    Parameters
    ----------
    learner : estimator or str
        An estimator with ``fit(X, y)`` and ``predict(X)``, which is cloned for every fold, or a
        name in ``lrrf_jax.LEARNERS``.
    X : array-like or data frame, shape (n_samples, n_features)
    y : array-like or data frame, shape (n_samples, n_labels)
        Positions, 1 = best; NaN is a missing label.
    folds : int
        Parts of near-equal size into which the shuffled rows are cut, from 2 to n_samples.
    repeats : int
        Times that this is done, each time shuffled anew.
    missing : float
        Probability, in [0, 1), with which each label of a training ranking is deleted; the
        survivors are ranked 1..m' again. Test rankings stay as they are.
    seed : int
        Not negative. It fixes the folds, the deleted labels and the ``random_state`` of every
        clone, one for each repeat and fold. Folds and deleted labels do not depend on the
        learner; the folds do not depend on ``missing`` either, and a larger ``missing`` deletes
        the same labels and more.
    protocol : {"delete-once"}
        Labels are deleted once a repeat for the whole table, so a row lacks the same labels in
        every fold that trains on it (Zhou and Qiu 2018, section 5.1, as written).
    on_fold : callable, optional
        Called after every fold with the repeat and the fold, both from 0, and the score.

    Returns
    -------
    CrossValidation
        With ``scores`` (repeats, folds), ``mean``, ``std``, seconds, and ``to_dict()``.

    Raises
    ------
    InputError
        For arguments outside their range, a name that is not known, and tables that cannot be
        used; what a learner refuses is told with the repeat and the fold.

    Examples
    --------
    >>> from lrrf_jax.datasets import load
    >>> iris = load("iris")
    >>> result = cross_validate("default", iris.X, iris.y, folds=5, repeats=2, missing=0.3)
    >>> result.scores.shape
    (2, 5)
    """
    estimator = _estimator(learner)
    require_choice(protocol, "protocol", PROTOCOLS)
    require_integer(repeats, "repeats", 1)
    require_integer(seed, "seed", 0)
    if not 0 <= missing < 1:
        raise InputError(f"missing must be a probability in [0, 1); it is {missing!r}.")
    take, n_samples = _rows(X)
    rankings = require_rankings(y, n_samples)
    require_integer(folds, "folds", 2, n_samples)
    if not ((~np.isnan(rankings)).sum(1) > 1).any():
        raise InputError("y must rank two labels in one row at least; no row does.")
    scores, fit_seconds, predict_seconds = np.full((3, repeats, folds), np.nan)
    for repeat in range(repeats):
        incomplete = delete_labels(rankings, missing, _generator(seed, repeat, _DELETION))
        for fold in _folds(n_samples, folds, seed, repeat):
            ranker = _seeded(clone(estimator), seed, repeat, fold.number)
            at = repeat, fold.number
            started = time.perf_counter()
            _fit(ranker, take(fold.train), incomplete[fold.train], fold, missing > 0)
            fitted = time.perf_counter()
            predicted = ranker.predict(take(fold.test))
            fit_seconds[at] = fitted - started
            predict_seconds[at] = time.perf_counter() - fitted
            taus = metrics.kendall_tau(rankings[fold.test], predicted, per_row=True)
            if not np.isnan(taus).all():
                scores[at] = np.nanmean(taus)
            if on_fold is not None:
                on_fold(repeat, fold.number, float(scores[at]))
    settings = {
        "folds": int(folds),
        "repeats": int(repeats),
        "missing": float(missing),
        "seed": int(seed),
        "protocol": protocol,
        "params": {key: _plain(value) for key, value in estimator.get_params().items()},
    }
    name = getattr(estimator, "name", None) or type(estimator).__name__
    return CrossValidation(name, scores, fit_seconds, predict_seconds, settings)


def _estimator(learner: Any) -> Any:
    if isinstance(learner, str):
        if learner not in LEARNERS:
            raise InputError(
                f"there is no learner {learner!r}; there are {', '.join(LEARNERS)}. Give one of "
                "these names, or an estimator."
            )
        return LEARNERS[learner]()
    if isinstance(learner, type) or not all(
        hasattr(learner, method) for method in ("fit", "predict", "get_params")
    ):
        raise InputError(
            "learner must be an estimator with fit, predict and get_params, or one of the names "
            f"{', '.join(LEARNERS)}; it is {learner!r}."
        )
    return learner


def _rows(X: Any) -> tuple[Callable[[NDArray], Any], int]:
    """Return the function that takes rows of ``X``, a data frame kept as one, and their number."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return (lambda rows: frame[rows].to_native()), len(frame)
    try:
        table = np.asarray(X)
    except ValueError as error:
        raise InputError("X must be a table; its rows have different lengths.") from error
    if table.ndim != 2:
        raise InputError(
            f"X must have two dimensions, (n_samples, n_features); it has shape {table.shape}."
        )
    return functools.partial(np.take, table, axis=0), len(table)


def _generator(seed: int, repeat: int, purpose: int) -> np.random.Generator:
    return np.random.default_rng([seed, repeat, purpose])


def _folds(n_samples: int, folds: int, seed: int, repeat: int) -> list[_Fold]:
    order = _generator(seed, repeat, _FOLDS).permutation(n_samples)
    parts = []
    for number, test in enumerate(np.array_split(order, folds)):
        in_test = np.zeros(n_samples, bool)
        in_test[test] = True
        # In the order of the table: what a learner sees does not depend on the shuffle.
        parts.append(_Fold(repeat, number, np.flatnonzero(~in_test), np.flatnonzero(in_test)))
    return parts


def _seeded(ranker: Any, seed: int, repeat: int, fold: int) -> Any:
    """Set every ``random_state`` of an estimator, also of its parts."""
    draws = np.random.default_rng([seed, repeat, _ESTIMATOR, fold])
    names = [name for name in ranker.get_params() if name.split("__")[-1] == "random_state"]
    states = {name: int(draws.integers(2**31 - 1)) for name in sorted(names)}
    return ranker.set_params(**states)


def _fit(ranker: Any, X: Any, y: NDArray, fold: _Fold, deleted: bool) -> None:
    with warnings.catch_warnings():
        if deleted:  # rows that lost nearly all labels are what was asked for
            warnings.filterwarnings("ignore", message=".*rows rank too few labels")
        try:
            ranker.fit(X, y)
        except InputError as error:
            raise InputError(
                f"repeat {fold.repeat}, fold {fold.number} (both from 0): {error}"
            ) from error


def _plain(value: Any) -> Any:
    """Return what JSON can hold of a parameter: itself, or else its text."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, bool | int | float | str | None) else repr(value)
