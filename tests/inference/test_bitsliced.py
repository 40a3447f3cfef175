"""Bit-sliced traversal: what it packs into words."""

import jax
import numpy as np
import pytest

from lrrf_jax.inference import bitsliced
from lrrf_jax.inference.packing import packed_words
from lrrf_jax.inference.ready import make_ready, sum_over_trees
from lrrf_jax.inference.traversal import forest_tests
from tests.tree_oracles import plain_sums
from tests.trees.cases import awkward_rows, random_forest


@pytest.mark.parametrize(("n_outputs", "n_words"), [(2, 1), (3, 1), (5, 2), (9, 2)])
def test_packed_leaf_sums_do_not_overflow_by_a_hair(n_outputs, n_words):
    forest, grid = random_forest(np.random.default_rng(0), 5, 2, 2, n_outputs, highest=1)
    per_word = -(-n_outputs // n_words)
    fits = np.full_like(forest.leaf_value, (2 ** (32 // per_word) - 1) // 5)
    assert packed_words(5, fits) == n_words
    assert packed_words(5, fits + 1) > n_words
    for value in (fits, fits + 1):
        this = forest._replace(leaf_value=value)
        x = awkward_rows(np.random.default_rng(1), 96, grid)
        found = jax.jit(sum_over_trees)(make_ready(this), x)
        np.testing.assert_array_equal(np.asarray(found), plain_sums(x, this))


@pytest.mark.parametrize("depth", [1, 4])
def test_questions_are_the_tests_of_each_node_root_then_left_then_right(depth):
    forest, _ = random_forest(np.random.default_rng(depth), 7, depth, 4, 3)
    sliced, tests = bitsliced.slice_forest(forest), forest_tests(forest)
    of_node = sliced.question_of_node.reshape(-1, 2**depth - 1)

    def preorder(node):
        if node >= 2**depth - 1:
            return []
        return [node, *preorder(2 * node + 1), *preorder(2 * node + 2)]

    for tree in range(7):
        for asked, wanted in zip(sliced[:3], tests, strict=True):
            np.testing.assert_array_equal(asked[of_node[tree]], wanted[tree, preorder(0)])
    asked = list(zip(*sliced[:3], strict=True))
    distinct = set(zip(*(field.ravel() for field in tests), strict=True))
    assert distinct <= set(asked)
    assert len(set(asked)) == len(distinct | {asked[-1]})  # each once, and padding
    assert not sliced.leaf_words[7:].any()  # trees that fill the last step
