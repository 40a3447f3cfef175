import errno
import json
import multiprocessing
import os
import random
import resource
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pyarrow.parquet
import pytest

from lrrf_jax._validation import InputError
from lrrf_jax.io import batch, manifest, table_writer
from lrrf_jax.io.batch import predict_files
from lrrf_jax.io.manifest import Journal, PartRecord, read_manifest
from lrrf_jax.io.output_file import OutputTaken
from tests.io.streaming import LABELS, OrderRanker, expected_ranks, features, write_table

N_ROWS, PART = 100, 10


@pytest.fixture
def source(tmp_path):
    write_table(tmp_path / "t.parquet", N_ROWS, rows_a_block=PART)
    return tmp_path / "t.parquet"


def run(source, out, ranker=None, **arguments):
    return predict_files(
        ranker or OrderRanker(), source, out, keep="id", part_rows=PART, resume=True, **arguments
    )


def parts_in(directory):
    return sorted(set(os.listdir(directory)) - {"_lrrf"})


def identities(directory):
    """Return what changes when a part is written again."""
    found = {}
    for name in parts_in(directory):
        status = os.stat(directory / name)
        found[name] = (status.st_ino, status.st_mtime_ns, status.st_size)
    return found


def assert_whole(out, n_rows=N_ROWS, seed=0):
    """Every id once and in order, ranks right, manifest complete, nothing unfinished about."""
    state = read_manifest(out)
    assert state.complete
    assert parts_in(out) == sorted(part.output for part in state.parts)
    tables = [pyarrow.parquet.read_table(out / part.output) for part in state.parts]
    ids = np.concatenate([table["id"].to_numpy().astype(int) for table in tables])
    np.testing.assert_array_equal(ids, np.arange(n_rows))
    ranks = np.concatenate([np.column_stack([table[x] for x in LABELS]) for table in tables])
    np.testing.assert_array_equal(ranks, expected_ranks(features(n_rows, seed)))
    assert os.listdir(out / "_lrrf" / "1-of-1.tmp") == []


# ------------------------------------------------------------------------------ stops at each step
class Stopped(BaseException):
    """What no handler of the library catches."""


def only_close(writer):
    """What a kill does to a writer: the unfinished file stays."""
    if writer._sink is not None:
        writer._sink.abandon()
    writer._file.close()


STEPS = {
    "while a part is predicted": (OrderRanker, "predict"),
    "while rows are written": (table_writer.TableWriter, "write"),
    "before a part is whole": (table_writer.TableWriter, "finish"),
    "before a part is listed": (Journal, "append"),
    "before a part has its name": (table_writer.TableWriter, "place"),
    "before the directory is on disk": (table_writer, "sync_directory"),
}


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", STEPS)
def test_a_run_that_stops_anywhere_is_finished_by_the_next(
    source, tmp_path, monkeypatch, step, after
):
    owner, name = STEPS[step]
    whole, count = getattr(owner, name), 0

    def stopping(*arguments, **named):
        nonlocal count
        count += 1
        if count == 6 and not after:
            raise Stopped
        result = whole(*arguments, **named)
        if count == 6:
            raise Stopped
        return result

    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, stopping)
        patch.setattr(table_writer.TableWriter, "abort", only_close)
        with pytest.raises(Stopped):
            run(source, out)
    before = identities(out)
    assert 2 <= len(before) <= 7
    for part in before:
        assert pyarrow.parquet.read_table(out / part).num_rows == PART
    ranker = OrderRanker()
    report = run(source, out, ranker)
    assert_whole(out)
    assert before.items() <= identities(out).items()
    listed = sum(part.resumed for part in report.parts)
    assert sum(ranker.calls) == N_ROWS - listed * PART
    assert listed >= len(before)
    again = OrderRanker()
    run(source, out, again)
    assert again.calls == []


def test_a_part_that_is_listed_and_not_yet_named_is_not_computed_again(
    source, tmp_path, monkeypatch
):
    whole, count = table_writer.TableWriter.place, 0

    def stopping(self, path=None):
        nonlocal count
        count += 1
        if count == 3:
            raise Stopped
        whole(self, path)

    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(table_writer.TableWriter, "place", stopping)
        patch.setattr(table_writer.TableWriter, "abort", only_close)
        with pytest.raises(Stopped):
            run(source, out)
    assert len(parts_in(out)) == 2
    ranker = OrderRanker()
    run(source, out, ranker)
    assert sum(ranker.calls) == N_ROWS - 3 * PART
    assert_whole(out)


