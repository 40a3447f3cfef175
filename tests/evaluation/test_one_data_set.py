"""Learners on one data set: the corrected t-test, its Bayesian twin, and differences."""

import dataclasses
import json

import numpy as np
import pytest
import scipy.stats
from sklearn.datasets import make_moons
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, ShuffleSplit
from sklearn.svm import SVC
from statsmodels.stats.multitest import multipletests

from lrrf_jax import InputError
from lrrf_jax.evaluation import (
    CrossValidation,
    bayesian_t_test,
    compare,
    corrected_t_test,
    cross_validate,
    differences,
    summarize,
)
from lrrf_jax.evaluation.folds import as_splits, folds_of

RNG = np.random.default_rng(7)
FIRST = RNG.normal(0.80, 0.05, (5, 10)).round(3)
SECOND = (FIRST + RNG.normal(-0.012, 0.03, (5, 10))).round(3)
TABLE = RNG.random((17, 2)), np.argsort(np.argsort(RNG.random((17, 3)), 1), 1) + 1.0


def result(scores, **settings):
    """A cross-validation that nobody ran."""
    settings = {"folds": scores.shape[1], "repeats": len(scores), "seed": 0} | settings
    return CrossValidation("x", scores, scores, scores, settings)


# What scikit-learn's example "Statistical comparison of models using grid search" prints, and
# says in its text.


@pytest.fixture(scope="module")
def published():
    X, y = make_moons(noise=0.352, random_state=1, n_samples=100)
    kernels = [{"kernel": ["linear"]}, {"kernel": ["poly"], "degree": [2, 3]}, {"kernel": ["rbf"]}]
    cv = RepeatedStratifiedKFold(n_splits=10, n_repeats=10, random_state=0)
    search = GridSearchCV(SVC(random_state=0), kernels, scoring="roc_auc", cv=cv).fit(X, y)
    found = search.cv_results_
    scores = np.array([found[f"split{j}_test_score"] for j in range(100)]).T
    return dict(zip(("linear", "2_poly", "3_poly", "rbf"), scores.reshape(4, 10, 10), strict=True))


def test_the_corrected_t_test_prints_what_the_example_of_scikit_learn_prints(published):
    test = corrected_t_test(published["rbf"], published["linear"])
    assert (round(test.t_statistic, 3), test.df) == (0.750, 99)
    assert round(test.p_value / 2, 3) == 0.227  # the example's is one-sided
    plain = scipy.stats.ttest_rel(published["rbf"].ravel(), published["linear"].ravel())
    assert (round(plain.statistic, 3), round(plain.pvalue / 2, 3)) == (2.611, 0.005)
    assert np.round(test.interval, 6).tolist() == [-0.016445, 0.036445]
    posterior = bayesian_t_test(published["rbf"], published["linear"], rope=0)
    assert (round(posterior.better, 3), round(posterior.worse, 3)) == (0.773, 0.227)
    assert np.round(posterior.interval(0.5), 6).tolist() == [0.000977, 0.019023]
    assert np.round(posterior.interval(0.75), 6).tolist() == [-0.005422, 0.025422]


def test_probabilities_are_those_that_the_text_of_the_example_tells(published):
    """6.8 % worse than linear, 1.8 % than 3_poly; 43 and 10 % equivalent; 2_poly always worse."""
    linear, cubic = (bayesian_t_test(published["rbf"], published[k]) for k in ("linear", "3_poly"))
    assert (round(linear.worse, 3), round(cubic.worse, 3)) == (0.068, 0.018)
    assert (round(linear.equivalent, 2), round(cubic.equivalent, 2)) == (0.43, 0.10)
    for name in ("rbf", "linear", "3_poly"):
        posterior = bayesian_t_test(published[name], published["2_poly"])
        assert (round(posterior.better, 2), round(posterior.equivalent, 2)) == (1, 0)


# Figures of baycomp 1.0.3, `two_on_single(FIRST.ravel(), SECOND.ravel(), rope, 5)`.


@pytest.mark.parametrize(
    ("rope", "expected"),
    [
        (0.01, (0.650099527318113, 0.3425782599180138, 0.007322212763873126)),
        (0.05, (0.00014744408426039894, 0.9998525495312445, 6.3844951547764595e-09)),
    ],
)
def test_probabilities_are_those_of_baycomp(rope, expected):
    found = bayesian_t_test(FIRST, SECOND, rope=rope)
    assert (found.better, found.equivalent, found.worse) == pytest.approx(expected, abs=1e-12)


