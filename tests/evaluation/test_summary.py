import dataclasses

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from lrrf_jax import InputError
from lrrf_jax.evaluation import ComparisonError, compare, cross_validate, summarize

RNG = np.random.default_rng(0)
TABLES = {
    name: (RNG.random((n, 2)), np.argsort(np.argsort(RNG.random((n, 3)), 1), 1) + 1.0)
    for name, n in (("one", 17), ("two", 23))
}
RUN = {"folds": 4, "repeats": 2, "missing": [0.0, 0.4]}


class Random(BaseEstimator):
    """Predicts at random, as its seed says."""

    def __init__(self, random_state=None, fails_on=None):
        self.random_state, self.fails_on = random_state, fails_on

    def fit(self, X, y):
        if self.fails_on == len(X):
            raise ZeroDivisionError("on purpose")
        return self

    def predict(self, X):
        draws = np.random.default_rng(self.random_state).random((len(X), 3))
        return np.argsort(np.argsort(draws, 1), 1) + 1


@pytest.fixture(scope="module")
def found():
    return compare({"random": Random(), "default": "default"}, TABLES, **RUN)


@pytest.mark.parametrize("order", [1, -1])
def test_a_summary_holds_what_cross_validate_gives_in_any_order_of_the_folds(found, order):
    summary = summarize(found[::order])
    assert summary.datasets == ("one", "two")[::order]
    assert summary.learners == ("random", "default")[::order]
    assert summary.shares == (0.0, 0.4)[::order]
    assert len(summary.runs) == 8
    for (data, missing, learner), result in summary.runs.items():
        estimator = Random() if learner == "random" else learner
        expected = cross_validate(estimator, *TABLES[data], 4, 2, missing)
        np.testing.assert_array_equal(result.scores, expected.scores)
        assert result.settings == expected.settings
        table = summary.scores(missing)
        at = table.datasets.index(data), table.methods.index(learner)
        assert table.scores[at] == expected.mean


def test_folds_that_are_not_there_are_nan(found):
    kept = [
        result
        for result in found
        if (result.data, result.learner) != ("two", "default") and result.fold != 1
    ]
    summary = summarize(kept)
    assert np.isnan(summary.scores(0.4).scores).tolist() == [[False, False], [False, True]]
    scores = summary.runs["one", 0.4, "random"].scores
    assert scores.shape == (2, 4)
    assert np.isnan(scores).all(0).tolist() == [False, True, False, False]
    document = summary.runs["one", 0.4, "random"].to_dict()
    assert document["scores"][0][1] is document["fit_seconds"][0][1] is None


@pytest.mark.parametrize(
    ("changes", "fragment"),
    [
        ({"seed": 1}, "their seed is 0 and 1"),
        ({"protocol": "as-run-by-authors"}, "their protocol is 'delete-once'"),
        ({"folds": 5}, "their folds is 4 and 5"),
        ({"version": "0"}, "their version is"),
        ({"params": "{}"}, "'default' ran on 'two' with"),
    ],
)
def test_results_of_two_comparisons_are_refused(found, changes, fragment):
    found = [dataclasses.replace(result, params='{"a": 1}') for result in found]
    with pytest.raises(InputError, match=fragment):
        summarize([*found, dataclasses.replace(found[-1], **changes)])
    with pytest.raises(InputError, match="one fold at least"):
        summarize([])


def test_an_error_hands_over_what_is_finished_and_what_failed():
    learners = {"random": Random(fails_on=12), "default": "default"}  # 5 test rows of 17
    with pytest.raises(ComparisonError) as caught:
        compare(learners, TABLES, folds=4, repeats=2)
    failed = [
        (fold.data, fold.learner, fold.repeat, fold.fold) for fold, _ in caught.value.failures
    ]
    assert failed == [("one", "random", 0, 0), ("one", "random", 1, 0)]
    assert {type(error) for _, error in caught.value.failures} == {ZeroDivisionError}
    assert len(caught.value.finished) == 2 * 2 * 8 - 2
    assert not any(np.isnan(fold.fit_seconds) for fold in caught.value.finished)
