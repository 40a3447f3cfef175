"""Criteria of votes on pairs, against loops over rankings."""

import dataclasses
import functools
import itertools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lrrf_jax.learners.forest.targets import _dispersion_curve
from lrrf_jax.rankings.mallows import expected_distance, fit_dispersion
from lrrf_jax.trees.class_criterion import ClassEntropy
from lrrf_jax.trees.growth import Drawn, Nodes, Samples
from lrrf_jax.trees.pair_criterion import Disagreement, MeanSimilarity, curve_shares, read_curve
from tests import tree_oracles
from tests.trees.growing import (
    N_LABELS,
    check,
    grow,
    ranking_table,
    samples_of_rankings,
)

PAIRS = list(itertools.combinations(range(N_LABELS), 2))


def sums_of(votes, weight, masked):
    """Sum as growth does: votes, marks of them where masked, weight, number."""
    columns = [votes, np.abs(votes)] if masked else [votes]
    columns += [np.ones((len(votes), 1), int)]
    sums = (np.concatenate(columns, axis=1) * weight[:, None]).sum(0)
    return jnp.asarray(np.append(sums, len(votes))[:, None], jnp.int32)


@pytest.mark.parametrize("masked", [False, True])
def test_weights_take_off_what_a_sample_has_in_common_with_itself(masked):
    """As if every sample weighed W / n: exactly what is right where all weigh the same."""
    rng = np.random.default_rng(3)
    criterion = MeanSimilarity(len(PAIRS), 0.98, masked, separate_count=True)
    for n_samples in (1, 2, 5, 40):
        votes = rng.choice([-1, 0, 1] if masked else [-1, 1], (n_samples, len(PAIRS)))
        others = [(a, b) for a in range(n_samples) for b in range(n_samples) if a != b]
        agreements = sum((votes[a] * votes[b]).sum() for a, b in others)
        compared = sum(np.abs(votes[a] * votes[b]).sum() for a, b in others)
        expected = agreements / compared if compared else 0
        for weight in (1, 7, 1000):
            sums = sums_of(votes, np.full(n_samples, weight), masked)
            score = float(criterion.score(sums)[0])
            assert score == pytest.approx(expected * n_samples * weight, rel=1e-4, abs=1e-2)
        uneven = rng.integers(1, 9, n_samples)
        one, other = (
            float(criterion.score(sums_of(votes, unit * uneven, masked))[0]) / unit
            for unit in (1, 64)
        )
        assert one == other  # a power of two changes no bit


def test_half_a_contradiction_is_that_of_a_sample_of_mean_weight():
    shares = _dispersion_curve(N_LABELS, "theta")
    criterion = Disagreement(N_LABELS, shares, separate_count=True, at_least_half=True)
    wins = np.arange(N_LABELS)[::-1] * 2 - (N_LABELS - 1)
    votes = np.append(np.ones(len(PAIRS), int), wins)  # the same ranking again and again

    def score(weight):
        sums = np.append(votes * weight.sum(), [weight.sum(), len(weight)])
        return float(criterion.score(jnp.asarray(sums[:, None], jnp.int32))[0])

    plain = dataclasses.replace(criterion, separate_count=False)
    sums = jnp.asarray(np.append(votes * 4, 4)[:, None], jnp.int32)
    alone = float(plain.score(sums)[0])
    assert alone > 0
    for weight in ([1] * 4, [64] * 4, [5, 1, 1, 1]):
        assert score(np.array(weight)) == pytest.approx(alone * sum(weight) / 4, rel=1e-6)


@functools.cache
def theta_at(distance):
    """Dispersion of which a distance is expected, by bisection."""
    low, high = 0.0, 60.0
    for _ in range(100):
        middle = (low + high) / 2
        at_middle = expected_distance(np.array(max(middle, 1e-12)), N_LABELS)
        low, high = (middle, high) if at_middle > distance else (low, middle)
    return low


