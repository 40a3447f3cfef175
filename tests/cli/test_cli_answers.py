"""``lrrf predict``: what is answered, and on standard output; how text tables are read."""

import os

import numpy as np
import pandas as pd
import pytest

import lrrf_jax
from lrrf_jax.cli import main
from tests.cli.conftest import toy_table

FULL = "/dev/full"
needs_full = pytest.mark.skipif(not os.path.exists(FULL), reason="there is no full device")


def test_scores_orders_and_the_best_labels_are_those_of_python(lrrf, forest_model, tmp_path):
    iris = lrrf_jax.datasets.load("iris")
    ranker = lrrf_jax.load(forest_model)
    orders = np.array(ranker.predict_order(iris.X))
    places = [f"place_{place}" for place in (1, 2, 3)]
    expected = {
        "--scores": pd.DataFrame(ranker.predict_scores(iris.X), columns=list(iris.labels)),
        "--order": pd.DataFrame(orders, columns=places),
        "--top=2": pd.DataFrame(orders[:, :2], columns=places[:2]),
    }
    for option, table in expected.items():
        path = tmp_path / f"{option}.parquet"
        code, out, err = lrrf("predict", forest_model, "builtin:iris", option, "--output", path)
        assert (code, out) == (0, ""), err
        written = pd.read_parquet(path)
        assert written.columns.tolist() == table.columns.tolist()
        for name in table:
            assert written[name].tolist() == table[name].tolist(), (option, name)


@pytest.mark.parametrize(
    "both", [("--scores", "--order"), ("--order", "--top", 1), ("--scores", "--top", 2)]
)
def test_a_run_has_one_answer(lrrf, model, toy, tmp_path, both):
    code, _, err = lrrf("predict", model, toy, *both, "--output", tmp_path / "r.csv")
    assert code == 2
    assert "they are different answers. Give one" in " ".join(err.split())
    assert not (tmp_path / "r.csv").exists()


def test_more_places_than_labels_are_refused(lrrf, model, toy, tmp_path):
    code, _, err = lrrf("predict", model, toy, "--top", 4, "--output", tmp_path / "r.csv")
    assert code == 3
    assert "top" in err
    assert "3" in err
    assert lrrf("predict", model, toy, "--top", 0, "--output", tmp_path / "r.csv")[0] == 2


def test_standard_output_gets_the_bytes_of_the_file_and_nothing_else(
    forest_model, tmp_path, capfdbinary
):
    arguments = ["predict", str(forest_model), "builtin:iris", "--output"]
    for name in ("csv", "parquet", "npy"):
        path = tmp_path / f"r.{name}"
        assert main([*arguments, str(path)]) == 0
        capfdbinary.readouterr()
        assert main([*arguments, "-", "--format", name]) == 0
        assert capfdbinary.readouterr().out == path.read_bytes()
    assert main([*arguments, "-"]) == 0
    assert capfdbinary.readouterr().out == (tmp_path / "r.csv").read_bytes()
    assert not os.path.exists("-")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (("--json",), "--json writes there, too"),
        (("--resume",), "it takes the ranks of one table"),
        (("toy.csv",), "it takes the ranks of one table"),
    ],
)
def test_what_cannot_go_to_standard_output_is_told(lrrf, model, toy, monkeypatch, more, why):
    monkeypatch.chdir(toy.parent)
    code, out, err = lrrf("predict", model, "toy.csv", *more, "--output", "-")
    assert (code, out) == (2, "")
    assert why in " ".join(err.split())


def test_an_input_that_fails_writes_nothing_to_standard_output(lrrf, model, toy):
    toy.write_text(toy.read_text().replace("0.25", "x"))
    code, out, err = lrrf("predict", model, toy, "--output", "-")
    assert (code, out) == (3, "")
    assert f"{toy}: column 'A1' must hold numbers; row 3" in err


@needs_full
def test_a_full_standard_output_has_the_code_of_a_full_disk(model, toy, lrrf_process):
    first = f"import os; os.dup2(os.open({FULL!r}, os.O_WRONLY), 1)"
    code, _, err = lrrf_process("predict", model, toy, "--output", "-", first=first)
    assert code == 6
    assert "standard output: cannot be written" in err


def foreign(toy):
    """Write the toy table as a spreadsheet in Germany does."""
    text = "\n".join(toy_table()).replace(",", ";").replace(".", ",").replace("id", "Stück")
    path = toy.parent / "tabelle.csv"
    path.write_bytes(text.encode("latin1"))
    return path, ("--decimal", ",", "--encoding", "latin1")


def test_delimiter_decimal_sign_and_encoding_are_handed_to_every_reader(lrrf, toy, model, tmp_path):
    path, dialect = foreign(toy)
    train = ("train", path, "--features", "A*", "--learner", "default", "--model", tmp_path / "m")
    for found in ((), ("--delimiter", ";")):
        code, _, err = lrrf(*train, *dialect, *found)
        assert code == 0, err
        assert (tmp_path / "m").read_bytes() == model.read_bytes()
    code, out, err = lrrf("predict", model, path, *dialect, "--output", "-", "--keep", "Stück")
    assert code == 0, err
    expected = lrrf("predict", model, toy, "--output", "-", "--keep", "id")[1]
    assert out == expected.replace("id", "Stück")
    taus = [
        lrrf("evaluate", table, "--model", model, *more)[1].split()[-1]
        for table, more in ((toy, ()), (path, dialect))
    ]
    assert taus[0] == taus[1]
    code, _, err = lrrf(*train, "--encoding", "latin1")  # and without --decimal
    assert code == 3
    assert "--decimal" in err


def test_reading_options_are_for_files(lrrf, tmp_path):
    for option in (("--delimiter", ";"), ("--decimal", ","), ("--categories", "A1")):
        code, _, err = lrrf("train", "builtin:iris", *option, "--model", tmp_path / "m")
        assert code == 2, option
        assert "has fixed columns" in err
