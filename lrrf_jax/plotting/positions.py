"""How often each label takes each position."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lrrf_jax._frames import own_names
from lrrf_jax._validation import InputError, require_choice
from lrrf_jax.plotting import _canvas
from lrrf_jax.rankings.validation import number_table


def plot_positions(
    y: Any,
    *,
    labels: Sequence[str] | None = None,
    order: str = "best-first",
    ax: Any = None,
) -> Any:
    """Draw a histogram of positions for every label, one row per label.

    Parameters
    ----------
    y : array-like or data frame, (n_samples, n_labels)
        Rankings, true or predicted: positions, 1 = best, NaN = missing.
    labels : sequence of str, optional
        By default the columns of a data frame, or L1, L2, ...
    order : {"best-first", "given"}
        Sort labels by their mean position, or leave them in their order.
    ax : Axes, optional

    Returns
    -------
    Axes
        Bars are shares of the samples that rank the label, on one scale for all labels, which the
        axis tells; the mean position is a triangle, and the share of samples that lack the label
        stands at the right where there are any.

    Raises
    ------
    InputError
        Without matplotlib, and for tables that hold no positions.
    """
    require_choice(order, "order", ("best-first", "given"))
    positions = np.asarray(number_table(y, "y"), np.float64)
    known = ~np.isnan(positions)
    if positions.ndim != 2 or not known.any():
        raise InputError(f"y must hold positions, (n_samples, n_labels); it has {positions.shape}.")
    n_samples, n_labels = positions.shape
    if (positions[known] < 1).any() or (positions[known] > n_labels).any():
        raise InputError(f"y must hold positions from 1 to {n_labels}; some lie outside.")
    if labels is None:
        labels = own_names(y, "y")
    names = [
        _canvas.shortened(name, 28) for name in _canvas.names_of(labels, n_labels, "L", "labels")
    ]
    n_known = known.sum(0)
    mean = np.where(n_known > 0, np.nansum(positions, 0) / np.maximum(n_known, 1), np.nan)
    shown = np.argsort(mean, kind="stable") if order == "best-first" else np.arange(n_labels)
    some_missing = bool((n_known < n_samples).any())
    width = max(4.0, 1.6 + 0.42 * n_labels) + _canvas.text_inches(names, 9) + 1.0 * some_missing
    ax = _canvas.axes(ax, (width, 0.9 + 0.5 * n_labels))
    places = np.arange(1, n_labels + 1)
    counts = (positions[:, :, None] == places).sum(0)
    shares = counts / np.maximum(n_known, 1)[:, None]
    for row, j in enumerate(shown):
        base = n_labels - 1 - row
        ax.axhline(base, color="k", linewidth=0.7, zorder=1)
        ax.bar(
            places,
            0.82 * shares[j] / shares.max(),
            bottom=base,
            width=0.82,
            facecolor="#9a9a9a",
            edgecolor="k",
            linewidth=0.6,
            zorder=2,
        )
        if n_known[j]:
            ax.plot(mean[j], base - 0.075, marker="^", color="k", markersize=4.5, zorder=3)
        if some_missing:
            ax.text(
                n_labels + 0.75,
                base + 0.3,
                f"{1 - n_known[j] / n_samples:.0%} missing",
                fontsize=8,
                va="center",
            )
    ax.set_yticks(np.arange(n_labels) + 0.3, [names[j] for j in shown[::-1]], fontsize=9)
    ax.tick_params(axis="y", length=0)
    step = -(-n_labels // 16)
    ax.set_xticks(places[::step])
    ax.set(xlim=(0.4, n_labels + 0.6), ylim=(-0.2, n_labels))
    ax.set_xlabel(f"position (tallest bar: {shares.max():.0%})")
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax
