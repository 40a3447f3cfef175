"""What stands behind the ranking of one row, as a table of positions."""

from typing import Any

import numpy as np

from lrrf_jax._validation import InputError
from lrrf_jax.plotting import _canvas

_WRITTEN_LABELS = 15  # above, numbers in the cells would be too small to read
_CELL, _LINE = 0.36, 0.19  # inches


def plot_why(why: Any, *, ax: Any = None) -> Any:
    """Draw what ``ranker.why(X, row)`` found: the ranking, the training rows, and the path.

    Labels are the columns, in the order that was predicted; the first line has the prediction,
    and the share of trees (or near rankings) that agree on each two labels beside each other.
    Below are the training rows, with their weights on the right: cells are positions, dark for the
    best, empty for labels that are not ranked. Tests on the path of the row are written below.

    Parameters
    ----------
    why : Why
    ax : Axes, optional

    Returns
    -------
    Axes

    Raises
    ------
    InputError
        Without matplotlib, and for what is no Why.
    """
    if not all(hasattr(why, name) for name in ("labels", "agreement", "neighbors", "path")):
        raise InputError(
            f"why must be what ranker.why(X, row) gives; it is a {type(why).__name__}."
        )
    labels = [_canvas.shortened(label, 20) for label in why.labels]
    n_labels, n_rows = len(labels), 1 + len(why.neighbors)
    cells = np.array([np.arange(1, n_labels + 1), *(n.positions for n in why.neighbors)], float)
    path = [_canvas.shortened(test, 70) for test in why.path]
    heading = [] if why.tree is None else [f"path in tree {why.tree}"]
    below = [*heading, *path]
    side = _canvas.text_inches(labels, 9)
    width = max(1.9 + max(0.62, _CELL) * n_labels, 0.4 + _canvas.text_inches(below, 8))
    height = 0.7 + 0.8 * side + _CELL * n_rows + _LINE * (len(below) + 1)
    ax = _canvas.axes(ax, (width, height))
    shades = 0.75 * (n_labels - cells) / max(n_labels - 1, 1)
    ax.imshow(np.nan_to_num(shades), cmap="Greys", vmin=0, vmax=1, aspect="auto")
    if n_labels <= _WRITTEN_LABELS:
        for (line, column), position in np.ndenumerate(cells):
            if not np.isnan(position):
                colour = "w" if shades[line, column] > 0.5 else "k"
                ax.text(column, line, f"{position:g}", ha="center", va="center", color=colour)
    ax.set_xticks(range(n_labels), labels, rotation=45, ha="left", rotation_mode="anchor")
    ax.xaxis.tick_top()
    ax.set_yticks(range(n_rows), ["predicted", *(f"row {n.row}" for n in why.neighbors)])
    ax.tick_params(length=0, labelsize=9)
    ax.set_xticks(np.arange(n_labels + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(n_rows + 1) - 0.5, minor=True)
    ax.grid(which="minor", color=_canvas.LIGHT, linewidth=0.8)
    ax.tick_params(which="minor", length=0)
    ax.axhline(0.5, color="k", linewidth=1.2)
    if n_labels <= _WRITTEN_LABELS:
        box = {"facecolor": "w", "edgecolor": "none", "pad": 0.6}
        for number, share in enumerate(why.agreement):
            said = "?" if np.isnan(share) else f"{100 * share:.0f}%"
            at = {"ha": "center", "va": "bottom", "fontsize": 7, "bbox": box}
            ax.text(number + 0.5, 0.46, said, **at)
    if why.neighbors:
        ax.text(n_labels - 0.42, 0, "weight", va="center", fontsize=8)
    for line, neighbor in enumerate(why.neighbors, start=1):
        ax.text(n_labels - 0.42, line, f"{neighbor.weight:.3f}", va="center", fontsize=8)
    ax.set_xlim(-0.5, n_labels - 0.5)
    if below:
        ax.set_xlabel("\n".join(below), loc="left", fontsize=8)
    return ax
