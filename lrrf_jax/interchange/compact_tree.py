"""Trees of a forest without the padding below their leaves, the form that other libraries share."""

from typing import NamedTuple

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.trees.forest import MAX_DEPTH, Forest

# Whole numbers up to here have no rounding error in float32, nor have sums that stay below it.
WHOLE_IN_FLOAT32 = 2**24


class CompactTree(NamedTuple):
    """One tree without the padding below its leaves; the root comes first."""

    feature: NDArray  # int32 (n_nodes,), -1 in a leaf
    threshold: NDArray  # float32 (n_nodes,), x >= threshold goes left
    missing_left: NDArray  # bool (n_nodes,)
    left: NDArray  # int32 (n_nodes,), number of the child, -1 in a leaf
    right: NDArray  # int32 (n_nodes,)
    value: NDArray  # int32 (n_nodes, n_outputs), 0 in an inner node; of others any number


def compact_trees(forest: Forest) -> list[CompactTree]:
    """Leave out what lies below unsplit nodes."""
    return [_compact(*fields, forest.leaf_value) for fields in zip(*forest[:4], strict=True)]


def _compact(
    feature: NDArray,
    threshold: NDArray,
    missing_left: NDArray,
    leaf_slot: NDArray,
    leaf_value: NDArray,
) -> CompactTree:
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


def forest_of(trees: list[CompactTree]) -> Forest:
    """Fill up trees to complete ones of the depth of the deepest, the inverse of `compact_trees`.

    Raises
    ------
    InputError
        Where trees have more than 16 levels of tests.
    """
    levels = [_levels(tree) for tree in trees]
    depths = [len(of_tree) - 1 for of_tree in levels]
    deep = [tree for tree, depth in enumerate(depths) if depth > MAX_DEPTH]
    if deep:
        raise InputError(
            f"trees must have at most {MAX_DEPTH} levels of tests; tree {deep[0]} has "
            f"{depths[deep[0]]} ({len(deep)} of {len(trees)} are too deep). Train the model again "
            f"with max_depth={MAX_DEPTH}."
        )
    depth = max(1, *depths)
    shape = len(trees), 2**depth - 1
    feature, missing_left = np.zeros(shape, np.int32), np.zeros(shape, bool)
    threshold = np.full(shape, np.inf, np.float32)
    leaf_slot = np.zeros((len(trees), 2**depth), np.int32)
    first, values = 0, []
    for number, (tree, of_tree) in enumerate(zip(trees, levels, strict=True)):
        slot = np.cumsum(tree.feature < 0) - 1 + first  # of a leaf
        first = slot[-1] + 1
        values.append(tree.value[tree.feature < 0])
        for level, (node, place) in enumerate(of_tree):
            inner = tree.feature[node] >= 0
            at = number, 2**level - 1 + place[inner]
            feature[at] = tree.feature[node[inner]]
            threshold[at] = tree.threshold[node[inner]]
            missing_left[at] = tree.missing_left[node[inner]]
            width = 2 ** (depth - level)  # leaves below a node of this level
            below = width * place[~inner, None] + np.arange(width)
            leaf_slot[number, below] = slot[node[~inner], None]
    value = np.ascontiguousarray(np.concatenate(values), np.int32)
    return Forest(feature, threshold, missing_left, leaf_slot, value)


def _levels(tree: CompactTree) -> list[tuple[NDArray, NDArray]]:
    """List the nodes of each level, and their places in a complete tree, from left to right."""
    levels, node, place = [], np.zeros(1, np.int64), np.zeros(1, np.int64)
    while len(node):
        levels.append((node, place))
        split = tree.feature[node] >= 0
        node, place = node[split], place[split]
        node = np.stack([tree.left[node], tree.right[node]], axis=1).ravel()
        place = (2 * place[:, None] + np.arange(2)).ravel()
    return levels
