import csv
import os
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from lrrf_jax import ConsensusLabelRanker
from lrrf_jax._validation import InputError
from lrrf_jax.io import batch, memory
from lrrf_jax.io.batch import NothingDone, predict_files
from lrrf_jax.io.inputs import MemoryInput, cut_rows, list_inputs
from lrrf_jax.io.manifest import read_manifest
from lrrf_jax.io.output_file import OutputTaken
from lrrf_jax.io.shards import Shard, as_shard
from tests.io.streaming import (
    LABELS,
    OrderRanker,
    expected_ranks,
    features,
    read_parts,
    write_table,
)

N_ROWS = 103
TABLES = ["parquet", "csv", "csv.gz", "tsv", "arrow", "ipc", "feather"]


@pytest.fixture(autouse=True)
def no_threads_are_left():
    yield
    names = [thread.name for thread in threading.enumerate()]
    assert not [name for name in names if name.startswith("lrrf-")]


@pytest.fixture
def batches_of(monkeypatch):
    return lambda rows: monkeypatch.setattr(memory, "plan_batch_rows", lambda *_: rows)


def ranks_of(table):
    return np.column_stack([table[label].to_numpy() for label in LABELS])


def parts_in(directory):
    return sorted(set(os.listdir(directory)) - {"_lrrf"})


# ------------------------------------------------------------------------------ same as predict
@pytest.mark.parametrize(("part_rows", "batch_rows"), [(16, 7), (50, 16), (1000, 1000), (1000, 1)])
@pytest.mark.parametrize("suffix", [*TABLES, "npy", "npz"])
def test_parts_join_to_predict_of_the_whole_table(
    tmp_path, batches_of, suffix, part_rows, batch_rows
):
    batches_of(batch_rows)
    X = write_table(tmp_path / f"t.{suffix}", N_ROWS)
    keep = "id" if suffix in TABLES else ()
    ranker = OrderRanker()
    report = predict_files(
        ranker,
        tmp_path / f"t.{suffix}",
        tmp_path / "out",
        keep=keep,
        part_rows=part_rows,
        resume=True,
    )
    assert report.failed == ()
    assert report.rows == sum(part.rows for part in report.parts) == sum(ranker.calls) == N_ROWS
    assert [part.first_row for part in report.parts] == [
        0,
        *np.cumsum([part.rows for part in report.parts])[:-1],
    ]
    assert (len(report.parts) > 1) == (part_rows < N_ROWS)
    assert max(ranker.calls) <= batch_rows
    table = read_parts(report)
    np.testing.assert_array_equal(ranks_of(table), expected_ranks(X))
    assert table.schema.types[-3:] == [pa.int32()] * 3
    if keep:
        assert table["id"].cast(pa.int64()).to_pylist() == list(range(N_ROWS))


@pytest.mark.parametrize("format", ["csv", "npy", "parquet"])
def test_one_input_may_go_to_one_file_of_any_format(tmp_path, format):
    X = write_table(tmp_path / "t.parquet", N_ROWS)
    report = predict_files(OrderRanker(), [tmp_path / "t.parquet"], tmp_path / f"r.{format}")
    assert [part.rows for part in report.parts] == [N_ROWS]
    if format == "csv":
        with open(tmp_path / "r.csv", newline="") as file:
            ranks = np.array(list(csv.reader(file))[1:], np.int32)
    elif format == "npy":
        ranks = np.load(tmp_path / "r.npy")
    else:
        ranks = ranks_of(pa.parquet.read_table(tmp_path / "r.parquet"))
    np.testing.assert_array_equal(ranks, expected_ranks(X))
    assert sorted(os.listdir(tmp_path)) == sorted([f"r.{format}", "t.parquet"])


