"""Tables written in one format and read in any: the same rows, whatever the pieces."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrrf_jax import InputError
from lrrf_jax._tabular import Rows
from lrrf_jax.datasets import read
from lrrf_jax.io._cells import Cells, level_codes
from lrrf_jax.io.inputs import cut_rows
from lrrf_jax.io.shards import Shard, as_shard
from lrrf_jax.io.table_writer import TableWriter
from lrrf_jax.io.tables import open_batches, row_count
from lrrf_jax.learners._coding import Levels
from tests.strategies import fewer, partial_rankings

finite = st.floats(width=32, allow_nan=False, allow_infinity=False)
some_files = fewer(2)
features = st.lists(st.tuples(finite, finite | st.just(np.nan)), min_size=1, max_size=9).map(
    lambda rows: np.array(rows, np.float32)
)


def write(path, X):
    columns = {"a": X[:, 0], "b": X[:, 1]}
    if path.suffix == ".npy":
        np.save(path, X)
    elif path.suffix == ".npz":
        np.savez(path, X=X, feature_names=["a", "b"])
    elif path.suffix == ".parquet":
        pa.parquet.write_table(pa.table(columns), path, row_group_size=2)
    elif path.suffix == ".arrow":
        with pa.ipc.new_file(path, pa.table(columns).schema) as writer:
            writer.write_table(pa.table(columns), max_chunksize=3)
    else:  # by Python's shortest text of the double, which is exact
        lines = [",".join("" if v != v else repr(float(v)) for v in row) for row in X]
        path.write_text("\n".join(["a,b", *lines, ""]))


@some_files
@given(X=features, size=st.integers(1, 10))
def test_every_format_hands_over_the_same_numbers_in_batches_of_any_size(tmp_path_factory, X, size):
    folder = tmp_path_factory.mktemp("formats")
    for suffix in (".csv", ".parquet", ".arrow", ".npy", ".npz"):
        path = folder / f"t{suffix}"
        write(path, X)
        names = None if suffix == ".npy" else ["a", "b"]
        blocks = [batch for batch, _ in open_batches(path, names, n_features=2, batch_rows=size)]
        np.testing.assert_array_equal(np.concatenate(blocks), X, err_msg=suffix)
        assert all(len(block) <= size for block in blocks)
        assert row_count(path) in (len(X), None)


@some_files
@given(rankings=partial_rankings(n_labels=(3,), n_samples=(3,)), X=features)
def test_training_tables_of_every_format_hold_the_same_rankings(tmp_path_factory, rankings, X):
    folder = tmp_path_factory.mktemp("tables")
    X = np.resize(X, (3, 2))
    rankings[0] = [2, 3, 1]  # a label that no row ranks is refused
    table = pa.table({"a": X[:, 0], "b": X[:, 1]} | {f"L{j + 1}": rankings[:, j] for j in range(3)})
    pa.parquet.write_table(table, folder / "t.parquet")
    pa.csv.write_csv(table, folder / "t.csv")
    np.savez(folder / "t.npz", X=X, y=rankings)
    np.save(folder / "t.npy", np.hstack([X, rankings]).astype(np.float64))
    for name in ("t.parquet", "t.csv", "t.npz", "t.npy"):
        data = read(folder / name, labels="last:3" if name == "t.npy" else None)
        np.testing.assert_array_equal(data.X, X, err_msg=name)
        np.testing.assert_array_equal(data.y, rankings, err_msg=name)


words = st.text("ab ,;|\t\n'\"äž€", max_size=5).map(str.strip)


@given(
    cells=st.lists(words | st.none(), min_size=1, max_size=6),
    delimiter=st.sampled_from(",;\t|"),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "cp1252", "utf-16"]),
    suffix=st.sampled_from(["csv", "tsv", "csv.gz"]),
)
def test_text_is_read_as_it_was_written_in_any_dialect(
    tmp_path_factory, cells, delimiter, encoding, suffix
):
    path = tmp_path_factory.mktemp("dialects") / f"t.{suffix}"
    frame = pd.DataFrame({"ä": cells, "L1": 1, "L2": 2})
    frame.to_csv(path, index=False, sep=delimiter, encoding=encoding)
    told = {"encoding": encoding} if encoding == "cp1252" else {}
    data = read(path, delimiter=delimiter, categories="ä", **told)
    assert data.X["ä"].to_pylist() == [cell or None for cell in cells]
    if suffix != "tsv":  # what is found is what was written
        assert read(path, categories="ä", **told).X.equals(data.X)


level_names = st.lists(
    st.text("ab1.0 ", min_size=1, max_size=4), min_size=1, max_size=5, unique=True
)


@given(
    names=level_names,
    cells=st.lists(st.text("ab1.0 ?", max_size=4) | st.none(), max_size=12),
    encoded=st.booleans(),
    cut=st.integers(0, 12),
)
def test_codes_of_cells_are_those_of_a_loop_over_them(names, cells, encoded, cut):
    def value(text):
        try:
            return float(text)
        except ValueError:
            return None

    def code(cell):
        if cell is None:
            return np.nan
        for text in (cell, cell.strip()):
            if text in names:
                return names.index(text)
        if cell.strip() in ("", "?"):
            return np.nan
        alike = [k for k, name in enumerate(names) if value(name) == value(cell) is not None]
        return alike[0] if len(alike) == 1 else -1

    column = pa.chunked_array([pa.array(part, pa.string()) for part in (cells[:cut], cells[cut:])])
    if encoded:
        column = pa.chunked_array([chunk.dictionary_encode() for chunk in column.chunks])
    cells_are = Cells(unseen="missing")
    got = level_codes(column, "k", Levels(tuple(names)), Rows("t"), cells_are)
    np.testing.assert_array_equal(got, np.float32([code(cell) for cell in cells]))
    if (got == -1).any():
        row = int(np.argmax(got == -1))
        with pytest.raises(InputError, match=f"row {row + 1}, column 'k'"):
            level_codes(column, "k", Levels(tuple(names)), Rows("t"), Cells())


ranks = st.lists(st.permutations([1, 2, 3]), min_size=1, max_size=9).map(
    lambda rows: np.array(rows, np.int32)
)


@some_files
@given(table=ranks, cuts=st.lists(st.integers(0, 9), max_size=3))
def test_rankings_are_read_back_as_written_from_any_pieces(tmp_path_factory, table, cuts):
    folder = tmp_path_factory.mktemp("pieces")
    stops = sorted({min(cut, len(table)) for cut in cuts} | {len(table)})
    for suffix in ("csv", "parquet", "npy"):
        path = folder / f"t.{suffix}"
        with TableWriter(path) as writer:
            start = 0
            for stop in stops:
                piece = table[start:stop]
                if suffix != "npy":
                    piece = pa.table({f"L{j + 1}": piece[:, j] for j in range(3)})
                writer.write(piece)
                start = stop
        if suffix == "npy":
            found = np.load(path)
        elif suffix == "parquet":
            found = np.column_stack(pa.parquet.read_table(path).columns)
        else:
            found = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
        np.testing.assert_array_equal(found, table, err_msg=suffix)


@given(st.lists(st.integers(0, 50), max_size=20), st.none() | st.integers(1, 60))
def test_parts_lie_behind_each_other_and_hold_every_row(blocks, part_rows):
    parts = cut_rows(blocks, part_rows)
    assert [start for start, _ in parts] == [0, *(stop for _, stop in parts)][: len(parts)]
    assert sum(stop - start for start, stop in parts) == sum(blocks)
    ends = {0, *np.cumsum(blocks).tolist()}
    for start, stop in parts:
        assert {start, stop} <= ends  # blocks stay whole
        inside = [
            rows
            for rows, end in zip(blocks, np.cumsum(blocks), strict=True)
            if start < end <= stop and rows
        ]
        assert part_rows is None or stop - start <= part_rows or len(inside) == 1


@given(st.integers(1, 9), st.integers(0, 20), st.integers(0, 50))
def test_every_part_is_for_one_shard(total, source, part):
    shards = [as_shard(f"{number}/{total}") for number in range(1, total + 1)]
    assert [shard.takes(source, part) for shard in shards].count(True) == 1
    assert as_shard((1, total)) == Shard(1, total)
