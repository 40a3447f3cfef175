"""Compiled programs on disk: where they are kept, what is deleted, and who leaves them alone."""

import importlib
import os
import pathlib
import subprocess
import sys

import pytest

from lrrf_jax import InputError, use_compilation_cache
from lrrf_jax._program_store import beside_ours, chosen_store, current_store, use_store


@pytest.fixture
def jax_settings(monkeypatch):
    """Collect what would be set for the whole process."""
    import jax

    changed = {}
    monkeypatch.setattr(jax.config, "update", changed.__setitem__)
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.delenv("LRRF_JAX_CACHE")
    before = chosen_store()
    yield changed
    use_store(*before)


def test_compiled_programs_are_kept_in_the_cache_directory(tmp_path, monkeypatch, jax_settings):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = use_compilation_cache()
    assert folder == jax_settings["jax_compilation_cache_dir"]
    assert folder.startswith(str(tmp_path / "lrrf_jax/xla"))
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert use_compilation_cache().startswith(str(tmp_path / ".cache/lrrf_jax"))


@pytest.mark.parametrize(
    ("system", "place"),
    [("unix", ".cache/lrrf_jax/xla"), ("macos", "Library/Caches/lrrf_jax/xla")],
)
def test_without_a_variable_the_cache_is_where_the_system_keeps_them(
    tmp_path, monkeypatch, jax_settings, system, place
):
    module = importlib.import_module(f"platformdirs.{system}")
    directories = module.Unix if system == "unix" else module.MacOS
    monkeypatch.setattr("platformdirs.PlatformDirs", directories)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert use_compilation_cache().startswith(str(tmp_path / place))


def test_directory_and_size_can_be_given(tmp_path, jax_settings):
    assert use_compilation_cache(tmp_path / "a", max_bytes=7).startswith(str(tmp_path / "a"))
    assert jax_settings["jax_compilation_cache_max_size"] == 7
    jax_settings.clear()
    with pytest.raises(InputError, match="max_bytes must be a whole number 1 or more"):
        use_compilation_cache(tmp_path / "a", max_bytes=0)
    assert jax_settings == {}


def test_own_programs_lie_beside_those_of_jax(tmp_path, jax_settings):
    folder = use_compilation_cache(tmp_path, max_bytes=7)
    store = current_store()
    assert store.folder == os.path.join(folder, "programs")
    assert store._max_bytes == 7
    assert chosen_store() == (store, folder)
    assert beside_ours(folder)
    assert not beside_ours("elsewhere")
    assert use_compilation_cache(False) is None
    assert current_store() is None


def test_programs_that_a_killed_process_left_half_written_are_dropped(tmp_path, jax_settings):
    folder = pathlib.Path(use_compilation_cache(tmp_path))
    for name in ("whole-1-cache", "whole-1-atime", "half-2-cache", "new-3-cache"):
        (folder / name).write_bytes(b"x")
        if name != "new-3-cache":
            os.utime(folder / name, (0, 0))
    use_compilation_cache(tmp_path)
    left = sorted(path.name for path in folder.iterdir())
    assert left == ["new-3-cache", "programs", "whole-1-atime", "whole-1-cache"]


def test_a_directory_that_the_environment_names_stays(tmp_path, monkeypatch, jax_settings):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "elsewhere")
    assert use_compilation_cache(tmp_path) is None
    assert jax_settings == {}
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_made_does_not_matter(tmp_path, monkeypatch, jax_settings):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert use_compilation_cache() is None
    assert jax_settings == {}


def test_the_next_process_finds_the_programs(tmp_path):
    code = """
import sys, lrrf_jax, jax, jax.numpy as jnp
lrrf_jax.use_compilation_cache(sys.argv[1])
hits = []
jax.monitoring.register_event_listener(lambda event, **kwargs: hits.append(event))
jax.jit(lambda x: jnp.sort(x) * 3 + 1)(jnp.arange(5.0)).block_until_ready()
print("/jax/compilation_cache/cache_hits" in hits)
"""
    known = {"JAX_COMPILATION_CACHE_DIR", "LRRF_JAX_CACHE"}
    variables = {k: v for k, v in os.environ.items() if k not in known}
    command = [sys.executable, "-c", code, str(tmp_path)]
    found = [
        subprocess.run(command, env=variables, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert found == ["False\n", "True\n"]
