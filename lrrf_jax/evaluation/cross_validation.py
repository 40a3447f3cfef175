"""Repeated cross-validation of one label ranker on one table."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import require_integer
from lrrf_jax.evaluation.protocol import (
    DELETE_ONCE,
    Protocol,
    as_estimator,
    as_table,
    learner_name,
    plain_params,
    run_fold,
    warn_of_unranked_labels,
)


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
        """Mean score of all folds of all repeats; NaN where none has one."""
        known = self._known()
        return float(known.mean()) if known.size else float("nan")

    @property
    def std(self) -> float:
        """Standard deviation of the scores of all folds of all repeats (divisor: number - 1)."""
        known = self._known()
        return float(known.std(ddof=1)) if known.size > 1 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, texts, lists and dicts that JSON can hold."""
        return {
            "learner": self.learner,
            "mean": None if np.isnan(self.mean) else self.mean,
            "std": self.std,
            "scores": _json_list(self.scores),
            "fit_seconds": _json_list(self.fit_seconds),
            "predict_seconds": _json_list(self.predict_seconds),
            "settings": self.settings,
        }

    def _known(self) -> NDArray:
        return self.scores[~np.isnan(self.scores)]


def _json_list(values: NDArray) -> list[Any]:
    """Nested lists with None for NaN, which JSON has no word for."""
    cells = values.astype(object)
    cells[np.isnan(values)] = None
    return cells.tolist()


def cross_validate(
    learner: Any,
    X: Any,
    y: Any,
    folds: int = 10,
    repeats: int = 5,
    missing: float = 0.0,
    seed: int = 0,
    protocol: str = DELETE_ONCE,
    *,
    sample_weight: Any = None,
    stratified: bool = False,
    folds_run: int | None = None,
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
        Positions, 1 = best; NaN is a missing label. A label that no training row of a fold ranks
        is predicted last there, and warned of once, under its name in a data frame.
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
    protocol : {"delete-once", "as-run-by-authors"}
        "delete-once": labels are deleted once a repeat for the whole table, so a row lacks the
        same labels in every fold that trains on it (Zhou and Qiu 2018, section 5.1, as written).
        "as-run-by-authors": trees are grown on complete rankings, and labels deleted afresh in
        every leaf for every query; for ``RandomForestLabelRanker(criterion="rac")`` alone, which
        the name "lr-rf" then stands for. It reproduces the paper's figures for missing labels;
        they say nothing of how well a learner does that never saw those labels.
    sample_weight : array-like, shape (n_samples,), optional
        Weights of the rows, in training and in the mean over the test rows.
    stratified : bool
        Spread the rows of each distinct ranking evenly over the folds.
    folds_run : int, optional
        Run the first folds of each repeat only, as many as this; they are those of a full run.
    on_fold : callable, optional
        Called after every fold with the repeat and the fold, both from 0, and the score.

    Returns
    -------
    CrossValidation
        With ``scores`` (repeats, folds or folds_run), ``mean``, ``std``, seconds, ``to_dict()``.

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
    estimator = as_estimator(learner, protocol)
    require_integer(repeats, "repeats", 1)
    table = as_table(X, y, sample_weight)
    require_integer(folds, "folds", 2, table.n_samples)
    rules = Protocol(folds, missing, seed, protocol, stratified)
    if folds_run is not None:
        require_integer(folds_run, "folds_run", 1, folds)
    warn_of_unranked_labels(table, rules, repeats, folds_run or folds)
    scores, fit_seconds, predict_seconds = np.full((3, repeats, folds_run or folds), np.nan)
    for repeat, number in np.ndindex(repeats, scores.shape[1]):
        score = run_fold(estimator, table, rules, repeat, number)
        scores[repeat, number], fit_seconds[repeat, number], predict_seconds[repeat, number] = score
        if on_fold is not None:
            on_fold(repeat, number, score.tau)
    settings: dict[str, Any] = {
        "folds": int(folds),
        "repeats": int(repeats),
        "missing": float(missing),
        "seed": int(seed),
        "protocol": protocol,
        "stratified": bool(stratified),
        "params": plain_params(estimator),
    }
    return CrossValidation(learner_name(estimator), scores, fit_seconds, predict_seconds, settings)
