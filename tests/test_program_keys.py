"""All that a program depends on is in its name."""

import functools
import pathlib

import jax
import numpy as np
import pytest
from jax._src import config

from lrrf_jax import _program_keys, _programs
from lrrf_jax._program_keys import NamelessError, program_name
from lrrf_jax.rankings.permutations import ordering_from_ranks
from lrrf_jax.rankings.statistics import borda_votes
from tests.kept import RANKS, Pair, afresh, files, make_weighed, weighed

pytestmark = pytest.mark.skipif(
    not _programs._CAN_KEEP, reason="older versions of XLA complain of what they load"
)


def name_of(program=ordering_from_ranks, options=None, static=(), arguments="int32 (2, 3)"):
    _program_keys._surroundings.cache_clear()
    device = jax.devices()[0]
    return program_name(
        getattr(program, "__wrapped__", program), options, static, arguments, device
    )


def test_all_that_a_program_depends_on_is_in_its_name(monkeypatch):
    other = "borda_votes", borda_votes
    names = [
        name_of(),
        name_of(other[1]),
        name_of(options={"xla_backend_optimization_level": 0}),
        name_of(static=(("by", 1),)),
        name_of(static=(("by", 1.0),)),
        name_of(static=(("by", True),)),
        name_of(static=(("by", functools.partial(borda_votes, 1)),)),
        name_of(arguments="int32 (3, 3)"),
    ]
    for setting in (config.enable_x64(True), config.default_matmul_precision("highest")):
        with setting:
            names.append(name_of())
    with monkeypatch.context() as patch:
        patch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
        names.append(name_of())
    for module in ("jax", "jaxlib", "numpy"):
        with monkeypatch.context() as patch:
            patch.setattr(f"{module}.__version__", "7")
            names.append(name_of())
    with monkeypatch.context() as patch:
        patch.setattr(_program_keys, "_sources", lambda: "other sources")
        names.append(name_of())
    assert len(set(names)) == len(names)
    with config.compilation_cache_dir("elsewhere"), config.log_compiles(True):
        assert name_of() == names[0]
    assert name_of() == names[0]


def test_sources_that_changed_since_they_were_imported_name_nothing(monkeypatch, store, traced):
    monkeypatch.setattr(_program_keys, "_IMPORTED_AT", 0.0)
    with pytest.raises(NamelessError, match="changed after it was imported"):
        name_of()
    assert afresh(ordering_from_ranks)(RANKS).tolist() == [[1, 0, 2], [1, 2, 0]]
    assert files(store) == []
    _program_keys._surroundings.cache_clear()


def test_the_sources_are_all_modules_of_the_package(monkeypatch, tmp_path):
    package = pathlib.Path(_program_keys.__file__).parent
    before = _program_keys._sources()
    copy = tmp_path / "package"
    for path in package.rglob("*.py"):
        target = copy / path.relative_to(package)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    monkeypatch.setattr(_program_keys, "__file__", str(copy / "_program_keys.py"))
    monkeypatch.setattr(_program_keys, "_IMPORTED_AT", float("inf"))
    assert _program_keys._sources() == before
    with open(copy / "rankings/votes.py", "a") as file:
        file.write("\n")
    assert _program_keys._sources() != before


def test_functions_of_others_are_left_to_jax(store, traced):
    program = make_weighed()  # of no module of the package
    pair = Pair(np.ones((3, 2), np.float32), np.ones(3, np.float32))
    for _ in range(2):
        assert program(pair, np.float32(1), by=1)["total"].tolist() == [3, 3]
    assert traced == ["weighed"]
    with pytest.raises(NamelessError, match="is not in lrrf_jax"):
        name_of(weighed)
    with pytest.raises(NamelessError, match="is not in lrrf_jax"):
        name_of(static=(("pair", pair),))
    with pytest.raises(NamelessError, match=" at 0x"):
        name_of(arguments=f"CustomNode({object()})")
    assert files(store) == []


def test_a_function_that_was_replaced_has_no_name(monkeypatch):
    monkeypatch.setattr("lrrf_jax.rankings.permutations.ordering_from_ranks", lambda ranks: ranks)
    with pytest.raises(NamelessError, match="is not what it was"):
        name_of()
