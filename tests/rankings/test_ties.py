"""Ties in one normal form, and labels in an order that their columns do not decide."""

import itertools

import numpy as np
import pytest
import scipy.stats

from lrrf_jax import RandomForestLabelRanker
from lrrf_jax._validation import InputError
from lrrf_jax.rankings.pairwise import antisymmetric, pair_signs_on_host, reordered_pairs
from lrrf_jax.rankings.ties import are_positions, canonical_order, has_ties, mean_places
from lrrf_jax.rankings.validation import require_rankings

RANKS = {"competition": "min", "dense": "dense", "average": "average"}


def rows_with_ties(n_rows, n_labels, seed=0):
    """Rows of few values, some missing: every kind of tie."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 4, (n_rows, n_labels)).astype(float)
    values[rng.random(values.shape) < 0.3] = np.nan
    return values


def ranked(values, method):
    """Rank the values of each row that are there, by scipy."""
    return scipy.stats.rankdata(values, method, axis=1, nan_policy="omit")


@pytest.mark.parametrize("n_labels", [1, 2, 5, 9])
def test_mean_places_are_the_average_ranks_of_scipy(n_labels):
    values = rows_with_ties(300, n_labels)
    np.testing.assert_array_equal(mean_places(values), ranked(values, "average"))


@pytest.mark.parametrize("form", RANKS)
def test_every_form_of_ranks_is_known_and_comes_to_the_same(form):
    values = rows_with_ties(300, 6)
    positions = ranked(values, RANKS[form])
    assert are_positions(positions).all()
    np.testing.assert_array_equal(mean_places(positions), ranked(values, "average"))
    np.testing.assert_array_equal(require_rankings(positions), ranked(values, "average"))


def test_rows_are_positions_just_where_they_are_one_of_the_three_forms():
    rows = np.array(list(itertools.product([1, 1.5, 2, 2.5, 3, np.nan], repeat=3)))
    expected = [
        any(
            np.array_equal(row, ranked(row[None], how)[0], equal_nan=True) for how in RANKS.values()
        )
        for row in rows
    ]
    assert 0 < sum(expected) < len(rows)
    assert are_positions(rows).tolist() == expected


@pytest.mark.parametrize(
    "row", [[1, 1, 4], [1, 3, 3], [2, 2, 3], [1, 1.5, 1.5], [0, 1, 1], [1, 1, 2.5]]
)
def test_ties_with_gaps_that_no_form_of_ranks_has_are_refused_with_the_row(row):
    with pytest.raises(InputError, match=r"y must hold the positions 1..3 .*; row 1 is \["):
        require_rankings([[1, 1, 3], row])


def test_ties_are_seen_between_labels_that_are_there():
    assert not has_ties(np.array([[1, np.nan, np.nan], [2, 1, 3]]))
    assert has_ties(np.array([[1, 2, 3], [2, np.nan, 2]]))
    assert not has_ties(np.empty((0, 3)))


def test_the_canonical_order_follows_the_columns():
    rng = np.random.default_rng(1)
    n_alike = 0
    for seed in range(40):
        positions = mean_places(rows_with_ties(3, 5, seed)).astype(np.float32)
        votes = np.where(np.isnan(positions), 3, 6 - positions)
        order, columns = canonical_order(positions, votes), rng.permutation(5)
        again = canonical_order(positions[:, columns], votes[:, columns])
        np.testing.assert_array_equal(positions[:, order], positions[:, columns][:, again])
        n_alike += len(set(votes.sum(0))) < 5
    assert n_alike > 5  # whose votes are the same, and whose positions decide


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_pairs_of_reordered_labels_are_those_of_the_reordered_table(order):
    positions = mean_places(rows_with_ties(50, 4)).astype(np.float32)
    signs = pair_signs_on_host(positions)
    reordered = reordered_pairs(signs, np.array(order))
    np.testing.assert_array_equal(reordered, pair_signs_on_host(positions[:, list(order)]))
    matrix = np.asarray(antisymmetric(signs, 4))
    np.testing.assert_array_equal(antisymmetric(reordered, 4), matrix[:, order][:, :, order])


def test_a_table_of_ties_alone_is_refused():
    with pytest.raises(InputError, match="every row ties all labels that it ranks"):
        RandomForestLabelRanker(2).fit([[0.0], [1.0]], [[1, 1, 1], [np.nan, 1, 1]])
