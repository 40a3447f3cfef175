"""Tables with text columns are learned from, ranked, and evaluated on."""

import json

import numpy as np
import pandas as pd
import pytest

from lrrf_jax import load
from lrrf_jax.datasets import read

FOREST = ("--set", "n_estimators=3", "--set", "max_depth=3")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.integers(0, 9, 60), "town": rng.choice(list("pqr"), 60)})
    first = np.where(frame["town"] == "q", 1, 2)
    path = tmp_path_factory.mktemp("tables") / "t.csv"
    frame.assign(L1=first, L2=3 - first).to_csv(path, index=False)
    return path


def test_text_columns_are_features(lrrf, tmp_path, table):
    model, output = tmp_path / "m", tmp_path / "r.csv"
    assert lrrf("train", table, "--model", model, *FOREST)[0] == 0
    ranker = load(model)
    assert set(ranker.feature_categories_["town"]) == {"p", "q", "r"}
    assert lrrf("predict", model, table, "--output", output)[0] == 0
    data = read(table)
    np.testing.assert_array_equal(pd.read_csv(output), ranker.predict(data.X))
    code, out, _ = lrrf("evaluate", "--model", model, table, "--json")
    assert code == 0
    assert json.loads(out)["results"][0]["kendall_tau"] == pytest.approx(
        ranker.score(data.X, data.y)
    )


def test_a_level_that_training_did_not_know_is_told(lrrf, tmp_path, table):
    assert lrrf("train", table, "--model", tmp_path / "m", *FOREST)[0] == 0
    (tmp_path / "new.csv").write_text("size,town\n1,p\n2,s\n")
    code, _, err = lrrf("predict", tmp_path / "m", tmp_path / "new.csv", "--output", "r.csv")
    assert code == 3
    assert "new.csv: row 2 (line 3), column 'town' is 's'" in err
    assert "(--unseen missing)" in err


def test_results_of_a_table_whose_text_changed_are_not_taken(lrrf, tmp_path, table):
    kept = tmp_path / "folds.csv"
    evaluate = ("evaluate", "--learner", "default", "--folds", "2", "--repeats", "1", "--results")
    other = tmp_path / "t.csv"
    for number in (1, 1, 2):
        text = table.read_text()
        other.write_text(text if number == 1 else text.replace(",p,", ",r,"))
        assert lrrf(*evaluate, kept, other)[0] == 0
        assert pd.read_csv(kept)["data"].nunique() == number
