"""Output that cannot be written: exit code 6, nothing left but what --resume needs."""

import os
import resource
import stat
import subprocess
import sys

import pytest

from lrrf_jax import load
from lrrf_jax._validation import InputError, OutputError
from lrrf_jax.cli import main
from lrrf_jax.evaluation.results import FoldResult, ResultsFile
from lrrf_jax.io import read_manifest
from tests.cli.conftest import fill, toy_table

OUTPUT_CANNOT_BE_WRITTEN = 6


def long_table(tmp_path, n_rows):
    path = tmp_path / "long.csv"
    path.write_text("\n".join(toy_table(n_rows)))
    return path


def commands(model, toy, disk):
    evaluate = ("evaluate", toy, "--features", "A*", "--learner", "default", "--folds", "2")
    return {
        "train": ("train", toy, "--features", "A*", "--learner", "default", "--model", disk / "m"),
        "predict": ("predict", model, toy, "--output", disk / "ranks.csv"),
        "parts": ("predict", model, toy, "--output", f"{disk}/ranks/"),
        "results": (*evaluate, "--results", disk / "folds.csv"),
        "report": (*evaluate, "--report", disk / "page.html"),
    }


KINDS = ["train", "predict", "parts", "results", "report"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_has_a_code_of_its_own_and_nothing_is_left(lrrf, model, toy, small_disk, kind):
    ballast = fill(small_disk)
    code, _, err = lrrf(*commands(model, toy, small_disk)[kind])
    assert code == OUTPUT_CANNOT_BE_WRITTEN, err
    assert str(small_disk) in err
    assert "No space left on device" in err
    assert "Free space" in err
    assert os.listdir(small_disk) == ["ballast"]
    ballast.unlink()
    code, _, err = lrrf(*commands(model, toy, small_disk)[kind])
    assert code == 0, err


@pytest.mark.parametrize("kind", KINDS)
def test_a_read_only_disk_has_the_same_code_and_is_refused_at_once(
    lrrf, model, toy, small_disk, kind
):
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    code, _, err = lrrf(*commands(model, toy, small_disk)[kind])
    assert code == OUTPUT_CANNOT_BE_WRITTEN, err
    assert str(small_disk) in err
    assert "read-only" in err.lower()
    assert os.listdir(small_disk) == []


def test_a_disk_that_fills_up_keeps_finished_parts_and_a_later_run_goes_on(
    lrrf, model, tmp_path, small_disk
):
    table = long_table(tmp_path, 6000)
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(190 << 10))
    arguments = ["predict", model, table, "--output", small_disk / "ranks", "--resume"]
    arguments += ["--part-rows", 500, "--keep", "id", "--format", "csv"]
    code, _, err = lrrf(*arguments)
    assert code == OUTPUT_CANNOT_BE_WRITTEN, err
    assert "go on with --resume" in err
    listed = {part.output for part in read_manifest(small_disk / "ranks").parts}
    assert 0 < len(listed) < 12
    there = [os.path.join(folder, name) for folder, _, names in os.walk(small_disk / "ranks")
             for name in names]  # fmt: skip
    finished = {os.path.basename(name) for name in there if "_lrrf" not in name}
    assert finished == listed
    assert not [name for name in there if ".tmp" in name]
    ballast.unlink()
    assert lrrf(*arguments)[0] == 0
    assert read_manifest(small_disk / "ranks").complete
    parts = sorted((small_disk / "ranks").glob("*.csv"))
    ids = [line.split(",")[0] for part in parts for line in part.read_text().split("\n")[1:-1]]
    assert ids == [f'"r{i}"' for i in range(6000)]


@pytest.mark.slow
def test_a_checkpoint_on_a_full_disk_stops_the_fit_and_leaves_no_model(lrrf, toy, small_disk):
    fill(small_disk)
    code, _, err = lrrf(
        *("train", toy, "--features", "A*", "--set", "n_estimators=2", "--set", "max_depth=2"),
        *("--checkpoint", small_disk / "trees", "--model", small_disk / "m"),
    )
    assert code == OUTPUT_CANNOT_BE_WRITTEN, err
    assert "No space left" in err
    assert not [name for _, _, names in os.walk(small_disk / "trees") for name in names]


