"""The recipe for BentoML, where a `bentoml` is on the PATH, of whatever environment."""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess

import httpx
import numpy as np
import pytest

from tests.serving.models import forest, objects, trips
from tests.serving.running import SOURCES, free_port, wait_for

RECIPES = pathlib.Path(__file__).parents[2] / "scripts/recipes"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bentoml") is None, reason="needs bentoml on the PATH")
def test_bentoml_answers_what_the_model_predicts_to_many_at_once(tmp_path):
    forest().save(tmp_path / "model.lrrf")
    port, log = free_port(), tmp_path / "log"
    variables = {
        "LRRF_MODEL": str(tmp_path / "model.lrrf"),
        "PYTHONPATH": SOURCES,
        "BENTOML_HOME": str(tmp_path / "home"),
        "BENTOML_DO_NOT_TRACK": "True",
    }
    with open(log, "wb") as file:
        process = subprocess.Popen(
            ["bentoml", "serve", "serve_bentoml:LabelRanking", "--port", str(port)],
            cwd=RECIPES,
            env={**os.environ, **variables},
            stdout=file,
            stderr=file,
        )
    X = trips()[0]

    def is_ready():
        assert process.poll() is None, log.read_text()
        try:
            return client.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False

    def ask(at):
        rows = [dict(reversed(row.items())) for row in objects(X[at : at + 3])]
        return client.post("/positions", json={"rows": rows}).json()

    try:
        with httpx.Client(
            base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60
        ) as client:
            wait_for(is_ready, log)
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                found = list(pool.map(ask, range(37)))
            assert found == [forest().predict(X[at : at + 3]).tolist() for at in range(37)]
            rows = {"rows": objects(X[:4])}
            order = client.post("/order", json=rows).json()
            assert order == forest().predict_order(X[:4]).tolist()
            scores = np.array(client.post("/scores", json=rows).json(), np.float32)
            np.testing.assert_array_equal(scores, forest().predict_scores(X[:4]))
            bad = client.post("/positions", json={"rows": [{"age": 1}]})
            assert bad.status_code == 400
            assert "'town' is missing" in bad.text
    finally:
        process.terminate()
        process.wait(60)
