import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lrrf_jax.rankings import mallows
from tests import oracles
from tests.rankings.test_completion import extension

THETAS = (0.0, 1e-3, 0.3, 0.5, 1.0, 5.0, 40.0)


def all_distances(n_labels):
    centre = range(1, n_labels + 1)
    rankings = list(itertools.permutations(centre))
    return rankings, np.array([oracles.pair_counts(centre, r)[1] for r in rankings])


def random_rankings(n_samples, n_labels, missing, seed):
    rng = np.random.default_rng(seed)
    positions = np.argsort(np.argsort(rng.normal(size=(n_samples, n_labels))), axis=1) + 1.0
    positions[rng.random(positions.shape) < missing] = np.nan
    for row in positions:
        known = ~np.isnan(row)
        row[known] = 1 + np.argsort(np.argsort(row[known]))
    return positions.astype(np.float32)


def votes_of(positions):
    """Generalised Borda votes of one ranking, in plain Python."""
    m, ranked = len(positions), sum(not np.isnan(p) for p in positions)
    return [
        (m + 1) / 2 if np.isnan(p) else (ranked + 1 - p) * (m + 1) / (ranked + 1) for p in positions
    ]


def centres_by_loop(positions, weight):
    """Algorithm 1 for one group: the centre after each iteration, to a rest or for 100."""
    n_labels = positions.shape[1]

    def ranks(table):
        return oracles.ranks_of_scores([round(float(v), 6) for v in weight @ np.array(table)])

    centres = [ranks([votes_of(p) for p in positions])]
    for _ in range(100):
        completed = np.array([extension(list(p), centres[-1]) for p in positions])
        centres.append(ranks(n_labels + 1 - completed))
        if centres[-1] == centres[-2]:
            break
    return centres


