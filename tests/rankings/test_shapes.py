"""Shapes and types that comments state are checked where a program is traced."""

import jax
import jax.numpy as jnp
import optax
import pytest

from lrrf_jax.rankings import (
    aggregation,
    completion,
    kemeny_search,
    mallows,
    pairwise,
    plackett_luce,
)
from lrrf_jax.rankings.permutations import n_ranked, take_in_order
from lrrf_jax.rankings.statistics import borda_votes
from lrrf_jax.training import minimise

RANKS = jnp.array([[1, 2, 3], [2, 3, 1]])
POSITIONS, WEIGHT, GROUP = RANKS * 1.0, jnp.ones(2), jnp.zeros(2, jnp.int32)
TABLES = POSITIONS[None]
FITS = {"mallows": mallows, "plackett_luce": plackett_luce}


@pytest.mark.parametrize(
    "call",
    [
        lambda: aggregation.kemeny(jnp.ones((2, 4)), 3),
        lambda: aggregation.scores_in_order(jnp.ones((2, 4)), RANKS),
        lambda: kemeny_search.kemeny_exact(jnp.ones((2, 4)), 3),
        lambda: kemeny_search.kemeny_local_search(jnp.ones((2, 4)), RANKS),
        lambda: kemeny_search.kemeny_local_search(jnp.ones((3, 3)), RANKS),
        lambda: pairwise.antisymmetric(jnp.ones(4), 3),
        lambda: take_in_order(jnp.ones((2, 4)), RANKS),
        lambda: completion.most_probable_extension(POSITIONS, jnp.array([1, 2])),
    ],
)
def test_arrays_of_other_sizes_stop_the_trace(call):
    with pytest.raises(AssertionError, match="shape"):
        call()


@pytest.mark.parametrize("family", FITS)
@pytest.mark.parametrize(
    "arguments",
    [(POSITIONS[0], GROUP, WEIGHT), (POSITIONS, GROUP, WEIGHT[:1]), (POSITIONS, GROUP[:1], WEIGHT)],
)
def test_groups_of_other_shapes_stop_the_trace(family, arguments):
    with pytest.raises(AssertionError, match=r"rank|shape"):
        FITS[family].fit_groups(*arguments, 1)
    with pytest.raises(AssertionError, match=r"rank|shape"):
        FITS[family].fit_tables(TABLES, jnp.ones((2, 1)))


@pytest.mark.parametrize(
    "call",
    [
        lambda: borda_votes(RANKS),
        lambda: n_ranked(RANKS),
        lambda: completion.most_probable_extension(RANKS, RANKS),
        lambda: mallows.fit_groups(POSITIONS, WEIGHT, WEIGHT, 1),
        lambda: plackett_luce.fit_groups(RANKS, GROUP, WEIGHT, 1),
        lambda: plackett_luce.sample_by_log(jax.random.key(0), RANKS),
    ],
)
def test_arrays_of_other_types_stop_the_trace(call):
    with pytest.raises(AssertionError, match="type"):
        call()


def test_a_prior_has_a_number_per_label():
    prior = plackett_luce.Prior(0.5, jnp.ones(2))
    with pytest.raises(AssertionError, match="shape"):
        plackett_luce.fit_groups(POSITIONS, GROUP, WEIGHT, 1, prior)


def test_a_loss_is_one_number_and_parameters_are_floats():
    def minimise_from(start):
        sgd = optax.sgd(0.1)
        return minimise(lambda x: x * 2, start, sgd, max_steps=2, tolerance=0.1)

    with pytest.raises(AssertionError, match="type"):
        minimise_from(jnp.zeros(2, jnp.int32))
    with pytest.raises((AssertionError, TypeError), match=r"shape|scalar"):
        minimise_from(jnp.zeros(2))
