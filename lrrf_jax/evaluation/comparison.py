"""Many learners on many tables: all folds, in several processes, kept in a file as they come."""

import concurrent.futures
import concurrent.futures.process
import contextlib
import dataclasses
import functools
import json
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from tqdm import tqdm

from lrrf_jax._program_store import chosen_store, use_store
from lrrf_jax._threads import limit_threads, thread_count
from lrrf_jax._validation import require_integer
from lrrf_jax.evaluation.measures import as_measures
from lrrf_jax.evaluation.protocol import (
    DELETE_ONCE,
    Protocol,
    as_estimator,
    plain_params,
    require_agreement,
    run_fold,
    warn_of_unranked_labels,
)
from lrrf_jax.evaluation.results import (
    FoldResult,
    ResultsFile,
    library_version,
    params_text,
    platform_text,
)
from lrrf_jax.evaluation.tables import Table, as_table, table_arguments
from lrrf_jax.evaluation.unranked import warn_of_short_rows

# Of JAX, which workers share with the process that starts them.
_CACHE_SETTINGS = (
    "jax_compilation_cache_dir",
    "jax_compilation_cache_max_size",
    "jax_persistent_cache_min_compile_time_secs",
    "jax_persistent_cache_min_entry_size_bytes",
)


class ComparisonError(RuntimeError):
    """Some folds failed; the others are finished, and kept where there is a results file.

    Attributes
    ----------
    finished : list of FoldResult
        Folds that did not fail.
    failures : list of (FoldResult, Exception)
        Folds that did, without scores, and what went wrong.
    """

    finished: list[FoldResult]
    failures: list[tuple[FoldResult, Exception]]


class _Task(NamedTuple):
    result: FoldResult  # without its scores
    estimator: Any
    protocol: Protocol


