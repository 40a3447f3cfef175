"""Scores of single folds, a line of points per method."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from lrrf_jax._numbers import as_numbers
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.plotting import _canvas

_HEIGHT = 0.34  # inches a method


def plot_spread(runs: Mapping[str, Any], *, xlabel: str = "Kendall's tau", ax: Any = None) -> Any:
    """Draw every run of every method as a point, with its mean and standard deviation.

    An open circle is a run, the tall mark the mean, the bar one standard deviation to both
    sides. Methods have a row each, the first on top, so that they are told apart by place alone.

    Parameters
    ----------
    runs : mapping of str to array-like, any shape
        Scores by the name of the method; NaN where a run has none.
    xlabel : str
    ax : Axes, optional
        By default a new figure, as high as the methods need.

    Returns
    -------
    Axes

    Raises
    ------
    InputError
        Without matplotlib, for no method, and for a method without a score.
    """
    if not isinstance(runs, Mapping) or not runs:
        raise InputError("runs must map names of methods to scores; give one at least.")
    scores = {str(name): _known(str(name), values) for name, values in runs.items()}
    width = _canvas.figure_width(2.2 + _canvas.text_inches(list(scores), 10))
    ax = _canvas.axes(ax, (width, 0.9 + _HEIGHT * len(scores)))
    for row, values in enumerate(scores.values()):
        # Points of one method next to each other, in the order of the runs: equal ones stay seen.
        heights = row + np.linspace(-0.26, 0.26, len(values)) if len(values) > 1 else [row]
        ax.plot(
            values,
            heights,
            linestyle="none",
            marker="o",
            markersize=3.5,
            markerfacecolor="none",
            markeredgecolor=_canvas.MIDDLE,
            markeredgewidth=0.8,
        )
        mean = values.mean()
        if len(values) > 1:
            std = values.std(ddof=1)
            ax.plot([mean - std, mean + std], [row, row], color="k", linewidth=1.6)
        ax.plot([mean, mean], [row - 0.34, row + 0.34], color="k", linewidth=2.6)
    ax.set_yticks(range(len(scores)), list(scores))
    ax.set_ylim(len(scores) - 0.45, -0.55)
    ax.set_xlabel(xlabel)
    ax.grid(axis="x", alpha=0.25)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax


def _known(name: str, values: Any) -> NDArray:  # float64 (n_known,)
    numbers = as_numbers(values, f"the runs of {name!r}", remedy="Give numbers.")
    scores = numbers.astype(np.float64).ravel()
    scores = scores[~np.isnan(scores)]
    if not len(scores):
        raise InputError(f"{name!r} has no score in any run. Leave it out.")
    return scores
