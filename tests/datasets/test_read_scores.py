"""Files of scores, and the columns that say folds and groups."""

import pathlib

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata

from lrrf_jax._validation import InputError
from lrrf_jax.datasets import read

NAN = np.nan
SHARED = pathlib.Path(__file__).parents[2].parent / "shared/data/aslib/cpmp-2015.csv.gz"
SCORES = np.array([[0.1, 0.7, 0.7], [-1, NAN, 3], [0, 0, 0], [5, 4, 1e300]])
FRAME = pd.DataFrame(SCORES, columns=["U1", "U2", "U3"]).assign(
    A=[1.0, 2, 3, 4], fold=[2, 1, 2, 1], mill=["north", "north", "01", "1"]
)
WANTED = {"scores": "U*", "fold_column": "fold", "group_column": "mill"}


def saved(folder, suffix, frame=FRAME):
    path = folder / f"t.{suffix}"
    if suffix == "parquet":
        frame.to_parquet(path)
    elif suffix == "arrow":
        frame.to_feather(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if suffix == "tsv" else ",")
    return path


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "arrow"])
def test_scores_come_back_with_their_order_folds_and_groups(tmp_path, suffix):
    data = read(saved(tmp_path, suffix), **WANTED)
    np.testing.assert_array_equal(data.scores, SCORES)
    np.testing.assert_array_equal(data.y, rankdata(-SCORES, axis=1, nan_policy="omit"))
    assert data.labels == ("U1", "U2", "U3")
    assert data.feature_names == ("A",)
    assert data.folds.tolist() == [2, 1, 2, 1]
    assert data.groups.tolist() == ["north", "north", "01", "1"]
    assert (data.scores.dtype, data.y.dtype, data.folds.dtype) == (float, np.float32, np.int64)
    assert data.ignored == ()


def test_costs_are_scores_with_the_other_sign(tmp_path):
    path = saved(tmp_path, "csv")
    data = read(path, lower_is_better=True, exclude="mill", **{"scores": "U*", "features": "A"})
    np.testing.assert_array_equal(data.scores, -SCORES)
    assert not np.signbit(data.scores[2]).any()
    np.testing.assert_array_equal(data.y, rankdata(SCORES, axis=1, nan_policy="omit"))
    assert data.ignored == ("fold", "mill")


def test_scores_and_the_convention_are_one_thing(tmp_path):
    path = saved(tmp_path, "csv", FRAME.drop(columns="mill"))
    for more in ({}, {"lower_is_better": True}):
        one = read(path, scores="U*", **more)
        other = read(path, labels="U*", convention="scores", **more)
        for a, b in zip(one, other, strict=True):
            np.testing.assert_equal(a, b)
    assert read(path, scores="U*", convention="scores").labels == one.labels


def test_arrays_of_scores_are_read_by_range_and_by_name(tmp_path):
    np.save(tmp_path / "t.npy", FRAME[["A", "U1", "U2", "U3"]].to_numpy())
    data = read(tmp_path / "t.npy", scores="last:3", lower_is_better=True)
    np.testing.assert_array_equal(data.scores, -SCORES)
    arrays = {"X": FRAME[["A"]].to_numpy(), "scores": SCORES, "labels": np.array(["a", "b", "c"])}
    groups = FRAME["mill"].to_numpy(str)
    np.savez(tmp_path / "t.npz", **arrays, folds=FRAME["fold"], groups=groups)
    data = read(tmp_path / "t.npz")
    np.testing.assert_array_equal(data.scores, SCORES)
    np.testing.assert_array_equal(data.y, rankdata(-SCORES, axis=1, nan_policy="omit"))
    assert (data.folds.tolist(), data.groups.tolist()) == ([2, 1, 2, 1], groups.tolist())
    assert data.labels == ("a", "b", "c")
    np.testing.assert_array_equal(read(tmp_path / "t.npz", lower_is_better=True).scores, -SCORES)


