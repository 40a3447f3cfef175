import json
import os
import re

import numpy as np
import pandas as pd
import pytest

import lrrf_jax
from lrrf_jax import LEARNERS, RandomForestLabelRanker, datasets
from lrrf_jax.learners import ConsensusLabelRanker

TRAIN = ("train", "--learner", "default", "--model")


def test_the_model_is_that_of_the_python_interface(forest_model):
    iris = datasets.load("iris")
    ranker = RandomForestLabelRanker(n_estimators=5, random_state=0).fit(iris.X, iris.y)
    loaded = lrrf_jax.load(forest_model)
    np.testing.assert_array_equal(loaded.predict(iris.X), ranker.predict(iris.X))
    assert tuple(loaded.feature_names_in_) == iris.feature_names
    assert tuple(loaded.labels_) == iris.labels


def test_a_summary_goes_to_stderr_and_nothing_to_stdout(lrrf, toy, tmp_path):
    code, out, err = lrrf(*TRAIN, tmp_path / "m", toy, "--features", "A*")
    assert (code, out) == (0, "")
    assert f"{toy}: 20 rows, 2 features, 3 labels; default fitted in " in err
    assert err.rstrip().endswith(f"model in {tmp_path / 'm'}")


def test_json_is_one_document_on_stdout(lrrf, toy, tmp_path):
    code, out, err = lrrf(*TRAIN, tmp_path / "m", toy, "--features", "A*", "--json")
    document = json.loads(out)
    assert code == 0
    assert document["rows"] == 20
    assert document["features"] == ["A1", "A2"]
    assert document["labels"] == ["L1", "L2", "L3"]
    assert document["learner"] == "default"
    assert document["params"] == {"missing": "unknown", "unseen": "error"}
    assert document["bytes"] == os.path.getsize(document["model"])
    assert set(document["seconds"]) == {"read", "fit", "save", "check"}
    assert "20 rows" in err


def test_columns_and_conventions_are_handed_to_the_reader(lrrf, tmp_path):
    table = pd.DataFrame({"u": [1, 2, 3], "v": [1, 2, 3], "p": [9, 8, 1], "q": [1, 2, 7]})
    table.to_csv(tmp_path / "scores.csv", index=False)
    rest = (tmp_path / "scores.csv", "--labels", "p,q", "--convention", "scores")
    assert lrrf(*TRAIN, tmp_path / "m", *rest, "--features", "v")[0] == 0
    ranker = lrrf_jax.load(tmp_path / "m")
    assert ranker.labels_.tolist() == ["p", "q"]
    assert ranker.feature_names_in_.tolist() == ["v"]
    assert ranker.predict([[1.0]]).tolist() == [[1, 2]]
    (tmp_path / "text.csv").write_text("u,order\n1,b>a\n2,b>a\n")
    assert lrrf(*TRAIN, tmp_path / "m", tmp_path / "text.csv", "--ranking", "order")[0] == 0
    assert lrrf_jax.load(tmp_path / "m").labels_.tolist() == ["a", "b"]
    (tmp_path / "gaps.csv").write_text("u,L1,L2\n1,5,2\n")
    assert lrrf(*TRAIN, tmp_path / "m", tmp_path / "gaps.csv")[0] == 3
    assert lrrf(*TRAIN, tmp_path / "m", tmp_path / "gaps.csv", "--close-gaps")[0] == 0


class Typed(ConsensusLabelRanker):
    """A learner with a parameter of every type, which ignores them."""

    name = "default"

    def __init__(
        self,
        whole: int = 1,
        real: float = 0.5,
        flag: bool = False,
        text: str = "x",
        budget: int | None = None,
        free=None,
        random_state=None,
    ):
        self.whole, self.real, self.flag, self.text = whole, real, flag, text
        self.budget, self.free, self.random_state = budget, free, random_state


@pytest.fixture
def typed(monkeypatch):
    monkeypatch.setitem(LEARNERS, "typed", Typed)


