"""A forest as a model of treelite."""

from typing import Any

from lrrf_jax.interchange.compact_tree import CompactTree


def to_treelite(trees: list[CompactTree], n_features: int) -> Any:
    """Build a treelite model whose leaves hold vectors, summed over trees."""
    from treelite import model_builder as build

    n_outputs = trees[0].value.shape[1]
    builder = build.ModelBuilder(
        threshold_type="float32",
        leaf_output_type="float32",
        metadata=build.Metadata(
            num_feature=n_features,
            task_type="kRegressor",
            average_tree_output=False,
            num_target=n_outputs,
            num_class=[1] * n_outputs,
            leaf_vector_shape=(n_outputs, 1),
        ),
        tree_annotation=build.TreeAnnotation(
            num_tree=len(trees), target_id=[-1] * len(trees), class_id=[0] * len(trees)
        ),
        postprocessor=build.PostProcessorFunc(name="identity"),
        base_scores=[0.0] * n_outputs,
    )
    for tree in trees:
        builder.start_tree()
        for node in range(len(tree.feature)):
            builder.start_node(node)
            if tree.feature[node] < 0:
                builder.leaf([float(part) for part in tree.value[node]])
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
