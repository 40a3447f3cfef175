"""Tables from a pipe: read, or said why not; never called an empty file."""

import contextlib
import gzip
import io
import json
import os
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from lrrf_jax import LEARNERS, load
from lrrf_jax._pipes import as_file
from lrrf_jax._validation import InputError, OutputError
from lrrf_jax.cli import main
from lrrf_jax.datasets import read
from tests.cli.conftest import fill, toy_table

TRAIN = ("train", "--features", "A*", "--learner", "default", "--model")
EVALUATE = ("evaluate", "--features", "A*", "--learner", "default", "--folds", "2", "--json")


@contextlib.contextmanager
def writing(content, path=None):
    """Write to a pipe, piece by piece, from another thread; gives its end to read from."""
    reader = None
    if path is None:
        reader, writer = os.pipe()
    else:
        os.mkfifo(path)

    def write():
        with contextlib.suppress(BrokenPipeError):
            with open(writer if path is None else path, "wb", buffering=0) as file:
                for start in range(0, len(content), 1 << 14):
                    file.write(content[start : start + (1 << 14)])

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield reader if path is None else path
    finally:
        if reader is not None:
            os.close(reader)
        thread.join(5)


@contextlib.contextmanager
def standard_input(reader):
    before = os.dup(0)
    os.dup2(reader, 0)
    try:
        yield
    finally:
        os.dup2(before, 0)
        os.close(before)


def content_of(suffix):
    rows = [line.split(",") for line in toy_table()]
    table = pd.DataFrame(rows[1:], columns=rows[0])
    numbers = {name: table[name].astype(float) for name in table.columns[1:]}
    table = table.assign(**numbers)
    buffer = io.BytesIO()
    if suffix == "parquet":
        table.to_parquet(buffer)
    elif suffix == "arrow":
        arrow = pa.Table.from_pandas(table, preserve_index=False)
        with pa.ipc.new_file(buffer, arrow.schema) as writer:
            writer.write_table(arrow)
    elif suffix == "stream":
        arrow = pa.Table.from_pandas(table, preserve_index=False)
        with pa.ipc.new_stream(buffer, arrow.schema) as writer:
            writer.write_table(arrow)
    else:
        table.to_csv(buffer, index=False, sep="\t" if suffix == "tsv" else ",")
    content = buffer.getvalue()
    return gzip.compress(content) if suffix == "csv.gz" else content


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet", "arrow", "stream"])
@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_every_command_reads_a_pipe_of_every_format(lrrf, toy, model, tmp_path, suffix, name):
    content = content_of(suffix)

    def run(*arguments):
        with writing(content) as reader, standard_input(reader):
            code, out, err = lrrf(*arguments)
        assert code == 0, err
        return out, err

    run(*TRAIN, tmp_path / "m", name)
    piped, known = load(tmp_path / "m"), load(model)
    assert piped.params_.mean_vote.tolist() == known.params_.mean_vote.tolist()
    out, err = run("predict", model, name, "--output", tmp_path / "r.csv", "--keep", "id", "--json")
    assert json.loads(out)["done"][0]["input"] == "standard input"
    assert "standard input: 20 rows -> " in err
    assert pd.read_csv(tmp_path / "r.csv")["id"].tolist() == [f"r{i}" for i in range(20)]
    out, _ = run(*EVALUATE, name)
    assert json.loads(out)["results"][0]["rows"] == 20
    out, _ = run("evaluate", name, "--model", model, "--json")
    expected = json.loads(lrrf("evaluate", toy, "--model", model, "--json")[1])["results"][0]
    assert {**json.loads(out)["results"][0], "data": ""} == {**expected, "data": ""}


def test_the_format_of_text_is_found_or_may_be_said(lrrf, model, tmp_path):
    for arguments in (
        (*TRAIN, tmp_path / "m", "-"),
        ("predict", model, "-", "--output", tmp_path / "r.csv"),
        (*EVALUATE, "-"),
    ):
        with writing(content_of("tsv")) as reader, standard_input(reader):
            assert lrrf(*arguments)[0] == 0  # by the tabs
        (tmp_path / "r.csv").unlink(missing_ok=True)
        with writing(content_of("csv")) as reader, standard_input(reader):
            code, _, err = lrrf(*arguments, "--input-format", "tsv")
        assert code == 3
        assert "standard input: " in err
        with writing(content_of("tsv")) as reader, standard_input(reader):
            assert lrrf(*arguments, "--input-format", "tsv")[0] == 0


def test_a_fifo_and_what_a_shell_substitutes_are_read(lrrf, model, toy, tmp_path):
    with writing(content_of("tsv"), tmp_path / "fifo.tsv") as fifo:  # its suffix tells
        assert lrrf(*TRAIN, tmp_path / "m", fifo)[0] == 0
    with writing(content_of("csv")) as reader:
        path = f"/dev/fd/{reader}"
        assert lrrf("predict", model, path, "--output", tmp_path / "r.csv")[0] == 0
    with open(toy, "rb") as file, standard_input(file.fileno()):  # lrrf ... - < toy.csv
        assert lrrf(*TRAIN, tmp_path / "m", "/dev/stdin")[0] == 0


