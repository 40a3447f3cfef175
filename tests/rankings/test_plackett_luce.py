import itertools

import choix
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from lrrf_jax.rankings import plackett_luce
from lrrf_jax.rankings.permutations import place_missing_last
from tests import oracles
from tests.rankings.test_mallows import random_rankings

STRENGTH = np.array([0.4, 0.05, 0.3, 0.25])


def probability(ranks, strength):
    """Multiply the probabilities of the choices, in plain Python."""
    ordering = sorted(range(len(ranks)), key=lambda label: ranks[label])
    left, result = list(ordering), 1.0
    for label in ordering:
        result *= strength[label] / sum(strength[other] for other in left)
        left.remove(label)
    return result


def orderings(positions):
    return [[int(j) for j in np.argsort(row)[: (~np.isnan(row)).sum()]] for row in positions]


def groups_with_a_maximum(n_groups=3):
    """Noisy partial rankings of four labels, 30 a group, for which the likelihood has a maximum."""
    return random_rankings(30 * n_groups, 4, 0.3, seed=8).reshape(n_groups, 30, 4)


def test_likelihood_equals_the_product_of_choices_and_sums_to_1():
    rankings = list(itertools.permutations(range(1, 5)))
    got = np.exp(
        plackett_luce.log_likelihood(jnp.array(rankings, jnp.float32), jnp.array(STRENGTH))
    )
    np.testing.assert_allclose(got, [probability(r, STRENGTH) for r in rankings], rtol=1e-5)
    assert got.sum() == pytest.approx(1)


def test_a_partial_ranking_is_as_likely_as_all_its_completions_together():
    positions = random_rankings(20, 4, 0.5, seed=0)
    positions = np.concatenate([positions, np.asarray(place_missing_last(positions))])
    got = np.exp(plackett_luce.log_likelihood(positions, jnp.asarray(STRENGTH, jnp.float32)))
    expected = [
        sum(probability(r, STRENGTH) for r in oracles.consistent_rankings(row))
        for row in positions.tolist()
    ]
    assert np.isnan(positions[:20]).any()
    assert min(expected) < 0.1
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_likelihood_equals_choix():
    positions = random_rankings(15, 4, 0.4, seed=1)
    got = plackett_luce.log_likelihood(positions, jnp.asarray(STRENGTH, jnp.float32)).sum()
    expected = choix.log_likelihood_rankings(orderings(positions), np.log(STRENGTH))
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_fit_equals_choix_where_the_likelihood_has_a_maximum():
    tables = groups_with_a_maximum()
    fit = plackett_luce.fit_tables(tables, np.ones((3, 30), np.float32))
    assert (fit.n_iterations < 1000).all()
    for table, strength in zip(tables, np.asarray(fit.strength), strict=True):
        expected = np.exp(choix.opt_rankings(4, orderings(table)))
        np.testing.assert_allclose(strength, expected / expected.sum(), atol=2e-5)
        assert strength.sum() == pytest.approx(1)


def test_prior_gives_the_mode_of_the_posterior():
    tables = groups_with_a_maximum(2)[:, :6]
    share = np.array([0.1, 0.2, 0.3, 0.4])
    one = np.ones((2, 6), np.float32)
    prior = plackett_luce.Prior(0.5, jnp.asarray(share, jnp.float32))
    got = plackett_luce.fit_tables(tables, one, prior).strength

    def loss(log_strength, table):
        # 0.5 per label, by its share: gamma densities in the logarithms, of mean `share`.
        gamma = 0.5 * 4 * (share @ log_strength - np.exp(log_strength).sum())
        return -choix.log_likelihood_rankings(orderings(table), log_strength) - gamma

    for table, strength in zip(tables, np.asarray(got), strict=True):
        best = np.exp(minimize(loss, np.log(share), args=(table,), tol=1e-10).x)
        assert best.sum() == pytest.approx(1, abs=1e-4)
        np.testing.assert_allclose(strength, best, atol=5e-5)


