"""Pair preferences and bucket orders of every learner in ``LEARNERS``."""

import itertools
import math
import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lrrf_jax
from lrrf_jax import LEARNERS, InputError, metrics
from lrrf_jax.evaluation import scorer
from lrrf_jax.learners import MallowsNeighborsLabelRanker
from lrrf_jax.rankings.bucket_orders import METHODS, bucket_orders
from lrrf_jax.rankings.pairwise import pair_signs_on_host
from lrrf_jax.rankings.preferences import group_preferences
from tests import oracles
from tests.accelerator import accelerator_forms
from tests.learners import partial_golden as golden
from tests.learners.test_contract import (
    GROUPED_X,
    GROUPED_Y,
    N_LABELS,
    N_ROWS,
    X,
    Y,
    each_learner,
    fitted,
    is_featureless,
    make,
    quiet_fit,
)
from tests.models.store import FOLDER

FOURTH = np.arange(N_ROWS)[:, None] % 4
TIED_Y = np.select(
    [FOURTH == 0, FOURTH == 1], [np.where(Y >= 2, 2.5, 1), np.where(Y <= 2, 1.5, 3)], Y
)
PAIRS = list(itertools.combinations(range(N_LABELS), 2))


def assert_normal_form(positions, n_labels):
    assert positions.dtype == np.float32
    assert positions.shape[1] == n_labels
    for row in positions.tolist():
        labels = [j for j in range(n_labels) if not math.isnan(row[j])]
        places = oracles.mean_places(row, labels)
        assert [row[j] for j in labels] == [places[j] for j in labels]


@each_learner
def test_bucket_orders_are_complete_in_the_normal_form_and_those_of_the_preferences(name):
    preferences = fitted(name).predict_preferences(X)
    assert preferences.dtype == np.float32
    assert preferences.shape == (N_ROWS, len(PAIRS))
    assert (np.abs(preferences) <= 1).all()
    for method in METHODS:
        found = fitted(name).predict_partial(X, method=method)
        assert_normal_form(found, N_LABELS)
        np.testing.assert_array_equal(found, bucket_orders(preferences, method=method))
    tied = fitted(name).predict_partial(X, threshold=0.5)
    assert (tied == (N_LABELS + 1) / 2).all()


@each_learner
def test_where_all_preferences_are_certain_and_agree_the_prediction_is_the_bucket_order(name):
    # Of few trees that boost with small steps, none is sure of anything.
    whole_steps = {"learning_rate": 1.0, "ridge": 0.1} if name == "lr-boost" else {}
    learner = make(name, **whole_steps).fit(GROUPED_X, GROUPED_Y)
    preferences, ranks = learner.predict_preferences(GROUPED_X), learner.predict(GROUPED_X)
    found = learner.predict_partial(GROUPED_X)
    sure = (np.abs(preferences) > 0.5).all(1)
    strict = np.array([len(set(row)) == N_LABELS for row in found.tolist()])
    assert is_featureless(name) or (sure & strict).mean() > 0.5
    np.testing.assert_array_equal(found[sure & strict], ranks[sure & strict])
    assert is_featureless(name) or (found == GROUPED_Y).all(1).mean() > 0.5


@each_learner
def test_a_row_has_the_same_bucket_order_alone_and_in_any_company(name, monkeypatch):
    many = np.tile(X, (35, 1))[:2060]
    preferences = fitted(name).predict_preferences(many)
    found = fitted(name).predict_partial(many)
    for size in (1, 7, N_ROWS):
        some = fitted(name).predict_preferences(many[:size])
        np.testing.assert_array_equal(some, preferences[:size])
        np.testing.assert_array_equal(fitted(name).predict_partial(many[:size]), found[:size])
    np.testing.assert_array_equal(found[-80:-20], found[2040 - N_ROWS - 60 : 2040 - 60])
    monkeypatch.setattr("lrrf_jax.learners._partial._ROWS_AT_ONCE", 64)
    np.testing.assert_array_equal(fitted(name).predict_partial(many), found)