def test_kept_columns_of_typed_files_keep_type_and_value_in_every_part(tmp_path, batches_of):
    batches_of(3)
    n = 20
    kept = {
        "big": pa.array([2**53 + i for i in range(n)], pa.uint64()),
        "when": pa.array(range(n), pa.timestamp("us", "UTC")),
        "kind": pa.array([None, "a"] * (n // 2)).dictionary_encode(),
        "list": pa.array([[i, None] for i in range(n)], pa.list_(pa.int8())),
        "price": pa.array(range(n), pa.decimal128(9, 2)),
    }
    X = features(n)
    table = pa.table({**kept, **{f"A{j + 1}": X[:, j] for j in range(3)}})
    for name, write in (("t.parquet", pa.parquet.write_table), ("u.arrow", write_arrow)):
        write(table, tmp_path / name)
        report = predict_files(
            OrderRanker(),
            tmp_path / name,
            tmp_path / f"{name}-ranks",
            keep=list(kept),
            part_rows=8,
            resume=True,
        )
        out = read_parts(report)
        for column, values in kept.items():
            assert out[column].to_pylist() == values.to_pylist()
            if column != "kind" or name == "u.arrow":
                assert out[column].type == values.type


def write_arrow(table, path):
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=8)


def test_tables_in_memory_are_ranked_beside_files(tmp_path):
    X = features(9)
    write_table(tmp_path / "t.csv", 5)
    inputs = [MemoryInput("builtin:toy", X), tmp_path / "t.csv"]
    report = predict_files(OrderRanker(), inputs, tmp_path / "out")
    assert [os.path.basename(part.output) for part in report.parts] == ["toy.parquet", "t.parquet"]
    np.testing.assert_array_equal(ranks_of(read_parts(report.parts[:1])), expected_ranks(X))


# ------------------------------------------------------------------------------ inputs and plan
def test_directories_and_globs_stand_for_their_tables_in_order(tmp_path):
    days = tmp_path / "days"
    (days / "deeper").mkdir(parents=True)
    for name in ("b.csv", "a.parquet", "deeper/c.csv"):
        write_table(days / name, 4)
    for name in (".hidden.csv", "_meta.csv", "notes.txt", "a.parquet.tmp"):
        (days / name).write_text("x")
    found = [str(days / "a.parquet"), str(days / "b.csv")]
    assert list_inputs(str(days)) == (found, True)
    assert list_inputs([f"{days}/[ab].*"]) == (found, True)
    assert list_inputs(f"{days}/**/*.csv")[0] == [str(days / "b.csv"), str(days / "deeper/c.csv")]
    assert list_inputs([tmp_path / "none.csv"]) == ([str(tmp_path / "none.csv")], False)
    report = predict_files(OrderRanker(), days, tmp_path / "out")
    assert parts_in(tmp_path / "out") == ["a.parquet", "b.parquet"]
    assert report.rows == 8


def test_a_file_whose_name_looks_like_a_glob_is_that_file(tmp_path):
    write_table(tmp_path / "t[1].csv", 4)
    assert list_inputs(str(tmp_path / "t[1].csv")) == ([str(tmp_path / "t[1].csv")], False)


@pytest.mark.parametrize("pattern", ["empty", "*.xls"])
def test_an_input_that_stands_for_nothing_is_refused(tmp_path, pattern):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="there is no table in it, or none that matches"):
        list_inputs(str(tmp_path / pattern))


def test_blocks_join_to_parts_that_cover_every_row_once():
    rng = np.random.default_rng(0)
    for _ in range(200):
        blocks = rng.integers(0, 9, rng.integers(0, 12)).tolist()
        size = int(rng.integers(1, 20))
        ranges = cut_rows(blocks, size)
        rows = [row for start, stop in ranges for row in range(start, stop)]
        assert rows == list(range(sum(blocks)))
        edges = set(np.cumsum([0, *blocks]).tolist())
        assert all({start, stop} <= edges for start, stop in ranges)
        assert all(stop - start <= max(size, *blocks) for start, stop in ranges)


def test_row_groups_are_not_cut_so_that_no_part_reads_rows_of_another(tmp_path):
    write_table(tmp_path / "t.parquet", 100, rows_a_block=16)
    report = predict_files(
        OrderRanker(), tmp_path / "t.parquet", tmp_path / "out", part_rows=40, resume=True
    )
    assert [part.rows for part in report.parts] == [32, 32, 36]


