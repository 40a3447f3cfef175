"""Every notebook runs from top to bottom, in its small-data mode, and keeps its outputs in git."""

import os
import pathlib
import subprocess
import sys

import nbformat
import pytest

NOTEBOOKS = sorted((pathlib.Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
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
    environment = os.environ | {"LRRF_SMALL": "1", "IPYTHONDIR": str(tmp_path)}
    command = [sys.executable, "-c", RUN, str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_committed_with_its_outputs(path):
    cells = [c for c in nbformat.read(path, 4).cells if c.cell_type == "code"]
    assert all(cell.execution_count for cell in cells)
    assert not any(out.output_type == "error" for cell in cells for out in cell.outputs)
