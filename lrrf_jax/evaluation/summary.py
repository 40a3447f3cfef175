"""Results of single folds, gathered by data set, share of missing labels and learner."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lrrf_jax._validation import InputError
from lrrf_jax.evaluation.cross_validation import CrossValidation, further_settings
from lrrf_jax.evaluation.measured import gathered
from lrrf_jax.evaluation.results import FoldResult
from lrrf_jax.evaluation.score_table import ScoreTable


class Run(NamedTuple):
    """What was cross-validated: one learner on one data set."""

    data: str
    missing: float
    learner: str


class Summary(NamedTuple):
    """A comparison, as `summarize` returns it.

    Attributes
    ----------
    runs : dict of Run to CrossValidation
        In the order of the results; a pair of which nothing is known has no entry.
    datasets, learners : tuple of str
    shares : tuple of float
        Of the labels that were deleted.
    version : str
        Of lrrf_jax.
    platforms : tuple of str
        Other versions and devices that the results come from; several, where a results file was
        filled by several machines.
    """

    runs: dict[Run, CrossValidation]
    datasets: tuple[str, ...]
    learners: tuple[str, ...]
    shares: tuple[float, ...]
    version: str
    platforms: tuple[str, ...]

    def on(self, data: str, share: float) -> dict[str, CrossValidation]:
        """Results of the learners that have a score on a data set, by their names."""
        found = {learner: self.runs.get(Run(data, share, learner)) for learner in self.learners}
        return {
            learner: run
            for learner, run in found.items()
            if run is not None and not np.isnan(run.scores).all()
        }

    def scores(self, share: float) -> ScoreTable:
        """Mean tau of the learners on the data sets; NaN where there is none."""
        means = np.full((len(self.datasets), len(self.learners)), np.nan)
        for i, data in enumerate(self.datasets):
            for learner, run in self.on(data, share).items():
                means[i, self.learners.index(learner)] = run.mean
        return ScoreTable(means, self.datasets, self.learners)


def summarize(results: Iterable[FoldResult]) -> Summary:
    """Gather the results of `compare`.

    Parameters
    ----------
    results : iterable of FoldResult
        Of one setting: the same folds, seed and protocol for all. A fold that is lacking is NaN.

    Returns
    -------
    Summary

    Raises
    ------
    InputError
        Without results, and for results of several settings, as a results file may hold.

    Examples
    --------
    >>> from lrrf_jax.datasets import load
    >>> from lrrf_jax.evaluation import compare
    >>> iris = load("iris")
    >>> summary = summarize(compare(["default"], {"iris": (iris.X, iris.y)}, repeats=2))
    >>> summary.runs["iris", 0.0, "default"].scores.shape
    (2, 10)
    """
    folds = list(results)
    if not folds:
        raise InputError("results must hold one fold at least; there is none.")
    _require_one_setting(folds)
    groups: dict[Run, list[FoldResult]] = {}
    for fold in folds:
        groups.setdefault(Run(fold.data, fold.missing, fold.learner), []).append(fold)
    # As many rows and columns for all, so that a learner that failed on some folds shows gaps.
    n_repeats = 1 + max(fold.repeat for fold in folds)
    n_folds = {run.data: 0 for run in groups}
    for fold in folds:
        n_folds[fold.data] = max(n_folds[fold.data], fold.fold + 1)
    return Summary(
        {
            run: _cross_validation(part, n_repeats, n_folds[run.data])
            for run, part in groups.items()
        },
        tuple(dict.fromkeys(run.data for run in groups)),
        tuple(dict.fromkeys(run.learner for run in groups)),
        tuple(dict.fromkeys(run.missing for run in groups)),
        folds[0].version,
        tuple(dict.fromkeys(fold.platform for fold in folds)),
    )


def _require_one_setting(results: Sequence[FoldResult]) -> None:
    for name in ("protocol", "stratified", "seed", "version"):
        _require_one(name, {getattr(result, name): None for result in results})
    # Folds that a table brings are its own; those that are shuffled are the same for all tables.
    _require_one("folds", {result.folds: None for result in results if not result.splits})
    for data in dict.fromkeys(result.data for result in results):
        of_data = [result for result in results if result.data == data]
        _require_one("folds", {result.folds: None for result in of_data}, data)
        _require_one("splits", {result.splits: None for result in of_data}, data)
        _require_one("target", {result.target: None for result in of_data}, data)
        _require_one("measures", {tuple(sorted(result.sums)): None for result in of_data}, data)
    params: dict[Run, str] = {}
    for result in results:
        run = Run(result.data, result.missing, result.learner)
        if params.setdefault(run, result.params) != result.params:
            raise InputError(
                f"results must be of one comparison; '{run.learner}' ran on '{run.data}' with "
                f"{params[run]} and {result.params}. Choose those of one."
            )


def _require_one(name: str, found: Iterable[Any], data: str = "") -> None:
    values = list(found)
    if len(values) > 1:
        where = f" on '{data}'" if data else ""
        raise InputError(
            f"results must be of one comparison; their {name}{where} is {values[0]!r} and "
            f"{values[1]!r}. Choose those of one."
        )


def _cross_validation(
    results: Sequence[FoldResult], n_repeats: int, n_folds: int
) -> CrossValidation:
    scores, fit_seconds, predict_seconds = np.full((3, n_repeats, n_folds), np.nan)
    for result in results:
        at = result.repeat, result.fold
        scores[at] = result.tau
        fit_seconds[at], predict_seconds[at] = result.fit_seconds, result.predict_seconds
    first = results[0]
    settings = {
        "folds": first.folds,
        "repeats": n_repeats,
        "missing": first.missing,
        "seed": first.seed,
        "protocol": first.protocol,
        "stratified": first.stratified,
        **further_settings(first.splits, first.target),
        "params": json.loads(first.params),
    }
    sums = {(result.repeat, result.fold): result.sums for result in results}
    measured = gathered(sums, n_repeats, n_folds)
    return CrossValidation(first.learner, scores, fit_seconds, predict_seconds, settings, measured)
