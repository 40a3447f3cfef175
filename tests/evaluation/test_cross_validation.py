import dataclasses
import itertools
import json
import statistics

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from lrrf_jax import LEARNERS, InputError, RandomForestLabelRanker
from lrrf_jax.datasets import delete_labels, load
from lrrf_jax.evaluation import cross_validate
from tests import oracles

N_ROWS, N_LABELS = 23, 4
X = np.column_stack([np.arange(N_ROWS), np.ones(N_ROWS)])  # the first column numbers the rows
Y = np.argsort(np.random.default_rng(0).random((N_ROWS, N_LABELS)), axis=1) + 1.0


class Recorder(BaseEstimator):
    """Predicts one ranking for all, and keeps what it was given."""

    calls: list = []

    def __init__(self, ranking=(1, 2, 3, 4)):
        self.ranking = ranking

    def fit(self, X, y):
        self.seen_ = X, y
        return self

    def predict(self, X):
        Recorder.calls.append((*self.seen_, X, self))
        return np.tile(self.ranking, (len(X), 1))


class RandomRecorder(Recorder):
    def __init__(self, random_state=None):
        self.random_state = random_state
        self.ranking = (4, 3, 2, 1)


def recorded(learner=None, X=X, y=Y, **arguments):
    Recorder.calls = []
    result = cross_validate(learner or Recorder(), X, y, **{"folds": 5, "repeats": 3, **arguments})
    return result, Recorder.calls


def numbers(rows):
    return np.asarray(rows)[:, 0].astype(int).tolist()


def test_every_row_is_tested_once_a_repeat_and_trained_on_otherwise():
    _, calls = recorded()
    assert len(calls) == 15
    for repeat in (calls[:5], calls[5:10], calls[10:]):
        assert sorted(sum((numbers(test) for _, _, test, _ in repeat), [])) == list(range(N_ROWS))
        assert sorted(len(test) for _, _, test, _ in repeat) == [4, 4, 5, 5, 5]
    for train, _, test, _ in calls:
        assert sorted(numbers(train) + numbers(test)) == list(range(N_ROWS))


def test_repeats_shuffle_anew_and_the_seed_fixes_all():
    def tests(**arguments):
        return [numbers(test) for _, _, test, _ in recorded(**arguments)[1]]

    first = tests()
    assert first[:5] != first[5:10]
    assert tests() == first
    assert tests(seed=1) != first
    assert tests(repeats=1) == first[:5]


def test_all_learners_get_the_same_folds_and_the_same_deleted_labels():
    _, plain = recorded(missing=0.4)
    _, random = recorded(RandomRecorder(), missing=0.4)
    for (train, y, test, _), (other_train, other_y, other_test, _) in zip(
        plain, random, strict=True
    ):
        np.testing.assert_array_equal(train, other_train)
        np.testing.assert_array_equal(y, other_y)
        np.testing.assert_array_equal(test, other_test)


def test_stratified_folds_hold_equal_shares_of_every_ranking():
    rankings = np.tile([[1.0, 2, 3, 4], [4, 3, 2, 1], [np.nan, 2, 1, np.nan]], (8, 1))[:N_ROWS]
    _, calls = recorded(y=rankings, stratified=True)
    repeats = [[numbers(test) for _, _, test, _ in calls[k : k + 5]] for k in (0, 5, 10)]
    for tests in repeats:
        assert sorted(sum(tests, [])) == list(range(N_ROWS))
        assert sorted(map(len, tests)) == [4, 4, 5, 5, 5]
        for kind in range(3):
            shares = [sum(row % 3 == kind for row in test) for test in tests]
            assert max(shares) - min(shares) <= 1
    assert repeats[0] != repeats[1]
    plain = [numbers(test) for _, _, test, _ in recorded(y=rankings)[1]]
    uneven = [[sum(row % 3 == kind for row in test) for test in plain[:5]] for kind in range(3)]
    assert any(max(shares) - min(shares) > 1 for shares in uneven)


