"""What keeps the core readable: its size, and who may ask what."""

import ast
from pathlib import Path

import pytest

import lrrf_jax

PACKAGE = Path(lrrf_jax.__file__).parent
SOURCES = {path: ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}
TREES = [path for path in SOURCES if path.parent.name == "trees"]
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def parameters(function):
    """Names of all parameters of a function but ``self`` and ``cls``."""
    own = function.args
    names = [argument.arg for argument in (*own.posonlyargs, *own.args, *own.kwonlyargs)]
    names += [argument.arg for argument in (own.vararg, own.kwarg) if argument]
    return [name for name in names if name not in ("self", "cls")]


def functions(path):
    """(where, parameters) of every function of a file, inner ones and lambdas too."""
    for node in ast.walk(SOURCES[path]):
        if isinstance(node, FUNCTIONS):
            name = getattr(node, "name", "lambda")
            yield f"{path.relative_to(PACKAGE)}:{node.lineno} {name}", parameters(node)


def test_parameters_are_counted_as_they_are_written():
    code = "class A:\n def f(self, a, /, b, *c, d, e=1, **g): return lambda h: 0"
    found = [parameters(node) for node in ast.walk(ast.parse(code)) if isinstance(node, FUNCTIONS)]
    assert [sorted(names) for names in found] == [["a", "b", "c", "d", "e", "g"], ["h"]]


def test_trees_has_at_most_21_files_and_3850_lines():
    assert 15 < len(TREES) <= 21
    assert sum(len(path.read_text().splitlines()) for path in TREES) <= 3850


@pytest.mark.parametrize("part", ["trees", "rankings"])
def test_no_function_of_the_core_has_more_than_six_arguments(part):
    found = [
        (where, names)
        for path in SOURCES
        if part in path.relative_to(PACKAGE).parts
        for where, names in functions(path)
    ]
    assert len(found) > 50
    assert [where for where, names in found if len(names) > 6] == []


def test_no_parameter_is_called_zero():
    assert [where for path in SOURCES for where, names in functions(path) if "zero" in names] == []


def criteria():
    """Names of the criteria of trees/: the class ``Criterion`` and all below it."""
    bases = {
        node.name: {ast.unparse(base) for base in node.bases}
        for path in TREES
        for node in ast.walk(SOURCES[path])
        if isinstance(node, ast.ClassDef)
    }
    found = {"Criterion"}
    while more := {name for name in bases if bases[name] & found} - found:
        found |= more
    return found


def test_criteria_are_asked_what_they_are_at_most_twice():
    names = criteria()
    assert {"ClassEntropy", "Variance", "SimilarityEntropy", "MeanSimilarity"} < names
    asked = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path, tree in SOURCES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("isinstance", "issubclass")
        and names & {ast.unparse(part).split(".")[-1] for part in ast.walk(node.args[1])}
    ]
    assert len(asked) <= 2, asked
