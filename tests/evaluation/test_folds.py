"""How rows are cut: by groups, fold numbers, splitters, and each row alone."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

from lrrf_jax import InputError
from lrrf_jax.evaluation import cross_validate
from lrrf_jax.evaluation.folds import as_splits, fold_of, folds_of

N_ROWS = 24
X = np.column_stack([np.arange(N_ROWS), np.ones(N_ROWS)])  # the first column numbers the rows
Y = np.argsort(np.random.default_rng(0).random((N_ROWS, 3)), axis=1) + 1.0
SIZES = (6, 1, 2, 5, 3, 1, 4, 2)
GROUPS = np.random.default_rng(1).permutation(np.repeat(np.arange(8), SIZES))


class Recorder(BaseEstimator):
    """Predicts one ranking for all, and keeps the numbers of the rows."""

    calls: list = []

    def fit(self, X, y):
        self.trained_ = np.asarray(X)[:, 0].astype(int).tolist()
        return self

    def predict(self, X):
        Recorder.calls.append((self.trained_, np.asarray(X)[:, 0].astype(int).tolist()))
        return np.tile([1, 2, 3], (len(X), 1))


def recorded(n_rows=N_ROWS, repeats=1, **arguments):
    Recorder.calls = []
    result = cross_validate(Recorder(), X[:n_rows], Y[:n_rows], repeats=repeats, **arguments)
    return result, Recorder.calls


def rows_tested(**arguments):
    return [test for _, test in recorded(**arguments)[1]]


# ------------------------------------------------------------------------------- groups
@pytest.mark.parametrize("folds", [2, 3, 5, 8])
def test_no_group_is_split_and_all_rows_are_tested_once(folds):
    result, calls = recorded(folds=folds, repeats=2, groups=GROUPS)
    assert result.scores.shape == (2, folds)
    for repeat in (calls[:folds], calls[folds:]):
        assert sorted(row for _, test in repeat for row in test) == list(range(N_ROWS))
        sizes = [len(test) for _, test in repeat]
        assert min(sizes) > 0
        assert max(sizes) - min(sizes) <= max(SIZES)
    for train, test in calls:
        assert not set(GROUPS[train]) & set(GROUPS[test])
        assert sorted(train + test) == list(range(N_ROWS))


def test_without_a_number_there_are_as_many_folds_as_groups_up_to_ten():
    assert as_splits(None, X, Y).n_folds == 10
    assert as_splits(None, X, Y, GROUPS).n_folds == 8
    assert as_splits(None, X, Y, np.arange(N_ROWS)).n_folds == 10


def test_groups_of_one_row_give_folds_of_near_equal_size():
    sizes = [len(test) for test in rows_tested(folds=5, groups=np.arange(N_ROWS))]
    assert sorted(sizes) == [4, 5, 5, 5, 5]


def test_groups_are_shuffled_anew_in_each_repeat_and_the_seed_fixes_all():
    first = rows_tested(folds=3, repeats=2, groups=GROUPS)
    assert first[:3] != first[3:]
    assert rows_tested(folds=3, repeats=2, groups=GROUPS) == first
    assert rows_tested(folds=3, repeats=2, groups=GROUPS, seed=1) != first
    assert rows_tested(folds=3, groups=GROUPS) == first[:3]


@pytest.mark.parametrize(
    "as_given",
    [
        list,
        pd.Series,
        lambda g: pl.Series([f"patient {k}" for k in g]),
        lambda g: pa.array(g.tolist()),
        lambda g: [(int(k), "x") for k in g],
        lambda g: pd.Categorical(g.astype(str)),
        lambda g: [k if k else "none" for k in g.tolist()],
        lambda g: g.astype("datetime64[D]"),
    ],
)
def test_groups_may_be_called_anything_that_can_be_told_apart(as_given):
    assert rows_tested(folds=3, groups=as_given(GROUPS)) == rows_tested(folds=3, groups=GROUPS)


# ------------------------------------------------------------------------------- splitters
@pytest.mark.parametrize(
    ("splitter", "groups"),
    [
        (KFold(4), None),
        (KFold(4, shuffle=True, random_state=3), None),
        (GroupKFold(3), GROUPS),
        (LeaveOneGroupOut(), GROUPS),
        (ShuffleSplit(3, random_state=0), None),
        (TimeSeriesSplit(3), None),
        (PredefinedSplit(np.arange(N_ROWS) % 3), None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_splitter_is_respected(splitter, groups):
    expected = [
        (train.tolist(), sorted(test.tolist())) for train, test in splitter.split(X, None, groups)
    ]
    _, calls = recorded(folds=splitter, groups=groups, repeats=2)
    assert calls == [(sorted(train), test) for train, test in expected] * 2


def test_a_splitter_without_a_random_state_gets_that_of_the_seed_and_the_repeat():
    splitter = KFold(4, shuffle=True)
    first = rows_tested(folds=splitter, repeats=2)
    assert first[:4] != first[4:]
    assert rows_tested(folds=splitter, repeats=2) == first
    assert rows_tested(folds=splitter, repeats=2, seed=1) != first
    assert splitter.random_state is None
    stateful = KFold(4, shuffle=True, random_state=np.random.RandomState(0))
    assert rows_tested(folds=stateful, repeats=2)[:4] == rows_tested(folds=stateful)


def test_a_stratified_splitter_gets_the_number_of_the_ranking():
    y = np.repeat([[1.0, 2, 3], [3, 2, 1]], 12, axis=0)
    Recorder.calls = []
    cross_validate(Recorder(), X, y, StratifiedKFold(3), 1)
    assert [sum(row < 12 for row in test) for _, test in Recorder.calls] == [4, 4, 4]


class Masks:
    """Cuts by masks, two halves."""

    def split(self, X, y=None, groups=None):
        first = np.arange(len(X)) < len(X) // 2
        yield from ((first, ~first), (~first, first))


class Wrong(Masks):
    def __init__(self, parts):
        self.parts = parts

    def split(self, X, y=None, groups=None):
        yield from self.parts


def test_a_splitter_of_ones_own_may_cut_by_masks():
    assert rows_tested(folds=Masks()) == [list(range(12, 24)), list(range(12))]


def test_groups_that_are_no_plain_values_reach_a_splitter_too():
    expected = rows_tested(folds=GroupKFold(3), groups=GROUPS)
    found = rows_tested(folds=GroupKFold(3), groups=[(k, "x") for k in GROUPS.tolist()])
    assert sorted(found) == sorted(expected)


def test_a_splitter_that_ignores_groups_will_do_where_it_keeps_them_together():
    groups = np.arange(N_ROWS) // 6
    assert rows_tested(folds=KFold(4), groups=groups) == rows_tested(folds=KFold(4))


# ------------------------------------------------------------------------------- given folds
@pytest.mark.parametrize("as_given", [np.asarray, list, pd.Series, pl.Series, pa.array])
def test_a_fold_number_for_each_row_says_where_it_is_tested(as_given):
    numbers = np.array([7, 10, 7, 2] * 6)
    _, calls = recorded(folds=as_given(numbers), repeats=2)
    expected = [np.flatnonzero(numbers == fold).tolist() for fold in (2, 7, 10)]
    assert [test for _, test in calls] == expected * 2
    assert all(sorted(train + test) == list(range(N_ROWS)) for train, test in calls)


def test_given_folds_that_keep_groups_together_go_with_groups():
    numbers = GROUPS % 3
    assert rows_tested(folds=numbers, groups=GROUPS) == rows_tested(folds=numbers)


def test_leave_one_out_tests_each_row_by_all_others():
    result, calls = recorded(12, folds="leave-one-out")
    assert result.scores.shape == (1, 12)
    assert calls == [([i for i in range(12) if i != row], [row]) for row in range(12)]
    assert result.settings["folds"] == 12


def test_leave_one_out_with_groups_tests_each_group_by_all_others():
    calls = recorded(folds="leave-one-out", groups=GROUPS)[1]
    expected = {tuple(np.flatnonzero(GROUPS == group)) for group in range(8)}
    assert {tuple(test) for _, test in calls} == expected
    assert len(calls) == 8


def test_the_first_folds_alone_are_those_of_a_full_run_however_they_are_cut():
    for how in ({"folds": 5, "groups": GROUPS}, {"folds": KFold(4)}, {"folds": "leave-one-out"}):
        whole, some = recorded(**how), recorded(**how, folds_run=2)
        assert some[1] == whole[1][:2]
        np.testing.assert_array_equal(some[0].scores, whole[0].scores[:, :2])


def test_names_of_cuts_tell_them_apart_and_equal_ones_alike():
    def name(folds, groups=None):
        return as_splits(folds, X, Y, groups).name

    assert name(5) == ""
    assert name(5, GROUPS) == name(3, [f"g{k}" for k in GROUPS])  # the number is told beside it
    names = [
        name(5, GROUPS),
        name(5, np.roll(GROUPS, 1)),
        name("leave-one-out"),
        name("leave-one-out", GROUPS),
        name(GROUPS),
        name(np.roll(GROUPS, 1)),
        name(KFold(3)),
        name(KFold(4)),
        name(KFold(3, shuffle=True, random_state=0)),
    ]
    assert len(set(names)) == len(names)
    assert name(10 * GROUPS) == name(GROUPS)


def test_a_splitter_that_cuts_fewer_folds_later_is_refused():
    splits = as_splits(KFold(3), X, Y)
    assert len(list(folds_of(Y, splits, 0, 0, False))) == 3
    short = as_splits(Wrong([([0], [1]), ([1], [0])]), X, Y)
    with pytest.raises(InputError, match="as many folds each time; .* cut 2 at first"):
        fold_of(Y, short, 0, 2, 0, False)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"folds": 1}, "folds must be a whole number from 2 to 24; it is 1"),
        (
            {"folds": 9, "groups": GROUPS},
            "not be more than the groups, of which there are 8; it is 9",
        ),
        ({"folds": "given"}, "folds must be a whole number, 'leave-one-out', a fold number for"),
        (
            {"folds": [3] * 24},
            "two folds at least, as each is tested by what the others train; all",
        ),
        ({"folds": [1, 2]}, "one fold number per row, shape (24,); it has shape (2,)"),
        ({"folds": [0.5, *[1] * 23]}, "whole numbers; row 0 is 0.5 (1 of 24 rows fail)"),
        ({"folds": [None, 1, *[2] * 22]}, "whole numbers; row 0 is nan"),
        ({"folds": ["a", *["b"] * 23]}, "folds must hold numbers"),
        ({"folds": {}}, "folds must be a whole number"),
        ({"groups": [1, 2]}, "there are 24 rows, and groups has 2"),
        ({"groups": "abc"}, "groups must name one group per row, 24 in all; it is 'abc'"),
        ({"groups": 5}, "groups must name one group per row"),
        ({"groups": [np.nan, *range(22), None]}, "row 0 has none (2 of 24 rows fail)"),
        ({"groups": [pd.NA, *range(23)]}, "row 0 has none (1 of 24 rows fail)"),
        ({"groups": [[1], *range(23)]}, "told apart by hash"),
        ({"groups": np.ones((24, 2))}, "told apart by hash"),
        ({"groups": [1] * 24}, "groups must name two groups at least"),
        ({"groups": GROUPS, "folds": KFold(3)}, "must not split groups"),
        ({"groups": GROUPS, "folds": np.arange(24) % 2}, "is on both sides ("),
        ({"groups": GROUPS, "stratified": True}, "stratified must be False where groups"),
        ({"folds": KFold(3), "stratified": True}, "stratified must be False where groups"),
        ({"folds": Wrong([])}, "a splitter that cuts one fold at least"),
        ({"folds": Wrong([([0, 1], [1, 2])])}, "tests no row it trains on; fold 0 of"),
        ({"folds": Wrong([([0, 1], [24])])}, "cuts row numbers from 0 to 23"),
        ({"folds": Wrong([([0, 1], [])])}, "one at least to train on and one to test; fold 0"),
        ({"folds": Wrong([([0.5], [1.5])])}, "cuts row numbers"),
        ({"folds": GROUPS, "folds_run": 9}, "folds_run must be a whole number from 1 to 8"),
    ],
)
def test_cuts_that_cannot_be_made_are_refused(arguments, text):
    with pytest.raises(InputError, match=re.escape(text)):
        recorded(**{"folds": 3, **arguments})
