"""What the README shows is what happens."""

import pathlib
import re

import numpy as np

from lrrf_jax import RandomForestLabelRanker
from lrrf_jax.datasets import load

README = pathlib.Path(__file__).parents[1] / "README.md"


def first_python_block():
    return re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[1]


def test_the_first_example_runs_and_prints_the_names_of_the_labels(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = first_python_block()
    assert "predict_order" in code
    exec(compile(code, str(README), "exec"), {})
    printed = capsys.readouterr().out
    iris = load("iris")
    ranker = RandomForestLabelRanker(random_state=0).fit(iris.X, iris.y)
    orders = [np.array(iris.labels)[np.argsort(row)] for row in ranker.predict(iris.X[:2])]
    assert set(orders[0]) == {"setosa", "versicolor", "virginica"}
    assert str(np.array(orders)) in printed
    assert str(ranker.score(iris.X, iris.y)) in printed
    assert (tmp_path / "iris.lrrf").exists()
