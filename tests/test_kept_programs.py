"""The next process finds what the first one compiled, and nobody's settings change."""

import json
import os
import subprocess
import sys

import pytest

from lrrf_jax import _programs

pytestmark = pytest.mark.skipif(
    not _programs._CAN_KEEP, reason="older versions of XLA complain of what they load"
)


KNOWN = {"JAX_COMPILATION_CACHE_DIR", "LRRF_JAX_CACHE"}
COUNT = """
import jax
compiled = []
def note(event, seconds, fun_name="", **_):
    if event.endswith("backend_compile_duration"):
        compiled.append(fun_name)
jax.monitoring.register_event_duration_secs_listener(note)
"""
SESSION = (
    COUNT
    + """
import json, sys, threading
def settings():
    return {name: repr(value) for name, value in jax.config.values.items()}
def elsewhere():
    found = []
    thread = threading.Thread(target=lambda: found.append(settings()))
    thread.start()
    thread.join()
    return found[0]
jax.devices()
before = settings(), elsewhere()
from lrrf_jax import LEARNERS
from lrrf_jax.datasets import load
iris = load("iris")
ranker = LEARNERS[sys.argv[1]](**json.loads(sys.argv[2])).fit(iris.X[::10], iris.y[::10])
ranks = ranker.predict(iris.X).tolist(), ranker.predict_scores(iris.X[:40]).tolist()
same = before == (settings(), elsewhere())
ours = [name for name in compiled if name]
compiled.clear()
jax.jit(lambda x: x * 3 + 1)(2.0)  # the caller's own, which is none of our business
print(json.dumps([ranks, ours, same, len(compiled)]))
"""
)


def environment_of(**variables):
    """The environment of a process that was told nothing of caches."""
    told = {name: value for name, value in os.environ.items() if name not in KNOWN}
    return told | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | variables


def start(folder, learner="default", params=None, **variables):
    environment = environment_of(XDG_CACHE_HOME=str(folder), **variables)
    return subprocess.Popen(
        [
            sys.executable,
            "-W",
            "error::UserWarning",
            "-c",
            SESSION,
            learner,
            json.dumps(params or {}),
        ],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def outcome(process):
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert err == ""
    return json.loads(out)


def test_the_next_process_compiles_nothing_and_finds_its_settings_as_they_were(tmp_path):
    together = [outcome(process) for process in [start(tmp_path), start(tmp_path)]]
    # One may find all that the other has compiled by then.
    assert any(ours for _, ours, _, _ in together)
    assert all(same and callers for _, _, same, callers in together)
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert left
    assert {path.suffix for path in left} == {".program"}
    ranks, ours, same, callers = outcome(start(tmp_path))
    assert (ranks, ours, same, callers) == (together[0][0], [], True, 1)
    assert sorted(left) == sorted(path for path in tmp_path.rglob("*") if path.is_file())


def test_without_a_place_to_write_to_all_goes_on_without_a_word(tmp_path):
    (tmp_path / "file").write_text("")
    _, ours, same, _ = outcome(start(tmp_path / "file"))
    assert ours
    assert same


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "params"),
    [
        ("lr-rf", {"n_estimators": 5, "random_state": 0}),
        ("lr-rf", {"n_estimators": 3, "criterion": "pairwise", "random_state": 0}),
        ("lr-rf", {"n_estimators": 3, "criterion": "rac", "max_bins": "exact", "random_state": 0}),
        ("lrt-bag", {"n_estimators": 3, "random_state": 0}),
        ("lrf-ert", {"n_estimators": 3, "random_state": 0}),
        ("rpc", {}),
        ("cc", {"random_state": 0}),
        ("ll", {}),
        ("mlp", {"n_hidden": 8, "random_state": 0}),
        ("ib-m", {"random_state": 0}),
        ("ib-pl", {"random_state": 0}),
    ],
)
def test_each_family_of_learners_finds_its_programs(tmp_path, learner, params):
    ranks, ours, same, _ = outcome(start(tmp_path, learner, params))
    assert ours
    assert same
    again, left, same, _ = outcome(start(tmp_path, learner, params))
    assert again == ranks
    assert same
    assert left == []


COMMANDS = (
    COUNT
    + """
import sys
from lrrf_jax.cli import main
code = main(sys.argv[1:])
print(len(compiled))
sys.exit(code)
"""
)


@pytest.mark.slow
def test_the_command_line_keeps_its_programs_unless_it_is_told_not_to(tmp_path):
    command = ["train", "builtin:iris", "--learner", "rpc", "--model", str(tmp_path / "m.lrrf")]

    def run(*more):
        environment = environment_of(XDG_CACHE_HOME=str(tmp_path / "cache"))
        arguments = [sys.executable, "-c", COMMANDS, *command, *more]
        done = subprocess.run(
            arguments, env=environment, capture_output=True, text=True, check=True
        )
        return int(done.stdout.split()[-1])

    assert run("--no-compilation-cache") > 0
    assert not (tmp_path / "cache").exists()
    assert run() > 0
    assert run() == 0
    assert run("--no-compilation-cache") > 0


@pytest.mark.slow
def test_a_program_is_of_one_device(tmp_path):
    code = """
import jax, numpy as np, sys
from lrrf_jax.rankings.permutations import ordering_from_ranks
for device in jax.devices():
    ranks = jax.device_put(np.array([[2, 1, 3]], np.int32), device)
    found = ordering_from_ranks(ranks)
    assert found.devices() == {device} and found.committed and found.tolist() == [[1, 0, 2]]
    with jax.default_device(device):
        found = ordering_from_ranks(np.array([[2, 1, 3]], np.int32))
        assert found.devices() == {device} and not found.committed
        assert found.tolist() == [[1, 0, 2]]
"""
    devices = "--xla_force_host_platform_device_count=2"
    environment = environment_of(LRRF_JAX_CACHE=str(tmp_path), XLA_FLAGS=devices)
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code], env=environment, check=True)
        assert len(list(tmp_path.rglob("*.program"))) == 4  # for arrays that have to stay, or not


def test_what_jax_found_in_its_own_cache_is_not_kept_a_second_time(tmp_path):
    # XLA:CPU writes what it has read once more without its functions, and calls of it fail.
    code = """
import sys
import jax, numpy as np
from lrrf_jax import use_compilation_cache
from lrrf_jax.rankings.permutations import ordering_from_ranks
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
use_compilation_cache(sys.argv[1])
print(np.asarray(ordering_from_ranks(np.array([[2, 1, 3], [1, 3, 2]], np.int32))).tolist())
"""
    environment = environment_of()

    def told():
        run = [sys.executable, "-c", code, str(tmp_path)]
        done = subprocess.run(run, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    first = told()  # both caches keep it
    kept = list(tmp_path.rglob("*.program"))
    assert kept
    for path in kept:
        path.unlink()
    assert [told(), told()] == [first, first]  # JAX has it; the second finds what the first kept
    assert not list(tmp_path.rglob("*.program"))