def test_scores_of_correlated_folds_are_found_to_differ_as_often_as_alpha_says():
    """Folds correlated by the share of test rows: the statistic is Student's, exactly."""
    rng = np.random.default_rng(0)
    folds, n = 5, 1500
    shared, own = rng.normal(size=(n, 1, 1)), rng.normal(size=(n, 2, folds))
    scores = np.sqrt(1 / folds) * shared + np.sqrt(1 - 1 / folds) * own
    tests = [corrected_t_test(of_run, np.zeros((2, folds))) for of_run in scores]
    p = np.array([test.p_value for test in tests])
    assert scipy.stats.kstest(p, "uniform").pvalue > 0.05
    covered = np.mean([test.interval[0] < 0 < test.interval[1] for test in tests])
    assert covered == pytest.approx(0.95, abs=0.012)
    plain = scipy.stats.ttest_1samp(scores.reshape(n, -1), 0, axis=1).pvalue
    assert (plain < 0.05).mean() > 0.2  # which is why it is corrected


def test_a_plain_paired_t_test_is_the_limit_of_few_test_rows():
    test = corrected_t_test(FIRST, SECOND, test_to_train=1e-12)
    plain = scipy.stats.ttest_rel(FIRST.ravel(), SECOND.ravel())
    assert (test.t_statistic, test.p_value) == pytest.approx((plain.statistic, plain.pvalue))
    assert test.interval == pytest.approx(tuple(plain.confidence_interval(0.95)))
    interval = bayesian_t_test(FIRST, SECOND).interval(0.9)
    assert interval == pytest.approx(corrected_t_test(FIRST, SECOND, alpha=0.1).interval)


def test_the_two_learners_are_swapped_by_a_sign():
    test, swapped = corrected_t_test(FIRST, SECOND), corrected_t_test(SECOND, FIRST)
    assert swapped.t_statistic == -test.t_statistic
    assert swapped.p_value == test.p_value
    assert swapped.interval == pytest.approx(tuple(-end for end in reversed(test.interval)))
    posterior, other = bayesian_t_test(FIRST, SECOND), bayesian_t_test(SECOND, FIRST)
    assert (posterior.better, posterior.worse) == pytest.approx((other.worse, other.better))


# Which folds there are


@pytest.mark.parametrize("rows", [20, 17])
@pytest.mark.parametrize("groups", [None, [0] * 9 + [1, 1, 1, 2, 2, 3, 4, 4]])
def test_the_quotient_is_that_of_the_mean_sizes_of_all_folds(rows, groups):
    if groups is not None:
        groups = [*groups, 5, 6, 7][:rows]
    rankings = np.ones((rows, 2))
    splits = as_splits(4, rankings, rankings, groups)
    sizes = np.array(
        [(len(fold.test), len(fold.train)) for fold in folds_of(rankings, splits, 0, 0, False)]
    )
    assert groups is None or len(set(sizes[:, 0])) > 1
    found = corrected_t_test(FIRST[:, :4], SECOND[:, :4]).test_to_train
    assert found == pytest.approx(sizes[:, 0].mean() / sizes[:, 1].mean())


def test_repeats_of_the_same_folds_count_once():
    first, second = FIRST.copy(), SECOND.copy()
    first[:, 3] = np.nan
    first[1:, 4] = np.nan
    for splits in ("given a", "leave-one-out", "leave-one-group-out a", "KFold a"):
        test = corrected_t_test(result(first, splits=splits), result(second, splits=splits))
        means = np.nanmean(np.delete(first - second, 3, 1), 0)
        once = corrected_t_test(means, np.zeros(9), test_to_train=1 / 9)
        assert (test.n_scores, test.df) == (9, 8)
        assert test.p_value == pytest.approx(once.p_value)
    shuffled = corrected_t_test(
        result(first, splits="groups abc"), result(second, splits="groups abc")
    )
    assert shuffled.n_scores == 50 - 5 - 4


def test_first_folds_alone_are_corrected_by_the_number_of_all():
    test = corrected_t_test(result(FIRST[:, :3], folds=10), result(SECOND[:, :3], folds=10))
    assert (test.n_scores, test.test_to_train) == (15, pytest.approx(1 / 9))


def test_cross_validations_are_compared_as_their_scores_are():
    runs = [cross_validate(name, *TABLE, 4, 2) for name in ("default", "ib-m")]
    test = corrected_t_test(*runs)
    assert (test.first, test.second) == ("default", "ib-m")
    plain = corrected_t_test(*(run.scores for run in runs))
    assert dataclasses.replace(test, first="", second="") == plain


def test_splitters_need_the_quotient_where_it_is_not_known():
    cut = ShuffleSplit(3, test_size=5, random_state=0)
    runs = [cross_validate(name, *TABLE, cut, 1) for name in ("default", "ib-m")]
    with pytest.raises(InputError, match="must be given for folds that ShuffleSplit cut"):
        corrected_t_test(*runs)
    assert corrected_t_test(*runs, test_to_train=5 / 12).test_to_train == 5 / 12
    for splitter, known in (("StratifiedKFold x", True), ("RepeatedKFold x", False)):
        pair = result(FIRST, splits=splitter), result(SECOND, splits=splitter)
        if known:
            assert corrected_t_test(*pair).test_to_train == pytest.approx(1 / 9)
        else:
            with pytest.raises(InputError, match="test_to_train"):
                corrected_t_test(*pair)


