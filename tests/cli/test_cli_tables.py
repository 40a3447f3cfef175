"""Tables on a terminal and in a pipe: nothing is lost, and no name does anything."""

import contextlib
import io
import re

import pytest

from lrrf_jax.cli import _tables, main

NASTY = ["[bold]x[/bold]", "[link=http://a]b[/link]", ":smile:", "red\x1b[31m", "two\nlines", "[/]"]
SHOWN = ["[bold]x[/bold]", "[link=http://a]b[/link]", ":smile:", r"red\x1b[31m", r"two\nlines"]
STYLES = re.compile(r"\x1b\[[0-9;]*m")


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Let what is written go to a terminal of so many columns; returns what stands there."""

    def on(columns, write, *arguments):
        screen = Terminal()
        for name, value in {"COLUMNS": str(columns), "TERM": "xterm-256color"}.items():
            monkeypatch.setenv(name, value)
        for name in ("NO_COLOR", "FORCE_COLOR"):
            monkeypatch.delenv(name, raising=False)
        with contextlib.redirect_stdout(screen):
            write(*arguments)
        return screen.getvalue()

    return on


def piped(write, *arguments):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        write(*arguments)
    return out.getvalue()


def test_a_pipe_gets_plain_columns_numbers_to_the_right():
    out = piped(_tables.show_table, ["data", "tau"], [["iris", "0.9"], ["a b", "-0.25"]])
    assert out == "data    tau\niris    0.9\na b   -0.25\n"
    assert piped(_tables.show_facts, {"a": "1", "long": "[b]x"}) == "a     1\nlong  [b]x\n"


@pytest.mark.parametrize("name", NASTY)
def test_names_with_markup_or_escapes_are_shown_as_they_are(terminal, name):
    rows = [[name, "0.5"], ["b", "0.25"]]
    calls = [(_tables.show_table, [name, "tau"], rows), (_tables.show_facts, {name: name})]
    for call in calls:
        out = terminal(100, *call)
        shown = name.encode("unicode_escape").decode()
        assert STYLES.sub("", out).count(shown) == 2
        assert "\x1b" not in STYLES.sub("", out)
        assert "\x1b[31m" not in out
        assert piped(*call).count(shown) == 2


def test_a_terminal_gets_styles_and_a_pipe_none(terminal):
    call = _tables.show_table, ["data", "tau"], [["iris", "0.9"]]
    assert "\x1b[1m" in terminal(80, *call)
    assert "\x1b" not in piped(*call)
    assert "\x1b[1m" in terminal(80, _tables.show_facts, {"labels": "a"})


@pytest.mark.parametrize("columns", [12, 20, 40, 400])
def test_a_narrow_terminal_folds_cells_and_loses_nothing(terminal, columns):
    name = "".join(chr(ord("a") + i % 26) for i in range(60))
    row = [name, "150", "0.8125"]
    for call in (
        (_tables.show_table, ["data", "rows", "tau"], [row]),
        (_tables.show_facts, {"k": name}),
    ):
        out = STYLES.sub("", terminal(columns, *call))
        assert max(map(len, out.splitlines())) <= columns
        assert "…" not in out
        assert re.sub("[^a-z]", "", out.replace("data", "").replace("rows", "")).count("z") == 2
    assert "0.8125" in out or columns < 40 or call[0] is _tables.show_facts


def test_a_terminal_without_unicode_gets_lines_of_its_characters(terminal, monkeypatch):
    monkeypatch.setattr(Terminal, "encoding", "ascii")
    out = terminal(80, _tables.show_table, ["data", "tau"], [["iris", "0.9"]])
    assert out.isascii()


def test_facts_are_told_on_stderr_in_columns_on_a_terminal_and_by_line_in_a_pipe(monkeypatch):
    facts = {"features (2)": "a, " * 40 + "[b]z", "labels": "red\x1b[31m"}
    monkeypatch.setenv("COLUMNS", "40")
    for screen, expected in (
        (Terminal(), "features (2)  a, a"),
        (io.StringIO(), "features (2): a, a"),
    ):
        with contextlib.redirect_stderr(screen):
            _tables.tell_facts(facts)
        out = STYLES.sub("", screen.getvalue())
        assert out.startswith(expected)
        assert r"red\x1b[31m" in out
        assert "[b]z" in out
    assert len(out.splitlines()) == 2


def test_titles_stand_above_facts(terminal):
    call = _tables.show_facts, {"a": "1"}, "[b]things"
    assert piped(*call) == "[b]things\na  1\n"
    assert STYLES.sub("", terminal(80, *call)).split() == ["[b]things", "a", "1"]


def test_commands_write_the_same_words_to_a_terminal_and_to_a_pipe(terminal, capsys):
    for arguments in (["datasets", "list"], ["datasets", "describe", "builtin:iris"]):
        assert main(arguments) == 0
        expected = capsys.readouterr().out.split()
        out = STYLES.sub("", terminal(200, main, arguments))
        assert [word for word in out.split() if set(word) != {"─"}] == expected
