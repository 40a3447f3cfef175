"""Scorers by name, in the dictionaries, searches and processes of scikit-learn."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lrrf_jax import InputError, metrics
from lrrf_jax.metrics import get_scorer, get_scorer_names
from tests.learners.test_contract import make

RNG = np.random.default_rng(5)
X = pd.DataFrame(RNG.standard_normal((60, 3)), columns=["u", "v", "w"])
Y = pd.DataFrame(
    np.argsort(np.argsort(X.to_numpy() + RNG.standard_normal(X.shape), 1), 1) + 1.0,
    columns=["a", "b", "c"],
)
Y = Y.mask(RNG.random(Y.shape) < 0.1).rank(axis=1)  # some labels are missing
X, Y = (table[Y.count(axis=1) > 1].reset_index(drop=True) for table in (X, Y))


def test_every_measure_of_rankings_is_a_scorer_and_larger_is_better_by_all_of_them():
    ranker = make("lrt").fit(X, Y)
    ranked = pd.DataFrame(ranker.predict(X), columns=list(ranker.labels_))
    others = Y[["c", "a", "b"]]  # labels are found by name
    names = get_scorer_names()
    assert sorted(name.removeprefix("neg_") for name in names) == sorted(metrics.OF_RANKINGS)
    assert {name for name in names if name.startswith("neg_")} == {
        f"neg_{name}" for name in metrics.OF_RANKINGS if "distance" in name
    }
    weight = np.arange(len(Y)) + 1.0
    for name in names:
        metric = getattr(metrics, name.removeprefix("neg_"))
        sign = -1 if name.startswith("neg_") else 1
        score = get_scorer(name)
        assert score(ranker, X, others) == sign * metric(Y, ranked)
        assert score(ranker, X, others, weight) == sign * metric(Y, ranked, weight)
        best = score(ranker, X, ranked[["b", "c", "a"]])
        assert best >= score(ranker, X, 4 - ranked)


def test_a_k_is_named_as_on_the_command_line():
    ranker = make("lrt").fit(X, Y)
    for name in ("hit_rate", "top_k_accuracy"):
        expected = getattr(metrics, name)(Y, ranker.predict(X), k=2)
        assert get_scorer(f"{name}@2")(ranker, X, Y) == expected
        assert get_scorer(name)(ranker, X, Y) != expected


@pytest.mark.parametrize(
    "name", ["tau", "kendall_distance", "kendall_tau@2", "hit_rate@0", "hit_rate@x", "regret", None]
)
def test_another_name_is_refused_with_those_there_are(name):
    with pytest.raises(InputError, match=r"hit_rate\[@K\], kendall_tau, .*neg_kendall_distance"):
        get_scorer(name)


SCORING = {name: get_scorer(name) for name in ("kendall_tau", "neg_spearman_distance", "tau_x")}


def test_dictionaries_of_scorers_score_the_folds_as_a_loop_does():
    folds, ranker = KFold(3), make_pipeline(StandardScaler(), make("ib-m", n_neighbors=5))
    found = cross_validate(ranker, X, Y, cv=folds, scoring=SCORING)
    for name, score in SCORING.items():
        by_loop = [
            score(ranker.fit(X.iloc[train], Y.iloc[train]), X.iloc[test], Y.iloc[test])
            for train, test in folds.split(X)
        ]
        np.testing.assert_array_equal(found[f"test_{name}"], by_loop)


def test_a_search_takes_the_best_by_the_scorer_that_refit_names():
    search = GridSearchCV(
        make("ib-m"),
        {"n_neighbors": [1, 5, 20]},
        cv=KFold(3),
        scoring=SCORING,
        refit="neg_spearman_distance",
    ).fit(X, Y)
    means = search.cv_results_["mean_test_neg_spearman_distance"]
    assert len(set(means)) == 3
    assert search.best_score_ == means.max()
    assert search.score(X, Y) == SCORING["neg_spearman_distance"](search.best_estimator_, X, Y)
    assert search.best_estimator_.labels_.tolist() == ["a", "b", "c"]


def test_permutation_importance_takes_them():
    ranker = make("lrt").fit(X, Y)
    found = permutation_importance(ranker, X, Y, scoring=SCORING, n_repeats=3, random_state=0)
    assert set(found) == set(SCORING)
    for name, score in SCORING.items():
        by_hand = np.empty((3, 3))
        for j, column in enumerate(X):
            rows = np.random.RandomState(_seed_of(0))
            order, shuffled = np.arange(len(X)), X
            for repeat in range(3):
                rows.shuffle(order)
                shuffled = shuffled.assign(**{column: shuffled[column].to_numpy()[order]})
                by_hand[j, repeat] = score(ranker, X, Y) - score(ranker, shuffled, Y)
        np.testing.assert_allclose(found[name].importances, by_hand, atol=1e-12)


def _seed_of(random_state):
    """Draw, as scikit-learn does, the seed of all columns."""
    return np.random.RandomState(random_state).randint(np.iinfo(np.int32).max + 1)


def test_they_take_part_where_metadata_are_routed():
    weight = np.ones(len(X))
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = (
            make("lrt").set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        )
        found = cross_validate(
            ranker, X, Y, cv=KFold(3), scoring=SCORING, params={"sample_weight": weight}
        )
    plain = cross_validate(make("lrt"), X, Y, cv=KFold(3), scoring=SCORING)
    np.testing.assert_array_equal(found["test_kendall_tau"], plain["test_kendall_tau"])


@pytest.mark.slow
def test_two_processes_of_loky_score_as_one():
    ranker = make("ib-m", n_neighbors=5)
    one, two = (
        GridSearchCV(
            ranker, {"n_neighbors": [1, 5]}, cv=3, scoring=SCORING, refit="tau_x", n_jobs=n_jobs
        ).fit(X, Y)
        for n_jobs in (1, 2)
    )
    for name in SCORING:
        key = f"mean_test_{name}"
        np.testing.assert_array_equal(two.cv_results_[key], one.cv_results_[key])
    np.testing.assert_array_equal(two.predict(X), one.predict(X))
