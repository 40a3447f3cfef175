"""Bit-sliced traversal: each distinct test once per tile, then trees as bit-wise multiplexers.

Instead of walking a row down a tree, ask each distinct (feature, threshold) question of the
whole forest once for a tile of rows, and keep the answers as bit planes, one bit per row. A tree
is then a multiplexer over its planes: no branch or load depends on data, and one instruction
moves as many rows as its register has bits. Only the leaf look-up gathers. Histogram training
makes it pay: trees share thresholds.

Nor are questions asked one by one. A search by halves gives the *bin* of each value, one of 2**k,
with k comparisons and as many selections as there are thresholds. Its bits are kept as planes, and
the answer to a question, whether the bin is at most a number, is a few bit-wise operations on them.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._numerics import LOWEST, float_key
from lrrf_jax._typing import AnyArray, Array, NDArray
from lrrf_jax._xla import bucket_size, fusion_barrier, take
from lrrf_jax.inference.bins import bins_of_forest
from lrrf_jax.inference.packing import pack, packed_words, unpack
from lrrf_jax.trees.forest import Forest, is_split

MAX_DEPTH = 9  # deeper trees have planes that outgrow the cache, most of them padding
TREES_PER_STEP = 5  # inner loops are long enough, and planes stay in the cache
ROWS_PER_WORD = 32
_TABLE_WIDTHS = (1, 7, 31)  # thresholds per feature; the last is a minimum


class SlicedForest(NamedTuple):
    """A forest in the form that the kernel reads; ``feature`` and ``tables``: see `ForestBins`."""

    feature: AnyArray  # int32 (n_used,)
    tables: tuple[AnyArray, ...]  # int32 (n_in_table, 2**k - 1)
    question_feature: AnyArray  # int32 (n_questions,), number among those used
    question_last: AnyArray  # uint8 (n_questions,), the last bin that goes right
    question_missing: AnyArray  # uint8 (n_questions,), 255 where NaN goes left, else 0
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


def _shared_size(n_questions: int) -> int:
    """Round up, so that forests share a program: twice as many cost 2 %, but not if they are many.

    >>> [_shared_size(n) for n in (90, 257, 1025)]
    [256, 512, 1280]
    """
    return bucket_size(n_questions, per_octave=1 if n_questions <= 1024 else 4, least=256)


def slice_forest(forest: Forest) -> SlicedForest | None:
    """Rearrange a forest for the kernel; host side. None where a bin has more than a byte."""
    bins = bins_of_forest(forest, _TABLE_WIDTHS)
    if bins.tables[-1].shape[1] > 2**8 - 1:
        return None
    n_trees, depth = forest.n_trees, forest.depth
    pad = -n_trees % TREES_PER_STEP
    preorder = _preorder(depth)
    # Without a test: right, whatever the bin.
    last_right = np.where(bins.bin_of_node > 0, bins.bin_of_node - 1, 2**8 - 1)
    missing = np.where(is_split(forest) & np.asarray(forest.missing_left), 2**8 - 1, 0)
    nodes = (bins.of_node, last_right, missing)
    code = np.stack([field[:, preorder].ravel() for field in nodes])
    # Sorted by feature, so that its planes stay hot while its questions are answered.
    questions, question_of_node = np.unique(code, axis=1, return_inverse=True)
    n_questions = _shared_size(questions.shape[1])
    questions = np.pad(questions, ((0, 0), (0, n_questions - questions.shape[1])))
    question_of_node = question_of_node.reshape(n_trees, -1)
    question_of_node = np.pad(question_of_node, ((0, pad), (0, 0)))  # any question will do
    value = np.asarray(forest.leaf_value)
    leaf_words = pack(value, packed_words(n_trees, value))[np.asarray(forest.leaf_slot)]
    leaf_words = np.pad(leaf_words, ((0, pad), (0, 0), (0, 0)))  # padding trees add nothing
    n_nodes = len(preorder)
    return SlicedForest(
        feature=bins.feature,
        tables=bins.tables,
        question_feature=questions[0].astype(np.int32),
        question_last=questions[1].astype(np.uint8),
        question_missing=questions[2].astype(np.uint8),
        question_of_node=question_of_node.reshape(-1, TREES_PER_STEP, n_nodes).astype(np.int32),
        leaf_words=leaf_words.reshape(-1, TREES_PER_STEP, *leaf_words.shape[1:]),
    )


def _search_bins(
    key: Array,  # int32 (n_features, 8, n)
    table: Array,  # int32 (n_features, 2**k - 1), rising
) -> Array:  # uint8 (n_features, 8, n), how many thresholds are up to each key
    """Search by halves, of which each row's answers select the next: a blend, no look-up."""
    options = [threshold[:, None, None] for threshold in table.T]
    bins, step = jnp.zeros(key.shape, jnp.int32), (len(options) + 1) // 2
    while options:
        half = len(options) // 2
        above = key >= options[half]
        bins = bins + jnp.where(above, step, 0)
        halves = zip(options[:half], options[half + 1 :], strict=True)
        options = [jnp.where(above, high, low) for low, high in halves]
        step //= 2
    return bins.astype(jnp.uint8)


