"""What every forest does as `RandomForestLabelRanker` does: out of bag, more trees, enough trees.

The tables are those of `test_contract`, so that the programs are too.
"""

import concurrent.futures
import os

import jax
import numpy as np
import pandas as pd
import pytest

import lrrf_jax
from lrrf_jax import LEARNERS, InputError, _threads, metrics, model_file
from lrrf_jax.learners.forest.bootstraps import bootstrap_table
from lrrf_jax.learners.forest.ranker import ForestLabelRanker
from tests import oracles
from tests.learners.small_forests import leaves_of
from tests.learners.test_contract import PARTIAL_Y, WEIGHT, X, Y, make

FORESTS = [name for name, learner in LEARNERS.items() if issubclass(learner, ForestLabelRanker)]
MALLOWS = ["lrt-bag", "w-lrt-bag", "f-lrt-bag"]
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*drawn by every tree", "ignore:.*rank too few labels"
)
every_forest = pytest.mark.parametrize("name", FORESTS)


def with_partial_ones(names):
    slow = pytest.mark.slow
    cases = [pytest.param(name, Y, None, id=name) for name in FORESTS]
    return cases + [
        pytest.param(
            name, PARTIAL_Y, WEIGHT, id=f"{name}-partial", marks=() if name == "lrt-bag" else slow
        )
        for name in names
    ]


def same_trees(one, other):
    return all(np.array_equal(*fields) for fields in zip(one.forest_, other.forest_, strict=True))


def content(ranker, path):
    """Return the bytes of a model file, with the parameters of a plain fit."""
    ranker.set_params(n_estimators=ranker.n_estimators_, warm_start=False, n_iter_no_change=None)
    ranker.save(path)
    return path.read_bytes()


def ranks_of(ranker, total):
    """Rank by the sums of some leaves, with plain loops."""
    aggregation = ranker.config_.aggregation
    if aggregation == "two-step":
        return oracles.ranks_of_scores(list(-total))
    if aggregation == "one-step":
        return oracles.ranks_of_scores(list(total))
    assert aggregation == "copeland"
    return oracles.copeland(total, len(ranker.labels_))[1]


# ------------------------------------------------------------------------------- out of bag
@pytest.mark.parametrize(("name", "y", "weight"), with_partial_ones(MALLOWS))
def test_out_of_bag_rankings_are_those_of_a_loop_over_the_trees_that_did_not_draw_the_row(
    name, y, weight, tmp_path
):
    ranker = make(name, oob_score=True).fit(X, y, weight)
    forest, row = ranker.forest_, ranker._last_fit.row
    counts = bootstrap_table(jax.random.key(0), len(row), 4, True)
    expected = np.full(y.shape, np.nan)
    for i, drawn in zip(row, counts, strict=True):
        trees = np.flatnonzero(drawn == 0)
        if len(trees):
            values = [forest.leaf_value[leaves_of(forest, X[i], t)] for t in trees]
            expected[i] = ranks_of(ranker, np.sum(values, axis=0))
    np.testing.assert_array_equal(ranker.oob_ranking_, expected)
    known = ~np.isnan(expected[:, 0])
    assert 10 < known.sum() < 60
    tau = metrics.kendall_tau(y[known], expected[known], None if weight is None else weight[known])
    assert ranker.oob_score_ == pytest.approx(tau)
    # The model file has the score.
    ranker.save(tmp_path / "m.lrrf")
    assert lrrf_jax.load(tmp_path / "m.lrrf").oob_score_ == ranker.oob_score_


def test_a_fit_without_out_of_bag_rankings_leaves_none_of_another_forest():
    ranker = make("lw-rf", oob_score=True).fit(X, Y)
    ranker.set_params(oob_score=False).fit(X, Y)
    assert not hasattr(ranker, "oob_score_")
    assert not hasattr(ranker, "oob_ranking_")


# ------------------------------------------------------------------------------- warm start
@pytest.mark.parametrize(("name", "y", "weight"), with_partial_ones(MALLOWS))
def test_a_warm_start_ends_in_the_bytes_of_a_new_forest(name, y, weight, tmp_path):
    few = make(name, warm_start=True, n_estimators=3, oob_score=True).fit(X, y, weight)
    first = few.forest_
    more = few.set_params(n_estimators=4)
    more.fit(X, y, weight)
    new = make(name, oob_score=True).fit(X, y, weight)
    depth = min(first.depth, new.forest_.depth)
    np.testing.assert_array_equal(
        new.forest_.threshold[:3, : 2**depth - 1], first.threshold[:, : 2**depth - 1]
    )
    assert content(more, tmp_path / "more") == content(new, tmp_path / "new")
    np.testing.assert_array_equal(more.oob_ranking_, new.oob_ranking_)
    assert np.array_equal(*(ranker._last_fit.gain for ranker in (more, new)))
    more.set_params(warm_start=True)
    more.fit(X, y, weight)  # as many trees: nothing grows, and nothing changes
    assert same_trees(more, new)
    with pytest.raises(InputError, match="n_estimators must not fall"):
        more.set_params(n_estimators=2).fit(X, y, weight)
    if weight is None:
        with pytest.raises(InputError, match="but for n_estimators; X differs"):
            more.set_params(n_estimators=5).fit(X[::-1], y)