# ------------------------------------------------------------------------------ shards
@pytest.mark.parametrize("n_shards", [1, 2, 3, 7])
def test_shards_take_every_part_exactly_once(tmp_path, n_shards):
    inputs = []
    for i, suffix in enumerate(("parquet", "csv", "arrow", "npy", "ipc")):
        write_table(tmp_path / f"t{i}.{suffix}", 50 + i, seed=i)
        inputs.append(tmp_path / f"t{i}.{suffix}")
    out = tmp_path / "out"
    seen = []
    for i in range(1, n_shards + 1):
        shard = (i, n_shards)
        report = predict_files(OrderRanker(), inputs, out, part_rows=16, shard=shard)
        seen += [part.output for part in report.parts]
        assert read_manifest(out).complete == (i == n_shards)
    assert len(seen) == len(set(seen)) == len(parts_in(out))
    manifest = read_manifest(out)
    assert manifest.rows == sum(range(50, 55))
    for i, path in enumerate(inputs):
        parts = [part for part in manifest.parts if part.input == str(path)]
        table = read_parts([out / part.output for part in parts])
        np.testing.assert_array_equal(ranks_of(table), expected_ranks(features(50 + i, i)))
    ranker = OrderRanker()
    report = predict_files(ranker, inputs, out, part_rows=16, resume=True)
    assert ranker.calls == []
    assert report.rows == manifest.rows


def test_a_whole_run_finds_what_shards_left_undone(tmp_path):
    write_table(tmp_path / "t.parquet", 100, rows_a_block=10)
    arguments = (tmp_path / "t.parquet", tmp_path / "out")
    first = predict_files(OrderRanker(), *arguments, part_rows=10, shard="2/3")
    rest = OrderRanker()
    report = predict_files(rest, *arguments, part_rows=10, resume=True)
    assert sum(rest.calls) == 100 - first.rows > 0
    assert sum(part.resumed for part in report.parts) == len(first.parts)
    table = read_parts(report)
    np.testing.assert_array_equal(ranks_of(table), expected_ranks(features(100)))


@pytest.mark.parametrize(
    "text", ["0/4", "5/4", "1", "a/b", "1/0", "1/2/3", "-1/2", (0, 2), 3, (1.5, 2)]
)
def test_a_shard_that_is_none_is_refused(text):
    with pytest.raises(InputError, match="1 <= i <= n"):
        as_shard(text)


@pytest.mark.parametrize("n", [1, 2, 5, 64])
def test_each_part_of_each_input_has_one_shard_and_shares_are_alike(n):
    shards = [Shard(i, n) for i in range(1, n + 1)]
    takers = np.array(
        [[[s.takes(source, part) for s in shards] for part in range(130)] for source in range(9)]
    )
    np.testing.assert_array_equal(takers.sum(axis=2), 1)
    shares = takers.sum(axis=(0, 1))
    assert shares.max() - shares.min() <= 9


# ------------------------------------------------------------------------------ bad inputs
def flip(content, at):
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def column_byte(path, group):
    """Return where the data of the first feature of a row group is."""
    chunk = pa.parquet.read_metadata(path).row_group(group).column(1)
    return chunk.data_page_offset + chunk.total_compressed_size // 2


