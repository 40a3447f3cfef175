"""The parts of a page with what was measured: scores, their spread, times, and every fold."""

from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.evaluation import CrossValidation, Run, Summary, rank_table
from lrrf_jax.plotting import plot_curves, plot_spread
from lrrf_jax.reports import elements, figures
from lrrf_jax.reports.elements import Markup, Number, number

_TIE = 1e-12  # scores this near are called equally good


def scores(summary: Summary, share: float, identity: str) -> Markup:
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
            cells.append(number(mean, is_best=mean >= best - _TIE, beside=f"± {run.std:.4f}"))
        rows.append(cells)
    foot: list[list[Any]] = []
    whole = ~np.isnan(table.scores).any(1)
    if whole.sum() > 1:
        means = table.scores[whole].mean(0)
        over = "Mean" if whole.all() else f"Mean of {whole.sum()} complete rows"
        foot.append([over, *map(number, means)])
        if len(table.methods) > 1:
            kept = table._replace(
                scores=table.scores[whole],
                datasets=tuple(np.array(table.datasets, object)[whole]),
            )
            foot.append(["Average rank", *(number(r, 2) for r in rank_table(kept).mean(0))])
    caption = (
        "Mean Kendall’s tau of the test rows, ± the standard deviation over the folds; the best "
        "learner of a data set in bold"
    )
    header = ("Data set", *table.methods)
    return elements.table(identity, caption, header, rows, foot)


def spread(summary: Summary, share: float, identity: str) -> Markup:
    """Quantiles of the scores of folds, and every one as a point."""
    rows = []
    for run, result in _runs(summary, share):
        known = result.scores[~np.isnan(result.scores)]
        low, first, median, third, high = np.quantile(known, (0, 0.25, 0.5, 0.75, 1))
        rows.append(
            (
                run.data,
                run.learner,
                Number(str(len(known))),
                *(number(q) for q in (low, first, median, third, high, result.std)),
            )
        )
    header = (
        *("Data set", "Learner", "Folds", "Least", "1st quartile", "Median", "3rd quartile"),
        *("Largest", "Std. deviation"),
    )
    caption = "Kendall’s tau of single folds"
    parts = [elements.table(identity, caption, header, rows, row_headers=2)]
    note = (
        "Folds of one cross-validation share training rows, so their spread tells less than it "
        "seems about the doubt in the mean."
    )
    parts.append(elements.element("p", note))
    if figures.can_draw():
        parts += [_spread_figure(summary, data, share) for data in summary.datasets]
    return elements.joined(parts)


def _spread_figure(summary: Summary, data: str, share: float) -> Markup:
    runs = {run.learner: result for run, result in _runs(summary, share) if run.data == data}
    if not runs:
        return Markup("")
    drawn = {elements.plain(learner): result.scores for learner, result in runs.items()}
    told = "; ".join(
        f"{learner}: mean {result.mean:.3f}, from {np.nanmin(result.scores):.3f} to "
        f"{np.nanmax(result.scores):.3f}"
        for learner, result in runs.items()
    )
    return elements.figure(
        figures.svg_uri(plot_spread, drawn),
        f"Kendall's tau of every fold on {data}. {told}.",
        f"{data}: a circle is a fold, the tall mark the mean, the bar one standard deviation.",
    )


def times(summary: Summary, share: float, identity: str) -> Markup:
    """Seconds of wall-clock time to fit and to predict, a fold and altogether."""
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
    return elements.table(identity, caption, header, rows, row_headers=2)


def every_fold(summary: Summary, share: float, identity: str) -> Markup:
    """Tables that are folded up, a data set each, as they are long."""
    parts = []
    for k, data in enumerate(summary.datasets):
        runs = {run.learner: result for run, result in _runs(summary, share) if run.data == data}
        if not runs:
            continue
        n_repeats, n_folds = next(iter(runs.values())).scores.shape
        rows = [
            (
                f"{repeat + 1}",
                f"{fold + 1}",
                *(number(result.scores[repeat, fold], 6) for result in runs.values()),
            )
            for repeat in range(n_repeats)
            for fold in range(n_folds)
        ]
        header = ("Repeat", "Fold", *runs)
        table = elements.table(
            f"{identity}-{k}", f"Kendall’s tau on {data}", header, rows, row_headers=2
        )
        folded = elements.joined([elements.element("summary", data), table])
        parts.append(elements.element("details", folded))
    return elements.joined(parts)


def curves(summary: Summary) -> Markup:
    """Draw tau against the share of deleted labels, a figure a data set."""
    if not figures.can_draw():
        return Markup("")
    parts = []
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
            elements.figure(
                figures.svg_uri(
                    plot_curves,
                    summary.shares,
                    {elements.plain(learner): values for learner, values in drawn.items()},
                    band="range",  # an interval from a handful of repeats tells nothing
                    xlabel="share of the training labels deleted",
                ),
                f"Kendall's tau on {data} with {shares} of the labels deleted. {told}.",
                f"{data}: mean over the folds; the band goes from the least to the largest repeat.",
            )
        )
    return elements.joined(parts)


def _repeats(result: CrossValidation) -> NDArray:  # float64 (repeats,)
    known = ~np.isnan(result.scores)
    totals = np.where(known, result.scores, 0).sum(1)
    return np.where(known.any(1), totals / np.maximum(known.sum(1), 1), np.nan)


def _runs(summary: Summary, share: float) -> list[tuple[Run, CrossValidation]]:
    return [
        (run, result)
        for run, result in summary.runs.items()
        if run.missing == share and not np.isnan(result.scores).all()
    ]


def _seconds(value: float) -> Number:
    return Number("< 0.001") if value < 0.001 else number(value, 3 if value < 10 else 1)