def test_a_warm_start_with_other_levels_of_the_same_codes_is_refused():
    table = pd.DataFrame(X, columns=list("abcd"))
    table["a"] = np.where(table["a"] < 0, "p", "q")
    ranker = make("lw-rf", warm_start=True, n_estimators=2).fit(table, Y)
    other = table.assign(a=table["a"].replace({"p": "r", "q": "s"}))
    with pytest.raises(InputError, match="X differs"):
        ranker.set_params(n_estimators=3).fit(other, Y)
    assert ranker.fit(table, Y).n_estimators_ == 3


# ------------------------------------------------------------------------------- early stopping
def stops_after(taus, step, tol):
    """Trees after which the tau has not risen by ``tol`` since ``step`` trees before."""
    for n_trees in range(2 * step, len(taus) * step, step):
        if taus[n_trees // step - 1] - taus[n_trees // step - 2] < tol:
            return n_trees
    return len(taus) * step


@pytest.mark.parametrize(("name", "y"), [("lr-rf", Y), ("lrt-bag", PARTIAL_Y)])
def test_growth_stops_where_the_out_of_bag_tau_of_forests_of_that_size_is_flat(name, y):
    sizes = [2, 4, 6, 8]
    taus = [
        make(name, n_estimators=n, oob_score=True, random_state=3).fit(X, y).oob_score_
        for n in sizes
    ]
    stopped = []
    for tol in (0.0, np.diff(taus).max() + 1e-6, 1.0):
        ranker = make(name, n_estimators=8, n_iter_no_change=2, tol=tol, random_state=3).fit(X, y)
        assert ranker.n_estimators_ == stops_after(taus, 2, tol)
        stopped.append(ranker.n_estimators_)
    assert stopped == [6, 4, 4]  # it rises once, and never by so much


@pytest.mark.parametrize(("name", "y", "weight"), with_partial_ones(MALLOWS))
def test_a_forest_that_stopped_early_is_that_of_as_many_trees(name, y, weight, tmp_path):
    settings = {"n_iter_no_change": 2, "tol": 0.05}
    ranker = make(name, n_estimators=40, **settings).fit(X, y, weight)
    assert 4 <= ranker.n_estimators_ < 40
    assert ranker.n_estimators_ == ranker.forest_.n_trees == ranker.config_.n_trees
    ranker.save(tmp_path / "m.lrrf")
    loaded = lrrf_jax.load(tmp_path / "m.lrrf")
    assert loaded.n_estimators_ == ranker.n_estimators_
    assert loaded.get_params() == ranker.get_params()
    assert loaded.get_params()["n_estimators"] == 40
    new = make(name, n_estimators=ranker.n_estimators_, tol=0.05).fit(X, y, weight)
    assert content(ranker, tmp_path / "one") == content(new, tmp_path / "other")


def test_growth_that_stopped_goes_on_with_a_warm_start_and_a_checkpoint(tmp_path):
    settings = {"n_estimators": 9, "n_iter_no_change": 2, "tol": 1.0}
    ranker = make("lrt-bag", warm_start=True, **settings).fit(X, Y, checkpoint=tmp_path / "c")
    assert ranker.n_estimators_ == 4
    ranker.fit(X, Y)
    assert ranker.n_estimators_ == 6
    # From the checkpoint, and beyond what it holds.
    again = make("lrt-bag", **settings | {"tol": 0.0}).fit(X, Y, checkpoint=tmp_path / "c")
    assert again.n_estimators_ > 4
    assert len(os.listdir(tmp_path / "c")) > 1
    new = make("lrt-bag", n_estimators=again.n_estimators_).fit(X, Y)
    assert same_trees(again, new)
    np.testing.assert_array_equal(again.feature_importances_, new.feature_importances_)


@every_forest
def test_what_needs_a_bootstrap_or_a_number_says_so(name):
    for parameters, fragment in (
        ({"oob_score": True, "bootstrap": False}, "oob_score needs bootstrap=True"),
        ({"n_iter_no_change": 5, "bootstrap": False}, "n_iter_no_change needs bootstrap=True"),
        ({"n_iter_no_change": 0}, "n_iter_no_change must be a whole number 1 or more; it is 0"),
        ({"tol": -1.0}, "tol must be a finite number, 0 or more"),
        ({"n_jobs": 0}, "n_jobs must be a number of threads, .*; it is 0"),
        ({"n_jobs": 1.5}, "n_jobs must be a number of threads, .*; it is 1.5"),
        ({"memory_budget": 10}, "memory_budget must be a whole number"),
    ):
        with pytest.raises(InputError, match=fragment):
            make(name, **parameters).fit(X, Y)
    with pytest.raises(InputError, match="random_state must be set where there is a checkpoint"):
        make(name, random_state=None).fit(X, Y, checkpoint="nowhere")


# ------------------------------------------------------------------------------- checkpoints
@pytest.mark.parametrize(("name", "y"), [("lrt-bag", PARTIAL_Y), ("pw-rf", Y)])
def test_any_forest_goes_on_from_a_checkpoint(name, y, tmp_path):
    make(name, n_estimators=3).fit(X, y, checkpoint=tmp_path / "c")
    assert os.listdir(tmp_path / "c") == ["trees-00000-00002.lrrf"]
    more = make(name).fit(X, y, checkpoint=tmp_path / "c")
    assert same_trees(more, make(name).fit(X, y))
    with pytest.raises(InputError, match="belongs to another fit"):
        make(name, max_depth=2).fit(X, Y[::-1], checkpoint=tmp_path / "c")


# ------------------------------------------------------------------------------- progress
@pytest.mark.parametrize("name", ["lrt-bag", "lw-rf"])
def test_a_bar_counts_the_trees_those_kept_included(name, capsys):
    ranker = make(name, warm_start=True, n_estimators=3, verbose=1).fit(X, Y)
    assert "3/3" in capsys.readouterr().err
    ranker.set_params(n_estimators=4).fit(X, Y)
    assert "4/4" in capsys.readouterr().err
    make(name).fit(X, Y)
    assert capsys.readouterr().err == ""


# ------------------------------------------------------------------------------- threads
@pytest.mark.parametrize(
    ("n_jobs", "of_eight", "of_two"),
    [
        (None, 8, 2),
        (-1, 8, 2),
        (1, 1, 1),
        (3, 3, 2),
        (99, 8, 2),
        (-2, 7, 1),
        (-8, 1, 1),
        (-99, 1, 1),
    ],
)
def test_threads_are_counted_as_joblib_does_up_to_the_cores(n_jobs, of_eight, of_two, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    with _threads.use_threads(n_jobs):
        assert _threads.thread_count() == of_eight
    assert _threads.thread_count() == 8
    monkeypatch.setattr(_threads, "_most", 2)  # of a worker that was told to share
    with _threads.use_threads(n_jobs):
        assert _threads.thread_count() == of_two


def test_growth_and_prediction_start_as_many_threads_as_they_are_told(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(4)), raising=False)
    started = []

    class Spy(concurrent.futures.ThreadPoolExecutor):
        def __init__(self, max_workers, *arguments, **keywords):
            started.append(max_workers)
            super().__init__(max_workers, *arguments, **keywords)

    monkeypatch.setattr(concurrent.futures, "ThreadPoolExecutor", Spy)
    many = np.tile(X, (600, 1))
    results = {}
    for n_jobs in (1, 2, None):
        started.clear()
        ranker = make("lr-rf", n_estimators=8, n_jobs=n_jobs).fit(X, Y)
        ranker.predict(many)  # compiles
        ranker.predict(many)
        ranker.apply(many)
        assert set(started) == {1: set(), 2: {2}, None: {4}}[n_jobs]
        results[n_jobs] = ranker.predict_scores(many), ranker.forest_
    for n_jobs in (2, None):
        np.testing.assert_array_equal(results[n_jobs][0], results[1][0])
        for field, other in zip(results[n_jobs][1], results[1][1], strict=True):
            np.testing.assert_array_equal(field, other)


# ------------------------------------------------------------------------------- model files
@every_forest
def test_a_model_that_needs_no_new_parameter_is_stored_as_before(name, tmp_path):
    folder = os.path.join(os.path.dirname(__file__), os.pardir, "models", "v2")
    before, _ = model_file.read_model(os.path.join(folder, f"{name}.lrrf"))
    make(name).fit(X, Y).save(tmp_path / "m.lrrf")
    header, _ = model_file.read_model(tmp_path / "m.lrrf")
    assert header["params"].keys() - before["params"].keys() <= {"weighting"}
    assert header["extra"].keys() == before["extra"].keys()
    make(name, n_jobs=2, n_iter_no_change=2).fit(X, Y).save(tmp_path / "m.lrrf")
    loaded = lrrf_jax.load(tmp_path / "m.lrrf")
    assert (loaded.n_jobs, loaded.n_iter_no_change, loaded.tol) == (2, 2, 1e-3)
