"""What needs a process of its own: peak memory, cold starts, the number of compiled programs.

Run as ``python -m lrrf_jax.benchmarks.apart TASK`` by :func:`measure_apart`; a task is one JSON
object, and so is the answer.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from lrrf_jax.benchmarks import bars, engines
from lrrf_jax.benchmarks.cases import Plan, Shape, synthetic
from lrrf_jax.benchmarks.timing import CompilationCounter, n_cores, on_cores

_MIXED_CALLS = 1000
_MOST_MIXED_ROWS = 100_000
_MIB = 2**20
_TABLES = ("predict", "fit")  # kinds of cells whose memory is measured, and engines
_WEIGHED = (
    engines.OURS,
    engines.SCIKIT_LEARN,
    engines.ONNX,
    engines.TREELITE,
    engines.LIGHTGBM,
)
# With the compilation cache in a directory of the caller's.


def measure_apart(
    plan: Plan,
    document: dict[str, Any],
    on_part: Callable[[dict[str, Any], str], None] = lambda document, part: None,
) -> dict[str, Any]:
    """Add ``memory``, ``cold_start`` and ``programs`` to a document.

    Memory is that of the first shape at the largest numbers of rows that a cell of the document
    was run at, one engine per process, on all cores.
    """
    with tempfile.TemporaryDirectory() as folder:
        document["cold_start"] = []
        for shape in plan.shapes:
            document["cold_start"].append(_cold_start(shape, plan, folder))
            on_part(document, f"cold start {shape.name}")
        forest = _grown_forest(plan.shapes[0], plan, folder)
        document["programs"] = [_ask("programs", plan.shapes[0], plan, forest=forest)]
        on_part(document, f"programs {plan.shapes[0].name}")
        document["memory"] = []
        for kind, rows, engine in _memory_tasks(plan, document):
            answer = _ask(
                "memory", plan.shapes[0], plan, kind=kind, rows=rows, engine=engine, forest=forest
            )
            document["memory"].append(answer)
            on_part(document, f"memory {kind} {engine}")
    document["bars"] = bars.judge(document)
    return document


def _memory_tasks(plan: Plan, document: dict[str, Any]) -> list[tuple[str, int, str]]:
    tasks = {}
    for cell in sorted(document["cells"], key=lambda cell: cell["rows"]):
        if cell["shape"] == plan.shapes[0].name and cell["kind"] in _TABLES:
            for entry in cell["engines"]:
                tasks[cell["kind"], entry["engine"]] = cell["rows"]
    return [(kind, rows, name) for (kind, name), rows in tasks.items() if name in _WEIGHED]


def _grown_forest(shape: Shape, plan: Plan, folder: str) -> str:
    """Grow a forest for the tasks that only predict; returns the path of its pickle."""
    path = os.path.join(folder, f"{shape.name}.pickle")
    ranker = engines.prediction_forest(plan, synthetic(shape, plan.training_rows, 0))
    pathlib.Path(path).write_bytes(pickle.dumps(ranker))
    return path


def _cold_start(shape: Shape, plan: Plan, folder: str) -> dict[str, Any]:
    cache = {"LRRF_JAX_CACHE": os.path.join(folder, "cache")}
    first = _ask("fit", shape, plan, variables=cache, rows=min(plan.fit_rows))
    second = _ask("fit", shape, plan, variables=cache, rows=min(plan.fit_rows))
    return first | {
        "second_start_compile_s": second.get("compile_s"),
        "second_start_first_call_s": second.get("first_call_s"),
    }


def _ask(
    task: str, shape: Shape, plan: Plan, variables: dict[str, str] | None = None, **details: Any
) -> dict[str, Any]:
    """Do a task in a process of its own."""
    request = {"task": task, "shape": shape, "plan": dataclasses.asdict(plan), **details}
    environment = os.environ | (variables or {"LRRF_JAX_CACHE": "0"})
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-m", "lrrf_jax.benchmarks.apart", json.dumps(request)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"shape": shape.name, **_told(details), "failed": reason}
    return {"shape": shape.name, **_told(details), **json.loads(done.stdout)}


def _told(details: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in details.items() if name != "forest"}


# ----------------------------------------------------------------------------- in the process
def _fit(shape: Shape, plan: Plan, request: dict[str, Any]) -> dict[str, Any]:
    features, positions = synthetic(shape, request["rows"], seed=0)
    counter = CompilationCounter.of_process()
    ranker = engines.RandomForestLabelRanker(plan.n_trees, max_depth=plan.max_depth, random_state=0)
    start = time.perf_counter()
    ranker.fit(features, positions)
    first = time.perf_counter() - start
    # What is counted from here on is not part of a fit.
    seconds, programs = counter.seconds, counter.n_programs
    start = time.perf_counter()
    ranker.fit(features, positions)
    return {
        "first_call_s": round(first, 3),
        "compile_s": round(seconds, 3),
        "programs": programs,
        "warm_s": round(time.perf_counter() - start, 4),
    }


def _programs(shape: Shape, plan: Plan, request: dict[str, Any]) -> dict[str, Any]:
    ranker = pickle.loads(pathlib.Path(request["forest"]).read_bytes())
    counter = CompilationCounter.of_process()
    rng = np.random.default_rng(0)
    most = min(_MOST_MIXED_ROWS, max(plan.predict_rows))
    sizes = np.exp(rng.uniform(0, np.log(most + 1), _MIXED_CALLS)).astype(int)
    features, _ = synthetic(shape, most, seed=1)
    for size in sizes:
        ranker.predict(features[:size])
    return {
        "calls": len(sizes),
        "distinct_sizes": len(np.unique(sizes)),
        "largest_size": int(sizes.max()),
        "programs": counter.n_programs,
        "compile_s": round(counter.seconds, 3),
    }


def _memory(shape: Shape, plan: Plan, request: dict[str, Any]) -> dict[str, Any]:
    """Peak resident memory while an engine runs once, its first call: compilation included."""
    everyone = (*engines.NOTES["predict"], *engines.NOTES["fit"])
    plan = dataclasses.replace(
        plan, left_out=tuple(name for name in everyone if name != request["engine"])
    )
    if request["kind"] == "predict":
        ranker = pickle.loads(pathlib.Path(request["forest"]).read_bytes())
        training = synthetic(shape, plan.training_rows, seed=0)
        features, _ = synthetic(shape, request["rows"], seed=1)
        peers, _ = engines.predict_engines(lambda _: ranker, features, training, plan, (n_cores(),))
    else:
        features, positions = synthetic(shape, request["rows"], seed=0)
        peers = engines.fit_engines(features, positions, plan, (n_cores(),))
    [engine] = peers.engines
    before = _forget_peak()
    with on_cores(engine.n_threads):
        engine.run()
    peak = _peak_bytes()
    return {
        "threads": engine.n_threads,
        "table_mib": round(features.nbytes / _MIB, 1),
        "before_mib": round(before / _MIB, 1),
        "peak_mib": round(peak / _MIB, 1),
        "over_before_mib": round((peak - before) / _MIB, 1),
    }


def _status(field: str) -> int:
    with open("/proc/self/status") as lines:
        for line in lines:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}")


def _forget_peak() -> int:
    """Let the peak start from what is resident now, and return that; Linux only."""
    if not os.path.exists("/proc/self/status"):
        raise RuntimeError("peak memory is read from /proc, which only Linux has")
    # Where this is not allowed the peak is at most too high: that of making the table.
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as control:
        control.write("5")
    return _status("VmRSS")


def _peak_bytes() -> int:
    return _status("VmHWM")


_TASKS = {"fit": _fit, "programs": _programs, "memory": _memory}


def main(argument: str) -> None:
    """Do one task and print its answer."""
    request = json.loads(argument)
    plan = Plan(**{k: v for k, v in request["plan"].items() if k != "shapes"})
    answer = _TASKS[request["task"]](Shape(*request["shape"]), plan, request)
    print(json.dumps(answer))


if __name__ == "__main__":
    main(sys.argv[1])