def test_results_of_folds_hold_no_half_a_line_when_the_disk_is_full(small_disk):
    path = small_disk / "folds.csv"
    result = FoldResult("default", "iris", 0.0, "delete-once", False, 2, 0, 0, 0, "{}", "1", "x")
    ResultsFile(path).append([result])
    before = path.read_bytes()
    ballast = small_disk / "ballast"
    free = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_bsize
    ballast.write_bytes(bytes(free))
    with pytest.raises(OutputError, match="No space"):
        ResultsFile(path).append([result] * 200)
    assert path.read_bytes() == before


def test_a_file_that_may_not_grow_is_told_like_a_full_disk(lrrf, model, tmp_path):
    # Works everywhere: the system sets the limit, and no file system is needed.
    table = long_table(tmp_path, 4000)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20000, before[1]))
    try:
        code, out, err = lrrf("predict", model, table, "--output", tmp_path / "r.csv")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (code, out) == (OUTPUT_CANNOT_BE_WRITTEN, ""), err
    assert "r.csv: cannot be written (File too large)" in err
    assert not [name for name in os.listdir(tmp_path) if "r.csv" in name]


# What is printed

PRINTED = {
    "version": ("--version",),
    "help": ("train", "--help"),
    "inspect": ("inspect", "MODEL", "--json"),
    "datasets": ("datasets", "list"),
    "evaluate": ("evaluate", "builtin:iris", "--model", "MODEL"),
}
FULL = "/dev/full"
needs_full_device = pytest.mark.skipif(not os.path.exists(FULL), reason="there is no /dev/full")


def arguments_of(command, model):
    return [str(model) if argument == "MODEL" else argument for argument in PRINTED[command]]


@needs_full_device
@pytest.mark.parametrize("command", PRINTED)
def test_standard_output_that_is_full_is_told_with_the_same_code(
    forest_model, command, monkeypatch, capsys
):
    with open(FULL, "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        code = main(arguments_of(command, forest_model))
    err = capsys.readouterr().err
    assert code == OUTPUT_CANNOT_BE_WRITTEN, err
    assert err.startswith("error: standard output: cannot be written (No space left")
    assert len(err.splitlines()) == 1


@needs_full_device
def test_the_interpreter_ends_without_another_word_on_a_full_output(forest_model):
    code = "import sys; from lrrf_jax.cli import main; sys.exit(main())"
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", code, *arguments_of("version", forest_model)]
    with open(FULL, "w") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, env=variables, check=False
        )
    assert done.returncode == OUTPUT_CANNOT_BE_WRITTEN
    assert len(done.stderr.splitlines()) == 1, done.stderr


def test_a_reader_that_has_enough_is_no_error(tmp_path, monkeypatch, capsys):
    reader, writer = os.pipe()
    os.close(reader)  # as head does once it has its line
    page = tmp_path / "page.html"
    arguments = "evaluate builtin:iris --learner default --folds 2 --repeats 1 --report"
    with os.fdopen(writer, "w") as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        code = main([*arguments.split(), str(page)])
    err = capsys.readouterr().err
    assert code == 0, err
    assert "error" not in err
    assert page.is_file()  # what comes after the table is done too


# Places that are no files


@pytest.mark.parametrize("kind", ["train", "predict", "results", "report"])
def test_a_pipe_or_a_device_is_no_place_for_output(lrrf, model, toy, tmp_path, kind):
    place = tmp_path / "fifo.csv"
    os.mkfifo(place)
    arguments = [
        place if str(argument).startswith(str(tmp_path / "disk")) else argument
        for argument in commands(model, toy, tmp_path / "disk")[kind]
    ]
    code, _, err = lrrf(*arguments, *(["--overwrite"] if kind == "predict" else []))
    assert code == 3, err
    assert f"{place}: is a pipe or a device" in err
    assert "Name a file" in err
    assert stat.S_ISFIFO(os.stat(place).st_mode)  # it was not replaced by a file


@pytest.mark.parametrize("place", ["/dev/stdout", "/dev/fd/1"])
def test_standard_output_is_no_place_for_a_file(lrrf, model, toy, place):
    code, _, err = lrrf("predict", model, toy, "--output", place, "--format", "csv", "--overwrite")
    assert code == 3, err
    assert f"{place}: is a pipe or a device" in err
    assert "cat" in err
    assert os.path.islink("/dev/stdout") or not os.path.exists("/dev/stdout")


def test_a_model_does_not_replace_a_device(forest_model):
    before = os.stat(os.devnull).st_mode
    with pytest.raises(InputError, match="is a pipe or a device"):
        load(forest_model).save(os.devnull)
    assert os.stat(os.devnull).st_mode == before
