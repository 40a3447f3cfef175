import csv
import errno
import io
import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrrf_jax._validation import InputError
from lrrf_jax.io.tables import TableWriter, ranking_table

LABELS = ["a", "b", "c"]


def pieces():
    rng = np.random.default_rng(0)
    ranks = np.argsort(rng.random((50, 3)), axis=1).astype(np.int32) + 1
    kept = pa.table({"id": [f'0{i},"x"' for i in range(50)], "when": [None, *range(49)]})
    return ranks, kept


def write_all(path, cuts, kept=None, **arguments):
    ranks, _ = pieces()
    with TableWriter(path, **arguments) as writer:
        for start, stop in zip([0, *cuts], [*cuts, len(ranks)], strict=True):
            rows = kept.slice(start, stop - start) if kept is not None else None
            writer.write(ranking_table(ranks[start:stop], LABELS, rows))
    assert writer.n_rows == len(ranks)
    return ranks


@pytest.mark.parametrize("cuts", [[], [1, 7, 7, 49]])
def test_csv_is_read_back_by_the_csv_module(tmp_path, cuts):
    ranks, kept = pieces()
    write_all(tmp_path / "t.csv", cuts, kept)
    with open(tmp_path / "t.csv", newline="") as file:
        header, *rows = list(csv.reader(file))
    assert header == ["id", "when", *LABELS]
    assert [row[0] for row in rows] == kept["id"].to_pylist()
    assert [row[1] for row in rows] == ["", *map(str, range(49))]
    np.testing.assert_array_equal(np.int32([row[2:] for row in rows]), ranks)


@pytest.mark.parametrize("cuts", [[], [1, 7, 7, 49]])
def test_parquet_is_read_back_by_pandas(tmp_path, cuts):
    ranks, kept = pieces()
    write_all(tmp_path / "t.parquet", cuts, kept)
    table = pd.read_parquet(tmp_path / "t.parquet")
    np.testing.assert_array_equal(table[LABELS], ranks)
    assert (table[LABELS].dtypes == np.int32).all()
    assert table["id"].tolist() == kept["id"].to_pylist()


@pytest.mark.parametrize("cuts", [[], [1, 7, 7, 49]])
def test_npy_is_read_back_by_numpy(tmp_path, cuts):
    ranks = write_all(tmp_path / "t.npy", cuts)
    loaded = np.load(tmp_path / "t.npy")
    np.testing.assert_array_equal(loaded, ranks)
    assert loaded.dtype == np.int32
    np.testing.assert_array_equal(np.load(tmp_path / "t.npy", mmap_mode="r"), ranks)


@given(lengths=st.lists(st.integers(0, 9), min_size=1, max_size=5))
def test_npy_pieces_equal_one_save_byte_for_byte(tmp_path_factory, lengths):
    path = tmp_path_factory.mktemp("npy") / "t.npy"
    whole = np.arange(sum(lengths) * 3, dtype=np.int32).reshape(-1, 3)
    with TableWriter(path) as writer:
        for stop, length in zip(np.cumsum(lengths), lengths, strict=True):
            writer.write(whole[stop - length : stop])
    expected = io.BytesIO()
    np.save(expected, whole)
    assert path.read_bytes() == expected.getvalue()


def test_csv_writes_categories_as_their_values(tmp_path):
    kinds = pa.array(["b", None, "b"]).dictionary_encode()
    with TableWriter(tmp_path / "t.csv") as writer:
        writer.write({"kind": kinds, "a": [1, 2, 3]})
    with open(tmp_path / "t.csv", newline="") as file:
        assert list(csv.reader(file)) == [["kind", "a"], ["b", "1"], ["", "2"], ["b", "3"]]


def test_parquet_pages_carry_checksums(tmp_path):
    write_all(tmp_path / "t.parquet", [])
    content = bytearray((tmp_path / "t.parquet").read_bytes())
    content[60] ^= 1
    (tmp_path / "t.parquet").write_bytes(content)
    with pytest.raises((OSError, pa.ArrowException)):
        pa.parquet.read_table(tmp_path / "t.parquet", page_checksum_verification=True)


def test_the_format_may_be_given_beside_any_suffix(tmp_path):
    write_all(tmp_path / "part-0.out", [3], format="parquet")
    assert pa.parquet.read_table(tmp_path / "part-0.out").num_rows == 50


