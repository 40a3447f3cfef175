"""The page of results names what results files and JSON documents hold."""

import csv
import dataclasses
import json
import pathlib
import re

import pytest

from lrrf_jax.cli import main
from lrrf_jax.evaluation.results import FoldResult, ResultsFile

PAGE = pathlib.Path(__file__).parents[2] / "docs/formats/results.md"
TEXT = PAGE.read_text("utf-8")
FOREST = PAGE.parents[2] / "tests/models/v2/lr-rf.lrrf"
FAST = ("--folds", "3", "--repeats", "1", "--json")


def section(title):
    return re.search(rf"^#+ {title}\n(.*?)(?=^#)", TEXT + "\n#", re.S | re.M)[1]


def row(command):
    return re.search(rf"^\| `{command}` \| (.*)$", TEXT, re.M)[1]


@pytest.fixture
def document(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "xla"))

    def document(*arguments):
        assert main([*arguments]) in (0, 5)
        return json.loads(capsys.readouterr().out)

    return document


def unnamed(document, text, *, within=()):
    """List the entries of a document that a text does not name; of ``within``, those within."""
    names = list(document)
    for name in within:
        part = document[name][0] if isinstance(document[name], list) else document[name]
        names += list(part)
    return [name for name in names if f"`{name}`" not in text]


def test_the_columns_are_named_in_their_order():
    named = re.findall(r"^\| (`.*?) \|", section("The results file"), re.M)
    columns = [name for cell in named for name in re.findall(r"`(\w+)`", cell)]
    assert columns == [field.name for field in dataclasses.fields(FoldResult)]


def test_any_text_comes_back_through_plain_csv(tmp_path):
    odd = FoldResult(
        *('a "b", c', "line\nend #0", 0.1, "p", True, 3, 0, 1, 0, '{"x": "é"}', "1", "here"),
        tau=1 / 3,
    )
    path = tmp_path / "folds.csv"
    ResultsFile(path).append([odd])
    with open(path, encoding="utf-8", newline="") as file:
        (line,) = csv.DictReader(file)
    for field in dataclasses.fields(FoldResult):
        value = getattr(odd, field.name)
        assert line[field.name] == str(value)
    assert float(line["tau"]) == 1 / 3
    assert line["fit_seconds"] == "nan"
    assert path.read_bytes().count(b"\r") == 0


def test_the_document_of_a_comparison_has_the_entries_of_the_page(document):
    text = section("`lrrf evaluate`")
    learners = ("--learner", "default,rpc")
    found = document("evaluate", "builtin:iris", "builtin:wine", "builtin:x", *learners, *FAST)
    assert unnamed(found, text, within=["results", "differences", "tests", "failed"]) == []
    assert unnamed(found["results"][0], text, within=["settings"]) == []
    assert unnamed(found["differences"][0], text, within=["learners"]) == []
    found = document("evaluate", "builtin:algorithms", "--learner", "default", *FAST)
    (result,) = found["results"]
    assert unnamed(result, text, within=["settings"]) == []
    for measured in result["measures"].values():
        assert unnamed(measured, text, within=["baselines"]) == []


def test_the_documents_of_the_other_commands_have_the_entries_of_the_page(document, tmp_path):
    train = document(
        "train", "builtin:algorithms", "--model", "m", "--learner", "default", "--json"
    )
    assert unnamed(train, row("train"), within=["seconds", "estimate"]) == []
    scored = document("evaluate", "builtin:algorithms", "--model", "m", "--json")
    assert unnamed(scored, section("`lrrf evaluate`"), within=["results"]) == []
    model_file = (PAGE.parent / "model-file.md").read_text("utf-8")
    for model in ("m", str(FOREST)):
        held = document("inspect", model, "--json")
        assert unnamed(held, row("inspect") + model_file) == []
    names = ",".join(train["features"])
    (tmp_path / "rows.csv").write_text(names + "\n" + ",".join("1" * len(train["features"])))
    done = document("predict", "m", "rows.csv", "none.csv", "--output", "out", "--json")
    assert unnamed(done, row("predict"), within=["done", "failed"]) == []
    told = document("datasets", "describe", "builtin:iris", "--json")
    assert unnamed(told, row("datasets describe")) == []
    told = document("datasets", "list", "--json")
    assert unnamed(told, row("datasets list"), within=["datasets"]) == []


@pytest.mark.slow
def test_the_document_of_the_doctor_has_the_entries_of_the_page(document):
    assert unnamed(document("doctor", "--json"), row("doctor")) == []
