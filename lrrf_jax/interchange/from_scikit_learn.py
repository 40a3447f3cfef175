"""Fitted trees and forests of scikit-learn as a label ranker with this library's kernels."""

from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_choice
from lrrf_jax.interchange.as_ranker import (
    least_float32,
    n_labels_of,
    ranker_of,
    with_integers,
)
from lrrf_jax.interchange.compact_tree import CompactTree
from lrrf_jax.learners.lr_rf import RandomForestLabelRanker


def from_sklearn(
    model: Any,
    *,
    outputs: str,
    labels: Any = None,
    feature_names: Any = None,
    aggregation: str = "kemeny",
) -> RandomForestLabelRanker:
    """Make a label ranker of a fitted tree or forest of scikit-learn.

    Parameters
    ----------
    model : estimator
        A fitted RandomForestRegressor, ExtraTreesRegressor, DecisionTreeRegressor or
        ExtraTreeRegressor with an output per label, or per pair of labels; of pairs also their
        classifiers. No tree may be deeper than 16 levels.
    outputs : {"positions", "pairs", "scores"}
        What it was trained on: the positions of the labels, 1 = best; for each pair of labels
        (i, j), i < j, in row-major order, 1 where i comes before j and -1 where it comes after
        (classifiers also 1 and 0); or scores on one scale for all labels, larger is better.
    labels : sequence of str, optional
        Names of the labels in the order of the outputs; by default L1, L2, ...
    feature_names : sequence of str, optional
        By default those that the model was fitted with.
    aggregation : {"kemeny", "copeland"}
        Of pairs, how their mean preferences become a ranking. Positions and scores are averaged,
        which is this library's "one-step".

    Returns
    -------
    RandomForestLabelRanker
        Ranks by the mean predictions of the model, and can do all that a forest from a model file
        can: save, export, compile, rank files. Parameters that say nothing of its trees have their
        defaults. Without training rows there is nothing that `neighbors`, the out-of-bag score and
        ``warm_start`` could use.

    Raises
    ------
    InputError
        For other models, trees that are too deep, and outputs that the leaves cannot be.

    Notes
    -----
    Rows are float32, as they are in scikit-learn, and ``x <= t`` of a float64 ``t`` becomes ``x >=
    u`` for the other child, ``u`` the next float32 above ``t``; missing values go the same way.
    Leaves become fixed point: numbers of labels, of which the mean predictions differ by more than
    1 / 1024 (of positions), 1 / 4096 (of preferences), or a share 1 / (1024 (n_labels + 1) - 1) of
    the range of leaves (of scores), keep their order. `predict_scores` of positions gives Borda
    votes, n_labels + 1 less the mean position; that of other scores is on a scale of its own.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> X, y = [[0.0], [1], [2], [3]], [[1, 2], [1, 2], [2, 1], [2, 1]]
    >>> forest = RandomForestRegressor(5, max_depth=16, random_state=0).fit(X, y)
    >>> ranker = from_sklearn(forest, outputs="positions", labels=["tea", "milk"])
    >>> ranker.predict_order([[0.0], [3]]).tolist()
    [['tea', 'milk'], ['milk', 'tea']]
    """
    classifies = _require_trees(model, outputs)
    n_labels = n_labels_of(int(model.n_outputs_), outputs)
    require_choice(aggregation, "aggregation", ("kemeny", "copeland"))
    signs = _signs_of_classes(model) if classifies else None
    grown = getattr(model, "estimators_", [model])
    trees = [_compact(estimator.tree_, signs) for estimator in grown]
    if outputs == "pairs" and not classifies:
        _require_both_signs(trees)
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", None)
    return ranker_of(
        with_integers(trees, outputs, as_they_are=True),
        aggregation=aggregation if outputs == "pairs" else "one-step",
        n_labels=n_labels,
        n_features=int(model.n_features_in_),
        labels=labels,
        feature_names=feature_names,
        importances=model.feature_importances_,
    )


def _require_trees(model: Any, outputs: str) -> bool:
    """Raise InputError for what has no such trees; returns whether they predict classes."""
    from sklearn import ensemble, tree
    from sklearn.utils.validation import check_is_fitted

    of_numbers = (
        ensemble.RandomForestRegressor,
        ensemble.ExtraTreesRegressor,
        tree.DecisionTreeRegressor,
    )
    of_classes = (
        ensemble.RandomForestClassifier,
        ensemble.ExtraTreesClassifier,
        tree.DecisionTreeClassifier,
    )
    if not isinstance(model, of_numbers + of_classes):
        raise InputError(
            "model must be a tree or a forest of scikit-learn whose output is the mean over its "
            f"trees; it is a {type(model).__name__}. Use RandomForestRegressor or "
            "ExtraTreesRegressor, or `from_treelite` for what treelite can import."
        )
    check_is_fitted(model)
    classifies = isinstance(model, of_classes)
    if classifies and outputs != "pairs":
        raise InputError(
            f"outputs={outputs!r:.40} needs a regressor; the model is a {type(model).__name__}, "
            "which predicts classes. Train a regressor, or a classifier of pairs."
        )
    return classifies


def _signs_of_classes(model: Any) -> list[NDArray]:
    """Say for each pair which way its classes order it, 1 or -1."""
    every = [model.classes_] if model.n_outputs_ == 1 else model.classes_
    known = sorted({label for classes in every for label in classes.tolist()}, key=str)
    if set(known) not in ({0, 1}, {-1, 1}, {-1, 0, 1}, {1}, {-1}):
        raise InputError(
            "classes of pairs must be 1 and -1, or 1 and 0, for first and second; they are "
            f"{', '.join(map(str, known[:6]))}. Train on the signs of the pairs."
        )
    return [
        np.where(np.asarray(classes) == (-1 if -1 in known else 0), -1.0, classes)
        for classes in every
    ]


def _compact(tree: Any, signs: list[NDArray] | None) -> CompactTree:
    """Take a tree over; ``x <= threshold`` went left there, so children change sides."""
    nodes = tree.__getstate__()["nodes"]
    inner = nodes["left_child"] >= 0
    above = least_float32(nodes["threshold"], above=True)
    if signs is None:
        value = tree.value[:, :, 0]
    else:
        value = np.stack(
            [tree.value[:, k, : len(sign)] @ sign for k, sign in enumerate(signs)], axis=1
        )
        value = value / tree.value.sum(axis=2)  # counts, in old versions
    # Where nothing is above it all values go left there, and so they do here, as not below -inf.
    all_left = inner & (above == np.inf)
    left = np.where(all_left, nodes["left_child"], nodes["right_child"])
    right = np.where(all_left, nodes["right_child"], nodes["left_child"])
    missing = nodes["missing_go_to_left"].astype(bool)
    return CompactTree(
        feature=np.where(inner, nodes["feature"], -1).astype(np.int32),
        threshold=np.where(all_left, -np.inf, np.where(inner, above, 0)).astype(np.float32),
        missing_left=inner & (missing == all_left),
        left=np.where(inner, left, -1).astype(np.int32),
        right=np.where(inner, right, -1).astype(np.int32),
        value=value.astype(np.float64),
    )


def _require_both_signs(trees: list[CompactTree]) -> None:
    if all((tree.value[tree.feature < 0] >= 0).all() for tree in trees):
        raise InputError(
            "leaves of pairs must hold 1 where the first label comes first and -1 where it comes "
            "second, or means of these; no leaf holds anything below 0, as if trained on 1 and 0. "
            "Train on 2 * y - 1, or take a classifier."
        )
