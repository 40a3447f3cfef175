"""MLflow stores our file, and predicts what the model does, in this process and in others."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from lrrf_jax import InputError, load
from lrrf_jax.serving.mlflow import log_model, save_model
from tests.pipelines import tables
from tests.serving import models
from tests.serving.models import forest, trips

mlflow = pytest.importorskip("mlflow")
pyfunc = pytest.importorskip("mlflow.pyfunc")

pytestmark = pytest.mark.filterwarnings("ignore:.*An input example was not provided")
SOURCES = str(pathlib.Path(__file__).parents[2])


def test_a_saved_model_predicts_what_the_ranker_does(tmp_path):
    X, _ = trips()
    save_model(forest(), tmp_path / "model")
    model = pyfunc.load_model(str(tmp_path / "model"))
    pd.testing.assert_frame_equal(model.predict(X), forest().predict(X, output="pandas"))
    for answer, method in (("scores", "predict_scores"), ("order", "predict_order")):
        found = model.predict(X, params={"answer": answer})
        pd.testing.assert_frame_equal(found, getattr(forest(), method)(X, output="pandas"))
    # Columns go by name, as the signature says.
    pd.testing.assert_frame_equal(model.predict(X[["km", "town", "age"]]), model.predict(X))
    with pytest.raises(InputError, match="answer must be one of 'positions', 'scores', 'order'"):
        model.predict(X, params={"answer": "best"})
    np.testing.assert_array_equal(model.get_raw_model().predict(X), forest().predict(X))


def test_the_file_is_ours_and_nothing_is_pickled(tmp_path):
    save_model(forest(), tmp_path / "model")
    forest().save(tmp_path / "ours.lrrf")
    files = {path.name: path for path in (tmp_path / "model").rglob("*") if path.is_file()}
    assert files["model.lrrf"].read_bytes() == (tmp_path / "ours.lrrf").read_bytes()
    assert not [name for name in files if "pkl" in name or "pickle" in name]
    assert load(files["model.lrrf"]).labels_.tolist() == ["bus", "bike", "tram"]
    requirements = files["requirements.txt"].read_text().splitlines()
    assert any(line.startswith("lrrf_jax[mlflow]==") for line in requirements)


def test_the_signature_has_names_and_types(tmp_path):
    save_model(forest(), tmp_path / "model", metadata={"owner": "us"})
    told = mlflow.models.get_model_info(str(tmp_path / "model"))
    columns = [(column.name, column.type.name) for column in told.signature.inputs]
    assert columns == [("age", "double"), ("town", "string"), ("km", "double")]
    assert told.signature.outputs.input_names() == ["bus", "bike", "tram"]
    assert told.metadata == {"owner": "us"}


def test_a_pipeline_and_a_model_without_names_are_stored_too(tmp_path):
    X = tables.table()[0].drop(columns=["shop", "code"])
    X["width"] = X["width"].astype(float)
    save_model(models.pipeline(), tmp_path / "pipeline")
    found = pyfunc.load_model(str(tmp_path / "pipeline")).predict(X)
    np.testing.assert_array_equal(found, models.pipeline().predict(tables.table()[0]))
    rows = trips()[0][["age", "km"]].to_numpy()
    save_model(models.forest_of_numbers(), tmp_path / "numbers")
    found = pyfunc.load_model(str(tmp_path / "numbers")).predict(rows)
    np.testing.assert_array_equal(found, models.forest_of_numbers().predict(rows))


def test_a_logged_model_predicts_the_same_in_another_process(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    try:
        with mlflow.start_run():
            told = log_model(forest(), name="trips")
        where = pyfunc.load_model(told.model_uri).metadata
        assert where.signature.outputs.input_names() == ["bus", "bike", "tram"]
    finally:
        mlflow.set_tracking_uri(None)
    X, _ = trips()
    X.to_pickle(tmp_path / "rows.pkl")
    program = (
        "import sys, pandas as pd, mlflow, mlflow.pyfunc\n"
        "mlflow.set_tracking_uri(sys.argv[1])\n"
        "rows = pd.read_pickle(sys.argv[3])\n"
        "mlflow.pyfunc.load_model(sys.argv[2]).predict(rows).to_pickle('found.pkl')\n"
    )
    uris = [(tmp_path / "runs").as_uri(), told.model_uri, str(tmp_path / "rows.pkl")]
    environment = {**os.environ, "PYTHONPATH": SOURCES}
    done = subprocess.run(
        [sys.executable, "-c", program, *uris],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = pd.read_pickle(tmp_path / "found.pkl")
    pd.testing.assert_frame_equal(found, forest().predict(X, output="pandas"))


def test_an_absent_mlflow_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(InputError, match=r"pip install 'lrrf_jax\[mlflow\]'"):
        save_model(forest(), tmp_path / "model")
