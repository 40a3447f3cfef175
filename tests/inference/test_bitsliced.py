"""Bit-sliced traversal: what it packs into words."""

import jax
import numpy as np
import pytest

from lrrf_jax._numerics import float_key_on_host
from lrrf_jax.inference import bitsliced
from lrrf_jax.inference.packing import packed_words
from lrrf_jax.inference.ready import make_ready, sum_over_trees
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
    sliced = bitsliced.slice_forest(forest)
    of_node = sliced.question_of_node.reshape(-1, 2**depth - 1)
    questions = list(zip(*sliced[2:5], strict=True))
    thresholds = sliced.tables[0]
    asked = set()

    def preorder(node):
        if node >= 2**depth - 1:
            return []
        return [node, *preorder(2 * node + 1), *preorder(2 * node + 2)]

    for tree in range(7):
        for place, node in enumerate(preorder(0)):
            feature, last, missing = questions[of_node[tree, place]]
            asked.add(of_node[tree, place])
            if forest.threshold[tree, node] == np.inf:
                assert (last, missing) == (255, 0)
                continue
            assert sliced.feature[feature] == forest.feature[tree, node]
            assert thresholds[feature, last] == float_key_on_host(forest.threshold[tree, node])
            assert missing == 255 * forest.missing_left[tree, node]
    used = {questions[question] for question in asked}
    assert len(used) == len(asked)  # each once
    assert not sliced.leaf_words[7:].any()  # trees that fill the last step


@pytest.mark.parametrize("n_grid", [1, 2, 31, 200, 255])
def test_bins_of_every_width_answer_as_comparisons_do(n_grid):
    rng = np.random.default_rng(n_grid)
    forest, grid = random_forest(rng, 15, 6, 3, 2, n_grid=n_grid)
    for feature in range(3):  # each threshold in use
        nodes = (forest.threshold < np.inf) & (forest.feature == feature)
        forest.threshold[nodes] = np.resize(grid[feature], nodes.sum())
    x = awkward_rows(rng, 96, grid)
    ready = make_ready(forest)
    assert ready.sliced.tables[0].shape[1] == max(31, 2 ** n_grid.bit_length() - 1)
    found = jax.jit(sum_over_trees)(ready, x)
    np.testing.assert_array_equal(np.asarray(found), plain_sums(x, forest))


def test_a_forest_of_more_thresholds_than_a_byte_counts_is_walked():
    rng = np.random.default_rng(0)
    forest, grid = random_forest(rng, 6, 8, 1, 2, n_grid=1000)
    ready = make_ready(forest)
    assert ready.sliced is None
    x = awkward_rows(rng, 96, grid)
    found = jax.jit(sum_over_trees)(ready, x)
    np.testing.assert_array_equal(np.asarray(found), plain_sums(x, forest))


def test_features_of_few_thresholds_have_narrow_tables():
    rng = np.random.default_rng(1)
    forest, grid = random_forest(rng, 12, 6, 40, 3, n_grid=31)
    kind = forest.feature % 3  # one threshold, five, or any
    split = forest.threshold < np.inf
    for feature in range(40):
        few = grid[feature, : (1, 5, 31)[feature % 3]]
        nodes = split & (forest.feature == feature)
        forest.threshold[nodes] = np.resize(few, nodes.sum())
    ready = make_ready(forest)
    assert [table.shape[1] for table in ready.sliced.tables] == [1, 7, 31]
    assert len(ready.sliced.feature) == sum(map(len, ready.sliced.tables))
    assert kind.max() == 2
    x = awkward_rows(rng, 96, grid)
    found = jax.jit(sum_over_trees)(ready, x)
    np.testing.assert_array_equal(np.asarray(found), plain_sums(x, forest))
