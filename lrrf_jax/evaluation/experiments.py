"""The experiments of Zhou and Qiu (2018), sections 5 and 6, with every learner that there is.

Tables are set against what the paper prints; curves show tau against the share of missing labels,
the number of trees and their depth. Data sets are given as a mapping from names to ``(X, y)``.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_choice
from lrrf_jax.evaluation.comparison import compare
from lrrf_jax.evaluation.protocol import AS_RUN_BY_AUTHORS, DELETE_ONCE
from lrrf_jax.evaluation.published import published_table
from lrrf_jax.evaluation.report_table import ReportTable
from lrrf_jax.evaluation.results import FoldResult
from lrrf_jax.evaluation.score_table import ScoreTable, rank_table
from lrrf_jax.learners import LEARNERS

# Learner -> its column in the paper's tables.
COLUMNS = {
    "lr-rf": "LR-RF",
    "cc": "CC",
    "ll": "LL",
    "rpc": "RPC",
    "ib-m": "IB-M",
    "ib-pl": "IB-PL",
    "lrt": "LRT",
    "lrt-bag": "LRT+bag",
    "w-lrt-bag": "W-LRT+bag",
    "f-lrt-bag": "F-LRT+bag",
    "lrf-rt": "LRF-RT",
    "lrf-ert": "LRF-ERT",
}
MISSING_OF_TABLE = {2: 0.0, 3: 0.0, 4: 0.3, 5: 0.6}
AS_RUN = "lr-rf as run by the authors"
# Tables of as many rows are cross-validated once: their folds hold rows enough for a mean.
LARGE = 5000
CURVE_SETS = ("glass", "housing", "iris", "wine")
CURVES: dict[str, tuple[float, ...]] = {
    "noise": tuple(round(0.1 * k, 1) for k in range(1, 9)),
    "trees": (1, 2, 3, 5, 10, 15, 20, 25, 30, 40, 50, 60, 75),
    "depth": tuple(range(1, 16)),
}
_PARAMETER = {"trees": "n_estimators", "depth": "max_depth"}

Tables = Mapping[str, tuple[Any, Any]]


@dataclasses.dataclass(frozen=True)
class TableExperiment:
    """Learners on data sets, against a table of the paper, as `table_experiment` returns it.

    Attributes
    ----------
    number : int
        The table of the paper.
    methods, datasets : tuple of str
        What was run, on what; the forest as run by the authors is the last method.
    scores, std : float64 (n_datasets, n_methods)
        Mean tau of all folds, and its standard deviation over them.
    printed : float64 (n_datasets, n_methods)
        Figures of the paper; NaN where it has none.
    n_folds : int64 (n_datasets,)
        Folds that were run.
    """

    number: int
    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    scores: NDArray
    std: NDArray
    printed: NDArray
    n_folds: NDArray

    @property
    def honest(self) -> ScoreTable:
        """Scores of the methods that never saw a deleted label, for tests of significance."""
        kept = [k for k, method in enumerate(self.methods) if method != AS_RUN]
        names = tuple(self.methods[k] for k in kept)
        return ScoreTable(self.scores[:, kept], self.datasets, names)

    def rows(self) -> ReportTable:
        """Return one line per data set and method."""
        header = ("data", "learner", "tau", "std", "folds", "printed", "gap")
        rows = [
            (
                data,
                method,
                float(self.scores[i, j]),
                float(self.std[i, j]),
                int(self.n_folds[i]),
                float(self.printed[i, j]),
                float(self.scores[i, j] - self.printed[i, j]),
            )
            for i, data in enumerate(self.datasets)
            for j, method in enumerate(self.methods)
        ]
        return ReportTable(self._title(), header, rows)

    def report(self) -> ReportTable:
        """Return one line per data set, with two columns per method: measured and printed."""
        header, columns = ["data"], []
        for j, method in enumerate(self.methods):
            header.append(method)
            columns.append(self.scores[:, j])
            if not np.isnan(self.printed[:, j]).all():
                header.append("printed")
                columns.append(self.printed[:, j])
        values = np.column_stack(columns)
        rows: list[list[Any]] = [
            [data, *map(float, row)] for data, row in zip(self.datasets, values, strict=True)
        ]
        rows.append(["mean", *map(float, values.mean(0))])
        if min(self.honest.scores.shape) > 1:  # else there is nothing to average or to rank
            ranks = dict(zip(self.honest.methods, rank_table(self.honest).mean(0), strict=True))
            rows.append(["average rank", *(float(ranks.get(name, np.nan)) for name in header[1:])])
        gaps = {
            method: float(np.abs(self.scores[:, j] - self.printed[:, j]).mean())
            for j, method in enumerate(self.methods)
        }
        rows.append(["mean gap to printed", *(gaps.get(name, np.nan) for name in header[1:])])
        return ReportTable(self._title(), tuple(header), rows)

    def _title(self) -> str:
        missing = MISSING_OF_TABLE[self.number]
        return (
            f"Kendall's tau with {missing:.0%} of the training labels deleted, against table "
            f"{self.number} of Zhou and Qiu (2018)"
        )


def table_experiment(
    number: int, tables: Tables, learners: Sequence[str] | None = None, **options: Any
) -> TableExperiment:
    """Redo a table of the paper with the learners of this library.

    Labels are deleted once from the training rankings; the forest as the authors ran it, which
    the printed LR-RF column comes from, is added where "lr-rf" is among the learners.

    Parameters
    ----------
    number : {2, 3, 4, 5}
        2 and 3 have complete rankings, 4 and 5 lack 30 and 60 % of the labels.
    tables : mapping of str to (X, y)
        Data sets, under the names that the paper gives them.
    learners : sequence of str, optional
        Names in ``LEARNERS``; by default all.
    **options
        Of `compare`: ``folds``, ``repeats`` (one only for tables of 5,000 rows and more),
        ``folds_run``, ``seed``, ``results``, ``n_jobs``, ``progress``; and ``large_folds_run``,
        which stands for ``folds_run`` on tables of 5,000 rows and more.
    """
    require_choice(number, "number", tuple(MISSING_OF_TABLE))
    names = _learner_names(learners)
    options["missing"] = [MISSING_OF_TABLE[number]]
    found = _run(dict.fromkeys(names, None), tables, options)
    methods = list(names)
    if "lr-rf" in names:
        as_run = {"lr-rf": None}
        found += [
            dataclasses.replace(result, learner=AS_RUN)
            for result in _run(as_run, tables, options, AS_RUN_BY_AUTHORS)
        ]
        methods.append(AS_RUN)
    shape = len(tables), len(methods)
    scores, std, printed = np.full((3, *shape), np.nan)
    n_folds = np.zeros(len(tables), np.int64)
    published = published_table(number)
    for i, data in enumerate(tables):
        for j, method in enumerate(methods):
            taus = _taus(found, data=data, learner=method)
            scores[i, j], std[i, j] = np.nanmean(taus), _std(taus)
            n_folds[i] = len(taus)
            column = COLUMNS.get("lr-rf" if method == AS_RUN else method)
            if data in published.datasets and column in published.methods:
                at = published.datasets.index(data), published.methods.index(column)
                printed[i, j] = published.scores[at]
    return TableExperiment(number, tuple(methods), tuple(tables), scores, std, printed, n_folds)


@dataclasses.dataclass(frozen=True)
class CurveExperiment:
    """Scores of learners against a setting, as `curve_experiment` returns it.

    Attributes
    ----------
    name : {"noise", "trees", "depth"}
    values : tuple
        Of the setting.
    runs : dict of (data, method) to float64 (n_values, n_runs)
        Mean tau of each repeat; of each fold where there is one repeat.
    """

    name: str
    values: tuple[Any, ...]
    runs: dict[tuple[str, str], NDArray]

    def rows(self) -> ReportTable:
        """Return one line per data set, method and value, with mean and deviation over the runs."""
        rows = [
            (data, method, value, float(np.nanmean(taus)), _std(taus), len(taus))
            for (data, method), runs in self.runs.items()
            for value, taus in zip(self.values, runs, strict=True)
        ]
        return ReportTable(
            self._title(), ("data", "learner", self.name, "tau", "std", "runs"), rows
        )

    def report(self) -> ReportTable:
        """Return one line per data set and method, one column per value."""
        header = ("data", "learner", *(str(value) for value in self.values))
        rows = [
            (data, method, *(float(np.nanmean(taus)) for taus in runs))
            for (data, method), runs in self.runs.items()
        ]
        return ReportTable(self._title(), header, rows)

    def _title(self) -> str:
        what = {
            "noise": "the share of training labels deleted",
            "trees": "the number of trees",
            "depth": "the largest depth of the trees",
        }
        return f"Kendall's tau against {what[self.name]}"


def curve_experiment(
    name: str,
    tables: Tables,
    learners: Sequence[str] | None = None,
    values: Sequence[Any] | None = None,
    **options: Any,
) -> CurveExperiment:
    """Cross-validate learners at every value of a setting, on the same folds.

    Parameters
    ----------
    name : {"noise", "trees", "depth"}
    tables : mapping of str to (X, y)
    learners : sequence of str, optional
        By default all for "noise", and "lr-rf" for the others, which need learners with
        ``n_estimators`` or ``max_depth``.
    values : sequence, optional
        By default those of ``CURVES``.
    **options
        As `table_experiment` takes them; ``missing`` for "trees" and "depth" too.
    """
    require_choice(name, "name", tuple(CURVES))
    values = tuple(CURVES[name] if values is None else values)
    if learners is None and name != "noise":
        learners = ["lr-rf"]
    names = _learner_names(learners)
    if name == "noise":
        found = _run(dict.fromkeys(names, None), tables, options | {"missing": list(values)})
        at = [{"missing": float(value)} for value in values]
    else:
        at = [{} for _ in values]
        found = []
        for learner in names:
            if _PARAMETER[name] not in LEARNERS[learner]().get_params():
                raise InputError(f"'{learner}' has no parameter {_PARAMETER[name]}; leave it out.")
        swept = {
            f"{learner} {value}": LEARNERS[learner]().set_params(**{_PARAMETER[name]: value})
            for learner in names
            for value in values
        }
        found = _run(swept, tables, options)
    runs = {}
    for data in tables:
        for learner in names:
            runs[data, learner] = np.array(
                [
                    _runs(found, data, learner if name == "noise" else f"{learner} {value}", where)
                    for value, where in zip(values, at, strict=True)
                ]
            )
    return CurveExperiment(name, values, runs)


def _learner_names(learners: Sequence[str] | None) -> list[str]:
    names = list(LEARNERS if learners is None else dict.fromkeys(learners))
    unknown = [name for name in names if name not in LEARNERS]
    if unknown or not names:
        raise InputError(LEARNERS.no_learner((unknown or [""])[0]))
    return names


def _run(
    learners: Mapping[str, Any],
    tables: Tables,
    options: Mapping[str, Any],
    protocol: str = DELETE_ONCE,
) -> list[FoldResult]:
    """Compare on small tables with all repeats, on large ones with one."""
    estimators = {name: name if value is None else value for name, value in learners.items()}
    of_all = dict(options)
    large_folds_run = of_all.pop("large_folds_run", None)
    of_large = of_all | {"repeats": 1}
    if large_folds_run is not None:
        of_large["folds_run"] = large_folds_run
    found = []
    for is_large, of_part in ((False, of_all), (True, of_large)):
        part = {name: xy for name, xy in tables.items() if (len(xy[0]) >= LARGE) == is_large}
        if part:
            found += compare(estimators, part, **of_part, protocol=protocol)
    return found


def _taus(found: Sequence[FoldResult], **where: Any) -> NDArray:
    return np.array(
        [
            result.tau
            for result in found
            if all(getattr(result, key) == value for key, value in where.items())
        ]
    )


def _runs(
    found: Sequence[FoldResult], data: str, learner: str, where: Mapping[str, Any]
) -> NDArray:
    n_repeats = 1 + max(result.repeat for result in found if result.data == data)
    if n_repeats == 1:
        return _taus(found, data=data, learner=learner, **where)
    return np.array(
        [
            np.nanmean(_taus(found, data=data, learner=learner, repeat=repeat, **where))
            for repeat in range(n_repeats)
        ]
    )


def _std(taus: NDArray) -> float:
    known = taus[~np.isnan(taus)]
    return float(known.std(ddof=1)) if len(known) > 1 else 0.0