def params_of(lrrf, toy, tmp_path, *settings):
    arguments = [argument for setting in settings for argument in ("--set", setting)]
    code, out, err = lrrf(
        "train", toy, "--features", "A*", "--learner", "typed", "--json",
        "--model", tmp_path / "m", *arguments,
    )  # fmt: skip
    return json.loads(out)["params"] if code == 0 else (code, err)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("whole=12", 12),
        ("real=2", 2.0),
        ("real=1e-3", 0.001),
        ("flag=true", True),
        ("flag=False", False),
        ("text=none", "none"),
        ("text=a=b", "a=b"),
        ("text=12", "12"),
        ("text=", ""),
        ("budget=None", None),
        ("budget=4096", 4096),
        ("free=none", None),
        ("free=true", True),
        ("free=3", 3),
        ("free=0.25", 0.25),
        ("free=sqrt", "sqrt"),
    ],
)
def test_a_setting_is_read_by_the_type_of_the_parameter(lrrf, toy, tmp_path, typed, setting, value):
    read = params_of(lrrf, toy, tmp_path, setting)[setting.partition("=")[0]]
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("setting", "fragment"),
    [
        ("whole=1.5", "whole must be a whole number; it is '1.5'"),
        ("whole=none", "whole must be a whole number"),
        ("real=x", "real must be a number"),
        ("flag=1", "flag must be true or false"),
        ("budget=x", "budget must be a whole number or none"),
        ("holw=1", "no parameter 'holw'"),
        ("holw=1", "parameters of typed: budget, flag, free, random_state, real, text, whole"),
        ("whole", "'whole' lacks a '='"),
    ],
)
def test_a_setting_that_does_not_fit_is_a_usage_error(
    lrrf, toy, tmp_path, typed, setting, fragment
):
    code, err = params_of(lrrf, toy, tmp_path, setting)
    assert code == 2
    assert fragment in " ".join(err.split())
    assert not (tmp_path / "m").exists()


def test_the_seed_is_the_random_state_unless_that_is_set(lrrf, toy, tmp_path, typed):
    def state(*settings):
        return params_of(lrrf, toy, tmp_path, *settings)["random_state"]

    assert state() == 0
    assert state("random_state=7") == 7


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (("--learner", "lr-fr"), f"there is no learner 'lr-fr'; there are {', '.join(LEARNERS)}"),
        (("--learner", "lr-rf,default"), "a model has one learner"),
        (("--seed", "-1"), "--seed"),
        (("--convention", "ranks"), "--convention"),
    ],
)
def test_an_argument_that_is_not_known_is_a_usage_error(lrrf, toy, tmp_path, arguments, fragment):
    code, _, err = lrrf("train", toy, "--features", "A*", "--model", tmp_path / "m", *arguments)
    assert code == 2
    assert fragment in " ".join(err.split())
    assert os.listdir(tmp_path) == ["toy.csv"]


REFUSED = {
    "empty": ("", "the file is empty"),
    "no rows": ("A1,L1,L2\n", "no rows"),
    "ragged": ("A1,L1,L2\n1,1,2\n1,1\n", "row 2 (line 3) has 2 cells, the header has 3"),
    "too wide": ("A1,L1,L2\n1,1,2,9\n", "row 1 (line 2) has 4 cells, the header has 3"),
    "no labels": ("A1,A2\n1,2\n", "no column is called L1, L2, ... or 'ranking'"),
    "one label": ("A1,L1\n1,1\n", "at least two labels"),
    "no features": ("L1,L2\n1,2\n", "no feature column"),
    "duplicate names": ("A1,A1,L1,L2\n1,1,1,2\n", "column 'A1' is there 2 times"),
    "text": ("A1,L1,L2\n1,1,2\nx,1,2\n", "column 'A1' must hold numbers; row 2 (line 3)"),
    "infinity": ("A1,L1,L2\n1,1,2\n-inf,1,2\n", "'A1' must hold finite float32 numbers; row 2"),
    "text label": ("A1,L1,L2\n1,1,x\n", "column 'L2' must hold numbers; row 1 (line 2)"),
    "repeated": ("A1,L1,L2\n1,1,2\n1,2,2\n", "row 2 (line 3) is [2, 2]: position 2 is repeated"),
    "skipped": (
        "A1,L1,L2\n1,1,3\n",
        "positions are skipped (1 of 1 rows fail). If a label",
    ),
    "from 0": ("A1,L1,L2\n1,0,1\n", "the positions start at 0"),
    "label all missing": ("A1,L1,L2,L3\n1,1,2,\n", "label column 'L3' is missing in every row"),
    "nothing preferred": ("A1,L1,L2\n1,1,\n1,,1\n", "every row ranks fewer than two labels"),
    "not UTF-8": (b"A1,L1,L2\n\xe4,1,2\n", "line 2 is not UTF-8"),
}


@pytest.mark.filterwarnings("default:.*rank too few labels")
@pytest.mark.parametrize("case", REFUSED)
def test_bad_data_is_told_with_its_place_and_leaves_no_model(lrrf, tmp_path, case):
    content, fragment = REFUSED[case]
    path = tmp_path / "bad.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    code, out, err = lrrf(*TRAIN, tmp_path / "m", path)
    assert (code, out) == (3, "")
    assert f"error: {path}: " in err
    assert fragment in err
    assert err.rstrip().endswith(".")
    assert os.listdir(tmp_path) == ["bad.csv"]


