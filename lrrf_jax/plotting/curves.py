"""Curves of a score against a setting, with bands that tell how sure they are."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy  # which imports its parts when they are used

from lrrf_jax._numbers import as_numbers
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_choice
from lrrf_jax.plotting import _canvas

BANDS = ("confidence", "std", "range", None)


def plot_curves(
    x: Any,
    curves: Mapping[str, Any],
    *,
    band: str | None = "confidence",
    level: float = 0.95,
    xlabel: str = "",
    ylabel: str = "Kendall's tau",
    ax: Any = None,
) -> Any:
    """Draw a line per method: the mean of its runs at every point, and a band around it.

    Parameters
    ----------
    x : array-like, (n_points,)
        The setting: share of missing labels, number of trees, depth, ...
    curves : mapping of str to array-like, (n_points,) or (n_points, n_runs)
        Scores by the name of the method; NaN where a run has no result.
    band : {"confidence", "std", "range"} or None
        Around the mean: its confidence interval (Student's t over the runs), one standard
        deviation, or the minimum and the maximum of the runs. Methods with one run have no
        band. Folds of one cross-validation share rows, so an interval over folds is too narrow.
    level : float
        Of the confidence interval.
    xlabel, ylabel : str
    ax : Axes, optional

    Returns
    -------
    Axes
        With a legend below where more than one method is drawn.

    Raises
    ------
    InputError
        Without matplotlib, for no curve, and for curves of another length than ``x``.
    """
    require_choice(band, "band", BANDS)
    points = _canvas.numbers_of(x, "x", 1)
    if not isinstance(curves, Mapping) or not curves:
        raise InputError("curves must map names of methods to scores; give one at least.")
    if not 0 < level < 1:
        raise InputError(f"level must be between 0 and 1, such as 0.95; it is {level!r}.")
    width = _canvas.figure_width(0.8 + _canvas.text_inches(list(curves), 9))
    entry = 0.6 + _canvas.text_inches(list(curves), 9)  # of the legend, which `_legend` makes fit
    n_columns = min(4, len(curves))
    likely = max(1, min(n_columns, int(width / entry)))
    rows = -(-len(curves) // likely) if len(curves) > 1 else 0
    ax = _canvas.axes(ax, (width, min(3.8, 0.75 * width) + 0.24 * rows))
    order = np.argsort(points, kind="stable")
    for number, (name, scores) in enumerate(curves.items()):
        runs = _runs(name, scores, len(points))[order]
        style = _canvas.line_style(number)
        mean, low, high = _summary(runs, band, level)
        if band is not None:
            ax.fill_between(
                points[order], low, high, color=style.colour, alpha=0.13, linewidth=0, zorder=1
            )
            for edge in (low, high):
                ax.plot(points[order], edge, color=style.colour, linewidth=0.4, alpha=0.6)
        ax.plot(
            points[order],
            mean,
            color=style.colour,
            linestyle=style.dashes,
            marker=style.marker,
            markersize=5,
            markerfacecolor=style.colour if style.filled else "w",
            linewidth=1.4,
            label=str(name),
            zorder=2,
        )
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    if len(curves) > 1:
        _legend(ax, n_columns, bool(xlabel))
    return ax


def _runs(name: str, scores: Any, n_points: int) -> NDArray:  # float64 (n_points, n_runs)
    runs = as_numbers(scores, f"the curve {name!r}", remedy="Give numbers.").astype(np.float64)
    if runs.ndim == 1:
        runs = runs[:, None]
    if runs.ndim != 2 or len(runs) != n_points or runs.shape[1] == 0:
        raise InputError(
            f"the curve {name!r} must have a row a point of x, ({n_points},) or ({n_points}, "
            f"n_runs); its shape is {np.shape(scores)}."
        )
    return runs


def _summary(runs: NDArray, band: str | None, level: float) -> tuple[NDArray, NDArray, NDArray]:
    """Mean and both edges of the band, float64 (n_points,); NaN where there is none."""
    known = ~np.isnan(runs)
    n = known.sum(1)
    safe = np.where(known, runs, 0.0)
    mean = np.where(n > 0, safe.sum(1) / np.maximum(n, 1), np.nan)
    if band == "range":
        low = np.where(known, runs, np.inf).min(1)
        high = np.where(known, runs, -np.inf).max(1)
        return mean, np.where(n > 1, low, np.nan), np.where(n > 1, high, np.nan)
    squares = (np.where(known, runs - mean[:, None], 0.0) ** 2).sum(1)
    half = np.sqrt(squares / np.maximum(n - 1, 1))
    if band == "confidence":
        quantile = scipy.stats.t.ppf((1 + level) / 2, np.maximum(n - 1, 1))
        half = half / np.sqrt(np.maximum(n, 1)) * quantile
    half = np.where(n > 1, half, np.nan)
    return mean, mean - half, mean + half


def _legend(ax: Any, n_columns: int, has_label: bool) -> None:
    """Put the legend below the axes, with as many columns as fit."""
    ax.figure.canvas.draw()
    width = ax.get_window_extent().width
    while True:
        below = -0.16 - 0.04 * has_label
        legend = ax.legend(
            loc="upper center",
            bbox_to_anchor=(0.5, below),
            ncols=n_columns,
            frameon=False,
            fontsize=9,
            handlelength=3.2,
        )
        if n_columns == 1 or legend.get_window_extent().width <= 1.1 * width:
            return
        n_columns -= 1
