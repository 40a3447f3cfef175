"""Forests in files: node by node, so that a file follows what grew and not 2**depth."""

from collections.abc import Iterator
from typing import Annotated, NamedTuple

import numpy as np

from lrrf_jax._typing import AnyArray, NDArray
from lrrf_jax.learners.persistence.schema import Stored, Unfit
from lrrf_jax.trees.blocks import Grown
from lrrf_jax.trees.forest import (
    MAX_DEPTH,
    Forest,
    grown_depth,
    invariant_violation,
    is_split,
    node_levels,
    with_depth,
)

# Leaves of complete trees, about 13 bytes each, that a forest from a file may take: a thousand
# trees of depth 16, or as many more as go with the nodes that the file does hold.
MAX_PLACES = 2**26
_PLACES_PER_NODE = 256
_LARGEST = float(np.finfo(np.float32).max)


class StoredForest(NamedTuple):
    """The nodes that exist, level after level, in each the trees side by side, from left to right.

    A split has its children in the next level; where no node of a level is split, the trees end.
    11 bytes per split, and 4 per number in a leaf. The number of trees is that of the leaves less
    that of the splits.
    """

    is_split: Annotated[AnyArray, Stored("bool", "n_nodes")]
    feature: Annotated[AnyArray, Stored("int32", "n_splits", minimum=0, maximum="n_features")]
    # -inf: all but missing values go left.
    threshold: Annotated[AnyArray, Stored("float32", "n_splits", maximum=_LARGEST, infinite=True)]
    missing_left: Annotated[AnyArray, Stored("bool", "n_splits")]
    leaf_value: Annotated[AnyArray, Stored("int32", "n_slots", "n_outputs")]  # tree after tree


class FlatForest(NamedTuple):
    """A `Forest` as files of format 1 hold it; see there."""

    feature: Annotated[
        AnyArray, Stored("int32", "n_trees", "n_inner", minimum=0, maximum="n_features")
    ]
    threshold: Annotated[AnyArray, Stored("float32", "n_trees", "n_inner", infinite=True)]
    missing_left: Annotated[AnyArray, Stored("bool", "n_trees", "n_inner")]
    leaf_slot: Annotated[AnyArray, Stored("int32", "n_trees", "n_leaves")]
    leaf_value: Annotated[AnyArray, Stored("int32", "n_slots", "n_outputs")]


class StoredBlock(NamedTuple):
    """Some finished trees of a fit."""

    forest: StoredForest
    gain: Annotated[AnyArray, Stored("float32", "n_splits")]


class FlatBlock(NamedTuple):
    """The same in files of format 1."""

    forest: FlatForest
    gain: Annotated[AnyArray, Stored("float32", "n_trees", "n_inner")]


class _Level(NamedTuple):
    """The nodes of one level that exist."""

    level: int
    tree: NDArray  # int32 (n_nodes,)
    node: NDArray  # int32 (n_nodes,), from left to right in the complete tree, from 0
    is_split: NDArray  # bool (n_nodes,)


def _levels(is_split: NDArray, n_trees: int) -> Iterator[_Level]:
    """Say where the nodes of `StoredForest.is_split` are; Unfit where they make no trees."""
    tree, node = np.arange(n_trees, dtype=np.int32), np.zeros(n_trees, np.int32)
    first = level = 0
    while len(tree):
        split = is_split[first : first + len(tree)]
        if len(split) < len(tree) or level == MAX_DEPTH and split.any():
            raise Unfit("a tree has no end, or is deeper than any")
        yield _Level(level, tree, node, split)
        first, level = first + len(tree), level + 1
        tree = np.repeat(tree[split], 2)
        node = np.repeat(2 * node[split], 2)
        node[1::2] += 1
    if first < len(is_split):
        raise Unfit("there are nodes that belong to no tree")


def split_nodes(stored: StoredForest) -> tuple[NDArray, NDArray]:  # int32 (n_splits,), both
    """Tree of each split in their stored order, and its number in the flat tree."""
    levels = list(_levels(stored.is_split, n_trees_of(stored)))
    tree = np.concatenate([level.tree[level.is_split] for level in levels])
    node = [2**level.level - 1 + level.node[level.is_split] for level in levels]
    return tree, np.concatenate(node)


def n_trees_of(stored: StoredForest) -> int:
    """Every split makes one leaf of two."""
    return len(stored.leaf_value) - len(stored.feature)


