"""Critical-difference diagrams, after Demsar (2006), figures 1 and 2."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.plotting import _canvas
from lrrf_jax.plotting._rank_rows import rank_rows

_LEVEL = 0.27  # inches between two names, or two bars
_BAR = 0.14


def plot_critical_difference(
    test: Any,
    critical_difference: float | None = None,
    *,
    methods: Sequence[str] | None = None,
    control: str | int | None = None,
    rows: bool = False,
    ax: Any = None,
) -> Any:
    """Draw the average ranks of methods, and which differences are significant.

    Of all pairs (Nemenyi), a thick bar joins methods that do not differ. Against a control
    (Bonferroni-Dunn), a hatched band reaches one critical difference to both sides of it; methods
    inside the band, with open markers, do not differ from the control, whose name is bold. Where
    one of them has the rank of the control, its open marker is a ring around that of the control.

    Parameters
    ----------
    test : result of `lrrf_jax.evaluation.nemenyi` or `bonferroni_dunn`, or array (n_methods,)
        Or average ranks, 1 = best.
    critical_difference : float, optional
        Where ``test`` holds ranks.
    methods : sequence of str, optional
        Names, where ``test`` holds ranks.
    control : str or int, optional
        Name or number of the control, where ``test`` holds ranks.
    rows : bool
        Give every method a row, its name on the left, in place of names at both ends: for narrow
        figures, such as those of pages on a phone.
    ax : Axes, optional
        By default a new figure, large enough for the names.

    Returns
    -------
    Axes

    Raises
    ------
    InputError
        Without matplotlib; for ranks without a critical difference, as Holm's test has none.
    """
    ranks, names, critical, chosen = _read(test, critical_difference, methods, control)
    order = np.argsort(ranks, kind="stable")
    ranks, names = ranks[order], [names[j] for j in order]
    at = None if chosen is None else int(np.flatnonzero(order == chosen)[0])
    groups = [] if at is not None else _groups(ranks, critical)
    if rows:
        return rank_rows(ranks, names, critical, at, groups, ax)

    n_methods = len(ranks)
    n_left = (n_methods + 1) // 2
    text = 2 * _canvas.text_inches(names, 10)
    height = 1.0 + _LEVEL * n_left + _BAR * len(groups)
    ax = _canvas.axes(ax, (_canvas.figure_width(4.2 + text), height))
    ax.set_axis_off()
    # Heights in inches below the axis, so that bars and names keep their distance in any figure.
    top = -(0.25 + _BAR * len(groups)) if groups else -0.3
    lowest, highest = 1, n_methods
    ax.plot([lowest, highest], [0, 0], color="k", linewidth=1.2)
    for rank in range(lowest, highest + 1):
        ax.plot([rank, rank], [0, 0.08], color="k", linewidth=1)
        ax.text(rank, 0.12, str(rank), ha="center", va="bottom", fontsize=9)
    for number, (first, last) in enumerate(groups):
        height = -(0.12 + _BAR * number)
        ends = [ranks[first] - 0.03, ranks[last] + 0.03]
        ax.plot(ends, [height] * 2, color="k", linewidth=4, solid_capstyle="butt")
    if at is not None:
        _band(ax, ranks[at], critical, n_methods)
    _scale(ax, critical, lowest)

    left: list[Any] = []
    right: list[Any] = []
    for j in range(n_methods):
        is_left = j < n_left
        level = j if is_left else n_methods - 1 - j
        height = top - _LEVEL * (level + 0.4)
        away = at is not None and j != at and abs(ranks[j] - ranks[at]) > critical
        end = lowest - 0.1 if is_left else highest + 0.1
        ax.plot([ranks[j], ranks[j], end], [0, height, height], color=_canvas.DARK, linewidth=0.8)
        _canvas.mark(ax, ranks[j], 0, is_open=at is not None and j != at and not away)
        label = f"{names[j]}  {ranks[j]:.2f} " if is_left else f" {ranks[j]:.2f}  {names[j]}"
        put = ax.text(
            end,
            height,
            label,
            ha="right" if is_left else "left",
            va="center",
            fontsize=10,
            fontweight="bold" if j == at else "normal",
        )
        put.set_in_layout(False)  # `_make_room` keeps it inside
        (left if is_left else right).append(put)
    bottom = top - _LEVEL * (n_left - 0.1)
    ax.set_ylim(bottom - 0.1, 0.75)
    _make_room(ax, left, right, n_methods)
    return ax


def _read(
    test: Any, critical: float | None, methods: Any, control: Any
) -> tuple[NDArray, list[str], float, int | None]:
    """Return ranks, names, the critical difference and the number of the control."""
    if hasattr(test, "ranks"):
        critical = getattr(test, "critical_difference", None) if critical is None else critical
        methods = test.methods if methods is None else methods
        control = getattr(test, "control", None) if control is None else control
        test = test.ranks
    ranks = _canvas.numbers_of(test, "test", 1)
    if len(ranks) < 2 or not np.isfinite(ranks).all():
        raise InputError(f"test must hold average ranks of two methods at least; it is {ranks}.")
    if ranks.min() < 1 or ranks.max() > len(ranks):
        raise InputError(
            f"average ranks of {len(ranks)} methods lie between 1 and {len(ranks)}; they go from "
            f"{ranks.min()} to {ranks.max()}. `average_ranks` computes them from scores."
        )
    names = _canvas.names_of(methods, len(ranks), "method ", "methods")
    if critical is None or not critical > 0:
        raise InputError(
            "critical_difference must be a positive number; Holm's and Friedman's tests have none. "
            "Draw the result of nemenyi or bonferroni_dunn."
        )
    if control is None:
        return ranks, names, float(critical), None
    if str(control) in names:
        return ranks, names, float(critical), names.index(str(control))
    if isinstance(control, int | np.integer) and 0 <= control < len(names):
        return ranks, names, float(critical), int(control)
    raise InputError(f"control must be one of {', '.join(names)}; it is {control!r}.")


def _groups(ranks: NDArray, critical: float) -> list[tuple[int, int]]:
    """Longest runs of sorted ranks that no significant difference cuts, as (first, last)."""
    groups: list[tuple[int, int]] = []
    for first, rank in enumerate(ranks):
        last = int(np.flatnonzero(ranks - rank <= critical)[-1])
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups


def _band(ax: Any, centre: float, critical: float, n_methods: int) -> None:
    low, high = max(centre - critical, 0.9), min(centre + critical, n_methods + 0.1)
    ax.fill_between(
        [low, high],
        -0.09,
        0.09,
        facecolor=_canvas.LIGHT,
        edgecolor=_canvas.MIDDLE,
        hatch="////",
        linewidth=0,
        zorder=0,
    )
    for end, cut in ((low, centre - critical < 0.9), (high, centre + critical > n_methods + 0.1)):
        if not cut:
            ax.plot([end, end], [-0.16, 0.16], color="k", linewidth=1.6)


def _scale(ax: Any, critical: float, start: float) -> None:
    """Draw the length of a critical difference above the axis."""
    ends = [start, start + critical]
    ax.plot(ends, [0.48, 0.48], color="k", linewidth=1.2)
    for end in ends:
        ax.plot([end, end], [0.44, 0.52], color="k", linewidth=1.2)
    ax.text(sum(ends) / 2, 0.53, f"CD = {critical:.2f}", ha="center", va="bottom", fontsize=9)


def _make_room(ax: Any, left: list[Any], right: list[Any], n_methods: int) -> None:
    """Choose the limits so that names at both ends lie within the axes."""
    ax.set_xlim(0.9, n_methods + 0.1)
    ax.figure.canvas.draw()
    width = ax.get_window_extent().width
    _canvas.shrink_to(left + right, 0.36 * width)
    pad = 0.012 * width
    on_left = max(map(_canvas.width_of, left)) + pad
    on_right = max(map(_canvas.width_of, right), default=0.0) + pad
    unit = (n_methods - 0.8) / max(width - on_left - on_right, 0.2 * width)  # ranks a pixel
    ax.set_xlim(0.9 - on_left * unit, n_methods + 0.1 + on_right * unit)