@each_learner
def test_a_model_gives_the_same_bucket_orders_saved_and_pickled(name, tmp_path):
    found = fitted(name).predict_preferences(X)
    fitted(name).save(tmp_path / "m.lrrf")
    for again in (lrrf_jax.load(tmp_path / "m.lrrf"), pickle.loads(pickle.dumps(fitted(name)))):
        np.testing.assert_array_equal(again.predict_preferences(X), found)


@each_learner
def test_what_cannot_be_predicted_is_refused(name):
    for predict in (fitted(name).predict_partial, fitted(name).predict_preferences):
        with pytest.raises(InputError, match="X has 3 features"):
            predict(X[:, :3])
    with pytest.raises(InputError, match="method must be one of 'optimal', 'bpa'"):
        fitted(name).predict_partial(X, method="pivot")
    with pytest.raises(InputError, match=r"threshold must be a number from 0 to \.5; it is -1"):
        fitted(name).predict_partial(X, threshold=-1)
    with pytest.raises(InputError, match="unknown must be one of"):
        fitted(name).predict_partial(X, unknown="best")
    with pytest.raises(NotFittedError):
        make(name).predict_partial(X)


@each_learner
def test_scorers_score_bucket_orders_also_in_pipelines_and_searches(name):
    score = scorer("tau_x", partial=True)
    expected = metrics.tau_x(Y, fitted(name).predict_partial(X, unknown="last"))
    assert score(fitted(name), X, Y) == pytest.approx(expected)
    if name != "default":
        return
    piped = make_pipeline(StandardScaler(), make(name)).fit(X, Y)
    grid = {"consensuslabelranker__missing": ["unknown", "last"]}
    search = GridSearchCV(piped, grid, cv=2, scoring=score)
    assert score(search.fit(X, Y), X, Y) == score(piped, X, Y) == pytest.approx(expected)
    with pytest.raises(InputError, match="StandardScaler.* has no predict_partial"):
        score(StandardScaler().fit(X), X, Y)


@each_learner
def test_permuting_labels_that_tie_permutes_preferences_and_bucket_orders(name):
    order = [2, 0, 1]
    fixed = {"n_neighbors": 5}
    one = make(name, **fixed).fit(X, TIED_Y)
    other = make(name, **fixed).fit(X, TIED_Y[:, order])
    before, after = one.predict_preferences(X), other.predict_preferences(X)
    # The pairs (0, 1), (0, 2), (1, 2) of the labels 2, 0, 1 were (2, 0), (2, 1), (0, 1).
    np.testing.assert_array_equal(after, before[:, [1, 2, 0]] * [-1, -1, 1])
    total, unsure = np.zeros((2, N_ROWS, N_LABELS))
    for (u, v), preference in zip(PAIRS, before.T.round(6), strict=True):
        for label, mine in ((u, preference), (v, -preference)):
            total[:, label] += mine
            unsure[:, label] += np.minimum(abs(mine), 1 - abs(mine))
    # Labels that are alike in both are told apart by their index.
    key = np.round(1e4 * unsure) + np.round(total, 4) / 100
    unlike = (np.diff(np.sort(key, 1), axis=1) > 1e-6).all(1)
    assert name in ("cc", "default", "lrt") or unlike.mean() > 0.3
    for method in ("optimal", "bpa-lia", "bpa-lia-mp2"):
        found = one.predict_partial(X, method=method)[unlike]
        again = other.predict_partial(X, method=method)[unlike]
        np.testing.assert_array_equal(again, found[:, order])


# -------------------------------------------------------------- what the families share out
def pair_loop(n_rows, n_pairs, share):
    return np.array([[share(row, pair) for pair in range(n_pairs)] for row in range(n_rows)])


