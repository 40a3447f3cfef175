"""Whether probabilities of pairs are as sure as they are right, of learners beside each other."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from lrrf_jax import metrics
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_integer
from lrrf_jax.metrics.of_pairs import checked_pairs, pairs_that_came_true
from lrrf_jax.plotting import _canvas


def plot_pair_reliability(pairwise: Any, y: Any, *, n_bins: int = 10, ax: Any = None) -> Any:
    """Draw how often pairs came out as predicted, against the probability that was said.

    Each pair that the truth knows counts for the label that is predicted first: with its
    probability, from one half to 1, and with whether it came first. The probabilities are cut into
    bins of equal width, and a point is the mean of a bin. Points on the diagonal are calibrated;
    above it the learner is too timid, below too sure. The steps at the bottom tell how
    probabilities are spread, and the legend has the Brier score.

    Parameters
    ----------
    pairwise : array (n_samples, n_labels, n_labels), or mapping of names to such arrays
        Probabilities, as of `predict_pairwise`, of rows that the learner has not seen.
    y : array-like or data frame, (n_samples, n_labels)
        True rankings, NaN: unknown; their columns in the order of ``labels_``.
    n_bins : int
        Bins between one half and 1; those without a pair have no point.
    ax : Axes, optional

    Returns
    -------
    Axes

    Raises
    ------
    InputError
        Without matplotlib, for what is no such array, and where no row has a known pair.
    """
    require_integer(n_bins, "n_bins", 1)
    given = pairwise if isinstance(pairwise, Mapping) else {"": pairwise}
    if not given:
        raise InputError("pairwise must hold one learner at least; it is empty.")
    sides = {str(name): _sides(values, y) for name, values in given.items()}
    scores = {str(name): metrics.brier_score(y, values) for name, values in given.items()}
    ax = _canvas.axes(ax, (4.8, 4.6))
    edges = np.linspace(0.5, 1, n_bins + 1)
    ax.plot([0.5, 1], [0.5, 1], color=_canvas.MIDDLE, linestyle="--", linewidth=1, zorder=1)
    lowest = 0.5
    for number, (name, (said, came)) in enumerate(sides.items()):
        style = _canvas.line_style(number)
        at, share = _bins(said, came, edges)
        lowest = min(lowest, float(share.min()))
        ax.plot(
            at,
            share,
            color=style.colour,
            linestyle=style.dashes,
            marker=style.marker,
            markerfacecolor=style.colour if style.filled else "w",
            markersize=5,
            linewidth=1,
            label=f"{name} (Brier {scores[name]:.3f})".lstrip(),
            zorder=3,
        )
    low = max(lowest - 0.14, -0.05)
    for number, (said, _) in enumerate(sides.values()):
        style = _canvas.line_style(number)
        counts = np.histogram(said, edges)[0] / len(said)
        ax.stairs(
            low + 0.1 * counts,
            edges,
            baseline=low,
            color=style.colour,
            linestyle=style.dashes,
            linewidth=0.8,
            zorder=2,
        )
    ax.set(
        xlim=(0.49, 1.01),
        ylim=(low, 1.02),
        xlabel="probability of the label that is predicted first",
        ylabel="share of pairs in which it came first",
    )
    ax.legend(loc="upper left", fontsize=8, frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _sides(pairwise: Any, y: Any) -> tuple[NDArray, NDArray]:
    """Return the probability of the label predicted first, and whether it came first, by pair.

    A pair of one half is predicted in neither direction: half of it came true.
    """
    _, hit = pairs_that_came_true(*checked_pairs(y, pairwise))
    if len(hit) == 0:
        raise InputError("y must prefer one label to another in one row at least; no row does.")
    came = np.where(hit == 0.5, 0.5, hit > 0.5)
    return np.maximum(hit, 1 - hit), came


def _bins(said: NDArray, came: NDArray, edges: NDArray) -> tuple[NDArray, NDArray]:
    """Means of both in the bins that hold a pair."""
    n_bins = len(edges) - 1
    which = np.clip(np.searchsorted(edges, said, side="right") - 1, 0, n_bins - 1)
    count = np.bincount(which, minlength=n_bins)
    some = count > 0
    at = np.bincount(which, said, n_bins)[some] / count[some]
    return at, np.bincount(which, came, n_bins)[some] / count[some]
