"""What `lrrf train` says of rows that the model has not seen."""

import json

import numpy as np
import pytest

from lrrf_jax import LEARNERS, RandomForestLabelRanker, datasets
from lrrf_jax.cli import _estimate
from lrrf_jax.evaluation import cross_validate
from lrrf_jax.learners import ConsensusLabelRanker

FOREST = ("train", "builtin:iris", "--set", "n_estimators=5", "--model")


def test_a_forest_tells_its_out_of_bag_tau_and_is_the_same_model(lrrf, forest_model, tmp_path):
    code, out, err = lrrf(*FOREST, tmp_path / "m", "--json")
    assert code == 0, err
    iris = datasets.load("iris")
    ranker = RandomForestLabelRanker(5, random_state=0, oob_score=True)
    with pytest.warns(UserWarning, match="drawn by every tree"):
        ranker.fit(iris.X, iris.y)
    found = json.loads(out)["estimate"]
    n_rows = int((~np.isnan(ranker.oob_ranking_)).all(axis=1).sum())
    assert found == {"kind": "out-of-bag", "tau": pytest.approx(ranker.oob_score_), "rows": n_rows}
    assert 0 < n_rows < 150
    assert f"out-of-bag tau: {ranker.oob_score_:.3f} ({n_rows} of 150 rows)" in err
    assert json.loads(out)["params"]["oob_score"] is False
    assert lrrf(*FOREST, tmp_path / "n", "--no-check")[0] == 0
    assert (tmp_path / "m").read_bytes() == (tmp_path / "n").read_bytes()
    assert (tmp_path / "m").read_bytes() == forest_model.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in LEARNERS if hasattr(LEARNERS[n](), "oob_score")])
def test_no_forest_is_another_one_for_it(lrrf, tmp_path, name):
    train = ("train", "builtin:iris", "--learner", name, "--set", "n_estimators=3", "--model")
    code, _, err = lrrf(*train, tmp_path / "m")
    assert (code, "out-of-bag tau: 0.9" in err) == (0, True), err
    assert lrrf(*train, tmp_path / "n", "--no-check")[0] == 0
    assert (tmp_path / "m").read_bytes() == (tmp_path / "n").read_bytes()


def test_other_learners_tell_a_cross_validated_tau(lrrf, toy, tmp_path):
    arguments = ("train", toy, "--features", "A*", "--learner", "default", "--seed", 3)
    code, out, err = lrrf(*arguments, "--model", tmp_path / "m", "--json")
    assert code == 0, err
    data = datasets.read(toy, features="A*")
    expected = cross_validate(ConsensusLabelRanker(), data.X, data.y, folds=5, repeats=1, seed=3)
    found = json.loads(out)["estimate"]
    assert (found["kind"], found["folds"], found["of"]) == ("cross-validated", 5, "rows")
    assert found["tau"] == expected.mean
    assert f"cross-validated tau: {expected.mean:.3f} (5 folds, " in err


def test_folds_and_groups_of_the_data_are_heeded(lrrf, toy, tmp_path):
    lines = toy.read_text().splitlines()
    lines = [f"{line},{'fold' if i == 0 else i % 3}" for i, line in enumerate(lines)]
    (tmp_path / "folds.csv").write_text("\n".join(lines))
    arguments = ("train", tmp_path / "folds.csv", "--features", "A*", "--learner", "default")
    arguments = (*arguments, "--model", tmp_path / "m", "--json")
    data = datasets.read(tmp_path / "folds.csv", features="A*", fold_column="fold")
    groups = data.folds
    expected = {
        "--fold-column": cross_validate(
            ConsensusLabelRanker(), data.X, data.y, folds=data.folds, repeats=1
        ),
        "--group-column": cross_validate(
            ConsensusLabelRanker(), data.X, data.y, folds=3, groups=groups, repeats=1
        ),
    }
    for option, result in expected.items():
        code, out, err = lrrf(*arguments, option, "fold")
        assert code == 0, err
        found = json.loads(out)["estimate"]
        assert (found["folds"], found["tau"]) == (3, result.mean), option
        assert ("of whole groups" in err) == (option == "--group-column")


def test_large_tables_and_those_that_cannot_be_cut_are_not_checked(
    lrrf, toy, tmp_path, monkeypatch
):
    monkeypatch.setattr(_estimate, "_CROSS_VALIDATED", 10)
    arguments = ("train", toy, "--features", "A*", "--learner", "default")
    arguments = (*arguments, "--model", tmp_path / "m")
    code, out, err = lrrf(*arguments, "--json")
    assert (code, json.loads(out)["estimate"]) == (0, None)
    assert "tau on new rows: not estimated (more than 10 rows; --check does it" in err
    assert "cross-validated tau" in lrrf(*arguments, "--check")[2]
    assert "tau" not in lrrf(*arguments, "--no-check")[2]
    (tmp_path / "one.csv").write_text("A1,L1,L2\n1,1,2\n")
    code, _, err = lrrf(
        "train", tmp_path / "one.csv", "--learner", "default", "--model", tmp_path / "m"
    )
    assert code == 0
    assert "tau on new rows: not estimated (" in err


def test_a_single_row_is_cut_into_no_folds(lrrf, tmp_path):
    table = tmp_path / "one.csv"
    table.write_text("a,L1,L2\n1,2,1\n")
    code, _, err = lrrf("train", table, "--learner", "default", "--model", tmp_path / "m")
    assert code == 0, err
    assert "not estimated (a single row, or group, cannot be cut into folds)" in err
