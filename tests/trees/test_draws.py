"""What chance decides in a tree."""

import dataclasses

import jax
import numpy as np

from lrrf_jax.trees import draws
from lrrf_jax.trees.class_criterion import ClassEntropy
from lrrf_jax.trees.growth import GrowthConfig
from tests.trees.cases import sums_themselves
from tests.trees.growing import KEY

CONFIG = GrowthConfig(
    ClassEntropy(3), sums_themselves, max_depth=4, n_candidates=3, n_features=7, n_bins=32
)


def _keys(n_trees, first=0):
    return draws.keys_of_trees(KEY, np.arange(first, first + n_trees, dtype=np.int32))


def all_candidates(n_trees, config, first=0):
    """Candidates of every node; fields (n_trees, n_nodes, n_candidates)."""
    drawn = draws.draw_for_all_nodes(_keys(n_trees, first), config)
    shape = n_trees, 2**config.max_depth - 1, config.n_candidates
    return jax.tree.map(lambda field: np.asarray(field).reshape(shape), drawn)


def test_bootstrap_draws_each_row_equally_often():
    counts = np.asarray(draws.row_counts(_keys(400).rows, np.int32(50), 64, True))
    assert (counts.sum(1) == 50).all()
    assert (counts[:, 50:] == 0).all()
    mean = counts[:, :50].mean(0)
    assert np.abs(mean - 1).max() < 5 / np.sqrt(400)
    assert abs((counts[:, :50] == 0).mean() - (1 - 1 / 50) ** 50) < 0.01


def test_without_bootstrap_each_row_counts_once():
    counts = np.asarray(draws.row_counts(_keys(3).rows, np.int32(5), 8, False))
    np.testing.assert_array_equal(counts, np.tile([1, 1, 1, 1, 1, 0, 0, 0], (3, 1)))


def test_high_word_is_the_upper_half_of_the_product():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2**32, (2, 1000), np.uint64)
    a[:3], b[:3] = [0, 2**32 - 1, 2**32 - 1], [7, 2**32 - 1, 1]
    found = draws._high_word(a.astype(np.uint32), b.astype(np.uint32))
    np.testing.assert_array_equal(np.asarray(found), (a * b >> np.uint64(32)).astype(np.uint32))


def test_candidates_are_distinct_and_each_feature_is_as_likely():
    candidates = all_candidates(400, CONFIG).feature
    assert candidates.shape == (400, 15, 3)
    assert all(len(set(node)) == 3 for node in candidates.reshape(-1, 3))
    share = np.bincount(candidates.ravel(), minlength=7) / candidates[..., 0].size
    # Standard deviation of a share of 3/7 over 6,000 nodes: .0064.
    assert np.abs(share - 3 / 7).max() < 0.03


def test_all_features_are_candidates_in_order_where_none_is_left_out():
    config = dataclasses.replace(CONFIG, n_candidates=7)
    candidates = all_candidates(2, config).feature
    np.testing.assert_array_equal(candidates, np.broadcast_to(np.arange(7), (2, 15, 7)))


def test_thresholds_are_uniform_and_drawn_only_where_they_are_random():
    assert all_candidates(2, CONFIG).uniform is None
    config = dataclasses.replace(CONFIG, splitter="random")
    uniform = all_candidates(400, config).uniform
    assert uniform.shape == (400, 15, 3)
    assert uniform.min() >= 0
    assert uniform.max() < 1
    assert np.abs(np.histogram(uniform, 10, (0, 1))[0] / uniform.size - 0.1).max() < 0.01


def test_draws_of_a_tree_depend_on_its_number_alone():
    config = dataclasses.replace(CONFIG, splitter="random")
    for first in (0, 3):
        keys = _keys(2, first)
        own = draws.keys_of_trees(KEY, np.int32([first + 1]))
        together, alone = all_candidates(2, config, first), all_candidates(1, config, first + 1)
        for field, own_field in zip(together, alone, strict=True):
            np.testing.assert_array_equal(field[1], own_field[0])
        np.testing.assert_array_equal(
            draws.row_counts(keys.rows, np.int32(50), 64, True)[1],
            draws.row_counts(own.rows, np.int32(50), 64, True)[0],
        )


def test_a_node_draws_the_same_alone_and_among_all_of_its_tree():
    config = dataclasses.replace(CONFIG, splitter="random")
    every = all_candidates(3, config)
    tree, node = np.int32([2, 0, 1, 2]), np.int32([0, 14, 7, 3])
    keys = jax.tree.map(lambda field: field[tree], _keys(3))
    for field, own in zip(every, draws.draw_candidates(keys, node, config), strict=True):
        np.testing.assert_array_equal(field[tree, node], own)
