"""Compare learning with ties kept to learning with ties broken at random.

    python scripts/benchmark_ties.py --aslib FILE.csv --output benchmarks/ties.json

On a scenario (columns A*, U*, fold), by its own folds, and on four synthetic tables, by 2,000 new
rows whose scores without noise are known. One forest, named in `FOREST` before the scenario was
looked at (it did best of some thirty on other draws of the synthetic tables), grown from ten seeds:
with ties kept, and each time with ties broken at random anew. Measures: tau on the pairs that the
truth does not tie, and the gap to the oracle that is left (1: the single best label, 0: the
oracle), over all test rows together.
"""

import argparse
import json
import platform

import jax
import numpy as np

from lrrf_jax import RandomForestLabelRanker, __version__
from lrrf_jax.datasets import read
from lrrf_jax.metrics import gap_closed, kendall_tau
from lrrf_jax.rankings import rankings_from_scores
from lrrf_jax.rankings.ties import rows_with_ties

FOREST = {"n_estimators": 500, "criterion": "pairwise", "splitter": "random", "max_depth": 12}
SEEDS = range(10)
N_TRAIN, N_TEST = 400, 2000


def timeouts(rng, n):
    """Runtimes of five algorithms, cut off after ten minutes; minus PAR10."""
    X = rng.normal(size=(n, 12))
    effect = _fixed(0, (12, 5)) * (_fixed(1, (12, 5)) > 0.3)
    true = -(5 + 0.6 * X @ effect + np.abs(X[:, :1]) * _fixed(2, (1, 5)) + 0.3 * _fixed(3, (1, 5)))
    runtime = np.exp(-true + 0.8 * rng.normal(size=true.shape))
    return X, np.where(runtime < 600, -runtime, -6000), true


def yields(rng, n):
    """Eight reaction conditions: yields in whole per cent, many of them 0."""
    X = (rng.random((n, 40)) < 0.3).astype(float)
    true = 7.5 * (X - 0.3) @ _fixed(4, (40, 3)) @ _fixed(5, (3, 8)) - 5
    return X, np.round(np.clip(true + 10 * rng.normal(size=true.shape), 0, 100)), true


def stars(rng, n):
    """Six products, each given one to five stars."""
    X = rng.normal(size=(n, 8))
    true = 3 + 0.35 * X @ _fixed(6, (8, 6))
    return X, np.clip(np.round(true + 0.7 * rng.normal(size=true.shape)), 1, 5), true


def ceiling(rng, n):
    """Five scores, of which two in five reach the best that there is."""
    X = rng.random((n, 6))
    true = np.stack([np.sin(3 * X[:, j] + j) + X[:, j + 1] for j in range(5)], axis=1)
    noisy = true + 0.3 * rng.normal(size=true.shape)
    return X, np.minimum(noisy, np.quantile(noisy, 0.6)), true


SYNTHETIC = {table.__name__: table for table in (timeouts, yields, stars, ceiling)}


def _fixed(seed, shape):
    """Draw the numbers that make a table what it is."""
    return np.random.default_rng(seed).normal(size=shape)


def synthetic(table):
    """Rows to learn from, each with a preference, and others with their true scores."""
    X, U, true = table(np.random.default_rng(7), N_TRAIN + N_TEST)
    train = np.flatnonzero(U.max(1) > U.min(1))[:N_TRAIN]
    return X, U, true, [(train, np.setdiff1d(np.arange(len(X)), train))]


def scenario(path):
    """Read the rows of a scenario, and its folds."""
    data = read(path, scores="U*", features="A*", fold_column="fold")
    folds = [np.flatnonzero(data.folds == fold) for fold in np.unique(data.folds)]
    every = np.arange(len(data.X))
    return data.X, data.scores, data.scores, [(np.setdiff1d(every, test), test) for test in folds]


def figures(X, U, truth, folds, ties, seed):
    """(gap left, tau) of one forest, over the test rows of all folds."""
    y = rankings_from_scores(U, ties=ties, seed=seed)
    settings = {**FOREST, "aggregation": "kemeny", "random_state": seed}
    parts = []
    for train, test in folds:
        forest = RandomForestLabelRanker(**settings).fit(X[train], y[train])
        single = rankings_from_scores(np.nanmean(U[train], axis=0)[None], ties="index")
        parts.append((truth[test], forest.predict(X[test]), np.repeat(single, len(test), axis=0)))
    scores, predicted, single = (np.concatenate(part) for part in zip(*parts, strict=True))
    tau = kendall_tau(rankings_from_scores(scores), predicted)
    return 1 - gap_closed(scores, predicted, single_best=single), tau


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--aslib", help="table of a scenario: columns A*, U*, fold")
    parser.add_argument("--output", help="file for the figures, as JSON")
    options = parser.parse_args()
    tables = {name: synthetic(table) for name, table in SYNTHETIC.items()}
    if options.aslib:
        tables["scenario"] = scenario(options.aslib)
    found = {}
    for name, table in tables.items():
        found[name] = {"rows with ties": float(rows_with_ties(table[1]).mean())}
        for ties in ("keep", "random"):
            values = np.array([figures(*table, ties, seed) for seed in SEEDS])
            error = values.std(0, ddof=1) / np.sqrt(len(values))
            for column, measure in enumerate(("gap", "tau")):
                found[name][f"{measure}, {ties}"] = {
                    "mean": float(values[:, column].mean()),
                    "standard error": float(error[column]),
                    "each": values[:, column].tolist(),
                }
            shown = (f"{m:.4f} +- {e:.4f}" for m, e in zip(values.mean(0), error, strict=True))
            print(name, ties, "gap, tau:", *shown, flush=True)
    about = {"lrrf_jax": __version__, "jax": jax.__version__, "python": platform.python_version()}
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            json.dump({"forest": FOREST, "versions": about, "tables": found}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
