"""The kernels of accelerators on rows that lie on the device, and what share of it they use."""

import dataclasses
import functools
import json
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

import jax
import numpy as np

from gpu_benchmark import clocks
from lrrf_jax._backend import ACCELERATOR, backend_of
from lrrf_jax.inference.ready import make_ready
from lrrf_jax.learners.forest.predict import forest_ranks

COMPILER = pathlib.Path(__file__).parents[1] / "compile_for_gpu.py"
INTERPRETED_ROWS = 1024  # of the Pallas kernel, where there is no accelerator to run it


@dataclasses.dataclass(frozen=True)
class Limits:
    """What the device was measured to do at most."""

    bytes_a_second: float  # copied
    instructions_a_second: float  # of integers


def forms(ranker: Any, features: Any) -> dict[str, Any]:
    """Functions that rank rows, which are put on the device now: by name."""
    ready = make_ready(ranker.forest_, ACCELERATOR)
    static = {"n_labels": len(ranker.labels_), "aggregation": ranker.aggregation_}
    rows = jax.device_put(features)
    few = rows[:INTERPRETED_ROWS] if backend_of(jax.devices()).on_host else rows
    return {
        "gathered": functools.partial(forest_ranks, ready, rows, **static),
        "pallas": functools.partial(forest_ranks, ready, few, **static, pallas=True),
        "predict_on_device": functools.partial(ranker.predict_on_device, rows),
    }


def measure_kernels(ranker: Any, features: np.ndarray, limits: Limits) -> dict[str, Any]:
    """Time each form on whole tiles of rows."""
    measured = {}
    for name, run in forms(ranker, features).items():
        n_rows, n_labels = run().shape
        seconds = clocks.seconds_in_a_row(run)
        # Nobody can save reading the features and writing the ranks.
        n_bytes = 4 * n_rows * (features.shape[1] + n_labels)
        instructions = instructions_a_row(ranker, features.shape[1], n_rows, name)
        issued = None
        if instructions is not None:
            issued = round(n_rows * instructions / seconds / limits.instructions_a_second, 4)
        measured[name] = {
            "rows": n_rows,
            "seconds_of_one_call": clocks.median_seconds(run),
            "seconds_in_a_row": seconds,
            "rows_a_second": round(n_rows / seconds),
            "share_of_copy_bandwidth": round(n_bytes / seconds / limits.bytes_a_second, 5),
            "ptx_instructions_a_row": instructions,
            "share_of_issue_rate": issued,
        }
    return measured


def instructions_a_row(ranker: Any, n_features: int, n_rows: int, form: str) -> float | None:
    """Ask the compiler what a random forest of this shape takes; None where it cannot tell."""
    forest = ranker.forest_
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "figures.json")
        options = {
            "rows": n_rows,
            "features": n_features,
            "labels": len(ranker.labels_),
            "trees": forest.n_trees,
            "depth": forest.depth,
            "aggregation": ranker.aggregation_,
            "json": output,
        }
        command = [sys.executable, COMPILER, "ranks", *["--pallas"] * (form == "pallas")]
        command += [f"--{name}={value}" for name, value in options.items()]
        if subprocess.run(command, capture_output=True).returncode != 0:
            return None
        return json.loads(output.read_text())["PTX instructions a row"]
