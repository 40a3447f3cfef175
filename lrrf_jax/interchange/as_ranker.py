"""Trees of other libraries as a forest: thresholds in float32, leaves in fixed point."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lrrf_jax._names import made_up_labels
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, as_names, require_choice
from lrrf_jax.interchange.compact_tree import CompactTree, forest_of
from lrrf_jax.learners._coding import NO_CATEGORIES
from lrrf_jax.learners._table import TableShape
from lrrf_jax.learners.forest.aggregation import PAIR_UNIT, VOTE_UNIT, leaf_violation
from lrrf_jax.learners.forest.fit import ForestParams
from lrrf_jax.learners.lr_rf import RandomForestLabelRanker

OUTPUTS = ("positions", "pairs", "scores")


def least_float32(
    threshold: NDArray,  # float64
    above: NDArray | bool,  # bool: greater than it, not equal
) -> NDArray:  # float32, +inf where there is no finite one
    """Find the least float32 that a test of float64 lets through."""
    with np.errstate(over="ignore", under="ignore"):
        nearest = threshold.astype(np.float32)
        next_above = np.nextafter(nearest, np.float32(np.inf))
    too_low = np.where(above, nearest <= threshold, nearest < threshold)
    return np.where(too_low, next_above, nearest) + np.float32(0)  # no zero is negative


def n_labels_of(n_outputs: int, outputs: str) -> int:
    """Count the labels of so many outputs; raises InputError where there are no such labels."""
    require_choice(outputs, "outputs", OUTPUTS)
    n_labels = n_outputs
    if outputs == "pairs":
        n_labels = round((1 + np.sqrt(1 + 8 * n_outputs)) / 2)
        if n_labels * (n_labels - 1) // 2 != n_outputs:
            raise InputError(
                "outputs='pairs' needs an output for each pair of labels, 1, 3, 6, 10, ... in all; "
                f"the model has {n_outputs}. Train it on the signs of all pairs."
            )
    if n_labels < 2:
        raise InputError(
            f"the model must have an output for each of two labels or more; it has {n_outputs}. "
            "Train one model of several outputs."
        )
    return n_labels


def with_integers(
    trees: Sequence[CompactTree],  # value float64 (n_nodes, n_outputs)
    outputs: str,
    as_they_are: bool,
) -> list[CompactTree]:
    """Put the leaves into fixed point, of which the sum over trees ranks as that of the numbers.

    ``as_they_are``: the prediction is the mean of the trees' positions or preferences, so that
    scores can be votes or preferences, too. Else a factor and a summand, the same for all leaves,
    make the most of the integers that a leaf may hold.
    """
    leaves = np.concatenate([tree.value[tree.feature < 0] for tree in trees])
    if not np.isfinite(leaves).all():
        raise InputError(
            f"leaves must hold finite numbers; {(~np.isfinite(leaves)).any(1).sum()} of "
            f"{len(leaves)} do not. Train the model again."
        )
    least, most, n_outputs = leaves.min(), leaves.max(), leaves.shape[1]
    if outputs == "pairs":
        largest = max(-least, most)
        natural = as_they_are and largest <= 1 + 1e-6
        factor, summand = PAIR_UNIT / (1.0 if natural else largest or 1.0), 0.0
        limit = PAIR_UNIT
    elif outputs == "positions" and as_they_are and least >= 0 and most <= n_outputs + 1:
        factor, limit = -VOTE_UNIT, (n_outputs + 1) * VOTE_UNIT
        summand = float(limit)
    else:
        limit = (n_outputs + 1) * VOTE_UNIT
        factor = (limit - 1) / ((most - least) or 1.0)
        factor = -factor if outputs == "positions" else factor
        summand = -np.floor(min(factor * least, factor * most))
    low = -PAIR_UNIT if outputs == "pairs" else 0

    def integers(tree: CompactTree) -> CompactTree:
        value = np.rint(tree.value * factor) + summand
        value = np.where(tree.feature[:, None] < 0, np.clip(value, low, limit), 0)
        return tree._replace(value=value.astype(np.int32))

    return [integers(tree) for tree in trees]


def ranker_of(
    trees: list[CompactTree],  # value int32 (n_nodes, n_outputs)
    *,
    aggregation: str,
    n_labels: int,
    n_features: int,
    labels: Any,
    feature_names: Any,
    importances: NDArray | None = None,  # float (n_features,)
) -> RandomForestLabelRanker:
    """Make a fitted forest of trees whose leaves hold what an aggregation sums."""
    labels = made_up_labels(n_labels) if labels is None else labels
    labels = as_names(labels, n_labels, "label", "labels")
    if feature_names is not None:
        feature_names = as_names(feature_names, n_features, "feature", "feature_names")
    forest = forest_of(trees)
    problem = leaf_violation(forest.leaf_value, forest.n_trees, n_labels, aggregation)
    if problem:
        raise InputError(f"the model cannot be a forest of label rankings: {problem}.")
    ranker = RandomForestLabelRanker(
        forest.n_trees,
        max_depth=forest.depth,
        criterion="pairwise" if aggregation in ("copeland", "kemeny") else "positions",
        aggregation=aggregation,
    )
    config = ranker._config(TableShape(1, n_features, n_labels, complete=True))
    if importances is None:
        importances = np.zeros(n_features)
    params = ForestParams(forest, np.asarray(importances, np.float32))
    ranker.n_features_in_, ranker._categories = n_features, NO_CATEGORIES
    ranker._set_fitted(params, config, labels, feature_names)
    return ranker
