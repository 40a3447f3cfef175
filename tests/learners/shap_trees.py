"""Our trees as ``shap.TreeExplainer`` reads them, and how fast both explain the same rows.

``python -m tests.learners.shap_trees [ROWS] [TREES]`` prints rows a second of either, of trees of
depth 8 over 16 features and 10 labels.
"""

import sys
import time

import numpy as np
import shap

from lrrf_jax import RandomForestLabelRanker
from lrrf_jax.learners.forest.attribution import explained_values
from lrrf_jax.learners.forest.covers import drawn_weights, node_covers
from lrrf_jax.learners.forest.nodes import nodes_of

SIZES = {"n_features": 16, "n_labels": 10, "max_depth": 8}


def explainer_of(ranker, of="scores", background=None):
    """Explain by shap what ``ranker.shap_values`` explains."""
    forest, config, last = ranker.forest_, ranker.config_, getattr(ranker, "_last_fit", None)
    if background is None:
        leaf, weight = ranker._leaves(last.features), drawn_weights(last, forest.n_trees)
    else:
        leaf = ranker._leaves(ranker._features(background))
        weight = np.ones(leaf.shape)
    nodes, trees = nodes_of(forest), []
    for tree in range(forest.n_trees):
        part = nodes.of_tree(tree)
        cover = node_covers(leaf[:, tree], weight[:, tree], forest.depth)
        # There x <= threshold goes left, so children change sides.
        inner = np.where(part.is_leaf, 0, part.place)
        below = np.nextafter(np.asarray(forest.threshold)[tree, inner], np.float32(-np.inf))
        missing_left = np.asarray(forest.missing_left)[tree, inner]
        value = explained_values(np.asarray(forest.leaf_value)[part.slot], config, of)
        value = np.ascontiguousarray(np.where(part.is_leaf[:, None], value, 0.0))
        trees.append(
            {
                "children_left": part.right,
                "children_right": part.left,
                "children_default": np.where(missing_left, part.left, part.right),
                "features": np.where(part.is_leaf, -2, np.asarray(forest.feature)[tree, inner]),
                "thresholds": below.astype(np.float64),
                "values": value,
                "node_sample_weight": cover[part.place],
            }
        )
    return shap.TreeExplainer({"trees": trees}, feature_perturbation="tree_path_dependent")


def main(n_rows: int = 2000, n_trees: int = 50) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n_rows, SIZES["n_features"])).astype(np.float32)
    utility = x @ rng.standard_normal((SIZES["n_features"], SIZES["n_labels"]))
    utility += 2 * np.sin(3 * x[:, :1])
    ranker = RandomForestLabelRanker(n_trees, max_depth=SIZES["max_depth"], random_state=0)
    ranker.fit(x, scores=utility)
    ranker.shap_values(x)  # compiles
    explainer, few = explainer_of(ranker), x[: min(n_rows, 100)]
    found = rates(lambda: ranker.shap_values(x).values, n_rows, "lrrf_jax")
    theirs = rates(lambda: explainer.shap_values(few, check_additivity=False), len(few), "shap")
    assert np.abs(found[: len(few)] - theirs).max() < 1e-5


def rates(explain, n_rows, who):
    """Print the best of three: rows a second, and rows a second of all cores together."""
    best = [np.inf, np.inf]
    for _ in range(3):
        started = time.perf_counter(), time.process_time()
        found = explain()
        took = time.perf_counter() - started[0], time.process_time() - started[1]
        best = np.minimum(best, took)
    print(f"{who:9} {n_rows / best[0]:6.0f} rows/s, {n_rows / best[1]:6.0f} rows per CPU second")
    return found


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
