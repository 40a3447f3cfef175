"""The container of a grown forest: flat arrays, and nothing else."""

from typing import NamedTuple

import numpy as np

from lrrf_jax._typing import AnyArray, NDArray

MAX_DEPTH = 16


class Forest(NamedTuple):
    """``n_trees`` binary trees of one depth, as flat arrays in breadth-first order.

    The depth is that of the deepest split of all trees, and 1 where no tree has one: a forest is
    as deep as it grew, not as it was allowed to grow.

    The children of node ``i`` are ``2 i + 1`` (left: ``x >= threshold``) and ``2 i + 2``. A node
    that is not split has threshold ``+inf``, and every leaf below it points at one slot, so any
    way through its subtree ends in the same value. Leaf ``k`` of a tree is the node
    ``2**depth - 1 + k``.
    """

    feature: AnyArray  # int32 (n_trees, 2**depth - 1)
    threshold: AnyArray  # float32 (n_trees, 2**depth - 1), +inf where the node is not split
    missing_left: AnyArray  # bool (n_trees, 2**depth - 1), the way of NaN
    leaf_slot: AnyArray  # int32 (n_trees, 2**depth), rows of leaf_value
    leaf_value: AnyArray  # int32 (n_slots, n_outputs)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return int(self.feature.shape[0])

    @property
    def depth(self) -> int:
        """Tests on the longest path."""
        return int(self.leaf_slot.shape[1]).bit_length() - 1

    @property
    def n_outputs(self) -> int:
        """Integers in a leaf."""
        return int(self.leaf_value.shape[1])


def invariant_violation(forest: Forest, n_features: int) -> str | None:
    """Say which promise of :class:`Forest` the arrays break, or ``None`` where they keep all.

    Host side, O(size): a model file is checked with it before its arrays index anything.
    """
    feature, threshold, missing_left, leaf_slot, leaf_value = map(np.asarray, forest)
    shapes = {"feature": feature, "threshold": threshold, "leaf_slot": leaf_slot}
    shapes |= {"missing_left": missing_left, "leaf_value": leaf_value}
    for name, array in shapes.items():
        if array.ndim != 2 or 0 in array.shape:
            return f"{name} has shape {array.shape}"
    n_leaves = leaf_slot.shape[1]
    if n_leaves & (n_leaves - 1) or not 2 <= n_leaves <= 2**MAX_DEPTH:
        return f"leaf_slot has {n_leaves} leaves, not a power of two up to {2**MAX_DEPTH}"
    nodes = (leaf_slot.shape[0], n_leaves - 1)
    for name in ("feature", "threshold", "missing_left"):
        if shapes[name].shape != nodes:
            return f"{name} has shape {shapes[name].shape}, not {nodes}"
    if feature.min() < 0 or feature.max() >= n_features:
        return f"feature holds an index outside 0..{n_features - 1}"
    if leaf_slot.min() < 0 or leaf_slot.max() >= len(leaf_value):
        return f"leaf_slot holds an index outside 0..{len(leaf_value) - 1}"
    if np.isnan(threshold).any():
        return "threshold holds NaN"
    if _unsplit_subtree_differs(threshold, leaf_slot):
        return "a node that is not split leads to more than one leaf"
    return None


def _unsplit_subtree_differs(threshold: NDArray, leaf_slot: NDArray) -> bool:
    """Whether some unsplit node has two leaf slots below it; works from the leaves up."""
    lowest = highest = leaf_slot
    for level in reversed(range(leaf_slot.shape[1].bit_length() - 1)):
        lowest = np.minimum(lowest[:, 0::2], lowest[:, 1::2])
        highest = np.maximum(highest[:, 0::2], highest[:, 1::2])
        unsplit = threshold[:, 2**level - 1 : 2 ** (level + 1) - 1] == np.inf
        if (unsplit & (lowest != highest)).any():
            return True
    return False


def with_depth(forest: Forest, depth: int) -> Forest:
    """Add levels of unsplit nodes below the trees, or take off levels without a split."""
    if depth >= forest.depth:
        slots = np.repeat(forest.leaf_slot, 2 ** (depth - forest.depth), axis=1)
    else:  # below an unsplit node all point at one slot
        slots = np.ascontiguousarray(forest.leaf_slot[:, :: 2 ** (forest.depth - depth)])
    return Forest(
        feature=node_levels(forest.feature, depth, 0),
        threshold=node_levels(forest.threshold, depth, np.inf),
        missing_left=node_levels(forest.missing_left, depth, False),
        leaf_slot=slots,
        leaf_value=forest.leaf_value,
    )


def node_levels(values: NDArray, depth: int, unsplit: float) -> NDArray:  # (n_trees, 2**depth - 1)
    """Cut or fill up what there is for each node, (n_trees, n_nodes), to a depth."""
    n_more = 2**depth - 1 - values.shape[1]
    if n_more > 0:
        return np.pad(values, ((0, 0), (0, n_more)), constant_values=unsplit)
    return np.ascontiguousarray(values[:, : 2**depth - 1])


def grown_depth(forest: Forest) -> int:
    """Count the levels down to the deepest split, a minimum of 1."""
    nodes = np.flatnonzero(is_split(forest).any(axis=0))
    return int(nodes[-1] + 1).bit_length() if len(nodes) else 1


def is_split(forest: Forest) -> NDArray:  # bool (n_trees, 2**depth - 1)
    """Nodes that hold a test, unsplit ones and the padding below them left out."""
    return np.asarray(forest.threshold) < np.inf
