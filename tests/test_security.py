"""What files and names from strangers can and cannot do; `SECURITY.md` makes the same claims."""

import ast
import contextlib
import functools
import gzip
import json
import os
import pathlib
import stat
import struct
import warnings
import zipfile

import numpy as np
import pytest

import lrrf_jax
from lrrf_jax import InputError, use_compilation_cache
from lrrf_jax.cli import main
from lrrf_jax.cli._streams import printable
from lrrf_jax.datasets import read
from lrrf_jax.io.batch import predict_files
from lrrf_jax.io.manifest import read_manifest
from lrrf_jax.io.tables import open_batches
from tests.io.streaming import OrderRanker, write_table

BELL, OVERRIDE = "\x07", "\u202e"  # which rings, and which writes what follows from right to left


@pytest.fixture(autouse=True)
def _no_global_cache(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path_factory.mktemp("xla")))


@functools.cache
def all_calls():
    """Every call in the package, with the module's path."""
    return [
        (path, node)
        for path in sorted(pathlib.Path(lrrf_jax.__file__).parent.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
    ]


def calls(name):
    """Every call of a function of that name."""
    for path, node in all_calls():
        if getattr(node.func, "attr", getattr(node.func, "id", None)) == name:
            yield path, node


# ------------------------------------------------------------------------ nothing is executed
def test_arrays_are_never_loaded_with_pickles():
    loads = [
        (path, node)
        for path, node in calls("load")
        if isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "np"
    ]
    assert loads
    for path, node in loads:
        said = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
        assert said.get("allow_pickle", "False") == "False", path


def test_only_own_programs_and_the_benchmarks_unpickle_and_nothing_evaluates_text():
    unpickling = {
        path.name if path.parent.name == "lrrf_jax" else path.parent.name
        for name in ("loads", "Unpickler")
        for path, node in calls(name)
        if "pickle" in ast.unparse(node.func)
    }
    assert unpickling <= {"benchmarks", "_program_code.py"}
    for name in ("eval", "exec"):
        assert not [path for path, node in calls(name) if isinstance(node.func, ast.Name)]
    assert not [path for path, node in calls("run") if "shell=True" in ast.unparse(node)]


class Intruder:
    """Leaves a file behind where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return pathlib.Path.touch, (self.path,)


def test_objects_in_array_files_are_refused_and_not_unpickled(tmp_path):
    sign = tmp_path / "executed"
    intruder = np.array([[Intruder(sign)] * 3] * 2, dtype=object)
    numbers, rankings = np.ones((2, 3)), np.array([[1.0, 2], [2, 1]])
    np.save(tmp_path / "a.npy", intruder, allow_pickle=True)
    np.savez(tmp_path / "b.npz", X=intruder, y=rankings)
    np.savez(tmp_path / "c.npz", X=numbers, y=rankings, feature_names=intruder[0])
    np.savez(tmp_path / "d.npz", X=numbers, y=rankings, labels=intruder[0, :2])
    for name in "a.npy", "b.npz", "c.npz", "d.npz":
        with pytest.raises(InputError):
            read(tmp_path / name, labels="last:2" if name == "a.npy" else None)
    for name in "a.npy", "b.npz", "c.npz":
        with pytest.raises(InputError):
            list(open_batches(tmp_path / name, list("abc") if name == "c.npz" else None))
    assert not sign.exists()
    np.load(tmp_path / "a.npy", allow_pickle=True)  # what it would have done
    assert sign.exists()


# ------------------------------------------------------------------------------------- names
def test_text_for_a_terminal_keeps_what_can_be_read_and_writes_out_what_steers():
    assert printable("tau 0.5\n\tmüde 中 \U0001f600") == "tau 0.5\n\tmüde 中 \U0001f600"
    assert printable(f"\x1b[31m{BELL}{OVERRIDE}\r") == r"\x1b[31m\x07\u202e\r"
    assert printable("a\nb", keep="") == r"a\nb"


@pytest.fixture
def hostile(tmp_path):
    """A table whose names try to steer a terminal, and a model of it."""
    names = [f"a{BELL}\x1b]0;owned", f"{OVERRIDE}txt.exe", f"L1{BELL}", f"L2{OVERRIDE}"]
    (tmp_path / f"t{BELL}.csv").write_text(",".join(names) + "\n1,2,1,2\n3,4,2,1\n")
    train(tmp_path)
    return tmp_path


def train(folder):
    arguments = ["train", str(folder / f"t{BELL}.csv"), "--labels", "L*", "--learner", "default"]
    assert main([*arguments, "--model", str(folder / "m.lrrf")]) == 0


@pytest.mark.parametrize("case", ["train", "inspect", "json", "missing column", "no file"])
def test_control_characters_in_names_do_not_reach_the_terminal(hostile, capsys, case):
    model = str(hostile / "m.lrrf")
    (hostile / "other.csv").write_text("b,c\n1,2\n")
    capsys.readouterr()
    if case == "train":
        train(hostile)
    elif case == "inspect":
        assert main(["inspect", model]) == 0
    elif case == "json":
        assert main(["inspect", model, "--json"]) == 0
    elif case == "missing column":
        arguments = ["predict", model, str(hostile / "other.csv"), "--output"]
        assert main([*arguments, str(hostile / "o.csv")]) == 3
    elif case == "no file":
        assert main(["inspect", f"nothing{BELL}here"]) == 4
    output = "".join(capsys.readouterr())
    assert BELL not in output
    assert OVERRIDE not in output
    assert "\\x07" in output or "\\u0007" in output
    assert case != "json" or f"L1{BELL}" in json.loads(output[output.index("{") :])["labels"]


def test_formulas_in_kept_columns_are_copied_as_they_are(tmp_path):
    # Quoting them would change data: a spreadsheet has to be told to open the file as text.
    formula = "=HYPERLINK(0)"
    (tmp_path / "t.csv").write_text(f"A1,A2,A3,id\n1,2,3,{formula}\n")
    predict_files(OrderRanker(), tmp_path / "t.csv", tmp_path / "o.csv", keep="id")
    assert formula in (tmp_path / "o.csv").read_text()


# ----------------------------------------------------------------------------------- resources
def npy_header(shape, order):
    text = f"{{'descr': '<f8', 'fortran_order': {order}, 'shape': {shape}, }}"
    text += " " * (63 - (len(text) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


@pytest.mark.parametrize("order", [False, True])
@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_an_array_that_claims_a_trillion_rows_is_refused_at_once(tmp_path, order, suffix):
    content = npy_header((10**12, 3), order) + bytes(24)
    path = tmp_path / f"t.{suffix}"
    if suffix == "npy":
        path.write_bytes(content)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("X.npy", content)
            archive.writestr("y.npy", content)
    with pytest.raises(InputError, match=f"t.{suffix}: "):
        list(open_batches(path, None, n_features=3))
    with pytest.raises(InputError, match=f"t.{suffix}: "):
        read(path, labels="last:2" if suffix == "npy" else None)


def test_gzipped_rows_are_read_in_pieces(tmp_path):
    path = tmp_path / "t.csv.gz"
    with gzip.open(path, "wb") as file:  # 16 MiB in 16 KiB
        file.write(b"a,b\n")
        for _ in range(64):
            file.write(b"1,2\n" * 65536)
    assert path.stat().st_size < 2**17
    pieces = [len(X) for X, _ in open_batches(path, ["a", "b"], batch_rows=4096)]
    assert sum(pieces) == 64 * 65536
    assert max(pieces) <= 4096


# -------------------------------------------------------------------------------- directories
@pytest.fixture
def finished(tmp_path):
    """A directory of output, and a file outside it."""
    write_table(tmp_path / "t.parquet", 20, rows_a_block=10)
    (tmp_path / "precious").write_text("kept")
    arguments = {"part_rows": 10, "resume": True}
    predict_files(OrderRanker(), tmp_path / "t.parquet", tmp_path / "out", **arguments)
    return tmp_path


@pytest.mark.parametrize("name", ["../precious", "absolute", "..", ""])
@pytest.mark.parametrize("options", [{"resume": True}, {"overwrite": True}])
def test_a_journal_cannot_reach_out_of_its_directory(finished, name, options):
    journal = finished / "out/_lrrf/1-of-1.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    lines[0]["output"] = str(finished / "precious") if name == "absolute" else name
    lines[0]["sha256"] = "0" * 64  # as if it had to be made anew
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(InputError):
        read_manifest(finished / "out")
    # What cannot be read is refused, or started again without it.
    with pytest.raises(InputError) if "resume" in options else contextlib.nullcontext():
        predict_files(
            OrderRanker(), finished / "t.parquet", finished / "out", part_rows=10, **options
        )
    assert (finished / "precious").read_text() == "kept"


def test_a_journal_of_other_inputs_is_refused(finished):
    journal = finished / "out/_lrrf/1-of-1.jsonl"
    journal.write_text(journal.read_text().replace("t.parquet", "u.parquet"))
    with pytest.raises(InputError, match="is damaged .*no input"):
        predict_files(
            OrderRanker(), finished / "t.parquet", finished / "out", part_rows=10, resume=True
        )


def test_output_over_a_link_replaces_the_link_and_not_what_it_leads_to(finished):
    link = finished / "link.csv"
    link.symlink_to(finished / "precious")
    predict_files(OrderRanker(), finished / "t.parquet", link, overwrite=True)
    assert not link.is_symlink()
    assert (finished / "precious").read_text() == "kept"


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_programs_are_not_taken_from_where_strangers_may_put_them(tmp_path, monkeypatch):
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    monkeypatch.delenv("LRRF_JAX_CACHE")
    monkeypatch.setattr("lrrf_jax._program_store._store", None)
    monkeypatch.setattr("lrrf_jax._program_store._beside", None)
    changed = {}
    monkeypatch.setattr("jax.config.update", changed.__setitem__)
    folder = pathlib.Path(use_compilation_cache(tmp_path / "own"))
    assert stat.S_IMODE(folder.stat().st_mode) & 0o077 == 0
    assert changed
    for open_to_all in (folder, tmp_path / "own"):
        changed.clear()
        before = open_to_all.stat().st_mode
        open_to_all.chmod(0o777)
        with pytest.warns(UserWarning, match=f"{open_to_all}: other users may write"):
            assert use_compilation_cache(tmp_path / "own") is None
        assert not changed
        open_to_all.chmod(before)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert use_compilation_cache(tmp_path / "own") == str(folder)
    monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 1)  # another user's
    with pytest.warns(UserWarning, match="other users may write"):
        assert use_compilation_cache(tmp_path / "own") is None
