"""Kemeny's rankings of preferences that users hold, against all permutations and a plain search."""

import itertools

import numpy as np
import pytest

from lrrf_jax import InputError
from lrrf_jax.rankings import kemeny
from lrrf_jax.rankings.pairwise import pair_indices, pair_probabilities


def kept(matrix, ranks):
    """What a ranking keeps of a matrix of preferences, less what it reverses."""
    before = ranks[:, None] < ranks[None, :]
    return np.sum(np.where(before, matrix - matrix.T, 0))


def random_matrices(n_samples, n_labels, seed=0):
    return np.random.default_rng(seed).random((n_samples, n_labels, n_labels))


@pytest.mark.parametrize("n_labels", [2, 5])
def test_no_permutation_keeps_more_of_any_numbers(n_labels):
    matrices = random_matrices(40, n_labels)
    every = [np.array(ranks) for ranks in itertools.permutations(range(1, n_labels + 1))]
    for matrix, ranks in zip(matrices, kemeny(matrices), strict=True):
        most = max(kept(matrix, other) for other in every)
        assert kept(matrix, ranks) == pytest.approx(most, abs=1e-6)
        assert sorted(ranks) == list(range(1, n_labels + 1))


def test_of_many_labels_no_move_of_one_label_keeps_more():
    matrices = random_matrices(6, 9)
    improved = 0
    for matrix, ranks in zip(matrices, kemeny(matrices), strict=True):
        ordering = ranks.argsort()
        borda = (matrix - matrix.T).sum(1)
        improved += ordering.tolist() != borda.argsort()[::-1].tolist()
        for origin, target in itertools.product(range(9), range(9)):
            moved = ordering.tolist()
            moved.insert(target, moved.pop(origin))
            other = 1 + np.argsort(moved)
            assert kept(matrix, other) <= kept(matrix, ranks) + 1e-6
    assert improved


def test_pairs_matrices_probabilities_and_votes_say_the_same():
    votes = np.random.default_rng(1).integers(0, 9, (30, 5, 5))
    first, second = pair_indices(5)
    pairs = votes[:, first, second] - votes[:, second, first]
    expected = kemeny(votes)
    np.testing.assert_array_equal(kemeny(pairs), expected)
    np.testing.assert_array_equal(kemeny(pair_probabilities(pairs / 16)), expected)
    np.testing.assert_array_equal(kemeny(pairs.tolist()), expected)
    assert expected.dtype == np.int32


@pytest.mark.parametrize("scale", [1e-320, 1e300, 2.0**-40])
def test_the_scale_of_a_row_changes_nothing_there_and_in_no_other_row(scale):
    pairs = np.random.default_rng(2).integers(-9, 9, (20, 10)).astype(float)
    scaled = pairs.copy()
    scaled[7] *= scale
    np.testing.assert_array_equal(kemeny(scaled), kemeny(pairs))


def test_what_is_unknown_speaks_for_neither_and_equal_rankings_go_by_index():
    assert kemeny([[np.nan, 1, 1], [np.nan] * 3, [0, 0, -1]]).tolist() == [
        [1, 2, 3],
        [1, 2, 3],
        [1, 3, 2],
    ]
    assert kemeny(np.zeros((0, 3))).shape == (0, 3)


def test_rows_do_not_depend_on_how_many_there_are():
    matrices = random_matrices(300, 4, seed=3)
    expected = np.concatenate([kemeny(matrices[at : at + 7]) for at in range(0, 300, 7)])
    np.testing.assert_array_equal(kemeny(matrices), expected)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((3, 4)), r"it has shape \(3, 4\)"),
        (np.zeros((3, 2, 4)), r"it has shape \(3, 2, 4\)"),
        (np.zeros((3, 0)), r"it has shape \(3, 0\)"),
        ([[1, 2, 3], [1, np.inf, 2]], r"row 1 is not \(1 of 2 rows fail\)"),
        ([["a>b"]], "preferences must hold numbers"),
    ],
)
def test_what_is_no_table_of_preferences_is_refused(values, message):
    with pytest.raises(InputError, match=message):
        kemeny(values)
