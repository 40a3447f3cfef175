"""What chance decides in a tree."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lrrf_jax.trees import draws
from lrrf_jax.trees.class_criterion import ClassEntropy
from lrrf_jax.trees.growth import GrowthConfig, Sizes
from tests.trees.growing import KEY, rows_drawn

CONFIG = GrowthConfig(ClassEntropy(3), max_depth=4, n_candidates=3, n_features=7, n_bins=32)
SIZES = Sizes(*map(np.int32, (50, 7, 3, 31, 1)))


def _keys(n_trees, first=0):
    return draws.keys_of_trees(KEY, np.arange(first, first + n_trees, dtype=np.int32))


def all_candidates(n_trees, config, first=0, sizes=SIZES):
    """Candidates of every node; fields (n_trees, n_nodes, n_candidates)."""
    drawn = draws.draw_for_all_nodes(_keys(n_trees, first), sizes, config)
    shape = n_trees, 2**config.max_depth - 1, config.n_candidates
    return jax.tree.map(lambda field: np.asarray(field).reshape(shape), drawn)


def test_bootstrap_draws_each_row_equally_often():
    counts = rows_drawn(_keys(400), 50)
    assert (counts.sum(1) == 50).all()
    assert np.abs(counts.mean(0) - 1).max() < 5 / np.sqrt(400)
    assert abs((counts == 0).mean() - (1 - 1 / 50) ** 50) < 0.01


def test_without_bootstrap_each_row_counts_once():
    assert (rows_drawn(_keys(3), 5, bootstrap=False) == 1).all()


@pytest.mark.parametrize("bootstrap", [False, True])
def test_room_for_more_draws_changes_none(bootstrap):
    rows = jnp.asarray(_keys(3).rows)
    tight = draws.count_rows(rows, jnp.int32(50), 150, bootstrap)
    wide = draws.count_rows(rows, jnp.int32(50), 201, bootstrap)
    for few, more in zip(tight, wide, strict=True):
        np.testing.assert_array_equal(few, more[:150])
    assert not wide.copies[150:].any()
    np.testing.assert_array_equal(tight.row, np.tile(np.arange(50), 3))
    np.testing.assert_array_equal(tight.tree, np.repeat(np.arange(3), 50))


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
    sizes = SIZES._replace(n_candidates=np.int32(7))
    candidates = all_candidates(2, config, sizes=sizes).feature
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
        np.testing.assert_array_equal(rows_drawn(keys, 50)[1], rows_drawn(own, 50)[0])


def test_a_node_draws_the_same_alone_and_among_all_of_its_tree():
    config = dataclasses.replace(CONFIG, splitter="random")
    every = all_candidates(3, config)
    tree, node = np.int32([2, 0, 1, 2]), np.int32([0, 14, 7, 3])
    keys = jax.tree.map(lambda field: field[tree], _keys(3))
    for field, own in zip(every, draws.draw_candidates(keys, node, SIZES, config), strict=True):
        np.testing.assert_array_equal(field[tree, node], own)


def test_room_for_more_features_and_candidates_changes_no_candidate():
    config = dataclasses.replace(CONFIG, splitter="random")
    wide = dataclasses.replace(config, n_candidates=5, n_features=16)
    for n_candidates in (3, 7):  # some, all
        sizes = SIZES._replace(n_candidates=np.int32(n_candidates))
        own = dataclasses.replace(config, n_candidates=n_candidates)
        room = dataclasses.replace(wide, n_candidates=n_candidates + 2)
        for few, more in zip(
            all_candidates(2, own, sizes=sizes), all_candidates(2, room, sizes=sizes), strict=True
        ):
            np.testing.assert_array_equal(few, more[..., :n_candidates])
