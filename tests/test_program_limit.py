"""A process that compiles program after program drops them before Linux kills it."""

import sys
import types

import jax
import jax.numpy as jnp
import pytest

import lrrf_jax
from lrrf_jax import _program_limit
from lrrf_jax.datasets import load
from lrrf_jax.learners import ConsensusLabelRanker

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc")


@pytest.fixture
def limited(monkeypatch, tmp_path):
    """Pretend that Linux gives so many maps, and that the last check is long ago."""

    def limit(most):
        monkeypatch.setattr(_program_limit, "_checked_at", float("-inf"))
        (tmp_path / "most").write_text(f"{most}\n")
        monkeypatch.setattr(_program_limit, "_MOST_MAPS", str(tmp_path / "most"))

    return limit


@pytest.fixture
def is_there():
    """Tell whether a program that was compiled is there still; a call of it brings it back."""
    traces = []

    @jax.jit
    def program(x):
        traces.append(x.shape)
        return x * 2

    def is_there():
        before = len(traces)
        program(jnp.zeros(3))
        return len(traces) == before

    assert not is_there()
    assert is_there()
    return is_there


def test_programs_stay_while_there_is_room(limited, is_there):
    limited(10**9)
    iris = load("iris")
    ConsensusLabelRanker().fit(iris.X, iris.y)
    assert is_there()


@pytest.mark.parametrize("step", ["fit", "load"])
def test_programs_are_dropped_when_half_of_the_maps_are_taken(limited, is_there, step, tmp_path):
    iris = load("iris")
    ranker = ConsensusLabelRanker().fit(iris.X, iris.y)
    expected = ranker.predict(iris.X).tolist()
    ranker.save(tmp_path / "m.lrrf")
    limited(100)
    if step == "fit":
        ranker.fit(iris.X, iris.y)
    else:
        ranker = lrrf_jax.load(tmp_path / "m.lrrf")
    assert not is_there()
    assert ranker.predict(iris.X).tolist() == expected


def test_maps_are_counted_once_a_second_at_most(limited, is_there, monkeypatch):
    limited(100)
    seconds = iter([5.0, 5.9, 6.1])
    clock = types.SimpleNamespace(monotonic=lambda: next(seconds))
    monkeypatch.setattr(_program_limit, "time", clock)
    left = []
    for _ in range(3):
        _program_limit.make_room_for_programs()
        left.append(is_there())
    assert left == [False, True, False]


def test_what_was_compiled_beforehand_does_not_count_when_it_was_dropped(limited):
    iris = load("iris")
    ranker = ConsensusLabelRanker().fit(iris.X, iris.y).compile([5])
    assert ranker._seen(True).sizes == {8}
    limited(100)
    _program_limit.make_room_for_programs()
    assert ranker._seen(True).sizes == set()
    ranker.compile([5])
    assert ranker._seen(True).sizes == {8}


def test_other_systems_have_no_such_limit(limited, is_there, monkeypatch):
    limited(100)
    monkeypatch.setattr(_program_limit, "_MOST_MAPS", "/nowhere")
    _program_limit.make_room_for_programs()
    assert is_there()


def test_dropping_programs_gives_their_maps_back():
    with open("/proc/self/maps") as maps:
        before = len(maps.readlines())
    programs = [jax.jit(lambda x, k=k: jnp.sort(x * k).cumsum()) for k in range(20)]
    for program in programs:
        program(jnp.arange(50.0))
    with open("/proc/self/maps") as maps:
        taken = len(maps.readlines()) - before
    jax.clear_caches()
    with open("/proc/self/maps") as maps:
        left = len(maps.readlines()) - before
    assert taken > 20
    assert left < taken / 2
