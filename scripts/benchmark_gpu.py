"""Time fit and predict on an accelerator, and check its ranks and trees against the CPU's.

    python scripts/benchmark_gpu.py --output benchmarks/gpu.json
    python scripts/benchmark_gpu.py --allow-cpu --quick      # a rehearsal without an accelerator

Needs jax for the accelerator, numpy and scikit-learn, and nothing else; the package is taken from
this tree. Beside what scripts/benchmark.py writes, the JSON has ``accelerator``: rows a second with
the rows on the host and on the device, the bandwidth of a copy on the device and the share of it
that reading features and writing ranks takes, and whether ranks and trees equal, bit for bit,
those of a process on the CPU, and the ranks those of a plain loop in NumPy.

Exit codes: 0 all equal; 1 something differs; 2 no accelerator.
"""

import argparse
import functools
import json
import os
import pathlib
import pickle
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import jax
import jax.numpy as jnp
import numpy as np

from lrrf_jax.benchmarks import FULL, QUICK, Plan, Shape, measure, report
from lrrf_jax.benchmarks.cases import synthetic
from lrrf_jax.benchmarks.engines import prediction_forest

COPIED_BYTES = 2**28
LOOP_ROWS = 10_000
ROUNDS = 7
EXIT_DIFFERENT, EXIT_NO_ACCELERATOR = 1, 2