def test_stratified_folds_are_shuffled_anew_in_each_repeat_where_all_rankings_differ():
    orders = itertools.islice(itertools.permutations([1.0, 2, 3, 4]), N_ROWS)
    _, calls = recorded(y=np.array(list(orders)), stratified=True)
    repeats = [[numbers(test) for _, _, test, _ in calls[k : k + 5]] for k in (0, 5, 10)]
    assert all(sorted(sum(tests, [])) == list(range(N_ROWS)) for tests in repeats)
    for one, other in itertools.combinations(repeats, 2):
        assert {*map(tuple, one)}.isdisjoint(map(tuple, other))


def test_the_first_folds_alone_are_those_of_a_full_run():
    whole, calls = recorded(RandomRecorder(), missing=0.4)
    first, some = recorded(RandomRecorder(), missing=0.4, folds_run=2)
    np.testing.assert_array_equal(first.scores, whole.scores[:, :2])
    assert len(some) == 6
    for part, other in zip(some, [*calls[0:2], *calls[5:7], *calls[10:12]], strict=True):
        np.testing.assert_array_equal(part[1], other[1])
        assert part[3].random_state == other[3].random_state


def test_folds_do_not_depend_on_the_deletion():
    complete, incomplete = recorded()[1], recorded(missing=0.4)[1]
    for (train, _, test, _), (other_train, _, other_test, _) in zip(
        complete, incomplete, strict=True
    ):
        np.testing.assert_array_equal(train, other_train)
        np.testing.assert_array_equal(test, other_test)


def test_a_row_lacks_the_same_labels_in_every_fold_of_a_repeat():
    _, calls = recorded(missing=0.4)
    tables = []
    for repeat in (calls[:5], calls[5:10], calls[10:]):
        seen = {}
        for train, y, _, _ in repeat:
            for number, ranking in zip(numbers(train), y, strict=True):
                np.testing.assert_array_equal(ranking, seen.setdefault(number, ranking))
        tables.append(np.array([seen[number] for number in range(N_ROWS)]))
    for table in tables:
        missing = np.isnan(table)
        assert 0.2 < missing.mean() < 0.6
        # What is left is the original order, ranked 1..m' again.
        kept = [Y[i][~missing[i]] for i in range(N_ROWS)]
        dense = [oracles.ranks_of_scores((-row).tolist()) for row in kept]
        assert [table[i][~missing[i]].tolist() for i in range(N_ROWS)] == dense
    assert not np.array_equal(tables[0], tables[1], equal_nan=True)


def test_a_larger_share_deletes_the_same_labels_and_more():
    fewer, more = (recorded(missing=share)[1] for share in (0.2, 0.5))
    for (_, y, _, _), (_, other, _, _) in zip(fewer, more, strict=True):
        assert (np.isnan(other) | ~np.isnan(y)).all()
        assert np.isnan(other).sum() > np.isnan(y).sum()


def test_nothing_is_deleted_by_default():
    for train, y, _, _ in recorded()[1]:
        np.testing.assert_array_equal(y, Y[numbers(train)])


@pytest.mark.parametrize("missing", [0, 0.5])
def test_scores_are_the_mean_tau_of_the_complete_test_rankings(missing):
    result, calls = recorded(missing=missing)
    for score, (_, _, test, _) in zip(result.scores.ravel(), calls, strict=True):
        taus = []
        for number in numbers(test):
            concordant, discordant, known = oracles.pair_counts(Y[number].tolist(), [1, 2, 3, 4])
            taus.append((concordant - discordant) / known)
        assert score == pytest.approx(np.mean(taus))
    scores = result.scores.ravel().tolist()
    assert result.mean == pytest.approx(statistics.mean(scores))
    assert result.std == pytest.approx(statistics.stdev(scores))


def test_rows_and_folds_without_a_known_pair_are_left_out():
    y = np.full_like(Y, np.nan)
    y[7, :2] = [2, 1]
    with (
        pytest.warns(UserWarning, match="22 of 23 rows rank too few labels"),
        pytest.warns(UserWarning, match="'L3' is predicted last in 12 of 15 folds.* 1 other"),
    ):
        result, calls = recorded(y=y)
    known = ["7" in map(str, numbers(test)) for _, _, test, _ in calls]
    assert sum(known) == 3
    np.testing.assert_array_equal(result.scores.ravel(), np.where(known, -1, np.nan))
    assert (result.mean, result.std) == (-1, 0)
    assert [row.count(None) for row in result.to_dict()["scores"]] == [4, 4, 4]
    json.dumps(result.to_dict(), allow_nan=False)


