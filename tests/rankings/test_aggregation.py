import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrrf_jax.rankings import kemeny_search as kemeny_module
from lrrf_jax.rankings.aggregation import (
    borda,
    copeland,
    copeland_scores,
    kemeny,
    kemeny_exact,
    kemeny_local_search,
    kemeny_objective,
    scores_in_order,
)
from lrrf_jax.rankings.pairwise import pair_indices, pair_signs
from lrrf_jax.rankings.permutations import rank_scores
from lrrf_jax.rankings.statistics import borda_votes
from tests import oracles
from tests.strategies import complete_rankings, preference_tables, score_tables


def random_preferences(n_samples, n_labels, n_votes=9, seed=0):
    """Sum the pair signs of random rankings around one centre a sample."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_samples, 1, n_labels))
    scores = scores + 2 * rng.normal(size=(n_samples, n_votes, n_labels))
    first, second = pair_indices(n_labels)
    return np.sign(scores[..., first] - scores[..., second]).sum(axis=1).astype(np.int32)


def renamed_preferences(preferences, order):
    """Return the pair values after label order[j] has become label j."""
    first, second = pair_indices(len(order))
    matrix = np.zeros((*preferences.shape[:-1], len(order), len(order)), preferences.dtype)
    matrix[..., first, second], matrix[..., second, first] = preferences, -preferences
    return matrix[..., order, :][..., order][..., first, second]


def test_borda_of_votes_gives_the_order_of_the_mean_positions():
    positions = jnp.array([[1, 2, 3, 4], [1, 2, 4, 3], [2, 1, 3, 4]], jnp.float32)
    assert borda(jnp.sum(borda_votes(positions), axis=0)).tolist() == [1, 2, 3, 4]


@given(preference_tables(n_samples=(3,)))
def test_copeland_equals_a_sorted_list_of_wins(case):
    preferences, n_labels = case
    expected = [oracles.copeland(row, n_labels) for row in preferences.tolist()]
    for dtype in (jnp.int8, jnp.int32, jnp.float32):
        array = jnp.asarray(preferences, dtype)
        assert copeland_scores(array).tolist() == [wins for wins, _ in expected]
        assert copeland(array).tolist() == [ranks for _, ranks in expected]


def test_a_condorcet_winner_beats_the_borda_winner_under_copeland():
    # Label 0 wins both duels narrowly, label 1 wins its other duel by far.
    preferences = jnp.array([1, 1, 9])
    assert copeland(preferences).tolist() == [1, 2, 3]
    assert borda(jnp.array([2, 8, -10])).tolist() == [2, 1, 3]


@given(preference_tables(n_samples=(3,)))
def test_exact_kemeny_equals_brute_force_ties_to_the_first_ordering(case):
    preferences, n_labels = case
    expected = [oracles.kemeny(row, n_labels) for row in preferences.tolist()]
    for dtype in (jnp.int8, jnp.float32):
        assert kemeny_exact(jnp.asarray(preferences, dtype), n_labels).tolist() == expected
    assert kemeny(jnp.asarray(preferences), n_labels).tolist() == expected
    objective = kemeny_objective(jnp.asarray(preferences), jnp.asarray(expected))
    assert objective.tolist() == [
        oracles.agreement(row, ranks)
        for row, ranks in zip(preferences.tolist(), expected, strict=True)
    ]


def test_a_condorcet_cycle_is_cut_at_its_weakest_link():
    # 0 > 1 by 5, 1 > 2 by 3, 2 > 0 by 1: the preference 2 > 0 is given up.
    assert kemeny(jnp.array([5, -1, 3]), 3).tolist() == [1, 2, 3]


def test_a_tie_of_all_labels_gives_the_order_of_their_indices():
    assert kemeny(jnp.zeros((2, 10), jnp.int32), 5).tolist() == [[1, 2, 3, 4, 5]] * 2
    assert kemeny(jnp.zeros((2, 45), jnp.float32), 10).tolist() == [list(range(1, 11))] * 2


@pytest.mark.parametrize("dtype", [jnp.int16, jnp.float32])
@pytest.mark.parametrize("n_labels", [2, 5, 9])
def test_local_search_ends_where_no_move_of_one_label_helps(n_labels, dtype):
    preferences = random_preferences(12, n_labels)
    start = np.tile(np.arange(n_labels, 0, -1, dtype=np.int32), (12, 1))
    ranks = kemeny_local_search(jnp.asarray(preferences, dtype), jnp.asarray(start))
    assert np.sort(ranks, axis=1).tolist() == [list(range(1, n_labels + 1))] * 12
    for row, found, before in zip(
        preferences.tolist(), ranks.tolist(), start.tolist(), strict=True
    ):
        value = oracles.agreement(row, found)
        assert value == oracles.best_insertion(row, found)
        assert value >= oracles.agreement(row, before)
    assert (np.asarray(ranks) != start).any()


def test_local_search_almost_always_finds_the_exact_optimum():
    preferences = jnp.asarray(random_preferences(500, 6))
    found = kemeny_objective(preferences, kemeny_local_search(preferences, copeland(preferences)))
    exact = kemeny_objective(preferences, kemeny_exact(preferences, 6))
    assert (found <= exact).all()
    assert (found == exact).mean() > 0.98


@pytest.mark.parametrize("n_labels", [4, 8])
def test_kemeny_of_a_row_does_not_depend_on_the_batch_around_it(n_labels):
    block = kemeny_module._BLOCK_ROWS
    preferences = random_preferences(2 * block + 3, n_labels)
    ranks = np.asarray(kemeny(jnp.asarray(preferences), n_labels))
    assert len(ranks) > 2 * block
    for row in (0, block, 2 * block + 2):
        alone = kemeny(jnp.asarray(preferences[row]), n_labels)
        assert alone.shape == (n_labels,)
        assert alone.tolist() == ranks[row].tolist()
    some = kemeny(jnp.asarray(preferences[:12].reshape(3, 4, -1)), n_labels)
    assert some.reshape(12, -1).tolist() == ranks[:12].tolist()


def test_float_preferences_that_differ_by_rounding_alone_do_not_keep_the_search_busy():
    rng = np.random.default_rng(0)
    noise = (1 + 1e-7 * rng.normal(size=(64, 45))).astype(np.float32)
    cycle = np.sign(rng.normal(size=(64, 45))).astype(np.float32) * noise
    ranks = np.asarray(kemeny(jnp.asarray(cycle), 10))
    assert np.sort(ranks, axis=1).tolist() == [list(range(1, 11))] * 64


def test_sixteen_identical_rankings_are_their_own_consensus():
    rng = np.random.default_rng(3)
    positions = np.array([1 + rng.permutation(16) for _ in range(20)], np.float32)
    preferences = 5 * pair_signs(jnp.asarray(positions)).astype(jnp.int32)
    assert kemeny(preferences, 16).tolist() == positions.tolist()
    assert copeland(preferences).tolist() == positions.tolist()


@given(st.data())
def test_renaming_labels_renames_the_consensus(data):
    n_labels = data.draw(st.sampled_from([3, 5, 8]))
    order = np.array(data.draw(st.permutations(range(n_labels))))
    # Weights that are powers of 2 leave no ties between rankings, nor between sums.
    n_pairs = n_labels * (n_labels - 1) // 2
    signs = data.draw(st.lists(st.booleans(), min_size=n_pairs, max_size=n_pairs))
    weights = 2 ** np.random.default_rng(len(order)).permutation(len(signs))
    preferences = (np.where(signs, 1, -1) * weights).astype(np.int32)[None]
    renamed = renamed_preferences(preferences, order)
    for aggregate in (copeland, lambda p: kemeny(p, n_labels)):
        ranks = np.asarray(aggregate(jnp.asarray(preferences)))
        assert aggregate(jnp.asarray(renamed)).tolist() == ranks[:, order].tolist()


@given(score_tables(), st.data())
def test_scores_in_order_always_agree_with_the_ranks(scores, data):
    n_samples, n_labels = scores.shape
    ranks = data.draw(complete_rankings((n_labels,), (n_samples,))).astype(np.int32)
    placed = scores_in_order(jnp.asarray(scores), jnp.asarray(ranks))
    assert placed.dtype == jnp.float32
    assert rank_scores(placed).tolist() == ranks.tolist()
    # On the host too, which knows subnormal numbers.
    assert [oracles.ranks_of_scores(row) for row in np.asarray(placed).tolist()] == ranks.tolist()


def test_scores_in_order_moves_scores_and_lowers_equal_ones_by_one_step_only():
    placed = scores_in_order(jnp.array([[3, 1, 2], [5, 5, 5]]), jnp.array([[3, 1, 2], [2, 1, 3]]))
    step = np.nextafter(np.float32(5), np.float32(0))
    assert placed.tolist() == [[1, 3, 2], [step, 5, step]]


def test_scores_in_order_takes_one_row_and_blocks_of_rows_of_any_shape():
    rng = np.random.default_rng(5)
    scores = jnp.asarray(rng.integers(0, 3, (6, 4)), jnp.float32)
    ranks = jnp.asarray(np.array([1 + rng.permutation(4) for _ in range(6)], np.int32))
    rows = scores_in_order(scores, ranks).tolist()
    assert scores_in_order(scores[0], ranks[0]).tolist() == rows[0]
    blocks = scores_in_order(scores.reshape(2, 3, 4), ranks.reshape(2, 3, 4))
    assert blocks.reshape(6, 4).tolist() == rows
    assert scores_in_order(scores[:1], ranks).shape == (6, 4)  # broadcast


def test_kemeny_of_more_than_seven_labels_is_searched_for_from_bordas_ranking():
    preferences = jnp.asarray(random_preferences(40, 8, n_votes=5, seed=4))
    first, second = pair_indices(8)
    totals = np.zeros((40, 8), np.int32)
    for pair, (i, j) in enumerate(zip(first, second, strict=True)):
        totals[:, i] += np.asarray(preferences)[:, pair]
        totals[:, j] -= np.asarray(preferences)[:, pair]
    start = jnp.asarray([oracles.ranks_of_scores(row) for row in totals.tolist()], jnp.int32)
    found = kemeny(preferences, 8)
    assert found.tolist() == kemeny_local_search(preferences, start).tolist()
    reverse = kemeny_local_search(preferences, 9 - start)
    assert found.tolist() != reverse.tolist()  # the start decides some of them


def test_the_objective_is_one_number_a_ranking_whatever_the_shape_of_the_batch():
    preferences = jnp.asarray(random_preferences(6, 3))
    ranks = jnp.asarray([[1, 2, 3]] * 6)
    values = kemeny_objective(preferences, ranks)
    assert values.shape == (6,)
    assert kemeny_objective(preferences[0], ranks[0]).tolist() == values[0].tolist()
    some = kemeny_objective(preferences.reshape(2, 3, 3), ranks.reshape(2, 3, 3))
    assert some.tolist() == values.reshape(2, 3).tolist()


def test_scores_at_the_ends_of_float32_stay_finite_and_subnormal_ones_become_0():
    lowest, tiny = jnp.finfo(jnp.float32).min, 1e-40
    placed = scores_in_order(
        jnp.array([[lowest] * 3, [1.0, tiny, -1.0]]), jnp.array([[3, 2, 1]] * 2)
    )
    assert np.isfinite(placed).all()
    assert placed[1].tolist() == [-1, 0, 1]


def test_the_step_below_the_smallest_number_is_0_and_below_0_its_negative():
    tiny = float(jnp.finfo(jnp.float32).tiny)
    scores = jnp.array([[tiny, tiny], [0.0, 0.0], [2.0, 2.0], [jnp.inf, 1.0]], jnp.float32)
    placed = scores_in_order(scores, jnp.array([[2, 1], [2, 1], [2, 1], [1, 2]]))
    below = float(np.nextafter(np.float32(2), np.float32(0)))
    assert placed.tolist() == [[0, tiny], [-tiny, 0], [below, 2], [np.inf, 1]]
    # Many labels are gathered, not summed, which keeps a subnormal number.
    many = scores_in_order(jnp.full(99, tiny), jnp.arange(99, 0, -1, dtype=jnp.int32))
    assert many[-3:].tolist() == [-tiny, 0, tiny]
