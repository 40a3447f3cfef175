"""The script for accelerators, rehearsed on the CPU: its checks, its JSON, its exit codes."""

import importlib
import json
import pathlib
import sys

import jax
import numpy as np
import pytest

from lrrf_jax.benchmarks import Plan, Shape
from lrrf_jax.benchmarks.cases import synthetic
from lrrf_jax.benchmarks.engines import prediction_forest
from tests.tree_oracles import plain_sums
from tests.trees.cases import awkward_rows, random_forest

SCRIPTS = pathlib.Path(__file__).parents[2] / "scripts"
TINY = Plan(
    shapes=(Shape(3, 3),),
    predict_rows=(1, 3000),
    fit_rows=(60,),
    training_rows=60,
    n_trees=3,
    max_depth=3,
    max_bins=15,
    rounds=2,
    cell_seconds=0.5,
)
FORMS = ("gathered", "pallas", "predict_on_device")
KERNEL = {
    "rows": int,
    "seconds_of_one_call": float,
    "seconds_in_a_row": float,
    "rows_a_second": int,
    "share_of_copy_bandwidth": float,
    "ptx_instructions_a_row": (float, type(None)),
    "share_of_issue_rate": (float, type(None)),
}
SCHEMA = {
    "platform": str,
    "device": str,
    "is_accelerator": bool,
    "copy_gib_a_second": float,
    "integer_instructions_a_second": int,
    "shapes": [
        {
            "shape": str,
            "rows": int,
            "rows_a_second_from_host": int,
            "rows_a_second_on_device": int,
            "share_of_copy_bandwidth": float,
            "kernels": dict.fromkeys(FORMS, KERNEL),
            "transfers": {
                "block_rows": int,
                "blocks": int,
                "put_seconds_a_block": float,
                "compute_seconds_a_block": float,
                "fetch_seconds_a_block": float,
                "fetch_seconds_a_block_as_uint8": float,
                "put_gib_a_second": float,
                "fetch_gib_a_second": float,
                "in_turn_seconds": float,
                "predict_seconds": float,
                "share_of_slowest_part": float,
            },
            "rivals": {"nvForest": {"left_out": str}, "cuML FIL": {"left_out": str}},
            "peak_device_mib": (float, type(None)),
            "rows_compared_with_cpu": int,
            "rows_that_differ_from_cpu": int,
            "rows_of_forms_that_differ_from_cpu": dict.fromkeys(FORMS, int),
            "rows_compared_with_loop": int,
            "rows_that_differ_from_loop": int,
        }
    ],
    "training": [
        {
            "shape": str,
            "rows": int,
            "trees": int,
            "criterion": str,
            "seconds": float,
            "forest_equals_that_of_cpu": bool,
        }
    ],
}


def assert_fits(value, schema, where="accelerator"):
    """Compare keys and types, all the way down."""
    if isinstance(schema, dict):
        assert value.keys() == schema.keys(), where
        for key, part in schema.items():
            assert_fits(value[key], part, f"{where}.{key}")
    elif isinstance(schema, list):
        assert value, where
        for entry in value:
            assert_fits(entry, schema[0], where)
    else:
        assert isinstance(value, schema), f"{where} is {value!r}"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("benchmark_gpu")


@pytest.fixture
def part(script):
    return lambda name: importlib.import_module(f"gpu_benchmark.{name}")


def run(script, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["benchmark_gpu.py", *map(str, arguments)])
    return script.main()


def test_its_loop_ranks_by_the_sums_of_single_walks(part):
    equality = part("equality")
    rng = np.random.default_rng(1)
    forest, grid = random_forest(rng, 4, 5, 4, 3, lowest=1)
    rows = awkward_rows(rng, 200, grid)
    sums = plain_sums(rows, forest)
    expected = 1 + np.argsort(np.argsort(sums, axis=1, kind="stable"), axis=1)
    np.testing.assert_array_equal(equality.loop_ranks(forest, rows), expected)
    rows = equality.with_awkward_values(rows, forest)
    on_threshold = [
        (rows[:, feature] == threshold).any()
        for feature, threshold in zip(forest.feature.flat, forest.threshold.flat, strict=True)
        if np.isfinite(threshold)
    ]
    assert any(on_threshold)


