import json

import numpy as np
import pytest

import lrrf_jax
from lrrf_jax import datasets, metrics
from lrrf_jax.cli._model_scores import METRICS
from lrrf_jax.evaluation import cross_validate

FAST = ("--learner", "default", "--folds", 3, "--repeats", 2)


def test_the_table_has_a_line_for_each_data_set_and_learner(lrrf, toy):
    code, out, err = lrrf("evaluate", "builtin:iris", toy, *FAST, "--features", "A*")
    assert code == 2  # built-in data have fixed columns
    code, out, err = lrrf("evaluate", "builtin:iris", "builtin:wine", *FAST)
    assert (code, err) == (0, "")
    header, *lines = [line.split() for line in out.splitlines()]
    assert header[:7] == ["data", "rows", "features", "labels", "learner", "tau", "std"]
    assert [line[:5] for line in lines] == [
        ["builtin:iris", "150", "4", "3", "default"],
        ["builtin:wine", "178", "13", "3", "default"],
    ]
    iris = datasets.load("iris")
    result = cross_validate("default", iris.X, iris.y, folds=3, repeats=2)
    assert lines[0][5:7] == [f"{result.mean:.4f}", f"{result.std:.4f}"]


def test_json_tells_every_fold_and_the_settings(lrrf):
    arguments = ("--missing", 0.3, "--seed", 4, "--json")
    code, out, _ = lrrf("evaluate", "builtin:iris", *FAST, *arguments)
    assert code == 0
    [result] = json.loads(out)["results"]
    iris = datasets.load("iris")
    same = cross_validate("default", iris.X, iris.y, 3, 2, missing=0.3, seed=4)
    assert result["scores"] == same.scores.tolist()
    assert result["settings"] == same.settings
    assert (result["data"], result["rows"]) == ("builtin:iris", 150)


def test_a_setting_goes_to_the_learners_that_have_it(lrrf):
    both = ("--learner", "lr-rf,default", "--folds", 2, "--repeats", 1)
    code, _, err = lrrf("evaluate", "builtin:iris", *FAST, "--set", "n_estimators=5")
    assert code == 2
    assert "no parameter 'n_estimators'" in " ".join(err.split())
    # The forest refuses its value, so it got it; the other learner has no such parameter.
    code, _, err = lrrf("evaluate", "builtin:iris", *both, "--set", "n_estimators=0")
    assert code == 5
    assert "n_estimators must be a whole number 1 or more" in err


def test_a_bad_table_is_reported_while_the_others_are_finished(lrrf, toy, tmp_path):
    (tmp_path / "bad.csv").write_text("A1,L1,L2\n1,1,7\n")
    tables = (tmp_path / "bad.csv", "builtin:iris", tmp_path / "none.csv")
    code, out, err = lrrf("evaluate", *tables, *FAST)
    assert code == 5
    assert [line.split()[0] for line in out.splitlines()] == ["data", "builtin:iris"]
    assert f"error: {tmp_path / 'bad.csv'}: " in err
    assert "2 of 3 failed" in err
    code, out, err = lrrf("evaluate", *tables, *FAST, "--json")
    assert [part["data"] for part in json.loads(out)["failed"]] == [str(t) for t in tables[::2]]
    assert lrrf("evaluate", tables[0], *FAST)[:2] == (3, "")


def test_a_learner_that_refuses_the_table_does_not_take_the_others_with_it(lrrf, tmp_path):
    rows = [f"{'' if k == 3 else k},{k % 2 + 1},{2 - k % 2}\n" for k in range(12)]
    (tmp_path / "gap.csv").write_text("A1,L1,L2\n" + "".join(rows))
    all_ = ("evaluate", tmp_path / "gap.csv", "--folds", 2, "--repeats", 1, "--learner")
    code, out, err = lrrf(*all_, "rpc,default,ll")
    assert code == 5
    assert [line.split()[4] for line in out.splitlines()[1:2]] == ["default"]
    assert "for 'rpc'" in err
    assert "for 'll'" in err
    assert f"1 of 1 failed: {tmp_path / 'gap.csv'} (in part)" in err
    code, out, err = lrrf(*all_, "rpc,default", "--json")
    assert code == 5
    document = json.loads(out)
    assert [run["learner"] for run in document["results"]] == ["default"]
    assert "for 'rpc'" in document["failed"][0]["error"]
    code, out, err = lrrf(*all_, "rpc")
    assert (code, out, err.count("error: ")) == (3, "", 1)


