import itertools

import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lrrf_jax.rankings.completion import most_probable_extension
from lrrf_jax.rankings.permutations import place_missing_last
from tests import oracles
from tests.strategies import partial_rankings


def extension(positions, centre):
    """Follow the proposition label by label, in plain lists."""
    n_labels = len(positions)
    ranked = sorted(
        (j for j in range(n_labels) if not np.isnan(positions[j])), key=positions.__getitem__
    )
    missing = [j for j in range(n_labels) if j not in ranked]
    slots = {}
    for label in missing:
        reversals = [
            sum(centre[k] > centre[label] for k in ranked[:slot])
            + sum(centre[k] < centre[label] for k in ranked[slot:])
            for slot in range(len(ranked) + 1)
        ]
        slots[label] = reversals.index(min(reversals))
    ordering = []
    for slot in range(len(ranked) + 1):
        ordering += ranked[slot - 1 : slot] if slot else []
        ordering += sorted((j for j in missing if slots[j] == slot), key=centre.__getitem__)
    return [ordering.index(j) + 1 for j in range(n_labels)]


def draw_centres(data, shape):
    return np.array([data.draw(st.permutations(range(1, shape[1] + 1))) for _ in range(shape[0])])


@given(partial_rankings(), st.data())
def test_extension_equals_the_proposition_label_by_label(positions, data):
    centre = draw_centres(data, positions.shape)
    expected = [extension(p, c) for p, c in zip(positions.tolist(), centre.tolist(), strict=True)]
    got = most_probable_extension(jnp.asarray(positions, jnp.float32), jnp.asarray(centre))
    assert got.dtype == jnp.int32
    assert got.tolist() == expected
    floats = jnp.asarray(centre, jnp.float32)
    assert most_probable_extension(jnp.asarray(positions, jnp.float32), floats).tolist() == expected


@given(partial_rankings(n_labels=(2, 3, 5)), st.sampled_from([1, 2]), st.data())
def test_no_consistent_ranking_is_nearer_to_the_centre(positions, divisor, data):
    positions = np.ceil(positions / divisor)  # 2: labels tie, beside missing ones
    centre = draw_centres(data, positions.shape)
    got = most_probable_extension(jnp.asarray(positions, jnp.float32), jnp.asarray(centre))
    for row, centre_row, partial in zip(got.tolist(), centre.tolist(), positions, strict=True):
        assert all(
            oracles.sign_of_pair(partial, i, j) * oracles.sign_of_pair(row, i, j) >= 0
            for i, j in oracles.pairs(len(row))
        )
        near = [oracles.pair_counts(centre_row, r)[1] for r in oracles.consistent_rankings(partial)]
        assert oracles.pair_counts(centre_row, row)[1] == min(near)


def test_of_equally_good_slots_the_best_place_is_taken():
    # Label 0, second of the centre, between 2 (first) and 1 (third), which come in reverse: before
    # both it reverses one preference (2 before 0), between them two, after both one.
    positions, centre = jnp.array([jnp.nan, 1.0, 2.0]), jnp.array([2, 3, 1])
    assert most_probable_extension(positions, centre).tolist() == [1, 2, 3]


def test_labels_in_one_slot_and_tied_labels_follow_the_centre():
    centre = jnp.array([3, 1, 4, 2])
    assert most_probable_extension(jnp.full(4, jnp.nan), centre).tolist() == [3, 1, 4, 2]
    top_one = place_missing_last(jnp.array([[jnp.nan, jnp.nan, 1.0, jnp.nan]]))
    assert (top_one[0, 0] == top_one[0, 1]) & (top_one[0, 1] == top_one[0, 3])
    assert most_probable_extension(top_one, centre).tolist() == [[4, 2, 1, 3]]


def test_forty_labels_give_a_permutation_that_keeps_the_known_order():
    rng = np.random.default_rng(0)
    positions = np.full((5, 40), np.nan, np.float32)
    for row in positions:
        labels = rng.choice(40, 7, replace=False)
        row[labels] = 1 + np.arange(7)
    centre = np.stack([rng.permutation(40) + 1 for _ in positions])
    got = np.asarray(most_probable_extension(jnp.asarray(positions), jnp.asarray(centre)))
    assert got.tolist() == [
        extension(list(p), list(c)) for p, c in zip(positions, centre, strict=True)
    ]


def test_a_complete_ranking_stays_as_it_is():
    rankings = jnp.array(list(itertools.permutations(range(1, 5))), jnp.float32)
    got = most_probable_extension(rankings, jnp.array([2, 4, 1, 3]))
    assert got.tolist() == rankings.tolist()