class DispersionOracle(tree_oracles.RankingOracle):
    """Minus weight / (1 + theta), theta by bisection on the expected distance."""

    impurity = "dispersion"

    def score(self, rows):
        votes = self.votes[np.array(self.copies(rows), int)]
        wins = np.zeros(N_LABELS, int)
        for (a, b), total in zip(self.pairs, votes.sum(0), strict=True):
            wins[a], wins[b] = wins[a] + total, wins[b] - total
        ahead = [1 if wins[a] >= wins[b] else -1 for a, b in self.pairs]
        known, reversed_ = np.abs(votes).sum(), (votes * ahead < 0).sum()
        if known == 0:
            return 0.0
        if self.impurity == "theta":
            reversed_ = max(reversed_, 0.5)
        if reversed_ == 0:
            return 0.0
        theta = theta_at(reversed_ / known * len(self.pairs))
        return len(votes) * (theta if self.impurity == "theta" else -1 / (1 + theta))


class ThetaOracle(DispersionOracle):
    impurity = "theta"


class SimilarityOracle(tree_oracles.RankingOracle):
    """Weight times mean tau of two different rankings, known pairs pooled."""

    def tau_of(self, rows):
        copies = np.array(self.copies(rows), int)
        return self.mean_tau(copies, copies, ~np.eye(len(copies), dtype=bool))

    def score(self, rows):
        return self.counts[rows].sum() * self.tau_of(rows)

    def accepts(self, rows, left, right):
        after = (self.score(left) + self.score(right)) / self.counts[rows].sum()
        return 0.98 * (1 + after) > 1 + self.tau_of(rows)


ORACLES = {
    "dispersion": DispersionOracle,
    "theta": ThetaOracle,
    "similarity": SimilarityOracle,
}


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("criterion", "missing_labels"),
    [
        slow("dispersion", 0.0),
        ("dispersion", 0.4),
        slow("theta", 0.0),
        slow("theta", 0.4),
        ("similarity", 0.0),
        slow("similarity", 0.4),
    ],
)
def test_splits_are_the_best_that_the_criterion_accepts(criterion, missing_labels):
    x, y = ranking_table(3, missing_labels)
    least = 2 if criterion == "similarity" else 1
    samples, thresholds, config = samples_of_rankings(
        criterion, x, y, min_samples_split=25, least=least, max_depth=3
    )
    n_split, n_unsplit = check(
        x, samples, thresholds, config, lambda counts: ORACLES[criterion](y, counts), n_trees=2
    )
    assert n_split > 5
    assert n_unsplit > 0


@pytest.mark.parametrize("criterion", [slow("dispersion"), "similarity"])
def test_sums_of_16_bits_passes_and_blocks_do_not_change_a_tree(criterion):
    x, y = ranking_table(7, 0.4)
    samples, _, config = samples_of_rankings(criterion, x, y, max_depth=4)
    reference = grow(samples, dataclasses.replace(config, short_sums=False))
    for change in ({"short_sums": True}, {"histogram_bytes": 1}, {"search_bytes": 1}):
        other = grow(samples, dataclasses.replace(config, **change))
        chex.assert_trees_all_equal(other, reference)


@pytest.mark.parametrize(
    ("n_samples", "largest", "fits"),
    [(32767, 1, True), (32768, 1, False), (3640, 9, True), (3641, 9, False), (32767, 0, True)],
)
def test_sums_of_votes_have_16_bits_only_where_the_largest_fits(n_samples, largest, fits):
    criterion = MeanSimilarity(3, 0.95)
    stat = np.array([[0, -largest, 0]], np.int32)
    assert criterion.fits_16_bits(stat, n_samples) is fits
    assert ClassEntropy(3).fits_16_bits(np.array([[2]], np.int32), n_samples)


