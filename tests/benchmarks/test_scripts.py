"""The scripts, as modules: what they check with, and their exit codes."""

import importlib.util
import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from tests.trees.cases import random_forest

SCRIPTS = pathlib.Path(__file__).parents[2] / "scripts"


def load(name):
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    path = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = path
    return module


@pytest.mark.slow
def test_the_script_writes_resumes_and_plots_one_json(tmp_path):
    output = tmp_path / "benchmark.json"
    run = [sys.executable, str(SCRIPTS / "benchmark.py"), "--output", str(output)]
    small = ["--quick", "--only", "predict", "--rows", "1", "--rounds", "1"]
    subprocess.run([*run, *small], check=True, capture_output=True)
    first = json.loads(output.read_text())
    again = subprocess.run(
        [*run, *small, "--rows", "1", "2", "--resume"], check=True, capture_output=True, text=True
    )
    second = json.loads(output.read_text())
    assert second["cells"][0] == first["cells"][0]
    assert [cell["rows"] for cell in second["cells"]] == [1, 2]
    assert "| d 16, m 10 | 2 |" in again.stdout
    pytest.importorskip("matplotlib")
    plot = [*run, "--plot", str(tmp_path / "plot.png")]
    drawn = subprocess.run(plot, check=True, capture_output=True, text=True)
    assert drawn.stdout == again.stdout
    assert (tmp_path / "plot.png").stat().st_size > 1000
    refused = subprocess.run(
        [*run, "--shapes", "d1m1"], check=False, capture_output=True, text=True
    )
    assert refused.returncode == 1
    assert "d1m1 not among d16m10, d9m5, d70m4" in refused.stderr


def test_growing_and_predicting_need_jax_numpy_chex_and_scikit_learn_only():
    code = """
import importlib.abc, sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        absent = ("safetensors", "tqdm", "pyarrow", "pandas", "polars", "jinja2", "optax", "typer")
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import lrrf_jax.benchmarks
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_hashes_of_learners_tell_one_changed_rank_or_test_and_not_how_a_forest_is_laid_out():
    script = load("hash_learners")
    forest, _ = random_forest(np.random.default_rng(2), 3, 4, 2, 3, lowest=1)
    hashes = {script.forest_digest(forest)}
    # One level more, which no node uses: each leaf twice.
    more = ((0, 0), (0, 2**forest.depth))
    deeper = forest._replace(
        feature=np.pad(forest.feature, more),
        threshold=np.pad(forest.threshold, more, constant_values=np.inf),
        missing_left=np.pad(forest.missing_left, more),
        leaf_slot=np.repeat(forest.leaf_slot, 2, axis=1),
    )
    assert script.forest_digest(deeper) in hashes
    feature = forest.feature.copy()
    split = tuple(np.argwhere(forest.threshold < np.inf)[0])
    feature[split] ^= 1
    hashes.add(script.forest_digest(forest._replace(feature=feature)))
    value = forest.leaf_value.copy()
    value[0, 0] += 1
    hashes.add(script.forest_digest(forest._replace(leaf_value=value)))
    assert len(hashes) == 3
    assert len(script.tables()) == 8


def test_the_start_script_takes_medians_of_rounds_and_judges_their_sums():
    script = load("benchmark_start")

    def one_round(fit, predict, answer):
        step = {"compiled": 1, "read": 0}
        contact = {
            "first fit": {"wall_s": fit, "cpu_s": 2 * fit, **step},
            "first predict": {"wall_s": predict, "cpu_s": 2 * predict, **step},
        }
        return {
            "imports": {"lrrf_jax, with a learner": {"wall_s": 9.0, "cpu_s": 0.2}},
            "no programs": contact,
            "programs kept": contact,
            "command line": {name: {"wall_s": 9.0, "cpu_s": answer} for name in script.COMMANDS},
        }

    parts = script.summary([one_round(0.9, 0.3, 0.1), one_round(5, 0.1, 0.31), one_round(1, 9, 1)])
    first = parts["no programs"]["first fit"]
    assert (first["wall_s"], first["cpu_s"], first["compiled"]) == (1, 2, 1)
    assert first["rounds"]["wall_s"] == [0.9, 5, 1]
    bars = {bar["bar"]: bar for bar in script.judged(parts)}
    assert "the tenth new small data set" not in bars  # which was not measured
    first = "first fit and predict of 150 rows"
    for cache, met in (("no programs kept", True), ("programs kept", False)):
        bar = bars[f"{first}, {cache}"]
        assert (bar["value_s"], bar["met"]) == (1.3, met)
    assert bars["import beyond JAX"]["met"]
    assert not any(bars[f"lrrf: {name}"]["met"] for name in script.COMMANDS)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it moves the cache as on Linux")
def test_the_start_script_measures_processes_with_and_without_programs(tmp_path):
    output = tmp_path / "start.json"
    command = [sys.executable, SCRIPTS / "benchmark_start.py", "--quick", "--output", output]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads(output.read_text())
    assert document["rounds"] == 1
    assert document["versions"].keys() >= {"jax", "lrrf_jax"}
    parts = document["parts"]
    assert parts["no programs"].keys() == parts["programs kept"].keys()
    assert parts["no programs"].keys() >= {"first fit", "first predict", "data set 2", "warm fit"}
    assert parts["no programs"]["first fit"]["compiled"] > 0
    for part, name in (("no programs", "read"), ("programs kept", "compiled")):
        assert sum(step.get(name, 0) for step in parts[part].values()) == 0, part
    times = [step["wall_s"] for steps in parts.values() for step in steps.values()]
    assert min(times) > 0
    assert {bar["bar"] for bar in document["bars"]} >= {"import beyond JAX", "lrrf: no such model"}


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it moves the cache as on Linux")
def test_the_start_script_replaces_what_is_said_to_mistakes_and_nothing_else(tmp_path):
    output = tmp_path / "start.json"
    before = json.loads((SCRIPTS.parent / "benchmarks/start.json").read_text())
    output.write_text(json.dumps(before))
    command = [sys.executable, SCRIPTS / "benchmark_start.py", "--mistakes", "--rounds", "1"]
    done = subprocess.run([*command, "--output", output], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    after = json.loads(output.read_text())
    steps = before["parts"]["command line"], after["parts"]["command line"]
    changed = {name for name, step in steps[1].items() if steps[0].get(name) != step}
    assert changed == load("benchmark_start").COMMANDS.keys()
    assert {**after["parts"], "command line": 0} == {**before["parts"], "command line": 0}
