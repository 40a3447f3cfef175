"""The walk of a few rows in NumPy: every form of its tables, and where it is not exact."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lrrf_jax.inference import few_rows
from lrrf_jax.trees.forest import Forest
from tests.learners import parity
from tests.learners.parity import SHAPES, Shape


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("most_wide_cells", [0, 2**30])
def test_sums_are_those_of_a_plain_walk_whatever_the_tables_are_made_of(
    shape, most_wide_cells, monkeypatch
):
    monkeypatch.setattr(few_rows, "_MOST_WIDE_CELLS", most_wide_cells)
    forest, x = parity.random_model(shape, 1)
    assert np.isnan(x).any()
    assert np.isinf(x).any()
    expected, _ = parity.sums_of_walks(forest, x)
    ready = few_rows.block_forest(forest)
    assert (ready.leaf_slot.dtype == np.intp) == (most_wide_cells > 0)
    assert len(ready.rounds) == (shape.depth - 1) // 4
    first = 0
    for size in (*range(1, 33), 1000):
        rows = slice(first, first + size)
        found = few_rows.sum_over_trees(ready, x[rows]).reshape(size, -1)
        np.testing.assert_array_equal(found, expected[rows])
        first += size


@pytest.mark.parametrize("depth", range(1, 17))
def test_leaves_are_those_of_a_plain_walk_at_every_depth(depth):
    forest, x = parity.random_model(Shape(depth, 2, 3, 2, "two-step"), 5)
    number = np.arange(2 << depth, dtype=np.int32)
    found = few_rows.find_leaves(few_rows.block_forest(forest), x[:40]).reshape(40, 2)
    for tree in range(2):  # whose leaves hold their own numbers
        own = number.reshape(2, -1)[tree : tree + 1]
        alone = Forest(*(field[tree : tree + 1] for field in forest[:3]), own, number[:, None])
        sums, _ = parity.sums_of_walks(alone, x[:40])
        np.testing.assert_array_equal(found[:, tree], sums[:, 0])
    assert len(np.unique(found)) > 2


def test_columns_that_no_test_asks_for_are_passed_over():
    shape = Shape(5, 10, 6, 7, "two-step")
    models = (parity.random_model(shape, seed) for seed in range(20))
    forest, x = next(model for model in models if model[0].missing_left.any())
    wide = np.concatenate([x, np.full((len(x), 3), np.nan, np.float32)], axis=1)
    ready = few_rows.block_forest(forest)
    assert ready.either_way
    for size in (1, 7):
        np.testing.assert_array_equal(
            few_rows.sum_over_trees(ready, wide[:size]), few_rows.sum_over_trees(ready, x[:size])
        )


def test_tables_of_deep_forests_take_no_more_memory_than_the_forest():
    forest, _ = parity.random_model(Shape(16, 20, 4, 3, "two-step"), 0)
    ready = few_rows.block_forest(forest)
    arrays = [array for array in jax.tree.leaves(ready) if isinstance(array, np.ndarray)]
    of_forest = sum(array.nbytes for array in forest)
    new = sum(array.nbytes for array in arrays if not np.shares_memory(array, forest.leaf_value))
    assert forest.feature.size > few_rows._MOST_WIDE_CELLS
    assert new < of_forest


def test_threads_that_take_subnormals_for_zeros_are_known():
    # XLA's do, while they run a callback; NumPy then finds -1e-40 >= 0.
    told = []

    def look(x):
        told.append((few_rows.is_exact_here(), bool((np.float32([-1e-40]) >= 0)[0])))
        return np.asarray(x)

    apply = jax.jit(lambda x: jax.pure_callback(look, jax.ShapeDtypeStruct((3,), x.dtype), x))
    jax.block_until_ready(apply(jnp.ones(3)))
    assert all(exact != flushed for exact, flushed in told)
    assert told
    assert few_rows.is_exact_here()
    assert not (np.float32([-1e-40]) >= 0)[0]
