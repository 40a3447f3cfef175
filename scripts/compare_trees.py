"""Time fits and predictions of two source trees, in interleaved runs of one process.

    git worktree add /tmp/before HEAD~1
    python scripts/compare_trees.py /tmp/before . --output before_after.json

For a change that should change the speed or nothing: each tree is imported under a name of its own,
programs are compiled first, and the order of the two alternates from round to round. Ratios above 1
mean that the second tree is slower. Ranks must be equal, or the script stops.
"""

import argparse
import importlib
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import sys
import tempfile
import time

import jax
import numpy as np

SHAPES = ((16, 10), (9, 5), (70, 4))  # features, labels: those of scripts/benchmark.py
FIT_ROWS = (150, 11_000, 100_000)
PREDICT_ROWS = (1, 100, 10_000, 200_000)
OTHER_FITS = {
    "pairwise": ("lr-rf", {"criterion": "pairwise"}),
    "positions": ("lr-rf", {"criterion": "positions"}),
    "rac": ("lr-rf", {"criterion": "rac"}),
    "random": ("lr-rf", {"splitter": "random"}),
    "lrt": ("lrt", {}),
    "lrt-bag": ("lrt-bag", {}),
    "w-lrt-bag": ("w-lrt-bag", {}),
    "f-lrt-bag": ("f-lrt-bag", {}),
    "lrf-rt": ("lrf-rt", {}),
    "lrf-ert": ("lrf-ert", {}),
}
OTHER_ROWS = 2_000
WIDE = (1_024, 5, 33)  # features, labels, rows: such as of reaction conditions
WIDE_FITS = ("lr-rf", "pw-rf", "lw-rf", "lrt-bag")  # with their own settings: 16 levels, but lr-rf
DEEP = {"n_estimators": 100, "max_depth": 16, "criterion": "pairwise", "aggregation": "kemeny"}
PARTS = ("fit", "predict", "others", "wide", "deep")
TREES = 50
MIN_SECONDS = 0.01  # of a timed run: short calls are repeated


def import_as(name, tree, into):
    """Import a source tree's package under another name."""
    shutil.copytree(tree / "lrrf_jax", into / name, ignore=shutil.ignore_patterns("__pycache__"))
    for file in (into / name).rglob("*.py"):
        file.write_text(re.sub(r"\blrrf_jax\b", name, file.read_text()))
    return importlib.import_module(name)


def table_of(n_features, n_labels, n_rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    hidden = np.random.default_rng(123).normal(size=(n_features, n_labels))
    scores = X @ hidden + np.sin(2 * X) @ hidden / 2
    return X, (-scores).argsort(1).argsort(1) + 1.0


def timed(run, times):
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(times):
        run()
    return (time.perf_counter() - wall) / times, (time.process_time() - cpu) / times


def compare(title, runs, rounds):
    """Interleave two runs; medians of seconds and their ratios, of wall and of processor time."""
    first = [timed(run, 1)[0] for run in runs]  # with compiling
    times = max(1, int(MIN_SECONDS / timed(runs[0], 1)[0]))
    seconds = [[], []]
    for round_ in range(rounds):
        for which in (0, 1) if round_ % 2 else (1, 0):
            seconds[which].append(timed(runs[which], times))
    before, after = ([statistics.median(kind) for kind in zip(*s, strict=True)] for s in seconds)
    result = {
        "case": title,
        "first_s": first,
        "wall_s": [before[0], after[0]],
        "cpu_s": [before[1], after[1]],
        "wall_ratio": after[0] / before[0],
        "cpu_ratio": after[1] / before[1],
    }
    print(
        f"{title:28} wall {result['wall_ratio']:.3f}  cpu {result['cpu_ratio']:.3f}  "
        f"first {first[0]:.1f} {first[1]:.1f} s",
        flush=True,
    )
    return result


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path)
    parser.add_argument("--only", choices=PARTS, nargs="+")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    parts = options.only or PARTS
    results = []
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, folder)
        into = pathlib.Path(folder)
        packages = [
            import_as("before", options.before, into),
            import_as("after", options.after, into),
        ]

        def learners(name, settings):
            return [package.LEARNERS[name](random_state=0, **settings) for package in packages]

        def fits(title, name, settings, table):
            pair = learners(name, settings)
            runs = [lambda ranker=ranker: ranker.fit(*table) for ranker in pair]
            results.append(compare(title, runs, options.rounds))
            ranks = [ranker.predict(table[0][:1000]) for ranker in pair]
            assert (ranks[0] == ranks[1]).all(), f"{title}: ranks differ"

        def predictions(title, settings, n_features, n_labels):
            table = table_of(n_features, n_labels, 11_000)
            pair = learners("lr-rf", settings)
            for ranker in pair:
                ranker.fit(*table)
            rows = table_of(n_features, n_labels, max(PREDICT_ROWS))[0]
            for n_rows in PREDICT_ROWS:
                some = rows[:n_rows]
                runs = [lambda ranker=ranker, some=some: ranker.predict(some) for ranker in pair]
                assert (runs[0]() == runs[1]()).all(), f"predict {title}: ranks differ"
                results.append(compare(f"predict {title} {n_rows}", runs, options.rounds))

        for n_features, n_labels in SHAPES:
            shape = f"d{n_features}m{n_labels}"
            for n_rows in FIT_ROWS if "fit" in parts else ():
                table = table_of(n_features, n_labels, n_rows)
                fits(f"fit {shape} {n_rows}", "lr-rf", {"n_estimators": TREES}, table)
            if "predict" in parts:
                predictions(shape, {"n_estimators": TREES, "max_bins": 63}, n_features, n_labels)
        for title, (name, settings) in OTHER_FITS.items() if "others" in parts else ():
            if name != "lrt":
                settings = {"n_estimators": TREES, **settings}
            fits(f"fit d16m6 {title}", name, settings, table_of(16, 6, OTHER_ROWS))
        for name in WIDE_FITS if "wide" in parts else ():
            fits(f"fit d{WIDE[0]}m{WIDE[1]} {WIDE[2]} {name}", name, {}, table_of(*WIDE))
        if "deep" in parts:
            predictions("deep d9m5", DEEP, 9, 5)
    if options.output:
        about = {
            "python": platform.python_version(),
            "jax": jax.__version__,
            "machine": f"{platform.machine()}, {os.cpu_count()} cores",
            "device": jax.devices()[0].device_kind,
            "rounds": options.rounds,
        }
        report = {"about": about, "results": results}
        options.output.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
