"""Scores, scenarios and made-up tables on the command line."""

import json

import numpy as np
import pandas as pd
import pytest

import lrrf_jax
from lrrf_jax import LEARNERS
from lrrf_jax.datasets import load, read_aslib
from tests.datasets.scenarios import write_scenario

TRAIN = ("train", "--learner", "default", "--model")


@pytest.fixture
def seconds(tmp_path):
    """A table of runtimes, of which 9 means a timeout."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(1, 10, (40, 3)), columns=["sec_a", "sec_b", "sec_c"])
    table = table.assign(size=table["sec_a"] + rng.random(40), lab=["x", "y"] * 20)
    table["fold"] = np.arange(40) % 4
    path = tmp_path / "seconds.csv"
    table.to_csv(path, index=False)
    return path, table


def test_a_forest_is_trained_from_costs_as_from_python(lrrf, tmp_path, seconds):
    path, table = seconds
    settings = ("--set", "n_estimators=3", "--set", "max_depth=2", "--seed", "4")
    options = ("--scores", "sec*", "--lower-is-better", "--fold-column", "fold", "--exclude", "lab")
    code, out, err = lrrf("train", path, "--model", tmp_path / "m", *options, *settings, "--json")
    assert code == 0, err
    document = json.loads(out)
    assert (document["features"], document["labels"]) == (["size"], ["sec_a", "sec_b", "sec_c"])
    assert document["scores"] is True
    costs = table[["sec_a", "sec_b", "sec_c"]].to_numpy()
    ties = np.mean([len(set(row)) < 3 for row in costs.tolist()])
    assert 0 < ties < 1
    assert "folds: 4, which training does not use" in err
    assert f"labels have scores; {ties:.0%} of the rows tie some" in err
    ranker = lrrf_jax.load(tmp_path / "m")
    same = LEARNERS["lr-rf"](n_estimators=3, max_depth=2, random_state=4)
    X = table[["size"]].to_numpy(np.float32)
    same.fit(X, scores=-costs, labels=document["labels"])
    np.testing.assert_array_equal(ranker.predict(X), same.predict(X))
    np.testing.assert_array_equal(ranker.predict_scores(X), same.predict_scores(X))


def test_a_convention_says_the_same_as_the_option(lrrf, tmp_path, seconds):
    path, _ = seconds
    rest = ("--features", "size", "--lower-is-better")
    for name, option in (
        ("a", ("--scores", "sec*")),
        ("b", ("--labels", "sec*", "--convention", "scores")),
    ):
        assert lrrf(*TRAIN, tmp_path / name, path, *option, *rest)[0] == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--scores", "sec*", "--labels", "sec*"), "scores= or labels="),
        (("--labels", "sec*", "--lower-is-better"), "(--lower-is-better) is for scores"),
        (("--scores", "time*"), "scores asks for 'time*'"),
        (("--scores", "sec*", "--fold-column", "Fold"), "fold_column asks for 'Fold'"),
    ],
)
def test_options_that_do_not_fit_are_told(lrrf, tmp_path, seconds, options, message):
    code, _, err = lrrf(*TRAIN, tmp_path / "m", seconds[0], *options)
    assert code == 3
    assert message in err


def test_a_scenario_is_trained_on_described_ranked_and_scored(lrrf, tmp_path):
    folder = write_scenario(tmp_path / "toy")
    source, model = f"aslib:{folder}", tmp_path / "m"
    code, _, err = lrrf(*TRAIN, model, source)
    assert code == 0, err
    assert "labels (3): MZN/x-free, b solver, local" in err
    expected = LEARNERS["default"]().fit(*read_aslib(folder)[:2])
    assert (
        lrrf_jax.load(model).predict([[1, 0, 0]]).tolist() == expected.predict([[1, 0, 0]]).tolist()
    )
    code, out, _ = lrrf("datasets", "describe", source, "--json")
    facts = json.loads(out)
    assert (facts["rows"], facts["folds"], facts["rankings_with_ties"]) == (3, 2, 1)
    assert facts["rows_with_label_first"] == [1, 2, 0]
    assert lrrf("predict", model, source, "--output", tmp_path / "r.csv")[0] == 0
    assert len(pd.read_csv(tmp_path / "r.csv")) == 3
    code, out, err = lrrf("evaluate", source, "--model", model, "--json")
    assert code == 0, err
    assert json.loads(out)["results"][0]["rows"] == 3


@pytest.mark.parametrize("command", ["train", "evaluate"])
def test_a_scenario_that_is_not_there_and_columns_of_one_are_refused(lrrf, tmp_path, command):
    rest = ("--model", tmp_path / "m") if command == "train" else ("--folds", "2")
    code, _, err = lrrf(command, f"aslib:{tmp_path}", *rest, "--learner", "default")
    assert code == 3
    assert "description.txt: there is no such file" in err
    source = f"aslib:{write_scenario(tmp_path / 'toy')}"
    if command == "train":
        code, _, err = lrrf(command, source, *rest, "--scores", "a")
        assert code == 2
        assert "has fixed columns" in err


@pytest.mark.parametrize("name", ["algorithms", "reactions"])
def test_made_up_tables_are_listed_and_trained_on(lrrf, tmp_path, name):
    code, out, _ = lrrf("datasets", "list", "--json")
    data = load(name)
    entry = next(e for e in json.loads(out)["datasets"] if e["data"] == f"builtin:{name}")
    assert (entry["rows"], entry["labels"]) == data.y.shape
    code, _, err = lrrf(*TRAIN, tmp_path / "m", f"builtin:{name}")
    assert code == 0, err
