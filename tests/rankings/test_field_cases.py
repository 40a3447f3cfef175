"""Cases on which other packages were reported to fail, with the right values worked out."""

import jax.numpy as jnp
import numpy as np
import pytest

from lrrf_jax import LEARNERS, InputError
from lrrf_jax.rankings import mallows, plackett_luce
from tests.small_learners import small

nan = np.nan


def fitted(positions, **options):
    table = jnp.asarray(positions, jnp.float32)
    group, weight = jnp.zeros(len(positions), jnp.int32), jnp.ones(len(positions))
    return plackett_luce.fit_groups(table, group, weight, 1, **options)


@pytest.mark.parametrize("prior", [0.0, 0.1])
def test_rankings_that_all_agree_have_finite_strengths_in_their_order(prior):
    # BradleyTerry2 6, PlackettLuce 9: the likelihood has no maximum.
    fit = fitted([[1, 2, 3]] * 5, prior=plackett_luce.Prior(prior))
    strength = np.asarray(fit.strength[0])
    assert np.isfinite(strength).all()
    assert strength[0] > strength[1] > strength[2] >= 0
    assert strength.sum() == pytest.approx(1)
    assert 0 < fit.n_iterations[0] <= plackett_luce.MAX_ITERATIONS
    assert prior == 0 or strength[2] > 0


def test_labels_that_are_never_compared_get_finite_strengths():
    # PlackettLuce 21: {0, 1} and {2, 3} have no ranking in common.
    table = [[1, 2, nan, nan], [2, 1, nan, nan], [nan, nan, 1, 2], [nan, nan, 2, 1]]
    fit = fitted([*table, [nan, nan, 1, 2]])
    strength = np.asarray(fit.strength[0])
    assert strength.sum() == pytest.approx(1)
    assert strength[0] == pytest.approx(strength[1])
    assert strength[2] == pytest.approx(2 * strength[3])
    assert fit.n_iterations[0] < plackett_luce.MAX_ITERATIONS


def test_the_dispersion_of_mallows_is_per_discordant_pair():
    # BayesMallows 60 has two scales; here theta = ln 2 gives Z = (1 + 1/2) (1 + 1/2 + 1/4).
    theta = np.log(2.0)
    assert np.exp(mallows.log_normaliser(np.array(theta), 3)) == pytest.approx(2.625)
    centre = jnp.array([[1.0, 2, 3]])
    chance = np.exp(mallows.log_likelihood(centre, centre, jnp.array([theta], jnp.float32)))
    assert chance[0] == pytest.approx(1 / 2.625, rel=1e-6)


def test_identical_rankings_have_their_own_as_centre_and_a_likelihood_of_1():
    positions = jnp.asarray([[2.0, 3, 1]] * 4)
    fit = mallows.fit_groups(positions, jnp.zeros(4, jnp.int32), jnp.ones(4), 1)
    assert fit.centre.tolist() == [[2, 3, 1]]
    assert np.isposinf(fit.theta[0])
    assert mallows.log_likelihood(positions, fit.centre, fit.theta).tolist() == [0] * 4


@pytest.mark.parametrize("name", LEARNERS)
def test_ties_of_two_and_of_four_without_any_of_three_are_learnt_by_all_learners(name):
    # PlackettLuce 54 crashed there.
    y = [[1, 2, 3, 4, 5, 6], [1, 1, 3, 3, 3, 3], [1.5, 1.5, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1]]
    ranker = small(name).fit(np.arange(4.0)[:, None], y)
    assert sorted(ranker.predict([[1.0]])[0]) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("row", [[1, 1, 4, 4, 4, 4], [1, 2, 2, 3, 4, 6], [1, 2, 2, 2, 2, 2.5]])
@pytest.mark.parametrize("name", LEARNERS)
def test_ties_that_leave_other_gaps_than_ranks_do_are_refused_by_all_learners(name, row):
    need = "y must hold the positions 1..6 in each row, where a tie is .*; row 1 is"
    with pytest.raises(InputError, match=need):
        LEARNERS[name]().fit(np.arange(3.0)[:, None], [[1, 2, 3, 4, 5, 6], row, [6, 5, 4, 3, 2, 1]])
