"""``lrrf doctor``: what is wrong is told with a way out, and nothing breaks it."""

import importlib.metadata
import json
import os
import stat
import subprocess
import types

import pytest

from lrrf_jax.cli import _doctor
from lrrf_jax.cli._trial import GOLDEN

STEPS = [
    {"step": "import", "seconds": 1.0},
    {"step": "devices", "seconds": 0.1, "devices": ["cpu:0 cpu"]},
    {"step": "first fit", "seconds": 1.0},
    {"step": "second fit", "seconds": 0.1},
    {"step": "predict", "seconds": 0.1, "digest": GOLDEN},
]


@pytest.fixture
def trial(monkeypatch):
    """Have the trial end after some steps, in some way."""

    def ends(n_steps=None, err="", code=0, steps=STEPS):
        out = "".join(json.dumps(step) + "\n" for step in steps[:n_steps]).encode()

        def run(command, **_):
            if code is None:
                raise subprocess.TimeoutExpired(command, 1, out, err.encode())
            return types.SimpleNamespace(stdout=out, stderr=err.encode(), returncode=code)

        monkeypatch.setattr(subprocess, "run", run)

    return ends


def test_a_good_installation_is_tried_and_told(lrrf):
    code, out, err = lrrf("doctor", "--json")
    document = json.loads(out)
    assert (code, err, document["problems"]) == (0, "", [])
    assert document["well"] is True
    for name in ("jax", "jaxlib", "numpy", "pyarrow"):
        assert document["versions"][name] == importlib.metadata.version(name)
    assert document["machine"]["threads used"] >= 1
    assert document["environment"]["JAX_COMPILATION_CACHE_DIR"]
    assert document["trial"]["devices"]
    assert document["trial"]["first fit, s"] > 0
    assert document["trial"]["result"] == "as it should be"


def test_a_platform_that_is_not_there_is_a_problem_with_a_way_out(lrrf, monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "nonsense")
    code, out, err = lrrf("doctor")
    assert (code, err) == (1, "")
    assert "  JAX_PLATFORMS " in out
    assert "problem: JAX_PLATFORMS (or jax_platforms) is 'nonsense', and JAX has no such" in out
    assert "set JAX_PLATFORMS=cpu" in out
    assert "all is well" not in out


BROKEN = {
    "an import that fails": (
        (0, "Traceback (most recent call last):\n  line\nRuntimeError: jaxlib is too old.\n", 1),
        "when JAX is imported, it fails with code 1. It says: RuntimeError: jaxlib is too old. "
        "Install JAX again: pip install -U jax jaxlib.",
    ),
    "a crash": (
        (2, "F1129 10:00:00.0 1 x.cc:1] Check failed: ok\n*** stack ***\n", -6),
        "when a small forest is fitted, the process ends by signal 6. It says: F1129",
    ),
    "a hang": ((1, "", None), "when its devices are listed, nothing happens for 180 s. Try JAX_PL"),
    "a flag": ((1, "F1 parse Unknown flag in XLA_FLAGS: --x\n", 1), "Unset XLA_FLAGS."),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_jax_that_fails_crashes_or_hangs_is_told_without_a_traceback(lrrf, trial, case):
    how, words = BROKEN[case]
    trial(*how)
    code, out, _ = lrrf("doctor")
    assert code == 1
    assert words in out
    assert out.count("problem: ") == 1


def test_another_result_than_on_other_machines_is_a_problem(lrrf, trial):
    trial(steps=[*STEPS[:-1], {**STEPS[-1], "digest": "0"}])
    code, out, _ = lrrf("doctor", "--json")
    assert code == 1
    assert json.loads(out)["trial"]["result"] == "another one"
    assert "ranks its rows otherwise here" in json.loads(out)["problems"][0]


@pytest.mark.parametrize("version", ["0.9.9", None])
def test_a_plugin_of_another_release_than_jaxlib_is_a_problem(lrrf, trial, monkeypatch, version):
    trial()
    true = importlib.metadata.version
    plugin = types.SimpleNamespace(metadata={"Name": "jax-cuda12-plugin"})
    jaxlib = true("jaxlib")
    versions = {"jax-cuda12-plugin": version or f"{jaxlib}.post1"}
    monkeypatch.setattr(importlib.metadata, "distributions", lambda: [plugin])
    monkeypatch.setattr(importlib.metadata, "version", lambda n: versions.get(n) or true(n))
    code, out, _ = lrrf("doctor")
    assert code == (0 if version is None else 1)
    assert f"jax-cuda12-plugin is 0.9.9 and jaxlib {jaxlib}: JAX does not use" in out or not version
    assert f'pip install -U "jax[cuda12]=={true("jax")}"' in out or not version


def test_what_is_needed_and_not_installed_is_a_problem(lrrf, trial, monkeypatch):
    trial()
    true = importlib.metadata.version

    def version(name):
        if name == "optax":
            raise importlib.metadata.PackageNotFoundError(name)
        return true(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    code, out, _ = lrrf("doctor")
    assert (code, "problem: optax: not installed, and needed" in out) == (1, True)


def test_where_programs_are_kept_is_told_with_its_size(lrrf, trial, monkeypatch, tmp_path):
    trial()
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.program").write_bytes(bytes(2048))
    monkeypatch.setenv("LRRF_JAX_CACHE", str(tmp_path))
    code, out, _ = lrrf("doctor", "--json")
    kept = json.loads(out)["programs kept"]
    assert (code, kept["place"], kept["by"]) == (0, str(tmp_path), "LRRF_JAX_CACHE")
    assert (kept["files"], kept["size"]) == (1, "2.0 KiB")
    monkeypatch.setenv("LRRF_JAX_CACHE", "0")
    code, out, _ = lrrf("doctor")
    assert (code, "note: LRRF_JAX_CACHE=0: no programs are kept" in out) == (0, True)
    monkeypatch.setenv("LRRF_JAX_CACHE", str(tmp_path / "not" / "there"))
    assert lrrf("doctor")[0] == 0
    assert not (tmp_path / "not").exists()  # looking makes nothing


@pytest.mark.skipif(os.name != "posix", reason="others have other rights")
def test_a_folder_of_programs_that_cannot_be_used_is_a_problem(lrrf, trial, monkeypatch, tmp_path):
    trial()
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    monkeypatch.setenv("LRRF_JAX_CACHE", str(tmp_path))
    tmp_path.chmod(0o777)
    code, out, _ = lrrf("doctor")
    assert (code, f"problem: {tmp_path}: others may write to it" in out) == (1, True)
    tmp_path.chmod(stat.S_IRWXU)
    monkeypatch.setattr(os, "access", lambda *_: False)
    code, out, _ = lrrf("doctor")
    assert (code, f"problem: {tmp_path}: is read-only" in out) == (1, True)


def test_a_part_that_cannot_be_looked_at_is_told_and_the_rest_goes_on(lrrf, trial, monkeypatch):
    trial()

    def fails(report):
        raise OSError("no /proc")

    monkeypatch.setattr(_doctor, "_machine", fails)
    code, out, _ = lrrf("doctor", "--json")
    document = json.loads(out)
    assert (code, document["machine"]) == (1, {})
    assert document["problems"] == [
        "machine: could not be looked at (OSError: no /proc). Report it with the rest of what is "
        "shown here."
    ]
    assert document["trial"]["result"] == "as it should be"
