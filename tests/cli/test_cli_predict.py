import csv
import json
import os
import re
import signal

import numpy as np
import pandas as pd
import pytest

import lrrf_jax
from lrrf_jax import datasets
from lrrf_jax.io import memory
from lrrf_jax.learners import ConsensusLabelRanker

POSITIONS = ["setosa", "versicolor", "virginica"]


@pytest.fixture
def new(tmp_path):
    """Rows of iris without labels, their columns in another order, and an id."""
    iris = datasets.load("iris")
    table = pd.DataFrame(iris.X, columns=iris.feature_names)[list(reversed(iris.feature_names))]
    table.insert(0, "id", [f"0{i}" for i in range(len(table))])
    table.to_csv(tmp_path / "new.csv", index=False)
    table.to_parquet(tmp_path / "new.parquet")
    return table


def parts_in(directory):
    """Names of the output files, without the manifest."""
    return sorted(set(os.listdir(directory)) - {"_lrrf"})


def expected(forest_model):
    return lrrf_jax.load(forest_model).predict(datasets.load("iris").X)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_positions_are_those_of_the_model_whatever_the_column_order(
    lrrf, forest_model, new, tmp_path, suffix
):
    out = tmp_path / f"ranks.{suffix}"
    code, stdout, err = lrrf("predict", forest_model, tmp_path / f"new.{suffix}", "--output", out)
    assert (code, stdout) == (0, "")
    assert f"new.{suffix}: 150 rows -> {out}" in err
    table = pd.read_csv(out) if suffix == "csv" else pd.read_parquet(out)
    assert table.columns.tolist() == POSITIONS
    np.testing.assert_array_equal(table, expected(forest_model))
    assert suffix == "csv" or (table.dtypes == np.int32).all()