@pytest.mark.parametrize("cut", [1, 30])
def test_a_line_that_a_crash_cut_off_costs_one_part(source, tmp_path, cut):
    out = tmp_path / "out"
    run(source, out)
    journal = out / "_lrrf" / "1-of-1.jsonl"
    journal.write_bytes(journal.read_bytes()[:-cut])
    last = parts_in(out)[-1]
    os.remove(out / last)  # of a part that is not listed there is none
    ranker = OrderRanker()
    run(source, out, ranker)
    assert ranker.calls == [PART]
    assert_whole(out)


def test_the_journal_grows_by_a_line_a_part(source, tmp_path):
    out = tmp_path / "out"
    run(source, out)
    lines = (out / "_lrrf" / "1-of-1.jsonl").read_text().splitlines()
    assert len(lines) == N_ROWS // PART
    assert all(len(line) < 600 for line in lines)


def test_a_damaged_journal_is_refused_and_not_guessed_at(source, tmp_path):
    out = tmp_path / "out"
    run(source, out)
    journal = out / "_lrrf" / "1-of-1.jsonl"
    lines = journal.read_text().splitlines()
    lines[3] = lines[3][:-9]
    journal.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=r"1-of-1.jsonl: is damaged \(line 4: .*--overwrite"):
        run(source, out)
    with pytest.raises(InputError, match="is damaged"):
        read_manifest(out)
    (out / "_lrrf" / "plan.json").write_text("{")
    with pytest.raises(InputError, match="plan.json: is damaged"):
        run(source, out)


def test_the_manifest_says_what_is_needed_to_check_a_part(source, tmp_path):
    import hashlib

    out = tmp_path / "out"
    run(source, out)
    state = read_manifest(out)
    assert state.plan["inputs"] == [str(source)]
    assert state.rows == N_ROWS
    for number, part in enumerate(state.parts):
        content = (out / part.output).read_bytes()
        assert hashlib.sha256(content).hexdigest() == part.sha256
        assert (part.part, part.first_row, part.rows) == (number, number * PART, PART)
        assert part.bytes == len(content)
        assert part.fingerprint[0] == source.stat().st_size
        assert part.last == (number == 9)


def test_a_directory_without_a_run_has_no_manifest(tmp_path):
    with pytest.raises(InputError, match="holds no run"):
        read_manifest(tmp_path)


# ------------------------------------------------------------------------------ what has changed
@pytest.mark.parametrize("change", ["removed", "cut short", "altered"])
def test_a_finished_part_that_is_no_longer_so_is_computed_again(source, tmp_path, change):
    out = tmp_path / "out"
    run(source, out)
    path = out / parts_in(out)[4]
    content = path.read_bytes()
    if change == "removed":
        os.remove(path)
    else:
        path.write_bytes(content[:-1] if change == "cut short" else content[:-1] + b"\0")
    ranker = OrderRanker()
    run(source, out, ranker)
    assert ranker.calls == [PART]
    assert path.read_bytes() == content
    assert_whole(out)


def test_another_model_setting_or_input_is_refused(source, tmp_path):
    out = tmp_path / "out"
    run(source, out)
    before = identities(out)
    for arguments, named in (
        ({"ranker": OrderRanker(2.0)}, "model"),
        ({"keep": ["id", "note"]}, "keep"),
        ({"features": "A*"}, "features"),
        ({"part_rows": 20}, "part_rows"),
        ({"format": "csv"}, "format"),
    ):
        given = {"ranker": OrderRanker(), "keep": "id", "part_rows": PART, **arguments}
        with pytest.raises(InputError, match=f"these differ: {named}"):
            predict_files(inputs=source, output=out, resume=True, **given)
    write_table(tmp_path / "u.parquet", 5)
    with pytest.raises(InputError, match="these differ: inputs"):
        run([source, tmp_path / "u.parquet"], out)
    write_table(source, N_ROWS, seed=1, rows_a_block=PART)
    with pytest.raises(InputError, match="t.parquet: has changed since its part 0 was finished"):
        run(source, out)
    assert identities(out) == before


def test_an_input_that_is_gone_is_not_missed_once_it_is_finished(source, tmp_path):
    out = tmp_path / "out"
    run(source, out)
    os.remove(source)
    assert len(run(source, out).parts) == 10


