"""One row, and a few: no program, the same answers, from any thread and from any copy."""

import concurrent.futures
import copy
import pickle
import tracemalloc

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.base import clone

from lrrf_jax import LEARNERS, BackendError, InputError, RandomForestLabelRanker
from lrrf_jax.distributed import use_devices
from lrrf_jax.learners.forest import few_rows
from lrrf_jax.learners.forest.config import ForestConfig
from lrrf_jax.learners.forest.few_rows import FewRowsRanker
from lrrf_jax.learners.forest.fit import ForestParams
from lrrf_jax.learners.forest.tree_ranker import TreeLabelRanker
from tests.accelerator import accelerator_forms
from tests.learners import parity
from tests.learners.parity import Shape
from tests.learners.small_forests import X
from tests.tracing import traces


def ranker_of(shape, seed=0, learner=RandomForestLabelRanker):
    """Return an estimator that holds a random forest, and finite rows for it."""
    forest, x = parity.random_model(shape, seed)
    ranker = learner()
    ranker.n_features_in_ = shape.n_features
    settings = {name: 1 for name in ForestConfig.__dataclass_fields__}
    settings |= {"n_labels": shape.n_labels, "aggregation": shape.aggregation, "max_depth": 16}
    importances = np.zeros(shape.n_features, np.float32)
    names = [f"label {j}" for j in range(shape.n_labels)]
    ranker._set_fitted(ForestParams(forest, importances), ForestConfig(**settings), names, None)
    return ranker, x[~np.isinf(x).any(1)]


def by_walks(ranker, shape, x):
    """Rank rows by the plain twin."""
    return parity.ranks_of_plain_sums(parity.sums_of_walks(ranker.forest_, x)[0], shape)


# No other test has forests of these shapes, whose programs would be there already.
@pytest.mark.parametrize(
    ("aggregation", "n_labels"),
    [("two-step", 3), ("one-step", 3), ("copeland", 4), ("kemeny", 4), ("kemeny", 8)],
)
def test_a_few_rows_need_no_program(aggregation, n_labels):
    ranker, x = ranker_of(Shape(2, 3, 2, n_labels, aggregation))
    with traces() as seen:
        for size in (1, 2, 8):
            for method in ("predict", "predict_scores", "predict_order", "apply", "_leaf_slots"):
                assert len(getattr(ranker, method)(x[:size])) == size
    assert seen == []
    if aggregation == "two-step":
        with traces() as seen:  # it would be seen
            ranker.compile([33])
        assert "forest_ranks" in seen


@pytest.mark.parametrize("name", [n for n in LEARNERS if issubclass(LEARNERS[n], TreeLabelRanker)])
def test_every_forest_says_of_a_row_what_it_says_of_it_among_many(name, hot):
    ranker, x = ranker_of(Shape(5, 10, 6, 7, "two-step"), learner=LEARNERS[name])
    x = x[:130].copy()
    x[::5, 2] = np.nan
    for method in ("predict", "predict_scores", "predict_preferences", "apply", "_leaf_slots"):
        expected = getattr(ranker, method)(x)
        for size in (1, 32):
            starts = range(0, 64, size)
            found = np.concatenate([getattr(ranker, method)(x[at : at + size]) for at in starts])
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected[:64])


# ------------------------------------------------------------------------- many rows, at first
METHODS = ("predict", "predict_scores", "apply")


def is_either_way(forest):
    """Whether some tests send missing values to the left, and some to the right."""
    return 0 < forest.missing_left[forest.threshold > -np.inf].mean() < 1


def sizes_of_programs(ranker):
    """Rows for which a program of ranks, scores and leaves was called, in this order."""
    return [ranker._seen(which).sizes for which in (True, False, None)]


