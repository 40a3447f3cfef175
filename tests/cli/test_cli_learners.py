"""Every learner by its name on the command line."""

import json

import numpy as np
import pandas as pd
import pytest

import lrrf_jax
from lrrf_jax import LEARNERS
from lrrf_jax.cli._learners import make_learners
from tests.learners.test_contract import N_ROWS, SMALL, X, Y, make
from tests.small_learners import QUICK

TREES = [name for name in LEARNERS if hasattr(make(name), "max_depth")]
each_learner = pytest.mark.parametrize("name", LEARNERS)


@pytest.fixture
def table(tmp_path):
    """The table of the contract test, for which programs are compiled already."""
    columns = {f"A{k}": X[:, k] for k in range(4)} | {f"L{k}": Y[:, k] for k in range(3)}
    pd.DataFrame(columns).to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


def settings(*names):
    known = {key for name in names for key in LEARNERS[name]().get_params()}
    wanted = {k: ",".join(v) if isinstance(v, list) else v for k, v in (QUICK | SMALL).items()}
    return [f"--set={key}={value}" for key, value in wanted.items() if key in known]


@each_learner
def test_a_model_is_trained_inspected_and_applied(name, lrrf, table, tmp_path):
    path, out_path = tmp_path / "m.lrrf", tmp_path / "ranks.csv"
    code, out, err = lrrf("train", table, "--learner", name, "--model", path, *settings(name))
    assert (code, out) == (0, ""), err
    assert f"; {name} fitted in " in err
    ranker = lrrf_jax.load(path)
    assert type(ranker) is LEARNERS[name]
    expected = make(name).fit(X, Y).predict(X)

    code, out, _ = lrrf("inspect", path, "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["learner"] == name
    assert facts["labels"] == ["L0", "L1", "L2"]
    assert facts["features"] == ["A0", "A1", "A2", "A3"]
    assert facts["params"] == ranker.get_params()
    code, out, err = lrrf("inspect", path)
    assert (code, err) == (0, "")
    assert name in out

    code, _, err = lrrf("predict", path, table, "--output", out_path)
    assert code == 0, err
    np.testing.assert_array_equal(pd.read_csv(out_path).to_numpy(), expected)


def test_the_members_of_a_stack_are_told_with_their_weights(lrrf, tmp_path):
    mine = LEARNERS["rpc"](ridge=1.0)
    ranker = make("stack", members=["default", ("mine", mine)]).fit(X, Y)
    ranker.save(tmp_path / "m.lrrf")
    code, out, err = lrrf("inspect", tmp_path / "m.lrrf", "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert facts["weights"] == ranker.weights_
    assert facts["params"]["members"][1] == ["mine", "PairwiseComparisonLabelRanker(ridge=1.0)"]
    code, out, err = lrrf("inspect", tmp_path / "m.lrrf")
    assert (code, err) == (0, "")
    assert f"default {ranker.weights_['default']:.3f}, mine {ranker.weights_['mine']:.3f}" in out


@each_learner
def test_missing_features_are_an_input_error_where_the_learner_says_so(name, lrrf, table, tmp_path):
    holes = pd.read_csv(table)
    holes.loc[4, "A2"] = np.nan
    holes.to_csv(tmp_path / "holes.csv", index=False)
    if LEARNERS[name].accepts_missing_features:
        pytest.skip("missing features are taken")
    code, out, err = lrrf(
        "train", tmp_path / "holes.csv", "--learner", name, "--model", tmp_path / "m"
    )
    assert (code, out) == (3, "")
    assert f"holes.csv: X must hold no missing values for '{name}'; row 4" in err
    assert not (tmp_path / "m").exists()
    make(name).fit(X, Y, feature_names=["A0", "A1", "A2", "A3"]).save(tmp_path / "m")
    output = tmp_path / "ranks.csv"
    code, out, err = lrrf("predict", tmp_path / "m", tmp_path / "holes.csv", "--output", output)
    assert (code, out) == (3, "")
    assert f"no missing values for '{name}'" in err
    assert not output.exists()


@each_learner
def test_every_parameter_can_be_typed(name):
    defaults = LEARNERS[name]().get_params()
    typed = [f"{key}={value}" for key, value in defaults.items()]
    found = make_learners([name], typed)[name].get_params()
    assert found == defaults
    assert [type(value) for value in found.values()] == list(map(type, defaults.values()))


@pytest.mark.parametrize(
    "names",
    [
        [name for name in LEARNERS if name not in TREES],
        pytest.param(TREES, marks=pytest.mark.slow),
    ],
    ids=["without trees", "with trees"],
)
def test_learners_are_compared(names, lrrf, table):
    arguments = ("--learner", ",".join(names), "--folds", 2, "--repeats", 1, "--json")
    code, out, err = lrrf("evaluate", table, *arguments, *settings(*names))
    assert code == 0, err
    results = json.loads(out)["results"]
    assert [result["learner"] for result in results] == names
    for result in results:
        assert np.shape(result["scores"]) == (1, 2)
        assert result["rows"] == N_ROWS
        assert result["learner"] == "default" or result["mean"] > 0.3