@pytest.mark.parametrize("aggregation", ["two-step", "one-step", "copeland", "kemeny"])
def test_forests_share_out_the_preferences_of_their_leaves(aggregation):
    ranker = make("lr-rf", aggregation=aggregation).fit(X, Y)
    forest, slot = ranker.forest_, ranker._leaf_slots(X)
    value = np.asarray(forest.leaf_value).tolist()

    def share(row, pair):
        total = 0.0
        for leaf in slot[row]:
            if aggregation in ("copeland", "kemeny"):
                total += value[leaf][pair] / 2**12
                continue
            u, v = (value[leaf][label] for label in PAIRS[pair])
            ahead = (u > v) - (u < v)
            total += ahead if aggregation == "one-step" else -ahead
        return total / forest.n_trees

    found = ranker.predict_preferences(X)
    np.testing.assert_allclose(found, pair_loop(N_ROWS, len(PAIRS), share), atol=1e-6)
    assert len(np.unique(found)) > 4


@pytest.mark.parametrize("name", ["ll", "mlp"])
def test_utilities_share_out_the_probabilities_of_their_loss(name):
    scores = fitted(name).predict_scores(X).astype(float)
    found = fitted(name).predict_preferences(X)

    def edge(row, pair):
        u, v = PAIRS[pair]
        return 2 / (1 + math.exp(scores[row, v] - scores[row, u])) - 1

    np.testing.assert_allclose(found, pair_loop(N_ROWS, len(PAIRS), edge), atol=1e-6)


def test_linear_models_share_out_probabilities():
    for voting in ("soft", "binary"):
        rpc = make("rpc", voting=voting).fit(X, Y)
        probability = (1 + rpc.predict_preferences(X).astype(float)) / 2
        votes = np.zeros((N_ROWS, N_LABELS))
        for (u, v), p in zip(PAIRS, probability.T, strict=True):
            votes[:, u] += p if voting == "soft" else p > 0.5
            votes[:, v] += 1 - p if voting == "soft" else p < 0.5
        np.testing.assert_allclose(rpc.predict_scores(X), votes, atol=1e-5)


def test_scores_without_a_scale_prefer_the_higher_altogether():
    expected = pair_signs_on_host(fitted("cc").predict(X).astype(np.float32))
    np.testing.assert_array_equal(fitted("cc").predict_preferences(X), expected)


def test_the_baseline_shares_out_all_training_rankings():
    nan = math.nan
    y = [[1, 2, nan], [1, 2, nan], [2, 1, nan], [1, 2, nan], [nan, 1, 2]]
    ranker = make("default").fit(X[:5], y)
    np.testing.assert_array_equal(ranker.predict_preferences(X[:2]), [[0.5, nan, 1]] * 2)
    assert ranker.predict_partial(X[:1], method="bpa").tolist() == [[2, 2, 2]]
    weighed = make("default").fit(X[:5], y, [1, 1, 0.5, 1, 1])
    assert weighed.predict_partial(X[:1], method="optimal").tolist() == [[1, 2, 3]]
    expected = group_preferences(TIED_Y[None], np.ones((1, N_ROWS)))
    ranker = make("default").fit(X, TIED_Y)
    np.testing.assert_array_equal(ranker.predict_preferences(X[:1]), expected)


def test_a_baseline_saved_before_there_were_bucket_orders_prefers_as_its_votes_do():
    for path in sorted(FOLDER.glob("v*/default.lrrf")):
        ranker = lrrf_jax.load(path)
        x = np.load(path.with_suffix(".npz"))["x"][:1]
        votes = ranker.predict_scores(x)
        np.testing.assert_array_equal(ranker.predict_preferences(x), pair_signs_on_host(-votes))


def test_neighbours_abstain_from_labels_that_no_near_ranking_ranks_beside_another():
    x = [[0.0], [1], [2], [30], [31], [32]]
    nan = math.nan
    y = [[1, 2, nan], [2, 1, nan], [1, 2, nan], [1, 2, 3], [nan, 1, 2], [nan, 1, 2]]
    for name in ("ib-m", "ib-pl"):
        ranker = LEARNERS[name](n_neighbors=3).fit(x, y)
        third = np.float32(1 / 3)
        known = [[third, nan, nan], [1, 1, 1]]
        np.testing.assert_array_equal(ranker.predict_preferences([[1], [31]]), known)
        found = ranker.predict_partial([[1], [31]])
        np.testing.assert_array_equal(found, [[1.5, 1.5, nan], [1, 2, 3]])
        last = ranker.predict_partial([[1], [31]], unknown="last")
        assert last.tolist() == [[1.5, 1.5, 3], [1, 2, 3]]
        assert sorted(ranker.predict([[1]])[0]) == [1, 2, 3]


