"""Repeated cross-validation of one label ranker on one table."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_integer
from lrrf_jax.evaluation.folds import DEFAULT_FOLDS
from lrrf_jax.evaluation.measured import BASELINES, ROWS, Measured, Sums, gathered, json_list
from lrrf_jax.evaluation.measures import as_measures
from lrrf_jax.evaluation.protocol import (
    DELETE_ONCE,
    Protocol,
    as_estimator,
    learner_name,
    plain_params,
    require_agreement,
    run_fold,
    warn_of_unranked_labels,
)
from lrrf_jax.evaluation.report_table import ReportTable
from lrrf_jax.evaluation.tables import OF_RANKINGS, as_table
from lrrf_jax.evaluation.unranked import warn_of_short_rows


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
    measured : dict of str to Measured
        The other measures, by name, with their baselines; see `measures` and `table`.
    """

    learner: str
    scores: NDArray
    fit_seconds: NDArray
    predict_seconds: NDArray
    settings: dict[str, Any]
    measured: dict[str, Measured] = dataclasses.field(default_factory=dict)

    @property
    def measures(self) -> dict[str, NDArray]:
        """Values of the other measures, float64 (repeats, folds); NaN where one is undefined."""
        return {name: found.folds() for name, found in self.measured.items()}

    def table(self) -> ReportTable:
        """Return the other measures of the learner and its baselines, a line each, over all folds.

        "single best" tries the labels in the order of their mean score in the training rows of
        each fold, "random" is the mean over all orders, "oracle" knows the test rows. Measures of
        scores are pooled over the test rows of a repeat and averaged over the repeats, so that
        ``gap_closed`` is a ratio of means; those of rankings are means over the folds, as tau is.

        Raises
        ------
        InputError
            Where nothing was measured beside tau.
        """
        if not self.measured:
            raise InputError(
                "measures must name what the table is to show; nothing was measured beside tau. "
                "Say cross_validate(..., measures=['kendall_tau']) for tau beside its baselines."
            )
        names = (self.learner, *BASELINES)
        rows = [
            (name, *(found.overall(row) for found in self.measured.values()))
            for name, row in zip(names, ROWS, strict=True)
        ]
        title = "Measures beside tau, and what a learner is compared with"
        return ReportTable(title, ("learner", *self.measured), rows, decimals=4)

    def __str__(self) -> str:
        folds = self._known().size
        return (
            f"{self.learner}: tau {self.mean:.4f}, standard deviation {self.std:.4f}, {folds} folds"
        )

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
        document = {
            "learner": self.learner,
            "mean": None if np.isnan(self.mean) else self.mean,
            "std": self.std,
            "scores": json_list(self.scores),
            "fit_seconds": json_list(self.fit_seconds),
            "predict_seconds": json_list(self.predict_seconds),
            "settings": self.settings,
        }
        if self.measured:
            document["measures"] = {name: found.to_dict() for name, found in self.measured.items()}
        return document

    def _known(self) -> NDArray:
        return self.scores[~np.isnan(self.scores)]


