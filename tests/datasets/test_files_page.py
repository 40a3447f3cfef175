"""What the table in docs/files.md says is so; its sessions run with those of the other pages."""

import pathlib
import re

import numpy as np
import pytest

from lrrf_jax import InputError
from lrrf_jax.datasets import read

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "files.md"


def rows_of_table():
    text = PAGE.read_text(encoding="utf-8").split("## What becomes what")[1].split("## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("row", rows_of_table(), ids=lambda row: f"{row[0]} {row[1]}")
def test_a_row_of_the_table_is_what_is_read(tmp_path, row):
    cells, said, becomes = row
    cells = [cell for cell in re.findall(r"`([^`]*)`(?: |$)", cells.replace("``", "` `"))]
    assert len(cells) == 3
    said = eval(f"dict({said.strip('`')})")
    path = tmp_path / "t.csv"
    rows = [f"{cell.strip()};{k % 2 + 1};{2 - k % 2}\n" for k, cell in enumerate(cells)]
    path.write_text("A;L1;L2\n" + "".join(rows))
    if becomes.startswith("error: "):
        with pytest.raises(InputError) as caught:
            read(path, **said)
        assert becomes.removeprefix("error: ") in str(caught.value)
        return
    X = read(path, **said).X
    if isinstance(X, np.ndarray):
        expected = eval(becomes.strip("`"), {"nan": np.nan})
        np.testing.assert_array_equal(X[:, 0], np.float32(expected))
    else:
        assert X["A"].to_pylist() == list(eval(becomes.strip("`")))
