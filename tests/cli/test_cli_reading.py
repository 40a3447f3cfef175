"""How the command line is told what columns and cells mean, and what it says of them."""

import json

import numpy as np
import pandas as pd
import pytest

import lrrf_jax
from lrrf_jax import metrics
from lrrf_jax.datasets import read

TRAIN = ("train", "--learner", "default", "--model")
EVALUATE = ("evaluate", "--learner", "default", "--folds", "2", "--repeats", "1", "--json")


def written(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    path.write_text(content)
    return path


def tau_of(out):
    return json.loads(out)["results"][0]["mean"]


def test_train_tells_what_it_took_for_what(lrrf, tmp_path):
    table = written(tmp_path, "id,A1,A2,town,L1,L2\n7,1,2,x,1,2\n8,2,2,y,1,2\n")
    exclude = ("--exclude", "id,town")
    code, out, err = lrrf(*TRAIN, tmp_path / "m", table, *exclude, "--json")
    assert code == 0
    assert err.splitlines()[:3] == [
        "features (2): A1, A2",
        "labels (2): L1, L2",
        "ignored (2): id, town",
    ]
    document = json.loads(out)
    assert (document["features"], document["ignored"]) == (["A1", "A2"], ["id", "town"])
    assert lrrf_jax.load(tmp_path / "m").feature_names_in_.tolist() == ["A1", "A2"]
    assert lrrf("predict", tmp_path / "m", table, "--output", tmp_path / "r.csv")[0] == 0
    assert lrrf(*EVALUATE, table, *exclude)[0] == 0
    assert lrrf("evaluate", "--model", tmp_path / "m", table)[0] == 0
    err = lrrf(*TRAIN, tmp_path / "m", table)[2]  # text is a category
    assert err.splitlines()[:2] == ["features (4): id, A1, A2, town", "labels (2): L1, L2"]


def test_long_lists_of_columns_are_shortened(lrrf, tmp_path):
    names = [f"A{j}" for j in range(30)]
    row = ",".join(["1"] * 30)
    table = written(tmp_path, f"{','.join(names)},L1,L2\n{row},1,2\n")
    err = lrrf(*TRAIN, tmp_path / "m", table)[2]
    shown = "A0, A1, A2, A3, A4, A5, A6, A7, A8, A9, ..., A29"
    assert err.splitlines()[0] == f"features (30): {shown}"


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("command", ["train", "evaluate"])
def test_an_id_and_a_forgotten_label_are_warned_of(lrrf, tmp_path, command):
    rng = np.random.default_rng(0)
    y = np.argsort(rng.random((24, 3)), axis=1) + 1
    rows = [f"{i},{i % 5},{','.join(map(str, row))}" for i, row in enumerate(y)]
    table = written(tmp_path, "\n".join(["id,A1,L1,L2,L3", *rows]))
    arguments = (*TRAIN, tmp_path / "m", table) if command == "train" else (*EVALUATE, table)
    err = lrrf(*arguments, "--labels", "L1,L2", "--close-gaps")[2]
    assert f"warning: {table}: column 'L3' is read as a feature, and looks like a label" in err
    assert f"warning: {table}: column 'id' is read as a feature, and looks like an id" in err
    assert "--exclude 'id'" in err
    code, _, err = lrrf(*arguments, "--exclude", "id")
    assert code == 0
    assert "warning" not in err


@pytest.mark.filterwarnings("ignore:.*rows rank too few labels")
def test_the_model_remembers_what_cells_mean_missing(lrrf, tmp_path):
    lines = ["A,L1,L2", *["-9,1,2", "1,2,1", "2,2,1", "-9,1,-9"] * 4]
    table = written(tmp_path, "\n".join(lines))
    model, said = tmp_path / "m", ("--missing-values", "default,-9")
    settings = ("--set", "n_estimators=2", "--set", "max_depth=2")
    assert lrrf("train", table, "--model", model, *settings)[0] == 3  # -9 is no position
    code, _, err = lrrf("train", table, "--model", model, *settings, *said)
    assert code == 0, err
    ranker = lrrf_jax.load(model)
    X = np.float32([[np.nan], [1], [2], [np.nan]] * 4)
    expected = ranker.predict(X)
    assert not (expected == ranker.predict(np.nan_to_num(X, nan=-9))).all()

    def ranks(*more):
        output = tmp_path / "r.csv"
        code, _, err = lrrf("predict", model, table, "--output", output, "--overwrite", *more)
        assert code == 0, err
        return pd.read_csv(output).to_numpy()

    np.testing.assert_array_equal(ranks(), expected)
    np.testing.assert_array_equal(ranks("--missing-values", "-9"), expected)
    assert not (ranks("--missing-values", "default") == expected).all()
    code, out, _ = lrrf("evaluate", table, "--model", model, "--json")
    assert code == 0
    truth = read(table, missing="default,-9").y
    assert json.loads(out)["results"][0]["kendall_tau"] == metrics.kendall_tau(truth, expected)
    assert lrrf(*EVALUATE, table)[0] == 3
    assert lrrf(*EVALUATE, table, *said)[0] == 0


def test_labels_are_named_where_a_text_cannot_tell_them(lrrf, tmp_path):
    table = written(tmp_path, "A,order\n" + "1,a=b>c<d\n2,c<d>a=b\n" * 4)
    options = (table, "--ranking", "order")
    code, _, err = lrrf(*TRAIN, tmp_path / "m", *options)
    assert code == 3
    assert "--label-names" in err
    for names in (["--label-names", "c<d,a=b"], ["--label-names", "c<d", "--label-names", "a=b"]):
        assert lrrf(*TRAIN, tmp_path / "m", *options, *names)[0] == 0
        assert lrrf_jax.load(tmp_path / "m").labels_.tolist() == ["c<d", "a=b"]
        assert lrrf(*EVALUATE, *options, *names)[0] == 0


def test_data_with_fixed_columns_refuse_the_new_options_too(lrrf, tmp_path):
    for option in ("--exclude", "--missing-values", "--label-names"):
        code, _, err = lrrf(*TRAIN, tmp_path / "m", "builtin:iris", option, "x,y")
        assert code == (0 if option == "--missing-values" else 2), err


# Weights of the file

VOTES = "# NUMBER ALTERNATIVES: 3\n3000000000: 3,1,2\n1: 1,2,3\n2: 2,1,3\n"


def test_votes_without_features_are_learned_ranked_and_scored(lrrf, tmp_path):
    votes = written(tmp_path, VOTES, "votes.soc")
    model = tmp_path / "m"
    code, out, err = lrrf(*TRAIN, model, votes, "--json")
    assert code == 0, err
    assert "features (0): none" in err
    assert "weights: of the file, 3e+09 in all" in err
    assert json.loads(out)["weighted"] is True
    table = written(tmp_path, "id,u\nx,1\ny,2\n")
    for keep in ([], ["--keep", "id"]):
        output = ("--output", tmp_path / "r.csv", "--overwrite")
        code, _, err = lrrf("predict", model, table, *output, *keep)
        assert code == 0, err
        got = pd.read_csv(tmp_path / "r.csv")[["1", "2", "3"]]
        assert got.to_numpy().tolist() == [[2, 3, 1]] * 2
    code, out, _ = lrrf("evaluate", votes, "--model", model, "--json")
    found = json.loads(out)["results"][0]["kendall_tau"]
    taus = metrics.kendall_tau(read(votes).y, [[2, 3, 1]] * 3, per_row=True)
    assert found == pytest.approx(np.average(taus, weights=[3e9, 1, 2]), abs=1e-12)
    code, _, err = lrrf("train", votes, "--model", model)
    assert code == 3
    assert "only the learner 'default'" in err
    code, _, err = lrrf("datasets", "describe", votes)
    assert code == 0


def test_folds_are_learned_and_scored_with_the_weights_of_the_file(lrrf, tmp_path):
    header = "@attribute A REAL\n@attribute L RANKING {a,b}\n@data\n"
    light = [f"{i},a>b" for i in range(12)]
    heavy = [f"{i},b>a,{{9}}" for i in range(8)]
    plain = header + "\n".join([*light, *[line[:-4] for line in heavy]])
    weighed = header + "\n".join([*light, *heavy])
    taus = []
    for name, text in (("plain", plain), ("weighed", weighed)):
        code, out, err = lrrf(*EVALUATE, written(tmp_path, text, f"{name}.xarff"))
        assert code == 0, err
        taus.append(tau_of(out))
    assert taus[0] < 0.5 < taus[1]  # b>a is 72 of 84 by weight, and 8 of 20 by count