@pytest.mark.parametrize(
    ("aggregation", "n_labels"),
    [("two-step", 4), ("one-step", 4), ("copeland", 5), ("kemeny", 4), ("kemeny", 8)],
)
def test_first_calls_of_many_rows_need_no_program_and_say_to_the_bit_what_it_says(
    aggregation, n_labels, monkeypatch
):
    shape = Shape(4, 9, 3, n_labels, aggregation)
    models = (ranker_of(shape, seed) for seed in range(20))
    ranker, x = next(model for model in models if is_either_way(model[0].forest_))
    x = np.resize(x, (700, 3))
    assert np.isnan(x).any()
    with traces() as seen:
        at_first = [getattr(ranker, method)(x) for method in METHODS]
    assert seen == []
    monkeypatch.setattr(few_rows, "_CELLS_TO_COMPILE", 0)
    with traces() as seen:
        for method, expected in zip(METHODS, at_first, strict=True):
            found = getattr(ranker, method)(x)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found.view(np.int32), expected.view(np.int32))
    assert {"forest_ranks", "forest_scores", "_leaf_numbers"} <= set(seen)
    assert sizes_of_programs(ranker) == [{1024}] * 3


def test_thirty_small_tables_of_other_shapes_are_ranked_without_any_program():
    rng = np.random.default_rng(0)
    with traces() as seen:
        for seed in range(30):
            aggregation = ("two-step", "one-step", "copeland", "kemeny")[seed % 4]
            shape = Shape(*rng.integers([1, 1, 1, 2], [9, 60, 17, 9]).tolist(), aggregation)
            ranker, x = ranker_of(shape, seed)
            x = np.resize(x, (rng.integers(33, 4097), shape.n_features))
            for method in METHODS:
                assert len(getattr(ranker, method)(x)) == len(x)
            assert sizes_of_programs(ranker) == [set()] * 3
    assert seen == []


@pytest.mark.parametrize("depth", range(1, 17))
def test_first_calls_of_many_rows_rank_as_a_plain_walk_does_at_every_depth(depth):
    shape = Shape(depth, 5, 4, 6, "two-step")
    ranker, x = ranker_of(shape, seed=depth)
    x = np.resize(x, (600, 4))
    np.testing.assert_array_equal(ranker.predict(x), by_walks(ranker, shape, x))
    assert sizes_of_programs(ranker)[0] == set()


def test_a_program_is_compiled_when_numpy_has_done_as_much_as_that_costs(monkeypatch):
    ranker, x = ranker_of(Shape(3, 7, 4, 5, "one-step"))
    cells = 7 * 16 + 64  # of a row: the first tests of each tree, and an ordering
    monkeypatch.setattr(few_rows, "_CELLS_TO_COMPILE", 250 * cells)
    for n_rows, sizes in (
        (100, set()),
        (100, set()),
        (200, set()),  # is another program's
        (50, set()),
        (33, {128}),
        (100, {128}),
        (51, {128}),
        (200, {128, 256}),
        (4097, {128, 256, 2048}),  # so many at once
        (2000, {128, 256, 2048}),
    ):
        ranker.predict(x[:1].repeat(n_rows, 0))
        assert sizes_of_programs(ranker) == [sizes, set(), set()]
    assert sum(ranker._seen(True).done_without.values()) == (250 + 200) * cells
    # What was asked for beforehand is there, and a copy knows of nothing.
    twin = copy.deepcopy(ranker).compile([100])
    twin.predict(x[:100])
    assert twin._seen(True).done_without == {}


