import numpy as np
import pytest

from lrrf_jax import load
from lrrf_jax._validation import InputError
from lrrf_jax.learners import PlackettLuceNeighborsLabelRanker
from lrrf_jax.rankings import plackett_luce
from tests.learners import neighbor_golden as golden
from tests.learners.test_ib_m import (
    assert_near_rows_count_as_copies,
    by_sorting,
    ranked_table,
)


@pytest.mark.parametrize("rankings", ["complete", "partial"])
@pytest.mark.parametrize("weights", ["uniform", "distance", "dudani"])
def test_predictions_without_a_prior_equal_those_of_scikit_lr(weights, rankings):
    y = golden.Y if rankings == "complete" else golden.PARTIAL
    kept = (~np.isnan(y)).sum(1) > 1
    ranker = PlackettLuceNeighborsLabelRanker(n_neighbors=7, weights=weights, prior=0.0)
    got = ranker.fit(golden.X[kept], y[kept]).predict(golden.QUERIES)
    expected = golden.rankings(golden.PREDICTIONS["plackett_luce", weights, rankings])
    assert got.tolist() == expected.tolist()


def test_strengths_equal_those_of_scikit_lr():
    kept = (~np.isnan(golden.PARTIAL)).sum(1) > 1
    tables = golden.PARTIAL[kept][:28].reshape(4, 7, 4).astype(np.float32)
    fit = plackett_luce.fit_tables(tables, np.ones((4, 7), np.float32))
    np.testing.assert_allclose(fit.strength, golden.TABLE_STRENGTHS, atol=2e-5)


def test_scores_are_the_strengths_near_a_row():
    X, y = ranked_table()
    rows = X[:12] + 0.5
    ranker = PlackettLuceNeighborsLabelRanker(n_neighbors=7).fit(X, y)
    order, _ = by_sorting(X, rows, 7)
    tables = y[order].astype(np.float32)
    overall = ranker.params_.overall
    prior = plackett_luce.Prior(0.1, overall)
    fit = plackett_luce.fit_tables(tables, np.ones((12, 7), np.float32), prior)
    np.testing.assert_allclose(ranker.predict_scores(rows), fit.strength, atol=1e-6)
    ranks = np.argsort(np.argsort(-ranker.predict_scores(rows), kind="stable")) + 1
    assert ranks.tolist() == ranker.predict(rows).tolist()
    group, weight = np.zeros(len(y), np.int32), np.ones(len(y), np.float32)
    everything = plackett_luce.fit_groups(
        y.astype(np.float32), group, weight, 1, plackett_luce.Prior(1.0)
    )
    np.testing.assert_allclose(overall, everything.strength[0], atol=1e-6)


def test_a_label_that_no_near_row_ranks_has_its_strength_among_all_rows():
    X = [[0.0], [0.0], [0.0], [9.0], [9.0], [9.0]]
    y = [[1, 2, np.nan, np.nan]] * 3 + [[np.nan, np.nan, 1, 2]] * 3
    ranker = PlackettLuceNeighborsLabelRanker(n_neighbors=3).fit(X, y)
    scores, overall = ranker.predict_scores([[0.0]])[0], ranker.params_.overall
    np.testing.assert_allclose(scores[2:], overall[2:], rtol=1e-3)
    assert scores[0] > scores[1] > 0


def test_a_near_row_counts_as_often_as_it_weighs():
    # Without the prior, which is a number of rows of mean weight.
    ranker = PlackettLuceNeighborsLabelRanker(n_neighbors=7, prior=0)
    assert_near_rows_count_as_copies(ranker, *ranked_table(), atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_a_row_does_not_depend_on_its_company(weights):
    X, y = ranked_table(n_rows=3000)
    rows = np.random.default_rng(7).normal(5, 3, (2100, 4)).astype(np.float32)
    ranker = PlackettLuceNeighborsLabelRanker(n_neighbors=9, weights=weights).fit(X, y)
    scores = ranker.predict_scores(rows)
    for size in (1, 8, 33):
        np.testing.assert_array_equal(ranker.predict_scores(rows[:size]), scores[:size])


def test_top_lists_put_listed_labels_first_and_a_saved_model_predicts_the_same(tmp_path):
    X = [[0.0], [1.0], [2.0]]
    y = [[np.nan, 1, np.nan, 2], [np.nan, 1, 2, np.nan], [np.nan, 2, 1, 3]]
    ranker = PlackettLuceNeighborsLabelRanker(missing="last", n_neighbors=3, prior=0.0)
    with pytest.raises(InputError, match="label 'L1' is missing"):
        ranker.fit(X, y)
    y.append([1, 2, 3, 4])
    ranker.fit([*X, [99.0]], y)
    assert ranker.predict([[0.0]]).tolist() == [[4, 1, 2, 3]]
    ranker.save(tmp_path / "model")
    np.testing.assert_array_equal(
        load(tmp_path / "model").predict_scores(X), ranker.predict_scores(X)
    )


@pytest.mark.parametrize("prior", [-0.1, np.nan, np.inf, "weak", True])
def test_an_impossible_prior_is_named(prior):
    with pytest.raises(InputError, match="prior"):
        PlackettLuceNeighborsLabelRanker(prior=prior).fit([[0.0], [1.0]], [[1, 2], [2, 1]])