@pytest.mark.parametrize("impurity", ["inverse", "theta"])
def test_a_tabled_curve_is_read_between_its_points_to_a_thousandth(impurity):

    shares = np.concatenate(
        [np.random.default_rng(0).random(300) * 0.6, np.geomspace(2e-6, 1, 300), [0.5, 1.0]]
    ).astype(np.float32)
    theta = fit_dispersion(shares.astype(np.float64) * 10, 5)
    exact = 1 / (1 + theta) if impurity == "inverse" else -theta
    read = read_curve(_dispersion_curve(5, impurity), shares)
    np.testing.assert_allclose(read, exact, rtol=1e-3, atol=1e-3)
    assert float(read_curve(_dispersion_curve(5, impurity), np.float32(0.0))) == 0.0
    assert len(curve_shares()) == len(_dispersion_curve(5, impurity))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("n_items", [4, 7])  # few pairs, and so many that a loop runs
def test_disagreement_is_the_share_of_votes_against_the_order_by_net_wins(n_items, masked):
    rng = np.random.default_rng(n_items)
    n_votes, n_lanes = 9, 5
    pairs = list(itertools.combinations(range(n_items), 2))
    criterion = Disagreement(n_items, tuple(curve_shares()), masked)  # the cost is the share
    votes = rng.choice([-1, 0, 1] if masked else [-1, 1], (n_lanes, n_votes, len(pairs)))
    votes[0] = 1  # all agree
    sums = np.zeros((criterion.n_stats, n_lanes), np.int32)
    expected = np.zeros(n_lanes)
    for lane in range(n_lanes):
        wins = np.zeros(n_items, int)
        for (a, b), column in zip(pairs, votes[lane].T, strict=True):
            wins[a], wins[b] = wins[a] + column.sum(), wins[b] - column.sum()
        ahead = [1 if wins[a] >= wins[b] else -1 for a, b in pairs]
        known = np.abs(votes[lane]).sum()
        expected[lane] = -n_votes * (votes[lane] * ahead < 0).sum() / known
        columns = [votes[lane].sum(0), wins, [known] if masked else [], [n_votes]]
        sums[:, lane] = np.concatenate(columns)
    found = np.asarray(jax.jit(criterion.score)(sums))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert found[0] == 0
    assert (found[1:] < 0).all()


def test_only_votes_on_pairs_tell_that_samples_disagree():
    criterion = Disagreement(3, tuple(curve_shares()), masked=True)
    stat = [[1, 1, 1, 2, 0, -2, 3], [1, 1, -1, 2, -2, 0, 3], [1, 1, 0, -2, 1, 1, 2]]
    stat = np.array(stat, np.int32)
    drawn = Drawn(
        row=np.array([0, 1, 0, 2, 1, 2], np.int32),
        at=np.array([0, 0, 1, 1, 2, 0], np.int32),
        copies=np.array([1, 1, 1, 1, 1, 0], np.int32),
        weight=np.array([1, 1, 1, 1, 1, 0], np.int32),
        label=np.zeros(0, np.int32),
    )
    places = Nodes(*np.zeros((3, 4), np.int32))
    samples = Samples(None, stat, None, None, None, None)
    with jax.disable_jit():
        count, agree, _, _ = criterion.examine(*jax.device_put((places, drawn, samples)))
    assert count.tolist() == [2, 2, 1, 0]
    # Net wins of opposite signs, as in place 1, are no contradiction.
    assert agree.tolist() == [False, True, True, True]


@pytest.mark.parametrize(
    ("patience", "children", "accepted"),
    [(0.95, 0.2, True), (0.95, 0.1, False), (0.5, 0.2, False), (1.5, 0.0, True)],
)
def test_a_split_is_accepted_where_its_children_agree_enough_better(patience, children, accepted):
    total = jnp.asarray([[4], [10]], jnp.int32)  # votes; weight, which is the number of samples
    parent = 0.1
    score, parent_score = (jnp.asarray([10 * mean], jnp.float32) for mean in (children, parent))
    assert accepted == (patience * (1 + children) > 1 + parent)
    found = MeanSimilarity(1, patience).accepts(score, parent_score, total)
    assert found.tolist() == [accepted]
