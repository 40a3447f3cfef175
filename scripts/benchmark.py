"""Time fit and predict beside scikit-learn in interleaved runs of one process, and write JSON.

    python scripts/benchmark.py --data ../shared/data/kebi/pendigits.csv.gz
    python scripts/benchmark.py            # a synthetic table of the same shape

Everything runs on one core (the process binds itself to one): ratios within one run are what
counts, on a machine that others use too. Compilation is timed apart, as the first call.
"""

import argparse
import functools
import json
import os
import pathlib
import platform
import statistics
import time

import numpy as np

REPEATS = 9


def timed(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def interleave(runs, repeats):
    """Call the runs in turn; name -> {first, median, least} in seconds."""
    first = {name: timed(run) for name, run in runs.items()}
    seconds = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            seconds[name].append(timed(run))
    return {
        name: {
            "first_call_s": round(first[name], 4),
            "median_s": round(statistics.median(times), 5),
            "least_s": round(min(times), 5),
        }
        for name, times in seconds.items()
    }


def synthetic(n_samples, n_features=16, n_labels=10, seed=0):
    """Features, and the positions of labels whose scores are a noisy function of them."""
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal((n_features, 2 * n_features)) / np.sqrt(n_features)
    out = rng.standard_normal((2 * n_features, n_labels))
    x = rng.standard_normal((n_samples, n_features)).astype(np.float32)
    score = np.tanh(x @ hidden) @ out + rng.standard_normal((n_samples, n_labels)) / 2
    return x, (np.argsort(np.argsort(-score, 1), 1) + 1).astype(np.float32)


def beside_scikit_learn(x, y):
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    from lrrf_jax import RandomForestLabelRanker

    top = y.argmin(1)
    n_candidates = int(np.log2(x.shape[1])) + 1
    same = {"max_depth": 8, "max_features": n_candidates, "n_jobs": 1, "random_state": 0}
    peers = {
        "fit: scikit-learn classifier": RandomForestClassifier(50, criterion="entropy", **same),
        "predict: scikit-learn regressor": RandomForestRegressor(50, **same).fit(x, y),
    }

    def fit(**parameters):
        return RandomForestLabelRanker(random_state=0, **parameters).fit(x, y)

    ours = fit()
    peer_classifier = peers["fit: scikit-learn classifier"]
    fits = {
        "scikit-learn RandomForestClassifier": lambda: peer_classifier.fit(x, top),
        "lrrf_jax, TLAC as written": lambda: fit(purity="top-label"),
        "lrrf_jax, TLAC continued": fit,
    }
    peer = peers["predict: scikit-learn regressor"]
    predictions = {
        "scikit-learn RandomForestRegressor": lambda: peer.predict(x),
        "lrrf_jax": lambda: ours.predict(x),
    }
    return {
        "fit": with_ratios(interleave(fits, REPEATS)),
        "predict": with_ratios(interleave(predictions, REPEATS)),
    }


def with_ratios(table):
    """Add how many times faster than the first row each row is, by medians."""
    peer = next(iter(table.values()))["median_s"]
    return {
        name: row | {"times_as_fast": round(peer / row["median_s"], 2)}
        for name, row in table.items()
    }


def growth_of_time(sizes):
    """Warm seconds of fit and predict at growing numbers of rows, and the fitted exponent."""
    from lrrf_jax import RandomForestLabelRanker

    rows = []
    for n_samples in sizes:
        x, y = synthetic(n_samples)
        ranker = RandomForestLabelRanker(random_state=0).fit(x, y)
        ranker.predict(x)
        runs = {
            "fit": functools.partial(ranker.fit, x, y),
            "predict": functools.partial(ranker.predict, x),
        }
        result = interleave(runs, 3)
        rows.append(
            {"rows": n_samples, "fit_s": result["fit"]["least_s"]}
            | {"predict_s": result["predict"]["least_s"]}
        )
        print(rows[-1], flush=True)
    logs = np.log([[row["rows"], row["fit_s"], row["predict_s"]] for row in rows]).T
    exponents = {
        name: round(float(np.polyfit(logs[0], logs[k], 1)[0]), 3)
        for k, name in ((1, "fit"), (2, "predict"))
    }
    return {"rows": rows, "exponent": exponents}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, help="a CSV file with A* and L* columns")
    parser.add_argument("--output", type=pathlib.Path, default="benchmarks/benchmark.json")
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 40_000, 160_000])
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):  # before any library starts its threads
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import jax
    import sklearn

    import lrrf_jax
    from lrrf_jax.datasets import read

    if options.data:
        data = read(options.data)
        x, y, name = data.X, np.asarray(data.y, np.float32), data.name
    else:
        (x, y), name = synthetic(10_992), "synthetic"
    document = {
        "what": f"{name}: {x.shape[0]} rows, {x.shape[1]} features, {y.shape[1]} labels, 50 trees",
        "versions": {
            "lrrf_jax": lrrf_jax.__version__,
            "jax": jax.__version__,
            "scikit-learn": sklearn.__version__,
            "python": platform.python_version(),
        },
        "hardware": {"machine": platform.machine(), "device": jax.devices()[0].device_kind},
        "one_thread": True,
    } | beside_scikit_learn(x, y)
    document["growth"] = growth_of_time(options.sizes)
    options.output.parent.mkdir(exist_ok=True)
    options.output.write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
