"""Measure what the size of leaves does to forests that split on pairs, and what chooses it.

Defaults are chosen on ten sets; of each only the training rows of one outer fold are used, cut into
inner folds, 1,000 rows at most. Labels are deleted from the training rankings. The data are not
part of the project: name the folder that holds NAME.csv.gz files.

    python scripts/forest_defaults.py ../shared/data/kebi --output benchmarks/forest_defaults.csv

What is committed has depth 8 for the first six sets only: that run was cut short.
"""

import argparse
import csv
import itertools
import pathlib
import warnings

import numpy as np

from lrrf_jax import RandomForestLabelRanker
from lrrf_jax._threefry import key_from_seed
from lrrf_jax.datasets import delete_labels, read
from lrrf_jax.learners._table import training_table
from lrrf_jax.learners.forest.out_of_bag import OutOfBag
from lrrf_jax.rankings.pairwise import pair_signs_on_host

CHOSEN_ON = (
    "authorship",
    "glass",
    "iris",
    "stock",
    "vowel",
    "segment",
    "bodyfat",
    "cpu-small",
    "elevators",
    "calhousing",
)
LEFT_FOR_CONFIRMATION = ("housing", "vehicle", "wine", "wisconsin", "fried", "pendigits")
MISSING = (0.0, 0.3, 0.6)
ROWS, FOLDS, FOLDS_RUN, TREES = 1000, 5, 3, 50
LEAVES, DEPTHS = (1, 3, 5, 10, 20), (16, 8)
SETTINGS = {"criterion": "pairwise", "aggregation": "kemeny", "max_features": 0.34}


def inner_folds(n_rows: int):
    """Yield (fold, rows to learn, rows to score) of the training rows of the first outer fold."""
    order = np.random.default_rng(20).permutation(n_rows)
    rows = order[n_rows // 10 :][:ROWS]  # the first tenth is the outer test fold
    for fold in range(FOLDS_RUN):
        scored = rows[fold::FOLDS]
        yield fold, np.setdiff1d(rows, scored), scored


def log_loss(preferences, positions) -> float:
    """Mean log-loss of the pairs that the rankings order."""
    signs = pair_signs_on_host(positions.astype(np.float32)).astype(float)
    probability = np.clip((1 + signs * preferences) / 2, 1e-6, 1)
    return float(-np.log(probability)[signs != 0].mean())


def out_of_bag(ranker, X, y) -> tuple[float, float]:
    """Return the out-of-bag tau and, of pairs, log-loss."""
    table = training_table(X, y, None, missing="unknown")
    key = key_from_seed(ranker._seed)
    seen = OutOfBag(key, table, ranker.config_)
    tau = seen.add(ranker.forest_)
    preferences = seen.preferences()
    known = ~np.isnan(preferences[:, 0])  # rows that some tree did not draw
    return tau, log_loss(preferences[known], table.positions[known])


def measure(folder: pathlib.Path, names, leaves, depths):
    for name, missing in itertools.product(names, MISSING):
        data = read(folder / f"{name}.csv.gz")
        X, y = np.asarray(data.X, np.float32), np.asarray(data.y, float)
        for fold, train, test in inner_folds(len(X)):
            known = delete_labels(y[train], missing, seed=fold) if missing else y[train]
            for leaf, depth in itertools.product(leaves, depths):
                changes = {"min_samples_leaf": leaf, "max_depth": depth}
                settings = SETTINGS | changes
                ranker = RandomForestLabelRanker(TREES, random_state=fold, n_jobs=1, **settings)
                ranker.fit(X[train], known)
                oob_tau, oob_loss = out_of_bag(ranker, X[train], known)
                yield {
                    "data": name,
                    "missing": missing,
                    "fold": fold,
                    "rows": len(train),
                    **changes,
                    "tau": round(ranker.score(X[test], y[test]), 5),
                    "log_loss": round(log_loss(ranker._preferences(X[test]), y[test]), 5),
                    "oob_tau": round(oob_tau, 5),
                    "oob_log_loss": round(oob_loss, 5),
                }


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--leaves", type=numbers, default=LEAVES)
    parser.add_argument("--depths", type=numbers, default=DEPTHS)
    parser.add_argument("--data", default=",".join(CHOSEN_ON))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    chosen = arguments.data.split(","), arguments.leaves, arguments.depths
    with arguments.output.open("w", newline="") as file:
        writer = None
        for row in measure(arguments.folder, *chosen):
            if writer is None:
                writer = csv.DictWriter(file, row, lineterminator="\n")
                writer.writeheader()
            writer.writerow(row)
            file.flush()


if __name__ == "__main__":
    main()
