"""The parts of a page with what was measured: scores, their spread, times, and every fold."""

import functools
from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.evaluation import CrossValidation, Run, Summary, rank_table
from lrrf_jax.plotting import plot_curves, plot_spread
from lrrf_jax.reports import figures
from lrrf_jax.reports.parts import Figure, Folded, Number, Table, Text, count, number, plain

_TIE = 1e-12  # scores this near are called equally good


def scores(summary: Summary, share: float, identity: str) -> list[Table]:
    """Mean tau by data set and learner; below, the means and average ranks of whole columns."""
    table = summary.scores(share)
    rows = []
    for data, means in zip(table.datasets, table.scores, strict=True):
        best = np.nanmax(means) if (~np.isnan(means)).sum() > 1 else np.inf
        cells: list[Any] = [data]
        for learner, mean in zip(table.methods, means, strict=True):
            run = summary.runs.get(Run(data, share, learner))
            if run is None or np.isnan(mean):
                cells.append(Number("–"))
                continue
            cells.append(number(mean, is_best=mean >= best - _TIE, std=run.std))
        rows.append(cells)
    foot: list[list[Any]] = []
    whole = ~np.isnan(table.scores).any(1)
    if whole.sum() > 1:
        means = table.scores[whole].mean(0)
        over = "Mean" if whole.all() else f"Mean of {whole.sum()} complete rows"
        foot.append([over, *map(number, means)])
        if len(table.methods) > 1:
            ranks = rank_table(table, missing="drop").mean(0)
            foot.append(["Average rank", *(number(rank, 2) for rank in ranks)])
    caption = (
        "Mean Kendall’s tau of the test rows, ± the standard deviation over the folds; the best "
        "learner of a data set in bold"
    )
    header = ("Data set", *table.methods)
    return [Table(identity, caption, header, rows, foot)]


def spread(summary: Summary, share: float, identity: str) -> list[Table | Text | Figure]:
    """Quantiles of the scores of folds, and every one as a point."""
    rows = []
    for run, result in _runs(summary, share):
        known = result.scores[~np.isnan(result.scores)]
        low, first, median, third, high = np.quantile(known, (0, 0.25, 0.5, 0.75, 1))
        rows.append(
            (
                run.data,
                run.learner,
                count(len(known)),
                *(number(q) for q in (low, first, median, third, high, result.std)),
            )
        )
    header = (
        *("Data set", "Learner", "Folds", "Least", "1st quartile", "Median", "3rd quartile"),
        *("Largest", "Std. deviation"),
    )
    caption = "Kendall’s tau of single folds"
    note = (
        "Folds of one cross-validation share training rows, so their spread tells less than it "
        "seems about the doubt in the mean."
    )
    drawn = figures.can_draw()
    return [
        Table(identity, caption, header, rows, row_headers=2),
        Text(note),
        *(_spread_figure(data, runs) for data, runs in _by_data(summary, share) if drawn),
    ]


def _spread_figure(data: str, runs: dict[str, CrossValidation]) -> Figure:
    drawn = {plain(learner): result.scores for learner, result in runs.items()}
    told = "; ".join(
        f"{learner}: mean {result.mean:.3f}, from {np.nanmin(result.scores):.3f} to "
        f"{np.nanmax(result.scores):.3f}"
        for learner, result in runs.items()
    )
    return Figure(
        functools.partial(plot_spread, drawn),
        f"Kendall's tau of every fold on {data}. {told}.",
        f"{data}: a circle is a fold, the tall mark the mean, the bar one standard deviation.",
    )


def times(summary: Summary, share: float, identity: str) -> list[Table]:
    """Seconds of wall-clock time to fit and to predict, per fold and altogether."""
    rows = []
    for run, result in _runs(summary, share):
        cells: list[Any] = [run.data, run.learner]
        for seconds in (result.fit_seconds, result.predict_seconds):
            known = seconds[~np.isnan(seconds)]
            cells += [_seconds(float(value)) for value in (np.median(known), known.max())]
            cells.append(_seconds(float(known.sum())))
        rows.append(cells)
    header = (
        *("Data set", "Learner", "Fit, median", "Fit, longest", "Fit, all folds"),
        *("Predict, median", "Predict, longest", "Predict, all folds"),
    )
    caption = "Seconds of wall-clock time; the first fold of a learner includes compilation"
    return [Table(identity, caption, header, rows, row_headers=2)]


def every_fold(summary: Summary, share: float, identity: str) -> list[Folded]:
    """Tables that are folded up, one per data set, as they are long."""
    parts = []
    for k, (data, runs) in enumerate(_by_data(summary, share)):
        n_repeats, n_folds = next(iter(runs.values())).scores.shape
        rows = [
            (
                count(repeat + 1),
                count(fold + 1),
                *(number(result.scores[repeat, fold], 6) for result in runs.values()),
            )
            for repeat in range(n_repeats)
            for fold in range(n_folds)
        ]
        header = ("Repeat", "Fold", *runs)
        caption = f"Kendall’s tau on {data}"
        table = Table(f"{identity}-{k}", caption, header, rows, row_headers=2)
        parts.append(Folded(data, table))
    return parts


def curves(summary: Summary) -> list[Figure]:
    """Draw tau against the share of deleted labels, one figure per data set."""
    parts: list[Figure] = []
    if not figures.can_draw():
        return parts
    for data in summary.datasets:
        drawn: dict[str, NDArray] = {}
        for learner in summary.learners:
            points = [summary.runs.get(Run(data, share, learner)) for share in summary.shares]
            if all(point is not None for point in points):
                drawn[learner] = np.array([_repeats(point) for point in points if point])
        if not drawn:
            continue
        told = "; ".join(
            f"{learner}: {', '.join(f'{np.nanmean(runs):.3f}' for runs in values)}"
            for learner, values in drawn.items()
        )
        shares = ", ".join(f"{share:.0%}" for share in summary.shares)
        parts.append(
            Figure(
                functools.partial(
                    plot_curves,
                    summary.shares,
                    {plain(learner): values for learner, values in drawn.items()},
                    band="range",  # an interval from a handful of repeats tells nothing
                    xlabel="share of the training labels deleted",
                ),
                f"Kendall's tau on {data} with {shares} of the labels deleted. {told}.",
                f"{data}: mean over the folds; the band spans all repeats.",
            )
        )
    return parts


def _repeats(result: CrossValidation) -> NDArray:  # float64 (repeats,)
    known = ~np.isnan(result.scores)
    totals = np.where(known, result.scores, 0).sum(1)
    return np.where(known.any(1), totals / np.maximum(known.sum(1), 1), np.nan)


def _by_data(summary: Summary, share: float) -> list[tuple[str, dict[str, CrossValidation]]]:
    """List the data sets that have results, with those of each learner."""
    runs: dict[str, dict[str, CrossValidation]] = {data: {} for data in summary.datasets}
    for run, result in _runs(summary, share):
        runs[run.data][run.learner] = result
    return [(data, of_learners) for data, of_learners in runs.items() if of_learners]


def _runs(summary: Summary, share: float) -> list[tuple[Run, CrossValidation]]:
    return [
        (run, result)
        for run, result in summary.runs.items()
        if run.missing == share and not np.isnan(result.scores).all()
    ]


def _seconds(value: float) -> Number:
    return Number("< 0.001", value) if value < 0.001 else number(value, 3 if value < 10 else 1)
