import csv
import gzip
import os
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrrf_jax._validation import InputError
from lrrf_jax.io import _sources
from lrrf_jax.io.tables import open_batches, row_count

N_ROWS = 103
NAMES = ["A1", "A2", "A10"]
TABLES = ["csv", "csv.gz", "tsv", "tsv.gz", "parquet", "arrow", "ipc", "feather"]
ARRAYS = ["npy", "npz"]


def values(n_rows=N_ROWS):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def write(path, X=None, names=NAMES, order="C", compressed=True):
    """Write features in another column order, among other columns."""
    X = values() if X is None else X
    suffix = path.name.split(".", 1)[1]
    if suffix == "npy":
        np.save(path, np.asarray(X, order=order))
        return path
    if suffix == "npz":
        save = np.savez_compressed if compressed else np.savez
        save(path, X=np.asarray(X, order=order), y=np.zeros(3))
        return path
    columns = {name: X[:, j] for j, name in enumerate(names)}
    ids = [f"00{i},x" for i in range(len(X))]
    table = pa.table({"id": ids, **dict(reversed(columns.items())), "extra": ["text"] * len(X)})
    if suffix in ("csv", "csv.gz"):
        table.to_pandas().to_csv(path, index=False)
    elif suffix in ("tsv", "tsv.gz"):
        table.to_pandas().to_csv(path, index=False, sep="\t")
    elif suffix == "parquet":
        pa.parquet.write_table(table, path, row_group_size=17)
    else:
        maker = pa.ipc.new_stream if suffix == "ipc" else pa.ipc.new_file
        with maker(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=13)
    return path


def whole(batches):
    pieces, kept = zip(*batches, strict=True)
    return np.concatenate(pieces), pa.concat_tables(kept) if kept[0] is not None else None


