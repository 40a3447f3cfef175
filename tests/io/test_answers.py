"""Scores, and labels in order, in files and for other engines."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from lrrf_jax import InputError
from lrrf_jax.io import predict_arrow, ranking_schema
from lrrf_jax.io.answers import as_answer
from lrrf_jax.learners import LEARNERS
from tests.io.streaming import NAMES, features, read_parts, write_table

LABELS = ["a", 'b "c", d', "ä"]  # CSV has to quote them


@pytest.fixture(scope="module")
def ranker():
    X = np.nan_to_num(features(60))
    y = np.argsort(np.argsort(X, axis=1, kind="stable"), axis=1) + 1
    ranker = LEARNERS["lr-rf"](n_estimators=3, max_depth=3, random_state=0)
    return ranker.fit(X, y, feature_names=NAMES, labels=LABELS)


def answer_of(ranker, X, answer, top=None):
    """The same by what users call in memory."""
    if answer == "scores":
        return ranker.predict_scores(X)
    if answer == "order" or top:
        return ranker.predict_order(X)[:, :top]
    return ranker.predict(X)


def columns_of(answer, top=None):
    return [f"place_{k + 1}" for k in range(top or 3)] if answer == "order" or top else LABELS


ASKED = [("positions", None), ("scores", None), ("order", None), ("order", 2), ("positions", 1)]


@pytest.mark.parametrize("format", ["csv", "parquet", "npy"])
@pytest.mark.parametrize(("answer", "top"), ASKED)
def test_answers_in_a_file_are_those_in_memory(tmp_path, ranker, format, answer, top):
    X = write_table(tmp_path / "t.parquet", 100, seed=3)
    expected = answer_of(ranker, X, answer, top)
    assert len(np.unique(expected, axis=0)) > 2
    output = tmp_path / f"out.{format}"
    keep = () if format == "npy" else "id"
    if format == "npy" and (answer == "order" or top):
        with pytest.raises(InputError, match="order of labels is text, and npy files hold numbers"):
            ranker.predict_file(tmp_path / "t.parquet", output, answer=answer, top=top)
        assert not output.exists()
        return
    ranker.predict_file(tmp_path / "t.parquet", output, answer=answer, top=top, keep=keep)
    if format == "npy":
        got = np.load(output)
        assert got.dtype == (np.float32 if answer == "scores" else np.int32)
        np.testing.assert_array_equal(got, expected)
        return
    table = pd.read_csv(output) if format == "csv" else pd.read_parquet(output)
    assert table.columns.tolist() == ["id", *columns_of(answer, top)]
    assert table["id"].tolist() == list(range(100))
    got = table[columns_of(answer, top)].to_numpy()
    np.testing.assert_array_equal(np.float32(got) if answer == "scores" else got, expected)
    if format == "parquet":
        types = set(pyarrow.parquet.read_schema(output).types[1:])
        wanted = pa.string() if answer == "order" or top else pa.int32()
        assert types == {pa.float32() if answer == "scores" else wanted}


@pytest.mark.parametrize(("answer", "top"), ASKED)
def test_answers_for_other_engines_are_those_in_memory(ranker, answer, top):
    X = features(9, seed=4)
    batch = pa.record_batch({"id": range(9), **dict(zip(NAMES, X.T, strict=True))})
    expected = answer_of(ranker, X, answer, top)
    schema = ranking_schema(ranker, batch.schema, keep="id", answer=answer, top=top)
    for pad_to in (None, 16):
        options = {"keep": "id", "answer": answer, "top": top, "pad_to": pad_to}
        got = predict_arrow(ranker, batch, **options)
        assert got.schema == schema
        assert schema.names == ["id", *columns_of(answer, top)]
        columns = [got.column(name).to_numpy(zero_copy_only=False) for name in schema.names[1:]]
        np.testing.assert_array_equal(np.stack(columns, axis=1), expected)
        assert predict_arrow(ranker, batch.slice(0, 0), **options).schema == schema


def test_parts_go_on_with_the_same_answer_only(tmp_path, ranker):
    X = write_table(tmp_path / "t.parquet", 64, seed=5)
    options = {"part_rows": 16, "answer": "order", "top": 2}
    report = ranker.predict_file(tmp_path / "t.parquet", f"{tmp_path}/out/", **options)
    assert len(report.parts) == 4
    (tmp_path / "out" / "t-00002.parquet").unlink()
    report = ranker.predict_file(tmp_path / "t.parquet", tmp_path / "out", resume=True, **options)
    assert [part.resumed for part in report.parts] == [True, True, False, True]
    got = read_parts(report).to_pandas().to_numpy()
    np.testing.assert_array_equal(got, ranker.predict_order(X)[:, :2])
    for other, name in (({"answer": "order"}, "places"), ({"answer": "scores"}, "answer")):
        with pytest.raises(InputError, match=f"these differ: .*{name}"):
            ranker.predict_file(
                tmp_path / "t.parquet", tmp_path / "out", resume=True, part_rows=16, **other
            )


def test_a_run_of_an_older_version_goes_on(tmp_path, ranker):
    write_table(tmp_path / "t.parquet", 64, seed=5)
    ranker.predict_file(tmp_path / "t.parquet", f"{tmp_path}/out/", part_rows=16)
    plan = tmp_path / "out" / "_lrrf" / "plan.json"
    content = json.loads(plan.read_text())
    for name in ("answer", "places", "unseen", "delimiter", "decimal", "encoding"):
        del content["settings"][name]
    plan.write_text(json.dumps(content))
    (tmp_path / "out" / "t-00002.parquet").unlink()
    again = ranker.predict_file(tmp_path / "t.parquet", tmp_path / "out", part_rows=16, resume=True)
    assert sum(part.resumed for part in again.parts) == 3


@pytest.mark.parametrize(
    ("column", "asked", "message"),
    [
        ("ä", {}, "kept column 'ä' is called like a label"),
        ("ä", {"answer": "scores"}, "kept column 'ä' is called like a label"),
        ("place_2", {"answer": "order"}, "kept column 'place_2' is called like a place of the ord"),
    ],
)
def test_a_kept_column_is_not_called_like_one_of_the_answer(
    tmp_path, ranker, column, asked, message
):
    X = features(4)
    table = pd.DataFrame(X, columns=NAMES).assign(**{column: 1})
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match=message):
        ranker.predict_file(tmp_path / "t.csv", tmp_path / "r.csv", keep=column, **asked)
    with pytest.raises(InputError, match=message):
        predict_arrow(ranker, pa.Table.from_pandas(table), keep=column, **asked)
    with pytest.raises(InputError, match=message):
        ranking_schema(ranker, pa.Table.from_pandas(table).schema, keep=column, **asked)
    free = {"answer": "order", "top": 1}  # whose only column is place_1
    ranker.predict_file(tmp_path / "t.csv", tmp_path / "r.csv", keep=column, **free)
    assert pd.read_csv(tmp_path / "r.csv").columns.tolist() == [column, "place_1"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"answer": "ranks"}, "answer must be one of 'positions', 'scores', 'order'"),
        ({"top": 0}, "top must be a whole number from 1 to 3; it is 0"),
        ({"top": 4}, "top must be a whole number from 1 to 3; it is 4"),
        ({"top": 1.5}, "top must be a whole number"),
        ({"answer": "scores", "top": 2}, "top= .--top. cuts the order .* Give one of them"),
    ],
)
def test_what_cannot_be_answered_is_refused_before_the_work(tmp_path, ranker, asked, message):
    write_table(tmp_path / "t.csv", 8)
    with pytest.raises(InputError, match=message):
        ranker.predict_file(tmp_path / "t.csv", tmp_path / "r.csv", **asked)
    assert not (tmp_path / "r.csv").exists()
    with pytest.raises(InputError, match=message):
        ranking_schema(ranker, pa.schema([(name, pa.float32()) for name in NAMES]), **asked)


def test_the_memory_of_an_answer_is_that_of_its_columns(ranker):
    X = features(1000, seed=6)
    for answer, top in ASKED:
        asked = as_answer(ranker.labels_, answer, top)
        columns = asked.columns(ranker, X)
        held = sum(column.nbytes for column in columns)
        assert held <= asked.row_bytes * len(X) + 4 * len(columns)
        if asked.kind != "order":
            assert held == asked.row_bytes * len(X)
