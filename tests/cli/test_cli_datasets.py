import json
import os

import pytest

from lrrf_jax.datasets import _kebi_registry, kebi
from tests.cli.conftest import fill
from tests.datasets import kebi_server
from tests.datasets.kebi_server import COPIES, serve


@pytest.fixture
def toys(monkeypatch, tmp_path):
    """Two sets, of which the server below has one."""
    known = kebi_server.known_set()
    for module in (kebi, _kebi_registry):
        monkeypatch.setattr(module, "kebi_sets", lambda: {"toy": known, "lost": known})
    folder = tmp_path / "data"
    monkeypatch.setenv("LRRF_DATA", str(folder))
    return folder


def test_the_list_names_every_set_and_whether_it_is_here(lrrf, toys):
    toys.mkdir()
    (toys / "toy.csv").write_bytes(COPIES["toy.csv"])
    code, out, err = lrrf("datasets", "list")
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["data", "rows", "features", "labels", "here"]
    assert ["builtin:iris", "150", "4", "3", "yes"] in lines
    assert lines[-2:] == [
        ["kebi:toy", "40", "3", "11", "yes"],
        ["kebi:lost", "40", "3", "11", "no"],
    ]
    code, out, _ = lrrf("datasets", "list", "--json")
    document = json.loads(out)
    assert document["directory"] == str(toys)
    assert document["datasets"][-1]["here"] is False


def test_sets_are_fetched_and_what_fails_is_told(lrrf, toys):
    with serve(COPIES) as (address, asked):
        arguments = ["--url", address + "/{name}.csv", "--json"]
        code, out, err = lrrf("datasets", "fetch", "toy", "lost", *arguments)
        assert code == 5
        document = json.loads(out)
        assert document["fetched"] == [{"data": "kebi:toy", "path": str(toys / "toy.csv")}]
        assert "404" in document["failed"][0]["error"]
        assert "1 of 2 failed: lost" in err
        code, out, _ = lrrf("datasets", "fetch", "kebi:toy", *arguments[:2])
        assert (code, out) == (0, f"kebi:toy  {toys / 'toy.csv'}\n")
        assert asked == ["toy.csv", "lost.csv"]
        assert lrrf("datasets", "fetch", "toy", "--force", *arguments)[0] == 0
        assert lrrf("datasets", "fetch", "--all", *arguments)[0] == 5
        assert asked == ["toy.csv", "lost.csv", "toy.csv", "lost.csv"]


def test_a_full_disk_is_not_blamed_on_the_network_and_keeps_no_half_of_a_set(
    lrrf, toys, small_disk
):
    ballast = fill(small_disk)
    with serve(COPIES) as (address, _):
        arguments = ["toy", "--directory", small_disk, "--url", address + "/{name}.csv"]
        code, _, err = lrrf("datasets", "fetch", *arguments)
        assert (code, os.listdir(small_disk)) == (6, ["ballast"]), err
        assert f"{small_disk}: cannot be written (No space left on device)" in err
        ballast.unlink()
        assert lrrf("datasets", "fetch", *arguments)[0] == 0


def test_one_set_that_fails_is_bad_input(lrrf, toys):
    with serve(COPIES) as (address, _):
        code, out, err = lrrf("datasets", "fetch", "lost", "--url", address + "/{name}.csv")
    assert (code, out) == (3, "")
    assert f"put a copy into {toys}" in err


@pytest.mark.parametrize("arguments", [("fetch",), ("fetch", "toy", "--all"), ("describe",)])
def test_what_names_no_set_is_a_usage_error(lrrf, arguments):
    code, _, err = lrrf("datasets", *arguments)
    assert code == 2
    assert "Usage: lrrf datasets" in err


def test_a_set_is_described_in_words_and_in_json(lrrf, toys):
    toys.mkdir()
    (toys / "toy.csv").write_bytes(COPIES["toy.csv"])
    code, out, _ = lrrf("datasets", "describe", "kebi:toy")
    assert code == 0
    assert "distinct rankings:      40" in out
    assert "naive Bayes" in out
    code, out, _ = lrrf("datasets", "describe", "kebi:toy", "--json")
    facts = json.loads(out)
    assert (facts["rows"], facts["features"], facts["labels"]) == (40, 3, 11)
    assert facts["mean_positions"] == kebi_server.Y.mean(0).round(3).tolist()
    assert facts["rows_with_label_first"] == (kebi_server.Y == 1).sum(0).tolist()


def test_a_file_with_missing_labels_is_described(lrrf, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("A1,L1,L2,L3\n1,1,2,3\n,2,,1\n3,,,\n4,1,2,3\n")
    code, out, _ = lrrf("datasets", "describe", path, "--json")
    assert code == 0
    facts = json.loads(out)
    assert facts["missing_labels"] == 4
    assert facts["incomplete_rankings"] == 2
    assert facts["missing_features"] == 1
    assert facts["mean_positions"] == [1.333, 2.0, 2.333]
    assert facts["rows_with_label_first"] == [2, 0, 1]
    assert lrrf("datasets", "describe", "builtin:wine")[0] == 0
    assert lrrf("datasets", "describe", "builtin:win")[0] == 3


def test_other_commands_take_kebi_sets(lrrf, toys, tmp_path):
    toys.mkdir()
    (toys / "toy.csv").write_bytes(COPIES["toy.csv"])
    code, out, err = lrrf(
        "evaluate", "kebi:toy", "--learner", "default", "--folds", 2, "--repeats", 1, "--json"
    )
    assert code == 0, err
    assert json.loads(out)["results"][0]["data"] == "kebi:toy"
    model, ranks = tmp_path / "m.lrrf", tmp_path / "r.csv"
    assert lrrf("train", "kebi:toy", "--learner", "default", "--model", model)[0] == 0
    assert lrrf("predict", model, "kebi:toy", "--output", ranks)[0] == 0
    assert len(ranks.read_text().splitlines()) == 41
    assert lrrf("evaluate", "kebi:nope", "--learner", "default")[0] == 3
