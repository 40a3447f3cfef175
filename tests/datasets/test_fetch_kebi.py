"""Downloads from a server on this machine, copies in every format, and what can go wrong."""

import gzip
import pathlib
import socket
import sys

import numpy as np
import pytest

from lrrf_jax import datasets
from lrrf_jax._validation import InputError
from lrrf_jax.datasets import _kebi_registry, fetch_kebi, kebi, kebi_names
from tests.datasets import kebi_server
from tests.datasets.kebi_server import COPIES, serve

SHARED = pathlib.Path(__file__).parents[3] / "shared" / "data" / "kebi"


@pytest.fixture
def toy(monkeypatch):
    """The registry knows one set, whose content the tests know."""
    sets = {"toy": kebi_server.known_set()}
    monkeypatch.setattr(kebi, "kebi_sets", lambda: sets)
    return sets["toy"]


def require_toy(data):
    np.testing.assert_array_equal(data.X, kebi_server.X.astype(np.float32))
    np.testing.assert_array_equal(data.y, kebi_server.Y)
    assert data.X.dtype == data.y.dtype == np.float32
    assert data.feature_names == ("A1", "A2", "A3")
    assert data.labels == tuple(f"L{j + 1}" for j in range(11))
    assert data.name == "toy"


@pytest.mark.parametrize("path", list(COPIES))
def test_every_format_is_downloaded_once_and_says_the_same(toy, tmp_path, path):
    with serve(COPIES) as (address, asked):
        url = f"{address}/{path.replace('toy', '{name}')}"
        require_toy(fetch_kebi("toy", directory=tmp_path, urls=url))
        require_toy(fetch_kebi("toy", directory=tmp_path, urls=url))
    assert asked == [path]
    assert [p.name for p in tmp_path.iterdir()] == [path.split("/")[-1]]


@pytest.mark.parametrize("path", list(COPIES))
def test_a_copy_in_the_folder_needs_no_network_and_no_pooch(toy, tmp_path, monkeypatch, path):
    monkeypatch.setitem(sys.modules, "pooch", None)
    monkeypatch.setenv("LRRF_DATA", str(tmp_path))
    (tmp_path / path.split("/")[-1]).write_bytes(COPIES[path])
    require_toy(fetch_kebi("toy"))


