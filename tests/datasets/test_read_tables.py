import csv
import gzip
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrrf_jax._validation import InputError
from lrrf_jax.datasets import read

KEBI = Path(__file__).parents[2].parent / "shared/data/kebi"
FEATURES = [f"A{j}" for j in range(1, 12)]  # A10 and A11 tell file order from text order
LABELS = ["L1", "L2", "L3"]


def sample(n_rows=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, len(FEATURES))).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.argsort(rng.random((n_rows, 3)), axis=1).astype(np.float32) + 1
    y[0] = [np.nan, 2, 1]
    y[1] = np.nan
    return X, y


def frame(X, y):
    return pd.DataFrame(np.column_stack([X, y]), columns=[*FEATURES, *LABELS])


def write(table, path):
    suffix = path.name.split(".", 1)[1]
    if suffix in ("csv", "csv.gz"):
        table.to_csv(path, index=False)
    elif suffix in ("tsv", "tsv.gz"):
        table.to_csv(path, index=False, sep="\t")
    elif suffix == "parquet":
        table.to_parquet(path)
    elif suffix == "feather":
        pyarrow.feather.write_feather(pa.Table.from_pandas(table), path)
    elif suffix == "npy":
        np.save(path, table)
    elif suffix == "npz":
        np.savez(path, X=table[FEATURES], y=table[LABELS], feature_names=FEATURES, labels=LABELS)
    else:
        arrow = pa.Table.from_pandas(table)
        maker = pa.ipc.new_file if suffix == "arrow" else pa.ipc.new_stream
        with maker(path, arrow.schema) as writer:
            writer.write_table(arrow, max_chunksize=7)
    return path


@pytest.mark.parametrize(
    "suffix",
    ["csv", "csv.gz", "CSV.GZ", "tsv", "tsv.gz", "parquet", "arrow", "ipc", "feather", "npz"],
)
def test_every_format_gives_the_same_data(tmp_path, suffix):
    X, y = sample()
    path = write(frame(X, y), tmp_path / f"toy.{suffix.lower()}")
    path = path.rename(tmp_path / f"toy.{suffix}")
    data = read(path)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    assert (data.X.dtype, data.y.dtype) == (np.float32, np.float32)
    assert data.feature_names == tuple(FEATURES)
    assert data.labels == tuple(LABELS)
    assert data.name == "toy"


@pytest.mark.skipif(not KEBI.is_dir(), reason="the KEBI files are not beside the repository")
def test_all_sixteen_kebi_files_have_the_shapes_of_their_index():
    with open(KEBI / "INDEX.csv", newline="") as file:
        index = list(csv.DictReader(file))
    assert len(index) == 16
    for entry in index:
        data = read(KEBI / f"{entry['dataset']}.csv.gz")
        assert data.X.shape == (int(entry["instances"]), int(entry["features"]))
        assert data.y.shape == (int(entry["instances"]), int(entry["labels"]))
        assert data.name == entry["dataset"]
        complete = np.arange(1, data.y.shape[1] + 1)
        np.testing.assert_array_equal(np.sort(data.y, axis=1), np.tile(complete, (len(data.y), 1)))


@pytest.mark.skipif(not KEBI.is_dir(), reason="the KEBI files are not beside the repository")
def test_kebi_values_equal_those_of_the_csv_module():
    data = read(KEBI / "wisconsin.csv.gz")
    with gzip.open(KEBI / "wisconsin.csv.gz", "rt", newline="") as file:
        rows = [[float(cell) for cell in row] for row in list(csv.reader(file))[1:]]
    np.testing.assert_array_equal(np.hstack([data.X, data.y]), np.float32(rows))


number_cells = st.one_of(
    st.floats(-1e30, 1e30).map(repr),
    st.integers(-(10**6), 10**6).map(str),
    st.sampled_from(["", "NaN", "?", "NA", " ? ", " 1.5", "+2", "1E-3", "nan"]),
)


