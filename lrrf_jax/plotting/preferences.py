"""Which label a forest prefers to which, for one row."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lrrf_jax._numbers import as_array
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_choice
from lrrf_jax.plotting import _canvas, _forest

_WRITTEN_LABELS = 15  # above, numbers in the cells would be too small to read


def plot_preferences(
    source: Any,
    row: Any = None,
    *,
    labels: Sequence[str] | None = None,
    order: str = "best-first",
    ax: Any = None,
) -> Any:
    """Draw a heat map of pairwise preferences for one row.

    The cell in row i and column j tells how often label i is preferred to label j: 0 (white) to
    1 (black). A ranking on which all agree is black above the diagonal and white below.

    Parameters
    ----------
    source : fitted forest, or array (n_labels, n_labels)
        Shares of 0 to 1, those of (i, j) and (j, i) summing to 1; the diagonal does not count. Of
        a forest, the share of its trees; a tree whose leaf ties the two counts half.
    row : array-like or data frame, (n_features,) or (1, n_features)
        Features of the row, where ``source`` is a forest.
    labels : sequence of str, optional
        By default those of the forest.
    order : {"best-first", "given"}
        Sort labels by their mean preference, or leave them in their order.
    ax : Axes, optional

    Returns
    -------
    Axes

    Raises
    ------
    InputError
        Without matplotlib, for learners without trees, and arrays that hold no preferences.
    """
    require_choice(order, "order", ("best-first", "given"))
    shares = _shares(source, row)
    n_labels = len(shares)
    if labels is None:
        labels = getattr(source, "labels_", None)
    names = [
        _canvas.shortened(name, 24) for name in _canvas.names_of(labels, n_labels, "L", "labels")
    ]
    if order == "best-first":
        sorted_ = np.argsort(-np.nanmean(shares, axis=1), kind="stable")
        shares, names = shares[sorted_][:, sorted_], [names[j] for j in sorted_]
    margin = _canvas.text_inches(names, 9)
    cell = 0.5 if n_labels <= _WRITTEN_LABELS else 0.28
    side = max(2.2, cell * n_labels)
    size = (side + margin + 1.1, side + 0.75 * margin + 0.6)
    ax = _canvas.axes(ax, size, "compressed")  # which brings the colour bar next to the cells
    image = ax.imshow(shares, cmap="Greys", vmin=0, vmax=1)
    _cross_out_diagonal(ax, n_labels)
    if n_labels <= _WRITTEN_LABELS:
        _write(ax, shares)
    ticks = range(n_labels)
    ax.set_xticks(ticks, names, rotation=45, ha="left", rotation_mode="anchor", fontsize=9)
    ax.set_yticks(ticks, names, fontsize=9)
    ax.xaxis.tick_top()
    ax.set_xlabel(
        "how often the label of the row is preferred\nto the label of the column", fontsize=9
    )
    ax.set_xticks(np.arange(n_labels + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(n_labels + 1) - 0.5, minor=True)
    ax.grid(which="minor", color=_canvas.LIGHT, linewidth=0.8)
    ax.tick_params(which="minor", length=0)
    ax.figure.colorbar(image, ax=ax, fraction=0.05, pad=0.03)
    return ax


def _shares(source: Any, row: Any) -> NDArray:  # float64 (n_labels, n_labels), diagonal NaN
    if hasattr(source, "predict"):
        _forest.forest_of(source, "source")
        if row is None:
            raise InputError("row must hold the features of one row where source is a forest.")
        one = row
        if hasattr(row, "to_frame") and hasattr(row, "index"):  # a row of a pandas frame is named
            one = row.to_frame().T
        elif np.ndim(row) == 1:
            one = as_array(row, "row").reshape(1, -1)
        if len(one) != 1:
            raise InputError(f"row must be one row; it is {len(one)}. Take one, as in X[:1].")
        return _forest.preference_shares(source, one)
    shares = _canvas.numbers_of(source, "source", 2).copy()
    if shares.shape[0] != shares.shape[1] or len(shares) < 2:
        raise InputError(
            f"source must be a square matrix of two labels at least; its shape is {shares.shape}."
        )
    np.fill_diagonal(shares, np.nan)
    off = ~np.eye(len(shares), dtype=bool)
    sums = shares + shares.T
    if not (np.isfinite(shares[off]).all() and (np.abs(sums[off] - 1) < 1e-6).all()):
        raise InputError(
            "source must hold shares of preference: (i, j) and (j, i) sum to 1 for all labels. "
            "Mean signs s of -1 to 1 become shares as (1 + s) / 2."
        )
    if (shares[off] < -1e-9).any() or (shares[off] > 1 + 1e-9).any():
        raise InputError("source must hold shares from 0 to 1.")
    return shares


def _cross_out_diagonal(ax: Any, n_labels: int) -> None:
    from matplotlib.patches import Rectangle

    for j in range(n_labels):
        patch = Rectangle(
            (j - 0.5, j - 0.5), 1, 1, fill=False, hatch="////", edgecolor=_canvas.LIGHT, linewidth=0
        )
        ax.add_patch(patch)


def _write(ax: Any, shares: NDArray) -> None:
    texts = []
    for (i, j), share in np.ndenumerate(shares):
        if i != j:
            text = f"{share:.2f}".removeprefix("0") if 0.005 <= share < 0.995 else f"{share:.0f}"
            dark = share > 0.55
            texts.append(ax.text(j, i, text, ha="center", va="center", color="w" if dark else "k"))
            texts[-1].set_fontsize(8)
    ax.figure.canvas.draw()
    _canvas.shrink_to(texts, 0.8 * ax.get_window_extent().width / len(shares))
