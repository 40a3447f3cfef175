"""What cells may hold: missing values, names of labels, rows of any length, odd bytes."""

import csv
import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from pandas._libs.parsers import STR_NA_VALUES

from lrrf_jax import LEARNERS, load
from lrrf_jax._csv import BLOCK, block_size
from lrrf_jax._table_names import MISSING
from lrrf_jax._validation import InputError
from lrrf_jax.datasets import read
from lrrf_jax.io import predict_arrow

NAN = np.nan


def written(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    content = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    return path


def consensus(**names):
    return LEARNERS["default"]().fit([[0.0, 1.0]], [[1, 2]], **names)


# Missing values


def test_the_missing_cells_are_those_of_pandas_and_three_more():
    assert set(MISSING) == STR_NA_VALUES | {"?", "NaT", "\\N"}


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "parquet", "arrow"])
def test_every_missing_cell_is_missing_in_features_and_labels_of_every_format(tmp_path, suffix):
    rows = [[cell, "1", "2", cell] for cell in MISSING]
    table = pd.DataFrame([["0.5", "1", "2", "3"], *rows], columns=["A", "L1", "L2", "L3"])
    path = tmp_path / f"t.{suffix}"
    if suffix == "parquet":
        table.to_parquet(path)
    elif suffix == "arrow":
        arrow = pa.Table.from_pandas(table, preserve_index=False)
        with pa.ipc.new_file(path, arrow.schema) as writer:
            writer.write_table(arrow)
    else:
        table.to_csv(path, index=False, sep="\t" if suffix == "tsv" else ",")
    data = read(path)
    np.testing.assert_array_equal(data.X[:, 0], np.float32([0.5] + [NAN] * len(MISSING)))
    np.testing.assert_array_equal(data.y[:, 2], np.float32([3] + [NAN] * len(MISSING)))


def test_missing_cells_are_pandas_own_choice_of_numbers(tmp_path):
    path = tmp_path / "t.csv"
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([["A", "L1", "L2"], *[[cell, 1, 2] for cell in STR_NA_VALUES]])
    assert pd.read_csv(path)["A"].isna().all()
    assert np.isnan(read(path).X).all()


@pytest.mark.parametrize("missing", ["default,-9", [*MISSING, "-9"]])
def test_a_number_means_missing_however_it_is_written_and_in_every_format(tmp_path, missing):
    table = pd.DataFrame({"A": [-9.0, 2, 3], "B": [1, -9, 9], "L1": [1, 2, -9], "L2": [2, 1, 1]})
    table.to_parquet(tmp_path / "t.parquet")
    table.to_csv(tmp_path / "t.csv", index=False)  # -9.0 and -9
    np.savez(tmp_path / "t.npz", X=table[["A", "B"]], y=table[["L1", "L2"]])
    np.save(tmp_path / "t.npy", table)
    for name in ("t.parquet", "t.csv", "t.npz", "t.npy"):
        labels = "last:2" if name == "t.npy" else None
        data = read(tmp_path / name, missing=missing, labels=labels)
        np.testing.assert_array_equal(data.X, np.float32([[NAN, 1], [2, NAN], [3, 9]]))
        np.testing.assert_array_equal(data.y, np.float32([[1, 2], [2, 1], [NAN, 1]]))


def test_tables_to_rank_are_read_like_the_training_table(tmp_path):
    ranker = LEARNERS["lr-rf"](n_estimators=2, max_depth=2, random_state=0)
    X = np.float32([[0, 1], [1, NAN], [NAN, 0], [1, 1]] * 3)
    ranker.fit(X, [[1, 2], [2, 1], [1, 2], [2, 1]] * 3, feature_names=["u", "v"], labels=["a", "b"])
    expected = ranker.predict(X)
    cells = np.where(np.isnan(X), "-9", X.astype(str))
    lines = "\n".join(["u,v", *map(",".join, cells)])
    path = written(tmp_path, lines)

    def ranks(**options):
        ranker.predict_file(path, tmp_path / "r.csv", overwrite=True, **options)
        return pd.read_csv(tmp_path / "r.csv").to_numpy()

    np.testing.assert_array_equal(ranks(missing_values="default,-9"), expected)
    ranker.missing_values_ = ("", "-9")
    ranker.save(tmp_path / "m")
    ranker = load(tmp_path / "m")
    assert ranker.missing_values_ == ("", "-9")
    np.testing.assert_array_equal(ranks(), expected)
    batch = pa.record_batch({"u": cells[:, 0].tolist(), "v": cells[:, 1].tolist()})
    got = predict_arrow(ranker, batch).to_pandas().to_numpy()
    np.testing.assert_array_equal(got, expected)
    np.save(tmp_path / "t.npy", np.where(np.isnan(X), -9, X))
    path = tmp_path / "t.npy"
    np.testing.assert_array_equal(ranks(), expected)