def test_text_goes_on_behind_the_parts_that_are_finished(tmp_path):
    write_table(tmp_path / "t.csv", 95)
    out = tmp_path / "out"
    run(tmp_path / "t.csv", out)
    assert len(parts_in(out)) == 10
    os.remove(out / "t-00003.parquet")
    os.remove(out / "t-00009.parquet")
    ranker = OrderRanker()
    report = run(tmp_path / "t.csv", out, ranker)
    assert ranker.calls == [10, 5]
    assert [part.rows for part in report.parts if not part.resumed] == [10, 5]
    assert_whole(out, 95)


def test_what_dead_runs_left_is_removed(source, tmp_path):
    out = tmp_path / "out"
    run(source, out)
    left = out / "_lrrf" / "1-of-1.tmp" / "0-7"
    left.write_text("half a part")
    run(source, out)
    assert not left.exists()
    single = tmp_path / ".r.csv.0123456789ab.tmp"
    single.write_text("half a part")
    predict_files(OrderRanker(), source, tmp_path / "r.csv")
    assert not single.exists()


# ------------------------------------------------------------------------------ two runs at once
class Meddling(OrderRanker):
    """Calls something once, while the run holds its locks."""

    def __init__(self, action):
        super().__init__()
        self._action = action

    def predict(self, X):
        if not self.calls:
            self._action()
        return super().predict(X)


def test_a_second_run_into_the_same_output_is_refused(source, tmp_path):
    out, refused = tmp_path / "out", []

    def second():
        for arguments in ({}, {"shard": "1/2"}):
            with pytest.raises(InputError, match="another run is writing there"):
                run(source, out, **arguments)
            refused.append(arguments)

    run(source, out, Meddling(second))
    assert len(refused) == 2
    assert_whole(out)


def test_a_second_run_into_the_same_file_is_refused(source, tmp_path):
    def second():
        with pytest.raises(InputError, match="another run is writing there"):
            predict_files(OrderRanker(), source, tmp_path / "r.csv")

    predict_files(Meddling(second), source, tmp_path / "r.csv")
    assert sorted(os.listdir(tmp_path)) == ["r.csv", "t.parquet"]


def test_other_shards_of_the_same_run_may_run_at_once(source, tmp_path):
    out = tmp_path / "out"

    def second():
        run(source, out, shard="2/2")
        with pytest.raises(InputError, match="another run is writing there"):
            run(source, out, shard="1/2")
        with pytest.raises(InputError, match="another run is writing there"):
            run(source, out, shard="1/3")
        with pytest.raises(InputError, match="another run is writing there"):
            run(source, out)

    run(source, out, Meddling(second), shard="1/2")
    assert read_manifest(out).complete
    run(source, out)
    assert_whole(out)


def test_a_shard_does_not_join_a_run_with_other_settings(source, tmp_path):
    out = tmp_path / "out"
    arguments = {"part_rows": PART, "keep": "id"}
    predict_files(OrderRanker(), source, out, shard="1/2", **arguments)
    with pytest.raises(InputError, match="these differ: model"):
        predict_files(OrderRanker(3.0), source, out, shard="2/2", **arguments)
    with pytest.raises(OutputTaken, match="holds a run already"):
        predict_files(OrderRanker(), source, out, shard="1/2", **arguments)
    predict_files(OrderRanker(), source, out, shard="2/2", **arguments)
    assert read_manifest(out).complete


