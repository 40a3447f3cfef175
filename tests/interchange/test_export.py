"""``export`` of every learner: formats, files that are whole or not there, and what is refused."""

import json
import pathlib
import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

from lrrf_jax import LEARNERS, InputError, RandomForestLabelRanker, RankingPipeline
from lrrf_jax.interchange import files as exported_files
from tests.small_learners import small

X = [[0.0, 1], [1, 0], [2, 1], [3, 0]]
Y = [[1, 2, 3], [1, 2, 3], [3, 2, 1], [2, 3, 1]]
FORMATS = {"onnx": "onnx", "treelite": "treelite", "stablehlo": "flatbuffers"}  # -> package


@pytest.fixture(scope="module")
def ranker():
    """One tree: nothing of it is compiled by what does not apply it."""
    return LEARNERS["lrt"]().fit(X, Y, labels=["a", "b", "ö"], feature_names=["u", "v"])


@pytest.mark.parametrize("format", FORMATS)
def test_the_suffix_or_the_format_says_what_is_written(ranker, tmp_path, format):
    by_suffix = ranker.export(tmp_path / f"m.{format.upper()}")
    by_format = ranker.export(tmp_path / "m.bin", format)
    first, second = (pathlib.Path(files[0]).read_bytes() for files in (by_suffix, by_format))
    assert len(first) == len(second) > 100
    assert sorted(map(str, tmp_path.iterdir())) == sorted(by_suffix + by_format)


def test_stablehlo_has_its_names_and_versions_beside_it(ranker, tmp_path):
    _, beside = ranker.export(tmp_path / "m.stablehlo")
    facts = json.loads(pathlib.Path(beside).read_text("utf-8"))
    assert beside == str(tmp_path / "m.stablehlo.json")
    assert facts["labels"] == ["a", "b", "ö"]
    assert facts["feature_names"] == ["u", "v"]
    assert facts["platforms"] == ["cpu", "cuda"]
    assert (facts["aggregation"], facts["n_trees"]) == ("two-step", 1)
    assert {"lrrf_jax_version", "jax_version", "calling_convention_version"} <= facts.keys()


@pytest.mark.parametrize(
    ("path", "format", "words"),
    [
        ("m.lrrf", None, "the suffix must tell the format, one of onnx, treelite, stablehlo"),
        ("m", None, "the suffix must tell"),
        ("m.treelite", "pmml", "format must be one of onnx, treelite, stablehlo; it is 'pmml'"),
        ("none/m.treelite", None, "there is no directory"),
        ("there.treelite", None, "is there already"),
        ("beside.stablehlo", None, r"beside.stablehlo.json: is there already"),
    ],
)
def test_what_cannot_be_written_is_told_before_any_work(ranker, tmp_path, path, format, words):
    (tmp_path / "there.treelite").write_text("mine")
    (tmp_path / "beside.stablehlo.json").write_text("mine")
    with pytest.raises(InputError, match=words):
        ranker.export(tmp_path / path, format)
    assert {p.read_text() for p in tmp_path.iterdir()} == {"mine"}


def test_what_is_there_is_replaced_where_that_is_asked_for(ranker, tmp_path):
    place = tmp_path / "m.treelite"
    place.write_text("mine")
    ranker.export(place, overwrite=True)
    assert place.read_bytes()[:4] != b"mine"


def test_files_are_whole_or_not_there(ranker, tmp_path, monkeypatch):
    monkeypatch.setitem(exported_files._CONTENTS, "stablehlo", lambda _: [b"model", None])
    (tmp_path / "m.stablehlo").write_text("before")
    with pytest.raises(TypeError):
        ranker.export(tmp_path / "m.stablehlo", overwrite=True)
    assert [p.read_text() for p in tmp_path.iterdir()] == ["before"]


@pytest.mark.parametrize(("format", "package"), FORMATS.items())
def test_a_package_that_is_not_there_is_named_with_its_extra(
    ranker, tmp_path, monkeypatch, format, package
):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=rf"needs? .*{package}.*pip install 'lrrf_jax\[export\]'"):
        ranker.export(tmp_path / f"m.{format}")
    assert not list(tmp_path.iterdir())


def test_treelite_refuses_learners_without_trees_and_names_who_holds_them(tmp_path):
    ranker = LEARNERS["default"]().fit(X, Y)
    with pytest.raises(InputError, match="'default' has none. ONNX and StableHLO hold"):
        ranker.export(tmp_path / "m.treelite")


def test_stablehlo_refuses_neighbours_whose_scaling_is_numpys(tmp_path):
    ranker = LEARNERS["ib-m"](n_neighbors=2, scale=True).fit(X, Y)
    with pytest.raises(InputError, match="cannot hold this 'ib-m'.*scale=False"):
        ranker.export(tmp_path / "m.stablehlo")


@pytest.mark.parametrize("format", FORMATS)
def test_no_format_holds_a_stack(tmp_path, format):
    ranker = small("stack").fit(np.repeat(X, 2, 0), np.repeat(Y, 2, 0))
    with pytest.raises(InputError, match="'stack'"):
        ranker.export(tmp_path / f"m.{format}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("format", ["onnx", "treelite"])
def test_boosted_trees_are_not_taken_for_trees_that_vote(tmp_path, format):
    ranker = small("lr-boost", n_estimators=3).fit(X, Y)
    with pytest.raises(InputError, match="'lr-boost'"):
        ranker.export(tmp_path / f"m.{format}")


def test_an_unfitted_learner_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        RandomForestLabelRanker().export(tmp_path / "m.treelite")


def test_a_pipeline_goes_to_onnx_and_to_nothing_that_holds_no_steps(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    pipeline = RankingPipeline([("scale", StandardScaler()), ("ranker", LEARNERS["lrt"]())])
    pipeline.fit(np.array(X), np.array(Y))
    (file,) = pipeline.export(tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(file)
    ranks = session.run(["ranks"], {"X": np.float32(X)})[0]
    np.testing.assert_array_equal(ranks, pipeline.predict(np.array(X)))
    for format in ("stablehlo", "treelite"):
        with pytest.raises(InputError, match=r"of pipeline\.ranker.*pipeline\[:-1\]\.transform"):
            pipeline.export(tmp_path / f"m.{format}")