def test_kept_columns_hold_what_the_file_holds(tmp_path):
    path = written(tmp_path, "id,u,v\nNA,1,2\nNULL,NA,2\n,3,4\n")
    ranker = consensus(feature_names=["u", "v"], labels=["a", "b"])
    ranker.predict_file(path, tmp_path / "r.csv", keep="id")
    kept = [line.split(",")[0] for line in (tmp_path / "r.csv").read_text().split()[1:]]
    assert kept == ['"NA"', '"NULL"', '""']


# Names of labels


def test_labels_with_signs_of_ties_are_read_where_they_are_named(tmp_path):
    names = ["a=b", "x<y", "p|q", "{z}", "n~m"]
    path = written(tmp_path, "A,ranking\n1,a=b>x<y>p|q\n2,{z} > n~m\n3,?\n")
    with pytest.raises(InputError, match=r"row 1 \(line 2\).*name all labels with label_names="):
        read(path)
    data = read(path, label_names=names)
    assert data.labels == tuple(names)
    expected = [[1, 2, 3, NAN, NAN], [NAN, NAN, NAN, 1, 2], [NAN] * 5]
    np.testing.assert_array_equal(data.y, np.float32(expected))
    assert read(path, label_names=",".join(names)).labels == tuple(names)
    with pytest.raises(InputError, match="row 2"):
        read(path, label_names=["a=b", "x<y", "p|q"])


@pytest.mark.parametrize("names", [["a"], ["a", "a"], ["a>b", "c"], ["a", ""], [" a", "b"]])
def test_names_that_cannot_be_labels_are_refused(tmp_path, names):
    with pytest.raises(InputError, match="label_names must hold two different names"):
        read(written(tmp_path, "A,ranking\n1,a>b\n"), label_names=names)


def test_a_label_called_like_a_missing_value_is_never_guessed_in_text(tmp_path):
    path = written(tmp_path, "A,ranking\n1,NA>EU\n2,NA\n3,\n")
    with pytest.raises(InputError, match=r"row 2 \(line 3\) holds 'NA', which stands for a miss"):
        read(path)
    named = read(path, label_names="EU,NA")
    np.testing.assert_array_equal(named.y, np.float32([[2, 1], [NAN, 1], [NAN, NAN]]))
    path.write_text("A,ranking\n1,NA>EU\n2,EU>NA\n3,?\n")  # nothing is ambiguous here
    np.testing.assert_array_equal(read(path).y, np.float32([[2, 1], [1, 2], [NAN, NAN]]))


def test_a_label_called_like_a_missing_value_is_never_guessed_in_orderings(tmp_path):
    path = written(tmp_path, "A,L1,L2,L3\n1,EU,SA,NA\n2,SA,EU,NA\n")
    with pytest.warns(UserWarning, match=r"'L3', row 1 \(line 2\) holds 'NA', which is read as"):
        top = read(path, convention="orderings")
    assert top.labels == ("EU", "SA")
    data = read(path, convention="orderings", label_names="EU,NA,SA")
    assert data.y.tolist() == [[1, 3, 2], [2, 3, 1]]
    assert read(path, convention="orderings", missing="NA").y.tolist() == [[1, 2], [2, 1]]
    named = written(tmp_path, "A,EU,SA,NA\n1,SA,EU,NA\n", "named.csv")
    with pytest.raises(InputError, match="is a label column and stands for missing"):
        read(named, labels="EU,SA,NA", convention="orderings")
    with pytest.raises(InputError, match="'L3', row 1.*none of the labels EU, SA"):
        read(path, convention="orderings", label_names="EU,SA", missing="")
    with pytest.raises(InputError, match=r"label_names= .* is for rankings that name"):
        read(written(tmp_path, "A,L1,L2\n1,1,2\n", "p.csv"), label_names="a,b")


# Rows of any length

