import dataclasses
import gzip
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from lrrf_jax import InputError
from lrrf_jax._threads import thread_count
from lrrf_jax.evaluation import comparison, cross_validate
from lrrf_jax.evaluation.comparison import ComparisonError, compare
from lrrf_jax.evaluation.results import FoldResult, ResultsFile

RNG = np.random.default_rng(0)
TABLES = {
    name: (RNG.random((n, 2)), np.argsort(np.argsort(RNG.random((n, 3)), 1), 1) + 1.0)
    for name, n in (("one", 17), ("two", 23))
}
RUN = {"folds": 4, "repeats": 2, "missing": [0.0, 0.4]}


class Seeded(BaseEstimator):
    """Predicts at random, as its seed says."""

    def __init__(self, random_state=None, fails_on=None):
        self.random_state, self.fails_on = random_state, fails_on

    def fit(self, X, y):
        if self.fails_on == len(X):
            raise ZeroDivisionError("on purpose")
        return self

    def predict(self, X):
        draws = np.random.default_rng(self.random_state).random((len(X), 3))
        return np.argsort(np.argsort(draws, 1), 1) + 1


class Threads(Seeded):
    """Predicts how many threads it may use, in the top label."""

    def predict(self, X):
        assert os.environ["NPROC"] == str(thread_count()) == "1"
        return super().predict(X)


LEARNERS = {"default": "default", "seeded": Seeded()}


def without_times(results):
    return [dataclasses.replace(r, fit_seconds=0, predict_seconds=0) for r in results]


@pytest.fixture(scope="module")
def found():
    return compare(LEARNERS, TABLES, **RUN)


def test_every_fold_gives_what_cross_validate_gives(found):
    assert len(found) == 2 * 2 * 2 * 2 * 4
    for name, (X, y) in TABLES.items():
        for missing in RUN["missing"]:
            for learner, estimator in LEARNERS.items():
                expected = cross_validate(estimator, X, y, 4, 2, missing)
                taus = [
                    result.tau
                    for result in found
                    if (result.data, result.missing, result.learner) == (name, missing, learner)
                ]
                np.testing.assert_array_equal(np.reshape(taus, (2, 4)), expected.scores)
    assert json.loads(found[-1].params) == {"random_state": None, "fails_on": None}


def test_processes_change_no_score_and_share_the_threads(found, tmp_path):
    learners = LEARNERS | {"threads": Threads()}
    results = compare(learners, TABLES, **RUN, n_jobs=2, results=tmp_path / "r.csv")
    same = [result for result in results if result.learner != "threads"]
    assert without_times(same) == without_times(found)
    assert len(results) == 3 * len(found) / 2
    assert len(ResultsFile(tmp_path / "r.csv").read()) == len(results)


def test_a_comparison_that_was_cut_off_runs_the_other_folds_only(found, tmp_path, monkeypatch):
    path = tmp_path / "deep" / "r.csv"
    run_fold, calls = comparison.run_fold, []

    def limited(*arguments):
        if len(calls) == 21:
            raise KeyboardInterrupt
        calls.append(arguments)
        return run_fold(*arguments)

    monkeypatch.setattr(comparison, "run_fold", limited)
    with pytest.raises(KeyboardInterrupt):
        compare(LEARNERS, TABLES, **RUN, results=path)
    assert len(ResultsFile(path).read()) == 21
    # A process that dies while it writes leaves half a line.
    os.truncate(path, path.stat().st_size - 5)
    assert len(ResultsFile(path).read()) == 20
    monkeypatch.setattr(
        comparison, "run_fold", lambda *arguments: calls.append(arguments) or run_fold(*arguments)
    )
    calls.clear()
    assert without_times(compare(LEARNERS, TABLES, **RUN, results=path)) == without_times(found)
    assert len(calls) == len(found) - 20
    calls.clear()
    again = compare(LEARNERS, TABLES, **RUN, results=path)
    assert without_times(again) == without_times(found)
    assert not calls
    # Other parameters, another seed and another version are other results.
    compare({"seeded": Seeded(fails_on=-1)}, TABLES, **RUN, results=path)
    assert len(calls) == len(found) / 2
    compare({"seeded": Seeded()}, TABLES, **RUN, seed=1, results=path)
    assert len(calls) == len(found)
    monkeypatch.setattr(comparison, "library_version", lambda: "next")
    compare({"seeded": Seeded()}, TABLES, **RUN, results=path)
    assert len(calls) == 1.5 * len(found)
    assert path.read_text().count("learner,") == 1


def test_the_first_folds_of_large_tables_can_be_enough(found):
    first = compare(LEARNERS, TABLES, **RUN, folds_run={"two": 1})
    kept = [result for result in found if result.data == "one" or result.fold == 0]
    assert without_times(first) == without_times(kept)


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_fold_that_fails_is_told_when_the_others_are_finished(n_jobs, tmp_path):
    tables = {"one": TABLES["one"]}
    learners = {"seeded": Seeded(fails_on=12)}  # the first fold tests 5 rows of 17
    with pytest.raises(ComparisonError, match="2 of 8 folds failed, the first 'seeded' on 'one'"):
        compare(learners, tables, folds=4, repeats=2, results=tmp_path / "r.csv", n_jobs=n_jobs)
    assert len(ResultsFile(tmp_path / "r.csv").read()) == 6


def result(**changes):
    return dataclasses.replace(
        FoldResult("a", "b", 0.3, "delete-once", False, 10, 0, 1, 2, '{"p": "x,\\"y"}', "1", "z"),
        **changes,
    )


