"""The script that counts on how many sets a learner reaches the paper's column."""

import dataclasses
import importlib.util
from pathlib import Path

import pytest

from lrrf_jax.evaluation import FoldResult, ResultsFile, published_table

SCRIPT = Path(__file__).parents[2] / "scripts" / "against_published.py"


@pytest.fixture
def main():
    spec = importlib.util.spec_from_file_location("against_published", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script.main


def test_sets_count_within_the_margin_by_the_mean_of_honest_folds(main, tmp_path, capsys):
    table = published_table(5)
    printed = dict(zip(table.datasets, table.scores[:, table.methods.index("RPC")], strict=True))
    fold = FoldResult("rpc", "iris", 0.6, "delete-once", False, 10, 0, 0, 0, "{}", "1", "here")
    away = {"iris": (0.01, -0.067), "wine": (-0.05, -0.03), "glass": (0.5,)}  # of two folds, or one
    folds = [
        dataclasses.replace(fold, data=data, fold=k, tau=printed[data] + gap)
        for data, gaps in away.items()
        for k, gap in enumerate(gaps)
    ]
    others = [
        dataclasses.replace(fold, tau=-1.0, **other)
        for other in (
            {"protocol": "as-run-by-authors"},  # knows what is deleted
            {"missing": 0.1},  # is in no table
            {"learner": "pw-rf"},  # has no column
        )
    ]
    ResultsFile(tmp_path / "folds.csv").append(folds + others)
    main(str(tmp_path / "folds.csv"))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[2] == "| rpc | 60% | 2 of 3 | +0.144 | wine -0.040 (2) |"
