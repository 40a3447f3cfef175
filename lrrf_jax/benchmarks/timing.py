"""Time in turn: every engine once per round, so that the noise of a machine hits all alike."""

import contextlib
import dataclasses
import math
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import threadpoolctl

_LEAST_SAMPLE_SECONDS = 4e-3  # shorter calls are repeated within a sample
_MOST_CALLS_A_SAMPLE = 2000
_PAUSE_SECONDS = 0.01  # in which the idle threads of the engine before stop spinning


@dataclasses.dataclass(frozen=True)
class Engine:
    """One way to do the work of a cell."""

    name: str
    n_threads: int
    run: Callable[[], Any]
    compiles: bool = False
    prepare: Callable[[], Any] | None = None  # once, before the first call

    @property
    def key(self) -> tuple[str, int]:
        """What tells it from the other engines of a cell."""
        return self.name, self.n_threads


@dataclasses.dataclass
class Timing:
    """What was measured of one engine."""

    first_seconds: float
    compile_seconds: float
    n_programs: int
    seconds: list[float]  # per call, one per round
    cores_used: float  # processor time over wall-clock time

    @property
    def median(self) -> float:
        """Median over the rounds."""
        return statistics.median(self.seconds)


class CompilationCounter:
    """Count the programs that XLA compiles in this process, and the seconds it takes."""

    _lock = threading.Lock()
    _shared: "CompilationCounter | None" = None

    def __init__(self) -> None:
        self.n_programs: int = 0
        self.seconds: float = 0.0

    @classmethod
    def of_process(cls) -> "CompilationCounter":
        """Return the one counter of the process: JAX cannot forget a listener."""
        with cls._lock:
            if cls._shared is None:
                cls._shared = cls()
                jax.monitoring.register_event_duration_secs_listener(cls._shared._note)
        return cls._shared

    def _note(self, event: str, duration_secs: float, **_: Any) -> None:
        if event.startswith("/jax/core/compile/"):  # tracing, lowering, compilation
            self.seconds += duration_secs
            self.n_programs += event.endswith("backend_compile_duration")


@contextlib.contextmanager
def on_cores(n_threads: int) -> Iterator[None]:
    """Keep this thread, and those that it starts, on some cores; limit OpenMP and BLAS too.

    lrrf_jax starts as many threads as it may use cores.
    """
    if not hasattr(os, "sched_setaffinity"):
        with threadpoolctl.threadpool_limits(n_threads):
            yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:n_threads])
    try:
        with threadpoolctl.threadpool_limits(n_threads):
            yield
    finally:
        os.sched_setaffinity(0, before)


def n_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _sample(engine: Engine, n_calls: int) -> tuple[float, float]:
    """Seconds and processor seconds of a call."""
    time.sleep(_PAUSE_SECONDS)
    with on_cores(engine.n_threads):
        processor, start = time.process_time(), time.perf_counter()
        for _ in range(n_calls):
            engine.run()
        return (
            (time.perf_counter() - start) / n_calls,
            (time.process_time() - processor) / n_calls,
        )


def time_in_turn(
    engines: list[Engine], *, rounds: int, cell_seconds: float
) -> dict[tuple[str, int], Timing]:
    """Run every engine once per round; stop after ``rounds`` or ``cell_seconds``.

    An engine that takes more than a third of ``cell_seconds`` is run once only. The first calls,
    which compile and warm caches, are measured apart.
    """
    counter = CompilationCounter.of_process()
    timings, n_calls = {}, {}
    for engine in sorted(engines, key=lambda engine: -engine.n_threads):  # pools on all cores
        programs, compiling = counter.n_programs, counter.seconds
        if engine.prepare is not None:
            with on_cores(engine.n_threads):
                engine.prepare()
        first, processor = _sample(engine, 1)
        timing = Timing(
            first, counter.seconds - compiling, counter.n_programs - programs, [], processor / first
        )
        timings[engine.key] = timing
        again = first
        if timing.n_programs or first < 0.1:
            again, _ = _sample(engine, 1)
        calls = math.ceil(_LEAST_SAMPLE_SECONDS / max(again, 1e-9))
        n_calls[engine.key] = min(max(calls, 1), _MOST_CALLS_A_SAMPLE)
        if again > cell_seconds / 3:
            # Slow enough for one run to do; a call that compiled nothing is a fair one.
            timing.seconds.append(again)
    start, used = time.perf_counter(), {engine.key: [0.0, 0.0] for engine in engines}
    several = [engine for engine in engines if not timings[engine.key].seconds]
    for done in range(rounds):
        if done and time.perf_counter() - start > cell_seconds:
            break
        for engine in several:
            seconds, processor = _sample(engine, n_calls[engine.key])
            timings[engine.key].seconds.append(seconds)
            used[engine.key][0] += processor
            used[engine.key][1] += seconds
    for engine in several:
        timings[engine.key].cores_used = used[engine.key][0] / used[engine.key][1]
    return timings