def test_a_comparison_that_was_cut_off_has_the_same_folds_of_all_learners(monkeypatch):
    run_fold, order = comparison.run_fold, []

    def noted(estimator, table, protocol, repeat, fold):
        order.append((protocol.missing, repeat, fold, type(estimator).__name__))
        return run_fold(estimator, table, protocol, repeat, fold)

    monkeypatch.setattr(comparison, "run_fold", noted)
    one = {"one": TABLES["one"]}
    compare({"b": Seeded(), "a": "default"}, one, folds=2, repeats=2, missing=[0.5, 0.0])
    folds = [(share, repeat, fold) for share in (0.5, 0.0) for repeat in (0, 1) for fold in (0, 1)]
    assert [place[:3] for place in order] == [fold for fold in folds for _ in range(2)]
    assert all(a[3] != b[3] for a, b in zip(order[::2], order[1::2], strict=True))


def test_a_compressed_file_serves_where_all_folds_are_in_it(found, tmp_path, monkeypatch):
    plain, packed = tmp_path / "r.csv", tmp_path / "r.csv.gz"
    ResultsFile(plain).append(found)
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    monkeypatch.setattr(comparison, "run_fold", None)
    assert compare(LEARNERS, TABLES, **RUN, results=packed) == found
    with pytest.raises(InputError, match="not appended to a compressed file. Unpack it"):
        compare(LEARNERS, TABLES, **RUN, seed=1, results=packed)
    whole = packed.read_bytes()
    for broken in (whole[:-20], whole[:40] + bytes(20) + whole[60:], b"plain text"):
        packed.write_bytes(broken)
        with pytest.raises(InputError, match="r.csv.gz: cannot be read"):
            ResultsFile(packed).read()


def test_a_place_that_cannot_be_written_is_refused_before_anything_is_run(tmp_path, monkeypatch):
    (tmp_path / "r.csv.lock").mkdir()  # nor can the lock
    monkeypatch.setattr(comparison, "run_fold", None)
    with pytest.raises(InputError, match="cannot be written"):
        compare(LEARNERS, TABLES, **RUN, results=tmp_path / "r.csv")


def test_what_is_written_is_read_back_and_the_last_of_equal_ones_counts(tmp_path):
    file = ResultsFile(tmp_path / "r.csv")
    assert file.read() == []
    written = [result(tau=0.1 + 0.2, fit_seconds=1e-9), result(fold=2, tau=-1.0, stratified=True)]
    file.append(written[:1])
    file.append(written[1:])
    assert [dataclasses.astuple(r)[:-2] for r in file.read()] == [
        dataclasses.astuple(r)[:-2] for r in written
    ]
    file.append([result(tau=0.5)])
    assert [r.tau for r in file.read()] == [0.5, -1.0]
    file.append([result(fold=3)])
    assert np.isnan(file.read()[-1].tau)
    assert [path.name for path in tmp_path.iterdir()] == ["r.csv"]  # and no lock


@pytest.mark.parametrize("cut", [1, 3, 40, 200])
def test_half_a_line_is_cut_off_before_the_next_is_written(tmp_path, cut):
    file = ResultsFile(tmp_path / "r.csv")
    file.append([result(), result(fold=2)])
    content = file.path.read_bytes()
    file.path.write_bytes(content[:-cut])
    n_whole = content[:-cut].count(b"\n") - 1
    assert len(file.read()) == max(0, n_whole)
    file.append([result(fold=7)])
    assert file.read()[-1].fold == 7
    assert len(file.read()) == max(0, n_whole) + 1


def test_files_that_hold_something_else_are_refused(tmp_path):
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="holds no results of folds; its columns are a, b"):
        ResultsFile(tmp_path / "other.csv").read()
    file = ResultsFile(tmp_path / "r.csv")
    file.append([result()])
    with open(file.path, "a") as lines:
        lines.write("a,b\n")
    with pytest.raises(InputError, match="line 3 is no result of a fold .it has 2 cells"):
        file.read()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        ResultsFile(tmp_path / "file" / "r.csv").append([result()])


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        ({"n_jobs": 0}, "n_jobs must be a whole number 1 or more"),
        ({"folds": 18}, "folds must be a whole number from 2 to 17"),
        ({"folds_run": 5}, "folds_run must be a whole number from 1 to 4"),
        ({"missing": [0.3, 1]}, "missing must be a probability"),
        ({"protocol": "as-run-by-authors"}, "reproduces one forest only"),
    ],
)
def test_arguments_are_refused_before_anything_is_run(arguments, fragment, monkeypatch):
    monkeypatch.setattr(comparison, "run_fold", None)
    with pytest.raises(InputError, match=fragment):
        compare(LEARNERS, TABLES, **(RUN | arguments))


SLOW_RUN = """
import sys
import time
from tests.evaluation.test_comparison import TABLES, Seeded
from lrrf_jax.evaluation.comparison import compare
class Slow(Seeded):
    fits = 0
    def fit(self, X, y):
        Slow.fits += 1
        time.sleep(.2 if Slow.fits < 4 else 300)
        return self
if __name__ == "__main__":
    compare({"slow": Slow()}, TABLES, repeats=20, results=sys.argv[1], n_jobs=2)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_workers_of_a_process_that_is_killed_or_interrupted_end_and_finished_folds_stay(
    tmp_path, number
):
    script, path = tmp_path / "run.py", tmp_path / "r.csv"
    script.write_text(SLOW_RUN)
    variables = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen(
        [sys.executable, script, path],
        env=variables,
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    while len(ResultsFile(path).read()) < 3:
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(number)
    process.wait(timeout=20)
    n_finished = len(ResultsFile(path).read())
    deadline = time.monotonic() + 30
    while group_is_alive(process.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not group_is_alive(process.pid)
    assert len(ResultsFile(path).read()) >= n_finished


def group_is_alive(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