LONG = "x" * (BLOCK + BLOCK // 4)  # 5 MiB


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
@pytest.mark.parametrize("fault", [None, "q"])
def test_a_cell_of_megabytes_is_read_past_and_kept(tmp_path, name, fault):
    head = "A1,A2,note,L1,L2\n" + "1,2,,1,2\n" * 1000
    path = written(tmp_path, f"{head}3,4,{LONG},2,1\n5,{fault or 6},z,1,2\n", name)
    ranker = consensus(feature_names=["A1", "A2"], labels=["a", "b"])
    if fault:
        place = r"row 1002 \(line 1003\) holds 'q'"
        with pytest.raises(InputError, match=place):
            read(path, features="A*")
        with pytest.raises(InputError, match=place):
            ranker.predict_file(path, tmp_path / "r.parquet")
        return
    data = read(path, features="A*")
    assert data.X[[0, 1000, 1001]].tolist() == [[1, 2], [3, 4], [5, 6]]
    ranker.predict_file(path, tmp_path / "r.parquet", keep=["note", "A1"])
    kept = pyarrow.parquet.read_table(tmp_path / "r.parquet")
    assert kept["note"].to_pylist() == [""] * 1000 + [LONG, "z"]
    assert kept["A1"].to_pylist()[-2:] == ["3", "5"]


def test_a_row_with_megabytes_of_quoted_lines_is_read(tmp_path):
    lines = "ab\n" * (BLOCK // 2)
    path = written(tmp_path, f'A1,A2,note,L1,L2\n1,2,"{lines}",1,2\n3,4,z,2,1\n')
    assert read(path, features="A*").X.tolist() == [[1, 2], [3, 4]]
    ranker = consensus(feature_names=["A1", "A2"], labels=["a", "b"])
    assert ranker.predict_file(path, tmp_path / "r.csv").rows == 2


def test_blocks_hold_the_longest_line_and_the_budget_counts_them(tmp_path):
    short = written(tmp_path, "A1,A2\n" + "1,2\n" * 10)
    long = written(tmp_path, f"A1,A2,note\n1,2,{LONG}\n" + "1,2,\n" * 10, "long.csv")
    packed = written(tmp_path, long.read_bytes(), "packed.csv.gz")
    assert block_size(str(short)) == BLOCK
    assert block_size(str(long)) >= len(LONG)
    assert block_size(str(packed), scan_compressed=True) >= len(LONG)
    ranker = consensus(feature_names=["A1", "A2"], labels=["a", "b"])
    needed = []
    for path in (short, long, packed):
        with pytest.raises(InputError, match="memory_budget") as caught:
            ranker.predict_file(path, tmp_path / "r.csv", memory_budget=1 << 20)
        needed.append(str(caught.value).split(" go to what")[0].rsplit(" ", 2)[-2])
    blocks = [12 * block_size(str(path), scan_compressed=True) for path in (short, long, packed)]
    assert [int(mib.replace(",", "")) << 20 for mib in needed] == blocks


@pytest.mark.slow
def test_a_hundred_thousand_features_are_read(tmp_path):
    n = 120_000
    header = ",".join([*(f"A{j}" for j in range(n)), "L1", "L2"])
    path = written(tmp_path, "\n".join([header, *[",".join(["1.25"] * n) + ",1,2"] * 3]))
    data = read(path)
    assert data.X.shape == (3, n)
    ranker = LEARNERS["default"]().fit(data.X, data.y, feature_names=data.feature_names)
    assert ranker.predict_file(path, tmp_path / "r.csv").rows == 3


# Odd bytes

SOUND = {
    "mark": "\ufeffA1,A2,L1,L2\n1,2,1,2\n3,4,2,1\n",
    "old Mac lines": "A1,A2,L1,L2\r1,2,1,2\r3,4,2,1\r",
    "quoted line": 'A1,A2,n,L1,L2\n1,2,"x\ny",1,2\n3,4,"z,",2,1\n',
    "Latin 1, unused": "A1,A2,n,L1,L2\n1,2,\xe4,1,2\n3,4,b,2,1\n".encode("latin-1"),
    "NUL, unused": "A1,A2,n,L1,L2\n1,2,\x00,1,2\n3,4,b,2,1\n",
}


@pytest.mark.parametrize("case", SOUND)
def test_odd_files_are_read_right_by_both_readers(tmp_path, case):
    path = written(tmp_path, SOUND[case])
    data = read(path, features="A*")
    assert (data.X.tolist(), data.y.tolist()) == ([[1, 2], [3, 4]], [[1, 2], [2, 1]])
    ranker = consensus(feature_names=["A1", "A2"], labels=["a", "b"])
    ranker.predict_file(path, tmp_path / "r.csv", keep="A1")
    assert pd.read_csv(tmp_path / "r.csv")["A1"].tolist() == [1, 3]


REFUSED = {
    "overflow": ("A1,A2\n1,2\n3,1" + "0" * 400 + "\n", "column 'A2' must hold finite float32"),
    "NUL": (
        "A1,A2\n1,2\n3,\x004\n",
        r"'A2' must hold numbers; row 2 (line 3) holds '\x004'",
    ),
    "Latin 1": (b"A1,A2\n1,2\n3,\xe4\n", "line 3 is not UTF-8 text (column 'A2')"),
    "Latin 1, header": (b"A1,A2,\xe4\n1,2,3\n", "line 1 is not UTF-8"),
    "ragged": ('A1,A2\n"1\n",2\n3\n', "row 2 (line 4) has 1 cells, the header has 2"),
    "open quote": ('A1,A2\n1,2\n"3,4\n', "row 2 (line 3) has 1 cells"),
    "twice": ("A1,A2,A1\n1,2,3\n", "column 'A1' is there 2 times"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_odd_files_are_refused_with_their_place_by_both_readers(tmp_path, case):
    content, fragment = REFUSED[case]
    path = written(tmp_path, content)
    ranker = consensus(feature_names=["A1", "A2"], labels=["a", "b"])
    with pytest.raises(InputError) as caught:
        ranker.predict_file(path, tmp_path / "r.csv")
    assert fragment in str(caught.value), str(caught.value)
    lines = content if isinstance(content, bytes) else content.encode()
    head, _, rest = lines.partition(b"\n")
    path.write_bytes(head + b",L1,L2\n" + rest.replace(b"\n", b",1,2\n"))
    if case not in ("open quote", "ragged"):
        with pytest.raises(InputError) as caught:
            read(path, features="A*")
        assert fragment in str(caught.value), str(caught.value)


def test_dictionaries_of_numbers_and_views_are_categories_and_runs_are_their_values(tmp_path):
    views = pa.array(["b>a", "a>b"], pa.string_view())
    table = pa.table(
        {
            "codes": pa.DictionaryArray.from_arrays(pa.array([1, None, 0]), pa.array([2.5, 4.0])),
            "texts": pa.DictionaryArray.from_arrays(
                pa.array([0, 1, None], pa.uint8()), pa.array(["7", "?"], pa.string_view())
            ),
            "runs": pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int16()), [1, 9]),
            "order": pa.DictionaryArray.from_arrays(pa.array([0, 1, 1], pa.uint32()), views),
        }
    )
    with pa.ipc.new_stream(tmp_path / "t.arrow", table.schema) as writer:
        writer.write_table(table)
    data = read(tmp_path / "t.arrow", ranking="order")
    assert data.X.to_pydict() == {
        "codes": ["4.0", None, "2.5"],
        "texts": ["7", None, None],
        "runs": [1, 1, 9],
    }
    assert data.y.tolist() == [[2, 1], [1, 2], [1, 2]]


def test_names_of_labels_that_columns_of_numbers_cannot_use_are_refused(tmp_path):
    table = pd.DataFrame({"A": [1, 2], "L1": [2, 1], "L2": [1, 2]})
    table.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match="label_names= .* hold numbers"):
        read(tmp_path / "t.parquet", convention="orderings", label_names="a,b")


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "parquet", "arrow", "npz", "xarff"])
def test_a_name_that_is_there_twice_is_refused_in_every_format(tmp_path, suffix):
    names, rows = ["A", "A", "L1", "L2"], [[1, 2, 1, 2], [3, 4, 2, 1]]
    path = tmp_path / f"t.{suffix}"
    if suffix in ("parquet", "arrow"):
        table = pa.table([pa.array(column) for column in zip(*rows, strict=True)], names)
        if suffix == "parquet":
            pyarrow.parquet.write_table(table, path)
        else:
            with pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table)
    elif suffix == "npz":
        np.savez(path, X=np.ones((2, 2)), y=[[1, 2], [2, 1]], feature_names=names[:2])
    elif suffix == "xarff":
        head = "@attribute A REAL\n@attribute A REAL\n@attribute L RANKING {a,b}\n@data\n"
        path.write_text(head + "1,2,a>b\n")
    else:
        separator = "\t" if suffix == "tsv" else ","
        lines = [separator.join(map(str, row)) for row in [names, *rows]]
        written(tmp_path, "\n".join(lines), path.name)
    with pytest.raises(InputError, match="'A' is there 2 times|2, 1 of them different|2 different"):
        read(path)
    if suffix != "xarff":
        with pytest.raises(InputError, match="'A' is there 2 times"):
            consensus(feature_names=["A", "B"]).predict_file(path, tmp_path / "r.csv")


@pytest.mark.parametrize("missing", [None, -9, [-9], [None]])
def test_missing_cells_that_are_no_texts_are_refused(tmp_path, missing):
    with pytest.raises(InputError, match="missing values must be texts such as 'NA' or '-9'"):
        read(written(tmp_path, "A,L1,L2\n1,1,2\n"), missing=missing)
