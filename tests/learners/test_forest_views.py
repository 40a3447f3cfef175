"""What a forest tells besides rankings: neighbours, leaves, out-of-bag rankings, importances."""

import jax
import numpy as np
import pytest

from lrrf_jax import RandomForestLabelRanker
from lrrf_jax.learners.forest.bootstraps import bootstrap_table
from tests import oracles
from tests.learners.small_forests import SMALL, X, Y, leaves_of, quiet_fit


def test_neighbors_weigh_rows_as_the_bootstrap_drew_them(fitted):
    counts = bootstrap_table(jax.random.key(0), 150, 6, True).T
    forest = fitted.forest_
    slots = np.array([[leaves_of(forest, x, t) for t in range(6)] for x in X])
    rows, weights = fitted.neighbors(X[::29], k=9)
    for query, found, weight in zip(range(0, 150, 29), rows, weights, strict=True):
        expected = np.zeros(150)
        for t in range(6):
            inside = (slots[:, t] == slots[query, t]) * counts[t]
            expected += inside / inside.sum() / 6
        order = sorted(range(150), key=lambda i: (-np.float32(expected[i]), i))
        np.testing.assert_allclose(weight, np.sort(expected)[::-1][:9], atol=1e-6)
        np.testing.assert_allclose(expected[found[found >= 0]], weight[found >= 0], atol=1e-6)
        assert found[0] == order[0] or np.isclose(expected[found[0]], expected[order[0]])
    every, total = fitted.neighbors(X[:3], k=200)
    np.testing.assert_allclose(total.sum(1), 1, atol=1e-5)
    assert (every[:, -1] == -1).all()
    assert (total[every == -1] == 0).all()


def test_neighbors_vote_for_the_one_step_prediction():
    ranker = quiet_fit(Y, aggregation="one-step")
    rows, weights = ranker.neighbors(X, k=150)
    votes = np.zeros((150, 3))
    for i in range(150):
        real = rows[i] >= 0
        votes[i] = (weights[i, real, None] * (4 - Y[rows[i, real]])).sum(0)
    np.testing.assert_allclose(ranker.predict_scores(X), votes, atol=2e-3)


def test_apply_gives_leaves_of_the_complete_tree(fitted):
    leaves = fitted.apply(X)
    assert leaves.shape == (150, 6)
    assert leaves.dtype == np.int32
    assert 0 <= leaves.min() <= leaves.max() < 16


def test_leaf_numbers_do_not_change_with_the_depth_that_trees_reach():
    # No tree of a few rows splits twice, so of 16 leaves there are two, each the last of its half.
    x, y = np.array([[0.0], [1], [2], [np.nan]]), np.array([[1, 2], [1, 2], [2, 1], [2, 1]])
    ranker = RandomForestLabelRanker(**(SMALL | {"bootstrap": False})).fit(x, y)
    forest = ranker.forest_
    assert forest.depth == 1
    assert forest.leaf_slot.shape == (6, 2)
    leaves = ranker.apply(x)
    # Of 2 x 8 leaves, numbered as in trees of depth 4.
    assert set(leaves.ravel()) == {7, 15}
    columns = leaves >> (ranker.max_depth - forest.depth)
    slots = forest.leaf_slot[np.arange(6), columns]
    np.testing.assert_array_equal(forest.leaf_value[slots[:, 0]], ranker.predict(x))


def test_out_of_bag_rankings_use_the_trees_that_did_not_draw_the_row():
    ranker = RandomForestLabelRanker(n_estimators=3, max_depth=4, random_state=0, oob_score=True)
    with pytest.warns(UserWarning, match="drawn by every tree"):
        ranker.fit(X, Y)
    counts = bootstrap_table(jax.random.key(0), 150, 3, True)
    never = (counts > 0).all(1)
    assert never.any()
    assert np.isnan(ranker.oob_ranking_[never]).all()
    forest = ranker.forest_
    for i in np.flatnonzero(~never)[:40]:
        total = sum(
            forest.leaf_value[leaves_of(forest, X[i], t)] for t in range(3) if not counts[i, t]
        )
        assert ranker.oob_ranking_[i].tolist() == oracles.ranks_of_scores(list(-total))
    assert 0.7 < ranker.oob_score_ < 1


def test_constant_features_give_the_consensus_and_no_importance():
    x = np.ones((150, 2))
    ranker = RandomForestLabelRanker(**SMALL, bootstrap=False).fit(x, Y)
    consensus = oracles.ranks_of_scores(list(-Y.sum(0)))
    assert ranker.predict(x[:1])[0].tolist() == consensus
    assert ranker.feature_importances_.tolist() == [0, 0]


def test_importances_name_the_feature_that_tells(fitted):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((150, 4))
    y = np.where(x[:, [2]] > 0, [[1, 2, 3]], [[3, 2, 1]])
    importances = RandomForestLabelRanker(**SMALL).fit(x, y).feature_importances_
    assert importances.argmax() == 2
    assert importances.sum() == pytest.approx(1)
