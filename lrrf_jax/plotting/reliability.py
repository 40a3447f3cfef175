"""Whether rankings on which the trees agree are the better ones."""

from typing import Any

import numpy as np

from lrrf_jax import metrics
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_integer
from lrrf_jax.plotting import _canvas, _forest
from lrrf_jax.rankings.by_label import positions_by_label


def plot_reliability(
    source: Any,
    X: Any = None,
    y: Any = None,
    *,
    n_bins: int = 10,
    ax: Any = None,
) -> Any:
    """Draw the tau of predictions against the agreement of the trees.

    Rows are sorted by agreement and cut into bins of near-equal size. A point is the mean of a
    bin, its bar a 95 % interval of the mean tau; the histogram below tells how agreement is
    spread. Where agreement says how good a ranking is, the points rise; on the diagonal it
    says so exactly.

    Parameters
    ----------
    source : fitted forest, or array (n_samples,)
        Agreement of the trees: mean tau between the rankings of the trees and that of the forest.
    X : array-like or data frame, (n_samples, n_features)
        Rows that the forest has not seen; of training rows both numbers are too high.
    y : array-like or data frame
        True rankings, (n_samples, n_labels); or, where ``source`` is an array, the tau of each
        row, (n_samples,). Rows without a tau (NaN) are left out.
    n_bins : int
    ax : Axes, optional

    Returns
    -------
    Axes

    Raises
    ------
    InputError
        Without matplotlib, for learners without trees, and where no row has a known pair.
    """
    require_integer(n_bins, "n_bins", 1)
    agreement, taus = _read(source, X, y)
    known = ~np.isnan(taus) & ~np.isnan(agreement)
    if not known.any():
        raise InputError("y must prefer one label to another in one row at least; no row does.")
    agreement, taus = agreement[known], taus[known]
    order = np.argsort(agreement, kind="stable")
    bins = [part for part in np.array_split(order, min(n_bins, len(order))) if len(part)]
    at = np.array([agreement[part].mean() for part in bins])
    mean = np.array([taus[part].mean() for part in bins])
    half = np.array([_half_interval(taus[part]) for part in bins])
    ax = _canvas.axes(ax, (4.8, 4.6))
    low = min(float(agreement.min()), float(np.nanmin(mean - half)), 0.9)
    low = max(low - 0.06 * (1 - low), -1.05)
    span = 1.02 - low
    ax.plot([-1, 1], [-1, 1], color=_canvas.MIDDLE, linestyle="--", linewidth=1, zorder=1)
    ax.text(
        low + 0.3 * span,
        low + 0.3 * span + 0.015 * span,
        "tau = agreement",
        rotation=45,
        rotation_mode="anchor",
        transform_rotates_text=True,
        fontsize=8,
        color=_canvas.MIDDLE,
        va="bottom",
    )
    ax.errorbar(
        at,
        mean,
        yerr=[half, np.minimum(half, 1 - mean)],
        fmt="o",
        color="k",
        markersize=5,
        capsize=3,
        linewidth=1,
        zorder=3,
    )
    ax.plot(at, mean, color="k", linewidth=1, zorder=2)
    counts, edges = np.histogram(agreement, bins=30, range=(low, 1.0))
    ax.stairs(
        low + 0.16 * span * counts / counts.max(),
        edges,
        baseline=low,
        fill=True,
        facecolor=_canvas.LIGHT,
        edgecolor=_canvas.MIDDLE,
        zorder=0,
    )
    ax.set(
        xlim=(low, 1.02),
        ylim=(low, 1.02),
        xlabel="agreement of the trees (mean tau with the forest)",
        ylabel="tau with the true ranking",
    )
    ax.set_aspect("equal")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _read(source: Any, X: Any, y: Any) -> tuple[NDArray, NDArray]:
    """Return agreement and tau of the rows, both float64 (n_samples,)."""
    if y is None:
        raise InputError("y must hold the true rankings, or the tau of each row.")
    if hasattr(source, "predict"):
        _forest.forest_of(source, "source")
        if X is None:
            raise InputError("X must hold features of rows where source is a forest.")
        truth = positions_by_label(y, source.labels_.tolist())
        agreement, ranks = _forest.tree_agreement(source, X)
        return agreement, np.asarray(metrics.kendall_tau(truth, ranks, per_row=True), np.float64)
    agreement = _canvas.numbers_of(source, "source", 1)
    taus = _canvas.numbers_of(y, "y", 1)
    if agreement.shape != taus.shape:
        raise InputError(
            f"y must hold one tau a value of source, {agreement.shape}; it has {taus.shape}."
        )
    return agreement, taus


def _half_interval(taus: NDArray) -> float:
    """Half of the 95 % interval of a mean; NaN for one row."""
    return 1.96 * float(taus.std(ddof=1)) / len(taus) ** 0.5 if len(taus) > 1 else float("nan")
