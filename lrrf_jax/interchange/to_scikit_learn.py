"""A forest as one of scikit-learn."""

import copy
from typing import Any

import numpy as np

from lrrf_jax.interchange.compact_tree import compact_trees
from lrrf_jax.interchange.facts import require_trees


def to_scikit_learn(ranker: Any, n_jobs: int | None = None) -> Any:
    """Put the trees of a fitted learner into a fitted forest of scikit-learn.

    Parameters
    ----------
    ranker : LabelRanker
        A fitted learner that grows trees.
    n_jobs : int, optional
        As scikit-learn's forests take it.

    Returns
    -------
    sklearn.ensemble.RandomForestRegressor
        Predicts the means of the leaves' integers over the trees: times the number of trees, and
        rounded, they are the sums that :func:`ranks_of_sums` ranks.

    Raises
    ------
    InputError
        For a learner without trees.

    Notes
    -----
    There ``x <= threshold`` goes left. So children change sides, and the threshold becomes the
    next smaller float32; missing values go the same way. Scikit-learn refuses infinities.

    Examples
    --------
    >>> from lrrf_jax import LEARNERS
    >>> ranker = LEARNERS["lrt"]().fit([[0.0], [1], [2], [3]], 2 * [[1, 2]] + 2 * [[2, 1]])
    >>> to_scikit_learn(ranker).predict([[0.0], [3]]).tolist()
    [[1.0, 2.0], [2.0, 1.0]]
    """
    require_trees(ranker, "scikit-learn's forests")
    trees, n_features = compact_trees(ranker.forest_), ranker.n_features_in_
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.tree._tree import Tree

    n_outputs = trees[0].value.shape[1]
    rows, targets = np.eye(2, n_features, dtype=np.float32), np.eye(2, n_outputs)
    forest = RandomForestRegressor(1, max_depth=1, n_jobs=n_jobs, random_state=0)
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
