"""What predictions of any fitted learner promise for any rows, and what trees do not look at.

An increasing map of a feature moves thresholds, which lie halfway between neighbouring values,
and with them what is predicted for rows between these. What holds exactly:

- trees whose splits depend on the order of the values alone rank their training rows as before;
- a power of two scales every threshold, so all trees rank all rows as before (no overflow, no
  subnormal number);
- a learner that measures distances or takes averages promises none of it.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrrf_jax._backend import CPU
from lrrf_jax.learners.batching import TILE, batch_sizes, map_rows
from lrrf_jax.learners.streaming import Seen
from tests import oracles
from tests.learners.test_contract import (
    N_FEATURES,
    N_LABELS,
    N_ROWS,
    X,
    Y,
    _grows_trees,
    _slowly,
    assert_rankings,
    each_learner,
    fitted,
    make,
)
from tests.strategies import fewer

few_fits = fewer(10)
# Whose thresholds are drawn, or lie at a share of the range: no order alone decides them.
SEES_DISTANCES = {"lrf-ert", "w-lrt-bag"}
trees_slowly = _slowly(lambda name: name not in ("lr-rf", "lrt-bag"))
cells = st.floats(width=32, allow_nan=False, allow_infinity=False) | st.integers(-12, 12)


def drawn_rows(data, name, n_rows=4):
    """Few rows, again and again up to a number for which programs exist."""
    cell = cells
    if fitted(name).accepts_missing_features:
        cell = cells | st.just(np.nan)
    rows = data.draw(
        st.lists(
            st.lists(cell, min_size=N_FEATURES, max_size=N_FEATURES),
            min_size=n_rows,
            max_size=n_rows,
        )
    )
    with np.errstate(over="ignore"):
        return np.resize(np.array(rows, np.float32), (N_ROWS, N_FEATURES))


@each_learner
@fewer(2)
@given(data=st.data())
def test_any_row_gets_a_permutation_in_the_order_of_its_scores(name, data):
    rows = drawn_rows(data, name)
    ranks, scores = fitted(name).predict(rows), fitted(name).predict_scores(rows)
    assert_rankings(ranks, N_ROWS, N_LABELS)
    assert np.isfinite(scores).all()
    assert [oracles.ranks_of_scores(list(row)) for row in scores[:4]] == ranks[:4].tolist()


@each_learner
@few_fits
@given(order=st.permutations(range(N_ROWS)))
def test_the_order_of_the_rows_that_are_ranked_changes_nothing(name, order):
    expected = fitted(name).predict_scores(X)
    np.testing.assert_array_equal(fitted(name).predict_scores(X[order]), expected[order])


@trees_slowly
@few_fits
@given(exponent=st.integers(-40, 40), start=st.integers(-20, 0))
def test_a_power_of_two_scales_the_features_of_a_tree_and_nothing_else(name, exponent, start):
    if not _grows_trees(name):
        pytest.skip("no tree")
    scale = np.float32(2.0**exponent)
    new = np.resize(np.arange(start, start + 37) / 2, X.shape).astype(np.float32)
    scaled = make(name).fit(X * scale, Y)
    np.testing.assert_array_equal(scaled.predict_scores(X * scale), fitted(name).predict_scores(X))
    np.testing.assert_array_equal(
        scaled.predict_scores(new * scale), fitted(name).predict_scores(new)
    )


@trees_slowly
@few_fits
@given(st.sampled_from([lambda x: x**3, lambda x: np.exp(x / 4), lambda x: 3 * x - 7]))
def test_an_increasing_map_leaves_the_rankings_of_training_rows(name, increase):
    if not _grows_trees(name) or name in SEES_DISTANCES:
        pytest.skip("no tree, or thresholds that distances decide")
    mapped = increase(X).astype(np.float32)
    assert all(len(np.unique(mapped[:, j])) == len(np.unique(X[:, j])) for j in range(N_FEATURES))
    np.testing.assert_array_equal(
        make(name).fit(mapped, Y).predict_scores(mapped), fitted(name).predict_scores(X)
    )


@_slowly(lambda name: name != "default")
@few_fits
@given(order=st.permutations(range(N_ROWS)))
def test_the_order_of_training_rows_changes_no_ranking(name, order):
    learner = make(name, bootstrap=False, n_neighbors=5)  # else inner folds choose
    draws_rows = hasattr(learner, "n_estimators") and not hasattr(learner, "bootstrap")
    if name in ("cc", "mlp", "stack") or draws_rows:
        pytest.skip("training goes row by row, or draws rows at random")
    scores = learner.fit(X, Y).predict_scores(X)
    moved = make(name, bootstrap=False, n_neighbors=5).fit(X[order], Y[order])
    # Sums in another order are rounded in another way; neighbours as far away may be exchanged.
    distinct = (np.diff(np.sort(scores, 1), axis=1) > 1e-2).all(1)
    agree = (moved.predict(X) == learner.predict(X)).all(1)
    assert agree[distinct].mean() >= (1 if _grows_trees(name) or name == "default" else 0.9)


@given(st.integers(1, 400_000), st.integers(1, 8))
def test_calls_cover_every_row_once_and_only_the_last_is_padded(n_rows, n_threads):
    sizes = batch_sizes(n_rows, n_threads)
    assert set(sizes) <= set(CPU.batch_sizes)
    assert sum(sizes[:-1]) < n_rows <= sum(sizes)


@given(st.integers(1, 9000), st.integers(1, 3))
def test_a_function_of_rows_is_applied_to_each_row_once(n_rows, n_columns):
    rows = np.arange(n_rows * n_columns, dtype=np.float32).reshape(n_rows, n_columns)
    asked, seen = [], Seen()

    def double(block):
        asked.append(len(block))
        return block * 2

    np.testing.assert_array_equal(map_rows(double, rows, seen), rows * 2)
    assert max(asked) <= TILE
    asked.clear()
    np.testing.assert_array_equal(map_rows(double, rows, seen), rows * 2)
    assert sorted(asked) == sorted(batch_sizes(n_rows))
