"""The plot of a document: seconds per call over rows, an engine a line; real and small tables."""

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
    names.C_REFERENCE: "#555555",
    names.C_AVX2: "#999999",
    names.OURS_PAIRWISE: "#8b4513",
    names.OURS_SCORES: "#f7a35c",
    names.OURS_KEMENY: "#d4578c",
    names.OURS_COPELAND: "#8c1d18",
}


def draw(document: dict[str, Any], path: str | os.PathLike[str], *, threads: int = 1) -> None:
    """Write a PNG, SVG or PDF with a panel a kind and shape, and one of real and small tables.

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
    single = [cell for cell in cells if cell["kind"] not in kinds]
    shapes = list(dict.fromkeys(c["shape"] for c in cells if c not in single)) or [""]
    rows = len(kinds) + bool(single)
    size = (max(4.5, 3.6 * len(shapes)), 3.0 * rows + 0.8)
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, len(shapes), squeeze=False, sharey="row", sharex="row")
    handles: dict[str, Any] = {}

    def panel(axis: Any, lines: dict[str, list[tuple[float, float]]], **more: Any) -> None:
        for name, points in lines.items():
            is_ours = name in (names.OURS, names.OURS_DEFAULT)
            style = {
                "marker": "s" if name in names.SMALL_FITS else "o",
                "markersize": 3.5,
                "color": _COLOURS.get(name),
                "linestyle": ":" if name in (names.C_REFERENCE, names.C_AVX2) else "-",
                "linewidth": 2.2 if is_ours else 1.2,
                "zorder": 3 if is_ours else 2,
                **more,
            }
            [line] = axis.plot(*zip(*sorted(points), strict=True), **style)
            handles.setdefault(name, line)
        axis.set_yscale("log")
        axis.grid(alpha=0.3)
        axis.yaxis.set_minor_formatter(NullFormatter())

    for row, kind in zip(axes, kinds, strict=False):
        for axis, shape in zip(row, shapes, strict=True):
            of_panel = [c for c in cells if (c["kind"], c["shape"]) == (kind, shape)]
            panel(axis, _lines([(cell["rows"], cell) for cell in of_panel], threads))
            axis.set(xscale="log", title=_title(kind, of_panel, shape))
            axis.xaxis.set_minor_formatter(NullFormatter())
            if kind == kinds[-1]:
                axis.set_xlabel("rows")
        row[0].set_ylabel("seconds per call")
    if single:
        for axis in axes[-1]:
            axis.remove()
        axis = figure.add_subplot(axes[-1, 0].get_gridspec()[-1, :])
        panel(axis, _lines(list(enumerate(single)), threads), linestyle="")
        labels = [f"{cell['rows']:,} rows\n{_features_and_labels(cell)}" for cell in single]
        axis.set_xticks(range(len(single)), labels, fontsize=8)
        axis.set(title="fit, real and small tables", ylabel="seconds per call")
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


def _features_and_labels(cell: dict[str, Any]) -> str:
    return (
        cell["shape"] if cell["kind"] == "real" else f"d {cell['n_features']}, m {cell['n_labels']}"
    )


def _lines(
    places: list[tuple[float, dict[str, Any]]], threads: int
) -> dict[str, list[tuple[float, float]]]:
    lines: dict[str, list[tuple[float, float]]] = {}
    for place, cell in places:
        for entry in cell["engines"]:
            if entry["threads"] == threads:
                lines.setdefault(entry["engine"], []).append((place, entry["median_s"]))
    return lines