def test_prior_keeps_unranked_and_unbeaten_labels_finite():
    # All agree on 2 before 0, and nothing is known of 1 and 3.
    positions = np.array([[[2, np.nan, 1, np.nan]] * 6], np.float32)
    prior = plackett_luce.Prior(0.5, jnp.array([0.2, 0.3, 0.1, 0.4]))
    one = np.ones((1, 6), np.float32)
    with_prior = np.asarray(plackett_luce.fit_tables(positions, one, prior).strength[0])
    np.testing.assert_allclose(with_prior[[1, 3]], [0.3, 0.4], rtol=1e-4)
    assert with_prior[2] > with_prior[0] > 0
    without = plackett_luce.fit_tables(positions, one).strength[0]
    assert without.tolist() == [0, 0, 1, 0]  # a label that never wins gets 0


def test_rankings_without_a_pair_leave_all_labels_equal():
    positions = np.array([[[np.nan, 1, np.nan]] * 2], np.float32)
    fit = plackett_luce.fit_tables(positions, np.ones((1, 2), np.float32))
    np.testing.assert_allclose(fit.strength, 1 / 3)
    assert fit.n_iterations.tolist() == [0]


def test_groups_equal_tables_and_a_weight_equals_copies():
    tables = groups_with_a_maximum()
    weight = np.random.default_rng(5).integers(0, 4, (3, 30)).astype(np.float32)
    fit = plackett_luce.fit_tables(tables, weight)
    group = np.repeat(np.arange(3, dtype=np.int32), 30)
    positions = tables.reshape(-1, 4)
    outside = np.append(group, np.int32(7)), np.append(weight.ravel(), np.float32(9))
    more = np.concatenate([positions, positions[:1]])
    groups = plackett_luce.fit_groups(more, *outside, n_groups=3)
    np.testing.assert_allclose(groups.strength, fit.strength, atol=1e-5)
    copies = np.repeat(np.arange(90), weight.ravel().astype(int))
    copied = plackett_luce.fit_groups(
        positions[copies], group[copies], np.ones(len(copies), np.float32), 3
    )
    np.testing.assert_allclose(copied.strength, fit.strength, atol=1e-5)


def test_a_table_does_not_depend_on_its_company():
    # One group rests within a few iterations, the other takes hundreds.
    noisy, agreeing = groups_with_a_maximum(1)[0], np.tile(np.float32([1, 2, 3, 4]), (30, 1))
    one = np.ones((2, 30), np.float32)
    both = plackett_luce.fit_tables(np.stack([noisy, agreeing]), one)
    alone = plackett_luce.fit_tables(noisy[None], one[:1])
    assert both.n_iterations[0] < 100 < 500 < both.n_iterations[1]
    assert both.strength[0].tolist() == alone.strength[0].tolist()


def test_samples_have_the_frequencies_of_the_likelihood():
    rankings = np.array(list(itertools.permutations(range(1, 5))))
    strength = jnp.broadcast_to(jnp.asarray(STRENGTH, jnp.float32), (40_000, 4))
    codes = np.asarray(plackett_luce.sample(jax.random.key(3), strength)) @ 10 ** np.arange(4)
    found = np.array([(codes == r @ 10 ** np.arange(4)).mean() for r in rankings])
    assert found.sum() == pytest.approx(1)  # nothing but permutations
    expected = np.array([probability(r, STRENGTH) for r in rankings])
    assert np.all(np.abs(found - expected) < 4.5 * np.sqrt(expected * (1 - expected) / 40_000))


def test_labels_of_no_strength_are_drawn_last():
    strength = jnp.broadcast_to(jnp.array([0.0, 0.5, 0.0, 0.5]), (500, 4))
    drawn = np.asarray(plackett_luce.sample(jax.random.key(0), strength))
    assert (drawn[:, [0, 2]] > 2).all()
    assert len(np.unique(drawn, axis=0)) == 4  # in any order, as the others