def test_without_pooch_the_way_to_install_it_is_told(toy, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    monkeypatch.delenv("LRRF_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(InputError, match=r"pip install 'lrrf_jax\[datasets\]'"):
        fetch_kebi("toy")
    with pytest.raises(InputError, match=r"pip install 'lrrf_jax\[datasets\]'"):
        fetch_kebi("toy", directory=tmp_path)


def test_the_folder_is_the_argument_then_the_variable_then_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("LRRF_DATA", str(tmp_path / "of variable"))
    assert kebi.kebi_directory(tmp_path) == str(tmp_path)
    assert kebi.kebi_directory() == str(tmp_path / "of variable")
    monkeypatch.delenv("LRRF_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert pathlib.Path(kebi.kebi_directory()) == tmp_path / "cache" / "lrrf_jax" / "kebi"
    pooch = pytest.importorskip("pooch")  # whose folder it was, before the rule was platformdirs'
    assert pathlib.Path(kebi.kebi_directory()) == pooch.os_cache("lrrf_jax") / "kebi"


def test_the_next_mirror_is_tried(toy, tmp_path):
    damaged = {**COPIES, "bad/toy.csv": COPIES["toy.csv"].replace(b"L1,", b"A9,", 1)}
    with serve(damaged) as (address, asked):
        urls = [f"{address}/{place}/{{name}}.csv" for place in ("lost", "bad")]
        require_toy(fetch_kebi("toy", directory=tmp_path, urls=[*urls, f"{address}/toy.csv"]))
    assert asked == ["lost/toy.csv", "bad/toy.csv", "toy.csv"]
    assert [p.name for p in tmp_path.iterdir()] == ["toy.csv"]


def swapped_rows(text):
    lines = text.split(b"\n")
    lines[1], lines[2] = lines[2], lines[1]
    return b"\n".join(lines)


def changed_cell(text):
    first = text.split(b"\n")[1].split(b",")[0]
    return text.replace(first, b"9.5", 1)


@pytest.mark.parametrize(
    ("damage", "fragment"),
    [
        (lambda text: text[: len(text) // 2], "(?:rows, 3 features|cells, the header)"),
        (lambda text: b"\n".join(text.split(b"\n")[:-2]), "this file has 39, 3 and 11"),
        (swapped_rows, "the rankings are not those of toy"),
        (changed_cell, "feature A1 is not that of toy"),
        (lambda text: b"<html>Not found</html>\n", "no column is called L1"),
        (lambda text: b"", "file is empty"),
        (lambda text: text.replace(b"0", b"\xff"), "not UTF-8"),
    ],
)
def test_a_damaged_download_says_so_and_leaves_nothing(toy, tmp_path, damage, fragment):
    with (
        serve({"toy.csv": damage(COPIES["toy.csv"])}) as (address, _),
        pytest.raises(InputError, match=fragment) as caught,
    ):
        fetch_kebi("toy", directory=tmp_path, urls=f"{address}/{{name}}.csv")
    assert "could not be downloaded" in str(caught.value)
    assert "LRRF_DATA" in str(caught.value)
    assert "download-" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["letters", "orderings"])
def test_a_damaged_text_says_so(toy, tmp_path, text):
    whole = COPIES[f"{text}/toy.txt"]
    for cut in (
        whole[: len(whole) // 2],
        whole.replace(b"3", b"x"),
        whole.replace(b"\r", b"").replace(b"\n", b" "),
    ):
        (tmp_path / "toy.txt").write_bytes(cut)
        with pytest.raises(InputError, match="toy.txt: .*force=True"):
            fetch_kebi("toy", directory=tmp_path)


def test_a_connection_that_breaks_leaves_nothing(toy, tmp_path):
    with (
        serve(COPIES, cut=["toy.csv"]) as (address, _),
        pytest.raises(InputError, match="could not be downloaded"),
    ):
        fetch_kebi("toy", directory=tmp_path, urls=f"{address}/{{name}}.csv")
    assert list(tmp_path.iterdir()) == []


def test_without_a_network_the_message_says_where_to_put_a_copy(toy, tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound, but nobody listens
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/{{name}}.csv"
        with pytest.raises(InputError) as caught:
            fetch_kebi("toy", directory=tmp_path, urls=url)
    assert "toy.csv (no connection)" in str(caught.value)
    assert f"put a copy into {tmp_path} as toy.csv.gz" in str(caught.value)


def test_an_absent_file_tells_the_code(toy, tmp_path):
    with serve({}) as (address, _), pytest.raises(InputError, match="404"):
        fetch_kebi("toy", directory=tmp_path, urls=address + "/{name}.csv")


def test_a_damaged_copy_is_kept_until_forced(toy, tmp_path):
    (tmp_path / "toy.csv.gz").write_bytes(gzip.compress(swapped_rows(COPIES["toy.csv"])))
    with serve(COPIES) as (address, asked):
        url = f"{address}/{{name}}.csv"
        with pytest.raises(InputError, match="lrrf datasets fetch --force toy"):
            fetch_kebi("toy", directory=tmp_path, urls=url)
        assert asked == []
        require_toy(fetch_kebi("toy", directory=tmp_path, urls=url, force=True))
        require_toy(fetch_kebi("toy", directory=tmp_path, urls=url))
    assert [p.name for p in tmp_path.iterdir()] == ["toy.csv"]  # not the one found before it


def test_a_failed_forced_download_keeps_the_copy(toy, tmp_path):
    (tmp_path / "toy.csv").write_bytes(COPIES["toy.csv"])
    with serve({}) as (address, _), pytest.raises(InputError, match="404"):
        fetch_kebi("toy", directory=tmp_path, urls=address + "/{name}.csv", force=True)
    require_toy(fetch_kebi("toy", directory=tmp_path))


def test_other_last_digits_are_accepted_with_a_warning(toy, tmp_path):
    near = kebi_server.X + 4e-7
    rows = zip(near, kebi_server.Y, strict=True)
    lines = [",".join([*map(str, map(float, x)), *map(str, y)]) for x, y in rows]
    (tmp_path / "toy.txt").write_text("\n".join(lines))
    with pytest.warns(UserWarning, match="last digits"):
        data = fetch_kebi("toy", directory=tmp_path)
    np.testing.assert_allclose(data.X, kebi_server.X, atol=1e-6)


def test_features_that_change_places_are_not_close(toy, tmp_path):
    lines = COPIES["positions/toy.txt"].decode().splitlines()
    cells = [line.split(",") for line in lines]
    moved = "\n".join(",".join([c[1], c[0], *c[2:]]) for c in cells)
    (tmp_path / "toy.txt").write_text(moved)
    with pytest.raises(InputError, match="feature A. is not that of toy"):
        fetch_kebi("toy", directory=tmp_path)


def test_an_unknown_name_is_refused():
    with pytest.raises(InputError, match="there is no KEBI set 'isir'; there are authorship"):
        fetch_kebi("isir")


def test_the_registry_has_the_sixteen_sets():
    sets = _kebi_registry.kebi_sets()
    assert len(kebi_names()) == 16
    assert sets["fried"][:4] == ("B", 40768, 9, 5)
    assert sets["vowel"][:4] == ("A", 528, 10, 11)
    hashes = [h for known in sets.values() for h in (known.rankings_sha256, known.features_sha256)]
    assert len(set(hashes)) == 32
    assert all(len(known.feature_waves) == known.features for known in sets.values())


@pytest.mark.skipif(not SHARED.is_dir(), reason="the data sets are not beside this checkout")
@pytest.mark.parametrize("name", ["iris", "vowel", "bodyfat", "cpu-small"])
def test_the_registry_knows_the_sets_in_all_formats_of_their_mirrors(name, tmp_path):
    data = fetch_kebi(name, directory=SHARED)
    plain = datasets.read(SHARED / f"{name}.csv.gz")
    np.testing.assert_array_equal(data.X, plain.X)
    np.testing.assert_array_equal(data.y, plain.y)
    with gzip.open(SHARED / f"{name}.csv.gz", "rt") as lines:
        rows = [line.strip().split(",") for line in lines][1:]
    d = data.X.shape[1]
    orders = np.argsort(data.y, axis=1) + 1
    numbers = [
        ",".join([*row[:d], *map(str, order)]) for row, order in zip(rows, orders, strict=True)
    ]
    (tmp_path / f"{name}.txt").write_text("\n".join(numbers).replace("e-0", "E-"))
    np.testing.assert_array_equal(fetch_kebi(name, directory=tmp_path).y, plain.y)
    letters = "abcdefghijklmnop"
    texts = [">".join(letters[j - 1] for j in order) for order in orders]
    texts = [",".join([*row[:d], text]) for row, text in zip(rows, texts, strict=True)]
    header = ",".join([*(f"A{j + 1}" for j in range(d)), "ranking"])
    (tmp_path / f"{name}.txt").write_text("\r\n".join([header, *texts]))
    np.testing.assert_array_equal(fetch_kebi(name, directory=tmp_path).y, plain.y)
