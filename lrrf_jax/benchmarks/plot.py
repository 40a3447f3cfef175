"""The log-log plot of a document: seconds per call over rows, an engine a line."""

import os
from typing import Any

from lrrf_jax._validation import InputError
from lrrf_jax.benchmarks import engines as names

_COLOURS = {
    names.OURS: "#c1272d",
    names.OURS_DEFAULT: "#e58a8d",
    names.SCIKIT_LEARN: "#0072b2",
    names.ONNX: "#e69f00",
    names.TREELITE: "#009e73",
    names.LIGHTGBM: "#7b3294",
    names.LIGHTGBM_MULTICLASS: "#c2a5cf",
    names.GATHER: "#f4c7c3",
    names.C_REFERENCE: "#555555",
}


def draw(document: dict[str, Any], path: str | os.PathLike, *, threads: int = 1) -> None:
    """Write a PNG, SVG or PDF with a panel a kind and shape.

    Raises
    ------
    InputError
        Without matplotlib, or where nothing was measured with ``threads`` threads.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.ticker import NullFormatter
    except ImportError:
        raise InputError("A plot needs matplotlib: pip install matplotlib.") from None
    cells = [
        cell
        for cell in document["cells"]
        if any(entry["threads"] == threads for entry in cell["engines"])
    ]
    if not cells:
        raise InputError(f"The document holds nothing that ran with {threads} threads.")
    kinds = [kind for kind in ("predict", "fit") if any(c["kind"] == kind for c in cells)]
    shapes = list(dict.fromkeys(cell["shape"] for cell in cells))
    size = (max(4.5, 3.6 * len(shapes)), 3.0 * len(kinds) + 0.8)
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(kinds), len(shapes), squeeze=False, sharey="row", sharex="row")
    handles: dict[str, Any] = {}
    for row, kind in zip(axes, kinds, strict=True):
        for axis, shape in zip(row, shapes, strict=True):
            of_panel = [c for c in cells if (c["kind"], c["shape"]) == (kind, shape)]
            for name, points in _lines(of_panel, threads).items():
                is_ours = name in (names.OURS, names.OURS_DEFAULT)
                [line] = axis.plot(
                    *zip(*sorted(points), strict=True),
                    marker="o",
                    markersize=3.5,
                    color=_COLOURS.get(name),
                    linestyle=":" if name == names.C_REFERENCE else "-",
                    linewidth=2.2 if is_ours else 1.2,
                    zorder=3 if is_ours else 2,
                )
                handles.setdefault(name, line)
            axis.set(xscale="log", yscale="log", title=_title(kind, of_panel, shape))
            axis.grid(alpha=0.3)
            axis.xaxis.set_minor_formatter(NullFormatter())
            axis.yaxis.set_minor_formatter(NullFormatter())
            if kind == kinds[-1]:
                axis.set_xlabel("rows")
        row[0].set_ylabel("seconds per call")
    figure.legend(
        list(handles.values()),
        list(handles),
        loc="outside lower center",
        ncols=2 + len(shapes) if len(shapes) > 1 else 2,
        frameon=False,
    )
    figure.savefig(path, dpi=130)


def _title(kind: str, cells: list[dict[str, Any]], shape: str) -> str:
    if not cells:
        return f"{kind}, {shape}"
    return f"{kind}, {cells[0]['n_features']} features, {cells[0]['n_labels']} labels"


def _lines(cells: list[dict[str, Any]], threads: int) -> dict[str, list[tuple[int, float]]]:
    lines: dict[str, list[tuple[int, float]]] = {}
    for cell in cells:
        for entry in cell["engines"]:
            if entry["threads"] == threads:
                lines.setdefault(entry["engine"], []).append((cell["rows"], entry["median_s"]))
    return lines
