"""Classes that samples share, against classes of their own and plain loops."""

import itertools
import math

import jax.numpy as jnp
import numpy as np
import pytest

from lrrf_jax import RandomForestLabelRanker
from lrrf_jax.learners.forest import targets
from lrrf_jax.rankings.ties import mean_places
from lrrf_jax.trees.forest import is_split
from lrrf_jax.trees.shared_class import SharedClassEntropy
from tests.accelerator import accelerator_forms

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(110, 3)), 1).astype(np.float32)


def tied_rankings(n_labels, n_values, missing=0.0):
    """Rankings that follow X, of few values, so that many tie."""
    scores = X @ RNG.normal(size=(3, n_labels)) + 0.5 * RNG.normal(size=(len(X), n_labels))
    levels = np.floor(n_values * scores.argsort(0).argsort(0) / len(X))
    levels[RNG.random(levels.shape) < missing] = np.nan
    return mean_places(levels)


def shares(row, stage):
    """Shares of the labels in one place, counted from 0, of a ranking with ties; plain loops."""
    found = np.zeros(len(row))
    known = [label for label in range(len(row)) if not np.isnan(row[label])]
    for label in known:
        before = sum(row[other] < row[label] for other in known)
        level = sum(row[other] == row[label] for other in known)
        if before <= stage < before + level:
            found[label] = 1 / level
    return found


def entropy(rows, stage):
    """Entropy in bits, times the number of samples that have a class."""
    total = sum((shares(row, stage) for row in rows), np.zeros(rows.shape[1]))
    whole = total.sum()
    return -sum(part * math.log2(part / whole) for part in total if part > 0)


def test_the_score_is_minus_the_entropy_of_the_shares():
    sums = RNG.integers(0, 50, (5, 4, 7)).astype(np.int32)
    found = SharedClassEntropy(n_classes=3).score(jnp.asarray(sums))
    counts = sums[:, :3].astype(float)
    whole = counts.sum(1)
    expected = (counts * np.log2(np.maximum(counts, 1))).sum(1) - whole * np.log2(whole)
    np.testing.assert_allclose(found, expected, atol=2e-3)


WEIGHT = RNG.integers(1, 4, len(X)).astype(float)


@pytest.mark.parametrize(
    ("purity", "weight"),
    [
        ("ranking", WEIGHT),
        pytest.param("ranking", None, marks=pytest.mark.slow),
        pytest.param("top-label", WEIGHT, marks=pytest.mark.slow),
    ],
)
def test_without_ties_the_forest_is_that_of_one_class_per_sample(monkeypatch, purity, weight):
    y = mean_places(X @ RNG.normal(size=(3, 4)) + RNG.normal(size=(len(X), 4)))
    settings = {"n_estimators": 3, "purity": purity, "max_depth": 6, "random_state": 0}
    one = RandomForestLabelRanker(**settings).fit(X, y, weight).forest_
    growth_statistic = targets.growth_statistic
    monkeypatch.setattr(
        "lrrf_jax.learners.forest.samples.growth_statistic",
        lambda rankings, config: growth_statistic(rankings._replace(tied=True), config),
    )
    shared = RandomForestLabelRanker(**settings).fit(X, y, weight).forest_
    assert np.asarray(is_split(one)).sum() > 20
    for a, b in zip(one, shared, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("n_labels", "missing"),
    [(5, 0.3), *(pytest.param(*more, marks=pytest.mark.slow) for more in [(3, 0.3), (5, 0.0)])],
)
def test_the_first_split_lowers_the_entropy_of_shared_top_labels_most(n_labels, missing):
    for n_values in (2, 3):
        y = tied_rankings(n_labels, n_values, missing)
        y[~(np.isfinite(y).sum(1) > 1)] = np.arange(1, n_labels + 1)
        forest = RandomForestLabelRanker(
            1, max_depth=1, max_features=None, bootstrap=False, max_bins="exact", purity="top-label"
        ).fit(X, y).forest_  # fmt: skip
        sides = {
            (feature, float(value)): X[:, feature] >= value
            for feature in range(3)
            for value in np.unique(X[:, feature])[1:]
        }
        cost = {at: entropy(y[left], 0) + entropy(y[~left], 0) for at, left in sides.items()}
        feature, threshold = int(forest.feature[0, 0]), float(forest.threshold[0, 0])
        left = X[:, feature] >= threshold
        assert 0 < left.sum() < len(X)
        assert entropy(y[left], 0) + entropy(y[~left], 0) <= min(cost.values()) + 1e-3
        assert max(cost.values()) > min(cost.values()) + 1


def test_a_node_whose_samples_share_the_top_alike_goes_on_to_the_next_place_that_differs():
    # All tie a and b at the top, so places 0 and 1 are the same; place 2 depends on the row.
    rows = np.arange(40.0)[:, None]
    y = np.where(rows < 20, [[1.5, 1.5, 3, 4]], [[1.5, 1.5, 4, 3]])
    forest = RandomForestLabelRanker(1, bootstrap=False, max_depth=2, max_bins="exact").fit(rows, y)
    assert forest.forest_.threshold[0, 0] == 19.5
    assert np.asarray(is_split(forest.forest_)).sum() == 1
    assert forest.predict([[0.0], [39.0]]).tolist() == [[1, 2, 3, 4], [1, 2, 4, 3]]


def test_shares_of_every_size_of_tie_are_whole_numbers():
    rows = [mean_places(np.array([row])) for row in itertools.product([1.0, 2, 3], repeat=4)]
    positions = np.concatenate(rows).astype(np.float32)
    rankings = targets.Rankings(positions, tied=True, total_weight=len(rows), weighted=False)
    first, end, share = np.split(targets._shared_places(rankings), 3, axis=1)
    whole = share.max()
    assert whole == 12  # shared by 1, 2, 3 or 4
    for row, *parts in zip(positions, first, end, share, strict=True):
        for stage in range(4):
            mine = np.where((parts[0] <= stage) & (stage < parts[1]), parts[2], 0)
            np.testing.assert_allclose(mine / whole, shares(row, stage))
            assert mine.sum() == whole


@pytest.mark.slow
@pytest.mark.parametrize("purity", ["ranking", "top-label"])
def test_the_large_steps_of_accelerators_grow_the_same_forest(purity):
    y = tied_rankings(4, 3, missing=0.2)
    known = np.isfinite(y).sum(1) > 1
    settings = {"n_estimators": 3, "purity": purity, "max_depth": 6, "random_state": 0}
    small = RandomForestLabelRanker(**settings).fit(X[known], y[known]).forest_
    with accelerator_forms():
        large = RandomForestLabelRanker(**settings).fit(X[known], y[known]).forest_
    assert np.asarray(is_split(small)).sum() > 20
    for a, b in zip(small, large, strict=True):
        np.testing.assert_array_equal(a, b)