@pytest.mark.parametrize(
    ("data", "model", "fragment"),
    [
        ("none.csv", "m", "none.csv: there is no such file. Check the path"),
        (".", "m", "is a directory. Name one file in it"),
        ("t.xls", "m", "no reader is known for .xls. Use one of .csv"),
        ("toy.csv", "none/m", "there is no directory .* Make it first"),
        ("toy.csv", ".", "is a directory. Name a file in it"),
    ],
)
def test_paths_that_do_not_fit_are_refused(lrrf, toy, tmp_path, monkeypatch, data, model, fragment):
    (tmp_path / "t.xls").write_text("x")
    monkeypatch.chdir(tmp_path)
    code, _, err = lrrf("train", data, "--learner", "default", "--model", model)
    assert code == 3
    assert re.search(fragment, err)
    assert sorted(os.listdir(tmp_path)) == ["t.xls", "toy.csv"]


def test_unknown_built_in_data_and_columns_are_refused(lrrf, toy, tmp_path):
    code, _, err = lrrf(*TRAIN, tmp_path / "m", "builtin:irs")
    assert code == 3
    assert "no built-in data set 'irs'; there are iris, wine" in err
    code, _, err = lrrf(*TRAIN, tmp_path / "m", toy, "--labels", "P*")
    assert code == 3
    assert f"{toy}: labels asks for 'P*', which no column is called" in err
    code, _, err = lrrf(*TRAIN, tmp_path / "m", toy, "--features", "A*", "--ranking", "Order")
    assert code == 3
    assert "there is no column 'Order'" in err
    code, _, err = lrrf(*TRAIN, tmp_path / "m", "builtin:iris", "--labels", "L*")
    assert code == 2
    assert "builtin:iris has fixed columns" in err


def test_a_parameter_out_of_range_is_not_blamed_on_the_data(lrrf, tmp_path):
    code, _, err = lrrf("train", "builtin:iris", "--model", tmp_path / "m", "--set", "max_depth=99")
    assert code == 3
    assert err.splitlines()[-1].startswith(
        "error: max_depth must be a whole number from 1 to 16; it is 99"
    )


def test_a_checkpoint_changes_no_byte_and_is_refused_to_another_fit(lrrf, forest_model, tmp_path):
    model, blocks = tmp_path / "m", tmp_path / "blocks"
    arguments = ("train", "builtin:iris", "--set", "n_estimators=5", "--model", model)
    arguments = (*arguments, "--checkpoint", blocks)
    for _ in range(2):
        assert lrrf(*arguments)[0] == 0
        assert model.read_bytes() == forest_model.read_bytes()
        assert os.listdir(blocks) == ["trees-00000-00004.lrrf"]
    code, _, err = lrrf(*arguments, "--seed", 1)
    assert code == 3
    assert err.splitlines()[-1].startswith(f"error: checkpoint {blocks}")
    assert "random_state was [0, 0], and is [0, 1]" in err


def test_a_learner_without_checkpoints_says_so(lrrf, toy, tmp_path):
    code, _, err = lrrf(*TRAIN, tmp_path / "m", toy, "--checkpoint", tmp_path / "blocks")
    assert code == 2
    assert "default keeps no checkpoints" in " ".join(err.split())
    assert not (tmp_path / "blocks").exists()


def test_the_input_is_never_overwritten(lrrf, toy, tmp_path, monkeypatch):
    before = toy.read_text()
    monkeypatch.chdir(tmp_path)
    code, _, err = lrrf(*TRAIN, "toy.csv", toy)
    assert code == 2
    assert "is the input; choose another path" in " ".join(err.split())
    assert toy.read_text() == before


def test_a_model_is_replaced_and_equal_when_trained_again(lrrf, toy, model):
    before = model.read_bytes()
    assert lrrf(*TRAIN, model, toy, "--features", "A*")[0] == 0
    assert model.read_bytes() == before


@pytest.mark.filterwarnings("default")
def test_rows_without_a_preference_are_warned_of_in_one_line(lrrf, tmp_path):
    (tmp_path / "t.csv").write_text("A1,L1,L2\n1,1,2\n2,,1\n")
    code, _, err = lrrf(*TRAIN, tmp_path / "m", tmp_path / "t.csv")
    assert code == 0
    assert "warning: 1 of 2 rows rank too few labels" in err
    assert ".py" not in err
