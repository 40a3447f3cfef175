import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from lrrf_jax.rankings.pairwise import (
    antisymmetric,
    n_labels_of_pairs,
    pair_indices,
    pair_signs,
)
from lrrf_jax.rankings.permutations import place_missing_last
from tests import oracles
from tests.strategies import partial_rankings

nan = np.nan


@pytest.mark.parametrize("n_labels", [1, 2, 3, 16])
def test_pairs_are_in_row_major_order_and_tell_the_number_of_labels(n_labels):
    first, second = pair_indices(n_labels)
    assert first.dtype == second.dtype == np.int32
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == oracles.pairs(n_labels)
    if n_labels > 1:
        assert n_labels_of_pairs(len(first)) == n_labels


def test_a_number_that_counts_no_pairs_is_refused():
    with pytest.raises(ValueError, match="4 is not the number of pairs"):
        n_labels_of_pairs(4)


@given(partial_rankings())
def test_pair_signs_equal_a_loop_over_pairs(rankings):
    signs = pair_signs(jnp.asarray(rankings, jnp.float32))
    assert signs.dtype == jnp.int8
    pairs = oracles.pairs(rankings.shape[1])
    assert signs.tolist() == [
        [oracles.sign_of_pair(row, i, j) for i, j in pairs] for row in rankings.tolist()
    ]


def test_top_k_lists_know_more_pairs_than_partial_rankings():
    # scikit-lr issue 9: y = [1, 2, NaN, NaN]; pairs 01 02 03 12 13 23.
    positions = jnp.array([[1, 2, nan, nan]], jnp.float32)
    assert pair_signs(positions).tolist() == [[1, 0, 0, 0, 0, 0]]
    assert pair_signs(place_missing_last(positions)).tolist() == [[1, 1, 1, 1, 1, 0]]


@pytest.mark.parametrize("n_labels", [1, 2, 5])
@pytest.mark.parametrize("dtype", [jnp.int8, jnp.int32, jnp.float32])
def test_antisymmetric_equals_a_loop_over_pairs(n_labels, dtype):
    pairs = oracles.pairs(n_labels)
    values = np.random.default_rng(0).integers(-5, 6, (2, 3, len(pairs)))
    expected = np.zeros((2, 3, n_labels, n_labels))
    for at, (i, j) in enumerate(pairs):
        expected[..., i, j], expected[..., j, i] = values[..., at], -values[..., at]
    matrix = antisymmetric(jnp.asarray(values, dtype), n_labels)
    assert matrix.dtype == dtype
    np.testing.assert_array_equal(matrix, expected)
