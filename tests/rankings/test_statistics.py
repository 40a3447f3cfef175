import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from lrrf_jax.rankings.pairwise import pair_signs, pair_signs_on_host, row_blocks
from lrrf_jax.rankings.permutations import place_missing_last, places
from lrrf_jax.rankings.statistics import (
    borda_votes,
    borda_votes_on_host,
    label_at_position,
    ranking_classes,
)
from tests import oracles
from tests.strategies import complete_rankings, partial_rankings

nan = np.nan


def test_the_top_label_skips_missing_labels_and_no_row_gets_a_made_up_one():
    # boruta_py 19, scikit-learn 24141: argmin of a row with NaN is the NaN.
    positions = np.array([[2, nan, 1], [nan, nan, nan], [nan, 1, nan]], np.float32)
    assert label_at_position(positions).tolist() == [[2, 0, -1], [-1, -1, -1], [1, -1, -1]]


def test_tied_places_have_no_label():
    positions = np.array([[1, 2.5, 2.5, 4], [1.5, 1.5, 3, 4], [2.5] * 4], np.float32)
    assert label_at_position(positions).tolist() == [[0, -1, -1, 3], [-1, -1, 2, 3], [-1] * 4]


@given(partial_rankings())
def test_label_at_position_equals_a_sorted_list(rankings):
    found = label_at_position(rankings.astype(np.float32)).tolist()
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


@pytest.mark.parametrize("n_labels", [1, 2, 3, 6, 10, 13, 40, 255, 256, 300])
def test_what_fits_count_on_the_host_is_to_the_bit_what_programs_count(n_labels):
    positions = tables_with_ties(n_labels)
    votes, signs = borda_votes(jnp.asarray(positions)), pair_signs(jnp.asarray(positions))
    for found, expected in (
        (borda_votes_on_host(positions), votes),
        (pair_signs_on_host(positions), signs),
        *zip(places(positions), places(jnp.asarray(positions)), strict=True),
    ):
        assert found.dtype == expected.dtype
        if jax.__version_info__ >= (0, 11) and found.dtype == np.float32:
            # Of XLA that divides where that of JAX 0.10 multiplied by an inverse.
            np.testing.assert_allclose(found, expected, rtol=3e-7)
        else:
            np.testing.assert_array_equal(found, np.asarray(expected))


def tables_with_ties(n_labels):
    """Rankings of every number of labels in float32, of more rows than a block; some have ties."""
    rng = np.random.default_rng(n_labels)
    n_rows = 2 * n_labels + 700
    ranks = rng.random((n_rows, n_labels)).argsort(1) + 1.0
    ranks[ranks > rng.integers(0, n_labels + 1, (n_rows, 1))] = nan
    ranks[::3] = np.ceil(ranks[::3] / 2) * 2 - 0.5  # pairs share their mean
    blocks = list(row_blocks(n_rows, n_labels))
    assert (len(blocks) > 1) == (n_labels >= 40)
    return ranks.astype(np.float32)


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
