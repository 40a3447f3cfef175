"""The part of a page that tells how it came about: data, protocol, versions, parameters."""

import importlib.metadata
from collections.abc import Mapping
from typing import Any

from lrrf_jax.evaluation import Summary
from lrrf_jax.reports.parts import Facts, Table, count

_PACKAGES = ("jaxlib", "numpy", "scipy")


def settings(
    summary: Summary, shapes: Mapping[str, tuple[int, int, int]], more: Mapping[str, Any]
) -> list[Facts | Table]:
    """Write the settings of a comparison, the data sets, and the parameters of the learners."""
    parts: list[Facts | Table] = [Facts({**_protocol(summary), **_versions(summary), **more})]
    rows = [
        (data, *(count(size) for size in shapes[data]))
        for data in summary.datasets
        if data in shapes
    ]
    if rows:
        header = ("Data set", "Rows", "Features", "Labels")
        parts.append(Table("data-sets", "Data sets", header, rows))
    return [*parts, _parameters(summary)]


def cut(summary: Summary) -> str:
    """Say into how many folds the tables were cut: "10-fold"."""
    counts = sorted({run.settings["folds"] for run in summary.runs.values()})
    return f"{counts[0]}-fold" if len(counts) == 1 else f"{counts[0]}- to {counts[-1]}-fold"


def _splits(summary: Summary) -> dict[str, Any]:
    """Tell how the rows of each table were cut, where they were not just shuffled."""
    found = {}
    for run, result in summary.runs.items():
        if "splits" in result.settings:
            found[run.data] = f"{run.data}: {result.settings['splits']}"
    return {"Folds cut by": list(found.values())} if found else {}


def _protocol(summary: Summary) -> dict[str, Any]:
    runs = list(summary.runs.values())
    n_run = {result.scores.shape[1] for result in runs}
    chosen = runs[0].settings
    return {
        "Folds": ", ".join(map(str, sorted({r.settings["folds"] for r in runs}))),
        "Folds run per repeat": ", ".join(map(str, sorted(n_run))),
        "Repeats": chosen["repeats"],
        "Seed": chosen["seed"],
        "Labels deleted": ", ".join(f"{share:g}" for share in summary.shares),
        "Protocol": chosen["protocol"],
        "Stratified folds": "yes" if chosen["stratified"] else "no",
        **_splits(summary),
    }


def _versions(summary: Summary) -> dict[str, Any]:
    found = {}
    for package in _PACKAGES:
        found[package] = importlib.metadata.version(package)
    return {
        "lrrf_jax": summary.version,
        "Folds were run with": list(summary.platforms),
        "Page was made with": ", ".join(f"{name} {version}" for name, version in found.items()),
    }


def _parameters(summary: Summary) -> Table:
    """One line per learner and parameter; learners without one are told too."""
    rows: list[tuple[str, str, str]] = []
    for learner in summary.learners:
        params = next(
            result.settings["params"]
            for run, result in summary.runs.items()
            if run.learner == learner
        )
        if not params:
            rows.append((learner, "no parameters", ""))
        rows += [(learner, key, _text(value)) for key, value in sorted(params.items())]
    header = ("Learner", "Parameter", "Value")
    caption = "Parameters of the learners; a random_state of none is drawn from the seed"
    return Table("parameters", caption, header, rows, row_headers=2)


def _text(value: Any) -> str:
    return "none" if value is None else str(value)
