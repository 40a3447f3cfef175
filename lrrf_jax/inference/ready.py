"""A forest made ready for rows: which kernel sums its leaves, chosen by depth and batch size."""

from typing import NamedTuple

import jax
import numpy as np

from lrrf_jax._typing import AnyArray, Array
from lrrf_jax._xla import bucket_size
from lrrf_jax.inference import bitsliced
from lrrf_jax.inference.traversal import Tests, find_leaves, forest_tests, sum_leaves
from lrrf_jax.trees.forest import Forest

SMALL_BATCH = 32  # rows up to which walking the trees costs less than asking every question
_MAX_SLICED_BYTES = 2**28  # forests with more bytes of dense leaves are walked


class ReadyForest(NamedTuple):
    """Arrays that the kernels read; arguments of a program, never constants in it."""

    tests: Tests
    leaf_slot: AnyArray  # int32 (n_trees, 2**depth)
    leaf_value: AnyArray  # int32 (n_slots, n_outputs)
    sliced: bitsliced.SlicedForest | None


def make_ready(forest: Forest) -> ReadyForest:
    """Rearrange a forest and put it on the default device."""
    dense_bytes = 4 * forest.leaf_slot.size * forest.n_outputs
    worth_it = forest.depth <= bitsliced.MAX_DEPTH and dense_bytes <= _MAX_SLICED_BYTES
    value = np.asarray(forest.leaf_value)
    # Padded: forests that differ in their number of leaves share a program.
    n_slots = bucket_size(len(value), per_octave=2)
    ready = ReadyForest(
        tests=forest_tests(forest),
        leaf_slot=np.asarray(forest.leaf_slot),
        leaf_value=np.pad(value, ((0, n_slots - len(value)), (0, 0))),
        sliced=bitsliced.slice_forest(forest) if worth_it else None,
    )
    on_device: ReadyForest = jax.device_put(ready)
    return on_device


def forest_depth(forest: Forest | ReadyForest) -> int:
    """Return the number of tests on the longest path."""
    return int(forest.leaf_slot.shape[1]).bit_length() - 1


def sum_over_trees(
    forest: ReadyForest,
    features: Array,  # float32 (n_samples, n_features)
) -> Array:  # int32 (n_samples, n_outputs)
    """Sum the leaf values of each row over all trees; the kernel cannot change the result."""
    n_samples = len(features)
    if forest.sliced is None or n_samples <= SMALL_BATCH or n_samples % bitsliced.ROWS_PER_WORD:
        leaves = find_leaves(forest.tests, features, forest_depth(forest))
        return sum_leaves(forest.leaf_slot, forest.leaf_value, leaves)
    return bitsliced.sum_leaves_sliced(forest.sliced, features, forest.leaf_value.shape[1])
