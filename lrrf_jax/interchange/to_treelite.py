"""A learner that grows trees as a model of treelite, which sums over trees."""

from typing import Any

import numpy as np

from lrrf_jax.interchange.compact_tree import WHOLE_IN_FLOAT32, CompactTree, compact_trees
from lrrf_jax.interchange.facts import facts_of_model, require_package, require_trees
from lrrf_jax.learners.forest.aggregation import PAIR_UNIT, VOTE_UNIT

_UNIT = {"two-step": 1, "one-step": VOTE_UNIT, "copeland": PAIR_UNIT, "kemeny": PAIR_UNIT}


def to_treelite(ranker: Any) -> Any:
    """Build a treelite model of a fitted learner's trees, whose leaves hold vectors of integers.

    Parameters
    ----------
    ranker : LabelRanker
        A fitted learner that grows trees.

    Returns
    -------
    treelite.Model
        A regressor that predicts the sums of the leaves over the trees, which are exact; see
        :func:`ranks_of_sums` for what they say. Its ``attributes`` hold, as "lrrf_jax", labels,
        features and the aggregation. Thresholds and leaves are float32; float64 where sums might
        exceed 2**24, up to which float32 holds every whole number.

    Raises
    ------
    InputError
        For a learner without trees, and where treelite is not installed.

    Notes
    -----
    ``x >= threshold`` goes left, which is treelite's ``>=``, and NaN goes its default way; so every
    float32 ends in the same leaf as here. Costs some microseconds per node.

    Examples
    --------
    >>> from lrrf_jax import LEARNERS
    >>> ranker = LEARNERS["lrt"]().fit([[0.0], [1], [2], [3]], 2 * [[1, 2]] + 2 * [[2, 1]])
    >>> model = to_treelite(ranker)
    >>> model.num_tree, model.attributes["lrrf_jax"]["labels"]
    (1, ['L1', 'L2'])
    """
    require_trees(ranker, "treelite")
    require_package("treelite", "a model of treelite")
    trees = compact_trees(ranker.forest_)
    facts = facts_of_model(ranker)
    return model_of(trees, ranker.n_features_in_, facts | {"unit": _UNIT[facts["aggregation"]]})


def model_of(trees: list[CompactTree], n_features: int, attributes: dict[str, Any]) -> Any:
    """Build a model that sums trees."""
    from treelite import model_builder as build

    n_outputs = trees[0].value.shape[1]
    most = sum(int(np.abs(tree.value).max()) for tree in trees)  # of any sum on the way
    number = "float32" if most <= WHOLE_IN_FLOAT32 else "float64"
    builder = build.ModelBuilder(
        threshold_type=number,
        leaf_output_type=number,
        metadata=build.Metadata(
            num_feature=n_features,
            task_type="kRegressor",
            average_tree_output=False,
            num_target=n_outputs,
            num_class=[1] * n_outputs,
            leaf_vector_shape=(n_outputs, 1),
        ),
        tree_annotation=build.TreeAnnotation(
            num_tree=len(trees),
            target_id=[-1 if n_outputs > 1 else 0] * len(trees),
            class_id=[0] * len(trees),
        ),
        postprocessor=build.PostProcessorFunc(name="identity"),
        base_scores=[0.0] * n_outputs,
        attributes={"lrrf_jax": attributes},
    )
    for tree in trees:
        builder.start_tree()
        for node in range(len(tree.feature)):
            builder.start_node(node)
            if tree.feature[node] < 0:
                value = [float(part) for part in tree.value[node]]
                builder.leaf(value if n_outputs > 1 else value[0])
            else:
                builder.numerical_test(
                    feature_id=int(tree.feature[node]),
                    threshold=float(tree.threshold[node]),
                    default_left=bool(tree.missing_left[node]),
                    opname=">=",
                    left_child_key=int(tree.left[node]),
                    right_child_key=int(tree.right[node]),
                )
            builder.end_node()
        builder.end_tree()
    return builder.commit()
