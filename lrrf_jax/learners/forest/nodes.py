"""The nodes of a forest that exist, numbered as users meet them, and the ways of rows through them.

A `Forest` has room for complete trees. What users see of one are the nodes that grew, numbered from
0 in each tree: level after level, from left to right.
"""

from typing import Any, NamedTuple

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.trees.forest import Forest, is_split


class Nodes(NamedTuple):
    """The nodes of some trees, tree after tree; -1 where there is no such thing."""

    tree: NDArray  # int64 (n_nodes,)
    place: NDArray  # int64 (n_nodes,), in the complete tree: the children of i are 2i + 1, 2i + 2
    depth: NDArray  # int64 (n_nodes,)
    left: NDArray  # int64 (n_nodes,), the number of the left child in its tree
    right: NDArray  # int64 (n_nodes,)
    slot: NDArray  # int64 (n_nodes,), of leaves: their row of leaf_value
    first: NDArray  # int64 (n_trees + 1,), where each tree begins

    @property
    def is_leaf(self) -> NDArray:
        """Which of them are leaves, bool (n_nodes,)."""
        return self.slot >= 0

    def of_tree(self, tree: int) -> "Nodes":
        """Take one tree."""
        part = slice(self.first[tree], self.first[tree + 1])
        fields = [field[part] for field in self[:-1]]
        return Nodes._make([*fields, np.array([0, part.stop - part.start])])


def nodes_of(forest: Forest) -> Nodes:
    """Find the nodes of a forest that exist; host side."""
    depth, split = forest.depth, is_split(forest)
    exists = np.zeros((forest.n_trees, 2 ** (depth + 1) - 1), bool)
    exists[:, 0] = True
    for level in range(depth):
        begin, end = 2**level - 1, 2 ** (level + 1) - 1
        children = np.repeat(exists[:, begin:end] & split[:, begin:end], 2, axis=1)
        exists[:, end : 2 * end + 1] = children
    tree, place = np.nonzero(exists)
    first = np.searchsorted(tree, np.arange(forest.n_trees + 1))
    levels = np.frexp(place + 1.0)[1] - 1  # exact: 2**level <= place + 1 < 2**(level + 1)
    grows = np.zeros(len(place), bool)
    inner = levels < depth
    grows[inner] = split[tree[inner], place[inner]]
    left = np.full(len(place), -1)
    # The children of the nodes that are split follow one another, after the root.
    n_before = np.cumsum(grows) - grows
    left[grows] = 1 + 2 * (n_before - n_before[first[tree]])[grows]
    slot = np.full(len(place), -1)
    last = ((place + 2) << (depth - levels)) - 1 - 2**depth  # which rows reach that go right
    leaf = ~grows
    slot[leaf] = np.asarray(forest.leaf_slot)[tree[leaf], last[leaf]]
    return Nodes(tree, place, levels, left, np.where(grows, left + 1, -1), slot, first)


def decision_path(
    forest: Forest,
    leaf: NDArray,  # int32 (n_samples, n_trees), 0 .. 2**depth - 1
) -> tuple[Any, NDArray]:
    """Mark the nodes that each row goes through; scikit-learn's indicator and ``n_nodes_ptr``."""
    import scipy.sparse

    nodes, depth, n_samples = nodes_of(forest), forest.depth, len(leaf)
    up = np.arange(depth, -1, -1)
    column = np.empty((n_samples, forest.n_trees, depth + 1), np.int32)
    for tree in range(forest.n_trees):
        part = slice(nodes.first[tree], nodes.first[tree + 1])
        number = np.full(2 ** (depth + 1) - 1, -1, np.int32)
        number[nodes.place[part]] = np.arange(part.start, part.stop)
        column[:, tree] = number[((leaf[:, tree, None] + 2**depth) >> up) - 1]
    on_the_way = column >= 0
    starts = np.concatenate([[0], np.cumsum(on_the_way.sum(axis=(1, 2)))])
    columns = column[on_the_way]
    ones = np.ones(len(columns), np.int32)
    shape = (n_samples, int(nodes.first[-1]))
    return scipy.sparse.csr_matrix((ones, columns, starts), shape=shape), nodes.first