def median_seconds(run, rounds: int = ROUNDS) -> float:
    """Time a function whose result lies on the device; the first call, which compiles, apart."""
    jax.block_until_ready(run())
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        jax.block_until_ready(run())
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def copy_bandwidth() -> float:
    """Measure bytes a second that a kernel reads and writes when it does next to nothing."""
    source = jnp.zeros(COPIED_BYTES // 4, jnp.float32)
    add_one = jax.jit(lambda x: x + jnp.float32(1))
    return 2 * source.nbytes / median_seconds(lambda: add_one(source))


def peak_device_mib() -> float | None:
    """Most bytes that were in use on the device so far, where it tells."""
    stats = jax.devices()[0].memory_stats() or {}
    peak = stats.get("peak_bytes_in_use")
    return None if peak is None else round(peak / 2**20, 1)


def loop_ranks(forest, features) -> np.ndarray:
    """Rank rows as the definition of a forest says: one level of one tree after the other."""
    depth, rows = forest.depth, np.arange(len(features))
    total = np.zeros((len(features), forest.n_outputs), np.int64)
    for feature, threshold, missing_left, leaf_slot in zip(*forest[:4], strict=True):
        node = np.zeros(len(features), np.int64)
        for _ in range(depth):
            value = features[rows, feature[node]]
            left = np.where(np.isnan(value), missing_left[node], value >= threshold[node])
            node = 2 * node + np.where(left, 1, 2)
        total += np.asarray(forest.leaf_value)[leaf_slot[node - (2**depth - 1)]]
    order = np.argsort(total, axis=1, kind="stable")
    return np.argsort(order, axis=1) + 1


def on_device(ranker, features):
    """Return a function that ranks rows which are on the device already, and their number."""
    from lrrf_jax.inference.ready import make_ready
    from lrrf_jax.learners.batching import TILE
    from lrrf_jax.learners.forest.predict import forest_ranks

    n_rows = max(TILE, len(features) // TILE * TILE)
    rows = jax.device_put(np.resize(features, (n_rows, features.shape[1])))
    ready = make_ready(ranker.forest_)
    static = {"n_labels": len(ranker.labels_), "aggregation": ranker.aggregation_}
    return lambda: forest_ranks(ready, rows, **static), n_rows


def with_awkward_values(features, forest, seed: int = 2):
    """Copy rows, with values on thresholds, missing ones, and signed zeros among them."""
    rng = np.random.default_rng(seed)
    features = features.copy()
    split = np.flatnonzero(np.asarray(forest.threshold).ravel() < np.inf)
    chosen = rng.choice(split, len(features))
    columns = np.asarray(forest.feature).ravel()[chosen]
    features[np.arange(len(features)), columns] = np.asarray(forest.threshold).ravel()[chosen]
    for value in (np.nan, -0.0, 1e-40, -1e-40):
        features[rng.random(features.shape) < 0.01] = value
    return features


def differences(shape: Shape, plan: Plan, ranker, features) -> dict:
    """Compare with a process on the CPU, and with a loop in NumPy; counts of what differs."""
    features = with_awkward_values(features, ranker.forest_)
    ranks = ranker.predict(features)
    rows = features[:LOOP_ROWS]
    by_loop = (ranks[: len(rows)] != loop_ranks(ranker.forest_, rows)).any(axis=1)
    with tempfile.TemporaryDirectory() as folder:
        task, answer = os.path.join(folder, "task"), os.path.join(folder, "answer")
        pathlib.Path(task).write_bytes(pickle.dumps((shape, plan, ranker, features)))
        subprocess.run(
            [sys.executable, __file__, "--on-cpu", task, answer],
            env=os.environ | {"JAX_PLATFORMS": "cpu"},
            check=True,
        )
        cpu_ranks, cpu_forest = pickle.loads(pathlib.Path(answer).read_bytes())
    pairs = zip(ranker.forest_, cpu_forest, strict=True)
    same_trees = [np.array_equal(np.asarray(a), np.asarray(b)) for a, b in pairs]
    return {
        "rows_compared_with_cpu": len(features),
        "rows_that_differ_from_cpu": int((ranks != cpu_ranks).any(axis=1).sum()),
        "rows_compared_with_loop": len(rows),
        "rows_that_differ_from_loop": int(by_loop.sum()),
        "forest_equals_that_of_cpu": all(same_trees),
    }


def answer_on_cpu(task: pathlib.Path, answer: pathlib.Path) -> None:
    """Do what the other process compares with."""
    shape, plan, ranker, features = pickle.loads(task.read_bytes())
    training = synthetic(shape, plan.training_rows, seed=0)
    forest = prediction_forest(shape, plan, training).forest_
    answer.write_bytes(pickle.dumps((ranker.predict(features), forest)))


def measure_accelerator(plan: Plan) -> dict:
    bandwidth = copy_bandwidth()
    device = jax.devices()[0]
    shapes = []
    for shape in plan.shapes:
        ranker = prediction_forest(shape, plan, synthetic(shape, plan.training_rows, seed=0))
        features, _ = synthetic(shape, max(plan.predict_rows), seed=1)
        run, n_rows = on_device(ranker, features)
        kernel = median_seconds(run)
        whole = median_seconds(functools.partial(ranker.predict, features))
        moved = 4 * (shape.n_features + shape.n_labels)  # bytes a row that nobody can save
        entry = {
            "shape": shape.name,
            "rows": len(features),
            "rows_a_second_from_host": round(len(features) / whole),
            "rows_a_second_on_device": round(n_rows / kernel),
            "peak_device_mib": peak_device_mib(),
            "share_of_copy_bandwidth": round(n_rows / kernel * moved / bandwidth, 5),
        }
        shapes.append(entry | differences(shape, plan, ranker, features))
        print(shapes[-1], file=sys.stderr, flush=True)
    return {
        "platform": device.platform,
        "device": device.device_kind,
        "is_accelerator": device.platform != "cpu",
        "copy_gib_a_second": round(bandwidth / 2**30, 1),
        "shapes": shapes,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=pathlib.Path, default="benchmarks/gpu.json")
    parser.add_argument("--quick", action="store_true", help="one shape, small tables")
    parser.add_argument("--allow-cpu", action="store_true", help="rehearse without an accelerator")
    parser.add_argument("--only-device", action="store_true", help="leave the peers out")
    parser.add_argument("--on-cpu", nargs=2, type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.on_cpu:
        answer_on_cpu(*options.on_cpu)
        return 0
    on_cpu = jax.devices()[0].platform == "cpu"
    if on_cpu and not options.allow_cpu:
        print(
            "JAX sees no accelerator here; install jax for yours (pip install 'jax[cuda13]'), or "
            "say --allow-cpu to rehearse on the CPU.",
            file=sys.stderr,
        )
        return EXIT_NO_ACCELERATOR
    plan = QUICK if options.quick else FULL
    accelerator = measure_accelerator(plan)
    document = measure(plan, kinds=() if options.only_device else ("predict", "fit"))
    document["accelerator"] = accelerator
    if on_cpu:
        document["what"] = f"A REHEARSAL ON THE CPU, no accelerator. {document['what']}"
    options.output.parent.mkdir(exist_ok=True)
    options.output.write_text(json.dumps(document, indent=1) + "\n")
    print(report.markdown(document))
    equal = not report.unequal_ranks(document) and all(
        entry["rows_that_differ_from_cpu"] == 0
        and entry["rows_that_differ_from_loop"] == 0
        and entry["forest_equals_that_of_cpu"]
        for entry in accelerator["shapes"]
    )
    print("ranks and trees equal the CPU's" if equal else "RANKS OR TREES DIFFER", file=sys.stderr)
    return 0 if equal else EXIT_DIFFERENT


if __name__ == "__main__":
    sys.exit(main())
