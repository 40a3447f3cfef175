"""Hash what every learner learns and predicts, to prove that a change changes no byte of it.

    python scripts/hash_learners.py > before.json
    python scripts/hash_learners.py > after.json; diff before.json after.json

Fits each learner, and lr-rf with each criterion, splitter and aggregation, on eight small tables:
complete and partial rankings, top-k lists, weights, missing features. Of forests it hashes the
tests of the nodes that are split and the leaves, so that how they are laid out does not count.
"""

import argparse
import hashlib
import json
import sys
import warnings

import numpy as np

from lrrf_jax import LEARNERS
from lrrf_jax.datasets import delete_labels, load

ROWS = 150
TREES = 4
FOREST_OPTIONS = {
    "lr-rf rac": {"criterion": "rac"},
    "lr-rf pairwise": {"criterion": "pairwise", "max_depth": 5},
    "lr-rf positions random": {"criterion": "positions", "splitter": "random"},
    "lr-rf tlac random": {"splitter": "random", "purity": "top-label"},
    "lr-rf exact leaf 3": {"max_bins": "exact", "min_samples_leaf": 3, "bootstrap": False},
    "lr-rf one-step": {"aggregation": "one-step"},
    "lr-rf copeland": {"aggregation": "copeland", "max_features": None},
    "lr-rf kemeny deep": {"aggregation": "kemeny", "max_depth": 12},
    "lrt theta": {"criterion": "theta"},
    "w-lrt-bag four": {"n_bins": 4},
}


def tables():
    """Eight tables: name -> (X, y, weight, options of fit)."""
    found = {}
    for name in ("iris", "wine", "diabetes", "friedman", "digits"):
        data = load(name)
        rows = np.random.default_rng(0).permutation(len(data.X))[:ROWS]
        found[name] = data.X[rows], data.y[rows], None, {}
    X, y, _, _ = found["iris"]
    found["iris, 40 % missing"] = X, delete_labels(y, 0.4, 1), None, {}
    X, y, _, _ = found["diabetes"]
    weight = np.random.default_rng(2).integers(0, 5, len(X)).astype(float)
    found["diabetes, weighted"] = X, delete_labels(y, 0.3, 3), weight, {}
    X, y, _, _ = found["wine"]
    gaps = np.where(np.random.default_rng(4).random(X.shape) < 0.1, np.nan, X)
    top = np.where(y > 2, np.nan, y)
    found["wine, top-k, missing features"] = gaps, top, None, {"missing": "last"}
    return found


def learners():
    """Every learner by its defaults, few trees, and the options of `FOREST_OPTIONS`."""
    found = {name: (name, {}) for name in LEARNERS}
    found["stack"] = "stack", {"members": ["rpc", "ib-m"]}  # those of the default take minutes
    found |= {title: (title.split()[0], options) for title, options in FOREST_OPTIONS.items()}
    return found


def fitted(name, options, table):
    """Fit one learner; None where it does not take missing features."""
    X, y, weight, more = table
    make = LEARNERS[name]
    if np.isnan(X).any() and not make.accepts_missing_features:
        return None
    known = make().get_params()
    common = {"n_estimators": TREES, "random_state": 0, **more}
    options = {**options, **{k: v for k, v in common.items() if k in known}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(**options).fit(X, y, weight)


def digest(*arrays):
    """Hash arrays with their types and shapes."""
    found = hashlib.sha256()
    for array in map(np.ascontiguousarray, arrays):
        found.update(f"{array.dtype} {array.shape}".encode())
        found.update(array.tobytes())
    return found.hexdigest()[:16]


def forest_digest(forest):
    """Hash the nodes that are split, by tree and number, and the leaf values in their order."""
    split = np.asarray(forest.threshold) < np.inf
    tests = [np.asarray(field)[split] for field in forest[:3]]
    return digest(*np.nonzero(split), *tests, forest.leaf_value)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="learners whose title holds this text")
    options = parser.parse_args()
    hashes = {}
    for table_name, table in tables().items():
        for title, (name, settings) in learners().items():
            if options.only and options.only not in title:
                continue
            ranker = fitted(name, settings, table)
            if ranker is None:
                continue
            parts = {"ranks": digest(ranker.predict(table[0]))}
            parts["scores"] = digest(ranker.predict_scores(table[0]))
            if hasattr(ranker, "forest_"):
                parts["forest"] = forest_digest(ranker.forest_)
            hashes[f"{table_name}: {title}"] = parts
            print(f"{table_name}: {title}", file=sys.stderr)
    json.dump(hashes, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