def _plane(bits: Array) -> Array:  # bool (..., 8, n) -> uint8 (..., n)
    """Put eight runs of rows into the bits of bytes."""
    plane = jnp.zeros((), jnp.uint8)
    for k in range(8):
        plane = plane | jnp.where(bits[..., k, :], jnp.uint8(1 << k), jnp.uint8(0))
    return plane


def _bin_planes(
    forest: SlicedForest,
    features: Array,  # float32 (n_samples, n_features)
) -> tuple[Array, Array]:  # uint8 (n_bits, n_used, n_samples / 8), (n_used, n_samples / 8)
    """Return a plane for each bit of the bins, the lowest first, and one for NaN.

    Bit k of byte p is that of row ``k n_samples / 8 + p``: comparisons work on neighbours.
    """
    keys = float_key(take(features.T, forest.feature)).reshape(len(forest.feature), 8, -1)
    keys = fusion_barrier(keys)
    n_bits = max(table.shape[1].bit_length() for table in forest.tables)
    bit = jnp.arange(n_bits, dtype=jnp.uint8)[:, None, None, None]
    parts, first = [], 0
    for table in forest.tables:
        bins = fusion_barrier(_search_bins(keys[first : first + len(table)], table))
        parts.append(_plane((bins >> bit & 1) > 0))
        first += len(table)
    # Not in one kernel with what is put together: it would take five times as long.
    planes = parts[0] if len(parts) == 1 else jnp.concatenate(fusion_barrier(*parts), axis=1)
    planes, missing = fusion_barrier(planes, _plane(keys == LOWEST))
    return planes, missing


def _answer_planes(
    forest: SlicedForest,
    features: Array,  # float32 (n_samples, n_features)
) -> Array:  # uint8 (n_questions, n_samples / 8)
    """Answer every question for every row: whether it goes right."""
    planes, missing = _bin_planes(forest, features)
    right: Array = jnp.full((), 2**8 - 1, jnp.uint8)  # bins of no bits are at most any number
    for k, plane in enumerate(planes):
        # Of two numbers whose bits differ here, those below do not count.
        mine = take(plane, forest.question_feature)
        last = forest.question_last[:, None] >> k & 1
        last = jnp.where(last > 0, jnp.uint8(2**8 - 1), jnp.uint8(0))
        right = (last & (right | ~mine)) | (right & ~mine)
    left = take(missing, forest.question_feature) & forest.question_missing[:, None]
    return fusion_barrier(right & ~left)


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
        leaves = fusion_barrier(_leaf_numbers(list(fusion_barrier(jnp.stack(path)))))
        for leaf, word in zip(leaves, words, strict=True):  # one loop over the rows
            total = total + take(word, leaf.astype(jnp.int32))
        return total, None

    total = jnp.zeros((len(features), n_words), jnp.uint32)
    total = lax.scan(add_trees, total, (forest.question_of_node, forest.leaf_words))[0]
    if n_words == n_outputs:
        return lax.bitcast_convert_type(total, jnp.int32)
    return fusion_barrier(unpack(fusion_barrier(total.T), n_outputs)).T
