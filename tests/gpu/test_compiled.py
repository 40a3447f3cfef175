"""What XLA makes of programs for an H200: compiled where the plugin is, never run.

``scripts/gpu_venv.sh`` runs these; LRRF_GPU_PYTHON is a Python with XLA's CUDA plugin.
"""

import functools
import json
import os
import pathlib
import subprocess
import tempfile

import pytest

from tests.gpu.conftest import SCRIPTS

PYTHON = os.environ.get("LRRF_GPU_PYTHON")
pytestmark = [
    pytest.mark.gpu_compile,
    pytest.mark.skipif(PYTHON is None, reason="LRRF_GPU_PYTHON names no Python with the plugin"),
]
SHAPES = {"d16m10": (16, 10), "d9m5": (9, 5), "d70m4": (70, 4)}
MOST_RANKING_KERNELS, MOST_GROWING_KERNELS, MOST_GROWING_WAITS = 40, 700, 40
MOST_INSTRUCTIONS_TO_RANK = 900  # a row of 10 labels
LEAST_MODELLED_MILLION_ROWS = 250  # a second, where 65,536 rows of 16 features are ranked


@functools.cache
def figures(*arguments):
    """Let the tool compile a program; return what it counts."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "figures.json")
        command = [PYTHON, SCRIPTS / "compile_for_gpu.py", *arguments, "--json", output]
        told = subprocess.run(command, capture_output=True, text=True)
        assert told.returncode == 0, told.stderr
        return json.loads(output.read_text())


def of_rows(shape, *more):
    n_features, n_labels = SHAPES[shape]
    return ("--features", str(n_features), "--labels", str(n_labels), *more)


def of_growth(criterion, *more):
    return figures("grow", "--rows", "100000", "--trees", "32", "--criterion", criterion, *more)


def assert_rounds_as_a_cpu(found):
    """No approximate division or logarithm, no product that is added before it is rounded."""
    watched = {name: found[name] for name in ("div.full", "lg2.approx", "fma.rn.f32")}
    assert not any(watched.values()), found["watched in kernels"]


@pytest.mark.parametrize("rows", [65_536, 1_048_576])
@pytest.mark.parametrize("shape", SHAPES)
def test_ranks_take_few_kernels_and_never_stop_the_host(shape, rows):
    found = figures("ranks", *of_rows(shape), "--rows", str(rows))
    assert found["host waits"] == 0
    assert found["kernels"] <= MOST_RANKING_KERNELS
    assert found["atom.cas"] == 0
    assert_rounds_as_a_cpu(found)


def test_the_model_ranks_a_quarter_of_a_billion_rows_a_second_and_compares_each_pair_once():
    found = figures("ranks", *of_rows("d16m10"), "--rows", "65536")
    assert found["modelled million rows a second"] >= LEAST_MODELLED_MILLION_ROWS
    assert 0 < found["PTX instructions a row to rank"] <= MOST_INSTRUCTIONS_TO_RANK


@pytest.mark.parametrize(
    "more",
    [
        ("--rows", "1024"),
        ("--pallas",),
        ("--depth", "16", "--trees", "20"),
        ("--thresholds", "1000"),
        ("--aggregation", "one-step"),
        ("--aggregation", "copeland"),
        ("--aggregation", "kemeny", "--labels", "5"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("what", ["ranks", "scores"])
def test_no_way_to_rank_or_score_stops_the_host(what, more):
    found = figures(what, *more)
    assert found["host waits"] == 0
    assert found["loops that stop the host"] == 0
    assert_rounds_as_a_cpu(found)


@pytest.mark.parametrize("depth", [8, 16])
def test_leaves_are_found_without_stopping_the_host(depth):
    found = figures("apply", "--depth", str(depth), "--trees", "20")
    assert found["host waits"] == 0
    assert found["kernels"] <= 2.5 * MOST_RANKING_KERNELS  # XLA writes each level by rows


def test_trees_grow_with_few_kernels_and_one_wait_a_level_or_little_more():
    found = of_growth("tlac")
    assert found["kernels"] <= MOST_GROWING_KERNELS
    assert found["host waits"] <= MOST_GROWING_WAITS


def test_trees_of_whole_rankings_grow_within_ten_times_that():
    found = of_growth("rac")
    assert found["kernels"] <= 10 * MOST_GROWING_KERNELS
    assert found["host waits"] <= 10 * MOST_GROWING_WAITS


def test_trees_of_rankings_with_ties_grow_within_twice_that_and_wait_no_more():
    found = of_growth("tlac", "--ties")
    assert found["kernels"] <= 2 * MOST_GROWING_KERNELS
    assert found["host waits"] <= MOST_GROWING_WAITS
    assert_rounds_as_a_cpu(found)
    assert found["atom.cas"] == 0, found["watched in kernels"]


@pytest.mark.parametrize("criterion", ["tlac", "rac", "pairwise", "positions"])
def test_scores_of_splits_round_as_on_a_cpu_and_sums_need_no_compare_and_swap(criterion):
    found = of_growth(criterion)
    assert_rounds_as_a_cpu(found)
    assert found["atom.cas"] == 0, found["watched in kernels"]


@pytest.mark.parametrize("program", ["boost --depth 4 --trees 200", "mlp", "stack --labels 5"])
def test_boosted_trees_perceptrons_and_stacks_rank_without_stopping_the_host(program):
    found = figures(*program.split())
    assert found["host waits"] == 0
    assert found["kernels"] <= MOST_RANKING_KERNELS


@pytest.mark.parametrize(
    ("program", "n_loops"), [("fit-rpc", 1), ("fit-ll", 1), ("fit-mlp", 2), ("fit-boost", 2)]
)
def test_fits_stop_the_host_for_their_steps_and_for_levels_of_trees_alone(program, n_loops):
    found = figures(program, "--rows", "100000", "--depth", "4")
    assert found["loops that stop the host"] == n_loops
