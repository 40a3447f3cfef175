"""The recipes for other engines, run as users do; slow."""

import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from lrrf_jax import RandomForestLabelRanker

RECIPES = pathlib.Path(__file__).parents[2] / "scripts" / "recipes"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipe", "needs"), [("predict_dask.py", "dask.dataframe"), ("predict_spark.py", "pyspark")]
)
def test_recipe_ranks_every_row_as_predict_does(recipe, needs, tmp_path):
    pytest.importorskip(needs)
    if needs == "pyspark" and not shutil.which("java"):
        pytest.skip("Spark needs Java")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)).astype(np.float32)
    y = np.argsort(np.argsort(X @ rng.normal(size=(3, 4)), axis=1), axis=1) + 1
    ranker = RandomForestLabelRanker(n_estimators=3, max_depth=3, random_state=0)
    ranker.fit(X, y, feature_names=["x", "y", "z"], labels=["a", "b", "c", "d"])
    ranker.save(tmp_path / "model.lrrf")
    X[::7, 0] = np.nan
    keys = [None if i % 5 == 0 else f"k{i}" for i in range(len(X))]
    rows = pa.table({"z": X[:, 2], "key": keys, "y": X[:, 1], "id": range(400), "x": X[:, 0]})
    (tmp_path / "in").mkdir()
    pq.write_table(rows.slice(0, 150), tmp_path / "in" / "a.parquet")
    pq.write_table(rows.slice(150), tmp_path / "in" / "b.parquet")
    done = subprocess.run(
        [sys.executable, RECIPES / recipe, "model.lrrf", "in", "out", "--keep=id", "--keep=key"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = pyarrow.dataset.dataset(
        tmp_path / "out", format="parquet", exclude_invalid_files=True
    ).to_table()
    found = found.sort_by("id")
    assert found.column_names == ["id", "key", "a", "b", "c", "d"]
    assert found["id"].to_pylist() == list(range(400))
    assert found["key"].to_pylist() == keys
    ranks = np.stack([found[label].to_numpy() for label in ranker.labels_], axis=1)
    assert ranks.dtype == np.int32
    np.testing.assert_array_equal(ranks, ranker.predict(X))