def pack_forest(forest: Forest) -> StoredForest:
    """Leave out what lies below unsplit nodes."""
    split = is_split(forest)
    tree, node = np.arange(forest.n_trees), np.zeros(forest.n_trees, np.int64)
    flags, trees, nodes, leaves = [], [], [], []
    for level in range(forest.depth + 1):
        number = 2**level - 1 + node
        flag = split[tree, number] if level < forest.depth else np.zeros(len(tree), bool)
        flags.append(flag)
        trees.append(tree[flag])
        nodes.append(number[flag])
        first = node[~flag] << (forest.depth - level)  # all leaves below are this one
        leaves.append(tree[~flag] * 2**forest.depth + first)
        tree = np.repeat(tree[flag], 2)
        node = np.repeat(2 * node[flag], 2)
        node[1::2] += 1
        if not len(tree):
            break
    at = np.concatenate(trees), np.concatenate(nodes)
    slots = np.asarray(forest.leaf_slot).ravel()[np.sort(np.concatenate(leaves))]
    return StoredForest(
        is_split=np.concatenate(flags),
        feature=np.asarray(forest.feature)[at],
        threshold=np.asarray(forest.threshold)[at],
        missing_left=np.asarray(forest.missing_left)[at],
        leaf_value=np.asarray(forest.leaf_value)[slots],
    )


def require_room(n_trees: int, depth: int, n_nodes: int) -> None:
    """Raise Unfit for trees whose flat arrays would be out of proportion to their nodes."""
    # With 2**31 places, nodes could not be numbered.
    most = min(max(MAX_PLACES, _PLACES_PER_NODE * n_nodes), 2**30)
    if n_trees << depth > most:
        raise Unfit(
            f"{n_trees} trees of depth {depth} with {n_nodes} nodes would take the memory of "
            f"{n_trees << depth} leaves, of {most} at most"
        )


def unpack_forest(stored: StoredForest, n_trees: int, max_depth: int = MAX_DEPTH) -> Forest:
    """Lay stored trees out as flat arrays; Unfit before, where they do not make such trees."""
    n_nodes = len(stored.is_split)
    if n_trees < 1 or n_trees != n_trees_of(stored):
        raise Unfit(f"it holds {n_trees_of(stored)} trees, and should hold {n_trees}")
    if n_nodes != len(stored.feature) + len(stored.leaf_value):
        raise Unfit("the numbers of nodes, splits and leaves make no trees")
    n_levels = n_splits = 0
    for level in _levels(stored.is_split, n_trees):  # before anything is laid out
        n_levels, n_splits = n_levels + 1, n_splits + int(level.is_split.sum())
    if n_splits != len(stored.feature):
        raise Unfit("the numbers of nodes, splits and leaves make no trees")
    depth = max(1, n_levels - 1)
    if depth > max_depth:
        raise Unfit(f"its trees have depth {depth}, of {max_depth} at most")
    require_room(n_trees, depth, n_nodes)
    shape = n_trees, 2**depth - 1
    feature, missing_left = np.zeros(shape, np.int32), np.zeros(shape, bool)
    threshold = np.full(shape, np.inf, np.float32)
    occupied = np.zeros((n_trees, 2**depth), bool)
    first = 0
    for level in _levels(stored.is_split, n_trees):
        split = level.is_split
        at = level.tree[split], 2**level.level - 1 + level.node[split]
        part = slice(first, first + len(at[0]))
        feature[at], threshold[at] = stored.feature[part], stored.threshold[part]
        missing_left[at] = stored.missing_left[part]
        last = ((level.node[~split] + 1) << (depth - level.level)) - 1
        occupied[level.tree[~split], last] = True
        first = part.stop
    # The slot of a leaf is the number of those before it; what is below one shares its slot.
    slot = np.cumsum(occupied, dtype=np.int32) - occupied.ravel()
    leaf_slot = slot.astype(np.int32, copy=False).reshape(occupied.shape)
    return Forest(feature, threshold, missing_left, leaf_slot, stored.leaf_value)


def forest_of_flat(flat: FlatForest, n_features: int, max_depth: int = MAX_DEPTH) -> Forest:
    """Check the trees of a file of format 1, and take off the levels without a split."""
    forest = Forest(*flat)
    problem = invariant_violation(forest, n_features)
    if problem:
        raise Unfit(problem)
    forest = with_depth(forest, grown_depth(forest))
    if forest.depth > max_depth:
        raise Unfit(f"its trees have depth {forest.depth}, of {max_depth} at most")
    return forest


def pack_grown(grown: Grown) -> StoredBlock:
    """Leave out what lies below unsplit nodes, whose gain is 0."""
    forest = pack_forest(grown.forest)
    return StoredBlock(forest, np.asarray(grown.gain)[split_nodes(forest)])


def unpack_grown(block: StoredBlock, n_trees: int, max_depth: int) -> Grown:
    """Lay stored trees and their gains out as flat arrays; raises as `unpack_forest`."""
    forest = unpack_forest(block.forest, n_trees, max_depth)
    gain = np.zeros(forest.feature.shape, np.float32)
    gain[split_nodes(block.forest)] = block.gain
    return Grown(forest, gain)


def grown_of_flat(block: FlatBlock, n_features: int, max_depth: int) -> Grown:
    """Check the trees of a file of format 1; raises as `forest_of_flat`."""
    forest = forest_of_flat(block.forest, n_features, max_depth)
    return Grown(forest, node_levels(block.gain, forest.depth, 0))