def test_each_fold_gets_a_random_state_of_its_own():
    def states(**arguments):
        calls = recorded(RandomRecorder(random_state=7), **arguments)[1]
        return [ranker.random_state for _, _, _, ranker in calls]

    first = states()
    assert len(set(first)) == 15
    assert states(missing=0.3) == states(folds=5) == first
    assert states(seed=1) != first


def test_parts_of_a_pipeline_get_a_random_state_too():
    pipeline = make_pipeline(FunctionTransformer(), RandomRecorder())
    states = [ranker.random_state for _, _, _, ranker in recorded(pipeline)[1]]
    assert None not in states
    assert len(set(states)) == 15


def test_the_estimator_itself_is_left_alone():
    ranker = RandomRecorder(random_state=7)
    _, calls = recorded(ranker)
    assert vars(ranker) == {"random_state": 7, "ranking": (4, 3, 2, 1)}
    assert all(fold_ranker is not ranker for _, _, _, fold_ranker in calls)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_data_frames_stay_data_frames_and_give_the_same_scores(frame):
    table = frame({"row": X[:, 0], "one": X[:, 1]})
    rankings = frame({f"L{k}": Y[:, k] for k in range(N_LABELS)})
    result, calls = recorded(X=table, y=rankings)
    assert all(
        isinstance(part, type(table)) for train, _, test, _ in calls for part in (train, test)
    )
    np.testing.assert_array_equal(result.scores, recorded()[0].scores)
    for (train, _, _, _), (plain, _, _, _) in zip(calls, recorded()[1], strict=True):
        assert numbers(train) == numbers(plain)


def test_a_callback_hears_of_every_fold():
    heard = []
    result, _ = recorded(on_fold=lambda *fold: heard.append(fold))
    assert heard == [(r, f, result.scores[r, f]) for r in range(3) for f in range(5)]


