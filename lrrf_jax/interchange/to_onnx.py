"""A forest as a file of ONNX."""

import numpy as np

from lrrf_jax.interchange.compact_tree import CompactTree


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
