import json
import os
import subprocess
import sys
import textwrap

import pytest
from typer.testing import CliRunner

import lrrf_jax
from lrrf_jax import _validation
from lrrf_jax.cli import app
from lrrf_jax.learners import ConsensusLabelRanker

COMMANDS = ("train", "predict", "evaluate", "inspect", "benchmark", "datasets")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_every_option_with_an_example(command):
    result = CliRunner().invoke(app, [command, "--help"])
    assert result.exit_code == 0
    assert f"  lrrf {command} " in result.output
    assert "\\b" not in result.output
    general = CliRunner().invoke(app, ["--help"])
    assert general.exit_code == 0
    assert f"  {command}" in general.output


def test_version_is_that_of_the_package(lrrf):
    assert lrrf("--version") == (0, f"lrrf_jax {lrrf_jax.__version__}\n", "")


@pytest.mark.parametrize(
    "arguments", [(), ("fly",), ("train",), ("train", "t.csv"), ("inspect", "m", "--fast")]
)
def test_what_is_not_a_command_is_a_usage_error(lrrf, arguments):
    code, out, err = lrrf(*arguments)
    assert code == 2
    assert "Usage: lrrf" in out + err


def failing(error):
    def predict(self, X):
        raise error

    return predict


@pytest.mark.parametrize(
    ("error", "code", "fragment"),
    [
        (_validation.InputError("bad cell. Fix it."), 3, "bad cell. Fix it."),
        (OSError(28, "No space left on device", "t.tmp"), 6, "t.tmp: cannot be written (No space"),
        (_validation.ModelFileError("bad file. Copy it."), 4, "error: bad file. Copy it."),
        (RuntimeError("first\nsecond"), 1, "error: unexpected RuntimeError: first. Run `lrrf --de"),
        (KeyError(), 1, "error: unexpected KeyError: no message."),
        (MemoryError("8 GiB"), 1, "error: unexpected MemoryError: 8 GiB."),
    ],
)
def test_every_error_has_its_code_and_one_line(
    lrrf, model, toy, tmp_path, monkeypatch, error, code, fragment
):
    monkeypatch.setattr(ConsensusLabelRanker, "predict", failing(error))
    got, out, err = lrrf("predict", model, toy, "--output", tmp_path / "r.csv")
    assert (got, out) == (code, "")
    assert fragment in err
    assert len(err.splitlines()) == 1


def test_debug_shows_the_traceback_with_the_same_code(model, toy, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(ConsensusLabelRanker, "predict", failing(RuntimeError("boom")))
    from lrrf_jax.cli import main

    code = main(["--debug", "predict", str(model), str(toy), "--output", str(tmp_path / "r.csv")])
    err = capsys.readouterr().err
    assert code == 1
    assert "Traceback" in err
    assert err.rstrip().endswith("error: unexpected RuntimeError: boom.")


# In processes of their own


def test_help_loads_nothing_heavy():
    package = os.path.dirname(lrrf_jax.__file__)
    code = f"""
        import sys, types
        sys.modules["lrrf_jax"] = types.ModuleType("lrrf_jax")  # whatever the package imports
        sys.modules["lrrf_jax"].__path__ = [{package!r}]
        from lrrf_jax.cli import main
        for arguments in (["--help"], ["train", "--help"], ["predict", "--help"]):
            assert main(arguments) == 0
        heavy = {{"jax", "numpy", "sklearn", "pyarrow", "pandas"}} & set(sys.modules)
        assert not heavy, heavy
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    assert "Usage: lrrf" in done.stdout


def test_exit_codes_reach_the_shell(lrrf_process, toy, model, tmp_path):
    codes = {}
    codes[0], out, _ = lrrf_process("inspect", model, "--json")
    assert json.loads(out)["learner"] == "default"
    codes[2], _, err = lrrf_process("train", toy)
    assert "Missing option" in err
    codes[3], _, err = lrrf_process("predict", model, "none.csv", "--output", "r.csv")
    assert err.startswith("error: none.csv: there is no such file")
    codes[4], _, err = lrrf_process("predict", toy, toy, "--output", "r.csv")
    assert err.startswith(f"error: {toy}: is no model file")
    codes[5], _, err = lrrf_process("predict", model, toy, "none.csv", "--output", "ranks")
    assert (tmp_path / "ranks/toy.parquet").is_file()
    assert "1 of 2 failed: none.csv" in err
    interrupt = "import signal; from lrrf_jax.learners import LEARNERS; "
    interrupt += "LEARNERS['default'].predict = lambda self, X: signal.raise_signal(signal.SIGINT)"
    codes[130], _, err = lrrf_process("predict", model, toy, "--output", "r.csv", first=interrupt)
    assert err == "error: interrupted; nothing unfinished was left behind.\n"
    assert all(code == got for code, got in codes.items()), codes
    assert not (tmp_path / "r.csv").exists()


# The compilation cache


def test_commands_keep_compiled_programs_unless_told_otherwise(
    lrrf, toy, model, tmp_path, monkeypatch
):
    used = []
    for command in ("train", "predict", "evaluate"):
        name = f"lrrf_jax.cli.{command}.use_compilation_cache"
        monkeypatch.setattr(name, lambda way, command=command: used.append((command, way)))
    commands = [
        ("train", toy, "--features", "A*", "--learner", "default", "--model", tmp_path / "m"),
        ("predict", model, toy, "--output", tmp_path / "r.csv", "--overwrite"),
        ("evaluate", toy, "--features", "A*", "--learner", "default", "--folds", "2"),
        ("evaluate", toy, "--model", model),
    ]
    names = ["train", "predict", "evaluate", "evaluate"]
    for arguments in commands:
        lrrf(*arguments, "--no-compilation-cache")
    assert used == [(name, False) for name in names]
    used.clear()
    for arguments in commands:
        lrrf(*arguments)
    assert used == [(name, None) for name in names]


@pytest.mark.parametrize(
    "command",
    [
        ["train", "t.csv", "--labels", "a", "--model", "m", "--labels", "b"],
        ["train", "t.csv", "--model", "m", "--exclude", "id", "--exclude=colour"],
        ["predict", "m", "t.csv", "--output", "r.csv", "--output", "s.csv"],
        ["evaluate", "t.csv", "--folds", "3", "--learner", "rpc", "--folds", "5"],
        ["datasets", "list", "--directory", "a", "--directory", "b"],
    ],
    ids=" ".join,
)
def test_an_option_that_is_given_twice_is_refused_and_not_taken_the_last_time(lrrf, command):
    code, out, err = lrrf(*command)
    option = next(word for word in command if command.count(word) == 2 or "=" in word)
    assert (code, out) == (2, "")
    assert f"'{option.partition('=')[0]}'" in err
    assert "given 2 times" in err


def test_options_that_hold_several_values_and_flags_may_be_repeated(lrrf, tmp_path):
    model = tmp_path / "m.lrrf"
    settings = ["--set", "ridge=1", "--set", "voting=binary", "--json", "--json"]
    code, _, err = lrrf("train", "builtin:iris", "--learner", "rpc", "--model", model, *settings)
    assert (code, model.exists()) == (0, True), err
