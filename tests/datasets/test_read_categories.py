"""Text columns, declared ones and dictionaries are categories, in every format that has such."""

import pathlib

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from lrrf_jax import InputError
from lrrf_jax.datasets import fetch_kebi, load, read

KEBI = pathlib.Path(__file__).parents[2].parent / "shared/data/kebi"
COLORS = ["red", None, "dark, blue", "red", "blue", "blue"]
ZIPS = ["10", "9", "10", "300", "9", "9"]


def frame():
    return pd.DataFrame(
        {
            "size": [0.5, 1.5, np.nan, 2, 3, 4],
            "color": COLORS,
            "zip": list(map(int, ZIPS)),
            "L1": [1, 2, 1, 2, 1, 2],
            "L2": [2, 1, 2, 1, 2, 1],
        }
    )


def write(table, path):
    suffix = path.name.split(".", 1)[1]
    if suffix.startswith(("csv", "tsv")):
        table.to_csv(path, index=False, sep="\t" if suffix.startswith("t") else ",")
    elif suffix == "parquet":
        table.to_parquet(path)
    elif suffix == "feather":
        pyarrow.feather.write_feather(pa.Table.from_pandas(table), path)
    else:
        arrow = pa.Table.from_pandas(table)
        with pa.ipc.new_stream(path, arrow.schema) as writer:  # with a dictionary for each batch
            writer.write_table(arrow, max_chunksize=2)
    return path


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "tsv", "parquet", "feather", "arrow"])
@pytest.mark.parametrize("as_category", [False, True])
def test_text_and_named_columns_are_categories_in_every_format(tmp_path, suffix, as_category):
    table = frame()
    if as_category:
        table["color"] = table["color"].astype("category")
    data = read(write(table, tmp_path / f"t.{suffix}"), categories="z*")
    assert data.X.column_names == ["size", "color", "zip"]
    category = pa.dictionary(pa.int32(), pa.string())
    assert data.X.schema.types == [pa.float32(), category, category]
    np.testing.assert_array_equal(data.X["size"], np.float32(frame()["size"]))
    assert data.X["color"].to_pylist() == COLORS
    assert data.X["zip"].to_pylist() == ZIPS
    assert data.X["zip"].chunk(0).dictionary.to_pylist() == ["9", "10", "300"]  # as one counts
    assert data.feature_names == ("size", "color", "zip")
    assert data.y.tolist() == frame()[["L1", "L2"]].to_numpy().tolist()


def test_without_categories_features_are_an_array_as_ever(tmp_path):
    data = read(write(frame(), tmp_path / "t.csv"), exclude="color")
    assert type(data.X) is np.ndarray
    np.testing.assert_array_equal(data.X, np.float32(frame()[["size", "zip"]]))


def test_enums_of_polars_keep_levels_without_rows(tmp_path):
    kinds = pl.Enum(["low", "mid", "high"])
    table = pl.DataFrame(
        {"k": pl.Series(["high", None, "low"], dtype=kinds), "L1": [1, 1, 2], "L2": [2, 2, 1]}
    )
    table.write_ipc(tmp_path / "t.arrow")
    data = read(tmp_path / "t.arrow")
    assert data.X["k"].to_pylist() == ["high", None, "low"]
    assert data.X["k"].chunk(0).dictionary.to_pylist() == ["low", "mid", "high"]


def test_categories_of_numbers_that_pandas_wrote_are_categories(tmp_path):
    table = frame().assign(zip=pd.Categorical([10, None, 10, 300, 9, 9], [9, 10, 300]))
    for suffix in ("parquet", "feather"):
        data = read(write(table, tmp_path / f"t.{suffix}"))
        assert data.X["zip"].to_pylist() == ["10", None, "10", "300", "9", "9"]


def test_cells_that_mean_missing_are_no_levels(tmp_path):
    text = "A,B,L1,L2\nx,NA,1,2\n?,?,2,1\n none ,,1,2\n  x ,null,2,1\n"
    path = tmp_path / "t.csv"
    path.write_text(text)
    data = read(path)
    assert data.X["A"].to_pylist() == ["x", None, "none", "x"]
    assert np.isnan(data.X["B"].to_numpy()).all()  # no cell at all: numbers, all missing
    data = read(path, missing="default,none", categories="B")
    assert data.X["A"].to_pylist() == ["x", None, None, "x"]
    assert data.X["B"].to_pylist() == [None] * 4
    path.write_text("A,L1,L2\n1,1,2\n-9,2,1\n-9.0,2,1\n")
    assert read(path, missing="-9", categories="A").X["A"].to_pylist() == ["1", None, "-9.0"]
    table = pd.read_csv(path)
    table.to_parquet(tmp_path / "t.parquet")
    data = read(tmp_path / "t.parquet", missing="-9", categories="A")
    assert data.X["A"].to_pylist() == ["1.0", None, None]


