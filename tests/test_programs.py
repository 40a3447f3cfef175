"""Programs that are kept are found again, and are those of their arguments."""

import os
import pickle
import threading
import zlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src import config

from lrrf_jax import _program_code, _program_keys, _program_limit, _programs
from lrrf_jax._programs import Program
from lrrf_jax.rankings.permutations import ordering_from_ranks
from lrrf_jax.rankings.statistics import borda_votes
from tests.kept import RANKS, Pair, afresh, files, make_weighed, weighed

pytestmark = pytest.mark.skipif(
    not _programs._CAN_KEEP, reason="older versions of XLA complain of what they load"
)


@pytest.fixture
def own(monkeypatch):
    """Count the tests as a part of the package, whose sources are known."""
    monkeypatch.setattr(_program_keys, "_PACKAGE", weighed.__module__.partition(".")[0])


def test_a_kept_program_is_neither_traced_nor_compiled_and_gives_the_same(store, traced):
    first = np.asarray(afresh(ordering_from_ranks)(RANKS))
    assert traced == ["ordering_from_ranks"]
    assert len(files(store)) == 1
    second = afresh(ordering_from_ranks)
    assert np.asarray(second(RANKS)).tolist() == first.tolist() == [[1, 0, 2], [1, 2, 0]]
    assert np.asarray(second(RANKS[::-1])).tolist() == first.tolist()[::-1]
    assert traced == ["ordering_from_ranks"]


def test_arguments_of_all_kinds_get_the_program_that_is_theirs(store, own, traced):
    settings = {"by": 2}, {"by": 3}, {"by": 3, "negative": True}
    cases = [
        (Pair(np.ones((n, 2), kind), np.arange(n, dtype=kind)), scale, settings[n % 3])
        for n in (3, 4, 5)
        for kind in (np.float32, np.int32)
        for scale in (kind(2), 2.0 if kind is np.float32 else 2)
    ]
    for program in (make_weighed(), make_weighed()):
        for _ in range(2):  # by what they depend on, and by a first look
            for pair, scale, settings in cases:
                expected = weighed(jax.tree.map(jnp.asarray, pair), scale, **settings)
                found = program(pair, scale, **settings)
                assert found["nothing"] is None
                assert found["total"].tolist() == expected["total"].tolist()
                assert found["total"].dtype == expected["total"].dtype
    assert traced.count("weighed") == len(cases) == len(files(store))


def test_a_look_at_the_place_of_a_pytree_is_checked(store, own, monkeypatch):
    monkeypatch.setattr(_programs, "id", lambda value: 7, raising=False)  # as if memory was reused
    program = make_weighed()
    for n in (3, 4, 3):
        pair = Pair(np.ones((n, 2), np.float32), np.ones(n, np.float32))
        assert program(pair, np.float32(1), by=1)["total"].tolist() == [n, n]


def test_within_another_program_it_is_a_part_of_it(store, traced):
    program = afresh(ordering_from_ranks)
    expected = program(RANKS).tolist()
    assert (
        jax.jit(lambda ranks: program(ranks) + 1)(RANKS).tolist()
        == (np.array(expected) + 1).tolist()
    )
    assert jax.vmap(program)(RANKS[None])[0].tolist() == expected
    assert len(files(store)) == 1


def test_threads_share_a_program(store, own, traced):
    program, found = make_weighed(), []
    pair = Pair(np.ones((3, 2), np.float32), np.ones(3, np.float32))

    def call():
        with config.compilation_cache_dir(None), jax.numpy_dtype_promotion("strict"):
            found.append(program(pair, np.float32(1), by=1)["total"].tolist())

    call()
    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[3, 3]] * 5
    assert traced.count("weighed") == 1


def test_mistakes_are_told_as_jax_tells_them(store, own):
    program = make_weighed()
    pair = Pair(np.ones((3, 2), np.float32), np.ones(4, np.float32))
    with pytest.raises(TypeError, match="incompatible shapes"):
        program(pair, np.float32(1), by=1)
    with pytest.raises(ValueError, match="unhashable"):
        program(pair, np.float32(1), by=[1])
    with pytest.raises(TypeError, match="abstract array|not a valid JAX type"):
        program("rows", np.float32(1), by=1)
    assert files(store) == []


