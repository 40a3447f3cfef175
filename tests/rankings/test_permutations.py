import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from lrrf_jax.rankings.permutations import (
    n_ranked,
    ordering_from_ranks,
    place_missing_last,
    places,
    rank_scores,
    take_in_order,
)
from tests import oracles
from tests.strategies import complete_rankings, score_tables

nan = np.nan


@given(score_tables())
def test_rank_scores_sorts_by_score_then_label_index(scores):
    # Subnormal scores are compared as zeros on devices that flush them, so the oracle does too.
    flushed = np.where(np.abs(scores) < np.finfo(np.float32).tiny, 0, scores)
    expected = [oracles.ranks_of_scores(row) for row in flushed.tolist()]
    assert rank_scores(jnp.asarray(flushed)).tolist() == expected


@pytest.mark.parametrize("n_labels", [32, 33])
def test_comparing_and_sorting_rank_alike(n_labels):
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 9, (50, n_labels)).astype(np.float32)
    scores[0, :4] = [0.0, -0.0, 0.0, -0.0]
    assert len(np.unique(scores[1])) < n_labels  # ties are there
    expected = [oracles.ranks_of_scores(row) for row in scores.tolist()]
    assert rank_scores(jnp.asarray(scores)).tolist() == expected
    assert rank_scores(jnp.asarray(scores.astype(np.int32))).tolist() == expected


@pytest.mark.parametrize("n_labels", [3, 40])
def test_nan_scores_rank_last_and_leave_a_permutation(n_labels):
    scores = np.zeros((1, n_labels), np.float32)
    scores[0, 0] = nan
    assert rank_scores(jnp.asarray(scores)).tolist() == [[n_labels, *range(1, n_labels)]]


def test_the_ordering_of_the_papers_example():
    # Positions (5, 2, 3, 1, 4) read as label 4 > 2 > 3 > 5 > 1.
    ordering = ordering_from_ranks(jnp.array([[5, 2, 3, 1, 4]]))
    assert (ordering + 1).tolist() == [[4, 2, 3, 5, 1]]


@given(complete_rankings(n_labels=(2, 5, 16, 40)))
def test_orderings_invert_rankings(rankings):
    ordering = np.asarray(ordering_from_ranks(jnp.asarray(rankings, jnp.int32)))
    assert ordering.tolist() == np.argsort(rankings, axis=1).tolist()
    back = ordering_from_ranks(jnp.asarray(ordering + 1)) + 1
    assert back.tolist() == rankings.tolist()
    assert ordering_from_ranks(jnp.asarray(rankings, jnp.float32)).tolist() == ordering.tolist()


@pytest.mark.parametrize("n_labels", [4, 40])
def test_values_are_taken_in_order_infinities_included(n_labels):
    rng = np.random.default_rng(1)
    ranks = np.array([1 + rng.permutation(n_labels) for _ in range(6)], np.int32)
    values = rng.normal(size=ranks.shape).astype(np.float32)
    values[0, 0], values[1, 0] = np.inf, -np.inf
    expected = np.take_along_axis(values, np.argsort(ranks, axis=1), axis=1)
    np.testing.assert_array_equal(take_in_order(jnp.asarray(values), jnp.asarray(ranks)), expected)


def test_n_ranked_counts_labels():
    positions = jnp.array([[1.0, nan, 2.0], [nan, nan, nan]])
    assert n_ranked(positions).tolist() == [2, 0]


def test_missing_labels_go_last_and_stay_in_unknown_order():
    positions = jnp.array([[1, 2, nan, nan], [nan] * 4, [nan, 3, 2, 1], [4, 3, 2, 1]], jnp.float32)
    assert place_missing_last(positions).tolist() == [
        [1, 2, 3.5, 3.5],
        [2.5] * 4,
        [4, 3, 2, 1],
        [4, 3, 2, 1],
    ]


def test_places_are_the_same_in_numpy_and_jax():
    positions = np.array([[7, nan, 2, 2], [nan] * 4], np.float32)
    expected = ([[2, 0, 0, 0], [0] * 4], [[1, 0, 2, 2], [0] * 4])
    for array in (positions, jnp.asarray(positions)):
        n_before, n_level = places(array)
        assert isinstance(n_before, type(array))
        assert (n_before.tolist(), n_level.tolist()) == expected
