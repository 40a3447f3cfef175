"""Compare ways to put categories before trees: an order of the levels, one-hot, any numbers.

    python scripts/benchmark_categories.py --data FOLDER --output benchmarks/categories.json

FOLDER holds the KEBI sets. Every second feature of a set is cut into levels of as many rows, which
get names at random, so that nothing is left of their order. Two synthetic tables have categories
whose levels each have an effect of their own, and one has besides them a category of 100 levels
that says nothing. Same folds for all ways, levels coded from the training rows
alone; Kendall's tau.
"""

import argparse
import json
import platform

import jax
import numpy as np
from sklearn.model_selection import KFold

from lrrf_jax import LEARNERS, __version__
from lrrf_jax.datasets import read
from lrrf_jax.learners import _coding
from lrrf_jax.metrics import kendall_tau
from lrrf_jax.rankings import rankings_from_scores
from lrrf_jax.rankings.statistics import borda_votes_on_host

SETS = ("glass", "housing", "iris", "segment", "stock", "vehicle", "vowel", "wine")
LEARNERS_COMPARED = ("lr-rf", "pw-rf", "lrt-bag")
N_LEVELS = (8, 30)
N_FOLDS = 5


def cut(X, n_levels, seed):
    """Turn every second feature into levels with names at random."""
    rng = np.random.default_rng(seed)
    X, columns = X.copy(), range(0, X.shape[1], 2)
    for j in columns:
        rank = X[:, j].argsort(kind="stable").argsort()
        X[:, j] = rng.permutation(n_levels)[rank * n_levels // len(rank)]
    return X, {j: n_levels for j in columns}


def planted(n_levels, noise_levels, seed):
    """Three categories with an effect for each level and label, and three numbers."""
    rng = np.random.default_rng(seed)
    n, m = 1500, 5
    codes = rng.integers(0, n_levels, (n, 3))
    numbers = rng.normal(size=(n, 3))
    utility = sum(rng.normal(size=(n_levels, m))[codes[:, k]] for k in range(3))
    utility += numbers @ rng.normal(size=(3, m)) + rng.normal(size=(n, m))
    parts = [codes, numbers] + ([rng.integers(0, noise_levels, (n, 1))] if noise_levels else [])
    categories = {j: n_levels for j in range(3)} | ({6: noise_levels} if noise_levels else {})
    X = np.concatenate(parts, axis=1).astype(np.float32)
    return X, rankings_from_scores(utility).astype(np.float32), categories


def coded(way, train, test, y, sizes):
    """Return training and test rows as a way makes them, from the training rows alone."""
    levels = {j: _coding.Levels(tuple(map(str, range(size)))) for j, size in sizes.items()}
    if way == "as they come":
        return train, test
    if way == "one-hot":
        return _coding.one_hot(train, levels), _coding.one_hot(test, levels)
    train, test = train.copy(), test.copy()
    votes = borda_votes_on_host(y)
    for j, size in sizes.items():
        order = np.argsort(_coding.order_of_levels(train[:, j], size, votes, None))
        train[:, j], test[:, j] = order[train[:, j].astype(int)], order[test[:, j].astype(int)]
    return train, test


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--output", required=True)
    arguments = parser.parse_args()
    tables = {}
    for name in SETS:
        data = read(f"{arguments.data}/{name}.csv.gz")
        for n_levels in N_LEVELS:
            X, categories = cut(np.asarray(data.X), n_levels, 0)
            tables[f"{name}, {n_levels} levels"] = X, data.y, categories
    for n_levels, noise in ((8, 0), (40, 0), (8, 100)):
        title = f"planted, {n_levels} levels" + (f", and {noise} of noise" if noise else "")
        tables[title] = planted(n_levels, noise, 0)
    rows = []
    for title, (X, y, categories) in tables.items():
        for learner in LEARNERS_COMPARED:
            tau = {}
            for way in ("ordered", "one-hot", "as they come"):
                scores = []
                for train, test in KFold(N_FOLDS, shuffle=True, random_state=0).split(X):
                    inputs = coded(way, X[train], X[test], y[train], categories)
                    ranker = LEARNERS[learner](random_state=0).fit(inputs[0], y[train])
                    scores.append(kendall_tau(y[test], ranker.predict(inputs[1])))
                tau[way] = float(np.mean(scores))
            rows.append({"table": title, "learner": learner, "tau": tau})
            print(title, learner, {way: round(value, 3) for way, value in tau.items()}, flush=True)
    mean = {
        learner: {
            way: float(np.mean([row["tau"][way] for row in rows if row["learner"] == learner]))
            for way in rows[0]["tau"]
        }
        for learner in LEARNERS_COMPARED
    }
    print(mean)
    versions = {
        "lrrf_jax": __version__,
        "jax": jax.__version__,
        "python": platform.python_version(),
    }
    with open(arguments.output, "w") as file:
        json.dump({"versions": versions, "mean": mean, "tables": rows}, file, indent=1)


if __name__ == "__main__":
    main()