DAMAGES = {
    "no footer": (lambda path: path.read_bytes()[:-20], "cannot be read as .parquet"),
    "cut short": (lambda path: path.read_bytes()[: path.stat().st_size // 2], "cannot be read"),
    "empty": (lambda path: b"", "the file is empty"),
    "text": (lambda path: b"id,A1\n1,2\n", "cannot be read as .parquet"),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_a_damaged_file_is_reported_and_the_others_are_finished(tmp_path, case):
    change, fragment = DAMAGES[case]
    paths = [tmp_path / f"{name}.parquet" for name in "abc"]
    for path in paths:
        write_table(path, 50)
    paths[1].write_bytes(change(paths[1]))
    told = []
    report = predict_files(OrderRanker(), paths, tmp_path / "out", on_failure=told.append)
    assert parts_in(tmp_path / "out") == ["a.parquet", "c.parquet"]
    assert [part.input for part in report.parts] == [str(paths[0]), str(paths[2])]
    (failure,) = report.failed
    assert told == [failure]
    assert failure.input == str(paths[1])
    assert failure.reason.startswith(f"{paths[1]}: ")
    assert fragment in failure.reason
    (noted,) = read_manifest(tmp_path / "out").failed
    assert noted.reason == failure.reason


def test_a_flipped_byte_costs_its_part_only(tmp_path):
    path = tmp_path / "t.parquet"
    write_table(path, 100, rows_a_block=20)
    path.write_bytes(flip(path.read_bytes(), column_byte(path, 3)))
    report = predict_files(OrderRanker(), path, tmp_path / "out", part_rows=20, resume=True)
    assert [part.first_row for part in report.parts] == [0, 20, 40, 80]
    (failure,) = report.failed
    assert (failure.part, "CRC" in failure.reason or "checksum" in failure.reason) == (3, True)
    assert "t-00003.parquet" not in parts_in(tmp_path / "out")
    assert not read_manifest(tmp_path / "out").complete


def test_every_flipped_byte_of_the_data_is_caught(tmp_path):
    path = tmp_path / "t.parquet"
    write_table(path, 20)
    content = path.read_bytes()
    metadata = pa.parquet.read_metadata(path)
    chunks = [metadata.row_group(g).column(j) for g in range(2) for j in range(1, 4)]
    caught = 0
    for k, chunk in enumerate(chunks):  # the last byte of a chunk is data, not a page header
        path.write_bytes(flip(content, chunk_end(chunk) - 1))
        with pytest.raises(NothingDone):
            predict_files(OrderRanker(), path, tmp_path / f"r{k}.csv")
        caught += 1
    assert caught == 6
    assert sorted(os.listdir(tmp_path)) == ["t.parquet"]


def chunk_end(chunk):
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    return start + chunk.total_compressed_size


def test_a_bad_cell_in_a_text_file_leaves_the_parts_before_it(tmp_path, batches_of):
    batches_of(10)
    path = tmp_path / "t.csv"
    write_table(path, 50)
    lines = path.read_text().splitlines()
    lines[38] = "37,1,x,2,note"
    path.write_text("\n".join(lines))
    report = predict_files(OrderRanker(), path, tmp_path / "out", part_rows=10, resume=True)
    assert parts_in(tmp_path / "out") == [f"t-{i:05d}.parquet" for i in range(3)]
    (failure,) = report.failed
    assert failure.part == 3
    assert "row 38 (line 39) holds 'x'" in failure.reason


def test_a_mended_input_is_computed_anew_and_others_are_kept(tmp_path):
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path in paths:
        write_table(path, 60, rows_a_block=20)
    good = paths[1].read_bytes()
    paths[1].write_bytes(flip(good, column_byte(paths[1], 2)))
    arguments = {"part_rows": 20, "resume": True}
    assert len(predict_files(OrderRanker(), paths, tmp_path / "out", **arguments).failed) == 1
    write_table(paths[1], 40, seed=5, rows_a_block=20)
    ranker = OrderRanker()
    report = predict_files(ranker, paths, tmp_path / "out", **arguments)
    assert report.failed == ()
    assert ranker.calls == [20, 20]
    table = read_parts([part for part in report.parts if part.input == str(paths[1])])
    np.testing.assert_array_equal(ranks_of(table), expected_ranks(features(40, 5)))
    manifest = read_manifest(tmp_path / "out")
    assert manifest.complete
    assert manifest.failed == ()
    assert manifest.rows == 100


def test_where_nothing_can_be_done_nothing_is_left(tmp_path):
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path in paths:
        path.write_text("A1,A2\n1,2\n")
    with pytest.raises(NothingDone, match="are not there: 'A3'.*2 of 2 failed") as caught:
        predict_files(OrderRanker(), paths, tmp_path / "out")
    assert [part.input for part in caught.value.failed] == [str(path) for path in paths]
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "b.csv"]


def test_an_input_that_grows_while_it_is_read_fails(tmp_path):
    path = tmp_path / "t.csv"
    write_table(path, 50)

    class Appending(OrderRanker):
        def predict(self, X):
            with open(path, "a") as file:
                file.write("1,2,3,4,x\n")
            return super().predict(X)

    write_table(tmp_path / "u.csv", 5)
    inputs = [path, tmp_path / "u.csv"]
    report = predict_files(Appending(), inputs, tmp_path / "out", memory_budget=1 << 40)
    # The reader may be through before the first batch is predicted; then nothing is wrong.
    assert len(report.failed) + len(report.parts) == 2
    assert all("was changed while it was read" in part.reason for part in report.failed)


@pytest.mark.parametrize("error", [RuntimeError("INTERNAL"), ValueError("x")])
def test_a_part_that_cannot_be_predicted_fails_alone(tmp_path, batches_of, error):
    batches_of(5)
    X = write_table(tmp_path / "t.parquet", 60, rows_a_block=20)

    class Failing(OrderRanker):
        def predict(self, X):
            if len(self.calls) == 5:  # the second batch of the second part
                self.calls.append(0)
                raise error
            return super().predict(X)

    ranker = Failing()
    report = predict_files(
        ranker, tmp_path / "t.parquet", tmp_path / "out", part_rows=20, resume=True
    )
    assert ranker.calls == [5, 5, 5, 5, 5, 0, 5, 5, 5, 5]
    assert [part.first_row for part in report.parts] == [0, 40]
    assert [part.part for part in report.failed] == [1]
    assert f"unexpected {type(error).__name__}" in report.failed[0].reason
    ranks = ranks_of(read_parts(report))
    np.testing.assert_array_equal(ranks, expected_ranks(np.concatenate([X[:20], X[40:]])))


@pytest.mark.parametrize("error", [RuntimeError("RESOURCE_EXHAUSTED: 1 GiB"), MemoryError()])
@pytest.mark.parametrize("most", [2048, 1024])
def test_batches_are_cut_where_memory_does_not_suffice(tmp_path, error, most):
    calls = []

    class Small(ConsensusLabelRanker):
        def _ranks(self, features):
            if len(features) > most:
                raise error
            calls.append(len(features))
            return super()._ranks(features)

    X = write_table(tmp_path / "t.npy", 10_000)
    ranker = Small().fit(X, expected_ranks(X))
    if most == 1024:  # no less than a tile is tried
        with pytest.raises(type(error)):
            ranker.predict_file(tmp_path / "t.npy", tmp_path / "r.npy")
        assert calls == []
        return
    ranker.predict_file(tmp_path / "t.npy", tmp_path / "r.npy")
    assert calls == [2048] * 5
    np.testing.assert_array_equal(np.load(tmp_path / "r.npy"), ranker.predict(X))


# ------------------------------------------------------------------------------ what is in the way
def test_output_that_is_there_is_kept_unless_it_may_be_replaced(tmp_path):
    write_table(tmp_path / "t.csv", 5)
    out = tmp_path / "out"
    out.mkdir()
    for name in ("t.parquet", "t-00004.parquet"):
        (out / name).write_text("mine")
        with pytest.raises(OutputTaken, match=f"{name} is there already"):
            predict_files(OrderRanker(), tmp_path / "t.csv", out)
        assert os.listdir(out) == [name]
        os.remove(out / name)
    (out / "other.parquet").write_text("mine")
    (out / "t.parquet").write_text("mine")
    predict_files(OrderRanker(), tmp_path / "t.csv", out, overwrite=True)
    assert len(read_parts([out / "t.parquet"])) == 5
    assert (out / "other.parquet").read_text() == "mine"


def test_overwrite_leaves_no_part_of_the_run_before(tmp_path):
    write_table(tmp_path / "t.parquet", 100, rows_a_block=10)
    out = tmp_path / "out"
    predict_files(OrderRanker(), [tmp_path / "t.parquet"], f"{out}/", part_rows=10)
    assert len(parts_in(out)) == 10
    with pytest.raises(OutputTaken, match="holds a run already"):
        predict_files(OrderRanker(), tmp_path / "t.parquet", out, part_rows=50)
    predict_files(OrderRanker(), tmp_path / "t.parquet", out, part_rows=50, overwrite=True)
    assert parts_in(out) == ["t-00000.parquet", "t-00001.parquet"]
    assert read_manifest(out).complete


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        ({"resume": True, "overwrite": True}, "Choose one"),
        ({"shard": "1/2", "overwrite": True}, "does not go with shard"),
        ({"memory_budget": 1.5}, "must be a number of bytes"),
        ({"part_rows": 0}, "part_rows at least 1"),
        ({"format": "xlsx"}, "must be one of csv, parquet, npy"),
        ({"shard": "3/2"}, "1 <= i <= n"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(tmp_path, arguments, fragment):
    write_table(tmp_path / "t.csv", 5)
    with pytest.raises(InputError, match=fragment):
        predict_files(OrderRanker(), tmp_path / "t.csv", f"{tmp_path}/out/", **arguments)
    assert os.listdir(tmp_path) == ["t.csv"]


def test_numbered_names_that_would_clash_are_refused(tmp_path):
    for name in ("t.csv", "t-00001.csv"):
        write_table(tmp_path / name, 5)
    with pytest.raises(OutputTaken, match="would both be written"):
        predict_files(OrderRanker(), tmp_path, tmp_path / "out")


def test_the_directory_of_the_inputs_may_not_be_written_over(tmp_path):
    write_table(tmp_path / "t.parquet", 5)
    before = (tmp_path / "t.parquet").read_bytes()
    with pytest.raises(OutputTaken, match="is an input"):
        predict_files(OrderRanker(), [tmp_path / "t.parquet"], f"{tmp_path}/", overwrite=True)
    assert (tmp_path / "t.parquet").read_bytes() == before


# ------------------------------------------------------------------------------ memory
def test_batches_shrink_with_the_budget_and_with_the_width():
    narrow, wide = memory.Width(24, 0, 0), memory.Width(2400, 0, 0)
    budgets = [None, *(memory.ALLOWANCE + (size << 20) for size in (512, 64, 8, 2))]

    def rows(width, n_features, total):
        return memory.plan_batch_rows("t", width, n_features, 3, memory.Budget(total, 0))

    planned = [rows(narrow, 3, total) for total in budgets]
    assert planned == sorted(planned, reverse=True)
    assert planned[0] == memory.MOST_ROWS
    assert planned[-1] >= memory.FEWEST_ROWS
    assert all(rows(wide, 300, total) < rows(narrow, 3, total) for total in budgets[1:3])


def test_a_budget_that_is_too_small_is_refused_with_what_is_needed(tmp_path):
    write_table(tmp_path / "t.parquet", 5)
    with pytest.raises(NothingDone, match=r"must be [\d,]+ MiB at least .* it is 64 MiB"):
        predict_files(
            OrderRanker(), tmp_path / "t.parquet", tmp_path / "r.csv", memory_budget=64 << 20
        )


def test_long_texts_make_batches_small(tmp_path):
    table = pa.table({"id": ["x" * 20_000] * 3000, "A1": [1.0] * 3000})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    with open(tmp_path / "t.csv", "w") as file:
        file.writelines(["id,A1\n", *(f"{'x' * 20_000},1\n" for _ in range(3000))])
    for name in ("t.parquet", "t.csv"):
        width = memory.table_width(str(tmp_path / name), ["A1"], ["id"])
        assert 20_000 <= width.kept <= 40_000


def test_the_ranker_gets_the_batches_that_the_budget_allows(tmp_path):
    write_table(tmp_path / "t.parquet", 40_000, rows_a_block=40_000)
    ranker = OrderRanker()
    budget = memory.resident_bytes() + memory.ALLOWANCE + (12 << 20)
    predict_files(ranker, tmp_path / "t.parquet", tmp_path / "r.csv", memory_budget=budget)
    assert memory.FEWEST_ROWS <= max(ranker.calls) < 40_000
    assert sum(ranker.calls) == 40_000


def test_a_model_is_known_by_what_it_predicts_with():
    assert batch.model_checksum(OrderRanker(1.0)) == batch.model_checksum(OrderRanker(1.0))
    other = OrderRanker(1.0)
    other.labels_ = np.array(["x", "z", "y"])
    assert len({batch.model_checksum(r) for r in (OrderRanker(1.0), OrderRanker(2.0), other)}) == 3