def test_too_many_folds_are_refused_with_the_data(lrrf, toy):
    rest = ("--features", "A*", "--learner", "default", "--folds", 21)
    code, _, err = lrrf("evaluate", toy, *rest)
    assert code == 3
    assert f"error: {toy}: folds must be a whole number from 2 to 20; it is 21" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("--folds", 1),
        ("--repeats", 0),
        ("--missing", 1),
        ("--missing", -0.1),
        ("--learner", "x"),
        ("--learner", ","),
        ("--model", "m", "--learner", "default"),
    ],
)
def test_arguments_out_of_range_are_usage_errors(lrrf, arguments):
    code, out, err = lrrf("evaluate", "builtin:iris", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("Usage: lrrf evaluate")


# A trained model on a held-out table


@pytest.fixture
def held_out(tmp_path):
    """Iris with its columns reversed, a text column, and a label missing here and there."""
    iris = datasets.load("iris")
    rows = np.arange(0, 150, 7)
    y = iris.y[rows].astype(object)
    y[3] = ["", 1, 2]
    y[4] = [1, "", ""]
    lines = [",".join(["note", *reversed(iris.labels), *reversed(iris.feature_names)])]
    for ranking, row in zip(y, iris.X[rows], strict=True):
        lines.append(",".join(map(str, ["x", *reversed(ranking), *reversed(row.tolist())])))
    (tmp_path / "held-out.csv").write_text("\n".join(lines))
    truth = np.array([[np.nan if cell == "" else cell for cell in ranking] for ranking in y])
    return tmp_path / "held-out.csv", iris.X[rows], truth.astype(float)


def test_a_model_is_scored_by_the_names_of_the_columns(lrrf, forest_model, held_out):
    path, X, y = held_out
    labels = ("--labels", "setosa,versicolor,virginica")
    code, out, _ = lrrf("evaluate", path, "--model", forest_model, *labels, "--json")
    assert code == 0
    [result] = json.loads(out)["results"]
    predicted = lrrf_jax.load(forest_model).predict(X)
    assert (result["rows"], result["rows_scored"]) == (22, 21)
    for name in METRICS:
        assert result[name] == pytest.approx(getattr(metrics, name)(y, predicted))
    code, out, _ = lrrf("evaluate", path, "--model", forest_model, *labels)
    header, line = out.splitlines()
    assert header.split()[:3] == ["data", "rows", "tau"]
    assert line.split()[:3] == [str(path), "22", f"{result['kendall_tau']:.4f}"]


def test_a_label_that_the_model_does_not_know_is_refused(lrrf, forest_model, held_out):
    path, _, _ = held_out
    path.write_text(path.read_text().replace("setosa", "Setosa"))
    labels = ("--labels", "Setosa,versicolor,virginica")
    code, _, err = lrrf("evaluate", path, "--model", forest_model, *labels)
    assert code == 3
    assert f"error: {path}: label 'Setosa' is not one of the model, which ranks setosa" in err


def test_features_that_are_not_there_are_refused(lrrf, forest_model, toy):
    code, _, err = lrrf("evaluate", toy, "--model", forest_model)
    assert code == 3
    assert str(toy) in err
    assert "sepal length (cm)" in err
    code, _, err = lrrf("evaluate", "builtin:wine", "--model", forest_model)
    assert code == 3
    assert "builtin:wine: 4 of the 4 features of the model are not there" in err


# inspect


def test_inspect_tells_what_the_model_is(lrrf, forest_model):
    code, out, _ = lrrf("inspect", forest_model, "--json")
    assert code == 0
    facts = json.loads(out)
    ranker = lrrf_jax.load(forest_model)
    assert facts["learner"] == "lr-rf"
    assert facts["labels"] == ["setosa", "versicolor", "virginica"]
    assert facts["features"] == ranker.feature_names_in_.tolist()
    assert facts["params"]["n_estimators"] == facts["trees"] == 5
    assert facts["bytes"] == forest_model.stat().st_size
    assert facts["library_version"] == lrrf_jax.__version__
    assert facts["aggregation"] == "two-step"
    assert sum(facts["feature_importances"]) == pytest.approx(1)
    leaves = np.asarray(ranker.forest_.leaf_slot)
    assert facts["leaves"] == len(np.unique(leaves))
    assert facts["depth"] == max(map(longest_path, np.asarray(ranker.forest_.threshold)))


def longest_path(threshold):
    """Count the tests on the way up from every leaf of a tree."""
    lengths = []
    for node in range(len(threshold), 2 * len(threshold) + 1):
        lengths.append(0)
        while node > 0:
            node = (node - 1) // 2
            lengths[-1] += int(threshold[node] < np.inf)
    return max(lengths)


def test_inspect_writes_text_that_a_person_reads(lrrf, forest_model, model):
    code, out, err = lrrf("inspect", forest_model)
    assert (code, err) == (0, "")
    assert "5 trees, depth " in out
    assert "labels (3)    setosa, versicolor, virginica" in out
    table = out.split("\n\n")[1].splitlines()
    assert table[0].split() == ["feature", "importance"]
    shares = [float(line.split()[-1]) for line in table[1:]]
    assert len(shares) == 4
    assert shares == sorted(shares, reverse=True)
    code, out, _ = lrrf("inspect", model)
    assert code == 0
    assert "default" in out
    assert "trees" not in out
