"""The trees of a fitted forest in the forms of other libraries, so that all walk equal trees.

Their outputs are sums (scikit-learn: means) of the same small integers, exact in float32, so the
ranks must come out equal: the fastest check that all of them, ours included, are right.
"""

import copy
from typing import Any, NamedTuple

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.trees.forest import Forest


class CompactTree(NamedTuple):
    """One tree without the padding below its leaves; the root comes first."""

    feature: NDArray  # int32 (n_nodes,), -1 in a leaf
    threshold: NDArray  # float32 (n_nodes,), x >= threshold goes left
    missing_left: NDArray  # bool (n_nodes,)
    left: NDArray  # int32 (n_nodes,), number of the child, -1 in a leaf
    right: NDArray  # int32 (n_nodes,)
    value: NDArray  # int32 (n_nodes, n_outputs), 0 in an inner node


def compact_trees(forest: Forest) -> list[CompactTree]:
    """Leave out what lies below unsplit nodes."""
    return [_compact(*fields, forest.leaf_value) for fields in zip(*forest[:4], strict=True)]


def _compact(feature, threshold, missing_left, leaf_slot, leaf_value) -> CompactTree:
    n_inner = len(feature)
    split = np.append(threshold < np.inf, np.zeros(n_inner + 1, bool))
    kept = [0]
    for node in kept:  # breadth first: the list grows while it is walked
        if split[node]:
            kept += [2 * node + 1, 2 * node + 2]
    nodes = np.array(kept)
    number = np.full(2 * n_inner + 1, -1, np.int32)
    number[nodes] = np.arange(len(nodes), dtype=np.int32)
    inner = split[nodes]
    at = np.where(inner, nodes, 0)
    lowest = nodes.copy()  # any leaf below an unsplit node holds its value
    while (lowest < n_inner).any():
        lowest = np.where(lowest < n_inner, 2 * lowest + 2, lowest)
    value = np.asarray(leaf_value)[leaf_slot[lowest - n_inner]]
    return CompactTree(
        feature=np.where(inner, feature[at], -1).astype(np.int32),
        threshold=np.where(inner, threshold[at], 0).astype(np.float32),
        missing_left=inner & missing_left[at],
        left=np.where(inner, number[2 * at + 1], -1).astype(np.int32),
        right=np.where(inner, number[2 * at + 2], -1).astype(np.int32),
        value=np.where(inner[:, None], 0, value).astype(np.int32),
    )


def to_onnx(trees: list[CompactTree], n_features: int) -> bytes:
    """Serialise as an ONNX TreeEnsembleRegressor that sums over trees."""
    from onnx import TensorProto, helper

    n_nodes = [len(tree.feature) for tree in trees]
    tree_of = np.repeat(np.arange(len(trees)), n_nodes)
    node = np.concatenate([np.arange(count) for count in n_nodes])
    joined = CompactTree(*(np.concatenate(fields) for fields in zip(*trees, strict=True)))
    leaf = joined.feature < 0
    n_outputs = joined.value.shape[1]
    ensemble = helper.make_node(
        "TreeEnsembleRegressor",
        ["features"],
        ["sums"],
        domain="ai.onnx.ml",
        n_targets=n_outputs,
        aggregate_function="SUM",
        post_transform="NONE",
        nodes_treeids=tree_of.tolist(),
        nodes_nodeids=node.tolist(),
        nodes_featureids=np.where(leaf, 0, joined.feature).tolist(),
        nodes_values=joined.threshold.tolist(),
        nodes_modes=np.where(leaf, "LEAF", "BRANCH_GTE").tolist(),
        nodes_truenodeids=np.where(leaf, 0, joined.left).tolist(),
        nodes_falsenodeids=np.where(leaf, 0, joined.right).tolist(),
        nodes_missing_value_tracks_true=joined.missing_left.astype(int).tolist(),
        target_treeids=np.repeat(tree_of[leaf], n_outputs).tolist(),
        target_nodeids=np.repeat(node[leaf], n_outputs).tolist(),
        target_ids=np.tile(np.arange(n_outputs), leaf.sum()).tolist(),
        target_weights=joined.value[leaf].astype(np.float32).ravel().tolist(),
    )
    rows = helper.make_tensor_value_info("features", TensorProto.FLOAT, [None, n_features])
    sums = helper.make_tensor_value_info("sums", TensorProto.FLOAT, [None, n_outputs])
    model = helper.make_model(
        helper.make_graph([ensemble], "forest", [rows], [sums]),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)],
        ir_version=8,
    )
    return model.SerializeToString()


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


def ranks_of_sums(sums: NDArray) -> NDArray:  # int32 (n_samples, n_outputs)
    """Rank by rising sum, the lower label first among equals: the two-step aggregation."""
    order = np.argsort(np.rint(sums), axis=1, kind="stable")
    return (np.argsort(order, axis=1) + 1).astype(np.int32)
