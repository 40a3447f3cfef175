"""Mallows' and Plackett-Luce's distributions: they are distributions, and symmetric ones."""

import itertools

import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lrrf_jax.rankings import mallows, plackett_luce
from lrrf_jax.rankings.completion import most_probable_extension
from tests.strategies import complete_rankings, partial_rankings

ALL = np.array(list(itertools.permutations(range(1, 5))), np.float32)  # (24, 4)
thetas = st.floats(0, 6, width=32)
strengths = st.lists(st.sampled_from([0.01, 0.2, 0.5, 1.0, 3.0, 40.0]), min_size=4, max_size=4)


def mallows_log(centre, theta):
    centre = np.broadcast_to(np.asarray(centre, np.float32), ALL.shape)
    theta = np.full(len(ALL), theta, np.float32)
    return np.asarray(mallows.log_likelihood(jnp.asarray(ALL), jnp.asarray(centre), theta))


def luce_log(positions, strength):
    table = jnp.asarray(positions, jnp.float32)
    strength = np.broadcast_to(np.float32(strength), positions.shape)
    return np.asarray(plackett_luce.log_likelihood(table, jnp.asarray(strength)))


@given(complete_rankings((4,), (1,)), thetas)
def test_mallows_probabilities_sum_to_1_and_fall_with_the_distance(centre, theta):
    probability = np.exp(mallows_log(centre, theta).astype(np.float64))
    np.testing.assert_allclose(probability.sum(), 1, rtol=1e-4)
    signs = [np.sign(table[:, :, None] - table[:, None]) for table in (ALL, centre)]
    distance = (signs[0] * signs[1] < 0).sum((1, 2)) // 2
    np.testing.assert_allclose(
        probability, probability.max() * np.exp(-theta * distance), rtol=1e-4, atol=1e-12
    )


@given(complete_rankings((4,), (1,)), thetas, st.permutations(range(4)))
def test_mallows_knows_labels_by_their_positions_only(centre, theta, order):
    renamed = mallows_log(centre[:, order], theta)
    at = {tuple(row): value for row, value in zip(ALL.tolist(), renamed.tolist(), strict=True)}
    same = [at[tuple(row[list(order)])] for row in ALL]
    np.testing.assert_array_equal(mallows_log(centre, theta), np.float32(same))


@given(st.floats(0.001, 30), st.sampled_from([2, 3, 5, 16]))
def test_the_mean_distance_and_the_dispersion_invert_each_other(theta, n_labels):
    distance = mallows.expected_distance(np.array(theta), n_labels)
    assert 0 < distance < n_labels * (n_labels - 1) / 4
    back = mallows.fit_dispersion(distance, n_labels)
    np.testing.assert_allclose(back, theta, rtol=1e-6)


@given(st.lists(st.floats(0, 20), min_size=2, max_size=6), st.sampled_from([2, 4, 9]))
def test_more_dispersion_means_less_mean_distance(thetas, n_labels):
    thetas = np.sort(thetas)
    distance = mallows.expected_distance(thetas, n_labels)
    assert (np.diff(distance) <= 1e-12).all()
    normaliser = mallows.log_normaliser(thetas, n_labels)
    assert (np.diff(normaliser) <= 1e-12).all()


@given(strengths)
def test_plackett_luce_probabilities_sum_to_1_and_the_first_place_follows_strength(strength):
    probability = np.exp(luce_log(ALL, strength).astype(np.float64))
    np.testing.assert_allclose(probability.sum(), 1, rtol=1e-4)
    first = [probability[ALL[:, label] == 1].sum() for label in range(4)]
    np.testing.assert_allclose(first, np.array(strength) / sum(strength), rtol=1e-4)


@given(strengths, st.sampled_from([2.0**k for k in (-20, -3, 5, 30)]))
def test_the_scale_of_strengths_changes_nothing(strength, scale):
    np.testing.assert_allclose(
        luce_log(ALL, np.array(strength) * scale), luce_log(ALL, strength), rtol=1e-5, atol=1e-5
    )


@given(partial_rankings((4,), (3,)), strengths, st.permutations(range(4)))
def test_plackett_luce_follows_a_renaming_of_the_labels(positions, strength, order):
    order = list(order)
    renamed = luce_log(positions[:, order], np.array(strength)[order])
    np.testing.assert_allclose(renamed, luce_log(positions, strength), rtol=1e-5, atol=1e-6)


@given(partial_rankings((3, 5), (3,)), st.data())
def test_an_extension_keeps_every_known_preference(positions, data):
    centre = data.draw(complete_rankings(positions.shape[1:], (3,)))
    completed = most_probable_extension(jnp.asarray(positions, jnp.float32), jnp.asarray(centre))
    completed = np.asarray(completed)
    assert (np.sort(completed, 1) == np.arange(1, positions.shape[1] + 1)).all()
    known = positions[:, :, None] < positions[:, None]
    assert (completed[:, :, None] < completed[:, None])[known].all()
    again = most_probable_extension(jnp.asarray(completed, jnp.float32), jnp.asarray(centre))
    assert again.tolist() == completed.tolist()