def compare(
    learners: Sequence[str] | Mapping[str, Any],
    tables: Mapping[str, Any],
    *,
    folds: Any = None,
    repeats: int = 5,
    missing: Sequence[float] = (0.0,),
    seed: int = 0,
    protocol: str = DELETE_ONCE,
    stratified: bool = False,
    measures: Sequence[str] | None = None,
    folds_run: int | Mapping[str, int] | None = None,
    results: str | os.PathLike[str] | None = None,
    n_jobs: int = 1,
    progress: bool | None = False,
) -> list[FoldResult]:
    """Cross-validate every learner on every table, the same folds for all.

    Parameters
    ----------
    learners : sequence of str, or mapping of str to estimator
        Names in ``lrrf_jax.LEARNERS``, or estimators under names of their own.
    tables : mapping of str to (X, y), (X, y, sample_weight), mapping, or LabelRankingData
        Data sets, as `cross_validate` takes them: a mapping has the names "X", "y",
        "sample_weight", "scores", "groups", "folds" and "labels", as far as there is any of
        these. What `lrrf_jax.datasets` reads is such data too; where it has scores, learners are
        fitted to them.
    folds : int, "leave-one-out", splitter, or array-like (n_samples,), optional
        As `cross_validate` takes them, for all tables. By default those of a table that brings
        its own, and 10 otherwise, or as many as it has groups where these are fewer.
    repeats, seed, protocol, stratified
        As `cross_validate` takes them.
    measures : sequence of str, optional
        As `cross_validate` takes them; by default, those of scores on the tables that have scores.
    missing : sequence of float
        Shares of the labels to delete, one after another.
    folds_run : int or mapping of str to int, optional
        How many of the folds of each repeat to run, for all tables or by the name of the table.
    results : path, optional
        A CSV file. Folds that are in it are not run again; the others are appended as they come.
        One ending in ".gz" is read, and serves where it holds all folds that are asked for.
    n_jobs : int
        Processes, each with its share of the threads; they change the times and nothing else.
    progress : bool or None
        Show a bar on stderr; None: where that is a terminal.

    Returns
    -------
    list of FoldResult
        Of every fold that was asked for, in the order of tables, shares, learners, repeats, folds.

    Raises
    ------
    InputError
        For arguments outside their range and tables that cannot be used, before any fold is run.
    ComparisonError
        Where folds failed; the others are finished by then.

    Examples
    --------
    >>> from lrrf_jax.datasets import load
    >>> iris = load("iris")
    >>> found = compare(["default"], {"iris": (iris.X, iris.y)}, folds=3, repeats=2)
    >>> [(result.repeat, result.fold) for result in found]
    [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    """
    require_integer(repeats, "repeats", 1)
    require_integer(n_jobs, "n_jobs", 1)
    if not isinstance(learners, Mapping):
        learners = {name: name for name in learners}
    estimators = {name: as_estimator(learner, protocol) for name, learner in learners.items()}
    require_integer(seed, "seed", 0)
    arguments = {name: _arguments(name, table, folds, seed) for name, table in tables.items()}
    checked = {name: as_table(**of_name) for name, of_name in arguments.items()}
    rules, firsts = {}, {}
    for name, table in checked.items():
        n_folds = table.splits.n_folds
        wanted = as_measures(measures, table.scores is not None, len(table.labels))
        rules[name] = [
            Protocol(n_folds, float(share), seed, protocol, stratified, wanted) for share in missing
        ]
        firsts[name] = _first_folds(folds_run, name, n_folds)
        warn_of_short_rows(table.rankings, name)
        for rule in rules[name]:
            require_agreement(table, rule)
            warn_of_unranked_labels(table, rule, repeats, firsts[name], name)
    tasks = [
        task
        for name, table in checked.items()
        for task in _tasks(estimators, name, table, rules[name], (repeats, firsts[name]))
    ]
    file = None if results is None else ResultsFile(results)
    known = {} if file is None else {result.key: result for result in file.read()}
    to_run = _breadth_first([task for task in tasks if task.result.key not in known])
    if file is not None and to_run:
        file.append([])  # a place that cannot be written is refused before any fold is run
    failures = []
    bar = tqdm(
        total=len(tasks),
        initial=len(tasks) - len(to_run),
        unit="fold",
        disable=None if progress is None else not progress,
    )
    with bar:
        for task, outcome in _outcomes(to_run, checked, arguments, n_jobs):
            if isinstance(outcome, Exception):
                failures.append((task, outcome))
            else:
                known[outcome.key] = outcome
                if file is not None:
                    file.append([outcome])
            bar.set_postfix_str(f"{task.result.learner} on {task.result.data}", refresh=False)
            bar.update()
    if failures:
        (first, error), where = failures[0], "" if file is None else f", in {file.path}"
        told = ComparisonError(
            f"{len(failures)} of {len(tasks)} folds failed, the first '{first.result.learner}' on "
            f"'{first.result.data}': {type(error).__name__}: {error}. The others are "
            f"finished{where}."
        )
        told.finished = [known[task.result.key] for task in tasks if task.result.key in known]
        told.failures = [(task.result, error) for task, error in failures]
        raise told from error
    return [known[task.result.key] for task in tasks]


def _first_folds(folds_run: int | Mapping[str, int] | None, name: str, folds: int) -> int:
    count = folds_run.get(name) if isinstance(folds_run, Mapping) else folds_run
    if count is None:
        return folds
    require_integer(count, "folds_run", 1, folds)
    return int(count)


def checked_table(name: str, table: Any, folds: Any, seed: int) -> Table:
    """Check one of the tables of a comparison, and how it is to be cut."""
    return as_table(**_arguments(name, table, folds, seed))


def _arguments(name: str, table: Any, folds: Any, seed: int) -> dict[str, Any]:
    """Return the arguments of `as_table`; ``folds`` of the comparison go before the table's own."""
    found = table_arguments(name, table)
    own = found.pop("folds", None)
    return {**found, "folds": own if folds is None else folds, "seed": int(seed)}


