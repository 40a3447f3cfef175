"""A forest made ready for the devices that apply it, and the kernel that goes with its form."""

import functools
from typing import NamedTuple

import jax
import numpy as np

from lrrf_jax._backend import ACCELERATOR, CPU, Backend, by_platform
from lrrf_jax._typing import AnyArray, Array
from lrrf_jax._xla import bucket_size
from lrrf_jax.inference import bitsliced, gathered, traversal
from lrrf_jax.inference.gathered import GatheredForest
from lrrf_jax.trees.forest import Forest

SMALL_BATCH = 32  # rows up to which walking the trees costs less than asking every question
_MAX_SLICED_BYTES = 2**28  # forests with more bytes of dense leaves are walked
_WALKED_TILE = 2**15  # rows for which each tree of a walked forest is fetched from memory anew


class WalkedForest(NamedTuple):
    """Arrays that the kernels of CPUs read; arguments of a program, never constants in it."""

    tests: traversal.Tests
    leaf_slot: AnyArray  # int32 (n_trees, 2**depth)
    leaf_value: AnyArray  # int32 (n_slots, n_outputs)
    sliced: bitsliced.SlicedForest | None


ReadyForest = WalkedForest | GatheredForest


def make_ready(forest: Forest, backend: Backend = CPU) -> ReadyForest:
    """Rearrange a forest and put it on the default device."""
    ready: ReadyForest
    if backend.slices_bits or not gathered.fits(forest):
        ready = _walked(forest)
    else:
        ready = gathered.gather_forest(forest)
    ready = jax.device_put(ready)
    return ready


def _walked(forest: Forest) -> WalkedForest:
    dense_bytes = 4 * forest.leaf_slot.size * forest.n_outputs
    worth_it = forest.depth <= bitsliced.MAX_DEPTH and dense_bytes <= _MAX_SLICED_BYTES
    value = np.asarray(forest.leaf_value)
    # Padded: forests that differ in their number of leaves share a program.
    n_slots = bucket_size(len(value), per_octave=1, least=1024)
    return WalkedForest(
        tests=traversal.forest_tests(forest),
        leaf_slot=np.asarray(forest.leaf_slot),
        leaf_value=np.pad(value, ((0, n_slots - len(value)), (0, 0))),
        sliced=bitsliced.slice_forest(forest) if worth_it else None,
    )


def forest_depth(forest: Forest | ReadyForest) -> int:
    """Return the number of tests on the longest path."""
    return int(forest.leaf_slot.shape[1]).bit_length() - 1


def rows_at_once(forest: ReadyForest) -> int:
    """Rows that the kernels are applied to at a time: a cache holds so many, or a device."""
    if isinstance(forest, GatheredForest):
        return ACCELERATOR.tile
    return _WALKED_TILE if forest.sliced is None else CPU.tile


def find_leaves(
    forest: ReadyForest,
    features: Array,  # float32 (n_samples, n_features)
) -> Array:  # int32 (n_trees, n_samples), leaf 0 .. 2**depth - 1
    """Walk every row down every tree."""
    if isinstance(forest, GatheredForest):
        return gathered.find_leaves(forest, gathered.bin_rows(forest, features))
    by_level, by_tree = (
        functools.partial(find, depth=forest_depth(forest))
        for find in (traversal.find_leaves, traversal.find_leaves_by_tree)
    )
    if len(features) < CPU.tile:  # for a few rows each step of a loop costs more than it does
        return by_level(forest.tests, features)
    return by_platform(forest.tests, features, cpu=by_tree, accelerator=by_level)


def sum_over_trees(
    forest: ReadyForest,
    features: Array,  # float32 (n_samples, n_features)
    *,
    pallas: bool = False,
) -> Array:  # int32 (n_samples, n_outputs)
    """Sum the leaf values of each row over all trees; the kernel cannot change the result.

    ``pallas`` asks for one kernel instead of one per level, of a forest that is gathered.
    """
    if isinstance(forest, GatheredForest):
        packed_sums = gathered.packed_sums
        if pallas:
            from lrrf_jax.inference import fused  # here: Pallas takes a while to import

            packed_sums = fused.packed_sums
        total = packed_sums(forest, gathered.bin_rows(forest, features))
        return gathered.unpacked_sums(forest, total)
    n_samples = len(features)
    if forest.sliced is None or n_samples <= SMALL_BATCH or n_samples % bitsliced.ROWS_PER_WORD:
        leaves = find_leaves(forest, features)
        return traversal.sum_leaves(forest.leaf_slot, forest.leaf_value, leaves)
    return bitsliced.sum_leaves_sliced(forest.sliced, features, forest.leaf_value.shape[1])
