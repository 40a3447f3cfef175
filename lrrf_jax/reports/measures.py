"""The part of a page that tells what is measured beside tau, next to what it is compared with."""

from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.evaluation import CrossValidation, Run, Summary
from lrrf_jax.evaluation.measured import BASELINES, LEARNER
from lrrf_jax.evaluation.measures import as_measure
from lrrf_jax.reports.parts import Number, Table, Text, number

_TIE = 1e-12  # values this near are called equally good
_NOTE = (
    "“single best” takes the labels in the order of their mean score in the training rows of each "
    "fold, of their mean Borda score where there are no scores; “random” is the mean over all "
    "orders; “oracle” knows the test rows. Of scores, values are those of all test rows of a "
    "repeat together, averaged over the repeats: gap_closed is 0 for the single best and 1 for "
    "the oracle. Of rankings, they are means over the folds, as tau is."
)


def measures(summary: Summary, share: float, identity: str) -> list[Table | Text]:
    """Write a table for each data set, learners above, baselines below; nothing without them."""
    parts: list[Table | Text] = []
    for k, data in enumerate(summary.datasets):
        found = {
            learner: run
            for learner in summary.learners
            if (run := summary.runs.get(Run(data, share, learner))) is not None and run.measured
        }
        if found:
            parts.append(_table(data, found, f"{identity}-{k}"))
    return [*parts, Text(_NOTE)] if parts else []


def _table(data: str, runs: dict[str, CrossValidation], identity: str) -> Table:
    first = next(iter(runs.values()))
    names = list(first.measured)
    values = np.array([[run.measured[name].overall() for name in names] for run in runs.values()])
    signs = np.array([1 if as_measure(name).larger_is_better else -1 for name in names])
    rows = [
        [learner, *_cells(of_learner, _are_best(values, of_learner, signs))]
        for learner, of_learner in zip(runs, values, strict=True)
    ]
    foot = [
        [base, *(number(first.measured[name].overall(base)) for name in names)]
        for base in BASELINES
    ]
    header = (LEARNER.capitalize(), *(_heading(name) for name in names))
    caption = f"What is measured beside tau on {data}; the best learner of a column in bold"
    return Table(identity, caption, header, rows, foot)


def _are_best(values: NDArray, of_learner: NDArray, signs: NDArray) -> list[bool]:
    """Tell the columns in which a learner is the best of several."""
    if len(values) < 2:
        return [False] * len(signs)
    better = np.where(np.isnan(values), -np.inf, values * signs)
    best = better.max(axis=0)
    slack = _TIE * np.maximum(1, np.abs(np.where(np.isfinite(best), best, 0)))
    return list(np.nan_to_num(of_learner * signs, nan=-np.inf) >= best - slack)


def _cells(values: NDArray, are_best: list[bool]) -> list[Number]:
    return [
        number(float(value), **({"is_best": True} if best and not np.isnan(value) else {}))
        for value, best in zip(values, are_best, strict=True)
    ]


def _heading(name: str) -> Any:
    """Say which way a measure goes."""
    return f"{name} {'↑' if as_measure(name).larger_is_better else '↓'}"
