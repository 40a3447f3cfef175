"""Sums over trees by whichever kernel, against a plain loop."""

import jax
import numpy as np
import pytest

from lrrf_jax.inference import bitsliced
from lrrf_jax.inference.ready import make_ready, sum_over_trees
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
