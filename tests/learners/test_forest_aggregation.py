"""Leaves and trees put together: the ranking and the scores of a row."""

from fractions import Fraction

import jax
import numpy as np
import pytest

from lrrf_jax.learners.forest import aggregation as aggregation_of
from lrrf_jax.learners.forest.aggregation import ranks_of_sums
from lrrf_jax.learners.forest.bootstraps import bootstrap_table
from tests import oracles
from tests.learners.small_forests import SMALL, X, Y, leaves_of, quiet_fit


def plain_prediction(ranker, counts, y, rows, aggregation):
    """The paper's two steps, or its one-step and pairwise variants, as loops."""
    forest = ranker.forest_
    n_trees, n_labels = len(forest.feature), y.shape[1]
    y = y.astype(float).tolist()
    slots = np.array([[leaves_of(forest, x, t) for t in range(n_trees)] for x in X])
    out = []
    for i in rows:
        votes = np.zeros(n_labels)
        preferences = np.zeros((n_labels, n_labels))
        for t in range(n_trees):
            members = np.flatnonzero((slots[:, t] == slots[i, t]) & (counts[t] > 0))
            weight = counts[t][members]
            total = sum(
                w * np.array(oracles.expected_votes(y[k]))
                for w, k in zip(weight, members, strict=True)
            )
            if aggregation == "two-step":
                votes += n_labels + 1 - np.array(oracles.ranks_of_scores(total))
            else:
                votes += total / weight.sum()
            for a, b in oracles.pairs(n_labels):
                signs = [oracles.sign_of_pair(y[k], a, b) for k in members]
                seen = sum(w for w, s in zip(weight, signs, strict=True) if s)
                mean = sum(w * s for w, s in zip(weight, signs, strict=True)) / (seen + 0.5)
                preferences[a, b] += mean
                preferences[b, a] -= mean
        if aggregation in ("two-step", "one-step"):
            out.append(oracles.ranks_of_scores(list(votes)))
        else:
            pairs = [preferences[a, b] for a, b in oracles.pairs(n_labels)]
            out.append(oracles.kemeny(pairs, n_labels))
    return np.array(out)


@pytest.mark.parametrize("aggregation", ["two-step", "one-step", "kemeny"])
@pytest.mark.parametrize("missing_share", [0.0, 0.4])
def test_predictions_are_those_of_a_loop_over_trees_leaves_and_rows(
    aggregation, missing_share, partial
):
    y = partial if missing_share else Y
    ranker = quiet_fit(y, aggregation=aggregation)
    key = jax.random.key(0)
    used = ranker._last_fit.row
    counts = np.zeros((SMALL["n_estimators"], len(X)))
    counts[:, used] = bootstrap_table(key, len(used), 6, True).T
    rows = range(0, 150, 7)
    expected = plain_prediction(ranker, counts, y, rows, aggregation)
    found = ranker.predict(X[list(rows)])
    agree = (expected == found).all(1)
    # Fixed-point rounding may decide a tie that real numbers leave to the last bit.
    assert agree.mean() >= (1.0 if aggregation == "two-step" and not missing_share else 0.9)


@pytest.mark.parametrize("aggregation", ["two-step", "one-step", "copeland", "kemeny"])
def test_scores_agree_with_ranks_and_orders(aggregation):
    ranker = quiet_fit(Y, aggregation=aggregation)
    ranks, scores = ranker.predict(X), ranker.predict_scores(X)
    assert ranks.dtype == np.int32
    assert scores.dtype == np.float32
    assert [oracles.ranks_of_scores(list(row)) for row in scores] == ranks.tolist()
    order = ranker.predict_order(X)
    for row in range(0, 150, 10):
        assert [ranks[row, list(ranker.labels_).index(name)] for name in order[row]] == [1, 2, 3]


@pytest.mark.parametrize("n_labels", [2, 5, 32, 33])  # compared up to 32, then sorted
@pytest.mark.parametrize("aggregation", ["two-step", "one-step"])
def test_sums_as_large_as_they_may_be_are_ranked_as_a_sort_does(n_labels, aggregation):
    rng = np.random.default_rng(n_labels)
    largest = 2**31 - 1
    kinds = np.array([0, 1, 2, largest - 1, largest])
    sums = rng.choice(kinds, (40, n_labels)).astype(np.int32)
    sums[:20] = rng.integers(0, largest + 1, (20, n_labels))
    sign = -1 if aggregation == "two-step" else 1
    expected = [oracles.ranks_of_scores([sign * s for s in row]) for row in sums.tolist()]
    ranks = jax.jit(lambda sums: ranks_of_sums(sums, n_labels, aggregation))(sums)
    np.testing.assert_array_equal(ranks, expected)
    assert ranks.dtype == np.int32


@pytest.mark.parametrize("observed_apart", [False, True])
def test_leaf_values_are_the_exact_fractions_to_the_nearest_unit(observed_apart):
    rng = np.random.default_rng(observed_apart)
    counts = rng.integers(0, 300, (500, 10 if observed_apart else 1))
    signs = rng.integers(-1, 2, (500, 10)) * np.minimum(counts, rng.integers(0, 300, (500, 10)))
    weight_scale, vote_scale = 4.0, 8
    sums = np.concatenate([signs, counts], axis=1).astype(np.int32)
    found = aggregation_of.mean_preferences(sums, 10, weight_scale)
    for row, total, count in zip(found, signs, np.broadcast_to(counts, (500, 10)), strict=True):
        for value, sign, seen in zip(row, total, count, strict=True):
            exact = Fraction(int(sign)) / (int(seen) + Fraction(1, 2) * int(weight_scale))
            assert abs(value - exact * aggregation_of.PAIR_UNIT) <= Fraction(501, 1000)
    votes = rng.integers(0, 9_000, (500, 6))
    sums = np.concatenate([votes, counts[:, :1]], axis=1).astype(np.int32)
    found = aggregation_of.mean_votes(sums, vote_scale)
    for row, total, (weight,) in zip(found, votes, counts[:, :1], strict=True):
        for value, vote in zip(row, total, strict=True):
            exact = Fraction(int(vote) * aggregation_of.VOTE_UNIT, vote_scale * max(1, int(weight)))
            assert abs(value - exact) <= Fraction(1, 2) + exact / 2**22


def test_leaves_rank_equal_sums_by_index():
    found = aggregation_of.borda_ranks(np.int32([[3, 5, 3, 5], [0, 0, 0, 0], [1, 2, 3, 4]]))
    assert found.tolist() == [[3, 1, 4, 2], [1, 2, 3, 4], [4, 3, 2, 1]]
    assert found.dtype == np.int32
