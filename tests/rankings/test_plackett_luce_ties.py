"""Fits to rankings with ties, against numerical maximisation and sums over all orders."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from lrrf_jax.rankings import plackett_luce
from lrrf_jax.rankings.permutations import places
from tests import oracles
from tests.rankings.test_mallows import random_rankings
from tests.rankings.test_plackett_luce import STRENGTH, probability


def tied_tables(n_tables=3, n_rows=30, n_labels=4):
    """Noisy partial rankings, half of them with ties, in mean places."""
    rows = random_rankings(n_tables * n_rows, n_labels, 0.2, seed=8)
    rows[::2] = np.ceil(rows[::2] / 2)
    before, level = places(rows)
    rows = np.where(level > 0, before + (level + 1) / 2, np.nan).astype(np.float32)
    tied = level > 1
    at_the_end = before + level == (level > 0).sum(1, keepdims=True)
    assert (tied & ~at_the_end).any()
    assert (tied & at_the_end).any()
    return rows.reshape(n_tables, n_rows, n_labels)


def efron(row, strength):
    """Multiply the shares of the places that were won, in plain Python; float."""
    labels = [label for label, place in enumerate(row) if not oracles.missing(place)]
    log = 0.0
    for level in sorted({row[label] for label in labels}):
        tie = [label for label in labels if row[label] == level]
        behind = sum(strength[label] for label in labels if row[label] > level)
        if behind == 0:
            break
        for number, label in enumerate(tie):
            gone = number / len(tie)
            there = (1 - gone) * sum(strength[other] for other in tie)
            log += np.log(strength[label]) - np.log(there + behind)
    return log


def mean_over_orders(row, strength):
    """Average the probabilities of all complete rankings of the ranked labels that fit."""
    labels = [label for label, place in enumerate(row) if not oracles.missing(place)]
    places_of = [row[label] for label in labels]
    orders = list(oracles.consistent_rankings(places_of))
    each = [probability(order, [strength[label] for label in labels]) for order in orders]
    return np.mean(each), len(each)


def best_by_descent(table, weight, log_of_row, prior=0.0, share=None):
    n_labels = table.shape[1]
    share = np.full(n_labels, 1 / n_labels) if share is None else share

    def loss(log_strength):
        strength = np.exp(log_strength)
        logs = sum(w * log_of_row(r, strength) for r, w in zip(table.tolist(), weight, strict=True))
        return -logs - prior * n_labels * (share @ log_strength - strength.sum())

    best = np.exp(minimize(loss, np.log(share), tol=1e-9).x)
    return best / best.sum()


def test_the_likelihood_of_ties_equals_a_plain_loop():
    rows = tied_tables().reshape(-1, 4).astype(np.float64)
    expected = [efron(row, STRENGTH) for row in rows.tolist()]
    np.testing.assert_allclose(plackett_luce.log_likelihood(rows, STRENGTH), expected, rtol=1e-12)
    in_jax = plackett_luce.log_likelihood(
        jnp.asarray(rows, jnp.float32), jnp.asarray(STRENGTH, jnp.float32)
    )
    np.testing.assert_allclose(in_jax, expected, rtol=1e-4, atol=1e-6)


def test_the_likelihood_of_ties_is_that_of_the_mean_order_to_first_order():
    rows = [row for row in itertools.product((1, 2, 3), repeat=4) if 1 in row and len(set(row)) > 1]
    one = np.full(4, 0.25)
    way = np.array([0.1, -0.05, 0.02, -0.07])
    errors = []
    for step in (0.0, 0.02, 0.2):
        strength = one + step * way
        gap = 0.0
        for row in rows:
            mean, n_orders = mean_over_orders(row, strength)
            last = sum(place == max(row) for place in row)  # whose orders are left open
            exact = np.log(mean * np.prod(range(1, last + 1)))
            gap = max(gap, abs(efron(row, strength) - exact))
            assert n_orders >= 2
        errors.append(gap)
    assert errors[0] < 1e-12
    assert 50 < errors[2] / errors[1] < 200  # tenfold differences, a hundredfold error
    assert errors[2] < 0.02


@pytest.mark.parametrize("prior", [0.0, 0.5])
def test_a_fit_to_ties_maximises_their_likelihood(prior):
    tables = tied_tables()
    weight = np.random.default_rng(5).integers(1, 4, tables.shape[:2]).astype(np.float32)
    share = np.array([0.1, 0.2, 0.3, 0.4])
    gamma = plackett_luce.Prior(prior, jnp.asarray(share, jnp.float32))
    fit = plackett_luce.fit_tables(tables, weight, gamma)
    assert (fit.n_iterations < 1000).all()
    for table, w, strength in zip(tables, weight, np.asarray(fit.strength), strict=True):
        best = best_by_descent(table, w, efron, prior, share)
        np.testing.assert_allclose(strength, best, atol=1e-4)


def test_strengths_are_close_to_those_of_unknown_orders():
    tables = tied_tables(n_tables=2)
    one = np.ones(tables.shape[:2], np.float32)
    got = np.asarray(plackett_luce.fit_tables(tables, one).strength)
    for table, strength in zip(tables, got, strict=True):
        exact = best_by_descent(
            table, np.ones(len(table)), lambda row, s: np.log(mean_over_orders(row, s)[0])
        )
        np.testing.assert_allclose(strength, exact, atol=0.02)
        # Leaving the tied rows out is worse.
        strict = [len(set(row[~np.isnan(row)])) == (~np.isnan(row)).sum() for row in table]
        without = plackett_luce.fit_tables(table[None], np.float32(strict)[None]).strength[0]
        assert np.abs(strength - exact).max() < 0.5 * np.abs(without - exact).max()


def test_without_ties_but_in_the_last_place_the_program_that_leaves_them_out_gives_the_same_bytes():
    tables = random_rankings(60, 4, 0.3, seed=2).reshape(2, 30, 4)
    tables[1] = np.where(tables[1] > 2, 3.5, tables[1])
    tables[1][np.isnan(tables[1])] = 3.5
    weight = np.random.default_rng(1).random((2, 30)).astype(np.float32)
    prior = plackett_luce.Prior(0.1)
    both = [plackett_luce.fit_tables(tables, weight, prior, ties=ties) for ties in (True, False)]
    np.testing.assert_array_equal(both[0].strength, both[1].strength)
    np.testing.assert_array_equal(both[0].n_iterations, both[1].n_iterations)
    group = np.repeat(np.arange(2, dtype=np.int32), 30)
    both = [
        plackett_luce.fit_groups(tables.reshape(-1, 4), group, weight.ravel(), 2, prior, ties=ties)
        for ties in (True, False)
    ]
    np.testing.assert_array_equal(both[0].strength, both[1].strength)


def test_a_tie_of_all_labels_says_nothing_and_tied_labels_get_equal_strengths():
    rows = np.array([[[2, 2, 2], [1.5, 1.5, 3], [3, 3, 3]]], np.float32)[:, :2]
    fit = plackett_luce.fit_tables(rows, np.ones((1, 2), np.float32), plackett_luce.Prior(0.5))
    alone = plackett_luce.fit_tables(
        rows[:, 1:], np.ones((1, 1), np.float32), plackett_luce.Prior(0.5)
    )
    np.testing.assert_allclose(fit.strength, alone.strength, atol=1e-6)
    first, second, third = fit.strength[0].tolist()
    assert first == pytest.approx(second, abs=1e-6)
    assert first > third > 0
