"""A pipeline in a model file, on the command line and in streams."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from lrrf_jax import RankingPipeline
from lrrf_jax.io import predict_arrow
from tests.pipelines.tables import NUMBERS, OF_FRAMES, OF_NUMBERS, pipeline, table

X, Y = table()
X["size"] = X["size"].astype(np.float32).astype(float)  # as it is read from files


@pytest.fixture(scope="module")
def fitted():
    return RankingPipeline(pipeline(OF_FRAMES["all at once"])).fit(X, Y)


@pytest.fixture
def files(fitted, tmp_path):
    """A model, and the rows as tables that hold other columns too, in another order."""
    fitted.save(tmp_path / "m.lrrf")
    rows = X.assign(id=[f"r{i}" for i in range(len(X))])[["shop", "id", *X.columns[:3], "code"]]
    both = pd.concat([rows, Y.add_prefix("L_").rename(columns=lambda name: name[2:])], axis=1)
    both.to_csv(tmp_path / "rows.csv", index=False)
    both.to_parquet(tmp_path / "rows.parquet")
    return tmp_path


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_are_ranked_as_frames_are(kind, files, fitted, lrrf):
    out = files / f"ranks.{kind}"
    code, _, told = lrrf(
        "predict", files / "m.lrrf", files / f"rows.{kind}", "--output", out, "--keep", "id"
    )
    assert code == 0, told
    ranks = pd.read_csv(out) if kind == "csv" else pd.read_parquet(out)
    assert ranks["id"].tolist() == [f"r{i}" for i in range(len(X))]
    np.testing.assert_array_equal(ranks[["a", "b", "c"]], fitted.predict(X))


def test_python_streams_a_pipeline_that_was_not_saved(files, fitted):
    fitted.predict_file(files / "rows.csv", files / "scores.parquet", answer="scores")
    scores = pd.read_parquet(files / "scores.parquet")
    np.testing.assert_array_equal(scores[["a", "b", "c"]], fitted.predict_scores(X))
    batch = pa.RecordBatch.from_pandas(X.drop(columns="code"))  # which no step uses
    ranked = predict_arrow(fitted, batch, keep="shop")
    assert ranked.column_names == ["shop", "a", "b", "c"]
    np.testing.assert_array_equal(ranked.to_pandas()[["a", "b", "c"]], fitted.predict(X))


def test_a_pipeline_of_numbers_without_names_takes_arrays(tmp_path, lrrf):
    rows = X[NUMBERS].to_numpy(np.float32)
    fitted = RankingPipeline(pipeline(OF_NUMBERS["imputer with marks"])).fit(rows, Y)
    fitted.save(tmp_path / "m.lrrf")
    np.save(tmp_path / "rows.npy", rows)
    code, _, told = lrrf(
        "predict", tmp_path / "m.lrrf", tmp_path / "rows.npy", "--output", tmp_path / "out.npy"
    )
    assert code == 0, told
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), fitted.predict(rows))


def test_it_is_evaluated_by_the_names_of_its_columns(files, fitted, lrrf):
    code, out, told = lrrf(
        "evaluate", files / "rows.csv", "--model", files / "m.lrrf", "--labels", "a,b,c", "--json"
    )
    assert code == 0, told
    assert abs(_found(json.loads(out), "kendall_tau") - fitted.score(X, Y)) < 1e-6


def _found(document, name):
    """Find an entry, however deep."""
    if isinstance(document, dict):
        if name in document:
            return document[name]
        document = list(document.values())
    for inner in document if isinstance(document, list) else []:
        found = _found(inner, name)
        if found is not None:
            return found
    return None


def test_inspect_tells_the_steps_and_the_learner(files, lrrf):
    code, out, _ = lrrf("inspect", files / "m.lrrf")
    assert code == 0
    assert "step 1" in out
    assert "ColumnTransformer" in out
    assert "max_depth=4" in out
    code, out, _ = lrrf("inspect", files / "m.lrrf", "--json")
    facts = json.loads(out)
    assert facts["features"] == ["size", "width", "colour", "shop"]
    assert facts["learner"] == "lrt"
    assert len(facts["steps"]) == 3


def test_a_new_level_and_a_column_that_is_not_there_are_told_with_the_file(files, lrrf):
    text = (files / "rows.csv").read_text().replace("mauve", "pink", 1)
    (files / "new.csv").write_text(text)
    code, _, told = lrrf(
        "predict", files / "m.lrrf", files / "new.csv", "--output", files / "o.csv"
    )
    assert code == 3
    assert "column 'colour' is" in told
    assert "a level that it does not know" in told or "'pink'" in told
    (files / "less.csv").write_text((files / "rows.csv").read_text().replace("width", "breadth"))
    code, _, told = lrrf(
        "predict", files / "m.lrrf", files / "less.csv", "--output", files / "o.csv"
    )
    assert code == 3
    assert "'width'" in told
    assert not (files / "o.csv").exists()
