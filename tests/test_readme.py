"""What the README and the page of frames show is what happens."""

import pathlib
import re

import numpy as np
import pandas as pd

from lrrf_jax import RandomForestLabelRanker
from lrrf_jax.datasets import load
from tests.test_docs import Shell, blocks_of, programs_of

README = pathlib.Path(__file__).parents[1] / "README.md"
FRAMES = README.parent / "docs/frames.md"


def test_the_first_example_runs_and_prints_the_names_of_the_labels(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = programs_of(README)[0]
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


def test_a_newcomers_lines_take_a_category_and_partial_rankings_and_give_a_labelled_frame():
    code = programs_of(FRAMES)[0]
    assert len(code[: code.index("print")].strip().splitlines()) <= 8
    names = {}
    exec(compile(code, str(FRAMES), "exec"), names)
    X, y, ranker = names["X"], names["y"], names["ranker"]
    assert y.isna().any(axis=None)
    assert X.isna().any(axis=None)
    answer = ranker.predict(X.iloc[::-1], output="pandas")
    assert answer.columns.tolist() == ["Pd", "Ni", "Cu"]
    assert answer.index.tolist() == X.index[::-1].tolist()
    assert set(ranker.feature_categories_["solvent"]) == {"DMF", "water"}


def test_the_commands_of_the_readme_run_one_after_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    served = []
    monkeypatch.setattr("uvicorn.run", lambda app, **settings: served.append((app, settings)))
    data = load("iris")
    labels = [f"L{name}" for name in data.labels]
    table = pd.DataFrame(data.X, columns=["a", "b", "c", "d"]).join(
        pd.DataFrame(data.y, columns=labels)
    )
    table.to_csv("table.csv", index=False)
    table.assign(id=range(len(table))).to_parquet("new.parquet")
    block = next(text for _, text in blocks_of(README) if text.startswith("lrrf train"))
    commands = [line.partition("  ")[0] for line in block.splitlines()]
    assert commands.pop() == "lrrf doctor"  # tests/cli/test_cli_doctor.py
    for command in commands:
        shell = Shell()
        printed = shell.type(command.replace("--folds 10", "--folds 2 --repeats 1"))
        assert shell.code == 0, (command, printed)
    assert pd.read_parquet("ranks.parquet").columns.tolist() == ["id", *labels]
    for name in ("page.html", "table.onnx"):
        assert pathlib.Path(name).stat().st_size > 1000
    assert [settings["port"] for _, settings in served] == [8000]


def test_the_readme_is_short_and_its_links_lead_somewhere():
    text = README.read_text("utf-8")
    assert len(text.splitlines()) <= 120
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", text)
    assert len(links) > 20
    missing = [link for link in links if "://" not in link and not (README.parent / link).exists()]
    assert not missing