def _tasks(
    estimators: dict[str, Any],
    data: str,
    table: Table,
    rules: list[Protocol],
    extent: tuple[int, int],  # repeats, folds of each that are run
) -> Iterator[_Task]:
    version, machine = library_version(), platform_text()
    for protocol in rules:
        names = {measure.name: None for measure in protocol.measures}
        measures = json.dumps(names) if names else ""
        for learner, estimator in estimators.items():
            params = params_text(plain_params(estimator))
            for repeat, fold in np.ndindex(extent):
                result = FoldResult(
                    learner,
                    data,
                    float(protocol.missing),
                    protocol.name,
                    bool(protocol.stratified),
                    int(protocol.folds),
                    repeat,
                    fold,
                    int(protocol.seed),
                    params,
                    version,
                    machine,
                    splits=table.splits.name,
                    target=table.target,
                    measures=measures,
                )
                yield _Task(result, estimator, protocol)


def _breadth_first(tasks: list[_Task]) -> list[_Task]:
    """Put one fold of every learner before the next fold of any.

    Processes so compile the programs of different learners, and find each other's in the cache
    afterwards; and of a table that was cut off, the same folds of all learners are there.
    """
    tables: dict[tuple[str, float], list[_Task]] = {}
    for task in tasks:
        tables.setdefault((task.result.data, task.result.missing), []).append(task)
    return [
        task
        for of_table in tables.values()
        for task in sorted(of_table, key=lambda task: (task.result.repeat, task.result.fold))
    ]


def _outcomes(
    tasks: list[_Task], checked: dict[str, Table], tables: dict[str, Any], n_jobs: int
) -> Iterator[tuple[_Task, FoldResult | Exception]]:
    """Run tasks; gives each with its result or what went wrong, as they end."""
    if n_jobs == 1 or len(tasks) < 2:
        for task in tasks:
            yield task, _attempt(lambda task=task: _run(task, checked))  # type: ignore[misc]
        return
    share = max(1, thread_count() // n_jobs)
    cache = {name: getattr(jax.config, name) for name in _CACHE_SETTINGS}
    programs = chosen_store()
    # A forked process would inherit locks of JAX's threads, and not the threads.
    context = multiprocessing.get_context("spawn")
    told, teller = context.Pipe(duplex=False)
    pool = concurrent.futures.ProcessPoolExecutor(
        min(n_jobs, len(tasks)),
        context,
        functools.partial(_start_worker, tables, share, cache, programs, told),
    )
    with told, teller:
        try:
            futures = {pool.submit(_run_in_worker, task): task for task in tasks}
            for future in concurrent.futures.as_completed(futures):
                yield futures[future], _attempt(future.result)
        except BaseException:
            # Whoever interrupts waits for no fold: those that are running are given up.
            teller.close()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        pool.shutdown()


def _attempt(run: Callable[[], FoldResult]) -> FoldResult | Exception:
    try:
        return run()
    except concurrent.futures.process.BrokenProcessPool:
        raise  # nothing more will come
    except Exception as error:
        return error


def _run(task: _Task, tables: Mapping[str, Table]) -> FoldResult:
    result = task.result
    table, at = tables[result.data], (result.repeat, result.fold)
    score = run_fold(task.estimator, table, task.protocol, *at)
    measured = score._asdict()
    sums = measured.pop("sums")
    return dataclasses.replace(result, **measured, measures=json.dumps(sums) if sums else "")


# --------------------------------------------------------------------------- in the workers
_tables: dict[str, Table] = {}


def _start_worker(
    tables: dict[str, Any],
    n_threads: int,
    cache: dict[str, Any],
    programs: tuple[Any, ...],
    told: multiprocessing.connection.Connection,
) -> None:
    # A Ctrl-C reaches all processes of a terminal; the one that started this one answers it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _tables.update({name: as_table(**table) for name, table in tables.items()})
    limit_threads(n_threads)
    os.environ["NPROC"] = str(n_threads)  # what XLA's own pools go by; no backend is up yet
    for name, value in cache.items():
        jax.config.update(name, value)
    use_store(*programs)
    threading.Thread(target=_end_when_told, args=[told], daemon=True).start()


def _end_when_told(told: multiprocessing.connection.Connection) -> None:
    """End when the other end of the pipe closes, as it does too where the parent is killed."""
    with contextlib.suppress(EOFError, OSError):
        told.recv_bytes()
    os._exit(1)


def _run_in_worker(task: _Task) -> FoldResult:
    return _run(task, _tables)
