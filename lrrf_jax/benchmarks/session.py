"""Run a plan cell by cell into one JSON-able document, which can be taken up again."""

import datetime
import functools
import importlib.metadata
import math
import os
import pathlib
import platform
import time
from collections.abc import Callable, Iterable
from typing import Any

import jax
import numpy as np

from lrrf_jax._jax_backend import require_backend
from lrrf_jax._program_store import use_store
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.benchmarks import bars, c_reference, engines
from lrrf_jax.benchmarks.cases import DATA_NOTE, Plan, Shape, real_table, synthetic
from lrrf_jax.benchmarks.timing import Engine, Timing, n_cores, time_in_turn

KINDS = ("predict", "fit", "real", "small")
_PACKAGES = ("jax", "jaxlib", "numpy", "scikit-learn", "onnxruntime", "treelite", "lightgbm")
_CHECKED_ROWS = 10_000
_QUALITY_ROWS = (5_000, 20_000)  # of the fits whose forests are also asked about other rows
_LEAST_ROWS_TO_GUESS_FROM = 10_000
_EXPECTED_GROWTH = 1.15  # of a time from one number of rows to the next, over linear
_MOST_ROWS_OF_OTHER_SHAPES = 100_000
_FIT_ROWS_A_SHARE = 150_000  # that get `cell_seconds`: fits of more get as many times more


class Cell:
    """One table shape and size, fitted or predicted; its place in the document."""

    def __init__(self, kind: str, shape: Shape, rows: int) -> None:
        self.kind: str = kind
        self.shape: Shape = shape
        self.rows: int = rows

    def table(self, plan: Plan) -> tuple[NDArray, NDArray]:
        """Return the features and positions of a fit."""
        if self.shape.real:
            return real_table(str(plan.data), self.shape.real)[1:]
        return synthetic(self.shape, self.rows, seed=0)

    @property
    def name(self) -> str:
        """What progress lines call it."""
        return f"{self.kind} {self.shape.name} {self.rows} rows"

    def matches(self, entry: dict[str, Any]) -> bool:
        """Whether an entry of a document is about this cell."""
        return (entry["kind"], entry["shape"], entry["rows"]) == (
            self.kind,
            self.shape.name,
            self.rows,
        )


def cells_of(plan: Plan, kinds: Iterable[str] = KINDS) -> list[Cell]:
    """List the cells of a plan in the order of their running."""
    kinds, rows = list(kinds), {"predict": plan.predict_rows, "fit": plan.fit_rows}
    cells = [
        Cell(kind, shape, n)
        for shape in plan.shapes
        for kind in kinds
        for n in rows.get(kind, ())
        if n <= _MOST_ROWS_OF_OTHER_SHAPES or shape == plan.shapes[0]
    ]
    if "real" in kinds and plan.data is not None:
        for shape, features, _ in (real_table(plan.data, name) for name in plan.real):
            cells.append(Cell("real", shape, len(features)))
    if "small" in kinds:
        cells += [Cell("small", shape, n) for n, shape in plan.small]
    return cells


def measure(
    plan: Plan,
    *,
    kinds: Iterable[str] = KINDS,
    c_source: pathlib.Path | None = None,
    document: dict[str, Any] | None = None,
    on_cell: Callable[[dict[str, Any], str], None] = lambda document, cell: None,
) -> dict[str, Any]:
    """Measure every cell of a plan, side by side with the peers that are installed.

    Parameters
    ----------
    plan
        What to run.
    kinds
        Of `KINDS`: "predict" and "fit" of synthetic tables, fits of "real" ones, fits of "small"
        ones by several learners.
    c_source
        The C yardstick; without it that row is left out.
    document
        An earlier result of this machine: cells that it holds are kept.
    on_cell
        Called after each cell with the document so far and the cell's name.

    Returns
    -------
    dict
        ``what``, ``created``, ``versions``, ``hardware``, ``settings``, ``notes``, ``cells``,
        ``bars``; see `lrrf_jax.benchmarks.report` for tables of it.
    """
    use_store(None)  # compiling is a part of what is measured
    document = document or new_document(plan)
    require_same_machine(document)
    threads = (1, n_cores()) if n_cores() > 1 else (1,)

    @functools.lru_cache(len(engines.AGGREGATIONS))  # those of one shape
    def forest_of(shape: Shape, aggregation: str) -> Any:
        training = synthetic(shape, plan.training_rows, seed=0)
        return engines.prediction_forest(plan, training, aggregation)

    for cell in cells_of(plan, kinds):
        if any(map(cell.matches, document["cells"])):
            continue
        if cell.kind == "predict":
            of_shape = functools.partial(forest_of, cell.shape)
            entry = _measure_predict(cell, plan, threads, document, of_shape, c_source)
        elif cell.kind == "small":
            entry = _measure(cell, plan, document, engines.small_engines(*cell.table(plan), plan))
        else:
            entry = _measure_fit(cell, plan, threads, document)
        document["cells"].append(entry)
        document["bars"] = bars.judge(document)
        on_cell(document, cell.name)
    return document


