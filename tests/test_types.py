"""Type checkers know the public face: pyright and mypy, over programs as users write them."""

import ast
import importlib
import inspect
import json
import pathlib
import re
import subprocess
import sys

import pytest

from lrrf_jax import LEARNERS

ROOT = pathlib.Path(__file__).parents[1]
PROGRAMS = ROOT / "tests" / "typing"
LAZY = [
    ".".join(path.parent.relative_to(ROOT).parts)
    for path in sorted(ROOT.glob("lrrf_jax/**/__init__.py"))
    if "= lazily(" in path.read_text("utf-8")
]
# What has a base or an argument from a library that does not say all of its types: a pipeline of
# scikit-learn, a jax.Device, the models of other libraries.
BEHIND_OTHERS = (
    *("lrrf_jax.RankingPipeline", "lrrf_jax.pipelines.", "lrrf_jax.learners.on_device."),
    *("lrrf_jax.learners.streaming.", "lrrf_jax.learners.forest.predict."),
    *("lrrf_jax.interchange.", "lrrf_jax.serving."),
)


def run(*command):
    return subprocess.run(
        [sys.executable, "-m", *map(str, command)], cwd=ROOT, capture_output=True, text=True
    )


def lines_by_pyright(files):
    said = json.loads(run("pyright", "--outputjson", *files).stdout)
    assert said["summary"]["filesAnalyzed"] == len(files)
    return {
        (pathlib.Path(found["file"]).name, found["range"]["start"]["line"] + 1)
        for found in said["generalDiagnostics"]
    }


def lines_by_mypy(files):
    done = run("mypy", *files)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = re.findall(r"^(\S+):(\d+): error: ", done.stdout, re.MULTILINE)
    return {(pathlib.Path(path).name, int(line)) for path, line in found}


def all_parameters():
    """Write a program that names every parameter of every learner, with its default."""
    yield "from lrrf_jax import learners\n\n"
    for learner in LEARNERS.values():
        first, *parameters = inspect.signature(learner.__init__).parameters.values()
        given = ", ".join(f"{one.name}={one.default!r}" for one in parameters)
        yield f"learners.{learner.__name__}({given})\n"


@pytest.fixture(scope="module", params=[lines_by_pyright, lines_by_mypy])
def wrong_lines(request, tmp_path_factory):
    written = tmp_path_factory.mktemp("types") / "all_parameters.py"
    written.write_text("".join(all_parameters()))
    return request.param([PROGRAMS / "user_program.py", PROGRAMS / "mistakes.py", written])


def of(file, lines):
    return sorted(line for name, line in lines if name == file)


def test_a_program_of_a_user_has_the_types_that_it_states(wrong_lines):
    assert of("user_program.py", wrong_lines) == []


def test_every_parameter_of_every_learner_is_known(wrong_lines):
    assert of("all_parameters.py", wrong_lines) == []


def test_every_mistake_is_found_and_nothing_else(wrong_lines):
    lines = (PROGRAMS / "mistakes.py").read_text("utf-8").splitlines()
    marked = [number for number, line in enumerate(lines, 1) if "# wrong: " in line]
    assert len(marked) > 15
    assert of("mistakes.py", wrong_lines) == marked


def test_the_program_of_a_user_makes_every_learner():
    program = (PROGRAMS / "user_program.py").read_text("utf-8")
    assert [one.__name__ for one in LEARNERS.values() if f"{one.__name__}(" not in program] == []


def test_all_that_is_exported_has_a_type_but_for_what_other_libraries_bring():
    said = json.loads(
        run("pyright", "--outputjson", "--verifytypes", "lrrf_jax", "--ignoreexternal").stdout
    )
    whole = said["typeCompleteness"]
    assert whole["packageName"] == "lrrf_jax"
    assert len(whole["symbols"]) > 2000
    unknown = [
        one["name"]
        for one in whole["symbols"]
        if one["isExported"] and not (one["isTypeKnown"] and not one["isTypeAmbiguous"])
    ]
    assert [name for name in unknown if not name.startswith(BEHIND_OTHERS)] == []
    assert whole["completenessScore"] > 0.99


@pytest.mark.parametrize("package", LAZY)
def test_what_is_imported_late_is_told_to_type_checkers_from_the_same_modules(package):
    module = importlib.import_module(package)
    told = {
        alias.name: node.module
        for block in ast.parse(inspect.getsource(module)).body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    homes = dict(module._HOMES, **({"LabelRanker": "base"} if package.endswith("learners") else {}))
    late = {name for name, home in homes.items() if home}
    assert late
    assert late - set(told) == set()
    for name in late:
        assert getattr(module, name) is getattr(importlib.import_module(told[name]), name)
