"""Probabilities of pairs: of every learner, and of forests by the trees that did not draw a row."""

import pickle

import jax
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import lrrf_jax
from lrrf_jax import LEARNERS, InputError, metrics
from lrrf_jax.datasets import load
from lrrf_jax.learners.forest.bootstraps import bootstrap_table
from lrrf_jax.rankings import kemeny
from lrrf_jax.rankings.pairwise import pair_indices
from tests.learners.small_forests import leaves_of
from tests.learners.test_contract import N_LABELS, PARTIAL_Y, X, Y, each_learner, fitted, make

FIRST, SECOND = pair_indices(N_LABELS)
AGGREGATIONS = ["two-step", "one-step", "copeland", "kemeny"]
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*drawn by every tree", "ignore:.*rank too few labels"
)


@each_learner
def test_probabilities_of_pairs_are_those_of_the_preferences_and_sum_to_one(name):
    found, preferences = fitted(name).predict_pairwise(X), fitted(name).predict_preferences(X)
    assert found.dtype == np.float32
    assert found.shape == (len(X), N_LABELS, N_LABELS)
    np.testing.assert_allclose(found[:, FIRST, SECOND], (1 + preferences) / 2, atol=1e-7)
    np.testing.assert_allclose(found + found.swapaxes(1, 2), 1, atol=1e-6)
    assert (np.diagonal(found, axis1=1, axis2=2) == 0.5).all()
    with pytest.raises(NotFittedError):
        LEARNERS[name]().predict_pairwise(X)


def test_a_pair_of_which_no_neighbour_knows_anything_has_no_probability():
    ranker = make("ib-m", n_neighbors=1).fit([[0.0], [9.0]], [[1, 2, np.nan], [np.nan, 1, 2]])
    found = ranker.predict_pairwise([[0.0]])[0]
    np.testing.assert_array_equal(found, [[0.5, 1, np.nan], [0, 0.5, np.nan], [np.nan] * 2 + [0.5]])


def test_kemeny_of_a_forest_of_preferences_is_its_prediction():
    ranker = make("lr-rf", aggregation="kemeny").fit(X, Y)
    np.testing.assert_array_equal(kemeny(ranker.predict_pairwise(X)), ranker.predict(X))


@pytest.mark.parametrize("aggregation", ["two-step", "copeland"])
def test_forests_share_out_the_same_for_many_rows_as_for_few(aggregation):
    ranker = make("lr-rf", aggregation=aggregation).fit(X, Y)
    many = np.tile(X, (40, 1))
    of_few = np.concatenate([ranker.predict_preferences(X[at : at + 5]) for at in range(0, 60, 5)])
    ranker._few_rows.most_rows = 0
    ranker._few_rows.spares_compiling = lambda n_rows, seen: False
    np.testing.assert_array_equal(ranker.predict_preferences(many), np.tile(of_few, (40, 1)))


# ------------------------------------------------------------------------------- out of bag
@pytest.mark.parametrize("y", [Y, PARTIAL_Y], ids=["complete", "partial"])
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_out_of_bag_pairs_are_those_of_a_loop_over_the_trees_that_did_not_draw_the_row(
    aggregation, y
):
    ranker = make("lr-rf", aggregation=aggregation, oob_score=True).fit(X, y)
    forest, row = ranker.forest_, ranker._last_fit.row
    counts = bootstrap_table(jax.random.key(0), len(row), forest.n_trees, True)
    expected = np.full((len(X), N_LABELS, N_LABELS), np.nan)
    for i, drawn in zip(row, counts, strict=True):
        trees = np.flatnonzero(drawn == 0)
        values = [np.asarray(forest.leaf_value[leaves_of(forest, X[i], t)]) for t in trees]
        if aggregation in ("copeland", "kemeny"):
            said = [value / 2**12 for value in values]
        else:
            better = -1 if aggregation == "two-step" else 1
            said = [better * np.sign(value[FIRST] - value[SECOND]) for value in values]
        if len(trees):
            expected[i] = 0.5
            expected[i][FIRST, SECOND] = (1 + np.mean(said, axis=0)) / 2
            expected[i][SECOND, FIRST] = (1 - np.mean(said, axis=0)) / 2
    diagonal = np.arange(N_LABELS)
    expected[:, diagonal, diagonal] = 0.5
    found = ranker.oob_pairwise_
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=2e-4)  # a unit is level
    assert np.isnan(found).any()
    assert (np.abs(found - 0.5) > 0.2).any()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(ranker)).oob_pairwise_, found)


def test_out_of_bag_pairs_are_there_only_after_a_fit_that_asked_for_them(tmp_path):
    ranker = make("lw-rf", oob_score=True).fit(X, Y)
    assert ranker.oob_pairwise_.shape == (len(X), N_LABELS, N_LABELS)
    ranker.save(tmp_path / "m.lrrf")
    assert not hasattr(lrrf_jax.load(tmp_path / "m.lrrf"), "oob_pairwise_")
    ranker.set_params(oob_score=False).fit(X, Y)
    with pytest.raises(AttributeError, match="fitted with oob_score=True"):
        ranker.oob_pairwise_  # noqa: B018


# ------------------------------------------------------------------------------- confidence
@each_learner
def test_what_is_not_sure_is_tied_and_what_is_ordered_is_sure(name):
    ranker = fitted(name)
    probability = ranker.predict_pairwise(X)
    for confidence in (0.5, 0.8):
        found = ranker.predict_partial(X, confidence=confidence)
        assert found.dtype == np.float32
        ahead = found[:, :, None] < found[:, None, :]
        assert (probability[ahead] >= confidence - 1e-6).all()
        assert (probability[ahead] > 0.5).all()
        np.testing.assert_allclose(found.sum(1), N_LABELS * (N_LABELS + 1) / 2)


def test_a_confidence_decides_alone():
    ranker = fitted("lr-rf")
    for other in ({"threshold": 0.1}, {"method": "optimal"}):
        with pytest.raises(InputError, match="must be left out with confidence"):
            ranker.predict_partial(X, confidence=0.8, **other)
    with pytest.raises(InputError, match=r"confidence must be a number from \.5 to 1; it is 80"):
        ranker.predict_partial(X, confidence=80)


def test_a_forest_is_better_calibrated_by_what_is_out_of_bag():
    iris = load("iris")
    train, test = np.arange(150) % 2 == 0, np.arange(150) % 2 == 1
    ranker = make("pw-rf", n_estimators=20, max_features=1, oob_score=True, max_depth=3)
    ranker.fit(iris.X[train], iris.y[train])
    temperature = metrics.fit_temperature(iris.y[train], ranker.oob_pairwise_)
    plain = ranker.predict_pairwise(iris.X[test])
    calibrated = metrics.apply_temperature(plain, temperature)
    assert temperature < 0.9
    assert metrics.brier_score(iris.y[test], calibrated) < metrics.brier_score(iris.y[test], plain)
