"""Kept columns of every type come back from every format, or are refused before the run."""

import datetime
import decimal
import os
import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from lrrf_jax import LEARNERS
from lrrf_jax._validation import InputError
from lrrf_jax.io import predict_arrow

DAY = datetime.datetime(2020, 1, 2, 3, 4, 5)
D = decimal.Decimal


def dictionary(values, index):
    return pa.DictionaryArray.from_arrays(pa.array([0, None, 1], index), values)


def nested(type_):
    return pa.array([[1], None, [2]], type_)


TEXT = pa.array(["a", None, "b"])
BYTES = pa.array([b"a", None, b"\xff"])
UUIDS = pa.array([uuid.uuid4().bytes] * 3, pa.binary(16))
# name: values, and the formats that hold them
TYPES = {
    "string": (TEXT, "csv parquet"),
    "large_string": (TEXT.cast(pa.large_string()), "csv parquet"),
    "string_view": (pa.array(["a", None, "b"], pa.string_view()), "csv parquet"),
    "category": (TEXT.dictionary_encode(), "csv parquet"),
    "category of views": (
        dictionary(pa.array(["a", "b"], pa.string_view()), pa.uint32()),
        "csv parquet",
    ),
    "category of numbers": (dictionary(pa.array([3, 4]), pa.int8()), "csv parquet"),
    "runs": (
        pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3], pa.int32()), TEXT),
        "csv parquet",
    ),
    "null": (pa.nulls(3), "csv parquet"),
    "bool": (pa.array([True, None, False]), "csv parquet"),
    "int8": (pa.array([1, 2, -3], pa.int8()), "csv parquet npy"),
    "uint64": (pa.array([1, 2, 3], pa.uint64()), "csv parquet npy"),
    "int64": (pa.array([1, 2, 2**62]), "csv parquet npy"),
    "half": (pa.array([np.float16(1.5), None, np.float16(2)], pa.float16()), "csv parquet npy"),
    "float": (pa.array([1.5, None, 2.0]), "csv parquet npy"),
    "decimal": (pa.array([D("1.50"), None, D("2.25")]), "csv parquet"),
    "decimal256": (pa.array([D("1.5"), None, D("2.5")], pa.decimal256(40, 1)), "csv parquet"),
    "date": (pa.array([DAY.date(), None, DAY.date()]), "csv parquet"),
    "time": (pa.array([DAY.time(), None, DAY.time()]), "csv parquet"),
    "timestamp": (pa.array([DAY, None, DAY], pa.timestamp("ns")), "csv parquet"),
    "timestamp s": (pa.array([DAY, None, DAY], pa.timestamp("s")), "csv parquet"),
    "zone": (pa.array([DAY, None, DAY], pa.timestamp("us", "Europe/Berlin")), "csv parquet"),
    "duration": (pa.array([1, None, 2], pa.duration("s")), "parquet"),
    "binary": (BYTES, "parquet"),
    "binary_view": (pa.array([b"a", None, b"\xff"], pa.binary_view()), "parquet"),
    "fixed binary": (pa.array([b"ab", None, b"\xffd"], pa.binary(2)), "parquet"),
    "list": (nested(pa.list_(pa.int64())), "parquet"),
    "large list": (nested(pa.large_list(pa.int64())), "parquet"),
    "fixed list": (pa.array([[1], [3], [2]], pa.list_(pa.int64(), 1)), "parquet"),
    "struct": (pa.array([{"a": 1}, None, {"a": 2}]), "parquet"),
    "map": (pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())), "parquet"),
    "interval": (pa.array([pa.MonthDayNano([1, 2, 3]), None, None]), ""),
    "union": (pa.UnionArray.from_sparse(pa.array([0, 0, 0], pa.int8()), [pa.array([1, 2, 3])]), ""),
}
if hasattr(pa, "uuid"):  # since pyarrow 18
    TYPES["uuid"] = pa.ExtensionArray.from_storage(pa.uuid(), UUIDS), "parquet"
FORMATS = ("csv", "parquet", "npy")


def consensus():
    return LEARNERS["default"]().fit([[0.0]], [[1, 2]], feature_names=["u"], labels=["a", "b"])


def stored(table, tmp_path, name="t.arrow"):
    path = tmp_path / name
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)
    return path


def read_back(path):
    """The kept column: values as Python objects, or the texts of a CSV file, empty as None."""
    if path.suffix == ".parquet":
        return pyarrow.parquet.read_table(path)["kept"].to_pylist()
    if path.suffix == ".npy":
        return [None if np.isnan(value) else value for value in np.load(path)[:, 0].tolist()]
    texts = pd.read_csv(path, dtype=str, keep_default_na=False)["kept"].tolist()
    return [None if text == "" else text for text in texts]