def test_the_file_appears_only_when_it_is_whole(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")
    with TableWriter(path) as writer:
        writer.write({"a": [1]})
        assert path.read_text() == "old"
        assert len(os.listdir(tmp_path)) == 2
    assert path.read_text() == "a\n1\n"
    assert os.listdir(tmp_path) == ["t.csv"]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.npy"])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, InputError])
def test_an_interrupted_writer_leaves_nothing(tmp_path, name, error):
    def interrupted():
        with TableWriter(tmp_path / name) as writer:
            writer.write({"a": [1], "b": [2]})
            raise error("stop")

    with pytest.raises(error, match="stop"):
        interrupted()
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_a_killed_process_leaves_no_file_under_the_final_name(tmp_path):
    code = f"""
        import os, signal
        from lrrf_jax.io.tables import TableWriter
        writer = TableWriter({str(tmp_path / "t.csv")!r})
        writer.write({{"a": [1]}})
        os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    left = os.listdir(tmp_path)
    assert "t.csv" not in left
    assert all(name.startswith(".t.csv.") for name in left)


def full_disk(writer):
    class FullDisk:
        closed = False

        def write(self, content):
            raise OSError(errno.ENOSPC, "No space left on device")

        def flush(self):
            pass

        def close(self):
            self.closed = True

    writer._file.close()
    writer._file = FullDisk()


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.npy"])
def test_a_full_disk_is_told_and_nothing_is_left(tmp_path, name):
    writer = TableWriter(tmp_path / name)
    full_disk(writer)

    def fill():
        for _ in range(100):
            writer.write({"a": np.arange(10_000), "b": np.arange(10_000)})
        writer.close()

    with pytest.raises(InputError, match=f"{name}: cannot be written .*No space left"):
        fill()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "fragment"),
    [
        ("t.xlsx", "must be one of csv, parquet, npy; it is 'xlsx'"),
        ("t", "it is 'not given'"),
        ("none/t.csv", "there is no directory"),
        ("folder.csv", "is a directory"),
        ("a" * 300 + ".csv", "cannot be written"),
    ],
)
def test_a_path_that_cannot_be_written_is_refused_at_once(tmp_path, name, fragment):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match=fragment):
        TableWriter(tmp_path / name)
    assert os.listdir(tmp_path) == ["folder.csv"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes anywhere")
def test_a_directory_without_permission_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="cannot be written"):
        TableWriter(tmp_path / "t.csv")
    tmp_path.chmod(0o700)


@pytest.mark.parametrize(
    ("name", "first", "second", "fragment"),
    [
        ("t.npy", {"a": ["x"]}, None, "column 'a' holds string, and npy files hold numbers only"),
        ("t.npy", np.zeros(3), None, "two-dimensional"),
        ("t.npy", np.zeros((1, 2)), np.zeros((1, 3)), "3 columns cannot follow"),
        ("t.npy", np.zeros((1, 2)), np.zeros((1, 2), int), "cannot follow one of float64"),
        ("t.csv", np.zeros((1, 2)), None, "an array has no column names"),
        ("t.csv", {"a": [1]}, {"b": [1]}, r"columns b \(int64\) cannot follow one with a \("),
        ("t.parquet", {"a": [1]}, {"a": ["x"]}, r"columns a \(string\) cannot follow"),
        ("t.parquet", {"a": [1], "b": [1, 2]}, None, "do not fit a parquet table"),
    ],
)
def test_pieces_that_do_not_fit_are_refused_and_nothing_is_left(
    tmp_path, name, first, second, fragment
):
    writer = TableWriter(tmp_path / name)
    if second is not None:
        writer.write(first)
    with pytest.raises(InputError, match=fragment):
        writer.write(first if second is None else second)
    assert os.listdir(tmp_path) == []


def test_a_writer_without_rows_is_refused_and_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match="no rows to write"), TableWriter(tmp_path / "t.csv"):
        pass
    assert os.listdir(tmp_path) == []


def test_a_kept_column_called_like_a_label_is_refused():
    with pytest.raises(InputError, match="'b' is called like a label"):
        ranking_table(np.ones((1, 3), np.int32), LABELS, pa.table({"b": [1]}))