@pytest.mark.parametrize("batch_rows", [1, 7, 16, 103, 1000])
@pytest.mark.parametrize("suffix", [*TABLES, *ARRAYS])
def test_batches_join_to_the_table_whatever_their_size(tmp_path, suffix, batch_rows):
    path = write(tmp_path / f"t.{suffix}")
    keep = "id" if suffix in TABLES else ()
    batches = list(open_batches(path, NAMES, keep=keep, batch_rows=batch_rows))
    lengths = [len(X) for X, _ in batches]
    assert lengths[:-1] == [batch_rows] * (N_ROWS // batch_rows - (N_ROWS % batch_rows == 0))
    assert all(X.flags.c_contiguous and X.dtype == np.float32 for X, _ in batches)
    X, kept = whole(batches)
    np.testing.assert_array_equal(X, values().astype(np.float32))
    if kept is not None:
        assert kept.column_names == ["id"]
        assert kept["id"].to_pylist() == [f"00{i},x" for i in range(N_ROWS)]


@pytest.mark.parametrize("suffix", [*TABLES, *ARRAYS])
def test_row_counts_are_told_where_they_are_cheap(tmp_path, suffix):
    expected = N_ROWS if suffix in ("parquet", "arrow", "feather", "npy", "npz") else None
    assert row_count(write(tmp_path / f"t.{suffix}")) == expected


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("suffix", ARRAYS)
def test_arrays_of_any_layout_and_type_are_read(tmp_path, suffix, order, compressed):
    for dtype in (">f8", "<f4", "f2", "i1", "u8", "?"):
        X = np.arange(33).reshape(11, 3).astype(dtype)
        path = write(tmp_path / f"t.{suffix}", X, order=order, compressed=compressed)
        batches = open_batches(path, None, n_features=3, batch_rows=4)
        np.testing.assert_array_equal(whole(batches)[0], X.astype(np.float32))


def test_named_npz_columns_are_chosen_by_name(tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, X=[[1.0, 2, 3]], feature_names=["A10", "A2", "B"])
    assert whole(open_batches(path, ["A2", "A10"]))[0].tolist() == [[2, 1]]
    chosen = open_batches(path, None, n_features=2, features="A*")
    assert whole(chosen)[0].tolist() == [[1, 2]]
    with pytest.raises(InputError, match="1 of the 2 feature columns .* not there: 'C'"):
        open_batches(path, ["A2", "C"])


def test_globs_replace_the_names_in_file_order(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x2,x1,id\n1,2,a\n")
    X, kept = whole(open_batches(path, NAMES[:2], features="x*", keep=["id", "x1"]))
    assert X.tolist() == [[1, 2]]
    assert kept.to_pydict() == {"id": ["a"], "x1": ["2"]}


def test_nulls_of_polars_and_pandas_become_nan(tmp_path):
    table = pl.DataFrame({"A1": [1, None], "A2": [None, None], "A10": [True, None]})
    table.write_parquet(tmp_path / "t.parquet")
    table.write_ipc(tmp_path / "t.arrow")
    table.to_pandas().astype({"A1": "Int64"}).to_parquet(tmp_path / "pandas.parquet")
    for name in ("t.parquet", "t.arrow", "pandas.parquet"):
        X, _ = whole(open_batches(tmp_path / name, NAMES))
        np.testing.assert_array_equal(X, np.float32([[1, np.nan, 1], [np.nan] * 3]))


def test_kept_columns_of_typed_files_keep_their_type(tmp_path):
    table = pa.table({"A": [1.5], "id": pa.array([7], pa.int16()), "when": pa.array([0], "date32")})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    _, kept = whole(open_batches(tmp_path / "t.parquet", ["A"], keep="id,when"))
    assert kept.schema.types == [pa.int16(), pa.date32()]


cells = st.sampled_from(["1.5", "-2", " 3", "4 ", "", "?", "NaN", "NA", " ? ", "1e-45", "nan"])


@given(rows=st.lists(st.tuples(cells, cells), min_size=1, max_size=12), size=st.integers(1, 5))
def test_text_cells_equal_python_floats(tmp_path_factory, rows, size):
    path = tmp_path_factory.mktemp("cells") / "t.csv"
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([["A", "B", "id"], *[[*row, "k"] for row in rows]])
    expected = [[float("nan" if c.strip() in ("", "?", "NA") else c) for c in row] for row in rows]
    X, _ = whole(open_batches(path, ["A", "B"], keep="id", batch_rows=size))
    np.testing.assert_array_equal(X, np.float32(expected))


def test_a_late_cell_that_only_text_can_hold_loses_no_row(tmp_path, monkeypatch):
    cells = [str(i / 8) for i in range(1000)]
    cells[900] = " ? "  # blanks around: no number for the fast pass, missing for the second
    path = tmp_path / "t.csv"
    path.write_text("A,B\n" + "".join(f"{cell},0\n" for cell in cells))
    small_blocks(monkeypatch)
    pieces = list(_sources.tables(str(path), ["A"], [], 64))
    assert pieces[0]["A"].type == pa.float64()
    assert pieces[-1]["A"].type == pa.string()
    X, _ = whole(open_batches(path, ["A"], batch_rows=64))
    expected = np.float32(np.arange(1000) / 8)
    expected[900] = np.nan
    np.testing.assert_array_equal(X[:, 0], expected)


def small_blocks(monkeypatch):
    make = _sources.pa.csv.ReadOptions
    monkeypatch.setattr(
        _sources.pa.csv, "ReadOptions", lambda **given: make(**{**given, "block_size": 512})
    )


def test_the_row_of_a_late_fault_counts_from_the_top_of_the_file(tmp_path, monkeypatch):
    lines = [f"{i},{i}" for i in range(500)]
    lines[333] = "333,bad"
    path = tmp_path / "t.csv"
    path.write_text("A,B\n\n" + "\n".join(lines))
    small_blocks(monkeypatch)
    batches = open_batches(path, ["A", "B"], batch_rows=50)
    with pytest.raises(InputError, match=r"column 'B' .* row 334 \(line 336\) holds 'bad'"):
        list(batches)


REFUSED = {
    "empty": ("", "file is empty"),
    "no rows": ("A,B\n", "no rows"),
    "missing column": ("A,b\n1,2\n", "1 of the 2 feature columns of the model are not there: 'B'"),
    "close match": ("A,b\n1,2\n", "Close to it: 'b'"),
    "way out": ("A,b\n1,2\n", "--features GLOB"),
    "duplicate": ("A,B,B\n1,2,3\n", "'B' is there 2 times"),
    "text": ("A,B\n1,2\n1,x\n", "column 'B' must hold numbers; row 2 (line 3) holds 'x'"),
    "infinity": (
        "A,B\n1,2\n1,inf\n",
        "column 'B' must hold finite float32 numbers; row 2 (line 3)",
    ),
    "beyond float32": ("A,B\n1,-1e39\n", "-1e+39"),
    "ragged": ("A,B\n1,2\n1\n", "row 2 (line 3) has 1 cells, the header has 2"),
    "not UTF-8": (b"A,B\n1,\xe4\n", "line 2 is not UTF-8"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_csv_file_is_refused_with_its_place(tmp_path, case):
    content, fragment = REFUSED[case]
    path = tmp_path / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        list(open_batches(path, ["A", "B"]))
    assert str(path) in str(caught.value)
    assert fragment in str(caught.value), str(caught.value)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "npy", "npz"])
@pytest.mark.parametrize("batch_rows", [10, 1000])
def test_an_infinity_is_refused_with_its_row_in_every_format(tmp_path, suffix, batch_rows):
    X = values()
    X[57, 1] = np.inf
    path = write(tmp_path / f"t.{suffix}", X)
    column = "1" if suffix in ARRAYS else "A2"
    with pytest.raises(InputError, match=f"'{column}' .* row 58 holds inf"):
        list(open_batches(path, NAMES, batch_rows=batch_rows))


@pytest.mark.parametrize(
    ("suffix", "arguments", "fragment"),
    [
        ("csv", {"feature_names": None, "n_features": 3}, "without feature names"),
        ("csv", {"feature_names": None, "n_features": 3}, "--features GLOB"),
        ("csv", {"feature_names": NAMES, "features": "A1*"}, "picks 2 columns, the model has 3"),
        ("csv", {"feature_names": NAMES, "features": "B*"}, "features asks for 'B*'"),
        ("csv", {"feature_names": NAMES, "keep": "key"}, "keep asks for 'key'"),
        ("parquet", {"feature_names": [*NAMES, "A11"]}, "not there: 'A11'"),
        ("parquet", {"feature_names": ["extra"]}, "row 1 holds 'text'"),
        ("npy", {"feature_names": [*NAMES, "A11"]}, "has 3 columns, the model has 4 features"),
        ("npz", {"feature_names": None, "n_features": 2}, "has 3 columns, the model has 2"),
        ("npy", {"feature_names": NAMES, "features": "A*"}, "needs columns with names"),
        ("npy", {"feature_names": NAMES, "keep": "id"}, "needs columns with names"),
        ("csv", {"feature_names": None}, "n_features must be given"),
        ("csv", {"feature_names": NAMES, "batch_rows": 0}, "batch_rows must be at least 1"),
    ],
)
def test_what_does_not_fit_the_model_is_refused_at_once(tmp_path, suffix, arguments, fragment):
    path = write(tmp_path / f"t.{suffix}")
    with pytest.raises(InputError) as caught:
        list(open_batches(path, arguments.pop("feature_names"), **arguments))
    assert fragment in str(caught.value)


@pytest.mark.parametrize(
    ("array", "fragment"),
    [
        (np.zeros(3), "two-dimensional"),
        (np.zeros((2, 3), "U1"), "table of numbers"),
        (np.zeros((2, 3), complex), "table of numbers"),
        (np.zeros((2, 3), object), "table of numbers"),
        (np.zeros((0, 3)), "no rows"),
    ],
)
@pytest.mark.parametrize("suffix", ARRAYS)
def test_an_array_that_holds_no_features_is_refused(tmp_path, array, fragment, suffix):
    path = write(tmp_path / f"t.{suffix}", array)
    with pytest.raises(InputError, match=fragment):
        open_batches(path, NAMES)


def test_an_npz_file_without_features_is_refused(tmp_path):
    np.savez(tmp_path / "t.npz", Z=[[1]])
    with pytest.raises(InputError, match="no array 'X'; the file holds Z"):
        open_batches(tmp_path / "t.npz", ["A"])


@pytest.mark.parametrize("name", ["none.csv", "none.npy", "folder", "t.xls"])
def test_a_path_that_no_reader_can_use_is_refused(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "t.xls").write_text("x")
    with pytest.raises(InputError, match=f"{name}: "):
        open_batches(tmp_path / name, NAMES)


@pytest.mark.parametrize("suffix", [*TABLES, *ARRAYS])
def test_an_altered_file_is_read_or_refused_and_never_breaks_otherwise(tmp_path, suffix):
    content = write(tmp_path / f"whole.{suffix}").read_bytes()
    path = tmp_path / f"t.{suffix}"
    rng = np.random.default_rng(1)
    n_refused = 0
    for attempt in range(60):
        altered = bytearray(content)
        if attempt % 2:
            altered = altered[: rng.integers(1, len(altered))]
        else:
            altered[rng.integers(len(altered))] ^= 1 << rng.integers(8)
        path.write_bytes(altered)
        try:
            row_count(path)
            list(open_batches(path, NAMES, keep="id" if suffix in TABLES else ()))
        except InputError as error:
            n_refused += str(path) in str(error)
    assert n_refused > 15


def test_a_truncated_gzip_file_is_refused_after_its_good_rows(tmp_path):
    text = "A,B\n" + "".join(f"{i},{i * i % 97}\n" for i in range(200_000))
    content = gzip.compress(text.encode())
    path = tmp_path / "t.csv.gz"
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match="cannot be read as .csv.gz"):
        list(open_batches(path, ["A", "B"], batch_rows=1000))


def test_prediction_reads_what_training_read(tmp_path):
    datasets = pytest.importorskip("lrrf_jax.datasets")
    table = pd.DataFrame(values(), columns=NAMES).assign(L1=1, L2=2)
    table.to_csv(tmp_path / "t.csv", index=False)
    trained = datasets.read(tmp_path / "t.csv")
    X, _ = whole(open_batches(tmp_path / "t.csv", trained.feature_names))
    np.testing.assert_array_equal(X, trained.X)


def test_reading_and_writing_start_no_backend(tmp_path):
    code = f"""
        from lrrf_jax import datasets
        from lrrf_jax.io import tables
        iris = datasets.load("iris")
        datasets.delete_labels(iris.y, 0.3, 0)
        with tables.TableWriter({str(tmp_path / "t.npy")!r}) as writer:
            writer.write(iris.X)
        list(tables.open_batches({str(tmp_path / "t.npy")!r}, iris.feature_names))
        from jax._src import xla_bridge
        assert not xla_bridge._backends, xla_bridge._backends
    """
    path = os.pathsep.join(filter(None, sys.path))
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": path},
        check=True,
    )


