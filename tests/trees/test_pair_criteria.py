"""Criteria of votes on pairs, and of alike classes, against loops over rankings."""

import dataclasses
import itertools
import math

import chex
import jax.numpy as jnp
import numpy as np
import pytest

from lrrf_jax.learners.forest.config import ForestConfig
from lrrf_jax.learners.forest.targets import _dispersion_curve, growth_statistic
from lrrf_jax.rankings.mallows import expected_distance
from lrrf_jax.trees import edira
from lrrf_jax.trees.criterion import ClassEntropy
from lrrf_jax.trees.edira import SimilarityEntropy
from lrrf_jax.trees.pair_criterion import Disagreement, MeanSimilarity, curve_shares, read_curve
from tests.trees.cases import config_for, features_with_ties, samples_of
from tests.trees.growing import check, grow

N_SAMPLES, N_LABELS = 110, 4
PAIRS = list(itertools.combinations(range(N_LABELS), 2))


def table(seed, missing_labels=0.0, missing_features=0.0):
    """Rankings that follow two of five features, roughly."""
    rng = np.random.default_rng(seed)
    x = features_with_ties(rng, N_SAMPLES, 5, missing_features)
    known = np.nan_to_num(x)
    utility = np.stack([known[:, 1], -known[:, 1], known[:, 2], known[:, 0] - 1.5], axis=1)
    y = np.argsort(np.argsort(utility + rng.standard_normal(utility.shape) / 2)) + 1.0
    gone = rng.random(y.shape) < missing_labels
    gone[gone.sum(1) > N_LABELS - 2] = False
    y[gone] = np.nan
    rank = np.argsort(np.argsort(np.where(gone, np.inf, y), axis=1), axis=1) + 1.0
    return x, np.where(gone, np.nan, rank).astype(np.float32)


def sign(row, a, b):
    if np.isnan(row[a]) or np.isnan(row[b]):
        return 0
    return 1 if row[a] < row[b] else -1


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


def forest_config(criterion):
    return ForestConfig(
        n_labels=N_LABELS,
        n_trees=2,
        criterion=criterion,
        purity="ranking",
        splitter="best",
        max_depth=4,
        n_candidates=3,
        min_samples_split=2,
        min_samples_leaf=1,
        bootstrap=True,
        aggregation="two-step",
        max_thresholds=15,
    )


def grown(criterion, x, y, **changes):
    stat, made = growth_statistic(y, forest_config(criterion), len(y), False)
    samples, thresholds = samples_of(x, stat)
    return samples, thresholds, config_for(x, thresholds, made, **changes)


class RankingOracle:
    """What all criteria here share: purity, and how the least leaf size counts."""

    def __init__(self, y, counts):
        self.y, self.counts = y, counts

    def is_pure(self, rows):
        signs = np.array([[sign(self.y[i], a, b) for a, b in PAIRS] for i in rows])
        return not ((signs > 0).any(0) & (signs < 0).any(0)).any()

    def counted(self, counts):
        return lambda rows, node_rows: counts[rows].sum()

    def at(self, node_rows):
        return self.score

    def copies(self, rows):
        return [self.y[i] for i in rows for _ in range(self.counts[i])]


class DispersionOracle(RankingOracle):
    """Minus weight / (1 + theta), theta by bisection on the expected distance."""

    impurity = "dispersion"

    def score(self, rows):
        rankings = self.copies(rows)
        if not rankings:
            return 0.0
        wins = [
            sum(sign(r, a, b) for r in rankings for b in range(N_LABELS) if b != a)
            for a in range(N_LABELS)
        ]
        order = sorted(range(N_LABELS), key=lambda a: (-wins[a], a))
        known = reversed_ = 0
        for r in rankings:
            for place, a in enumerate(order):
                for b in order[place + 1 :]:
                    known += sign(r, a, b) != 0
                    reversed_ += sign(r, a, b) < 0
        if self.impurity == "theta":
            reversed_ = max(reversed_, 0.5)
        if reversed_ == 0:
            return 0.0
        distance = reversed_ / known * len(PAIRS)
        low, high = 0.0, 60.0
        for _ in range(100):
            middle = (low + high) / 2
            at_middle = expected_distance(np.array(max(middle, 1e-12)), N_LABELS)
            low, high = (middle, high) if at_middle > distance else (low, middle)
        if self.impurity == "theta":
            return len(rankings) * low
        return -len(rankings) / (1 + low)


