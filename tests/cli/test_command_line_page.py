"""docs/command-line.md: what it shows is what happens, and no option is left out."""

import contextlib
import io
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest
import typer

from lrrf_jax import cli

PAGE = (pathlib.Path(__file__).parents[2] / "docs/command-line.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.M)


def commands(group, name=""):
    for word, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{name}{word} ")
        else:
            yield f"{name}{word}", command


def test_every_command_and_option_is_on_the_page():
    found = dict(commands(typer.main.get_command(cli.app)))
    assert {"train", "doctor", "datasets describe"} <= found.keys()
    lacking = []
    for name, command in found.items():
        assert f"lrrf {name.split()[0]}" in PAGE
        for parameter in command.params:
            options = [o for o in (*parameter.opts, *parameter.secondary_opts) if o[:2] == "--"]
            for option in set(options) - {"--help"}:
                if not re.search(rf"{option}\b", PAGE):
                    lacking.append((name, option))
    assert lacking == []


def test_the_exit_codes_are_those_that_the_code_says():
    told = dict(re.findall(r"^\| (\d+) \| (.*) \|$", PAGE, re.M))
    said = dict(re.findall(r"^(\d+) +(.*)$", cli.__doc__, re.M))
    assert told.keys() == said.keys() == {"0", "1", "2", "3", "4", "5", "6", "130"}
    for code, meaning in said.items():
        assert re.findall(r"\w+", told[code])[0] == re.findall(r"\w+", meaning)[0], code


def shown(lines):
    """Give each command of a console block, and the lines that the page shows below it."""
    for line in lines:
        if line.startswith("$ "):
            typed = line.removeprefix("$ ")
            below = []
            yield typed, below
        else:
            below.append(line)


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_the_commands_on_the_page_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = next(text for language, text in BLOCKS if language == "csv")
    pathlib.Path("trips.csv").write_text(table, "latin1")
    consoles = [
        list(shown(text.splitlines())) for language, text in BLOCKS if language == "console"
    ]
    ran = 0
    for typed, below in (pair for console in consoles for pair in console):
        words = shlex.split(typed)
        if "|" in words:
            path = os.pathsep.join(filter(None, sys.path))
            program = f"{shlex.quote(sys.executable)} -c 'from lrrf_jax.cli import main; main()'"
            done = subprocess.run(
                typed.replace("lrrf predict", f"{program} predict"),
                shell=True,
                env={**os.environ, "PYTHONPATH": path},
                capture_output=True,
                text=True,
                check=False,
            )
            assert len(done.stdout.splitlines()) == 3, done.stderr
        else:
            with contextlib.redirect_stderr(io.StringIO()) as err:
                with contextlib.redirect_stdout(io.StringIO()):
                    assert cli.main(words[1:]) == 0, (typed, err.getvalue())
            for line in below:
                assert line.removesuffix("...") in err.getvalue(), (typed, err.getvalue())
        ran += 1
    assert ran == 9
    assert sorted(os.listdir()) == ["ranks.csv", "trips.csv", "trips.lrrf", "trips.treelite"]
