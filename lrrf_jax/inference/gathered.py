"""The kernel for accelerators: every tree and row at once, one gather per level.

A row's features become *bins*, the number of the forest's thresholds up to each, a byte each (two
where a feature has more than 254 thresholds). A node is then one word, of feature, way of NaN and
bin of its threshold, and a level one look-up of the node and one of the bin. No loop, no tile: a
device that keeps thousands of rows in flight needs neither, and a loop would have it wait for the
host.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from lrrf_jax._numerics import HIGHEST, LOWEST, float_key, float_key_on_host
from lrrf_jax._typing import AnyArray, Array, NDArray
from lrrf_jax._xla import bucket_size, fusion_barrier, take
from lrrf_jax.inference.packing import pack, packed_words, unpack
from lrrf_jax.trees.forest import Forest

_MOST_DENSE_BYTES = 2**26  # of leaves without slots, which save a look-up; a cache's size
CHOSEN_WORDS = 6  # of bins: beyond, a look-up takes less than choosing among all


class GatheredForest(NamedTuple):
    """A forest in the form that the kernel reads."""

    thresholds: AnyArray  # int32 (n_features, 2**k - 1), keys, rising, padded with HIGHEST
    node: AnyArray  # uint32 (n_trees, 2**depth), place 1 is the root and 0 unused
    leaf_slot: AnyArray  # int32 (n_trees, 2**depth)
    leaf_words: AnyArray  # uint32 (n_trees, 2**depth, n_words), or (n_slots, n_words) of many
    leaf_value: AnyArray  # int32 (n_slots, n_outputs)


# -------------------------------------------------------------------------------- made on the host
def fits(forest: Forest) -> bool:
    """Whether a word has room for the number of any feature besides two bytes for a bin."""
    return int(np.asarray(forest.feature).max()) < 2**15


def gather_forest(forest: Forest) -> GatheredForest:
    """Rearrange a forest for the kernel; host side, O(n_nodes log n_nodes)."""
    value = np.asarray(forest.leaf_value)
    n_slots = bucket_size(len(value), per_octave=2)  # forests share a program
    value = np.pad(value, ((0, n_slots - len(value)), (0, 0)))
    thresholds, bin_of_node = _bins_of_nodes(forest)
    bits = _bin_bits(thresholds.shape[1])
    split = np.asarray(forest.threshold) < np.inf
    missing_left = np.asarray(forest.missing_left) & split
    # Right where `bin - missing_left <= limit`: NaN's 0 wraps to the largest where it goes left.
    # Where there is no test, every row goes right.
    limit = np.where(split, bin_of_node - 1 - missing_left, 2**bits - 1).astype(np.uint32)
    word = np.asarray(forest.feature).astype(np.uint32) << np.uint32(bits + 1)
    word |= missing_left.astype(np.uint32) << np.uint32(bits) | limit
    words = pack(value, packed_words(forest.n_trees, value))
    if 4 * forest.leaf_slot.size * words.shape[1] <= _MOST_DENSE_BYTES:
        words = words[np.asarray(forest.leaf_slot)]
    return GatheredForest(
        thresholds=thresholds,
        node=np.pad(word, ((0, 0), (1, 0))),
        leaf_slot=np.asarray(forest.leaf_slot),
        leaf_words=words,
        leaf_value=value,
    )


def _bins_of_nodes(forest: Forest) -> tuple[NDArray, NDArray]:
    """Keys of each feature's distinct thresholds, padded, and the bin that starts at each node's.

    int32 (n_features, n_thresholds); int64 (n_trees, n_nodes), undefined where there is no test.
    """
    split = np.asarray(forest.threshold) < np.inf
    feature = np.asarray(forest.feature)[split].astype(np.int64)
    key = float_key_on_host(np.asarray(forest.threshold)[split]).astype(np.int64)
    tests, of_node = np.unique(feature << 32 | key - LOWEST, return_inverse=True)
    n_features = int(np.asarray(forest.feature).max()) + 1
    first = np.searchsorted(tests, np.arange(n_features + 1) << 32)
    n_most = int(np.diff(first).max())
    n_most += n_most == 2**8 - 1  # its bins need a second byte, which the width has to tell
    table = np.full((n_features, (1 << n_most.bit_length()) - 1), HIGHEST, np.int32)
    column = np.arange(len(tests)) - first[tests >> 32]
    table[tests >> 32, column] = (tests & 2**32 - 1) + LOWEST
    bin_of_node = np.zeros(split.shape, np.int64)
    bin_of_node[split] = column[of_node] + 2
    return table, bin_of_node


def find_leaves(
    forest: GatheredForest,
    words: Array,  # uint32 (n_bin_words, n_samples), see `bin_rows`
) -> Array:  # int32 (n_trees, n_samples), leaf 0 .. 2**depth - 1
    """Walk every row down every tree. O(n_samples n_trees depth)."""
    n_trees, n_leaves = forest.node.shape
    n_samples = words.shape[1]
    row = jnp.arange(n_samples, dtype=jnp.int32)
    first, flat, nodes = first_places(forest), words.reshape(-1), forest.node.reshape(-1)

    def read(number: Array) -> Array:
        if len(words) <= CHOSEN_WORDS:
            return choose(number, list(words))
        return take(flat, number * n_samples + row)

    # Of two bytes where they suffice: levels hand it on through memory.
    at = jnp.ones((n_trees, n_samples), jnp.uint16 if n_leaves <= 2**15 else jnp.int32)
    for _ in range(n_leaves.bit_length() - 1):
        test = take(nodes, first + at.astype(jnp.int32))
        at = 2 * at + goes_right(test, read, bin_bits(forest)).astype(at.dtype)
    leaves: Array = fusion_barrier(at).astype(jnp.int32) - n_leaves
    return leaves


def packed_sums(
    forest: GatheredForest,
    words: Array,  # uint32 (n_bin_words, n_samples), see `bin_rows`
) -> Array:  # uint32 (n_samples, n_words)
    """Add up the leaf words of each row over the trees; integers, so exact in any order."""
    place = first_places(forest) + find_leaves(forest, words)
    if forest.leaf_words.ndim == 2:
        place = take(forest.leaf_slot.reshape(-1), place)
    leaves = forest.leaf_words.reshape(-1, forest.leaf_words.shape[-1])
    return take(leaves, fusion_barrier(place)).sum(0, dtype=jnp.uint32)


def unpacked_sums(
    forest: GatheredForest,
    total: Array,  # uint32 (n_samples, n_words)
) -> Array:  # int32 (n_samples, n_outputs)
    """Take the values in the words apart."""
    return unpack(fusion_barrier(total).T, forest.leaf_value.shape[1]).T


# ----------------------------------------------------------------- what both forms of the walk do
def bin_bits(forest: GatheredForest) -> int:
    """Bits of a bin: 0 is NaN's, and there is one more than thresholds for numbers."""
    return _bin_bits(forest.thresholds.shape[1])