def require_same_machine(document: dict[str, Any]) -> None:
    """Refuse to add to a document of another machine or other versions."""
    for part, now in (("versions", versions()), ("hardware", hardware())):
        for name, value in document[part].items():
            if name != "load_at_start" and now.get(name) != value:
                raise InputError(
                    f"The earlier measurements are of another setting: {part}, {name} was "
                    f"{value!r} and is {now.get(name)!r}. Write to another file."
                )


def versions() -> dict[str, str]:
    """Versions of Python, this package and those that are measured."""
    found = {"python": platform.python_version()}
    for package in ("lrrf_jax", *_PACKAGES):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def new_document(plan: Plan) -> dict[str, Any]:
    """Start a document: versions, machine, settings, and how to read the rest."""
    return {
        "what": f"{plan.n_trees} trees of depth {plan.max_depth}; seconds per call, wall clock",
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "hardware": hardware(),
        "settings": {
            "n_trees": plan.n_trees,
            "max_depth": plan.max_depth,
            "rounds": plan.rounds,
            "cell_seconds": plan.cell_seconds,
            "longest_seconds": plan.longest_seconds,
            "prediction forest": f"grown on {plan.training_rows} rows with at most "
            f"{plan.max_bins} thresholds a feature",
        },
        "notes": {
            "data": DATA_NOTE,
            "real": f"{', '.join(plan.real)} of the KEBI sets"
            if plan.data
            else "left out: no folder of the KEBI sets was given",
            "timing": "all engines of a cell in turn, in one process, once per round; medians over "
            "rounds; an engine that takes more than a third of cell_seconds runs once; calls "
            "under 4 ms are repeated within a sample; fits of many rows get cell_seconds for each "
            f"{_FIT_ROWS_A_SHARE:,}",
            "threads": "1: the calling thread and those it starts are bound to one core, and "
            "every peer is told to use one, but in a quick run, where they run on all cores too; "
            "cores_used is processor time over wall-clock time",
            "ratio": "times as fast: the peer's median over that of lrrf_jax with as many "
            "threads; ratio_of_rounds is the median of the ratios within rounds",
            "engines": engines.NOTES,
        },
        "cells": [],
        "bars": [],
    }


