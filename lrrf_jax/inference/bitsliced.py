"""Bit-sliced traversal: each distinct test once per tile, then trees as bit-wise multiplexers.

Instead of walking a row down a tree, ask each distinct (feature, threshold) question of the
whole forest once for a tile of rows, and keep the answers as bit planes, one bit per row. A tree
is then a multiplexer over its planes: no branch or load depends on data, and one instruction
moves as many rows as its register has bits. Only the leaf look-up gathers. Histogram training
makes it pay: trees share thresholds.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._numerics import float_key
from lrrf_jax._typing import AnyArray, Array, NDArray
from lrrf_jax._xla import bucket_size, fusion_barrier, take
from lrrf_jax.inference.packing import pack, packed_words, unpack
from lrrf_jax.inference.traversal import forest_tests, goes_right
from lrrf_jax.trees.forest import Forest

MAX_DEPTH = 9  # deeper trees have planes that outgrow the cache, most of them padding
TREES_PER_STEP = 5  # inner loops are long enough, and planes stay in the cache
ROWS_PER_WORD = 32


class SlicedForest(NamedTuple):
    """A forest in the form that the kernel reads."""

    question_feature: AnyArray  # int32 (n_questions,)
    question_limit: AnyArray  # uint32 (n_questions,)
    question_origin: AnyArray  # uint32 (n_questions,), see `traversal.Tests`
    question_of_node: AnyArray  # int32 (n_steps, TREES_PER_STEP, n_nodes), in pre-order
    leaf_words: AnyArray  # uint32 (n_steps, TREES_PER_STEP, 2**depth, n_words)


def _preorder(depth: int) -> NDArray:
    """Breadth-first number of each node in pre-order: root, left subtree, right subtree."""
    order = np.zeros(1, np.int64)
    for _ in range(depth - 1):
        # Put a root above two copies of the subtree; renumber each from its own root's number.
        level_of = np.floor(np.log2(order + 1)).astype(np.int64)
        order = np.concatenate([[0], order + 2**level_of, order + 2 ** (level_of + 1)])
    return order


def slice_forest(forest: Forest) -> SlicedForest:
    """Rearrange a forest for the kernel; host side, NumPy."""
    n_trees, depth = forest.n_trees, forest.depth
    pad = -n_trees % TREES_PER_STEP
    preorder = _preorder(depth)
    tests = forest_tests(forest)
    code = np.stack([np.asarray(field, np.int64)[:, preorder].ravel() for field in tests])
    # Sorted by feature, so that a feature's keys stay hot while its questions are asked.
    questions, of_node = np.unique(code, axis=1, return_inverse=True)
    n_questions = bucket_size(questions.shape[1], per_octave=4)  # forests share a program
    questions = np.pad(questions, ((0, 0), (0, n_questions - questions.shape[1])))
    of_node = np.pad(of_node.reshape(n_trees, -1), ((0, pad), (0, 0)))  # any question will do
    value = np.asarray(forest.leaf_value)
    words = pack(value, packed_words(n_trees, value))
    leaf_words = words[np.asarray(forest.leaf_slot)]
    leaf_words = np.pad(leaf_words, ((0, pad), (0, 0), (0, 0)))  # padding trees add nothing
    return SlicedForest(
        question_feature=questions[0].astype(np.int32),
        question_limit=questions[1].astype(np.uint32),
        question_origin=questions[2].astype(np.uint32),
        question_of_node=of_node.reshape(-1, TREES_PER_STEP, 2**depth - 1).astype(np.int32),
        leaf_words=leaf_words.reshape(-1, TREES_PER_STEP, *leaf_words.shape[1:]),
    )


def _answer_planes(
    forest: SlicedForest,
    features: Array,  # float32 (n_samples, n_features)
) -> Array:  # uint8 (n_questions, n_samples / 8)
    """Ask every question of every row.

    Bit k of byte p is set where row ``k n_samples / 8 + p`` goes right: one word is built from
    32 runs of rows, so that every comparison works on neighbours.
    """
    n_samples, n_features = features.shape
    n_words = n_samples // ROWS_PER_WORD
    runs = float_key(features).reshape(8, n_words, 4, n_features).transpose(3, 2, 0, 1)
    runs = fusion_barrier(runs).reshape(n_features, ROWS_PER_WORD, n_words)
    limit, origin = forest.question_limit[:, None], forest.question_origin[:, None]
    word = jnp.zeros((), jnp.uint32)
    for k in range(ROWS_PER_WORD):
        right = goes_right(take(runs[:, k], forest.question_feature), limit, origin)
        word = word | jnp.where(right, jnp.uint32(1 << k), jnp.uint32(0))
    return lax.bitcast_convert_type(fusion_barrier(word), jnp.uint8).reshape(-1, n_samples // 8)


def _select_paths(planes: Array) -> list[Array]:
    """Fold the planes of some trees, uint8 (n, n_nodes, width), to those on each row's path.

    The root's bit picks the left or the right half of the rest, for every row at once.
    """
    path: list[Array] = []
    while True:
        root, half = planes[:, 0], (planes.shape[1] - 1) // 2
        path.append(root)
        if half == 0:
            return path
        left, right = planes[:, 1 : 1 + half], planes[:, 1 + half :]
        planes = left ^ (root[:, None] & (left ^ right))
        if len(path) % 2 == 0 and half > 1:
            planes = fusion_barrier(planes)  # bounds what a fusion computes again


def _leaf_numbers(path: list[Array]) -> Array:  # (n, n_samples); uint8 up to depth 8
    """Turn the planes of each level into leaf numbers; the root's answer is the top bit."""
    dtype = jnp.uint8 if len(path) <= 8 else jnp.int32
    rows = []
    for k in range(8):  # explicit terms: XLA:CPU does worse with a broadcast shift
        leaf = jnp.zeros(path[0].shape, dtype)
        for level, plane in enumerate(reversed(path)):
            bit = ((plane >> k) & jnp.uint8(1)).astype(dtype)
            leaf = leaf | bit << level
        rows.append(leaf)
    return jnp.stack(rows, axis=1).reshape(len(path[0]), -1)


def sum_leaves_sliced(
    forest: SlicedForest,
    features: Array,  # float32 (n_samples, n_features), n_samples a multiple of 32
    n_outputs: int,
) -> Array:  # int32 (n_samples, n_outputs)
    """Sum the leaf values of each row over all trees: the same integers as the plain form.

    Cost per tile: O(n_questions + n_trees 2**depth) operations on n_samples bits, and one gather
    per row and tree.
    """
    planes = _answer_planes(forest, features)
    n_words = forest.leaf_words.shape[-1]

    def add_trees(total: Array, trees: tuple[Array, Array]) -> tuple[Array, None]:
        questions, words = trees  # int32 (n, n_nodes), uint32 (n, 2**depth, n_words), n per step
        path = _select_paths(fusion_barrier(take(planes, questions)))
        path = list(fusion_barrier(*path)) if len(path) > 1 else path
        leaves = fusion_barrier(_leaf_numbers(path))
        for leaf, word in zip(leaves, words, strict=True):  # one loop over the rows
            total = total + take(word, leaf.astype(jnp.int32))
        return total, None

    total = jnp.zeros((len(features), n_words), jnp.uint32)
    total = lax.scan(add_trees, total, (forest.question_of_node, forest.leaf_words))[0]
    if n_words == n_outputs:
        return lax.bitcast_convert_type(total, jnp.int32)
    return fusion_barrier(unpack(fusion_barrier(total.T), n_outputs)).T
