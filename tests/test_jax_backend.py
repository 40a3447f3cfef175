"""Devices that are not there, forks and threads: an answer, or at once an error with the way out.

Each case has a process of its own, whose end is waited for: what must not happen is that it hangs.
"""

import concurrent.futures
import os
import subprocess
import sys

import jax
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from lrrf_jax import LEARNERS, BackendError
from lrrf_jax.datasets import load

ENDS_IN = 120  # seconds, of a busy machine
DATA = load("iris")

PRELUDE = """
import concurrent.futures, multiprocessing, os, sys, warnings
import numpy as np
import lrrf_jax
from lrrf_jax import LEARNERS, load

X = np.arange(40.0).reshape(20, 2)
Y = np.tile([[1, 2, 3], [3, 1, 2]], (10, 1))

def told(call):
    try:
        return str(call())
    except Exception as error:
        return f"{type(error).__name__}: {error}"

def n_ranked(model, n_rows):
    return len(model.predict(np.zeros((n_rows, 2))))
"""


def outcome(tmp_path, script, **environment):
    """Run a script in a directory; returns its lines."""
    path = tmp_path / "script.py"
    path.write_text(PRELUDE + script)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(path)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | environment,
        capture_output=True,
        text=True,
        timeout=ENDS_IN,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(
    "platform", ["cuda", pytest.param("no-such-thing", marks=pytest.mark.slow)]
)
def test_a_platform_that_is_not_here_is_named_at_every_entrance(tmp_path, platform):
    LEARNERS["default"]().fit(DATA.X, DATA.y).save(tmp_path / "m.lrrf")
    LEARNERS["lr-rf"](2, max_depth=2).fit(DATA.X, DATA.y).save(tmp_path / "f.lrrf")
    lines = outcome(
        tmp_path,
        """
from lrrf_jax.distributed import use_devices
for path in ("m.lrrf", "f.lrrf"):
    model = load(path)  # needs no device
    row = np.zeros((1, 4))
    for call in (model.predict, model.predict_scores, model.predict_order):
        print(told(lambda: call(row)))
    print(told(lambda: model.compile([1])))
print(told(lambda: model.apply(row)))
print(told(lambda: use_devices([]).__enter__()))
for name in ("default", "rpc", "lrt", "ib-m"):
    print(told(lambda: LEARNERS[name]().fit(X, Y)))
""",
        JAX_PLATFORMS=platform,
    )
    assert len(lines) == 14
    for line in lines:
        assert line.startswith(f"BackendError: JAX_PLATFORMS (or jax_platforms) is '{platform}'")
        assert "it has cpu" in line
        assert "Unset it, set JAX_PLATFORMS=cpu, or install" in line


@pytest.mark.parametrize("name", ["default", "lr-rf"])
def test_a_default_device_that_is_not_here_is_named(name):
    learner = LEARNERS[name]()
    with jax.default_device("tpu"), pytest.raises(BackendError) as raised:
        learner.fit(DATA.X, DATA.y)
    assert str(raised.value).startswith("jax_default_device is 'tpu', and JAX has no such device")
    assert "it has cpu. Name one of these" in str(raised.value)


def test_a_platform_that_is_not_here_is_a_matter_of_usage_on_the_command_line(tmp_path):
    LEARNERS["default"]().fit(DATA.X, DATA.y).save(tmp_path / "m.lrrf")
    lines = outcome(
        tmp_path,
        """
from lrrf_jax.cli import main
sys.stderr = sys.stdout
for command in (
    "train builtin:iris --model new.lrrf --learner default",
    "predict m.lrrf builtin:iris --output ranks.csv",
    "predict m.lrrf builtin:iris --output ranks/",
    "evaluate builtin:iris --learner default,lr-rf",
    "evaluate builtin:iris builtin:wine --learner default,lr-rf --jobs 2 --results folds.csv",
    "benchmark --quick",
    "inspect m.lrrf",
):
    print("exit code", main(command.split()))
""",
        JAX_PLATFORMS="cuda",
    )
    codes = [line for line in lines if line.startswith("exit code")]
    assert codes == ["exit code 2"] * 6 + ["exit code 0"]
    assert not [line for line in lines if "unexpected" in line]
    assert sum("error: JAX_PLATFORMS (or jax_platforms) is 'cuda'" in line for line in lines) == 6
    assert sorted(os.listdir(tmp_path)) == ["m.lrrf", "script.py"]


FORKS = """
import joblib
def forked(call):
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, call().encode())
        os._exit(0)
    os.wait()
    return os.read(read, 10_000).decode()

def asked(model):
    context = multiprocessing.get_context("fork")
    yield forked(lambda: told(lambda: n_ranked(model, 300)))
    with context.Pool(1) as pool:
        yield told(lambda: pool.apply(n_ranked, (model, 300)))
    with concurrent.futures.ProcessPoolExecutor(1, context) as pool:
        yield told(pool.submit(n_ranked, model, 300).result)
    with joblib.parallel_config("multiprocessing", n_jobs=2):
        calls = [joblib.delayed(n_ranked)(model, n) for n in (300, 300)]
        yield told(lambda: set(joblib.Parallel()(calls)))
"""
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