def test_python_reads_pipes_too(tmp_path, toy):
    expected = read(toy, features="A*")
    with writing(toy.read_bytes(), tmp_path / "fifo") as fifo:
        data = read(fifo, features="A*")
    np.testing.assert_array_equal(data.X, expected.X)
    with writing(toy.read_bytes()) as reader, standard_input(reader):
        assert read("-", features="A*").name == "stdin"
    ranker = LEARNERS["default"]().fit(data.X, data.y, feature_names=["A1", "A2"])
    with writing(content_of("tsv"), tmp_path / "second") as fifo:
        report = ranker.predict_file(fifo, tmp_path / "r.npy", input_format="tsv")
    assert (report.rows, report.parts[0].input) == (20, str(fifo))
    with pytest.raises(InputError, match="is for a pipe"):
        ranker.predict_file(toy, tmp_path / "r.csv", input_format="csv")
    with pytest.raises(InputError, match="is for pipes"):
        read(toy, format="csv")


def test_faults_name_the_pipe_and_nothing_is_left(lrrf, model, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    bad = b"id,A1,A2,L1,L2,L3\nr0,1,oops,1,2,3\nr0,1,2,1,2,3\n"
    for arguments in (
        (*TRAIN, tmp_path / "m", "-"),
        ("predict", model, "-", "--output", tmp_path / "r.csv"),
        ("evaluate", "-", "--model", model),
    ):
        with writing(bad) as reader, standard_input(reader):
            code, _, err = lrrf(*arguments)
        assert code == 3
        assert "standard input: column 'A2' must hold numbers; row 1 (line 2) holds 'oops'" in err
        assert "temporary" not in err
        with writing(b"") as reader, standard_input(reader):
            code, _, err = lrrf(*arguments)
        assert code == 3
        assert "standard input: nothing came from the pipe" in err
    assert os.listdir(tmp_path / "temporary") == []
    assert not (tmp_path / "r.csv").exists()


def test_a_pipe_goes_to_one_file_and_is_the_only_input(lrrf, model, toy, tmp_path):
    fifo = tmp_path / "fifo.csv"
    os.mkfifo(fifo)
    output = ("--output", tmp_path / "ranks")
    for arguments in (
        (fifo, "--output", f"{tmp_path}/ranks/"),
        (fifo, *output, "--resume"),
        (fifo, *output, "--shard", "1/2"),
    ):
        code, _, err = lrrf("predict", model, *arguments)
        assert code == 3
        assert "a pipe is read once" in err
    code, _, err = lrrf("predict", model, toy, fifo, *output)
    assert code == 3
    assert "a pipe is the only input" in err
    assert not (tmp_path / "ranks").exists()


def test_devices_and_terminals_are_no_tables(lrrf, model, tmp_path):
    output = ("--output", tmp_path / "r.csv")
    code, _, err = lrrf("predict", model, "/dev/zero", *output)
    assert (code, "/dev/zero: is a device" in err) == (3, True)
    code, _, err = lrrf(*TRAIN, tmp_path / "m", "/dev/null")
    assert (code, "/dev/null: is a device" in err) == (3, True)
    controller, terminal = os.openpty()
    with standard_input(terminal):
        code, _, err = lrrf("predict", model, "-", *output)
    assert (code, "standard input: is a terminal" in err) == (3, True)
    for descriptor in (controller, terminal):
        os.close(descriptor)


@pytest.mark.parametrize("command", ["predict", "evaluate", "inspect"])
def test_a_model_is_not_read_from_a_pipe(lrrf, toy, tmp_path, command):
    arguments = {
        "predict": ("predict", "-", toy, "--output", tmp_path / "r.csv"),
        "evaluate": ("evaluate", toy, "--model", "-"),
        "inspect": ("inspect", "-"),
    }[command]
    code, _, err = lrrf(*arguments)
    assert code == 4
    assert "a model is read from a file" in err


def test_a_pipe_that_fills_the_folder_of_temporary_files_is_told_so(small_disk, monkeypatch):
    fill(small_disk).unlink()
    monkeypatch.setattr("tempfile.tempdir", str(small_disk))
    content = b"A1,L1,L2\n" + b"1,1,2\n" * 100_000
    with writing(content) as reader, standard_input(reader):
        with pytest.raises(OutputError, match=r"cannot be kept in .*disk.* TMPDIR"):
            read("-")
    assert os.listdir(small_disk) == []


def test_a_regular_file_is_read_in_place(toy):
    with as_file(str(toy)) as path:
        assert path == str(toy)


def test_the_exit_code_of_a_pipe_that_fails_is_that_of_its_data(model, tmp_path, capsys):
    with writing(b"A1\n1\n") as reader, standard_input(reader):
        code = main(["predict", str(model), "-", "--output", str(tmp_path / "r.csv")])
    assert code == 3
    assert "standard input: 1 of the 2 feature columns" in capsys.readouterr().err