def test_forests_are_equal_where_their_bytes_are(part):
    zeros = [np.zeros(2, np.float32), np.arange(3)]
    equal = part("training").equal_forests
    assert equal(zeros, [a.copy() for a in zeros])
    assert not equal(zeros, [-zeros[0], zeros[1]])
    assert not equal(zeros, [zeros[0][:1], zeros[1]])
    assert not equal(zeros, [zeros[0].astype(np.float64), zeros[1]])


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="there is an accelerator")
def test_without_an_accelerator_nothing_is_measured(script, monkeypatch, tmp_path, capsys):
    output = tmp_path / "gpu.json"
    assert run(script, monkeypatch, "--output", output) == script.EXIT_NO_ACCELERATOR
    assert "no accelerator here" in capsys.readouterr().err
    assert not output.exists()


def test_a_rival_gets_equal_trees_and_is_timed_and_compared(part, monkeypatch):
    """In the place of nvForest: the interpreter of treelite, one of whose sums is then wrong."""
    gtil = pytest.importorskip("treelite.gtil")
    rivals, wrong = part("rivals"), []

    class Library:
        @staticmethod
        def load_from_treelite_model(model, device):
            assert device == "gpu"

            class Model:
                @staticmethod
                def predict(rows):
                    sums = gtil.predict(model, rows)
                    return -sums if wrong else sums

            return Model

    class Cupy:
        asarray = np.asarray

        class cuda:
            class Device:
                def synchronize(self):
                    pass

    def find(name):
        found = {"nvforest": Library, "cupy": Cupy, "treelite": object}
        if name not in found:
            raise rivals.NotHere(f"no {name}")
        return found[name]

    monkeypatch.setattr(rivals, "_import", find)
    ranker = prediction_forest(TINY, synthetic(TINY.shapes[0], 60, seed=0))
    features, _ = synthetic(TINY.shapes[0], 200, seed=1)
    found = rivals.measure_rivals(ranker, features)
    assert found["nvForest"]["rows_that_differ"] == 0
    assert found["nvForest"]["rows_a_second"] > 0
    assert found["cuML FIL"] == {"left_out": "no cuml.fil"}
    wrong.append(True)
    assert rivals.measure_rivals(ranker, features)["nvForest"]["rows_that_differ"] > 100


@pytest.mark.slow
def test_a_rehearsal_measures_all_and_compares_with_a_process_on_the_cpu(
    script, part, monkeypatch, tmp_path
):
    monkeypatch.setattr(script, "QUICK", TINY)
    monkeypatch.setattr(part("clocks"), "COPIED_BYTES", 2**20)
    monkeypatch.setattr(part("clocks"), "MULTIPLIED", 2**12)
    arguments = ("--quick", "--allow-cpu", "--output", tmp_path / "gpu.json")
    assert run(script, monkeypatch, *arguments) == 0
    document = json.loads((tmp_path / "gpu.json").read_text())
    assert document["what"].startswith("A REHEARSAL ON THE CPU")
    assert_fits(document["accelerator"], SCHEMA)
    [shape] = document["accelerator"]["shapes"]
    assert shape["rows_compared_with_cpu"] == 3000
    assert shape["rows_that_differ_from_cpu"] == shape["rows_that_differ_from_loop"] == 0
    assert shape["rows_of_forms_that_differ_from_cpu"] == dict.fromkeys(FORMS, 0)
    fits = document["accelerator"]["training"]
    assert [fit["criterion"] for fit in fits] == ["tlac", "pairwise", "positions", "rac"]
    assert all(fit["forest_equals_that_of_cpu"] for fit in fits)
    # One wrong rank must be noticed.
    loop_ranks = part("equality").loop_ranks

    def one_row_wrong(forest, rows):
        ranks = loop_ranks(forest, rows)
        ranks[-1] = ranks[-1][::-1]
        return ranks

    monkeypatch.setattr(part("equality"), "loop_ranks", one_row_wrong)
    assert run(script, monkeypatch, *arguments, "--only-device") == script.EXIT_DIFFERENT


def test_one_difference_anywhere_is_a_difference(script):
    shape = {
        "rows_that_differ_from_cpu": 0,
        "rows_that_differ_from_loop": 0,
        "rows_of_forms_that_differ_from_cpu": {"gathered": 0, "pallas": 0},
    }
    fit = {"forest_equals_that_of_cpu": True}
    assert script.all_equal({"shapes": [shape], "training": [fit]})
    for changes in (
        {"rows_that_differ_from_cpu": 1},
        {"rows_that_differ_from_loop": 1},
        {"rows_of_forms_that_differ_from_cpu": {"gathered": 0, "pallas": 1}},
    ):
        assert not script.all_equal({"shapes": [shape, shape | changes], "training": [fit]})
    other = {"forest_equals_that_of_cpu": False}
    assert not script.all_equal({"shapes": [shape], "training": [fit, other]})