def as_text(value):
    """What a CSV file says for a value: read by pandas, it is the value again."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime.datetime):
        return pd.Timestamp(value)
    return str(value)


@pytest.mark.filterwarnings("ignore:.*nanosecond:UserWarning")
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("kind", TYPES)
def test_a_kept_column_comes_back_or_is_refused_before_the_run(tmp_path, kind, format):
    values, holders = TYPES[kind]
    table = pa.table({"kept": values, "u": [1.0, 2.0, 3.0]})
    path, output = stored(table, tmp_path), tmp_path / f"ranks.{format}"
    if format not in holders.split():
        with pytest.raises(InputError, match=rf"t.arrow: column 'kept' holds .*, and {format} fil"):
            consensus().predict_file(path, output, keep="kept")
        with pytest.raises(InputError, match="column 'kept'"):
            consensus().predict_file([path], f"{tmp_path}/r/", keep="k*", format=format)
        assert os.listdir(tmp_path) == ["t.arrow"]
        return
    consensus().predict_file(path, output, keep="kept")
    expected = table["kept"].to_pylist()
    got = read_back(output)
    if format == "csv":
        expected = [None if value is None else as_text(value) for value in expected]
        if isinstance(expected[0], pd.Timestamp):
            got = [None if text is None else pd.Timestamp(text) for text in got]
        elif pa.types.is_floating(values.type):
            got = [None if text is None else str(float(text)) for text in got]
        elif kind == "time":
            got = [None if text is None else text.removesuffix(".000000") for text in got]
    assert got == expected
    batch = predict_arrow(consensus(), table.combine_chunks().to_batches()[0], keep="kept")
    assert batch.column("kept").to_pylist() == table["kept"].to_pylist()


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("suffix", ["arrow", "parquet"])
def test_text_and_categories_of_polars_are_kept(tmp_path, suffix, format):
    frame = pl.DataFrame(
        {
            "c": pl.Series(["x", None, "y"], dtype=pl.Categorical),
            "e": pl.Series(["lo", "hi", None], dtype=pl.Enum(["lo", "hi"])),
            "s": ["p", None, "q"],
            "u": [1.0, 2.0, 3.0],
        }
    )
    path = tmp_path / f"t.{suffix}"
    frame.write_ipc(path) if suffix == "arrow" else frame.write_parquet(path)
    consensus().predict_file(path, tmp_path / f"r.{format}", keep=["c", "e", "s"])
    reader = pl.read_csv if format == "csv" else pl.read_parquet
    got = reader(tmp_path / f"r.{format}").select("c", "e", "s").cast(pl.String)
    assert got.to_dict(as_series=False) == frame.select("c", "e", "s").cast(pl.String).to_dict(
        as_series=False
    )


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_categories_that_differ_from_batch_to_batch_keep_their_values(tmp_path, format):
    batches = [
        pa.record_batch({"kept": pa.array(texts).dictionary_encode(), "u": [1.0, 2.0]})
        for texts in (["a", "b"], ["c", "a"], ["b", "d"])
    ]
    path = tmp_path / "t.arrow"
    with pa.ipc.new_stream(path, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    consensus().predict_file(path, tmp_path / f"r.{format}", keep="kept")
    assert read_back(tmp_path / f"r.{format}") == ["a", "b", "c", "a", "b", "d"]


def test_text_is_no_number_for_npy_and_is_refused_before_the_run(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,u\nx,1\n")
    with pytest.raises(InputError, match=r"'id' holds string, and npy .* Write .parquet or .csv"):
        consensus().predict_file(path, tmp_path / "r.npy", keep="id")
    assert os.listdir(tmp_path) == ["t.csv"]


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"k": [1, None]}, "1 empty cells, which npy files cannot tell apart"),
        ({"k": [2**53 + 1, 1], "f": [0.5, 1.0]}, "whole numbers beyond what float64 holds"),
    ],
)
def test_numbers_that_an_npy_file_would_alter_are_refused(tmp_path, columns, reason):
    path = stored(pa.table({**columns, "u": [1.0, 2.0]}), tmp_path)
    with pytest.raises(InputError, match=f"column 'k' holds .*{reason}"):
        consensus().predict_file(path, tmp_path / "r.npy", keep=list(columns))
    assert os.listdir(tmp_path) == ["t.arrow"]
