"""What README and the pages in docs/ show is what happens."""

import doctest
import pathlib
import re

import pytest

DOCS = pathlib.Path(__file__).parents[1] / "docs"
README = DOCS.parent / "README.md"
PAGES = [page for page in sorted(DOCS.glob("*.md")) if "```python\n>>> " in page.read_text("utf-8")]


def session_of(page):
    """Take the Python sessions of a page, which go on from each other."""
    blocks = re.findall(r"^```python\n(>>> .*?)^```$", page.read_text("utf-8"), re.DOTALL | re.M)
    assert blocks
    return "\n".join(blocks)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_sessions_of_a_page_print_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(session_of(page), {}, page.name, str(page), 0)
    assert test.examples
    said = []
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    doctest.DocTestRunner(optionflags=flags, verbose=False).run(test, out=said.append)
    assert not said, "".join(said)


def programs_of(page):
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.M)
    return [block for block in blocks if not block.startswith(">>> ")]


WITH_PROGRAMS = [page for page in (README, *sorted(DOCS.glob("*.md"))) if programs_of(page)]


@pytest.mark.parametrize("page", WITH_PROGRAMS, ids=lambda page: page.stem)
def test_the_programs_of_a_page_run_one_after_another(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for program in programs_of(page):
        exec(compile(program, str(page), "exec"), names)


def test_some_page_has_sessions():
    assert "forests" in [page.stem for page in PAGES]