@needs_fork
def test_a_fork_after_any_use_fails_at_once_with_the_way_out(tmp_path):
    lines = outcome(
        tmp_path,
        FORKS
        + """
if __name__ == "__main__":
    model = LEARNERS["default"]().fit(X, Y)
    model.save("m.lrrf")
    for ready in (model, load("m.lrrf")):
        for answer in asked(ready):
            print(answer)
    print(forked(lambda: told(lambda: LEARNERS["rpc"]().fit(X, Y))))
    print(forked(lambda: told(lambda: lrrf_jax.metrics.kendall_tau(Y, Y))))
    print(forked(lambda: told(lambda: load("m.lrrf").labels_)))
    print(n_ranked(model, 300))
""",
    )
    for line in lines[:9]:
        assert line.startswith("BackendError: this process was forked from one that had used JAX")
        assert 'multiprocessing.get_context("spawn")' in line
    # What needs no device goes on, and so does the parent.
    assert lines[9:] == ["1.0", "['L1' 'L2' 'L3']", "300"]


@needs_fork
@pytest.mark.slow
def test_a_fork_after_a_caller_used_jax_fails_at_once_too(tmp_path):
    lines = outcome(
        tmp_path,
        FORKS
        + """
import jax
if __name__ == "__main__":
    jax.numpy.ones(3).block_until_ready()
    print(forked(lambda: told(lambda: LEARNERS["default"]().fit(X, Y))))
""",
    )
    assert lines[0].startswith("BackendError: this process was forked")


@needs_fork
@pytest.mark.slow
def test_a_fork_before_any_use_works(tmp_path):
    LEARNERS["default"]().fit(DATA.X[:, :2], DATA.y).save(tmp_path / "m.lrrf")
    lines = outcome(
        tmp_path,
        FORKS
        + """
if __name__ == "__main__":
    for answer in asked(load("m.lrrf")):
        print(answer)
""",
    )
    assert lines == ["300", "300", "300", "{300}"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["default", "lrt"])
def test_workers_that_start_afresh_rank_alike(tmp_path, name):
    lines = outcome(
        tmp_path,
        f"""
import joblib
if __name__ == "__main__":
    model = LEARNERS["{name}"]().fit(X, Y)
    expected = model.predict(X)
    n_ranked(model, 300)
    for method in ("spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        with context.Pool(1) as pool:
            print(n_ranked(model, 300), np.array_equal(pool.apply(model.predict, (X,)), expected))
        with concurrent.futures.ProcessPoolExecutor(1, context) as pool:
            print(n_ranked(model, 300), (pool.submit(model.predict, X).result() == expected).all())
    with joblib.parallel_config("loky", n_jobs=2):
        found = joblib.Parallel()(joblib.delayed(model.predict)(X) for _ in range(2))
    print(300, np.array_equal(found, [expected] * 2))
""",
    )
    assert lines == ["300 True"] * 5


@pytest.mark.slow
def test_a_search_in_two_processes_finds_what_one_finds():
    grid = {"max_depth": [1, 3]}
    learner = LEARNERS["lr-rf"](4, random_state=0)
    one, two = (
        GridSearchCV(learner, grid, cv=3, n_jobs=n_jobs).fit(DATA.X, DATA.y) for n_jobs in (1, 2)
    )
    assert one.best_params_ == two.best_params_
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )


@pytest.mark.parametrize(
    ("name", "n_calls"),
    [
        ("lr-rf", 40),
        pytest.param("lr-rf", 1000, marks=pytest.mark.slow),
        *(pytest.param(name, 1000, marks=pytest.mark.slow) for name in ("rpc", "ib-pl", "lrt")),
    ],
)
def test_eight_threads_rank_alike_beside_fits(name, n_calls):
    def make():
        learner = LEARNERS[name]()
        small = {"n_estimators": 6, "max_depth": 4, "random_state": 0, "n_neighbors": 5}
        return learner.set_params(**{k: v for k, v in small.items() if k in learner.get_params()})

    ranker = make().fit(DATA.X, DATA.y)
    expected = ranker.predict(DATA.X)
    sizes = (1, 7, 150, 2, 40)

    def rank(thread):
        for call in range(n_calls):
            n_rows = sizes[(call + thread) % len(sizes)]
            np.testing.assert_array_equal(ranker.predict(DATA.X[:n_rows]), expected[:n_rows])
        return True

    def fit(_):
        return (make().fit(DATA.X, DATA.y).predict(DATA.X) == expected).all()

    pool = concurrent.futures.ThreadPoolExecutor(10)
    waiting = [pool.submit(rank, thread) for thread in range(8)]
    waiting += [pool.submit(fit, number) for number in range(max(4, n_calls // 50))]
    try:
        assert all(future.result(timeout=5 * ENDS_IN) for future in waiting)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def test_importing_the_package_starts_no_backend():
    code = (
        "import lrrf_jax, lrrf_jax.datasets, lrrf_jax.metrics, lrrf_jax.io.tables\n"
        "from jax._src import xla_bridge\n"
        "assert not xla_bridge.backends_are_initialized()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