def test_batches_join_to_the_whole_and_kept_columns_come_first(
    lrrf, forest_model, new, tmp_path, monkeypatch
):
    monkeypatch.setattr(memory, "plan_batch_rows", lambda *_: 64)
    out = tmp_path / "ranks.csv"
    code, _, err = lrrf(
        "predict", forest_model, tmp_path / "new.csv", "--output", out, "--keep", "id"
    )
    assert code == 0, err
    with open(out, newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["id", *POSITIONS]
    assert [row[0] for row in rows] == new["id"].tolist()
    np.testing.assert_array_equal(np.int32([row[1:] for row in rows]), expected(forest_model))


def test_arrays_and_built_in_data_are_ranked_too(lrrf, forest_model, tmp_path):
    np.save(tmp_path / "new.npy", datasets.load("iris").X)
    for source in (tmp_path / "new.npy", "builtin:iris"):
        out = tmp_path / "ranks.npy"
        assert lrrf("predict", forest_model, source, "--output", out, "--overwrite")[0] == 0
        ranks = np.load(out)
        assert ranks.dtype == np.int32
        np.testing.assert_array_equal(ranks, expected(forest_model))


def test_the_format_may_be_given(lrrf, forest_model, tmp_path):
    arguments = ("predict", forest_model, "builtin:iris", "--output", tmp_path / "ranks.out")
    code, _, err = lrrf(*arguments)
    assert code == 3
    assert "--format" in err
    assert lrrf(*arguments, "--format", "parquet")[0] == 0
    assert len(pd.read_parquet(tmp_path / "ranks.out")) == 150


def test_other_columns_can_be_used_as_features(lrrf, model, tmp_path):
    (tmp_path / "new.csv").write_text("x2,x1\n1,2\n")
    arguments = ("predict", model, tmp_path / "new.csv", "--output", tmp_path / "r.csv")
    code, _, err = lrrf(*arguments)
    assert code == 3
    assert "2 of the 2 feature columns of the model are not there: 'A1', 'A2'" in err
    assert lrrf(*arguments, "--features", "x*")[0] == 0


@pytest.fixture
def parts(tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.csv").write_text("A1,A2\n" + "1,2\n" * (ord(name) - ord("a") + 1))
    return [tmp_path / f"{name}.csv" for name in ("a", "b", "c")]


def test_several_inputs_give_a_directory_with_a_file_each(lrrf, model, parts, tmp_path):
    out = tmp_path / "ranks"
    assert lrrf("predict", model, *parts, "--output", out)[0] == 0
    assert parts_in(out) == ["a.parquet", "b.parquet", "c.parquet"]
    assert [len(pd.read_parquet(out / name)) for name in parts_in(out)] == [1, 2, 3]
    assert list(out.rglob("*.lock")) == []
    other = tmp_path / "csv"
    assert lrrf("predict", model, parts[0], "--output", f"{other}/", "--format", "csv")[0] == 0
    assert parts_in(other) == ["a.csv"]


def test_a_bad_input_is_reported_while_the_others_are_finished(lrrf, model, parts, tmp_path):
    parts[1].write_text("A1,A2\n1,2\n1,x\n")
    out = tmp_path / "ranks"
    code, stdout, err = lrrf("predict", model, *parts, "--output", out, "--json")
    assert code == 5
    assert parts_in(out) == ["a.parquet", "c.parquet"]
    assert f"error: {parts[1]}: column 'A2' must hold numbers; row 2 (line 3) holds 'x'" in err
    assert err.rstrip().endswith(f"1 of 3 failed: {parts[1]}")
    document = json.loads(stdout)
    assert [(part["input"], part["rows"]) for part in document["done"]] == [
        (str(parts[0]), 1),
        (str(parts[2]), 3),
    ]
    assert [part["input"] for part in document["failed"]] == [str(parts[1])]


def test_where_all_inputs_fail_the_data_is_bad_and_nothing_is_left(lrrf, model, parts, tmp_path):
    for part in parts:
        part.write_text("A1,A2\n1,inf\n")
    code, _, err = lrrf("predict", model, *parts, "--output", tmp_path / "ranks")
    assert code == 3
    assert "3 of 3 failed" in err
    assert not (tmp_path / "ranks").exists()


def test_an_unexpected_failure_of_one_input_does_not_stop_the_others(
    lrrf, model, parts, tmp_path, monkeypatch
):
    whole = ConsensusLabelRanker.predict

    def predict(self, X):
        if len(X) == 2:
            raise RuntimeError("INTERNAL: no luck\nlong text")
        return whole(self, X)

    monkeypatch.setattr(ConsensusLabelRanker, "predict", predict)
    code, _, err = lrrf("predict", model, *parts, "--output", tmp_path / "ranks")
    assert code == 5
    assert f"error: {parts[1]}: unexpected RuntimeError: INTERNAL: no luck" in err
    assert parts_in(tmp_path / "ranks") == ["a.parquet", "c.parquet"]


def test_output_that_is_there_is_kept_without_overwrite(lrrf, model, parts, tmp_path):
    out = tmp_path / "r.csv"
    out.write_text("mine")
    arguments = ("predict", model, parts[0], "--output", out)
    code, _, err = lrrf(*arguments)
    assert code == 2
    assert "is there already. Choose another path, or add --overwrite" in " ".join(err.split())
    assert out.read_text() == "mine"
    assert lrrf(*arguments, "--overwrite")[0] == 0
    assert out.read_text() != "mine"
    (tmp_path / "ranks").mkdir()
    (tmp_path / "ranks/b.parquet").write_text("mine")
    code, _, err = lrrf("predict", model, *parts, "--output", tmp_path / "ranks")
    assert code == 2
    assert "(1 of 3 files are)" in " ".join(err.split())
    assert os.listdir(tmp_path / "ranks") == ["b.parquet"]


@pytest.mark.parametrize("which", ["input", "model", "link"])
def test_the_output_is_never_the_input_or_the_model(lrrf, model, parts, tmp_path, which):
    out = {"input": parts[0], "model": model, "link": tmp_path / "link.csv"}[which]
    (tmp_path / "link.csv").symlink_to(parts[0])
    before = (parts[0].read_bytes(), model.read_bytes())
    code, _, err = lrrf("predict", model, parts[0], "--output", out, "--overwrite")
    assert code == 2
    assert "is an input; choose another path" in " ".join(err.split())
    assert (parts[0].read_bytes(), model.read_bytes()) == before


@pytest.mark.parametrize(
    ("inputs", "output", "fragment"),
    [
        (["a.csv", "a.csv"], "ranks", "a.csv and a.csv would both be written to ranks/a.parquet"),
        (["a.csv", "a.tsv.gz"], "ranks", "a.csv and a.tsv.gz would both be written"),
        (["a.csv", "b.csv"], "a.tsv", "a.tsv names a file. Name a directory"),
        (["a.csv", "b.csv"], "r.parquet", "r.parquet names a file. Name a directory"),
    ],
)
def test_outputs_that_clash_are_a_usage_error(
    lrrf, model, parts, tmp_path, monkeypatch, inputs, output, fragment
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.tsv").write_text("A1\tA2\n1\t2\n")
    before = sorted(os.listdir(tmp_path))
    code, _, err = lrrf("predict", model, *inputs, "--output", output)
    assert code == 2
    assert fragment in " ".join(err.split())
    assert sorted(os.listdir(tmp_path)) == before


REFUSED = {
    "empty": ("", "the file is empty"),
    "no rows": ("A1,A2\n", "no rows"),
    "ragged": ("A1,A2\n1,2\n1\n", "row 2 (line 3) has 1 cells, the header has 2"),
    "missing column": ("A1,a2\n1,2\n", "are not there: 'A2'. Close to it: 'a2'"),
    "duplicate names": ("A1,A2,A2\n1,2,3\n", "column 'A2' is there 2 times"),
    "text": ("A1,A2\n1,2\n1,x\n", "column 'A2' must hold numbers; row 2 (line 3) holds 'x'"),
    "infinity": ("A1,A2\n1,2\n1,1e39\n", "column 'A2' must hold finite float32 numbers; row 2"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_data_is_told_with_its_place_and_leaves_no_output(lrrf, model, tmp_path, case):
    content, fragment = REFUSED[case]
    path = tmp_path / "bad.csv"
    path.write_text(content)
    before = sorted(os.listdir(tmp_path))
    code, out, err = lrrf("predict", model, path, "--output", tmp_path / "r.csv")
    assert (code, out) == (3, "")
    assert f"error: {path}: " in err
    assert fragment in err
    assert sorted(os.listdir(tmp_path)) == before


def test_an_array_of_the_wrong_width_is_refused(lrrf, model, tmp_path):
    np.save(tmp_path / "t.npy", np.zeros((5, 3)))
    code, _, err = lrrf("predict", model, tmp_path / "t.npy", "--output", tmp_path / "r.csv")
    assert code == 3
    assert "t.npy: the table has 3 columns, the model has 2 features" in err
    assert not (tmp_path / "r.csv").exists()


def test_columns_that_cannot_be_kept_are_refused(lrrf, model, parts, tmp_path):
    arguments = ("predict", model, parts[0], "--output", tmp_path / "r.csv", "--keep")
    code, _, err = lrrf(*arguments, "key")
    assert code == 3
    assert "keep asks for 'key'" in err
    parts[0].write_text("A1,A2,L1\n1,2,3\n")
    code, _, err = lrrf(*arguments, "L1")
    assert code == 3
    assert f"error: {parts[0]}: the kept column 'L1' is called like a label" in err
    assert not (tmp_path / "r.csv").exists()


def cut(content):
    return content[:-3]


def flip(content):
    return content[:-3] + bytes([content[-3] ^ 1]) + content[-2:]


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        (cut, "is no model file, or is cut short or altered"),
        (flip, "the checksum does not fit the content"),
        (lambda content: b"", "the file is empty"),
        (lambda content: b"A1,L1,L2\n1,1,2\n", "is no model file"),
    ],
)
@pytest.mark.parametrize("which", ["predict", "inspect", "evaluate"])
def test_a_damaged_model_is_told_and_leaves_no_output(
    lrrf, model, toy, tmp_path, change, fragment, which
):
    model.write_bytes(change(model.read_bytes()))
    arguments = {
        "predict": (model, toy, "--output", tmp_path / "r.csv"),
        "inspect": (model,),
        "evaluate": (toy, "--model", model),
    }[which]
    before = sorted(os.listdir(tmp_path))
    code, out, err = lrrf(which, *arguments)
    assert (code, out) == (4, "")
    assert err.startswith(f"error: {model}: ")
    assert fragment in err
    assert re.search(r"(train the model again|Give a file that .*)\.$", err.rstrip())
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_command_and_leaves_no_output(
    lrrf, model, parts, tmp_path, monkeypatch, number
):
    def predict(self, X):
        signal.raise_signal(number)

    monkeypatch.setattr(ConsensusLabelRanker, "predict", predict)
    before = sorted(os.listdir(tmp_path))
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    code, _, err = lrrf("predict", model, parts[0], "--output", tmp_path / "r.csv")
    assert code == 130
    assert "interrupted" in err
    assert sorted(os.listdir(tmp_path)) == before
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == handlers


@pytest.fixture
def big(tmp_path):
    """A Parquet file of ten row groups."""
    rows = pd.DataFrame({"id": range(100), "A1": np.arange(100) / 8, "A2": -np.arange(100.0)})
    rows.to_parquet(tmp_path / "big.parquet", row_group_size=10)
    return tmp_path / "big.parquet"


def test_a_large_input_is_cut_into_parts_that_a_later_run_goes_on_with(lrrf, model, big, tmp_path):
    out = tmp_path / "ranks"
    arguments = ("predict", model, big, "--output", f"{out}/", "--part-rows", 30, "--keep", "id")
    code, stdout, err = lrrf(*arguments, "--json")
    assert code == 0, err
    assert parts_in(out) == [f"big-0000{i}.parquet" for i in range(4)]
    document = json.loads(stdout)
    assert [(part["first_row"], part["rows"]) for part in document["done"]] == [
        (0, 30),
        (30, 30),
        (60, 30),
        (90, 10),
    ]
    assert document["rows"] == 100
    assert pd.read_parquet(out)["id"].tolist() == list(range(100))
    code, _, err = lrrf(*arguments)
    assert code == 2
    assert "holds a run already. Go on with it with --resume" in " ".join(err.split())
    (out / "big-00002.parquet").unlink()
    code, stdout, err = lrrf(*arguments, "--resume", "--json")
    assert code == 0
    assert "3 parts, 70 rows, were finished before." in err
    assert [part["resumed"] for part in json.loads(stdout)["done"]] == [True, True, False, True]


def test_shards_make_up_the_whole_and_a_last_run_checks_it(lrrf, model, big, tmp_path):
    out = tmp_path / "ranks"
    arguments = ("predict", model, big, "--output", out, "--part-rows", 10, "--json")
    n_done = 0
    for i in (3, 1, 2):
        code, stdout, _ = lrrf(*arguments, "--shard", f"{i}/3")
        assert code == 0
        n_done += len(json.loads(stdout)["done"])
    assert n_done == 10
    code, stdout, _ = lrrf(*arguments, "--resume")
    assert code == 0
    assert all(part["resumed"] for part in json.loads(stdout)["done"])
    assert json.loads(stdout)["rows"] == 100
    code, _, err = lrrf(*arguments, "--shard", "4/3")
    assert code == 2
    assert "1 <= i <= n" in " ".join(err.split())


def test_a_bad_part_is_reported_with_code_5_and_the_file_goes_on(lrrf, model, big, tmp_path):
    rows = pd.read_parquet(big)
    rows.loc[45, "A1"] = np.inf
    rows.to_parquet(big, row_group_size=10)
    arguments = ("predict", model, big, "--output", tmp_path / "ranks", "--part-rows", 10)
    code, stdout, err = lrrf(*arguments, "--resume", "--json")
    assert code == 5
    assert len(parts_in(tmp_path / "ranks")) == 9
    (failed,) = json.loads(stdout)["failed"]
    assert (failed["input"], failed["part"]) == (str(big), 4)
    assert "row 46 holds inf" in failed["error"]
    assert err.rstrip().endswith(f"1 of 10 failed: {big}")


def test_a_directory_and_a_glob_stand_for_their_tables(lrrf, model, parts, tmp_path):
    days = tmp_path / "days"
    days.mkdir()
    for part in parts:
        part.rename(days / part.name)
    for source, names in ((days, "abc"), (days / "[ac].csv", "ac")):
        out = tmp_path / f"ranks-{names}"
        code, _, err = lrrf("predict", model, source, "--output", out)
        assert code == 0, err
        assert parts_in(out) == [f"{name}.parquet" for name in names]
    code, _, err = lrrf("predict", model, days / "x*.csv", "--output", tmp_path / "ranks")
    assert code == 3
    assert "there is no table in it, or none that matches" in err


@pytest.mark.parametrize(
    ("size", "code", "fragment"),
    [
        ("64MiB", 3, "must be"),
        ("1 TiB", 0, "20 rows"),
        ("lots", 2, "'lots' is no size. Write it like 512MB"),
        ("-1", 2, "is no size"),
    ],
)
def test_a_memory_budget_is_read_with_its_unit(lrrf, model, toy, tmp_path, size, code, fragment):
    found, _, err = lrrf(
        "predict", model, toy, "--output", tmp_path / "r.csv", f"--memory-budget={size}"
    )
    assert found == code, err
    assert fragment in " ".join(err.split())
    assert (tmp_path / "r.csv").exists() == (code == 0)