def test_a_large_row_group_is_read_a_few_pages_at_a_time(tmp_path):
    values = np.random.default_rng(0).random(1 << 20)
    path = tmp_path / "t.parquet"
    table = pa.table({"A1": values, "A2": values[::-1]})
    pa.parquet.write_table(table, path, row_group_size=1 << 20, use_dictionary=False)
    assert pa.parquet.read_metadata(path).num_row_groups == 1
    before, most = pa.total_allocated_bytes(), 0
    for X, _ in open_batches(path, ["A1", "A2"], batch_rows=1 << 14):
        assert len(X) == 1 << 14
        most = max(most, pa.total_allocated_bytes() - before)
    assert 0 < most < table.nbytes / 3


@pytest.mark.parametrize("batch_rows", [4, 1000])
@pytest.mark.parametrize("suffix", [*TABLES, *ARRAYS])
def test_a_range_of_rows_is_that_slice_of_all(tmp_path, suffix, batch_rows):
    path = write(tmp_path / f"t.{suffix}")
    X = values().astype(np.float32)
    for first, stop in [(0, 17), (5, 6), (16, 34), (17, None), (40, 90), (102, 200), (0, None)]:
        pieces = open_batches(path, NAMES, batch_rows=batch_rows, first=first, stop=stop)
        np.testing.assert_array_equal(whole(pieces)[0], X[first:stop])


def test_row_groups_outside_of_the_range_are_not_read(tmp_path):
    path = write(tmp_path / "t.parquet")
    content = bytearray(path.read_bytes())
    chunk = pa.parquet.read_metadata(path).row_group(2).column(1)
    content[chunk.data_page_offset + chunk.total_compressed_size // 2] ^= 1
    path.write_bytes(content)
    X = values().astype(np.float32)
    np.testing.assert_array_equal(whole(open_batches(path, NAMES, stop=34))[0], X[:34])
    np.testing.assert_array_equal(whole(open_batches(path, NAMES, first=51))[0], X[51:])


def test_the_row_of_a_fault_counts_from_the_top_of_the_file_in_a_range(tmp_path):
    X = values()
    X[57, 1] = np.inf
    for suffix in ("parquet", "arrow", "npy", "csv"):
        path = write(tmp_path / f"t.{suffix}", X)
        with pytest.raises(InputError, match="row 58"):
            list(open_batches(path, NAMES, first=40, stop=80))
        assert len(whole(open_batches(path, NAMES, first=58))[0]) == 45