MIXED = {
    "a word among numbers": (
        ["1", "2", "tall", "4", "5"],
        {},
        "column 'A' must hold numbers; row 3 (line 4) holds 'tall'. Correct the cell, leave it "
        "empty where the value is missing, say which cells mean that with missing='default,tall' "
        "(--missing-values), or leave the column out with exclude= (--exclude).",
    ),
    "a number among words": (
        ["a", "b", "7", "c", "d"],
        {},
        "column 'A' must hold numbers, or categories none of which reads as a number; row 3 (line "
        "4) holds '7' (1 of 5 different cells are numbers)",
    ),
    "an infinity among words": (["a", "b", "inf", "c", "a"], {}, "row 3 (line 4) holds 'inf'"),
    "a decimal comma among words": (["a", "b", "1,5", "c", "a"], {}, "holds '1,5'"),
    "a column that is not there": (
        ["a"] * 5,
        {"categories": "AA"},
        "categories asks for 'AA', which no column is called or matches. Close to it: 'A'",
    ),
    "a label": (["a"] * 5, {"categories": "L1"}, "categories asks for 'L1'"),
}


@pytest.mark.parametrize("case", MIXED)
def test_text_mixed_with_numbers_is_refused_with_the_way_out(tmp_path, case):
    cells, told, message = MIXED[case]
    path = tmp_path / "t.csv"
    rows = "".join(f'"{cell}",1,2\n' for cell in cells)
    path.write_text("A,L1,L2\n" + rows)
    with pytest.raises(InputError) as caught:
        read(path, **told)
    assert message in str(caught.value), str(caught.value)
    if not told:
        assert "categories='A' (--categories)" in str(caught.value)
        data = read(path, categories="A")
        assert data.X["A"].to_pylist() == cells


def test_nominal_attributes_of_xarff_are_categories_with_their_declared_order(tmp_path):
    path = tmp_path / "t.xarff"
    path.write_text(
        "@attribute c {low,mid,'very high'}\n@attribute n {1,2,3}\n@attribute L RANKING {a,b}\n"
        "@data\n'very high',3,a>b\n?,1,b>a\nlow,1,a>b\n"
    )
    data = read(path)
    assert data.X["c"].to_pylist() == ["very high", None, "low"]
    assert data.X["c"].chunk(0).dictionary.to_pylist() == ["low", "mid", "very high"]
    assert data.X["n"].to_pylist() == [3, 1, 1]  # values that are numbers are numbers
    data = read(path, categories="n", exclude="c")
    assert data.X["n"].to_pylist() == ["3", "1", "1"]


def test_arrays_have_no_categories(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.ones((2, 1)), y=[[1, 2], [2, 1]])
    with pytest.raises(InputError, match="categories= has no meaning for .npz"):
        read(tmp_path / "t.npz", categories="A1")


def test_text_that_differs_in_every_row_is_warned_of(tmp_path):
    path = tmp_path / "t.csv"
    table = pd.concat([frame()] * 4)
    table["who"] = [f"person {letter}" for letter in "abcdefghijklmnopqrstuvwx"]
    table.to_csv(path, index=False)
    told = "column 'who' is read as a feature, a category that is another one in every row"
    with pytest.warns(UserWarning, match=f"{told}.*exclude='who'.*categories='who'") as caught:
        read(path)
    assert [warning.filename for warning in caught] == [__file__]
    assert read(path, exclude="who").feature_names == ("size", "color", "zip")
    assert len(read(path, categories="who").X["who"].unique()) == 24
    table["who"] = ["one person"] * 2 + table["who"].tolist()[2:]
    table.to_csv(path, index=False)
    assert len(read(path).X["who"].unique()) == 23
    few = frame().assign(town=list("abcdef"), key=list("abcdef"))  # towns differ by chance
    few.to_csv(path, index=False)
    with pytest.warns(UserWarning, match="column 'key' is read as a feature"):
        read(path)


class TestFrames:
    def test_keep_names_and_categories(self, tmp_path):
        path = write(frame(), tmp_path / "t.csv")
        data = read(path, as_frame=True)
        assert data.X.columns.tolist() == ["size", "color", "zip"]
        assert data.X.dtypes.astype(str).tolist() == ["float32", "category", "float32"]
        assert (
            data.X["color"].astype(object).where(data.X["color"].notna(), None).tolist() == COLORS
        )
        pd.testing.assert_frame_equal(data.y, frame()[["L1", "L2"]].astype(np.float32))
        scored = read(path, labels="L*", convention="scores", as_frame=True)
        pd.testing.assert_frame_equal(scored.scores, frame()[["L1", "L2"]].astype(float))
        assert read(path, as_frame=True, exclude="color").X.columns.tolist() == ["size", "zip"]

    def test_of_built_in_sets_are_their_arrays_with_names(self):
        for name in ("iris", "algorithms"):
            arrays, frames = load(name), load(name, as_frame=True)
            np.testing.assert_array_equal(frames.X, arrays.X)
            np.testing.assert_array_equal(frames.y, arrays.y)
            assert frames.X.columns.tolist() == list(arrays.feature_names)
            assert frames.y.columns.tolist() == list(arrays.labels)
            if arrays.scores is not None:
                assert frames.scores.columns.tolist() == list(arrays.labels)
            assert frames[2:7] == arrays[2:7]

    @pytest.mark.skipif(not KEBI.is_dir(), reason="the KEBI files are not beside the repository")
    def test_of_kebi_sets_are_their_arrays_with_names(self):
        arrays = fetch_kebi("iris", directory=KEBI)
        frames = fetch_kebi("iris", directory=KEBI, as_frame=True)
        np.testing.assert_array_equal(frames.X, arrays.X)
        assert (*frames.X.columns, *frames.y.columns) == (*arrays.feature_names, *arrays.labels)