def test_the_result_tells_what_was_done_and_cannot_be_changed():
    result, _ = recorded(
        RandomRecorder(random_state=np.random.RandomState(0)), missing=0.25, seed=3
    )
    document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert document["learner"] == "RandomRecorder"
    settings = document["settings"]
    assert settings.pop("params")["random_state"].startswith("RandomState")
    assert settings == {
        "folds": 5,
        "repeats": 3,
        "missing": 0.25,
        "seed": 3,
        "protocol": "delete-once",
        "stratified": False,
    }
    assert np.shape(document["fit_seconds"]) == np.shape(document["predict_seconds"]) == (3, 5)
    assert np.min(document["fit_seconds"]) >= 0
    assert (document["mean"], document["std"]) == (result.mean, result.std)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.learner = "other"


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        ({"folds": 1}, f"folds must be a whole number from 2 to {N_ROWS}; it is 1"),
        ({"folds": N_ROWS + 1}, f"from 2 to {N_ROWS}; it is {N_ROWS + 1}"),
        ({"folds": 2.5}, "folds must be a whole number"),
        ({"repeats": 0}, "repeats must be a whole number 1 or more; it is 0"),
        ({"folds_run": 6}, "folds_run must be a whole number from 1 to 5; it is 6"),
        ({"protocol": "as-run-by-authors"}, "reproduces one forest only: learner must be 'lr-rf'"),
        ({"seed": -1}, "seed must be a whole number 0 or more"),
        ({"missing": 1}, r"missing must be a probability in \[0, 1\); it is 1"),
        ({"missing": -0.1}, "missing must be a probability"),
        ({"missing": float("nan")}, "missing must be a probability"),
        (
            {"protocol": "authors"},
            "protocol must be one of 'delete-once', 'as-run-by-authors'; it is",
        ),
        ({"learner": "lr-fr"}, f"no learner 'lr-fr'; there are {', '.join(LEARNERS)}"),
        ({"learner": RandomForestLabelRanker}, "learner must be an estimator .*names lr-rf"),
        ({"learner": 3}, "learner must be an estimator"),
        ({"X": X[:5]}, "one row for each row of X; X has 5, y has 23"),
        ({"X": X[:, 0]}, "X must have two dimensions"),
        ({"X": [[1], [1, 2]]}, "different lengths"),
        ({"y": Y * 2}, "y must hold the positions .*; row 0 is"),
        ({"y": np.full_like(Y, np.nan)}, "must rank two labels in one row at least"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(arguments, fragment):
    with pytest.raises(InputError, match=fragment):
        recorded(**arguments)


def test_what_a_learner_refuses_is_told_with_the_fold():
    with pytest.raises(InputError, match="repeat 0, fold 0 .both from 0.: max_depth must be"):
        recorded(RandomForestLabelRanker(max_depth=99))


def test_a_result_is_read_at_a_glance_and_has_no_table_without_measures():
    iris = load("iris")
    result = cross_validate("default", iris.X, iris.y, folds=5, repeats=2)
    plain = result.scores.mean(), result.scores.std(ddof=1)
    assert str(result) == "default: tau {:.4f}, standard deviation {:.4f}, 10 folds".format(*plain)
    with pytest.raises(InputError, match="measures=\\['kendall_tau'\\]"):
        result.table()
    of_tau = cross_validate("default", iris.X, iris.y, folds=5, repeats=2, measures=["kendall_tau"])
    assert of_tau.table().to_markdown().splitlines()[2] == f"| default | {plain[0]:.4f} |".replace(
        " 0.", " ."
    )


def test_a_name_stands_for_the_learner_with_its_defaults():
    iris = load("iris")
    named = cross_validate("default", iris.X, iris.y, 3, 2, 0.6, seed=5)
    given = cross_validate(LEARNERS["default"](), iris.X, iris.y, 3, 2, 0.6, seed=5)
    assert named.learner == given.learner == "default"
    np.testing.assert_array_equal(named.scores, given.scores)
    assert named.settings == given.settings


def test_the_forest_beats_the_default_with_missing_labels():
    iris = load("iris")
    forest = RandomForestLabelRanker(n_estimators=5)
    ranker, again, default = (
        cross_validate(learner, iris.X, iris.y, folds=3, repeats=1, missing=0.3)
        for learner in (forest, forest, "default")
    )
    assert ranker.learner == "lr-rf"
    assert ranker.mean > default.mean + 0.3
    np.testing.assert_array_equal(again.scores, ranker.scores)


def test_deletion_is_that_of_the_datasets():
    _, calls = recorded(missing=0.4, repeats=1)
    whole = delete_labels(Y, 0.4, np.random.default_rng([0, 0, 1]))
    for train, y, _, _ in calls:
        np.testing.assert_array_equal(y, whole[numbers(train)])


class Weighing(Recorder):
    """A recorder that takes weights."""

    def fit(self, X, y, sample_weight=None):
        self.weight_ = sample_weight
        return super().fit(X, y)


def test_weights_of_the_training_rows_reach_the_fit_and_those_of_the_others_the_mean():
    Recorder.calls.clear()
    weight = np.random.default_rng(3).random(N_ROWS) + 0.1
    result = cross_validate(Weighing(), X, Y, folds=4, repeats=1, sample_weight=weight)
    for score, (trained, _, tested, ranker) in zip(result.scores[0], Recorder.calls, strict=True):
        np.testing.assert_array_equal(ranker.weight_, weight[trained[:, 0].astype(int)])
        rows = tested[:, 0].astype(int)
        counts = [oracles.pair_counts(Y[row], ranker.ranking) for row in rows]
        taus = [(agree - disagree) / total for agree, disagree, total in counts]
        assert score == pytest.approx(np.average(taus, weights=weight[rows]))


def test_weights_are_refused_where_nothing_would_be_made_of_them():
    weight = np.arange(1.0, N_ROWS + 1)
    with pytest.raises(InputError, match="Recorder takes no sample_weight"):
        cross_validate(Recorder(), X, Y, folds=4, repeats=1, sample_weight=weight)
    with pytest.raises(InputError, match="knows no weights of rows"):
        cross_validate(
            "lr-rf", X, Y, folds=4, protocol="as-run-by-authors", sample_weight=weight, repeats=1
        )