@given(cells=st.lists(st.tuples(number_cells, number_cells), min_size=1, max_size=8))
def test_features_equal_python_floats_rounded_to_float32(tmp_path_factory, cells):
    path = tmp_path_factory.mktemp("cells") / "t.csv"
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([["u", "v", "L1", "L2"], *[[*row, "2", "1"] for row in cells]])

    def value(cell):
        return np.nan if cell.strip() in ("", "NaN", "?", "NA") else float(cell)

    expected = np.float32([[value(cell) for cell in row] for row in cells])
    np.testing.assert_array_equal(read(path).X, expected)


def test_nulls_of_pandas_polars_and_arrow_become_nan(tmp_path):
    pd.DataFrame(
        {
            "whole": pd.array([1, None], "Int64"),
            "flag": pd.array([True, None], "boolean"),
            "kind": pd.Categorical([3.5, None]),
            "L1": pd.array([2, None], "Int64"),
            "L2": [1, 1],
        }
    ).to_parquet(tmp_path / "pandas.parquet")
    data = read(tmp_path / "pandas.parquet")
    assert data.X["kind"].to_pylist() == ["3.5", None]  # what pandas calls a category is one
    numbers = np.stack([data.X.column(j).to_numpy() for j in (0, 1)], axis=1)
    np.testing.assert_array_equal(numbers, np.float32([[1, 1], [np.nan, np.nan]]))
    np.testing.assert_array_equal(data.y, np.float32([[2, 1], [np.nan, 1]]))
    table = pl.DataFrame(
        {"A": [1, None], "B": [None, None], "C": ["4", "?"], "L1": [1, None], "L2": [2, 1]}
    )
    table.write_ipc(tmp_path / "polars.arrow")
    table.write_parquet(tmp_path / "polars.parquet")
    for name in ("polars.arrow", "polars.parquet"):
        expected = np.float32([[1, np.nan, 4], [np.nan, np.nan, np.nan]])
        np.testing.assert_array_equal(read(tmp_path / name).X, expected)


