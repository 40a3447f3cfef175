"""The made-up tables: what is promised of them, and that there is something to learn."""

import hashlib

import numpy as np
import pytest
from scipy.stats import rankdata

from lrrf_jax import LEARNERS
from lrrf_jax.datasets import load


def digest(data):
    arrays = (data.X, data.scores, data.folds, data.groups)
    return hashlib.sha256(b"".join(a.tobytes() for a in arrays if a is not None)).hexdigest()[:16]


@pytest.mark.parametrize("name", ["algorithms", "reactions"])
def test_the_tables_are_the_same_each_time(name):
    known = {"algorithms": "164edf2173efc232", "reactions": "1f2bf9c3d2b1662d"}
    assert digest(load(name)) == digest(load(name)) == known[name]


@pytest.mark.parametrize("name", ["algorithms", "reactions"])
def test_rankings_are_the_order_of_the_scores(name):
    data = load(name)
    np.testing.assert_array_equal(data.y, rankdata(-data.scores, axis=1))
    assert (data.X.dtype, data.y.dtype, data.scores.dtype) == (np.float32, np.float32, float)
    assert len(set(data.labels)) == data.y.shape[1]
    assert len(set(data.feature_names)) == data.X.shape[1]
    assert np.isfinite(data.X).all()


def test_about_half_of_the_instances_have_timeouts_that_tie():
    data = load("algorithms")
    assert (data.X.shape, data.y.shape, data.groups) == ((500, 12), (500, 5), None)
    timeouts = data.scores == -36000
    assert (data.scores[~timeouts] >= -3600).all()
    ties = [len(set(row)) < len(row) for row in data.scores.tolist()]
    assert 0.45 <= np.mean(ties) <= 0.6
    assert (timeouts.sum(1)[ties] > 1).mean() > 0.95
    assert sorted(np.bincount(data.folds)[1:]) == [50] * 10
    best = (data.scores == data.scores.max(axis=1, keepdims=True)).mean(axis=0)
    assert best.min() > 0.05  # none of the solvers is useless


def test_similar_substrates_have_similar_fingerprints_and_yields():
    data = load("reactions")
    assert (data.X.shape, data.y.shape, data.folds) == ((33, 256), (33, 23), None)
    assert set(np.unique(data.X)) == {0, 1}
    assert data.scores.min() == 0
    assert data.scores.max() < 100
    assert 0.25 < (data.scores == 0).mean() < 0.4
    assert len(set(data.groups.tolist())) == 8
    same = data.groups[:, None] == data.groups
    pairs = np.triu(np.ones_like(same), 1)
    common = data.X @ data.X.T
    alike = common / (data.X.sum(1)[:, None] + data.X.sum(1) - common)  # Tanimoto
    yields = np.corrcoef(data.scores)
    for similarity in (alike, yields):
        assert similarity[same & pairs].mean() > similarity[~same & pairs].mean() + 0.2
    assert np.corrcoef(alike[pairs], yields[pairs])[0, 1] > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("name", ["algorithms", "reactions"])
def test_a_forest_chooses_better_than_the_single_best_label_on_rows_it_has_not_seen(name):
    data = load(name)
    folds = np.arange(len(data.X)) % 5 if data.folds is None else data.folds % 5
    got, single = np.empty(len(folds)), np.empty(len(folds))
    for fold in range(5):
        test, train = folds == fold, folds != fold
        ranker = LEARNERS["lr-rf"](n_estimators=20, random_state=0)
        ranker.fit(data.X[train], scores=data.scores[train])
        first = ranker.predict(data.X[test]).argmin(axis=1)
        got[test] = data.scores[test][np.arange(len(first)), first]
        single[test] = data.scores[test][:, data.scores[train].mean(axis=0).argmax()]
    oracle = data.scores.max(axis=1).mean()
    assert (got.mean() - single.mean()) / (oracle - single.mean()) > 0.2
