"""What stands between the root of a tree and its leaves, feature by feature.

A row reaches a leaf where each feature on the path lies in an interval. That of a feature which is
tested several times is where all of its tests agree.
"""

from typing import NamedTuple

import numpy as np

from lrrf_jax._numerics import HIGHEST, LOWEST, float_key_on_host
from lrrf_jax._typing import NDArray
from lrrf_jax.learners.forest.nodes import Nodes
from lrrf_jax.trees.forest import Forest


class LeafPaths(NamedTuple):
    """The leaves of one tree, and the features on the way to each, leaf after leaf."""

    slot: NDArray  # int64 (n_leaves,), rows of leaf_value
    leaf: NDArray  # int64 (n_steps,), rising: number of the leaf, from 0
    feature: NDArray  # int64 (n_steps,), different ones in each leaf
    lowest: NDArray  # int32 (n_steps,), key of the least number that passes
    beyond: NDArray  # int32 (n_steps,), key of the least number above those that pass
    missing: NDArray  # bool (n_steps,), whether a missing value passes
    share: NDArray  # float64 (n_steps,), of rows, passed on by its tests where it is unknown

    @property
    def n_steps(self) -> NDArray:  # int64 (n_leaves,)
        """Count the features on the way to each leaf."""
        return np.bincount(self.leaf, minlength=len(self.slot))

    @property
    def weight(self) -> NDArray:  # float64 (n_leaves,)
        """Share of all rows in each leaf."""
        weight = np.ones(len(self.slot))
        np.multiply.at(weight, self.leaf, self.share)
        return weight


def leaf_paths(
    forest: Forest,
    nodes: Nodes,  # of this tree
    tree: int,
    share: NDArray,  # float64 (2**(depth + 1) - 1,), see `shares_of_children`
) -> LeafPaths:
    """Walk from the leaves of a tree to its root; host side, O(n_leaves depth)."""
    is_leaf = nodes.is_leaf
    node, depth = nodes.place[is_leaf], nodes.depth[is_leaf]
    number = np.arange(len(node))
    parts = []
    while (up := depth > 0).any():
        number, node, depth = number[up], node[up], depth[up] - 1
        above = (node - 1) // 2
        parts.append((number, above, node % 2 == 1, share[node]))
        node = above
    if not parts:
        none = np.zeros(0, np.int64)
        keys = none.astype(np.int32)
        return LeafPaths(nodes.slot[is_leaf], none, none, keys, keys, none > 0, none / 1.0)
    leaf, at, left, part = map(np.concatenate, zip(*parts, strict=True))
    feature = np.asarray(forest.feature)[tree, at].astype(np.int64)
    limit = float_key_on_host(np.asarray(forest.threshold)[tree, at])
    passes = np.asarray(forest.missing_left)[tree, at] == left
    order = np.lexsort((feature, leaf))
    leaf, feature, left, limit = leaf[order], feature[order], left[order], limit[order]
    is_first = np.append(True, (leaf[1:] != leaf[:-1]) | (feature[1:] != feature[:-1]))
    first = np.flatnonzero(is_first)
    return LeafPaths(
        nodes.slot[is_leaf],
        leaf[first],
        feature[first],
        np.maximum.reduceat(np.where(left, limit, LOWEST + 1), first).astype(np.int32),
        np.minimum.reduceat(np.where(left, HIGHEST, limit), first).astype(np.int32),
        np.logical_and.reduceat(passes[order], first),
        np.multiply.reduceat(part[order], first),
    )
