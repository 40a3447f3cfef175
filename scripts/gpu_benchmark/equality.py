"""Whether ranks are those of a CPU and of a plain loop, on rows that are hard to get right."""

from typing import Any

import numpy as np

from gpu_benchmark.kernels import forms
from gpu_benchmark.on_cpu import in_cpu_process

LOOP_ROWS = 10_000


def loop_ranks(forest: Any, features: np.ndarray) -> np.ndarray:
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


def with_awkward_values(features: np.ndarray, forest: Any, seed: int = 2) -> np.ndarray:
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


def differences(ranker: Any, features: np.ndarray) -> dict[str, Any]:
    """Count rows whose ranks differ: from a process on the CPU, a loop, and form by form."""
    features = with_awkward_values(features, ranker.forest_)
    ranks = ranker.predict(features)
    expected = in_cpu_process("predicted", ranker, features)
    by_loop = loop_ranks(ranker.forest_, features[:LOOP_ROWS])
    by_form = {}
    for name, run in forms(ranker, features).items():
        found = np.asarray(run())
        by_form[name] = rows_that_differ(found, expected[: len(found)])
    return {
        "rows_compared_with_cpu": len(features),
        "rows_that_differ_from_cpu": rows_that_differ(ranks, expected),
        "rows_of_forms_that_differ_from_cpu": by_form,
        "rows_compared_with_loop": len(by_loop),
        "rows_that_differ_from_loop": rows_that_differ(ranks[: len(by_loop)], by_loop),
    }


def rows_that_differ(found: np.ndarray, expected: np.ndarray) -> int:
    """Count rows with any difference."""
    return int((found != expected).any(axis=1).sum())
