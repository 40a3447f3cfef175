"""The page of what users expect names tests that there are."""

import pathlib
import re

import pytest

TESTS = pathlib.Path(__file__).parent
PAGE = (TESTS.parent / "docs/expectations.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if re.match(r"\|.*\| [MSC] \|", line)
]
KNOWN = {
    name
    for path in TESTS.rglob("test_*.py")
    for name in re.findall(r"^def (test_\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE)
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_row_that_is_not_open_names_tests_that_there_are(row):
    _, priority, here, tests = row
    named = re.findall(r"`(test_\w+)`", tests)
    assert set(named) <= KNOWN
    assert re.sub(r"`test_\w+`|[, ]", "", tests) == ""
    assert bool(named) != (here == "not yet")
    assert named or priority != "M"


def test_all_rows_are_there():
    assert len(ROWS) == 30
