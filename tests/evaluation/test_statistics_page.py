"""What docs/statistics.md shows is what happens."""

import doctest
import pathlib
import re

PAGE = pathlib.Path(__file__).parents[2] / "docs/statistics.md"


def test_the_examples_of_the_page_print_what_it_shows():
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted > 10
    assert result.failed == 0


def test_functions_and_tests_that_the_page_names_are_there():
    from lrrf_jax import evaluation

    text = PAGE.read_text(encoding="utf-8")
    table = text[: text.index("`lrrf evaluate DATA")]
    names = re.findall(r"`([a-z_]+)`", table)
    assert len(names) > 8
    assert all(hasattr(evaluation, name) for name in names)
    files = re.findall(r"`(?:tests/evaluation/)?(test_\w+\.py)`", text)
    assert files
    assert all((pathlib.Path(__file__).parent / name).exists() for name in files)
