"""Average ranks with a row per method, so that names never meet, in narrow figures too."""

from collections.abc import Sequence
from typing import Any

from lrrf_jax._typing import NDArray
from lrrf_jax.plotting import _canvas

_HEIGHT = 0.27  # inches of a row
_BAR = 0.13  # inches between two bars
_MARGIN = 0.25  # ranks to both sides of the axis


def rank_rows(
    ranks: NDArray,  # float64 (n_methods,), rising
    names: Sequence[str],
    critical: float,
    control: int | None,
    groups: Sequence[tuple[int, int]],  # runs of methods that do not differ, first and last
    ax: Any = None,
) -> Any:
    """Draw ranks from the top, the best first; see `plot_critical_difference`.

    What does not differ is joined by thick bars on the right, or lies in the band of the control.
    """
    n_methods = len(ranks)
    labels = [f"{name}  {rank:.2f}" for name, rank in zip(names, ranks, strict=True)]
    width = _canvas.figure_width(1.8 + _canvas.text_inches(labels, 10) + _BAR * len(groups))
    ax = _canvas.axes(ax, (width, 0.35 + _HEIGHT * (n_methods + 1.4)))
    low, high = 1 - _MARGIN, max(n_methods, 1 + critical) + _MARGIN
    if control is not None:
        _band(ax, ranks[control], critical, (low, high), n_methods)
    for j, rank in enumerate(ranks):
        ax.plot([low, rank], [j, j], color=_canvas.MIDDLE, linewidth=0.6, zorder=1)
        inside = control is not None and j != control and abs(rank - ranks[control]) <= critical
        _canvas.mark(ax, rank, j, is_open=inside)
    scale = [1, 1 + critical]
    below = n_methods - 0.1
    ax.plot(scale, [below] * 2, color="k", linewidth=1.2, marker="|", markersize=7)
    text = f"CD = {critical:.2f}"
    ax.text(1 + critical / 2, below + 0.25, text, ha="center", va="top", fontsize=9)
    ax.set_ylim(n_methods + 0.8, -0.6)
    ax.set_yticks(range(n_methods), labels, fontsize=10)
    if control is not None:
        ax.get_yticklabels()[control].set_fontweight("bold")
    ax.xaxis.set_ticks_position("top")
    every = 1 if n_methods <= 10 else 2 if n_methods <= 20 else 5
    whole = [rank for rank in range(1, n_methods + 1) if rank == 1 or rank % every == 0]
    ax.set_xticks(whole, [str(rank) for rank in whole], fontsize=9)
    ax.tick_params(axis="y", length=0)
    ax.spines[["left", "right", "bottom"]].set_visible(False)
    ax.spines["top"].set_bounds(1, n_methods)
    _bars(ax, groups, low, high)
    return ax


def _band(
    ax: Any, centre: float, critical: float, limits: tuple[float, float], n_methods: int
) -> None:
    """Hatch what does not differ from the control; an end that the axis cuts has no edge."""
    ends = centre - critical, centre + critical
    rows = [-0.6, n_methods - 0.4]
    ax.fill_betweenx(
        rows,
        max(ends[0], limits[0]),
        min(ends[1], limits[1]),
        facecolor=_canvas.LIGHT,
        edgecolor=_canvas.MIDDLE,
        hatch="////",
        linewidth=0,
        zorder=0,
    )
    for end in ends:
        if limits[0] < end < limits[1]:
            ax.plot([end, end], rows, color="k", linewidth=1.2, zorder=2)


def _bars(ax: Any, groups: Sequence[tuple[int, int]], low: float, high: float) -> None:
    ax.set_xlim(low, high)
    if not groups:
        return
    ax.figure.canvas.draw()
    rank = (high - low) / (ax.get_window_extent().width / ax.figure.dpi)  # of an inch
    for number, (first, last) in enumerate(groups):
        x = high + _BAR * rank * number
        ends = [first - 0.2, last + 0.2]
        ax.plot([x, x], ends, color="k", linewidth=4, solid_capstyle="butt")
    ax.set_xlim(low, high + _BAR * rank * len(groups))