@pytest.mark.parametrize("n_labels", [2, 3, 5])
def test_normaliser_and_expected_distance_equal_sums_over_all_rankings(n_labels):
    _, distance = all_distances(n_labels)
    terms = np.exp(-np.outer(THETAS, distance))
    normaliser, expected = terms.sum(1), (terms * distance).sum(1) / terms.sum(1)
    thetas = np.array(THETAS)
    got = mallows.log_normaliser(thetas, n_labels), mallows.expected_distance(thetas, n_labels)
    np.testing.assert_allclose(got[0], np.log(normaliser), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(got[1], expected, rtol=1e-13)
    single = jnp.asarray(THETAS, jnp.float32)
    np.testing.assert_allclose(
        mallows.log_normaliser(single, n_labels), np.log(normaliser), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(mallows.expected_distance(single, n_labels), expected, rtol=1e-5)


def test_far_thetas_neither_overflow_nor_turn_into_nan():
    far = np.array([100.0, 1e4, np.inf])
    for thetas in (far, jnp.asarray(far, jnp.float32)):
        assert np.asarray(mallows.log_normaliser(thetas, 9)).tolist() == [0, 0, 0]
        assert np.allclose(mallows.expected_distance(thetas, 9), 0, atol=1e-40)


@pytest.mark.parametrize("n_labels", [2, 5, 16])
def test_dispersion_inverts_the_expected_distance(n_labels):
    thetas = np.array([1e-3, 0.1, 0.7, 2.0, 9.0, 30.0])
    distance = mallows.expected_distance(thetas, n_labels)
    assert np.all(np.diff(distance) < 0)
    np.testing.assert_allclose(mallows.fit_dispersion(distance, n_labels), thetas, rtol=1e-9)
    single = mallows.fit_dispersion(jnp.asarray(distance, jnp.float32), n_labels)
    np.testing.assert_allclose(single, thetas, rtol=1e-4, atol=1e-5)


def test_dispersion_is_0_for_chance_or_worse_and_infinite_for_agreement():
    for kind in (np.asarray, jnp.asarray):
        theta = mallows.fit_dispersion(kind(np.array([0, 5, 5.5, 10], np.float32)), 5)
        assert np.asarray(theta).tolist() == [np.inf, 0, 0, 0]
    assert mallows.fit_dispersion(np.array([0.0]), 1) == np.inf


@pytest.mark.parametrize("theta", [0.0, 0.6, np.inf])
def test_likelihood_sums_to_1_and_equals_the_formula(theta):
    rankings, _ = all_distances(4)
    centre = (3, 1, 4, 2)
    got = mallows.log_likelihood(jnp.array(rankings), jnp.array(centre), jnp.float32(theta))
    distance = np.array([oracles.pair_counts(centre, r)[1] for r in rankings])
    expected = (distance == 0) * 1.0 if np.isinf(theta) else np.exp(-theta * distance)
    np.testing.assert_allclose(np.exp(got), expected / expected.sum(), rtol=1e-5)
    assert (distance == 0).sum() == 1


def test_samples_have_the_frequencies_of_the_likelihood():
    rankings, _ = all_distances(4)
    centre, theta = jnp.array([2, 4, 1, 3]), jnp.float32(0.5)
    drawn = mallows.sample(jax.random.key(3), jnp.broadcast_to(centre, (40_000, 4)), theta)
    codes = np.asarray(drawn) @ 10 ** np.arange(4)
    found = np.array([(codes == np.dot(r, 10 ** np.arange(4))).mean() for r in rankings])
    assert found.sum() == pytest.approx(1)  # nothing but permutations
    probability = np.exp(mallows.log_likelihood(jnp.array(rankings), centre, theta))
    spread = np.sqrt(probability * (1 - probability) / 40_000)
    assert np.all(np.abs(found - probability) < 4.5 * spread)


def test_samples_at_the_ends_are_uniform_or_the_centre():
    centre = jnp.array([[2, 3, 1]] * 3000)
    extremes = jnp.array([np.inf] * 1000 + [0.0] * 2000, jnp.float32)
    drawn = np.asarray(mallows.sample(jax.random.key(0), centre, extremes))
    assert (drawn[:1000] == [2, 3, 1]).all()
    counts = np.unique(drawn[1000:], axis=0, return_counts=True)[1]
    assert len(counts) == 6
    assert np.all(np.abs(counts - 2000 / 6) < 75)


@pytest.mark.parametrize("missing", [0.0, 0.3, 0.6])
def test_groups_equal_a_loop_over_groups(missing):
    positions = random_rankings(60, 5, missing, seed=1)
    rng = np.random.default_rng(2)
    group = rng.integers(-1, 9, 60).astype(np.int32)  # -1 and 8 are no groups
    weight = rng.integers(0, 3, 60).astype(np.float32)
    fit = mallows.fit_groups(jnp.asarray(positions), jnp.asarray(group), jnp.asarray(weight), 8)
    assert (group < 0).any()
    assert (group == 8).any()
    for g in range(8):
        mine = (group == g) & (weight > 0)
        centre = centres_by_loop(positions[mine], weight[mine])[-1]
        assert fit.centre[g].tolist() == centre
        completed = [extension(list(p), centre) for p in positions[mine]]
        distance = [oracles.pair_counts(centre, r)[1] for r in completed]
        votes = 6 - np.average(completed, axis=0, weights=weight[mine])
        np.testing.assert_allclose(fit.mean_vote[g], votes, rtol=1e-6)
        mean = np.average(distance, weights=weight[mine])
        np.testing.assert_allclose(fit.mean_distance[g], mean, rtol=1e-6)
        np.testing.assert_allclose(
            fit.theta[g], mallows.fit_dispersion(np.array(mean), 5), rtol=1e-4, atol=1e-5
        )
        assert fit.unseen[g].tolist() == np.isnan(positions[mine]).all(0).tolist()


def test_tables_equal_groups_and_a_weight_equals_copies():
    positions = random_rankings(48, 5, 0.5, seed=4)
    weight = np.random.default_rng(5).integers(0, 4, 48).astype(np.float32)
    tables = mallows.fit_tables(positions.reshape(8, 6, 5), weight.reshape(8, 6))
    group = np.repeat(np.arange(8, dtype=np.int32), 6)
    groups = mallows.fit_groups(positions, group, weight, 8)
    copies = np.repeat(np.arange(48), weight.astype(int))
    copied = mallows.fit_groups(
        positions[copies], group[copies], np.ones(len(copies), np.float32), 8
    )
    for one, other, third in zip(tables, groups, copied, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
        np.testing.assert_allclose(one, third, rtol=1e-6)
    assert tables.unseen.any()


@pytest.mark.parametrize("period", [1, 2, 3])
def test_a_centre_that_cycles_keeps_the_last_of_100_iterations(period):
    # No cycle of Algorithm 1 turned up in a million random groups, so one is made here: each
    # iteration rotates the votes of the first `period` labels, after a start that is not met again.
    rotation = jnp.array([*range(1, period), 0, *range(period, 4)])
    start = jnp.array([[1.0, 2, 3, 4], [4, 3, 2, 1]])

    def improve(votes):
        first = (votes == start[0]).all(-1, keepdims=True)
        return jnp.where(first, start[1], votes[:, rotation])

    expected = start
    for _ in range(mallows.MAX_ITERATIONS):
        expected = improve(expected)
    assert (improve(expected) == expected).all() == (period == 1)
    got = mallows._iterate(improve, start, jnp.zeros((), bool))
    assert got.tolist() == expected.tolist()


@pytest.mark.parametrize("missing", [0.3, 0.6])
def test_unseen_labels_at_the_end_leave_the_rest_as_if_they_were_not_there(missing):
    positions = random_rankings(40, 4, missing, seed=6)
    wider = np.insert(positions, [0, 2], np.nan, axis=1)  # labels 0 and 3 are never ranked
    group = np.arange(40, dtype=np.int32) % 5
    # No two labels tie, so that rounding, which differs between versions of XLA, decides nothing.
    weight = np.random.default_rng(0).uniform(0.5, 2, 40).astype(np.float32)
    fit = mallows.fit_groups(wider, group, weight, 5, unseen="last")
    alone = mallows.fit_groups(positions, group, weight, 5)
    assert not alone.unseen.any()
    assert fit.unseen.tolist() == [[True, False, False, True, False, False]] * 5
    assert fit.centre[:, [1, 2, 4, 5]].tolist() == alone.centre.tolist()
    assert fit.centre[:, [0, 3]].tolist() == [[5, 6]] * 5
    np.testing.assert_allclose(fit.theta, alone.theta, rtol=1e-5)


def test_a_group_without_rankings_gives_no_nan():
    fit = mallows.fit_groups(jnp.array([[1.0, 2.0, jnp.nan]]), jnp.array([1]), jnp.ones(1), 2)
    assert fit.centre.tolist() == [[1, 2, 3], [1, 3, 2]]
    assert fit.unseen.tolist() == [[True] * 3, [False, False, True]]
    assert not np.isnan(fit.mean_distance).any()


@pytest.mark.parametrize("theta", [5e-324, 1e-310, 0.0])
def test_the_smallest_thetas_are_as_good_as_0(theta):
    assert mallows.expected_distance(np.array(theta), 4) == 3
    assert mallows.log_normaliser(np.array(theta), 4) == pytest.approx(np.log(24))