# ------------------------------------------------------------------------------ disks
def test_a_full_disk_stops_the_run_with_the_way_to_go_on(source, tmp_path, monkeypatch):
    out, whole, count = tmp_path / "out", os.fsync, 0

    def fsync(descriptor):
        nonlocal count
        count += 1
        if count == 12:
            raise OSError(errno.ENOSPC, "No space left on device")
        whole(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        with pytest.raises(InputError, match="No space left .* parts are finished.* --resume"):
            run(source, out)
    before = identities(out)
    assert 0 < len(before) < 10
    assert os.listdir(out / "_lrrf" / "1-of-1.tmp") == []
    run(source, out)
    assert before.items() <= identities(out).items()
    assert_whole(out)


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="needs limits of file sizes")
def test_a_file_that_the_system_refuses_to_grow_leaves_nothing_behind(tmp_path):
    X = write_table(tmp_path / "t.csv", 20_000)
    arguments = (OrderRanker(), tmp_path / "t.csv", tmp_path / "r.csv")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, hard))
        with pytest.raises(InputError, match=r"r.csv: cannot be written \(.*File too large"):
            predict_files(*arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert os.listdir(tmp_path) == ["t.csv"]
    assert predict_files(*arguments).rows == len(X)


def in_process(code, **arguments):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
        **arguments,
    )


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes anywhere")
def test_a_directory_without_permission_is_refused(source, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    for out in (tmp_path / "closed", tmp_path / "closed" / "new"):
        with pytest.raises(InputError, match="cannot be written"):
            run(source, out)
    with pytest.raises(InputError, match="cannot be written"):
        predict_files(OrderRanker(), source, tmp_path / "closed" / "r.csv")


def test_a_read_only_directory_is_told_from_one_in_use(source, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(InputError, match="cannot be written .*read-only"):
        run(source, tmp_path / "out")
    with pytest.raises(InputError, match="cannot be written .*read-only"):
        predict_files(OrderRanker(), source, tmp_path / "r.csv")


# ------------------------------------------------------------------------------ kill -9
def count_calls(ranker, log):
    """Let the ranker note the ids of the rows that it is asked for, past any kill."""
    whole = ranker.predict

    def predict(X):
        os.write(log, b"%d\n" % len(X))
        time.sleep(0.004)  # or kills would hit the start of a run only
        return whole(X)

    ranker.predict = predict
    return ranker


def killed_runs(source, out, log_path, n_kills, part_rows, seed):
    """Start runs and kill each at a random moment, then let one end; runs in a process.

    One process forks them, so that a start costs no imports. A run is killed up to 8 ms after
    its next to third part is predicted, or before the first. After each kill, what is there is
    compared with what was there before. Prints a JSON document.
    """
    batch.model_checksum = lambda ranker: "stub"  # or the learners would be imported, for seconds
    rng = random.Random(seed)
    log = os.open(log_path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    context = multiprocessing.get_context("fork")
    before, kills, lost = {}, 0, []
    while not lost:
        process = context.Process(
            target=predict_files,
            args=(count_calls(OrderRanker(), log), source, out),
            kwargs={"keep": "id", "part_rows": part_rows, "resume": True},
        )
        target = log_path.stat().st_size + 3 * rng.randint(0, 3)  # a line has three bytes
        process.start()
        if kills < n_kills:
            while log_path.stat().st_size < target and process.exitcode is None:
                time.sleep(0.0005)
            process.join(rng.uniform(0, 0.008))
        else:
            process.join()
        ended = process.exitcode is not None
        if not ended:
            process.kill()
            process.join()
            kills += 1
        now = identities(out) if out.exists() else {}
        lost = [name for name in before if now.get(name) != before[name]]
        for name in set(now) - set(before):
            pyarrow.parquet.read_metadata(out / name)  # whole: it has a footer
        before = now
        if ended:
            break
    print(json.dumps({"lost": lost, "kills": kills, "exitcode": process.exitcode}))


def kill_test(tmp_path, n_parts, n_kills):
    rows_a_part = 50
    n_rows = n_parts * rows_a_part
    source, out, log = tmp_path / "t.parquet", tmp_path / "out", tmp_path / "log"
    write_table(source, n_rows, rows_a_block=rows_a_part)
    code = f"""
        import pathlib
        from tests.io.test_resume import killed_runs
        paths = [pathlib.Path(p) for p in {[str(source), str(out), str(log)]!r}]
        killed_runs(*paths, {n_kills}, {rows_a_part}, seed=1)
    """
    started = time.monotonic()
    done = in_process(code)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout.splitlines()[-1])
    assert document["lost"] == []
    assert document["exitcode"] == 0
    assert document["kills"] >= n_kills * 0.9, document
    state = read_manifest(out)
    assert len(state.parts) == len(parts_in(out)) == n_parts
    assert_whole(out, n_rows)
    computed = sum(map(int, log.read_text().split()))
    recomputed = computed // rows_a_part - n_parts
    assert min(1, n_kills // 50) <= recomputed <= document["kills"]
    print(
        f"{document['kills']} kills, {recomputed} of {n_parts} parts computed again, "
        f"{time.monotonic() - started:.0f} s"
    )


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")


@forks
def test_a_few_kills_lose_and_repeat_nothing(tmp_path):
    kill_test(tmp_path, 24, 6)


@forks
@pytest.mark.slow
def test_a_hundred_kills_lose_and_repeat_nothing(tmp_path):
    kill_test(tmp_path, 200, 100)


def test_records_are_read_as_they_were_written(tmp_path):
    record = PartRecord("a", 0, True, 0, 5, "a.parquet", 9, "00", (1, 2))
    failure = manifest.FailureRecord("b", None, "why\nnot")
    journal = Journal(str(tmp_path), "1-of-1").rewrite([record])
    journal.append(failure)
    ((path, records),) = manifest.read_journals(str(tmp_path))
    assert path == journal.path
    assert records == [record, failure]
