"""The kernel for a few rows on the host: NumPy walks four levels at a time, and compiles nothing.

What a call of NumPy costs by itself is most of the time, so that few calls count: the 15 nodes of a
*block*, a subtree of four levels, are asked at once, and their answers are a number of 15 bits that
one look-up turns into the way through the block. A forest of depth 8 is two such rounds.
"""

import functools
from typing import NamedTuple

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.trees.forest import Forest

_LEVELS = 4  # of a block; five would have 31 nodes, too many for a look-up
_NODES = 2**_LEVELS - 1
_EXITS = 2**_LEVELS
_MOST_WIDE_CELLS = 2**20  # of tables in the types that NumPy works with; larger ones are kept small
_SUBNORMAL = 5e-324
_WORD = np.dtype(np.uint16)
_SHIFT = np.array(_LEVELS)  # as an array: NumPy takes as long to make one of a number as to shift


class Round(NamedTuple):
    """The blocks of four levels of all trees, in the order of the trees and from left to right."""

    feature: NDArray  # intp or int32 (n_blocks, 16), columns of what `_values` returns
    threshold: NDArray  # float32 (n_blocks, 16), NaN: right


class BlockForest(NamedTuple):
    """A forest in the form that the kernel reads."""

    n_features: int
    either_way: bool  # some NaN go left
    first_block: NDArray  # intp (n_trees,), of the next round: where exit 0 of the first leads
    first_round: Round
    rounds: tuple[Round, ...]  # the others
    leaf_slot: NDArray  # intp or int32 (n_trees * 2**depth,)
    leaf_value: NDArray  # float64 or int32 (n_slots, n_outputs)
    ones: NDArray  # float64 (n_trees,)


def is_exact_here() -> bool:
    """Whether this thread compares subnormal floats as numbers, not as zeros.

    Threads of XLA, which run callbacks, do not, nor does a process whose libraries are compiled
    with ``-ffast-math``.
    """
    return _SUBNORMAL > 0.0


def block_forest(forest: Forest) -> BlockForest:
    """Rearrange a forest for the kernel, in about the memory that it takes itself."""
    feature, threshold = np.asarray(forest.feature), np.asarray(forest.threshold)
    slot, value = np.asarray(forest.leaf_slot), np.asarray(forest.leaf_value)
    wide = max(feature.size, value.size) <= _MOST_WIDE_CELLS
    index = np.intp if wide else np.int32
    n_trees, depth = forest.n_trees, forest.depth
    missing_left = np.asarray(forest.missing_left)
    either_way = bool(missing_left.any())
    n_features = int(feature.max()) + 1
    if either_way:
        feature = feature + np.where(missing_left, n_features, 0)
    n_first = (depth - 1) % _LEVELS + 1  # levels of the first round, which may be fewer
    starts = range(n_first - _LEVELS, depth, _LEVELS)
    rounds = []
    for start in starts:
        nodes = _blocks(feature, start, 0).astype(index), _blocks(threshold, start, np.nan)
        rounds.append(Round(*nodes))
    return BlockForest(
        n_features=n_features,
        either_way=either_way,
        # Levels that are not there are passed on the right.
        first_block=np.arange(n_trees) * 2**n_first - (_EXITS - 2**n_first),
        first_round=rounds[0],
        rounds=tuple(rounds[1:]),
        leaf_slot=slot.ravel().astype(index),
        leaf_value=value.astype(np.float64) if wide else value,
        ones=np.ones(n_trees),
    )


def _blocks(
    values: NDArray,  # (n_trees, 2**depth - 1)
    start: int,  # first level of the round; negative where levels above the root are missing
    missing: float,
) -> NDArray:  # values.dtype (n_blocks, 16)
    """Collect the nodes of each block in breadth-first order, and one that is not there."""
    n_trees, n_blocks = len(values), 2 ** max(start, 0)
    out = np.full((n_trees, n_blocks, _EXITS), missing, values.dtype)
    for level in range(max(start, 0), start + _LEVELS):
        in_block = level - start
        width = 2 ** min(in_block, level)  # the last of the block's nodes of this level
        end = 2 ** (in_block + 1) - 1
        of_level = values[:, 2**level - 1 : 2 ** (level + 1) - 1]
        out[:, :, end - width : end] = of_level.reshape(n_trees, n_blocks, width)
    return out.reshape(-1, _EXITS)


@functools.cache
def _exit_of_answers() -> NDArray:  # intp (2**16,)
    """Exit 0 .. 15 of a block for each word of its answers, as `_packed` makes it."""
    words = np.arange(2**_NODES)
    left = (words[:, None] >> np.arange(_EXITS) & 1).astype(bool)
    node = np.zeros(len(words), np.intp)
    for _ in range(_LEVELS):
        node = 2 * node + 2 - left[words, node]
    exits = np.zeros(2**_EXITS, np.intp)
    exits[_packed(left)] = node - _NODES
    return exits


def _packed(left: NDArray) -> NDArray:  # uint16 (size / 16,), of bool (..., 16)
    return np.packbits(left).view(_WORD)


# ------------------------------------------------------------------------------------ applied
def find_leaves(
    forest: BlockForest,
    features: NDArray,  # float32 (n_samples, n_features), C-contiguous
) -> NDArray:  # intp (n_samples * n_trees,), 2**depth * tree + leaf
    """Walk every row down every tree."""
    exits, n_samples = _exit_of_answers(), len(features)
    values = _values(forest, features) if forest.either_way else features
    feature, threshold = forest.first_round
    if n_samples == 1:  # arrays of equal shapes, which NumPy takes half the time for
        row = None
        asked = values.take(feature) >= threshold
        block = exits.take(_packed(asked))
        block += forest.first_block
    else:
        row = np.arange(0, values.size, values.shape[1])[:, None]
        asked = values.take(feature, 1) >= threshold
        block = exits.take(_packed(asked)).reshape(n_samples, -1)
        block += forest.first_block
        block = block.reshape(-1)
    for feature, threshold in forest.rounds:
        column, limit = feature.take(block, 0), threshold.take(block, 0)
        if row is not None:
            column = column.reshape(n_samples, -1) + row
            limit = limit.reshape(n_samples, -1)
        block <<= _SHIFT
        block += exits.take(_packed(values.take(column) >= limit))
    return block


def _values(forest: BlockForest, features: NDArray) -> NDArray:  # float32 (n_samples, n)
    """Add columns in which NaN is above every threshold, for nodes that send NaN to the left."""
    features = features[:, : forest.n_features]
    above = np.where(np.isnan(features), np.float32(np.inf), features)
    return np.concatenate([features, above], axis=1)


def sum_over_trees(
    forest: BlockForest,
    features: NDArray,  # float32 (n_samples, n_features), C-contiguous
) -> NDArray:  # float64 (n_samples, n_outputs), or (n_outputs,) of one row; whole numbers
    """Sum the leaf values of each row over all trees: the integers of the other kernels.

    Whole numbers below 2**53 have no rounding error, in whichever order they are summed.
    """
    leaves = forest.leaf_value.take(forest.leaf_slot.take(find_leaves(forest, features)), 0)
    total: NDArray
    if len(features) == 1:
        total = forest.ones.dot(leaves)
    else:
        total = np.matmul(forest.ones, leaves.reshape(len(features), len(forest.ones), -1))
    return total
