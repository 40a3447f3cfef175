"""``lrrf export``."""

import json

import pytest

treelite = pytest.importorskip("treelite")


def test_a_model_is_written_and_told(lrrf, forest_model, tmp_path):
    place = tmp_path / "iris.treelite"
    code, out, err = lrrf("export", forest_model, "--output", place)
    assert (code, out) == (0, "")
    assert err == f"written: {place} ({place.stat().st_size} bytes)\n"
    assert treelite.Model.deserialize(place).num_tree == 5


def test_json_tells_the_files_and_the_labels(lrrf, model, tmp_path):
    place = tmp_path / "toy.bin"
    code, out, _ = lrrf("export", model, "--to", "stablehlo", "--output", place, "--json")
    told = json.loads(out)
    assert code == 0
    assert [file["path"] for file in told["files"]] == [f"{place}", f"{place}.json"]
    assert (told["format"], told["learner"]) == ("stablehlo", "default")
    assert told["labels"] == ["L1", "L2", "L3"]


def test_a_model_with_categories_goes_to_onnx_where_unseen_levels_are_to_be_missing(
    lrrf, tmp_path, monkeypatch
):
    pytest.importorskip("onnx")
    monkeypatch.chdir(tmp_path)
    rows = [f"{'red' if i % 2 else 'blue'},{1 + i % 2},{2 - i % 2}" for i in range(8)]
    (tmp_path / "t.csv").write_text("\n".join(["colour,L1,L2", *rows]) + "\n")
    settings = ("--set", "n_estimators=2", "--no-check")
    assert lrrf("train", "t.csv", "--model", "t.lrrf", *settings)[0] == 0
    code, _, err = lrrf("export", "t.lrrf", "--output", "t.onnx")
    assert (code, "(--unseen missing)" in " ".join(err.split())) == (3, True)
    assert not (tmp_path / "t.onnx").exists()
    assert lrrf("export", "t.lrrf", "--output", "t.onnx", "--unseen", "missing")[0] == 0
    assert (tmp_path / "t.onnx").stat().st_size > 500


@pytest.mark.parametrize(
    ("typed", "expected", "words"),
    [
        ("MODEL --output m.pmml", 2, "one of onnx, treelite, stablehlo"),
        ("MODEL --output m.bin --to pmml", 2, "'pmml' is not one of"),
        ("MODEL --to onnx", 2, "Missing option '--output'"),
        ("MODEL --output MODEL --to onnx", 2, "is the model"),
        ("none.lrrf --output m.onnx", 4, "there is no such file"),
        ("MODEL --output none/m.onnx", 3, "there is no directory"),
        ("MODEL --output there.treelite", 3, "is there already"),
        ("MODEL --output m.treelite", 3, "ONNX and StableHLO hold"),
    ],
)
def test_what_is_wrong_has_its_exit_code(
    lrrf, model, tmp_path, monkeypatch, typed, expected, words
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.treelite").write_text("mine")
    before = {path.name for path in tmp_path.iterdir()}
    code, _, err = lrrf("export", *typed.replace("MODEL", str(model)).split())
    assert (code, words in " ".join(err.split())) == (expected, True), err
    assert {path.name for path in tmp_path.iterdir()} == before


def test_overwrite_replaces_what_is_there(lrrf, forest_model, tmp_path):
    place = tmp_path / "iris.treelite"
    place.write_text("mine")
    assert lrrf("export", forest_model, "--output", place, "--overwrite")[0] == 0
    assert treelite.Model.deserialize(place).num_tree == 5
