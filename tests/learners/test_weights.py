"""What weights mean, for every learner: their scale nothing, a whole weight often copies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from lrrf_jax import LEARNERS
from lrrf_jax.learners._weights import common_unit, integer_weights, relative_weights
from lrrf_jax.metrics import kendall_tau
from tests.learners.test_contract import (
    N_ROWS,
    PARTIAL_Y,
    WEIGHT,
    X,
    Y,
    _grows_trees,
    _slowly,
    each_learner,
    make,
    quiet_fit,
)

SCALES = (1e-300, 1e-30, 1 / 150, 3, 1, 1e-6, 1e39, 1e6, 1e30, 1e300)
WHOLE = np.repeat([1, 0, 1, 2], [20, 15, 10, 15])

# Where the documentation says that a whole weight is as good as copies of its row, and how to set
# the learner for it. All others count rows, draw them, or start from a number of observations.
COPIES = {
    "lr-rf": {"bootstrap": False, "aggregation": "two-step"},
    "lrt": {"min_samples_split": 2},
    "lrt-bag": {"bootstrap": False, "min_samples_split": 2},
    "w-lrt-bag": {"bootstrap": False, "min_samples_split": 2},
    "lw-rf": {"bootstrap": False},
    "rpc": {"ridge": 0},
    "ll": {},
    "default": {},
}
copied_learner = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if _grows_trees(name) and name != "lrt" else ())
        for name in COPIES
    ],
)
each_forest = pytest.mark.parametrize(
    "name",
    [
        pytest.param(param.values[0], marks=param.marks)
        for param in _slowly(lambda name: name != "lr-rf").args[1]
        if hasattr(LEARNERS[param.values[0]], "apply")
    ],
)


@each_learner
@pytest.mark.parametrize("weight", [WEIGHT, WHOLE], ids=["real", "whole"])
@pytest.mark.parametrize("scales", [SCALES[::3], pytest.param(SCALES, marks=pytest.mark.slow)])
def test_the_scale_of_the_weights_changes_nothing(name, weight, scales):
    expected = quiet_fit(make(name), X, PARTIAL_Y, weight)
    scores, ranks = expected.predict_scores(X), expected.predict(X)
    for scale in scales:
        learner = quiet_fit(make(name), X, PARTIAL_Y, scale * weight)
        np.testing.assert_array_equal(learner.predict_scores(X), scores, err_msg=str(scale))
        np.testing.assert_array_equal(learner.predict(X), ranks, err_msg=str(scale))


@each_learner
def test_equal_weights_are_no_weights(name):
    scores = make(name).fit(X, Y).predict_scores(X)
    for scale in (5e-324, *SCALES):
        learner = make(name).fit(X, Y, np.full(N_ROWS, scale))
        np.testing.assert_array_equal(learner.predict_scores(X), scores, err_msg=str(scale))


@each_learner
def test_rows_of_weight_0_might_as_well_not_be_there(name):
    learner = quiet_fit(make(name), X, PARTIAL_Y, WHOLE)
    rest = quiet_fit(make(name), X[WHOLE > 0], PARTIAL_Y[WHOLE > 0], WHOLE[WHOLE > 0])
    np.testing.assert_array_equal(learner.predict_scores(X), rest.predict_scores(X))


@each_learner
def test_weights_beyond_what_float32_holds_have_an_answer(name):
    """The heaviest rows decide; the lightest count for next to nothing, and divide by nothing."""
    heavy = np.arange(N_ROWS) % 2 == 0
    for light, weight in ((5e-324, 1.0), (5e-324, 5e-322), (1e-300, 1e300), (1, 1e39)):
        learner = quiet_fit(make(name), X, PARTIAL_Y, np.where(heavy, weight, light))
        scores = learner.predict_scores(X)
        assert np.isfinite(scores).all()
        assert (np.sort(learner.predict(X), 1) == np.arange(1, 4)).all()


@copied_learner
@pytest.mark.parametrize("unit", [1, 3, 1e-30])
def test_a_whole_weight_is_a_copy_where_the_documentation_says_so(name, unit):
    copies = np.repeat(np.arange(N_ROWS), WHOLE)
    weighted = make(name, **COPIES[name]).fit(X, Y, unit * WHOLE)
    copied = clone(weighted).fit(X[copies], Y[copies])
    scores = weighted.predict_scores(X)
    if _grows_trees(name) or name == "default":
        np.testing.assert_array_equal(copied.predict_scores(X), scores)
        return
    # Sums of floats over other rows end in other bits.
    np.testing.assert_allclose(copied.predict_scores(X), scores, rtol=1e-3, atol=1e-3)
    distinct = (np.diff(np.sort(scores, 1), axis=1) > 5e-3).all(1)
    assert distinct.mean() > 0.9
    np.testing.assert_array_equal(weighted.predict(X)[distinct], copied.predict(X)[distinct])


def rows_of_nodes(leaves, depth):
    """List, for each tree, the rows in every node that was split, and in every child."""
    for leaf in leaves.T:
        for level in range(depth):
            node = leaf >> (depth - level)
            for number in np.unique(node):
                right = leaf[node == number] >> (depth - level - 1) & 1
                if 0 < right.sum() < len(right):
                    yield len(right), min(right.sum(), len(right) - right.sum())


@each_forest
def test_sizes_of_nodes_and_leaves_are_counted_in_rows(name):
    parameters = {"bootstrap": False, "min_samples_split": 21, "min_samples_leaf": 6}
    weight = np.where(np.arange(N_ROWS) % 7 == 0, 100.0, WEIGHT)
    learner = make(name, **parameters).fit(X, Y, weight)
    sizes = list(rows_of_nodes(learner.apply(X), 3))
    assert sizes or name == "lrf-ert"  # whose test of a split nothing here need pass
    assert all(split >= 21 and child >= 6 for split, child in sizes)
    # By weight, a child of the row that is heaviest would never be too small.
    assert max(weight) > 21


@pytest.mark.slow
def test_real_weights_count_in_the_leaves_of_more_rows_than_weights_are_fine(monkeypatch):
    # A heavy ranking against two light opposite ones, in each of many leaves.
    rng = np.random.default_rng(5)
    heavy = np.argsort(rng.random((8, 4)), axis=1) + 1.0
    y = np.repeat(heavy, 3, axis=0)
    y[1::3] = y[2::3] = 5 - heavy
    y[y == 4] = np.nan
    y[2::3] -= np.nanmin(y[2::3], axis=1, keepdims=True) - 1
    weight = np.tile([1, *np.sqrt([0.02, 0.03])], 8)
    x = np.repeat(np.arange(8.0), 3)[:, None]
    sizes = {"min_samples_leaf": 3, "min_samples_split": 4, "max_depth": 7}
    expected = make("lrt", **sizes).fit(x, y, weight).predict(x)
    assert (expected != make("lrt", **sizes).fit(x, y).predict(x)).any(axis=1).mean() > 0.5
    monkeypatch.setattr("lrrf_jax.learners.forest.mallows._MAX_WEIGHT", 2**7)
    np.testing.assert_array_equal(make("lrt", **sizes).fit(x, y, weight).predict(x), expected)


def test_the_scale_of_the_weights_does_not_change_a_score():
    learner = make("default").fit(X, Y)
    expected = learner.score(X, Y, WEIGHT)
    taus = kendall_tau(Y, learner.predict(X), per_row=True)
    assert expected == pytest.approx(np.average(taus, weights=WEIGHT), rel=1e-12)
    for scale in (*SCALES, 1e308 / WEIGHT.max()):
        assert learner.score(X, Y, scale * WEIGHT) == pytest.approx(expected, rel=1e-12)
    one = np.where(np.arange(N_ROWS) == 3, 5e-324, 0)
    assert learner.score(X, Y, one) == taus[3]


def test_multiples_of_a_unit_are_found_whatever_it_is():
    rng = np.random.default_rng(0)
    for most in (2, 9, 1000, 2**20 - 1):
        whole = np.append(rng.integers(1, most + 1, 50), [most, most - 1])
        for unit in (1e-300, 0.1, 1 / 3, np.pi, 1e300):
            found = common_unit(whole * unit)
            assert found == pytest.approx(unit, rel=1e-12)
            integers, scale = integer_weights(whole * unit, 2**30)
            assert integers.tolist() == whole.tolist()
            assert scale == pytest.approx(1 / unit, rel=1e-12)
            bits = relative_weights(whole * unit)
            assert bits.tolist() == (whole / whole.mean()).tolist()


def test_weights_without_a_common_unit_are_seen_as_such():
    rng = np.random.default_rng(1)
    for weight in (rng.random(50) + 0.1, np.array([1, np.pi]), np.array([1, 3 + 1e-9, 2])):
        assert common_unit(weight) is None
        relative = relative_weights(weight)
        np.testing.assert_allclose(relative, weight / weight.mean(), rtol=1e-7)
        np.testing.assert_array_equal(relative_weights(weight * 1e-5), relative)
    # Halves of rounded decimals have one, if a small one.
    assert common_unit(np.array([0.35, 1.25])) == pytest.approx(0.05)


@given(
    st.lists(st.floats(1e-12, 1e12) | st.integers(1, 10**6), min_size=1, max_size=30),
    st.sampled_from([2**10, 2**30]),
)
def test_weights_become_whole_numbers_with_a_sum_that_fits(weights, most):
    weight = np.array(weights, float)
    whole, scale = integer_weights(weight, most)
    assert whole.min() >= 1
    assert whole.sum(dtype=np.int64) <= most
    if scale == 1 and (weight == np.round(weight)).all():
        assert whole.tolist() == weight.tolist()
    # The error is half a unit, but for weights too small to count.
    assert (np.abs(whole - weight * scale) <= 1).all()