# ------------------------------------------------------------------------------- scikit-lr
def golden_table(name):
    y = golden.TABLES[name]
    kept = [len(set(row[~np.isnan(row)])) > 1 for row in y]
    return golden.X[kept], y[kept]


def in_normal_form(dense):
    return [list(oracles.mean_places(row, range(len(row))).values()) for row in dense.tolist()]


@pytest.mark.parametrize(("table", "weights"), golden.PREDICTIONS)
@pytest.mark.parametrize("name", ["ib-m", "ib-pl"])
def test_neighbours_agree_with_scikit_lr(table, weights, name):
    x, y = golden_table(table)
    ranker = LEARNERS[name](n_neighbors=7, weights=weights).fit(x, y)
    found = ranker.predict_partial(golden.QUERIES, method="scikit-lr", unknown="last")
    expected = golden.rankings(golden.PREDICTIONS[table, weights])
    assert found.tolist() == in_normal_form(expected)


def test_tau_x_agrees_with_scikit_lr():
    """By ``sklr.metrics.tau_x_score(TIED[:20], TIED[20:])``, which is symmetric."""
    tied = golden.TABLES["tied"]
    every = [len(set(row)) == 1 for row in tied[20:].tolist()]
    assert any(every)
    assert metrics.tau_x(tied[20:], tied[:20]) == pytest.approx(-0.1, abs=1e-12)


@pytest.mark.parametrize(("table", "criterion"), golden.TREES)
def test_leaves_agree_with_the_trees_of_scikit_lr(table, criterion):
    _, y = golden_table(table)
    leaves, orders = golden.TREES[table, criterion]
    leaf = np.array(leaves.split(), int)
    expected = in_normal_form(golden.rankings(orders))
    for number, order in zip(np.unique(leaf), expected, strict=True):
        inside = y[leaf == number]
        preferences = group_preferences(inside[None], np.ones((1, len(inside))))
        found = bucket_orders(preferences, method="scikit-lr", unknown="last")
        assert found.tolist() == [order]


# ------------------------------------------------------------------------------------ ties
def test_ties_that_are_learnt_are_predicted():
    """Two groups: in one the first two labels are level, in the other the last two."""
    x = np.repeat([[0.0], [10.0]], 20, axis=0) + np.arange(40)[:, None] / 100
    truth = np.repeat([[1.5, 1.5, 3, 4], [4, 3, 1.5, 1.5]], 20, axis=0)
    for ranker in (
        make("lr-rf", bootstrap=False),
        MallowsNeighborsLabelRanker(n_neighbors=5),
    ):
        found = ranker.fit(x, truth).predict_partial(x)
        np.testing.assert_array_equal(found, truth)
        assert metrics.tau_x(truth, found) == 1
        assert scorer("tau_x", partial=True)(ranker, x, truth) == 1
        assert scorer("tau_x")(ranker, x, truth) < 1
        turned = ranker.fit(x, truth[:, ::-1]).predict_partial(x)
        np.testing.assert_array_equal(turned, found[:, ::-1])


def test_rankings_that_are_too_few_to_tell_are_no_trouble():
    y = np.where(np.arange(N_ROWS)[:, None] % 3 == 0, Y, np.nan)
    y[1] = [1, 2, np.nan]
    ranker = quiet_fit(make("ib-m", n_neighbors=1), X, y)
    found = ranker.predict_partial(X)
    assert_normal_form(found, N_LABELS)
    assert np.isnan(found[1]).any()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lr-rf", "pw-rf", "rpc", "ll", "ib-m"])
def test_accelerators_would_prefer_the_same(name):
    options = {"aggregation": "kemeny"} if name == "lr-rf" else {}
    ranker = make(name, **options).fit(X, Y)
    expected = ranker.predict_preferences(X)
    with accelerator_forms():
        again = pickle.loads(pickle.dumps(ranker))
        np.testing.assert_array_equal(again.predict_preferences(X), expected)