def written(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_byte_order_mark_blank_lines_and_quotes_are_accepted(tmp_path):
    content = '\ufeffA1,"note, long",L1,L2\r\n\r\n1,"2",1,2\r\n3,4,2,1'
    data = read(written(tmp_path, content))
    assert data.feature_names == ("A1", "note, long")
    np.testing.assert_array_equal(data.X, np.float32([[1, 2], [3, 4]]))
    assert read(tmp_path / "t.csv", features="note, long").X.tolist() == [[2], [4]]


def test_globs_keep_file_order_and_lists_give_their_own(tmp_path):
    path = written(tmp_path, "id,A1,A2,A10,r_b,r_a\n9,1,2,10,1,2\n")
    data = read(path, features="A*", labels="r_*")
    assert data.feature_names == ("A1", "A2", "A10")
    assert data.labels == ("r_b", "r_a")
    data = read(path, features=["A10", "A1"], labels="r_a, r_b")
    assert (data.X.tolist(), data.y.tolist()) == ([[10, 1]], [[2, 1]])
    assert read(path, labels="r_*").feature_names == ("id", "A1", "A2", "A10")


def test_missing_cells_follow_the_argument(tmp_path):
    path = written(tmp_path, "A,L1,L2\n-9,1,2\n1, -9,1\n")
    data = read(path, missing=["-9"])
    np.testing.assert_array_equal(data.X, np.float32([[np.nan], [1]]))
    np.testing.assert_array_equal(data.y, np.float32([[1, 2], [np.nan, 1]]))
    np.testing.assert_array_equal(read(path, missing="-9,").y, data.y)


def test_rows_with_fewer_than_two_labels_stay(tmp_path):
    y = read(written(tmp_path, "A,L1,L2\n1,,\n2,,1\n3,1,2\n")).y
    np.testing.assert_array_equal(y, np.float32([[np.nan] * 2, [np.nan, 1], [1, 2]]))


# Conventions


def test_close_gaps_makes_positions_dense(tmp_path):
    y = read(written(tmp_path, "A,L1,L2,L3\n1,5,2,9\n2,,4,2\n3,1,2,3\n"), close_gaps=True).y
    np.testing.assert_array_equal(y, np.float32([[2, 1, 3], [np.nan, 2, 1], [1, 2, 3]]))


@pytest.mark.parametrize(
    ("rows", "labels", "expected"),
    [
        ("2,3,1\n1,,\n", ("L1", "L2", "L3"), [[3, 1, 2], [1, np.nan, np.nan]]),
        ("2.0,3.0,1\n1.0,?,\n", ("L1", "L2", "L3"), [[3, 1, 2], [1, np.nan, np.nan]]),
        ("L2,L3,L1\nL1,?,\n", ("L1", "L2", "L3"), [[3, 1, 2], [1, np.nan, np.nan]]),
        ("b10,b2,\nb2,a,b10\n", ("a", "b2", "b10"), [[np.nan, 2, 1], [2, 1, 3]]),
    ],
    ids=["indices", "floats", "column names", "other names"],
)
def test_orderings_hold_labels_best_first(tmp_path, rows, labels, expected):
    lines = "".join(f"0,{row}\n" for row in rows.split())
    data = read(written(tmp_path, f"A,L1,L2,L3\n{lines}"), convention="orderings")
    assert data.labels == labels
    np.testing.assert_array_equal(data.y, np.float32(expected))


def test_orderings_in_numeric_columns_equal_those_in_text(tmp_path):
    table = pd.DataFrame({"A": [0, 0], "L1": [2, 1], "L2": [1, np.nan]})
    table.to_parquet(tmp_path / "t.parquet")
    data = read(tmp_path / "t.parquet", convention="orderings")
    np.testing.assert_array_equal(data.y, np.float32([[2, 1], [1, np.nan]]))


def test_positions_and_orderings_of_the_same_cells_differ(tmp_path):
    path = written(tmp_path, "A,L1,L2,L3\n1,2,3,1\n")
    assert read(path).y.tolist() == [[2, 3, 1]]
    assert read(path, convention="orderings").y.tolist() == [[3, 1, 2]]


# The text column


def test_text_rankings_take_labels_in_natural_order(tmp_path):
    path = written(tmp_path, "A1,ranking\n1,L2>L10>L1\n2, L1 > L2 \n3,?\n4,L2>L10>L1\n")
    data = read(path)
    assert data.labels == ("L1", "L2", "L10")
    expected = [[3, 1, 2], [1, 2, np.nan], [np.nan] * 3, [3, 1, 2]]
    np.testing.assert_array_equal(data.y, np.float32(expected))
    assert data.feature_names == ("A1",)


def test_positions_behind_the_text_are_no_features(tmp_path):
    path = written(tmp_path, "A1,A2,ranking,a,b,c\n1,2,b>a>c,1,0,2\n")
    assert read(path).feature_names == ("A1", "A2")
    assert read(path, features="A*,c").feature_names == ("A1", "A2", "c")
    before = written(tmp_path, "a,ranking,z\n1,b>a,5\n", "before.csv")
    assert read(before).feature_names == ("a", "z")


def test_text_rankings_in_parquet_may_be_categories(tmp_path):
    table = pd.DataFrame({"A": [1.0, 2.0, 3.0], "order": pd.Categorical(["b>a", None, "a>b"])})
    table.to_parquet(tmp_path / "t.parquet")
    y = read(tmp_path / "t.parquet", ranking="order").y
    np.testing.assert_array_equal(y, np.float32([[2, 1], [np.nan] * 2, [1, 2]]))


# Refusals: (content, arguments, what the message must say)

REFUSED = {
    "empty file": ("", {}, ["the file is empty"]),
    "blank file": ("\n\n", {}, ["the file is empty"]),
    "header only": ("A1,L1,L2\n", {}, ["no rows"]),
    "ragged row": ("A1,L1,L2\n1,1,2\n\n3,1\n", {}, ["row 2 (line 4)", "2 cells", "header has 3"]),
    "long row": ("A1,L1,L2\n1,1,2,9\n", {}, ["row 1 (line 2)", "4 cells"]),
    "duplicate name": ("A1,A1,L1,L2\n1,1,1,2\n", {}, ["'A1' is there 2 times"]),
    "unknown feature": (
        "Age,L1,L2\n1,1,2\n",
        {"features": "age,L9"},
        ["features asks for 'age'", "Close to it: 'Age'"],
    ),
    "unknown label": ("A1,L1,L2\n1,1,2\n", {"labels": "M*"}, ["labels asks for 'M*'"]),
    "unknown ranking": (
        "A1,rankings\n1,a>b\n",
        {"ranking": "ranking"},
        ["no column 'ranking'", "'rankings'"],
    ),
    "no labels": ("A1,B1\n1,2\n", {}, ["no column is called L1", "--labels 'L*'", "'A1', 'B1'"]),
    "ragged semicolons": (
        "A1;L1;L2\n1;1;2\n1;2\n",
        {},
        ["single column 'A1;L1;L2'", "not all rows have as many", "delimiter=';' (--delimiter)"],
    ),
    "no header": ("0.5,1.5,b>a\n1,1,a>b\n", {}, ["first line holds numbers"]),
    "both kinds": ("A,L1,L2,ranking\n1,1,2,a>b\n", {}, ["labels='L*'", "ranking='ranking'"]),
    "both arguments": ("A,L1,L2\n1,1,2\n", {"labels": "L*", "ranking": "A"}, ["not both"]),
    "one label": ("A1,L1\n1,1\n", {}, ["at least two labels"]),
    "no feature": ("L1,L2\n1,2\n", {}, ["no feature column is left"]),
    "feature is label": (
        "A1,L1,L2\n1,1,2\n",
        {"features": "A*,L1"},
        ["'L1' is asked for as a feature and as a label"],
    ),
    "pandas index": (",A1,L1,L2\n0,1,1,2\n", {}, ["column ''", "row index"]),
    "text among numbers": (
        "A1,A2,L1,L2\n1,2,1,2\n\n3,oops,1,2\n",
        {},
        ["column 'A2'", "row 2 (line 4)", "'oops'"],
    ),
    "decimal comma": ('A1,L1,L2\n"1,5",1,2\n', {}, ["column 'A1'", "row 1 (line 2)", "'1,5'"]),
    "text among labels": ("A1,L1,L2\n1,x,2\n", {}, ["column 'L1'", "row 1 (line 2)", "'x'"]),
    "infinity": ("A1,L1,L2\n1,1,2\n-inf,1,2\n", {}, ["'A1'", "row 2 (line 3)", "-inf", "1 of 2"]),
    "beyond float32": ("A1,L1,L2\n1e39,1,2\n", {}, ["'A1'", "row 1", "1e+39", "float32"]),
    "no form of ties": (
        "A,L1,L2,L3,L4\n1,1,1,3,4\n1,1,3,3,4\n1,4,4,4,4\n",
        {},
        [
            "row 2 (line 3) is [1, 3, 3, 4]",
            "position 3 is repeated",
            "1, 1, 3 or 1, 1, 2",
            "2 of 3",
        ],
    ),
    "skipped position": (
        "A,L1,L2,L3\n1,1,2,4\n",
        {},
        ["row 1 (line 2) is [1, 2, 4]", "skipped", "close_gaps=True"],
    ),
    "skipped for missing": ("A,L1,L2,L3\n1,1,,3\n1,1,2,3\n", {}, ["[1, NaN, 3]", "close_gaps"]),
    "zero-based": ("A,L1,L2\n1,0,1\n", {}, ["start at 0", "Add 1"]),
    "zero with close_gaps": ("A,L1,L2\n1,0,1\n", {"close_gaps": True}, ["start at 0"]),
    "half alone": ("A,L1,L2\n1,5.5,2\n", {"close_gaps": True}, ["5.5 ties with no other"]),
    "scores with close_gaps": ("A,L1,L2\n1,5.4,2\n", {"close_gaps": True}, ["no whole number"]),
    "equal scores": ("A,L1,L2\n1,0.5,0.5\n", {}, ["no whole number", "--scores"]),
    "negative": ("A,L1,L2\n1,-1,1\n", {}, ["negative", "empty where a label is missing"]),
    "fraction": ("A,L1,L2\n1,0.5,1\n", {}, ["no whole number", "scores="]),
    "infinite position": ("A,L1,L2\n1,inf,1\n", {}, ["infinite", 'missing="last"']),
    "empty label": (
        "A,L1,L2,L3\n1,1,,2\n1,2,,1\n",
        {},
        ["label column 'L2' is missing in every row", "1 of 3"],
    ),
    "unknown convention": ("A,L1,L2\n1,1,2\n", {"convention": "ranks"}, ["'positions'", "'ranks'"]),
    "index out of range": (
        "A,L1,L2\n1,1,3\n",
        {"convention": "orderings"},
        ["row 1 (line 2) is [1, 3]", "not one of 1..2"],
    ),
    "label twice": ("A,L1,L2\n1,b,b\n1,a,b\n", {"convention": "orderings"}, ["label is repeated"]),
    "gap in ordering": ("A,L1,L2\n1,,a\n1,b,a\n", {"convention": "orderings"}, ["after an empty"]),
    "one name": ("A,L1,L2\n1,a,\n", {"convention": "orderings"}, ["at least two labels"]),
    "text ranking fault": (
        "A,ranking\n1,a>b\n2,b>>a\n3,b>b\n",
        {},
        ["column 'ranking'", "row 2 (line 3) holds 'b>>a'", "2 of 3"],
    ),
    "text ranking tie": ("A,ranking\n1,a=b>c\n2,a={b>c\n", {}, ["'a={b>c'", "'=' where they tie"]),
    "no text ranking": ("A,ranking\n1,3\n2,4\n", {}, ["no cell holds a '>'"]),
    "text ranking only": ("ranking\na>b\n", {}, ["no feature column"]),
    "text with convention": (
        "A,ranking\n1,a>b\n",
        {"convention": "scores"},
        ["convention= and close_gaps= are for label columns"],
    ),
    "not UTF-8": (b"A1,L1,L2\n1,1,2\n\xff,1,2\n", {}, ["line 3 is not UTF-8"]),
    "header not UTF-8": (b"\xe4,L1,L2\n1,1,2\n", {}, ["line 1 is not UTF-8"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_csv_file_is_refused_with_its_place_and_the_way_out(tmp_path, case):
    content, arguments, fragments = REFUSED[case]
    path = written(tmp_path, content)
    with pytest.raises(InputError) as caught:
        read(path, **arguments)
    message = str(caught.value)
    assert str(path) in message or case == "unknown convention"
    for fragment in fragments:
        assert fragment in message, message


@pytest.mark.parametrize(
    ("name", "fragment"),
    [
        ("t.csv", "no such file"),
        ("folder.csv", "is a directory"),
        ("t.xls", "no reader is known for .xls"),
        ("t.cat", "no reader is known for .cat"),
        ("plain", "a file without suffix"),
    ],
)
def test_a_path_that_no_reader_can_use_is_refused(tmp_path, name, fragment):
    (tmp_path / "folder.csv").mkdir()
    for other in ("t.xls", "t.cat", "plain"):
        (tmp_path / other).write_text("1")
    with pytest.raises(InputError, match=fragment):
        read(tmp_path / name)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads anything")
def test_an_unreadable_file_is_refused(tmp_path):
    path = written(tmp_path, "A,L1,L2\n1,1,2\n")
    path.chmod(0)
    with pytest.raises(InputError, match="permission denied"):
        read(path)


@pytest.mark.parametrize(
    ("columns", "fragments"),
    [
        ({"A": ["1", "x"], "L1": [1, 1], "L2": [2, 2]}, ["'A'", "row 2 holds 'x'"]),
        ({"A": pd.to_datetime(["2020-01-01"]), "L1": [1], "L2": [2]}, ["'A'", "timestamp"]),
        ({"A": [[1.0, 2.0]], "L1": [1], "L2": [2]}, ["'A'", "list"]),
        ({"A": [1.0, np.inf], "L1": [1, 1], "L2": [2, 2]}, ["'A'", "row 2 holds inf"]),
        ({"A": [1.0], "ranking": [3]}, ["'ranking'", "must hold text"]),
        ({"A": [], "L1": [], "L2": []}, ["no rows"]),
    ],
    ids=["text", "dates", "lists", "infinity", "numeric ranking", "no rows"],
)
def test_a_parquet_file_is_refused_with_its_place(tmp_path, columns, fragments):
    path = tmp_path / "t.parquet"
    pd.DataFrame(columns).to_parquet(path)
    with pytest.raises(InputError) as caught:
        read(path)
    for fragment in [str(path), *fragments]:
        assert fragment in str(caught.value)


def test_a_saved_row_index_is_refused_unless_the_features_are_named(tmp_path):
    table = pd.DataFrame({"A": [1.0, 2.0], "L1": [1, 2], "L2": [2, 1]}, index=[5, 9])
    table.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match="'__index_level_0__' looks like a saved row index"):
        read(tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet", features="A").X.tolist() == [[1], [2]]


def test_duplicate_names_in_parquet_are_refused(tmp_path):
    table = pa.table([pa.array([1.0])] * 4, names=["A", "A", "L1", "L2"])
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(InputError, match="'A' is there 2 times"):
        read(tmp_path / "t.parquet")


@pytest.mark.parametrize("suffix", ["csv.gz", "parquet", "arrow", "ipc", "feather", "npz", "npy"])
def test_an_altered_file_is_read_or_refused_and_never_breaks_otherwise(tmp_path, suffix):
    X, y = sample()
    whole = write(frame(X, y), tmp_path / f"whole.{suffix}").read_bytes()
    path = tmp_path / f"t.{suffix}"
    rng = np.random.default_rng(0)
    n_refused = 0
    for attempt in range(60):
        content = bytearray(whole)
        if attempt % 2:
            content = content[: rng.integers(1, len(content))]
        else:
            content[rng.integers(len(content))] ^= 1 << rng.integers(8)
        path.write_bytes(content)
        try:
            read(path, labels="last:3" if suffix == "npy" else None)
        except InputError as error:
            n_refused += str(path) in str(error)
    assert n_refused > 25


def test_checksummed_parquet_pages_reveal_a_flipped_bit(tmp_path):
    X, y = sample(400)
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(
        pa.Table.from_pandas(frame(X, y)), path, write_page_checksum=True, use_dictionary=False
    )
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 16
    path.write_bytes(content)
    with pytest.raises(InputError, match="cannot be read as .parquet"):
        read(path)


def test_the_place_of_a_fault_is_found_late_in_a_long_file(tmp_path):
    n_rows = 100_000
    rows = ["1.5,2,1"] * n_rows
    rows[87_654] = "1.5x,2,1"
    path = written(tmp_path, "A,L1,L2\n" + "\n".join(rows))
    start = time.perf_counter()
    with pytest.raises(InputError, match=r"row 87655 \(line 87656\) holds '1.5x'"):
        read(path)
    assert time.perf_counter() - start < 20