def cross_validate(
    learner: Any,
    X: Any,
    y: Any = None,
    folds: Any = DEFAULT_FOLDS,
    repeats: int = 5,
    missing: float = 0.0,
    seed: int = 0,
    protocol: str = DELETE_ONCE,
    *,
    scores: Any = None,
    groups: Any = None,
    measures: Sequence[str] | None = None,
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
    y : array-like or data frame, shape (n_samples, n_labels), optional
        Positions, 1 = best; NaN is a missing label. A label that no training row of a fold ranks
        is predicted last there, and warned of once, under its name in a data frame. It may be
        left out where there are ``scores``.
    folds : int, "leave-one-out", array-like (n_samples,), or splitter
        How rows are cut. An int: parts of near-equal size into which the shuffled rows are cut,
        from 2 to n_samples; with ``groups``, whole groups in shuffled order, each into the fold
        that has the fewest rows by then, so that folds differ by no more than the largest group.
        "leave-one-out": each row, with ``groups`` each group, is tested by what the others train.
        An array: whole numbers, the fold that tests each row; the
        smallest is fold 0. An object with ``split(X, y, groups)``, as those of
        ``sklearn.model_selection``: ``y`` is the number of the ranking among the distinct ones;
        a ``random_state`` of None is drawn from the seed.
    repeats : int
        Times that this is done, each time shuffled anew; folds that are given stay as they are,
        and the seeds of the learner and the deleted labels differ.
    missing : float
        Probability, in [0, 1), with which each label of a training ranking is deleted; the
        survivors are ranked 1..m' again. Test rankings stay as they are.
    seed : int
        Not negative. It fixes the folds, the deleted labels and the ``random_state`` of every
        clone, one for each repeat and fold. Folds and deleted labels do not depend on the
        learner; the folds do not depend on ``missing`` either, and a larger ``missing`` deletes
        the same labels and more. Scores of deleted labels are deleted, too.
    protocol : {"delete-once", "as-run-by-authors"}
        "delete-once": labels are deleted once a repeat for the whole table, so a row lacks the
        same labels in every fold that trains on it (Zhou and Qiu 2018, section 5.1, as written).
        "as-run-by-authors": trees are grown on complete rankings, and labels deleted afresh in
        every leaf for every query; for ``RandomForestLabelRanker(criterion="rac")`` alone, which
        the name "lr-rf" then stands for. It reproduces the paper's figures for missing labels;
        they say nothing of how well a learner does that never saw those labels.
    scores : array-like or data frame, shape (n_samples, n_labels), optional
        What each label is worth, larger is better, NaN is unknown. Without ``y``, learners are
        fitted to them, ``fit(X, scores=...)``, and tau is that of their order; estimators that
        take no scores are fitted to that order, with ties at the mean of their places. With ``y``,
        they are for measures alone. Labels of two data frames are paired by name.
    groups : array-like, shape (n_samples,), optional
        Rows of a group are never split between training and test. Any values that are equal
        within a group; a splitter gets them, and one that splits a group is refused.
    measures : sequence of str, optional
        What to measure beside tau: names of `lrrf_jax.metrics`, with "@k" where they take a k, as
        in ``["regret", "regret@3", "ndcg"]``. By default, where there are scores, "utility",
        "regret", "relative_regret", "gap_closed" and "hit_rate"; else nothing.
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
        With ``scores`` (repeats, folds or folds_run), ``mean``, ``std``, seconds, ``to_dict()``;
        the other measures in ``measures``, beside their baselines in ``table()``.

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

    What the first choice is worth, where the scores of labels are known:

    >>> yields = [[90, 40, 0], [80, 70, 10], [20, 60, 60], [0, 50, 70]] * 5
    >>> wanted = ["utility", "regret", "gap_closed"]
    >>> result = cross_validate("default", [[0]] * 20, scores=yields, repeats=1, measures=wanted)
    >>> print(result.table().to_markdown())
    | learner | utility | regret | gap_closed |
    | --- | ---: | ---: | ---: |
    | default | 51.0000 | 24.0000 | -.2000 |
    | single best | 55.0000 | 20.0000 | .0000 |
    | random | 45.8333 | 29.1667 | -.4583 |
    | oracle | 75.0000 | .0000 | 1.0000 |
    """
    estimator = as_estimator(learner, protocol)
    require_integer(repeats, "repeats", 1)
    require_integer(seed, "seed", 0)
    table = as_table(X, y, sample_weight, scores=scores, groups=groups, folds=folds, seed=int(seed))
    n_folds = table.splits.n_folds
    wanted = as_measures(measures, table.scores is not None, len(table.labels))
    rules = Protocol(n_folds, missing, seed, protocol, stratified, wanted)
    require_agreement(table, rules)
    if folds_run is not None:
        require_integer(folds_run, "folds_run", 1, n_folds)
    warn_of_short_rows(table.rankings)
    warn_of_unranked_labels(table, rules, repeats, folds_run or n_folds)
    taus, fit_seconds, predict_seconds = np.full((3, repeats, folds_run or n_folds), np.nan)
    sums: dict[tuple[int, int], dict[str, Sums]] = {}
    for repeat, number in np.ndindex(*taus.shape):
        at = repeat, number
        score = run_fold(estimator, table, rules, repeat, number)
        taus[at], fit_seconds[at], predict_seconds[at], sums[at] = score
        if on_fold is not None:
            on_fold(repeat, number, score.tau)
    settings: dict[str, Any] = {
        "folds": int(n_folds),
        "repeats": int(repeats),
        "missing": float(missing),
        "seed": int(seed),
        "protocol": protocol,
        "stratified": bool(stratified),
        **further_settings(table.splits.name, table.target),
        "params": plain_params(estimator),
    }
    measured = gathered(sums, *taus.shape)
    name = learner_name(estimator)
    return CrossValidation(name, taus, fit_seconds, predict_seconds, settings, measured)


def further_settings(splits: str, target: str) -> dict[str, Any]:
    """Return the settings that are told only where they are not the usual ones."""
    found = {"splits": splits} if splits else {}
    return found if target == OF_RANKINGS else {**found, "target": target}