def test_first_calls_need_bounded_memory_however_wide_leaves_are():
    ranker, x = ranker_of(Shape(2, 40, 3, 40, "copeland"))  # 780 pairs
    x = np.resize(x, (1500, 3))
    expected = ranker.predict(x[:8])
    tracemalloc.start()
    found = ranker.predict(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(found[:8], expected)
    assert sizes_of_programs(ranker)[0] == set()
    assert peak < 10 * 2**20


def test_threads_that_ask_at_once_get_the_same_answers():
    shape = Shape(8, 30, 5, 6, "two-step")
    ranker, x = ranker_of(shape)
    x = x[:400]
    expected = by_walks(ranker, shape, x)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for size in (1, 4, 50):
            ranker._forget_derived()  # they make its tables at once, too
            starts = range(0, len(x), size)
            found = list(pool.map(lambda at, size=size: ranker.predict(x[at : at + size]), starts))
            np.testing.assert_array_equal(np.concatenate(found), expected)


def test_copies_and_pickles_hold_no_tables_and_a_new_fit_drops_them():
    shape = Shape(5, 10, 6, 7, "two-step")
    ranker, x = ranker_of(shape)
    expected = by_walks(ranker, shape, x[:5])
    before = len(pickle.dumps(ranker))
    for _ in range(2):
        np.testing.assert_array_equal(ranker.predict(x[:5]), expected)
        for twin in (copy.deepcopy(ranker), pickle.loads(pickle.dumps(ranker))):
            np.testing.assert_array_equal(twin.predict(x[:5]), expected)
    assert len(pickle.dumps(ranker)) == before
    other, _ = ranker_of(shape, seed=1)
    ranker._set_fitted(other.params_, other.config_, other.labels_, None)
    np.testing.assert_array_equal(ranker.predict(x[:5]), by_walks(other, shape, x[:5]))
    assert (ranker.predict(x[:5]) != expected).any()
    assert "_few_rows" not in vars(clone(ranker))


@pytest.mark.parametrize(
    ("n_trees", "most"), [(1, 32), (37, 32), (50, 24), (100, 12), (200, 8), (5000, 8)]
)
def test_more_trees_leave_numpy_fewer_rows_but_never_less_than_eight(n_trees, most):
    forest, _ = parity.random_model(Shape(1, n_trees, 2, 2, "two-step"), 0)
    assert FewRowsRanker(forest, 2, "two-step").most_rows == most


def test_a_thread_that_takes_subnormals_for_zeros_is_not_trusted_with_floats(monkeypatch):
    ranker, x = ranker_of(Shape(3, 7, 4, 5, "one-step"))
    assert ranker._on_host(1) is not None
    told = []

    def look(x):
        told.append(ranker._on_host(1))
        return np.asarray(x)

    apply = jax.jit(lambda x: jax.pure_callback(look, jax.ShapeDtypeStruct((5,), x.dtype), x))
    jax.block_until_ready(apply(jnp.ones(5)))
    assert told == [None]


def test_rows_of_accelerators_go_to_these():
    ranker, x = ranker_of(Shape(3, 7, 4, 5, "one-step"))
    assert ranker._on_host(8) is not None
    with accelerator_forms():
        assert ranker._on_host(8) is None
        assert ranker._on_host(100, ranker._seen(True)) is None
    with use_devices(jax.devices()[:1]):
        assert ranker._on_host(8) is not None
    with jax.default_device(jax.devices()[0]):
        assert ranker._on_host(8) is not None


def test_a_device_that_is_not_here_is_named_for_one_row_too():
    ranker, x = ranker_of(Shape(3, 7, 4, 5, "one-step"))
    with (
        jax.default_device("tpu"),
        pytest.raises(BackendError, match="jax_default_device is 'tpu'"),
    ):
        ranker.predict(x[:1])


def test_one_row_is_checked_as_many_are(fitted):
    row = X[:1].astype(np.float64)
    for bad, message in (
        (row[0], "X must have two dimensions"),
        (row[:, :3], "X has 3 features, but predict is expecting 4"),
        (row * np.inf, "row 0, column 0 is inf"),
        (row * 1e300, "row 0, column 0 is 5.09"),
        (row[:0], "X must have a row and a feature at least"),
        ([["a", "b", "c", "d"]], "X must hold numbers"),
    ):
        with pytest.raises(InputError, match=message):
            fitted.predict(bad)
    expected = fitted.predict(X)[:1]
    for same in (row, row.tolist(), np.asfortranarray(row), row.astype(">f4"), X[:2][::2]):
        np.testing.assert_array_equal(fitted.predict(same), expected)


@pytest.mark.parametrize("aggregation", ["two-step", "one-step", "copeland", "kemeny"])
def test_callers_who_have_numpy_stop_at_floating_point_errors_are_not_stopped(aggregation):
    ranker, x = ranker_of(Shape(6, 20, 5, 5, aggregation), seed=2)
    x[::3, 1] = np.nan
    expected = ranker.predict(x[:32]), ranker.predict_scores(x[:32])
    with np.errstate(all="raise"):
        for size in (1, 4):
            for method, whole in zip(
                (ranker.predict, ranker.predict_scores), expected, strict=True
            ):
                found = [method(x[at : at + size]) for at in range(0, 32, size)]
                np.testing.assert_array_equal(np.concatenate(found), whole)
