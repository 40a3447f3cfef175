"""Boosted utilities: against one round in NumPy, and on planted structure."""

import functools

import numpy as np
import pytest

from lrrf_jax import LEARNERS, InputError, _threads, load, metrics
from lrrf_jax.datasets import delete_labels

RNG = np.random.default_rng(0)
X = RNG.integers(0, 8, (400, 3)).astype(np.float32)
# Of an interaction of two features, which no linear utility has.
UTILITY = np.stack([3 * ((X[:, 0] < 4) == (X[:, 1] < 4)), X[:, 2] / 4, np.ones(400)], axis=1)
Y = np.argsort(np.argsort(-UTILITY - RNG.gumbel(size=UTILITY.shape) / 3, axis=1), axis=1) + 1.0
ONE = {"n_iter_no_change": None, "subsample": 1.0, "learning_rate": 1.0, "max_bins": "exact"}


@functools.cache
def boosted(n_estimators=40, **settings):
    return LEARNERS["lr-boost"](n_estimators, random_state=0, **settings).fit(X, Y)


def slopes_and_curvatures(y, utility):
    """Sum over the pairs of each ranking in loops."""
    slope, curvature = np.zeros(y.shape), np.zeros(y.shape)
    for i, row in enumerate(y):
        for a in range(len(row)):
            for b in range(len(row)):
                if row[a] < row[b]:
                    wrong = 1 / (1 + np.exp(utility[i, a] - utility[i, b]))
                    slope[i, a] += wrong
                    slope[i, b] -= wrong
                    curvature[i, [a, b]] += 2 * wrong * (1 - wrong)
    return slope, curvature


@pytest.mark.parametrize("missing", [False, True])
def test_two_rounds_split_where_the_loss_falls_most_and_take_newton_steps(missing):
    y = delete_labels(Y, 0.4, seed=1) if missing else Y
    y = np.where(np.isfinite(y).sum(1, keepdims=True) < 2, Y, y)
    ranker = LEARNERS["lr-boost"](2, max_depth=1, ridge=2.0, random_state=0, **ONE).fit(X, y)
    utility = np.zeros(Y.shape)
    for tree in range(2):
        slope, curvature = slopes_and_curvatures(y, utility)
        best = max(
            (
                sum(
                    (slope[side].sum(0) ** 2 / (curvature[side].sum(0) + 2)).sum()
                    for side in (X[:, feature] >= limit, X[:, feature] < limit)
                ),
                feature,
                limit,
            )
            for feature in range(3)
            for limit in np.arange(0.5, 7)
        )
        feature, limit = best[1:]
        assert ranker.forest_.feature[tree, 0] == feature
        assert ranker.forest_.threshold[tree, 0] == limit
        for side in (X[:, feature] >= limit, X[:, feature] < limit):
            utility[side] += slope[side].sum(0) / (curvature[side].sum(0) + 2)
    np.testing.assert_allclose(ranker.predict_scores(X), utility, atol=2e-3)


def test_what_only_two_features_together_tell_is_learnt():
    linear = LEARNERS["ll"]().fit(X, Y)
    assert metrics.kendall_tau(Y, boosted().predict(X)) > linear.score(X, Y) + 0.1
    assert boosted().feature_importances_.sum() == pytest.approx(1)


def test_the_number_of_rounds_is_that_of_the_smallest_loss_held_out():
    ranker = boosted(300, n_iter_no_change=5, learning_rate=0.5)
    losses = ranker.held_out_loss_
    assert ranker.n_estimators_ == np.argmin(losses) < len(losses) - 1
    assert losses[0] == pytest.approx(3 * len(X) * np.log(2), rel=1e-5)  # of three pairs a row


@pytest.mark.slow
def test_a_model_does_not_depend_on_the_number_of_threads(monkeypatch):
    expected = boosted(300, n_iter_no_change=5, learning_rate=0.5)
    monkeypatch.setattr(_threads, "thread_count", lambda: 1)
    monkeypatch.setattr("lrrf_jax.learners.boosting.fit.thread_count", lambda: 1)
    again = LEARNERS["lr-boost"](300, n_iter_no_change=5, learning_rate=0.5, random_state=0)
    again.fit(X, Y)
    for one, other in zip(expected.forest_, again.forest_, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_model_from_a_file_says_the_same(tmp_path):
    boosted().save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    for method in ("predict", "predict_scores", "predict_preferences"):
        np.testing.assert_array_equal(getattr(loaded, method)(X), getattr(boosted(), method)(X))


def test_preferences_are_those_of_bradley_and_terry():
    scores = boosted().predict_scores(X).astype(np.float64)
    expected = [
        2 / (1 + np.exp(scores[:, j] - scores[:, i])) - 1 for i, j in ((0, 1), (0, 2), (1, 2))
    ]
    np.testing.assert_allclose(boosted().predict_preferences(X), np.stack(expected, 1), atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"n_estimators": 5000}, "n_estimators must be"),
        ({"max_depth": 9}, "max_depth must be"),
        ({"learning_rate": 0.0}, r"learning_rate must be a number in \(0, 1\]; it is 0.0"),
        ({"subsample": 1.5}, "subsample must be"),
        ({"ridge": -1}, "ridge must be"),
    ],
)
def test_settings_that_will_not_do_are_refused_before_any_work(settings, said):
    with pytest.raises(InputError, match=said):
        LEARNERS["lr-boost"](**settings).fit(X, Y)