def _bin_bits(n_thresholds: int) -> int:
    return 8 if n_thresholds < 2**8 else 16


def bin_rows(
    forest: GatheredForest,
    features: Array,  # float32 (n_samples, n_features)
) -> Array:  # uint32 (n_bin_words, n_samples)
    """Bin of each value, several features a word: 0 for NaN, else 1 and the thresholds up to it."""
    n_features, n_thresholds = forest.thresholds.shape
    bits = bin_bits(forest)
    key = float_key(features[:, :n_features])
    first = jnp.arange(n_features, dtype=jnp.int32) * n_thresholds
    thresholds = forest.thresholds.reshape(-1)
    below = jnp.zeros_like(key)
    step = (n_thresholds + 1) // 2
    while step:  # by halves
        below = below + jnp.where(take(thresholds, first + (below + (step - 1))) <= key, step, 0)
        step //= 2
    bins = jnp.where(key == LOWEST, 0, below + 1).astype(jnp.uint32)
    per_word = 32 // bits
    bins = jnp.pad(bins, ((0, 0), (0, -n_features % per_word)))
    shift = jnp.arange(per_word, dtype=jnp.uint32) * jnp.uint32(bits)
    words = (bins.reshape(len(features), -1, per_word) << shift).sum(-1, dtype=jnp.uint32)
    return fusion_barrier(words.T)


def first_places(forest: GatheredForest) -> Array:  # int32 (n_trees, 1)
    """Place of the first node, and of the first leaf, of each tree."""
    n_trees, n_leaves = forest.node.shape
    first: Array = (jnp.arange(n_trees, dtype=jnp.int32) * n_leaves)[:, None]
    return first


def goes_right(
    test: Array,  # uint32, words of nodes
    read: Callable[[Array], Array],  # number of a word of bins -> that of each row
    bits: int,
) -> Array:  # bool
    """Answer the tests of nodes."""
    feature, per_word = (test >> bits + 1).astype(jnp.int32), 32 // bits
    shift = (feature % per_word * bits).astype(jnp.uint32)
    bin_ = read(feature // per_word) >> shift
    mask = jnp.uint32(2**bits - 1)
    right: Array = (bin_ - (test >> bits & 1) & mask) <= (test & mask)
    return right


def choose(number: Array, words: list[Array]) -> Array:
    """Take the word of this number, of words that broadcast."""
    chosen = jnp.broadcast_to(words[0], number.shape)
    for k, word in enumerate(words[1:], start=1):
        chosen = jnp.where(number == k, word, chosen)
    return chosen
