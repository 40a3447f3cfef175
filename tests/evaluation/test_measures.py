"""Measures beside tau in cross-validation: by plain loops, with baselines by brute force."""

import itertools
import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from lrrf_jax import InputError, metrics
from lrrf_jax.evaluation import cross_validate
from lrrf_jax.evaluation.baselines import random_rows, single_best_of, true_positions
from lrrf_jax.evaluation.measured import BASELINES, HeldOut, gathered, sums_of_fold
from lrrf_jax.evaluation.measures import DEFAULT_OF_SCORES, Measure, as_measures
from lrrf_jax.rankings import rankings_from_scores

N_ROWS, N_LABELS = 20, 4
RNG = np.random.default_rng(0)
X = np.column_stack([np.arange(N_ROWS), RNG.random(N_ROWS)])
SCORES = RNG.integers(0, 9, (N_ROWS, N_LABELS)) * 10.0
SCORES[3, 1] = SCORES[9, 0] = np.nan
FOLDS = np.array([0, 1, 1, 2, 2, 2, 0, 1, 2, 2] * 2)  # of unequal size
nan = np.nan


class ByRow(BaseEstimator):
    """Predicts at random, the same for the same row; keeps what it was fitted to."""

    fitted: list = []

    def fit(self, X, y, sample_weight=None):
        ByRow.fitted.append((np.asarray(X)[:, 0].astype(int), y, None))
        return self

    def predict(self, X):
        rows = np.asarray(X)[:, 0].astype(int)
        draws = np.random.default_rng(7).random((N_ROWS, N_LABELS))[rows]
        return np.argsort(np.argsort(draws, axis=1), axis=1) + 1


class OfScores(ByRow):
    """Takes scores."""

    def fit(self, X, y=None, sample_weight=None, *, scores=None):
        assert (y is None) != (scores is None)
        ByRow.fitted.append((np.asarray(X)[:, 0].astype(int), y, scores))
        return self


PREDICTED = ByRow().predict(X)
TRUTH = np.asarray(rankings_from_scores(SCORES))


def validated(learner=None, **arguments):
    ByRow.fitted = []
    given = {"scores": SCORES, "folds": FOLDS, "repeats": 1, **arguments}
    return cross_validate(learner or ByRow(), X, **given)


# ------------------------------------------------------------------------------- values
def test_where_there_are_scores_their_measures_are_taken_unasked():
    result = validated()
    assert tuple(result.measures) == DEFAULT_OF_SCORES
    assert all(values.shape == (1, 3) for values in result.measures.values())
    assert validated(scores=None, y=TRUTH).measures == {}
    assert validated(measures=[]).measures == {}


def test_values_of_folds_are_those_of_the_metrics_on_the_test_rows():
    names = ["regret", "regret@2", "utility", "ndcg_of_scores@3", "hit_rate@2", "ndcg", "tau_x"]
    found = validated(measures=names).measures
    for fold in range(3):
        rows = FOLDS == fold
        for name in names:
            metric, _, k = name.partition("@")
            truth = SCORES if metric in metrics.OF_SCORES else TRUTH
            options = {"k": int(k)} if k else {}
            expected = getattr(metrics, metric)(truth[rows], PREDICTED[rows], **options)
            assert found[name][0, fold] == pytest.approx(expected, abs=1e-12)


def test_the_gap_is_pooled_over_all_test_rows_with_the_single_best_of_the_training_rows():
    result = validated()
    got, base, oracle = [], [], []
    for fold in range(3):
        train = FOLDS != fold
        order = np.argsort(-np.nanmean(SCORES[train], axis=0), kind="stable")
        for row in np.flatnonzero(FOLDS == fold):
            known = ~np.isnan(SCORES[row])
            first = min(np.flatnonzero(known), key=lambda j, row=row: PREDICTED[row, j])
            got.append(SCORES[row, first])
            base.append(SCORES[row, next(j for j in order if known[j])])
            oracle.append(np.nanmax(SCORES[row]))
    expected = (np.mean(got) - np.mean(base)) / (np.mean(oracle) - np.mean(base))
    measured = result.measured["gap_closed"]
    assert measured.overall() == pytest.approx(expected)
    assert abs(np.nanmean(measured.folds()) - expected) > 0.01  # not the mean of the folds' ratios
    utility = result.measured["utility"]
    found = [utility.overall(row) for row in ("learner", "single best", "oracle")]
    assert found == pytest.approx([np.mean(got), np.mean(base), np.mean(oracle)])
    assert measured.overall("single best") == 0
    assert measured.overall("oracle") == 1
    in_table = {row[0]: row[1:] for row in result.table().rows}
    assert in_table["ByRow"][list(result.measured).index("gap_closed")] == measured.overall()


def test_measures_of_rankings_are_means_over_the_folds_as_tau_is():
    result = validated(measures=["kendall_tau", "ndcg"])
    np.testing.assert_allclose(result.measures["kendall_tau"], result.scores)
    assert result.measured["kendall_tau"].overall() == pytest.approx(result.mean)
    assert result.measured["kendall_tau"].overall("random") == 0
    assert result.measured["ndcg"].overall("oracle") == 1


