import math

import numpy as np
import pytest
from sklearn.base import clone

from lrrf_jax import InputError, RandomForestLabelRanker
from lrrf_jax.datasets import load
from lrrf_jax.evaluation import cross_validate, leaf_time_deletion
from lrrf_jax.evaluation.leaf_time_deletion import (
    leaf_members,
    leaf_votes,
    predict_with_deletion_in_leaves,
)
from tests import oracles

IRIS = load("iris")
N_LABELS = 4
LEAF = np.array([2, 0, 2, 2, 0, 5, 2, 5])  # of each training row; leaves 1, 3 and 4 are empty
DRAWN = np.array([1, 2, 0, 3, 1, 1, 0, 2])
RANKINGS = np.argsort(np.argsort(np.random.default_rng(0).random((8, N_LABELS)), 1), 1) + 1.0
ORDER = np.argsort(RANKINGS, 1)


class Recorded:
    """A generator that remembers what it drew."""

    def __init__(self):
        self.generator, self.drawn = np.random.default_rng(3), []

    def random(self, shape, dtype):
        self.drawn.append(self.generator.random(shape, dtype))
        return self.drawn[-1]


def members_of(leaf):
    return [row for row in range(8) for _ in range(DRAWN[row]) if LEAF[row] == leaf]


def test_members_of_a_leaf_count_as_often_as_they_were_drawn():
    members = leaf_members(LEAF, DRAWN, 6)
    for leaf in range(6):
        first, count = members.first[leaf], members.size[leaf]
        assert members.row[first : first + count].tolist() == members_of(leaf)


@pytest.mark.parametrize("pairs_per_block", [1, 7, 1 << 18])
def test_votes_are_generalised_borda_of_rankings_with_labels_deleted_afresh(
    pairs_per_block, monkeypatch
):
    monkeypatch.setattr(leaf_time_deletion, "_PAIRS_PER_BLOCK", pairs_per_block)
    queries, generator = np.array([0, 2, 2, 4, 5, 0]), Recorded()
    members = leaf_members(LEAF, DRAWN, 6)
    votes = leaf_votes(members, queries, ORDER, 0.5, generator)
    draws = iter(np.concatenate(generator.drawn))
    survivors = []
    for found, leaf in zip(votes, queries, strict=True):
        total = np.zeros(N_LABELS)
        for row in members_of(leaf):
            left = RANKINGS[row].copy()
            left[ORDER[row][next(draws) < 0.5]] = np.nan
            survivors.append(int((~np.isnan(left)).sum()))
            for place, label in enumerate(np.argsort(left)[: survivors[-1]], start=1):
                left[label] = place
            total += oracles.expected_votes(left.tolist())
        np.testing.assert_allclose(found / math.lcm(2, 3, 4, 5), total, rtol=1e-12)
    assert next(draws, None) is None
    assert {0, 1, N_LABELS} <= set(survivors)
    assert (votes[3] == 0).all()  # nobody is in leaf 4
    assert (votes[1] != votes[2]).any()  # the same leaf, other deletions
    assert len(generator.drawn) == {1: 6, 7: 3}.get(pairs_per_block, 1)


TRAIN, TEST = np.flatnonzero(np.arange(150) % 3), np.arange(0, 150, 3)
FOREST = RandomForestLabelRanker(6, criterion="rac", max_depth=4, max_bins=16, random_state=0)


@pytest.fixture(scope="module")
def forest():
    return clone(FOREST).fit(IRIS.X[TRAIN], IRIS.y[TRAIN])


def predict(forest, missing, seed):
    known = IRIS.X[TRAIN], IRIS.y[TRAIN]
    seed = np.random.SeedSequence(seed)
    return predict_with_deletion_in_leaves(forest, *known, IRIS.X[TEST], missing, seed)


def test_without_deletion_it_is_the_two_step_forest(forest):
    ranks = predict(forest, 0.0, 0)
    assert ranks.dtype == np.int32
    np.testing.assert_array_equal(ranks, forest.predict(IRIS.X[TEST]))


def test_deletion_is_fixed_by_the_seed(forest):
    ranks = predict(forest, 0.7, 1)
    np.testing.assert_array_equal(ranks, predict(forest, 0.7, 1))
    assert (ranks != predict(forest, 0.7, 2)).any()
    assert (np.sort(ranks, 1) == [1, 2, 3]).all()


def test_a_forest_that_saw_every_label_hardly_falls():
    def mean(**protocol):
        return cross_validate(FOREST, IRIS.X, IRIS.y, 3, 1, **protocol).mean

    complete = mean()
    assert mean(protocol="as-run-by-authors") == complete
    as_run = mean(protocol="as-run-by-authors", missing=0.6)
    assert complete - 0.05 < as_run != complete


@pytest.mark.slow
def test_the_printed_figures_come_from_deletion_in_leaves_not_from_deletion_once():
    # Tables 3 and 5 of Zhou and Qiu 2018: .966 and .959 on iris.
    as_run = cross_validate(
        "lr-rf", IRIS.X, IRIS.y, repeats=1, missing=0.6, protocol="as-run-by-authors"
    )
    assert as_run.settings["params"]["criterion"] == "rac"
    assert abs(as_run.mean - 0.959) < 0.03
    rac = RandomForestLabelRanker(criterion="rac", aggregation="two-step")
    assert cross_validate(rac, IRIS.X, IRIS.y, repeats=1, missing=0.6).mean < 0.85


def test_partial_rankings_and_other_learners_are_refused():
    partial = np.where(np.arange(3) == 2, np.nan, [[1.0, 2, 3]])
    partial = np.vstack([IRIS.y[:-1], partial])
    with pytest.raises(InputError, match="y has missing labels"):
        cross_validate("lr-rf", IRIS.X, partial, 3, 1, protocol="as-run-by-authors")
    tied = np.vstack([IRIS.y[:-1], [[1.5, 1.5, 3]]])
    with pytest.raises(InputError, match="y has labels that tie"):
        cross_validate("lr-rf", IRIS.X, tied, 3, 1, protocol="as-run-by-authors")
    for learner in ("default", RandomForestLabelRanker()):
        with pytest.raises(InputError, match="reproduces one forest only"):
            cross_validate(learner, IRIS.X, IRIS.y, protocol="as-run-by-authors")
