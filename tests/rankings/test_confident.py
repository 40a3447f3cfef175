"""Bucket orders of what is sure, against all ways to cut labels into buckets."""

import itertools

import numpy as np
import pytest

from lrrf_jax import InputError
from lrrf_jax.rankings.confident import confident_orders, require_confidence
from lrrf_jax.rankings.pairwise import pair_indices, pair_probabilities

# All weak orders of four labels, as buckets of labels from 0 without a gap: 75 of them.
WEAK_ORDERS = [
    np.array(places)
    for places in itertools.product(range(4), repeat=4)
    if set(places) == set(range(max(places) + 1))
]


def random_preferences(n_samples, n_labels=4, seed=0):
    rng = np.random.default_rng(seed)
    shape = n_samples, n_labels * (n_labels - 1) // 2
    lean = np.triu(np.ones((n_labels, n_labels)), 1)[pair_indices(n_labels)]
    values = rng.uniform(-1, 1, shape) + rng.choice([0, 0.9], (n_samples, 1)) * lean
    return np.clip(values, -1, 1).astype(np.float32)


def finest(probability, confidence):
    """The weak order of most buckets that orders no pair but sure ones; there is one."""
    sure = (probability >= confidence) & (probability > 0.5)
    allowed = [w for w in WEAK_ORDERS if sure[w[:, None] < w[None, :]].all()]
    most = max(w.max() for w in allowed)
    best = [w for w in allowed if w.max() == most]
    assert len(best) == 1
    w = best[0]
    return [(w < mine).sum() + ((w == mine).sum() + 1) / 2 for mine in w]


@pytest.mark.parametrize("confidence", [0.5, 0.6, 0.75, 0.9])
def test_it_is_the_finest_bucket_order_that_orders_sure_pairs_only(confidence):
    assert len(WEAK_ORDERS) == 75
    preferences = random_preferences(300)
    probability = pair_probabilities(preferences)
    found = confident_orders(preferences, confidence)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [finest(row, confidence) for row in probability])
    n_buckets = {len(set(row)) for row in found.tolist()}
    # Where all pairs are sure there are no buckets of two, and so never three of four labels.
    assert n_buckets == ({1, 2, 4} if confidence == 0.5 else {1, 2, 3, 4})
    # Sure pairs are never reversed, in circles as little as elsewhere.
    behind = found[:, :, None] > found[:, None, :]
    assert not (behind & (probability >= confidence) & (probability > 0.5)).any()
    circles = [(row[0, 1] > 0.5) & (row[1, 2] > 0.5) & (row[2, 0] > 0.5) for row in probability]
    assert any(circles)


def test_a_higher_confidence_only_joins_buckets():
    preferences = random_preferences(200, n_labels=7, seed=1)
    orders = [confident_orders(preferences, c) for c in (0.5, 0.55, 0.7, 0.9, 1)]
    split = 0
    for fine, coarse in itertools.pairwise(orders):
        apart = coarse[:, :, None] < coarse[:, None, :]
        assert (fine[:, :, None] < fine[:, None, :])[apart].all()
        split += (fine != coarse).any()
    assert split >= 2


def test_labels_that_are_renamed_have_their_places_renamed():
    preferences = random_preferences(100, seed=2)
    order = np.array([2, 0, 3, 1])
    matrix = pair_probabilities(preferences)[:, order][:, :, order]
    first, second = pair_indices(4)
    renamed = 2 * matrix[:, first, second] - 1
    np.testing.assert_array_equal(
        confident_orders(renamed, 0.7), confident_orders(preferences, 0.7)[:, order]
    )


def test_labels_of_which_nothing_is_known_are_left_out_or_last():
    nan = np.nan
    rows = np.array([[nan, 0.8, nan], [nan] * 3, [nan, 0.8, 0.2]], np.float32)
    expected = [[1, nan, 2], [nan] * 3, [2, 2, 2]]
    np.testing.assert_array_equal(confident_orders(rows, 0.9), expected)
    last = confident_orders(rows, 0.9, unknown="last")
    np.testing.assert_array_equal(last, [[1, 3, 2], [2, 2, 2], [2, 2, 2]])


def test_shares_of_equal_votes_reach_the_confidence_that_they_are_equal_to():
    for n_votes in range(1, 17):
        for wins in range(n_votes // 2 + 1, n_votes + 1):
            share = np.array([[2 * wins / n_votes - 1]], np.float32)
            assert confident_orders(share, wins / n_votes).tolist() == [[1, 2]]
            assert confident_orders(-share, min(wins / n_votes + 1e-5, 1)).tolist() == (
                [[1.5, 1.5]] if wins < n_votes else [[2, 1]]
            )


@pytest.mark.parametrize("confidence", [0.49, 1.01, np.nan, True, "sure", None])
def test_what_is_no_confidence_is_refused(confidence):
    with pytest.raises(InputError, match=r"confidence must be a number from \.5 to 1"):
        require_confidence(confidence, {})