def test_repeats_are_averaged():
    sums = {
        "utility": {"learner": [6, 2], "single best": [1, 1], "random": [0, 0], "oracle": [9, 1]}
    }
    other = {**sums, "utility": {**sums["utility"], "learner": [5, 1]}}
    measured = gathered({(0, 0): sums, (0, 1): other, (1, 0): other}, 2, 2)["utility"]
    assert measured.overall() == ((6 + 5) / (2 + 1) + 5) / 2  # the last fold was not run
    assert measured.folds().tolist()[0] == [3, 5]
    assert np.isnan(measured.overall("random"))
    assert measured.to_dict()["folds"] == [[3, 5], [5, None]]
    assert measured.to_dict()["baselines"]["random"] is None


def test_weights_of_rows_count_in_measures_and_in_the_single_best():
    weight = np.random.default_rng(2).integers(1, 4, N_ROWS).astype(float)
    result = validated(sample_weight=weight)
    for fold in range(3):
        rows = FOLDS == fold
        base = metrics.single_best(SCORES[~rows], weight[~rows])
        expected = metrics.gap_closed(SCORES[rows], PREDICTED[rows], weight[rows], single_best=base)
        assert result.measures["gap_closed"][0, fold] == pytest.approx(expected)
        expected = metrics.regret(SCORES[rows], PREDICTED[rows], weight[rows])
        assert result.measures["regret"][0, fold] == pytest.approx(expected)


# ------------------------------------------------------------------------------- baselines
TRUTHS = np.array(
    [
        [1, 2, 3, 4],
        [4, 1, 3, 2],
        [1.5, 1.5, 3, 4],
        [1, 2.5, 2.5, 4],
        [2, nan, 1, 3],
        [1.5, 1.5, 3, nan],
        [nan, 2, 1, nan],
        [2.5, 2.5, 2.5, 2.5],
        [nan, nan, 1, nan],
    ]
)


@pytest.mark.parametrize(
    "name", [*metrics.OF_RANKINGS, "top_k_accuracy@2", "hit_rate@3", "regret@2", *metrics.OF_SCORES]
)
def test_the_random_baseline_is_the_mean_over_all_rankings(name):
    metric, _, k = name.partition("@")
    measure = Measure(metric, int(k) if k else None)
    if metric == "gap_closed":
        return  # a quotient of sums of regrets, which are tested here
    truth = 10 - TRUTHS if measure.of_scores else TRUTHS
    orders = list(itertools.permutations(range(1, 5)))
    of_orders = [measure.rows(truth, np.tile(order, (len(truth), 1))) for order in orders]
    found = random_rows(measure, truth)
    if metric == "weighted_tau":  # which has no short form where the truth has ties
        tied = [len(set(row[~np.isnan(row)])) < (~np.isnan(row)).sum() for row in truth]
        assert np.isnan(found[tied]).all()
        of_orders = np.where(tied, nan, of_orders)
    np.testing.assert_allclose(found, np.mean(of_orders, axis=0), atol=1e-12)
    assert (~np.isnan(found)).sum() >= 4


@pytest.mark.parametrize("name", [*metrics.OF_RANKINGS, *metrics.OF_SCORES])
def test_nothing_beats_the_oracle(name):
    measure = Measure(name)
    truth = 10 - TRUTHS if measure.of_scores else TRUTHS
    sign = 1 if measure.larger_is_better else -1
    best = measure.rows(truth, true_positions(truth, measure.of_scores))
    for order in itertools.permutations(range(1, 5)):
        rows = measure.rows(truth, np.tile(order, (len(truth), 1)))
        assert not (sign * rows > sign * best + 1e-12).any()


def test_the_single_best_of_rankings_has_the_best_mean_borda_score():
    rankings = np.array([[1, 2, 3], [2, nan, 1], [1.5, 1.5, 3]])
    borda = [[3 / 4, 2 / 4, 1 / 4], [1 / 3, nan, 2 / 3], [2.5 / 4, 2.5 / 4, 1 / 4]]
    means = np.nanmean(borda, axis=0)
    expected = np.argsort(np.argsort(-means)) + 1
    np.testing.assert_array_equal(single_best_of(rankings, None, None), expected)
    weighted = single_best_of(rankings, None, np.array([0.0, 1, 0]))
    np.testing.assert_array_equal(weighted, [2, 3, 1])
    nothing = single_best_of(np.full((2, 3), nan), None, None)
    assert (nothing == 1).all()


def test_the_single_best_sees_no_more_than_the_learner_does():
    tested = HeldOut(TRUTH, SCORES)
    result = validated(OfScores(), missing=0.6, seed=3)
    assert len(ByRow.fitted) == 3
    for fold, (rows, _, scores) in enumerate(ByRow.fitted):
        assert np.isnan(scores).mean() > 0.4
        np.testing.assert_array_equal(scores[~np.isnan(scores)], SCORES[rows][~np.isnan(scores)])
        test = FOLDS == fold
        part = HeldOut(tested.rankings[test], SCORES[test])
        base = metrics.single_best(scores)
        sums = sums_of_fold([Measure("regret")], part, PREDICTED[test], base)["regret"]
        expected = sums["single best"][0] / sums["single best"][1]
        assert result.measured["regret"].folds("single best")[0, fold] == pytest.approx(expected)