def test_groups_of_typed_files_keep_their_type(tmp_path):
    frame = FRAME.assign(mill=[7, 7, 9, 9])
    assert read(saved(tmp_path, "parquet", frame), **WANTED).groups.tolist() == [7, 7, 9, 9]
    assert read(saved(tmp_path, "csv", frame), **WANTED).groups.tolist() == ["7", "7", "9", "9"]
    frame = FRAME.assign(mill=FRAME["mill"].astype("category"))
    groups = read(saved(tmp_path, "parquet", frame), **WANTED).groups
    assert groups.tolist() == FRAME["mill"].tolist()


def test_a_forgotten_column_of_scores_is_warned_of(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).random((30, 4)), columns=["A", "U1", "U2", "U3"])
    with pytest.warns(UserWarning, match=r"'U3' is read as a feature.*scores= \(--scores\)"):
        read(saved(tmp_path, "csv", frame), scores="U1,U2")


REFUSED = {
    "both": ({"scores": "U*", "labels": "U*"}, "give scores= or labels=, not both"),
    "text too": ({"scores": "U*", "ranking": "mill"}, "give scores= or ranking=, not both"),
    "orderings": ({"scores": "U*", "convention": "orderings"}, "scores= or convention="),
    "costs of what": ({"labels": "U*", "lower_is_better": True}, "is for scores"),
    "no match": ({"scores": "V*"}, "scores asks for 'V\\*'"),
    "one score": ({"scores": "U1"}, "with scores= \\(--scores\\)"),
    "no fold": ({**WANTED, "fold_column": "Fold"}, "fold_column asks for 'Fold'.*Close.*'fold'"),
    "text folds": ({**WANTED, "fold_column": "mill"}, "column 'mill' must hold numbers"),
    "a fold as feature": ({**WANTED, "features": "A,fold"}, "in features= and in fold_column="),
    "a group as score": ({**WANTED, "group_column": "U1", "scores": "U1,U2"}, "scores=|labels="),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_asked_for_twice_or_is_not_there_is_refused(tmp_path, case):
    arguments, message = REFUSED[case]
    with pytest.raises(InputError, match=message):
        read(saved(tmp_path, "csv"), **arguments)


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("fold", "", "'fold' must hold the fold of every row.*row 2 .*nan .1 of 4"),
        ("fold", "1.5", "'fold' must hold the fold of every row.*row 2 .*1.5"),
        ("fold", "1e300", "a whole number; row 2"),
        ("mill", "NA", "'mill' must hold the group of every row; row 2 .line 3. has none .1 of 4"),
        ("U2", "x", "'U2' must hold numbers"),
    ],
)
def test_a_row_without_fold_or_group_is_named(tmp_path, column, cell, message):
    frame = FRAME.astype(object)
    frame.loc[1, column] = cell
    with pytest.raises(InputError, match=message):
        read(saved(tmp_path, "csv", frame), **WANTED)


def test_arrays_that_do_not_fit_are_refused(tmp_path):
    path, X = tmp_path / "t.npz", np.ones((4, 1))
    for arrays, message in [
        ({"scores": SCORES, "y": np.ones((4, 3))}, "both arrays"),
        ({"scores": SCORES, "folds": np.arange(3)}, "'folds' must hold a fold a row"),
        ({"scores": SCORES, "folds": np.full(4, 0.5)}, "'folds' must hold the fold"),
        ({"scores": SCORES, "groups": np.ones((4, 2))}, "'groups' must hold a group a row"),
    ]:
        np.savez(path, X=X, **arrays)
        with pytest.raises(InputError, match=message):
            read(path)
    np.savez(path, X=X, scores=SCORES)
    with pytest.raises(InputError, match="the file holds 'scores'"):
        read(path, convention="orderings")


@pytest.mark.skipif(not SHARED.exists(), reason="the scenario is not there")
def test_a_scenario_as_a_table_has_the_ties_and_folds_that_its_readme_tells():
    data = read(SHARED, scores="U*", fold_column="fold")
    assert (data.X.shape, data.labels) == ((527, 22), ("U1", "U2", "U3", "U4"))
    frame = pd.read_csv(SHARED)
    np.testing.assert_array_equal(data.scores, frame[["U1", "U2", "U3", "U4"]])
    np.testing.assert_array_equal(data.folds, frame["fold"])
    assert len(set(data.folds.tolist())) == 10
    ties = [len(set(row)) < 4 for row in data.y.tolist()]
    assert round(np.mean(ties), 2) == 0.47
