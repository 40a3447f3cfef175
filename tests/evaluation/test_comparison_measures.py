"""Comparisons of tables with scores, groups and folds of their own, and their results files."""

import csv
import dataclasses
import io

import numpy as np
import pytest
from sklearn.model_selection import KFold

from lrrf_jax import InputError
from lrrf_jax.datasets import LabelRankingData, load
from lrrf_jax.evaluation import comparison, cross_validate, summarize
from lrrf_jax.evaluation.comparison import compare
from lrrf_jax.evaluation.results import FoldResult, ResultsFile
from lrrf_jax.rankings import rankings_from_scores
from tests.evaluation.test_comparison import Seeded, without_times

RNG = np.random.default_rng(0)
N_ROWS = 18
X = RNG.random((N_ROWS, 2)).astype(np.float32)
SCORES = RNG.integers(0, 5, (N_ROWS, 3)).astype(float)
GROUPS = np.repeat(["a", "b", "c", "d", "e", "f"], 3)
FOLDS = np.arange(N_ROWS) % 3
DATA = LabelRankingData(
    X,
    np.asarray(rankings_from_scores(SCORES), np.float32),
    ("f1", "f2"),
    ("red", "green", "blue"),
    "data",
    scores=SCORES,
    folds=FOLDS,
)
TABLES = {
    "data": DATA,
    "groups": {"X": X, "scores": SCORES, "groups": GROUPS, "folds": 3},
    "plain": (X, np.argsort(np.argsort(SCORES + RNG.random(SCORES.shape), 1), 1) + 1),
}
LEARNERS = {"seeded": Seeded(), "default": "default"}


def of(results, data, learner="seeded"):
    return [r for r in results if (r.data, r.learner) == (data, learner)]


@pytest.fixture(scope="module")
def found():
    return compare(LEARNERS, TABLES, repeats=2)


def test_tables_bring_their_own_folds_groups_and_scores(found):
    expected = {
        "data": cross_validate(Seeded(), X, scores=SCORES, folds=FOLDS, repeats=2),
        "groups": cross_validate(Seeded(), X, scores=SCORES, folds=3, groups=GROUPS, repeats=2),
        "plain": cross_validate(Seeded(), *TABLES["plain"], repeats=2),
    }
    summary = summarize(found)
    for data, result in expected.items():
        run = summary.runs[data, 0.0, "seeded"]
        np.testing.assert_array_equal(run.scores, result.scores)
        assert run.measures.keys() == result.measures.keys()
        for name, measured in result.measured.items():
            np.testing.assert_array_equal(run.measured[name].sums, measured.sums)
        assert run.settings | {"params": 0} == result.settings | {"params": 0}
        if result.measured:
            assert run.table() == result.table()._replace(rows=run.table().rows)
    assert len(of(found, "plain")) == 2 * 10
    assert len(of(found, "data")) == len(of(found, "groups")) == 2 * 3


def test_folds_of_the_comparison_go_before_those_of_a_table():
    found = compare(["default"], TABLES, folds=KFold(3), repeats=1)
    assert {(result.folds, result.splits[:5]) for result in found} == {(3, "KFold")}