# ------------------------------------------------------------------------------- scores as targets
def test_learners_that_take_scores_get_them_and_others_their_order_with_ties():
    validated(OfScores())
    for rows, y, scores in ByRow.fitted:
        assert y is None
        np.testing.assert_array_equal(scores, SCORES[rows])
    assert validated(OfScores()).settings["target"] == "scores"
    validated()
    for rows, y, _ in ByRow.fitted:
        np.testing.assert_array_equal(y, TRUTH[rows])
    assert (TRUTH != np.round(TRUTH)).any()  # ties


def test_with_rankings_beside_them_scores_are_for_measures_alone():
    strict = np.asarray(rankings_from_scores(np.nan_to_num(SCORES, nan=-1), ties="index"))
    result = validated(OfScores(), y=strict)
    for rows, y, scores in ByRow.fitted:
        np.testing.assert_array_equal(y, strict[rows])
        assert scores is None
    assert "target" not in result.settings
    np.testing.assert_array_equal(result.measures["regret"], validated().measures["regret"])
    taus = [metrics.kendall_tau(strict[FOLDS == f], PREDICTED[FOLDS == f]) for f in range(3)]
    np.testing.assert_allclose(result.scores[0], taus)


def test_scores_are_paired_with_rankings_by_name():
    names, order = ["a", "b", "c", "d"], [2, 0, 3, 1]
    y = pd.DataFrame(TRUTH, columns=names)
    scores = pd.DataFrame(SCORES[:, order], columns=[names[j] for j in order])
    shuffled = validated(y=y, scores=scores)
    np.testing.assert_array_equal(shuffled.measures["regret"], validated().measures["regret"])


def test_our_learners_are_fitted_to_scores_as_to_their_order():
    by_scores = validated("ib-m")
    by_rankings = validated("ib-m", y=TRUTH)
    np.testing.assert_array_equal(by_scores.scores, by_rankings.scores)
    np.testing.assert_array_equal(by_scores.measures["regret"], by_rankings.measures["regret"])


def test_tau_and_seconds_do_not_depend_on_the_measures():
    plain = validated(y=TRUTH, scores=None)
    np.testing.assert_array_equal(validated().scores, plain.scores)
    assert "measures" not in plain.to_dict()
    document = json.loads(json.dumps(validated().to_dict(), allow_nan=False))
    of_gap = document["measures"]["gap_closed"]
    assert set(of_gap) == {"value", "folds", "baselines"}
    assert tuple(of_gap["baselines"]) == BASELINES
    assert np.shape(of_gap["folds"]) == (1, 3)


def test_each_row_alone_pools_to_the_measures_of_all_rows():
    result = validated(folds="leave-one-out")
    assert result.measured["regret"].overall() == pytest.approx(metrics.regret(SCORES, PREDICTED))
    bases = [metrics.single_best(np.delete(SCORES, row, axis=0)) for row in range(N_ROWS)]
    expected = metrics.gap_closed(SCORES, PREDICTED, single_best=bases)
    assert result.measured["gap_closed"].overall() == pytest.approx(expected)


# ------------------------------------------------------------------------------- errors
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"measures": ["regrets"]},
            "measures must be among gap_closed, ndcg_of_scores[@K], regret",
        ),
        ({"measures": ["regret@0"]}, "'regret@0' is none"),
        ({"measures": ["regret@"]}, "'regret@' is none"),
        ({"measures": ["kendall_tau@2"]}, "'kendall_tau@2' is none"),
        ({"measures": ["regret@5"]}, "a k of at most 4, the number of labels; there is 'regret@5'"),
        ({"measures": "regret"}, "measures must be a list of names, such as ['regret']"),
        ({"measures": ["regret"], "scores": None, "y": TRUTH}, "'regret' takes what each label is"),
        ({"scores": None}, "y must hold rankings where there are no scores"),
        (
            {"scores": SCORES[:5]},
            "scores must have one row for each row of X; X has 20, scores has",
        ),
        ({"scores": SCORES[:, :1]}, "scores must have two labels at least"),
        ({"scores": np.full((20, 4), np.inf)}, "scores must hold finite numbers"),
        ({"scores": np.full((20, 4), nan)}, "scores must know two labels in one row at least"),
        ({"y": np.tile([1, 2, 3], (20, 1))}, "y and scores must have the same shape"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(arguments, text):
    with pytest.raises(InputError, match=re.escape(text)):
        validated(**arguments)


def test_the_protocol_of_the_authors_takes_no_scores():
    with pytest.raises(InputError, match="knows rankings without ties, and no scores"):
        validated("lr-rf", protocol="as-run-by-authors")


def test_names_of_measures_are_read_once_each_in_their_order():
    found = as_measures(["regret@2", "ndcg", "regret@2"], True, 3)
    assert [measure.name for measure in found] == ["regret@2", "ndcg"]
