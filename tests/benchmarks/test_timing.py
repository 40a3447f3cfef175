import os
import threading

import jax
import numpy as np
import pytest

from lrrf_jax.benchmarks.timing import CompilationCounter, Engine, on_cores, time_in_turn


def test_engines_run_in_turn_once_a_round():
    order = []
    engines = [Engine(name, 1, lambda name=name: order.append(name)) for name in "ab"]
    timings = time_in_turn(engines, rounds=3, cell_seconds=60)
    turns = [name for name, before in zip(order, [None, *order], strict=False) if name != before]
    assert "".join(turns).endswith("ababab")
    assert all(len(timings[engine.key].seconds) == 3 for engine in engines)


def test_an_engine_that_is_slow_for_its_cell_runs_once_after_its_first_call():
    calls = []
    slow = Engine("slow", 1, lambda: calls.append(threading.Event().wait(0.12)))
    timing = time_in_turn([slow], rounds=5, cell_seconds=0.3)["slow", 1]
    assert len(calls) == len(timing.seconds) == 1
    assert timing.median == timing.first_seconds


def test_what_an_engine_needs_is_made_ready_once_before_its_first_call():
    order = []
    engine = Engine("a", 1, lambda: order.append("run"), prepare=lambda: order.append("ready"))
    time_in_turn([engine], rounds=2, cell_seconds=60)
    assert order[:2] == ["ready", "run"]
    assert order.count("ready") == 1


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no affinity")
def test_one_thread_means_one_core_for_the_thread_and_those_it_starts():
    before, seen = os.sched_getaffinity(0), []

    def look():
        seen.append(os.sched_getaffinity(0))

    with on_cores(1):
        look()
        other = threading.Thread(target=look)
        other.start()
        other.join()
    assert seen == [{min(before)}] * 2
    assert os.sched_getaffinity(0) == before
    with pytest.raises(ZeroDivisionError), on_cores(1):
        _ = 1 / 0
    assert os.sched_getaffinity(0) == before


def test_the_counter_sees_each_compilation_once():
    counter = CompilationCounter.of_process()
    assert CompilationCounter.of_process() is counter
    double = jax.jit(lambda x: x + x)
    rows = np.zeros(3, np.float32)
    before, seconds = counter.n_programs, counter.seconds
    double(rows)
    assert counter.n_programs == before + 1
    assert counter.seconds > seconds
    double(rows)
    assert counter.n_programs == before + 1
    double(np.zeros(4, np.float32))
    assert counter.n_programs == before + 2
