import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from lrrf_jax.rankings.permutations import place_missing_last
from lrrf_jax.rankings.statistics import borda_votes, label_at_position, ranking_classes
from tests import oracles
from tests.strategies import complete_rankings, partial_rankings

nan = np.nan


def test_the_top_label_skips_missing_labels_and_no_row_gets_a_made_up_one():
    # boruta_py 19, scikit-learn 24141: argmin of a row with NaN is the NaN.
    positions = jnp.array([[2, nan, 1], [nan, nan, nan], [nan, 1, nan]], jnp.float32)
    assert label_at_position(positions).tolist() == [[2, 0, -1], [-1, -1, -1], [1, -1, -1]]


def test_tied_places_have_no_label():
    positions = jnp.array([[1, 2.5, 2.5, 4], [1.5, 1.5, 3, 4], [2.5] * 4], jnp.float32)
    assert label_at_position(positions).tolist() == [[0, -1, -1, 3], [-1, -1, 2, 3], [-1] * 4]


@given(partial_rankings())
def test_label_at_position_equals_a_sorted_list(rankings):
    found = label_at_position(jnp.asarray(rankings, jnp.float32)).tolist()
    for row, labels in zip(rankings.tolist(), found, strict=True):
        ranked = sorted((j for j in range(len(row)) if row[j] == row[j]), key=lambda j: row[j])
        assert labels == ranked + [-1] * (len(row) - len(ranked))


@given(partial_rankings(n_samples=(1, 3, 9)))
def test_classes_number_the_distinct_rows_in_lexicographic_order(rankings):
    classes, n_classes = ranking_classes(rankings)
    assert classes.dtype == np.int32
    keys = [tuple(np.inf if x != x else x for x in row) for row in rankings.tolist()]
    assert classes.tolist() == [sorted(set(keys)).index(key) for key in keys]
    assert n_classes == len(set(keys))


def test_the_missing_pattern_is_part_of_a_class():
    positions = np.array([[1, 2, nan], [1, nan, 2], [1, 2, nan], [nan] * 3, [nan] * 3])
    classes, n_classes = ranking_classes(positions)
    assert classes.tolist() == [0, 1, 0, 2, 2]
    assert n_classes == 3


def test_tied_labels_share_the_mean_vote():
    # preflibtools 7: a, (b, c), d, e.
    votes = borda_votes(jnp.array([[1, 2.5, 2.5, 4, 5]], jnp.float32))
    assert votes.tolist() == [[5, 3.5, 3.5, 2, 1]]


@given(complete_rankings())
def test_votes_of_complete_rankings_are_exact_integers(rankings):
    votes = borda_votes(jnp.asarray(rankings, jnp.float32))
    assert votes.dtype == jnp.float32
    assert votes.tolist() == (rankings.shape[1] + 1 - rankings).tolist()


@pytest.mark.parametrize("last", [False, True])
@given(rankings=partial_rankings(n_labels=(2, 3, 5)))
def test_a_vote_is_the_mean_over_all_complete_rankings_that_agree(last, rankings):
    # Cheng 2009, Proposition 2, by brute force; for top-k lists too.
    positions = jnp.asarray(rankings, jnp.float32)
    positions = place_missing_last(positions) if last else positions
    expected = [oracles.expected_votes(row) for row in np.asarray(positions).tolist()]
    np.testing.assert_allclose(borda_votes(positions), expected, rtol=1e-6)


def test_votes_are_additive_so_an_integer_weight_equals_copies():
    positions = jnp.array([[1, 2, nan], [3, 1, 2]], jnp.float32)
    weight = jnp.array([3.0, 2.0], jnp.float32)
    copies = jnp.repeat(positions, jnp.array([3, 2]), axis=0)
    np.testing.assert_allclose(
        weight @ borda_votes(positions), borda_votes(copies).sum(0), rtol=1e-6
    )