class ThetaOracle(DispersionOracle):
    impurity = "theta"


class SimilarityOracle(RankingOracle):
    """Weight times mean tau of two different rankings, known pairs pooled."""

    def mean_tau(self, rows):
        rankings = self.copies(rows)
        products = [
            sign(r, a, b) * sign(s, a, b)
            for r, s in itertools.permutations(rankings, 2)
            for a, b in PAIRS
        ]
        both = sum(product != 0 for product in products)
        return sum(products) / both if both else 0.0

    def score(self, rows):
        return self.counts[rows].sum() * self.mean_tau(rows)

    def accepts(self, rows, left, right):
        after = (self.score(left) + self.score(right)) / self.counts[rows].sum()
        return 0.98 * (1 + after) > 1 + self.mean_tau(rows)


class EdiraOracle(RankingOracle):
    """H = sum P ln P ln kt, and the acceptance rule of Fayyad and Irani."""

    def is_pure(self, rows):
        return len(self.distinct(rows)) < 2

    def distinct(self, rows):
        found = {}
        for r in self.copies(rows):
            key = tuple(np.nan_to_num(r, nan=-1))
            found.setdefault(key, [r, 0])[1] += 1
        return list(found.values())

    def entropy(self, rows):
        rankings, distinct = self.copies(rows), self.distinct(rows)
        shannon = sum(n / len(rankings) * math.log(n / len(rankings)) for _, n in distinct)
        products = [
            sign(r, a, b) * sign(s, a, b) for r, _ in distinct for s in rankings for a, b in PAIRS
        ]
        both = sum(product != 0 for product in products)
        alike = (1 + (sum(products) / both if both else 0.0)) / 2
        return shannon * math.log(max(alike, 1e-10))

    def score(self, rows):
        return -self.counts[rows].sum() * self.entropy(rows) if len(rows) else 0.0

    def accepts(self, rows, left, right):
        n = self.counts[rows].sum()
        gain = (self.score(left) + self.score(right) - self.score(rows)) / n
        k = len(self.distinct(rows))
        parts = sum(len(self.distinct(side)) * self.entropy(side) for side in (left, right))
        delta = math.log(3**k - 2) - (k * self.entropy(rows) - parts)
        return gain > math.log(n - 1) / n + delta / n


ORACLES = {
    "dispersion": DispersionOracle,
    "theta": ThetaOracle,
    "similarity": SimilarityOracle,
    "edira": EdiraOracle,
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
        ("edira", 0.0),
        slow("edira", 0.15),  # of more missing labels, every split is refused
    ],
)
def test_splits_are_the_best_that_the_criterion_accepts(criterion, missing_labels):
    x, y = table(3, missing_labels)
    least = 2 if criterion == "similarity" else 1
    samples, thresholds, config = grown(
        criterion, x, y, min_samples_split=25, min_samples_leaf=least, max_depth=3
    )
    n_split, n_unsplit = check(
        x, samples, thresholds, config, lambda counts: ORACLES[criterion](y, counts), n_trees=2
    )
    assert n_split > (1 if criterion == "edira" else 5)
    assert n_unsplit > 0


@pytest.mark.slow
def test_missing_features_take_part_in_the_search_along_sorted_samples():
    x, y = table(4, missing_features=0.2)
    samples, thresholds, config = grown("edira", x, y, max_depth=3)
    assert isinstance(config.criterion, SimilarityEntropy)
    n_split, _ = check(x, samples, thresholds, config, lambda counts: EdiraOracle(y, counts))
    assert n_split > 1