def factor(matrix):
    """Call LAPACK, by way of JAX."""
    return jnp.linalg.cholesky(matrix)


def test_lapack_is_looked_up_before_a_loaded_program_calls_it(store, own, monkeypatch):
    looked_up, look_up = [], _program_code.lapack.prepare_lapack_call

    def note(*which):
        looked_up.append(which)
        return look_up(*which)

    monkeypatch.setattr(_program_code.lapack, "prepare_lapack_call", note)
    matrix = np.eye(3, dtype=np.float32) * 4
    assert Program(factor)(matrix)[0, 0] == 2
    looked_up.clear()  # by JAX, as it was lowered
    assert Program(factor)(matrix)[0, 0] == 2
    assert looked_up


def double_on_the_host(rows):
    """Call a library that nothing is known of: Python."""
    return jax.pure_callback(lambda rows: 2 * rows, rows, rows)


def test_programs_that_call_other_libraries_are_not_kept(store, own):
    assert Program(double_on_the_host)(np.float32([1, 2])).tolist() == [2, 4]
    assert files(store) == []


def shuffled(key, rows):
    """Take a key of `jax.random`."""
    return jax.random.permutation(key, rows)


def test_keys_of_jax_are_arguments_as_others(store, own, traced):
    rows = np.arange(9, dtype=np.int32)
    for kind in ("threefry2x32", "rbg"):
        key = jax.random.key(0, impl=kind)
        expected = jax.random.permutation(key, rows).tolist()
        traced.clear()
        for _ in range(2):
            assert Program(shuffled)(key, rows).tolist() == expected
        assert traced.count("shuffled") == 1


def test_it_is_copied_and_pickled_by_its_name():
    assert pickle.loads(pickle.dumps(borda_votes)) is borda_votes


def test_what_is_damaged_or_another_programs_is_compiled_again(store, traced):
    afresh(ordering_from_ranks)(RANKS)
    (path,) = files(store)
    whole = path.read_bytes()
    for n_bytes in (0, 30, len(whole) - 1):
        path.write_bytes(whole[:n_bytes])
        assert afresh(ordering_from_ranks)(RANKS).tolist() == [[1, 0, 2], [1, 2, 0]]
        assert path.read_bytes()[:60] == whole[:60] or path.stat().st_size > 60
    for place in range(0, len(whole), len(whole) // 9):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert store.read(path.stem) is None
    assert traced.count("ordering_from_ranks") == 4
    path.write_bytes(whole)
    other = ("0" if path.stem[0] != "0" else "1") + path.stem[1:]
    path.rename(path.with_stem(other))
    assert store.read(other) is None


def test_what_cannot_be_loaded_is_compiled_again(store, traced):
    afresh(ordering_from_ranks)(RANKS)
    name = files(store)[0].stem
    for content in (b"no zlib", zlib.compress(pickle.dumps((b"no program", 0)))):
        store.write(name, content)
        assert afresh(ordering_from_ranks)(RANKS).tolist() == [[1, 0, 2], [1, 2, 0]]
        assert store.read(name) not in (None, content)
    assert traced == ["ordering_from_ranks"] * 3


def test_programs_that_are_dropped_are_loaded_again(store, traced, monkeypatch, tmp_path):
    program = afresh(ordering_from_ranks)
    program(RANKS)
    assert program._loaded
    (tmp_path / "most").write_text("100\n")
    monkeypatch.setattr(_program_limit, "_checked_at", float("-inf"))
    monkeypatch.setattr(_program_limit, "_MOST_MAPS", str(tmp_path / "most"))
    if not os.path.exists("/proc/self/maps"):
        pytest.skip("/proc")
    _program_limit.make_room_for_programs()
    assert not program._loaded
    assert not program._recent
    assert program(RANKS).tolist() == [[1, 0, 2], [1, 2, 0]]
    assert traced == ["ordering_from_ranks"]