def hardware() -> dict[str, Any]:
    """Describe the machine."""
    model, memory = platform.processor() or platform.machine(), None
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                if line.startswith("model name"):
                    model = line.split(":", 1)[1].strip()
                    break
    require_backend()
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1)
    return {
        "processor": model,
        "cores": n_cores(),
        "memory_gib": memory,
        "system": f"{platform.system()} {platform.machine()}",
        "device": jax.devices()[0].device_kind,
        "avx512": c_reference.has_avx512(),
        "load_at_start": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def load_warning() -> str | None:
    """Say so where others keep the machine busy."""
    if not hasattr(os, "getloadavg"):
        return None
    load, cores = os.getloadavg()[0], n_cores()
    if load < cores / 2:
        return None
    return (
        f"The load is {load:.1f} on {cores} cores: others are at work, and times will be long and "
        "uneven. Ratios within a round suffer less."
    )


def _measure_predict(cell, plan, threads, document, forest_of, c_source):
    training = synthetic(cell.shape, plan.training_rows, seed=0)
    features, _ = synthetic(cell.shape, cell.rows, seed=1)
    peers, ranks = engines.predict_engines(forest_of, features, training, plan, threads, c_source)
    entry = _measure(cell, plan, document, peers)
    rows = features[:_CHECKED_ROWS]
    if ranks:
        expected = forest_of("auto").predict(rows)
        entry["rows_ranked_alike"] = {
            name: round(float((rank(rows) == expected).all(axis=1).mean()), 6)
            for name, rank in ranks.items()
        }
    return entry


def _measure_fit(cell, plan, threads, document):
    is_real = cell.kind == "real"
    peers = engines.fit_engines(*cell.table(plan), plan, threads, pairwise=is_real)
    entry = _measure(cell, plan, document, peers)
    if not is_real and _QUALITY_ROWS[0] <= cell.rows <= _QUALITY_ROWS[1]:
        ran = {(timed["engine"], timed["threads"]) for timed in entry["engines"]}
        again = [e for e in peers.engines if e.key in ran and e.n_threads == 1]
        entry["top_label_accuracy"] = _top_label_accuracy(again, cell.shape)
    return entry


def _top_label_accuracy(fits: list[Engine], shape: Shape) -> dict[str, float]:
    """Fit once more, and ask for the first label of rows that were not seen.

    So that no time is bought with worse trees.
    """
    features, positions = synthetic(shape, _CHECKED_ROWS, seed=1)
    shares = {}
    for fit in fits:
        if fit.name in (engines.OURS, engines.OURS_DEFAULT):
            top = fit.run().predict(features).argmin(axis=1)
        elif fit.name == engines.SCIKIT_LEARN:
            top = fit.run().predict(features)
        else:
            continue
        shares[fit.name] = round(float((top == positions.argmin(axis=1)).mean()), 4)
    return shares


def _measure(cell: Cell, plan: Plan, document: dict[str, Any], peers: engines.Peers):
    chosen, skipped = [], dict(peers.skipped)
    for engine in peers.engines:
        expected = _expected_seconds(cell, engine, document)
        if expected > plan.longest_seconds:
            skipped[f"{engine.name}, {engine.n_threads} threads"] = (
                f"not run: would take about {expected:.0f} s"
                if math.isfinite(expected)
                else "not run: too long at fewer rows already"
            )
        else:
            chosen.append(engine)
    start = time.perf_counter()
    shares = max(1.0, cell.rows / _FIT_ROWS_A_SHARE) if cell.kind == "fit" else 1.0
    timings = time_in_turn(chosen, rounds=plan.rounds, cell_seconds=plan.cell_seconds * shares)
    return {
        "kind": cell.kind,
        "shape": cell.shape.name,
        "n_features": cell.shape.n_features,
        "n_labels": cell.shape.n_labels,
        "rows": cell.rows,
        "took_seconds": round(time.perf_counter() - start, 1),
        "engines": [_engine_entry(engine, timings) for engine in chosen],
        "skipped": skipped,
    }


def _expected_seconds(cell: Cell, engine: Engine, document: dict[str, Any]) -> float:
    """Guess from the next smaller cell of the same shape, if that is not all fixed costs.

    An engine that was left out there is left out again; 0 where nothing is known.
    """
    smaller = [
        entry
        for entry in document["cells"]
        if (entry["kind"], entry["shape"]) == (cell.kind, cell.shape.name)
        and _LEAST_ROWS_TO_GUESS_FROM <= entry["rows"] < cell.rows
    ]
    if not smaller:
        return 0.0
    before = max(smaller, key=lambda entry: entry["rows"])
    timed = bars.engine_of(before, *engine.key)
    if timed is None:
        return math.inf
    return timed["median_s"] * (cell.rows / before["rows"]) * _EXPECTED_GROWTH


def _engine_entry(engine: Engine, timings: dict[tuple[str, int], Timing]) -> dict[str, Any]:
    timing = timings[engine.key]
    entry = {
        "engine": engine.name,
        "threads": engine.n_threads,
        "median_s": _rounded(timing.median),
        "least_s": _rounded(min(timing.seconds)),
        "rounds": len(timing.seconds),
        "cores_used": round(timing.cores_used, 2),
        "first_call_s": _rounded(timing.first_seconds),
        "seconds": [_rounded(value) for value in timing.seconds],
    }
    if engine.compiles:
        entry["compile_s"] = round(timing.compile_seconds, 3)
        entry["programs_compiled"] = timing.n_programs
    ours = timings.get((engines.OURS, engine.n_threads))
    if ours is not None and engine.key != (engines.OURS, engine.n_threads):
        entry["ratio"] = round(timing.median / ours.median, 3)
        if len(ours.seconds) == len(timing.seconds):
            shares = np.array(timing.seconds) / np.array(ours.seconds)
            entry["ratio_of_rounds"] = round(float(np.median(shares)), 3)
    return entry


def _rounded(seconds: float) -> float:
    return float(f"{seconds:.4g}")
