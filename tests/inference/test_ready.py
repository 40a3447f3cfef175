"""Sums over trees by whichever kernel, against a plain loop."""

import jax
import numpy as np
import pytest

from lrrf_jax.inference import bitsliced
from lrrf_jax.inference.ready import find_leaves, make_ready, rows_at_once, sum_over_trees
from lrrf_jax.learners.forest.predict import forest_sums
from lrrf_jax.trees.forest import invariant_violation
from tests.tree_oracles import plain_sums
from tests.trees.cases import awkward_rows, random_forest


@pytest.mark.parametrize("n_rows", [8, 128, 1024])
@pytest.mark.parametrize(
    ("depth", "n_trees", "n_features", "n_outputs", "lowest", "highest"),
    [
        (1, 1, 1, 2, 1, 2),
        (4, 7, 3, 5, 1, 5),  # padding trees, an odd number of labels in words of two
        (8, 5, 16, 16, 1, 16),
        (9, 6, 4, 3, 1, 3),  # leaf numbers of nine bits
        (6, 5, 4, 6, -4096, 4096),  # signed values, a word each
        (5, 5, 4, 3, 0, 20000),  # sums beyond 16 bits
        (10, 3, 4, 3, 1, 3),  # too deep for slices
        (16, 2, 4, 3, 1, 3),  # the deepest
    ],
)
def test_every_kernel_sums_what_a_plain_loop_sums(
    n_rows, depth, n_trees, n_features, n_outputs, lowest, highest
):
    rng = np.random.default_rng([depth, n_rows])
    forest, grid = random_forest(
        rng, n_trees, depth, n_features, n_outputs, lowest=lowest, highest=highest
    )
    assert invariant_violation(forest, n_features) is None
    ready = make_ready(forest)
    assert (ready.sliced is not None) == (depth <= bitsliced.MAX_DEPTH)
    x = awkward_rows(rng, n_rows, grid)
    found = np.asarray(jax.jit(sum_over_trees)(ready, x))
    checked = rng.permutation(n_rows)[:100]
    np.testing.assert_array_equal(found[checked], plain_sums(x[checked], forest))
    plain = ready._replace(sliced=None)
    np.testing.assert_array_equal(found, np.asarray(jax.jit(sum_over_trees)(plain, x)))


@pytest.mark.parametrize("depth", [4, 11])
def test_many_rows_find_the_leaves_that_few_find_tree_after_tree_or_not(depth):
    rng = np.random.default_rng(depth)
    forest, grid = random_forest(rng, 3, depth, 5, 2)
    ready = make_ready(forest)
    x = awkward_rows(rng, 2048, grid)
    few = [np.asarray(jax.jit(find_leaves)(ready, x[at : at + 512])) for at in range(0, 2048, 512)]
    np.testing.assert_array_equal(jax.jit(find_leaves)(ready, x), np.concatenate(few, axis=1))
    np.testing.assert_array_equal(
        np.asarray(jax.jit(sum_over_trees)(ready, x))[-100:], plain_sums(x[-100:], forest)
    )


def test_rows_in_tiles_are_summed_as_they_are_without():
    rng = np.random.default_rng(1)
    forest, grid = random_forest(rng, 2, 10, 4, 3)
    ready = make_ready(forest)
    tile = rows_at_once(ready)
    assert tile > 2048  # trees that no cache holds are fetched for more rows at a time
    x = np.tile(awkward_rows(rng, 1024, grid), (tile // 1024 + 2, 1))
    sums = np.asarray(forest_sums(ready, x))
    np.testing.assert_array_equal(sums, np.tile(sums[:1024], (len(x) // 1024, 1)))
    np.testing.assert_array_equal(sums[:100], plain_sums(x[:100], forest))
