"""Measure ten-fold tau on the KEBI data sets, and write it as JSON and as a Markdown table.

The data are not part of the project: name the folder that holds NAME.csv.gz files with columns
A1..Ad and L1..Lm (positions).

    python scripts/accuracy.py ../shared/data/kebi --output benchmarks/accuracy.json
"""

import argparse
import json
import pathlib
import platform
import time
import warnings

import jax
import numpy as np

import lrrf_jax
from lrrf_jax import RandomForestLabelRanker
from lrrf_jax.datasets import read
from lrrf_jax.evaluation import cross_validate

# name -> (parameters, share of training labels deleted, tau to be reached within .02 or, for the
# pairwise ones, at least, as measured beforehand with another implementation).
EXPERIMENTS = {
    "TLAC as written": (
        {"purity": "top-label"},
        0.0,
        {
            "iris": 0.784,
            "glass": 0.879,
            "vowel": 0.801,
            "housing": 0.770,
            "vehicle": 0.750,
            "stock": 0.866,
            "wine": 0.942,
        },
    ),
    "TLAC continued": (
        {},
        0.0,
        {"iris": 0.969, "vowel": 0.840, "vehicle": 0.860, "stock": 0.917},
    ),
    "RAC": (
        {"criterion": "rac"},
        0.0,
        {
            "iris": 0.971,
            "glass": 0.891,
            "vowel": 0.875,
            "housing": 0.822,
            "vehicle": 0.867,
            "stock": 0.921,
            "wine": 0.942,
        },
    ),
    "pairwise, Kemeny": (
        {"criterion": "pairwise", "aggregation": "kemeny"},
        0.0,
        {"authorship": 0.925, "vowel": 0.902, "vehicle": 0.874, "housing": 0.828},
    ),
    "pairwise, Kemeny, 60 % deleted": (
        {"criterion": "pairwise", "aggregation": "kemeny"},
        0.6,
        {"vowel": 0.81, "housing": 0.72, "iris": 0.85},
    ),
}


def measure(folder: pathlib.Path, repeats: int, max_bins: list[str]) -> list[dict]:
    rows = []
    for experiment, (parameters, missing, expected) in EXPERIMENTS.items():
        for name, reference in expected.items():
            data = read(folder / f"{name}.csv.gz")
            row = {"experiment": experiment, "data": name, "reference": reference}
            for bins in max_bins:
                start = time.perf_counter()
                result = cross_validate(
                    RandomForestLabelRanker(max_bins=bins, **parameters),
                    data.X,
                    data.y,
                    folds=10,
                    repeats=repeats,
                    missing=missing,
                    seed=0,
                )
                row[bins] = round(float(np.nanmean(result.scores)), 4)
                row[f"{bins} seconds"] = round(time.perf_counter() - start, 1)
            rows.append(row)
            print(row, flush=True)
    return rows


def markdown(rows: list[dict], max_bins: list[str]) -> str:
    head = ["criterion", "data", "expected", *(f"`max_bins={bins!r}`" for bins in max_bins)]
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    for row in rows:
        cells = [row["experiment"], row["data"], f"{row['reference']:.3f}"]
        lines.append(" | ".join(cells + [f"{row[bins]:.3f}" for bins in max_bins]))
    return "\n".join(f"| {line} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path, default="benchmarks/accuracy.json")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--max-bins", nargs="+", default=["exact", "auto"])
    options = parser.parse_args()
    rows = measure(options.folder, options.repeats, options.max_bins)
    document = {
        "what": f"tau, mean of {options.repeats} x 10 folds, 50 trees of depth 8",
        "lrrf_jax": lrrf_jax.__version__,
        "jax": jax.__version__,
        "python": platform.python_version(),
        "device": jax.devices()[0].device_kind,
        "rows": rows,
    }
    options.output.parent.mkdir(exist_ok=True)
    options.output.write_text(json.dumps(document, indent=1) + "\n")
    print(markdown(rows, options.max_bins))


if __name__ == "__main__":
    warnings.simplefilter("ignore", UserWarning)
    main()
