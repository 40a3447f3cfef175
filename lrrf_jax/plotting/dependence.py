"""How the position of each label depends on a feature."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lrrf_jax._validation import InputError
from lrrf_jax.plotting import _canvas


def plot_partial_dependence(
    found: Any, *, labels: Sequence[str] | None = None, ax: Any = None
) -> Any:
    """Draw what `lrrf_jax.evaluation.partial_dependence` found, a line for each label.

    Parameters
    ----------
    found : PartialDependence
    labels : sequence of str, optional
        Those to draw; by default all, the best on average first.
    ax : Axes, optional

    Returns
    -------
    Axes
        Of positions the best is at the top. Levels of a category stand side by side.

    Raises
    ------
    InputError
        Without matplotlib, and for labels that are unknown.
    """
    mean = np.asarray(found.mean)
    upward = 1 if found.of == "scores" else -1
    order = np.argsort(-upward * mean.mean(axis=0), kind="stable")
    drawn = [found.labels[j] for j in order] if labels is None else list(labels)
    unknown = [label for label in drawn if label not in found.labels]
    if unknown or not drawn:
        raise InputError(
            f"labels must be among {', '.join(found.labels)}; they are "
            f"{', '.join(map(str, drawn)) or 'none'}."
        )
    width = _canvas.figure_width(5.0) + _canvas.text_inches(drawn, 9)
    ax = _canvas.axes(ax, (width, 3.6))
    places = np.arange(len(found.values)) if found.of_levels else found.values.astype(float)
    for number, label in enumerate(drawn):
        style = _canvas.line_style(number)
        ax.plot(
            places,
            mean[:, found.labels.index(label)],
            color=style.colour,
            linestyle=style.dashes,
            linewidth=0.8 if found.of_levels else 1.5,
            marker=style.marker,
            markevery=1 if len(places) < 12 else max(1, len(places) // 6),
            markerfacecolor=style.colour if style.filled else "w",
            markersize=5,
            label=_canvas.shortened(label, 28),
        )
    if found.of_levels:
        names = [_canvas.shortened(str(level), 20) for level in found.values]
        ax.set_xticks(places, names, rotation=30 if len("".join(names)) > 50 else 0)
        ax.margins(x=0.1)
    ax.set_xlabel(_canvas.shortened(found.feature, 40))
    ax.set_ylabel("mean position, 1 = best" if upward < 0 else "mean score")
    if upward < 0 and not ax.yaxis_inverted():
        ax.invert_yaxis()
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