@pytest.mark.parametrize("criterion", [slow("dispersion"), "similarity"])
def test_sums_of_16_bits_passes_and_blocks_do_not_change_a_tree(criterion):
    x, y = table(7, 0.4)
    samples, _, config = grown(criterion, x, y, max_depth=4)
    reference = grow(samples, dataclasses.replace(config, short_sums=False))
    for change in ({"short_sums": True}, {"histogram_bytes": 1}, {"search_bytes": 1}):
        other = grow(samples, dataclasses.replace(config, **change))
        chex.assert_trees_all_equal(other, reference)


def test_signs_summed_in_groups_chunks_and_16_bits_do_not_change_a_tree(monkeypatch):
    x, y = table(8)
    samples, _, config = grown("edira", x, y, max_depth=2)
    reference = grow(samples, config)
    monkeypatch.setattr(edira, "_MOST_WIDTH", 4)
    monkeypatch.setattr(edira, "_CHUNK", 16)
    other = grow(samples, dataclasses.replace(config, short_sums=True))
    assert (np.asarray(reference.gain) > 0).any()
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


@pytest.mark.parametrize("splitter", ["width", "frequency"])
def test_interval_splits_are_where_the_values_of_the_node_put_them(splitter):
    x, y = table(5)
    x = x[:, 1:2]
    samples, thresholds, config = grown(
        "dispersion", x, y, splitter=splitter, bootstrap=False, n_candidates=1, n_features=1
    )
    forest, _ = grow(samples, config, 1)
    members = {0: np.arange(N_SAMPLES)}
    n_checked = 0
    for node in range(7):
        rows = members.pop(node, np.zeros(0, int))
        threshold = forest.threshold[0, node]
        if threshold == np.inf:
            continue
        values = x[rows, 0]
        grid = thresholds[0]
        parting = grid[(grid > values.min()) & (grid <= values.max())]
        if splitter == "width":
            wanted = (parting[0] + parting[-1]) / 2
            nearest = np.abs(parting - wanted).min()
            assert abs(threshold - wanted) <= nearest * 1.001 + 1e-6
        else:
            below = np.array([(values < t).sum() for t in parting])
            off = abs((values < threshold).sum() - len(rows) / 2)
            assert off <= np.abs(below - len(rows) / 2).min() + 1e-6
        n_checked += 1
        left = values >= threshold
        members[2 * node + 1], members[2 * node + 2] = rows[left], rows[~left]
    assert n_checked > 3


def test_more_intervals_offer_more_thresholds():
    x, y = table(6)
    gains = []
    for n_cuts in (1, 7):
        samples, _, config = grown("dispersion", x, y, splitter="width", bootstrap=False)
        config = dataclasses.replace(config, n_cuts=n_cuts, max_depth=1)
        gains.append(float(grow(samples, config, 1)[1][0, 0]))
    assert gains[1] >= gains[0]
    assert gains[1] > 0


@pytest.mark.parametrize("impurity", ["inverse", "theta"])
def test_a_tabled_curve_is_read_between_its_points_to_a_thousandth(impurity):
    from lrrf_jax.rankings.mallows import fit_dispersion

    shares = np.concatenate(
        [np.random.default_rng(0).random(300) * 0.6, np.geomspace(2e-6, 1, 300), [0.5, 1.0]]
    ).astype(np.float32)
    theta = fit_dispersion(shares.astype(np.float64) * 10, 5)
    exact = 1 / (1 + theta) if impurity == "inverse" else -theta
    read = read_curve(_dispersion_curve(5, impurity), shares)
    np.testing.assert_allclose(read, exact, rtol=1e-3, atol=1e-3)
    assert float(read_curve(_dispersion_curve(5, impurity), np.float32(0.0))) == 0.0
    assert len(curve_shares()) == len(_dispersion_curve(5, impurity))