def test_folds_that_differ_by_the_same_leave_no_doubt():
    scores = np.tile([0.1, 0.7, 0.4], (2, 1))
    same, ahead = corrected_t_test(scores, scores), corrected_t_test(scores + 0.25, scores)
    assert (same.t_statistic, same.p_value, same.interval) == (0, 1, (0, 0))
    assert (ahead.p_value, ahead.t_statistic) == (0, np.inf) or ahead.p_value < 1e-12
    constant = corrected_t_test(np.ones((2, 3)), np.zeros((2, 3)))
    assert (constant.t_statistic, constant.p_value, constant.interval) == (np.inf, 0, (1, 1))
    posterior = bayesian_t_test(np.ones((2, 3)), np.zeros((2, 3)), rope=1)
    assert (posterior.better, posterior.equivalent, posterior.worse) == (0, 1, 0)
    assert bayesian_t_test(np.zeros((2, 3)), np.ones((2, 3))).worse == 1
    assert posterior.interval() == (1, 1)


@pytest.mark.parametrize(
    ("first", "second", "fragment"),
    [
        (FIRST, SECOND[:4], r"shapes are \(5, 10\) and \(4, 10\)"),
        ([0.5], [0.4], "two folds at least; they have 1"),
        ([0.5, np.nan], [0.4, 0.3], "have a score; they have 1"),
        ([0.5, np.inf], [0.4, 0.3], "1 are infinite"),
        (["a", "b"], [0.4, 0.3], "first must hold numbers"),
        (result(FIRST), SECOND, "must both be results of cross_validate"),
        (result(FIRST, seed=1), result(SECOND), "their seed is 1 and 0"),
        (result(FIRST[:, :3], folds=10), result(SECOND), "must have run the same folds"),
    ],
)
def test_scores_that_cannot_be_compared_are_refused(first, second, fragment):
    for call in (corrected_t_test, bayesian_t_test):
        with pytest.raises(InputError, match=fragment):
            call(first, second)


def test_arguments_out_of_range_are_refused():
    with pytest.raises(InputError, match="alpha must be between 0 and 1"):
        corrected_t_test(FIRST, SECOND, alpha=1)
    with pytest.raises(InputError, match="test_to_train must be a positive number"):
        corrected_t_test(FIRST, SECOND, test_to_train=0)
    with pytest.raises(InputError, match="rope must be 0 or a positive number"):
        bayesian_t_test(FIRST, SECOND, rope=-0.01)
    with pytest.raises(InputError, match="level must be between 0 and 1"):
        bayesian_t_test(FIRST, SECOND).interval(95)


# Several learners


def test_differences_are_the_tests_of_each_learner_against_the_control():
    third = SECOND - 0.005 * np.arange(10)
    runs = {"a": result(FIRST), "b": result(SECOND), "c": result(third)}
    found = differences(runs, control="b", rope=0.02)
    assert found.learners == ("a", "c")
    assert (found.tests[0].first, found.tests[0].second) == ("a", "b")
    assert found.tests[0].p_value == corrected_t_test(FIRST, SECOND).p_value
    assert found.posteriors[1].better == bayesian_t_test(third, SECOND, rope=0.02).better
    raw = [test.p_value for test in found.tests]
    np.testing.assert_allclose(found.p_holm, multipletests(raw, method="holm")[1])
    line = found.table().rows[0]
    assert line[:4] == ("a", found.tests[0].difference, *found.tests[0].interval)
    assert sum(line[-3:]) == pytest.approx(1)
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["learners"][1]["p_holm"] == found.p_holm[1]
    assert differences(runs).control == "a"


def test_differences_of_a_comparison_are_those_of_its_summary():
    runs = summarize(compare(["default", "ib-m"], {"t": TABLE}, folds=4, repeats=2)).runs
    found = differences({run.learner: scores for run, scores in runs.items()})
    expected = corrected_t_test(*(cross_validate(k, *TABLE, 4, 2) for k in ("ib-m", "default")))
    assert found.tests[0] == expected


@pytest.mark.parametrize(
    ("runs", "control"), [({}, None), ({"a": result(FIRST)}, None), ({"a": 1, "b": 2}, "c")]
)
def test_differences_need_two_learners_and_one_of_them(runs, control):
    with pytest.raises(InputError, match="runs must hold two learners at least"):
        differences(runs, control=control)
