"""A forest as one of scikit-learn."""

import copy
from typing import Any

import numpy as np

from lrrf_jax.interchange.compact_tree import CompactTree


def to_scikit_learn(trees: list[CompactTree], n_features: int, n_threads: int) -> Any:
    """Put the trees into a fitted RandomForestRegressor, whose output is the mean over trees.

    There ``x <= threshold`` goes left. So children change sides, and the threshold becomes the
    next smaller float32.
    """
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.tree._tree import Tree

    n_outputs = trees[0].value.shape[1]
    rows, targets = np.eye(2, n_features, dtype=np.float32), np.eye(2, n_outputs)
    forest = RandomForestRegressor(1, max_depth=1, n_jobs=n_threads, random_state=0)
    forest.fit(rows, targets if n_outputs > 1 else targets[:, 0])
    template = forest.estimators_[0]
    node_type = template.tree_.__getstate__()["nodes"].dtype
    estimators = []
    for tree in trees:
        inner = tree.feature >= 0
        nodes = np.zeros(len(inner), node_type)
        nodes["left_child"] = tree.right
        nodes["right_child"] = tree.left
        nodes["feature"] = np.where(inner, tree.feature, -2)
        nodes["threshold"] = np.where(inner, np.nextafter(tree.threshold, np.float32(-np.inf)), -2)
        nodes["missing_go_to_left"] = inner & ~tree.missing_left
        nodes["n_node_samples"] = nodes["weighted_n_node_samples"] = 1
        state = template.tree_.__getstate__() | {
            "max_depth": 16,
            "node_count": len(nodes),
            "nodes": nodes,
            "values": np.ascontiguousarray(tree.value[:, :, None], np.float64),
        }
        grown = Tree(n_features, np.ones(n_outputs, np.intp), n_outputs)
        grown.__setstate__(state)
        estimator = copy.copy(template)
        estimator.tree_ = grown
        estimators.append(estimator)
    forest.estimators_ = estimators
    forest.n_estimators = len(estimators)
    return forest
