"""The plain way from rows to leaves, against a walk of every row."""

import jax
import numpy as np
import pytest

from lrrf_jax.inference.traversal import find_leaves, forest_tests
from tests.tree_oracles import walk
from tests.trees.cases import awkward_rows, random_forest

leaves_of = jax.jit(find_leaves, static_argnames="depth")


@pytest.mark.parametrize("depth", [1, 3, 8, 11])
def test_plain_traversal_finds_the_leaf_of_a_walk(depth):
    rng = np.random.default_rng(depth)
    forest, grid = random_forest(rng, 3, depth, 5, 2)
    x = awkward_rows(rng, 64, grid)
    leaves = np.asarray(leaves_of(forest_tests(forest), x, depth))
    for t in range(3):
        for i in range(64):
            expected = walk(
                x[i], forest.feature[t], forest.threshold[t], forest.missing_left[t], depth
            )
            assert leaves[t, i] == expected
    assert np.isnan(x[0]).all()


def test_one_row_walks_the_deepest_trees_in_a_program_no_larger_than_that_of_stumps():
    # XLA:CPU fuses levels that are written out for one row: at depth 16 it never ended.
    rng = np.random.default_rng(16)
    operations = {}
    for depth in (2, 16):
        forest, grid = random_forest(rng, 2, depth, 5, 2)
        tests = forest_tests(forest)
        x = awkward_rows(rng, 64, grid)
        lowered = leaves_of.lower(tests, x[:1], depth)
        operations[depth] = lowered.as_text().count(" = ")
    assert operations[2] == operations[16] > 10  # first: what is larger would not compile
    program = lowered.compile()
    for row in x:
        found = np.asarray(program(tests, row[None]))[:, 0]
        for t in range(2):
            tree = forest.feature[t], forest.threshold[t], forest.missing_left[t]
            assert found[t] == walk(row, *tree, 16)
