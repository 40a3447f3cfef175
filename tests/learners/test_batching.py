"""Rows in batches: few programs, compiled once, and rankings that do not depend on them."""

import pickle
import threading

import numpy as np
import pytest

from lrrf_jax import InputError, RandomForestLabelRanker
from lrrf_jax._backend import CPU
from lrrf_jax.inference.ready import make_ready
from lrrf_jax.learners import _prediction, batching
from lrrf_jax.learners.forest.predict import forest_ranks
from lrrf_jax.learners.streaming import Seen
from tests.learners.small_forests import SMALL, X, Y
from tests.tracing import traces


def test_predictions_do_not_depend_on_the_batch(fitted, hot):
    many = np.concatenate([X] * 40)[:5000]
    whole = fitted.predict(many)
    for size in (1, 7, 64, 65, 1024, 1025, 4999):
        np.testing.assert_array_equal(fitted.predict(many[:size]), whole[:size])


def test_any_mix_of_batch_sizes_needs_few_programs(fitted, hot):
    fitted.predict(X[:1])
    sizes = np.random.default_rng(0).integers(1, 300_000, 1000)
    distinct = {size for n in sizes for size in batching.batch_sizes(int(n))}
    distinct |= {size for n in range(1, 3000) for size in batching.batch_sizes(n)}
    assert distinct == set(CPU.batch_sizes)
    assert len(distinct) <= 12
    with traces() as seen:
        for n in (1, 2, 3, 65, 70, 100, 500, 1000):
            fitted.predict(np.repeat(X, 7, axis=0)[:n])
    assert seen.count("forest_ranks") <= 3
    fitted.predict(X[:99])
    with traces() as seen:  # another forest of like size: no new program
        other = RandomForestLabelRanker(**(SMALL | {"random_state": 5})).fit(X[:140], Y[:140])
        other.predict(X[:99])
    assert "forest_ranks" not in seen
    with traces() as seen:  # what is counted is what happens: 37 rows have no program
        forest_ranks.eval_shape(
            make_ready(other.forest_), X[:37], n_labels=3, aggregation="two-step"
        )
    assert seen.count("forest_ranks") == 1


@pytest.mark.parametrize("n_threads", [1, 2, 16])
def test_rows_are_cut_into_batches_of_known_sizes_that_hold_them_all(n_threads):
    for n_rows in [*range(1, 5000, 7), 9999, 65536, 65537, 200_001, 3_000_000]:
        sizes = batching.batch_sizes(n_rows, n_threads)
        assert set(sizes) <= set(CPU.batch_sizes)
        assert sum(sizes[:-1]) < n_rows <= sum(sizes)
        if n_rows >= 2**15:
            assert len(sizes) >= n_threads


def test_threads_compile_a_new_size_once_and_put_rows_in_their_places(monkeypatch):
    monkeypatch.setattr(batching, "thread_count", lambda: 3)
    rows = np.arange(50_000, dtype=np.float32)[:, None]
    running, compiling_beside_others = set(), []

    def double(block):
        if len(block) not in seen.sizes:
            compiling_beside_others.append(bool(running))
        running.add(threading.get_ident())
        try:
            return block * 2
        finally:
            running.discard(threading.get_ident())

    seen = Seen()
    for _ in range(3):
        np.testing.assert_array_equal(batching.map_rows(double, rows, seen), rows * 2)
    assert seen.sizes == set(batching.batch_sizes(len(rows), 3))
    assert compiling_beside_others == [False] * len(seen.sizes)


def test_a_first_call_compiles_one_program_and_the_next_those_that_are_faster():
    rows = np.arange(10_000, dtype=np.float32)[:, None]
    asked, seen = [], Seen()
    for _ in range(2):
        ranks = batching.map_rows(lambda block: asked.append(len(block)) or block * 2, rows, seen)
        np.testing.assert_array_equal(ranks, rows * 2)
    assert asked == [2048] * 5 + [8192, 2048]
    assert seen.sizes == {2048, 8192}
    batching.map_rows(lambda block: asked.append(len(block)) or block, rows[:1000], seen)
    assert asked[-1] == 1024


def test_compile_prepares_the_sizes_that_threads_will_ask_for(fitted, monkeypatch):
    asked = []
    monkeypatch.setattr(type(fitted), "_ranks", lambda self, rows: asked.append(len(rows)) or rows)
    monkeypatch.setattr(_prediction, "thread_count", lambda: 2)
    fresh = pickle.loads(pickle.dumps(fitted))  # one that has seen no size yet
    fresh.compile([100, 100_000])
    assert asked == sorted({128, *batching.batch_sizes(100_000, 2)})
    fresh.compile()
    # None of them twice; NumPy ranks up to 32 rows.
    assert sorted(asked) == [size for size in CPU.batch_sizes if size > 32]


def test_compile_leaves_out_what_numpy_ranks(fitted, monkeypatch):
    asked = []
    monkeypatch.setattr(type(fitted), "_ranks", lambda self, rows: asked.append(len(rows)) or rows)
    fresh = pickle.loads(pickle.dumps(fitted))
    fresh.compile([1, 8, 20, 32])
    assert asked == []
    fresh.compile([32, 33])
    assert asked == [128]


def test_compile_prepares_scores_where_they_are_asked_for(fitted, monkeypatch):
    asked = []
    monkeypatch.setattr(type(fitted), "_scores", lambda self, rows: asked.append(len(rows)) or rows)
    fresh = pickle.loads(pickle.dumps(fitted))
    fresh.compile([100])
    assert asked == []
    fresh.compile([5, 100], scores=True)
    fresh.compile([100], scores=True)
    assert asked == [128]


def test_after_compile_no_call_compiles(fitted):
    assert fitted.compile([3, 100]) is fitted
    with traces() as seen:
        for n in (2, 8, 33, 100, 128):
            assert len(fitted.predict(X[:n])) == n
    assert "forest_ranks" not in seen
    with pytest.raises(InputError, match="batch_sizes must be a whole number 1 or more; it is 0"):
        fitted.compile([0])