def test_a_comparison_that_was_cut_off_goes_on_as_if_it_had_not_been(found, tmp_path, monkeypatch):
    path, run_fold, calls = tmp_path / "r.csv", comparison.run_fold, []

    def limited(*arguments):
        if len(calls) == 17:
            raise KeyboardInterrupt
        calls.append(arguments)
        return run_fold(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(comparison, "run_fold", limited)
        with pytest.raises(KeyboardInterrupt):
            compare(LEARNERS, TABLES, repeats=2, results=path)
    assert without_times(compare(LEARNERS, TABLES, repeats=2, results=path)) == without_times(found)
    monkeypatch.setattr(comparison, "run_fold", None)
    assert without_times(compare(LEARNERS, TABLES, repeats=2, results=path)) == without_times(found)


def test_other_folds_groups_targets_and_measures_are_other_results(tmp_path, monkeypatch):
    path, run_fold, calls = tmp_path / "r.csv", comparison.run_fold, []
    monkeypatch.setattr(
        comparison, "run_fold", lambda *arguments: calls.append(1) or run_fold(*arguments)
    )

    def n_run(table, **options):
        calls.clear()
        compare({"s": Seeded()}, {"t": table}, repeats=1, results=path, **options)
        return len(calls)

    base = {"X": X, "scores": SCORES, "folds": FOLDS}
    others = [
        (base, {}),
        ({**base, "folds": np.roll(FOLDS, 1)}, {}),
        ({**base, "folds": 3}, {}),
        ({**base, "folds": 3, "groups": GROUPS}, {}),
        ({**base, "folds": 3, "groups": np.roll(GROUPS, 1)}, {}),
        (base, {"folds": KFold(3)}),
        (base, {"folds": KFold(3, shuffle=True)}),
        (base, {"measures": ["regret"]}),
        (base, {"measures": ["regret", "ndcg"]}),
        (base, {"measures": []}),
        ({**base, "y": DATA.y}, {}),
    ]
    assert [n_run(table, **options) for table, options in others] == [3] * len(others)
    assert [n_run(table, **options) for table, options in others] == [0] * len(others)
    assert n_run(base, measures=["ndcg", "regret"]) == 0
    assert n_run({**base, "folds": "leave-one-out"}) == N_ROWS


@pytest.mark.slow
def test_processes_change_no_measure(found):
    shared = compare(LEARNERS, TABLES, repeats=2, n_jobs=2)
    assert without_times(shared) == without_times(found)


# ------------------------------------------------------------------------------- results files
FORMER = (
    "learner,data,missing,protocol,stratified,folds,repeat,fold,seed,params,version,platform,tau,"
    "fit_seconds,predict_seconds\n"
)
LINES = (
    'default,plain,0.0,delete-once,False,10,0,0,0,"{""a"": 1}",{version},py,0.25,0.5,0.125\n'
    'default,plain,0.0,delete-once,False,10,0,1,0,"{""a"": 1}",{version},py,nan,0.5,0.125\n'
)


def test_files_of_a_former_version_are_read_and_get_the_new_columns_when_added_to(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text(FORMER + LINES)
    first, second = ResultsFile(path).read()
    assert (first.tau, first.splits, first.target, first.measures) == (0.25, "", "rankings", "")
    assert np.isnan(second.tau)
    assert path.read_text() == FORMER + LINES
    new = dataclasses.replace(first, fold=2, splits="given 1", measures='{"regret": null}')
    ResultsFile(path).append([new])
    # Compared as texts, for NaN is not what it was; dataclasses of 3.13 say so.
    assert list(map(repr, ResultsFile(path).read())) == list(map(repr, [first, second, new]))
    rows = list(csv.reader(io.StringIO(path.read_text())))
    assert {len(row) for row in rows} == {18}
    assert rows[0] == [field.name for field in dataclasses.fields(FoldResult)]
    assert [entry.name for entry in tmp_path.iterdir() if "lock" not in entry.name] == ["r.csv"]


def test_results_of_a_former_version_of_the_file_are_not_run_again(found, tmp_path, monkeypatch):
    path = tmp_path / "r.csv"
    plain = [result for result in found if result.data == "plain"]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(dataclasses.astuple(r)[:15] for r in plain)
    path.write_text(FORMER + text.getvalue())
    monkeypatch.setattr(comparison, "run_fold", None)
    again = compare(LEARNERS, {"plain": TABLES["plain"]}, repeats=2, results=path)
    assert again == plain


def test_what_is_written_of_measures_is_read_back_to_the_bit(found, tmp_path):
    file = ResultsFile(tmp_path / "r.csv")
    file.append(found)
    assert file.read() == found
    assert of(found, "data")[0].sums.keys() == {
        *("utility", "regret", "relative_regret", "gap_closed", "hit_rate")
    }


# ------------------------------------------------------------------------------- summaries, errors
def test_results_of_several_cuts_or_measures_of_one_table_are_no_one_comparison(found):
    of_data = of(found, "data")
    for name, value in (("splits", "given 0"), ("target", "rankings"), ("measures", "")):
        other = dataclasses.replace(of_data[1], **{name: value})
        with pytest.raises(InputError, match=f"of one comparison; their {name} on 'data' is"):
            summarize([of_data[0], other])


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (5, "data of lrrf_jax.datasets; 't' is a int"),
        ((X,), "'t' is a tuple"),
        ({"y": 1}, "X always; 't' has no 'X'"),
        ({"X": X, "score": SCORES}, "X always; 't' has 'score'"),
        ({"X": X, "scores": SCORES, "labels": ["a", "b"]}, "labels must hold 3 distinct names"),
    ],
)
def test_tables_of_another_form_are_refused(table, text):
    with pytest.raises(InputError, match=text):
        compare(["default"], {"t": table})


def test_a_table_without_scores_is_refused_where_their_measures_are_asked_for():
    with pytest.raises(InputError, match="'regret' takes what each label is worth"):
        compare(["default"], TABLES, measures=["regret"])


def test_named_labels_of_data_are_told_where_no_training_row_ranks_them():
    scores = np.where(np.arange(N_ROWS)[:, None] * [0, 0, 1] > 0, np.nan, SCORES)
    data = DATA._replace(scores=scores)
    with pytest.warns(UserWarning, match="data: label 'blue' is predicted last in 1 of 3 folds"):
        compare(["default"], {"data": data}, repeats=1)


def test_builtin_data_are_compared_as_they_are_loaded():
    iris = load("iris")
    [one, *_] = compare(["default"], {"iris": iris}, folds=3, repeats=1)
    [other, *_] = compare(["default"], {"iris": (iris.X, iris.y)}, folds=3, repeats=1)
    assert without_times([one]) == without_times([other])
