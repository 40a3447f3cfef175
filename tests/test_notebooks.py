"""Every notebook runs from top to bottom, in its small-data mode, and keeps its outputs in git."""

import ast
import json
import os
import pathlib
import re
import subprocess
import sys

import nbformat
import pytest

NOTEBOOKS = sorted((pathlib.Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
# Compiling is nearly all that they do with few rows, and what they show is not compared here.
FAST_COMPILER = {"XLA_FLAGS": "--xla_backend_optimization_level=0"}
RUN = """
import sys, nbformat
from nbclient import NotebookClient
NotebookClient(nbformat.read(sys.argv[1], 4), timeout=300, kernel_name="python3").execute()
"""


def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.mark.notebook
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path, tmp_path):
    # In a process of its own: Jupyter starts an event loop, and warns of what it does itself.
    environment = os.environ | FAST_COMPILER | {"LRRF_SMALL": "1", "IPYTHONDIR": str(tmp_path)}
    command = [sys.executable, "-c", RUN, str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_committed_with_its_outputs(path):
    cells = [c for c in nbformat.read(path, 4).cells if c.cell_type == "code"]
    assert all(cell.execution_count for cell in cells)
    assert not any(out.output_type == "error" for cell in cells for out in cell.outputs)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small_defines_no_functions_and_tells_no_path(path):
    assert path.stat().st_size < 300_000
    cells = [c for c in nbformat.read(path, 4).cells if c.cell_type == "code"]
    for cell in cells:
        kinds = {type(node) for node in ast.walk(ast.parse(cell.source))}
        assert not kinds & {ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda}
        assert not re.search(r"/(home|tmp|work|root|Users)/", json.dumps(cell.outputs))
