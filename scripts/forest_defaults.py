"""Measure what leaf size, features, depth and aggregation do to forests that split on pairs.

Only the ten sets on which defaults are chosen, and of each only the training rows of the first of
ten folds, cut into inner folds; at most 1,000 rows. Labels are deleted from training rankings. The
data are not part of the project: name the folder that holds NAME.csv.gz files.

    python scripts/forest_defaults.py ../shared/data/kebi --output benchmarks/forest_defaults.csv
"""

import argparse
import csv
import itertools
import pathlib
import time
import warnings

import numpy as np

from lrrf_jax import RandomForestLabelRanker
from lrrf_jax._threefry import key_from_seed
from lrrf_jax.datasets import delete_labels, read
from lrrf_jax.learners._table import training_table
from lrrf_jax.learners.forest.aggregation import PAIR_UNIT
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
LEAVES, SHARE = (1, 3, 5, 10, 20), 0.34
STAGES = {
    "leaf": [
        {"min_samples_leaf": leaf, "max_depth": depth, "max_features": SHARE}
        for leaf, depth in itertools.product(LEAVES, (16, 8))
    ],
    "features": [
        {"min_samples_leaf": leaf, "max_depth": 16, "max_features": features}
        for leaf, features in itertools.product((1, 5), ("log2+1", 0.5, None))
    ],
    "aggregation": [
        {"max_depth": 16, "max_features": SHARE, "aggregation": aggregation}
        for aggregation in ("copeland", "one-step", "two-step")
    ],
}
DEFAULTS = {"criterion": "pairwise", "aggregation": "kemeny", "min_samples_leaf": 1}


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
    seen = OutOfBag(key_from_seed(ranker._seed), table, ranker.config_)
    tau = seen.add(ranker.forest_)
    if ranker.aggregation_ not in ("kemeny", "copeland"):
        return tau, float("nan")
    drawn_by_all = ~seen._known
    n_out = np.maximum(seen.n_trees_out, 1)[:, None] if hasattr(seen, "n_trees_out") else None
    sums = np.asarray(seen._sums, np.float64)
    if n_out is None:
        from lrrf_jax.learners.forest.bootstraps import bootstrap_table

        drawn = bootstrap_table(key_from_seed(ranker._seed), len(sums), seen.n_trees, True)
        n_out = np.maximum((drawn == 0).sum(1), 1)[:, None]
    preferences = sums / (n_out * PAIR_UNIT)
    return tau, log_loss(preferences[~drawn_by_all], table.positions[~drawn_by_all])


def measure(folder: pathlib.Path, names, stage: str):
    for name, missing in itertools.product(names, MISSING):
        data = read(folder / f"{name}.csv.gz")
        X = np.asarray(data.X, np.float32)
        y = np.asarray(data.y, float)
        for fold, train, test in inner_folds(len(X)):
            known = delete_labels(y[train], missing, seed=fold) if missing else y[train]
            for changes in STAGES[stage]:
                settings = DEFAULTS | changes
                ranker = RandomForestLabelRanker(TREES, random_state=fold, n_jobs=1, **settings)
                started = time.perf_counter()
                ranker.fit(X[train], known)
                seconds = time.perf_counter() - started
                oob_tau, oob_loss = out_of_bag(ranker, X[train], known)
                of_pairs = settings["aggregation"] in ("kemeny", "copeland")
                loss = log_loss(ranker._preferences(X[test]), y[test]) if of_pairs else np.nan
                yield {
                    "stage": stage,
                    "data": name,
                    "missing": missing,
                    "fold": fold,
                    "rows": len(train),
                    **{key: settings[key] for key in COLUMNS},
                    "tau": round(ranker.score(X[test], y[test]), 5),
                    "log_loss": round(loss, 5),
                    "oob_tau": round(oob_tau, 5),
                    "oob_log_loss": round(oob_loss, 5),
                    "fit_seconds": round(seconds, 3),
                }


COLUMNS = ("min_samples_leaf", "max_depth", "max_features", "aggregation")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--stage", choices=STAGES, action="append")
    parser.add_argument("--data", default=",".join(CHOSEN_ON))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    with arguments.output.open("w", newline="") as file:
        writer = None
        for stage in arguments.stage or STAGES:
            for row in measure(arguments.folder, arguments.data.split(","), stage):
                writer = writer or csv.DictWriter(file, row, lineterminator="\n")
                if not file.tell():
                    writer.writeheader()
                writer.writerow(row)
                file.flush()


if __name__ == "__main__":
    main()
