import contextlib
import os
import subprocess
import sys

import numpy as np
import pytest

from lrrf_jax.cli import main


@pytest.fixture(autouse=True)
def no_global_cache(monkeypatch, tmp_path_factory):
    # Said by the user, the commands leave the cache as it is, so tests do not change the process.
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path_factory.mktemp("xla")))


@pytest.fixture
def lrrf(capsys):
    """Run a command in this process; returns (code, stdout, stderr)."""

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        output = capsys.readouterr()
        assert "Traceback" not in output.out + output.err
        return code, output.out, output.err

    return run


@pytest.fixture(scope="session")
def subprocess_cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def lrrf_process(subprocess_cache, tmp_path):
    """Run a command in a process of its own, as a user does."""

    def run(*arguments, first="pass"):
        variables = {**os.environ, "XDG_CACHE_HOME": str(subprocess_cache)}
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        variables.pop("JAX_COMPILATION_CACHE_DIR")
        variables.pop("LRRF_JAX_CACHE")
        code = f"import sys; from lrrf_jax.cli import main; {first}; sys.exit(main())"
        done = subprocess.run(
            [sys.executable, "-c", code, *map(str, arguments)],
            env=variables,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stdout + done.stderr
        return done.returncode, done.stdout, done.stderr

    return run


def toy_table(n_rows=20, seed=0):
    """Two features and three labels, as the lines of a CSV file."""
    rng = np.random.default_rng(seed)
    y = np.argsort(rng.random((n_rows, 3)), axis=1) + 1
    rows = [f"r{i},{i / 8},{-i},{','.join(map(str, y[i]))}" for i in range(n_rows)]
    return ["id,A1,A2,L1,L2,L3", *rows]


@pytest.fixture
def toy(tmp_path):
    """A table that can be trained on with --features 'A*'."""
    path = tmp_path / "toy.csv"
    path.write_text("\n".join(toy_table()))
    return path


@pytest.fixture
def model(lrrf, toy, tmp_path):
    """A model of the toy table that costs no compilation worth the name."""
    path = tmp_path / "toy.lrrf"
    code, _, err = lrrf("train", toy, "--features", "A*", "--learner", "default", "--model", path)
    assert code == 0, err
    return path


@pytest.fixture(scope="session")
def forest_model(tmp_path_factory):
    """A random forest, trained once for all tests."""
    path = tmp_path_factory.mktemp("model") / "iris.lrrf"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path_factory.mktemp("xla")))
        arguments = ["train", "builtin:iris", "--model", str(path), "--set", "n_estimators=5"]
        assert main(arguments) == 0
    return path


@pytest.fixture
def small_disk(tmp_path):
    """Mount a file system of 256 KiB; skipped where that is not permitted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if done.returncode:
        pytest.skip("file systems may not be mounted here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def fill(disk):
    """Leave no byte free; returns the file that takes them."""
    ballast = disk / "ballast"
    with open(ballast, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    return ballast
