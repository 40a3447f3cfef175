import itertools
from fractions import Fraction

import numpy as np
import pytest

from lrrf_jax._validation import InputError
from lrrf_jax.rankings.bucket_orders import (
    METHODS,
    bucket_orders,
    require_settings,
)
from lrrf_jax.rankings.optimal_buckets import MAX_LABELS
from lrrf_jax.rankings.preferences import group_preferences, table_preferences
from tests.rankings import bucket_oracles as oracles

PIVOT_METHODS = [method for method in METHODS if method != "optimal"]
FOLLOW_LABELS = ["optimal", "bpa-lia", "bpa-lia-mp", "bpa-lia-mp2"]
RNG = np.random.default_rng(3)
CYCLE = [1.0, -1.0, 1.0]  # a before b before c before a


def table(n_samples, n_labels, steps, unknown=0.0):
    """Preferences that are multiples of 1 / steps, as fractions and as float32."""
    shape = n_samples, n_labels * (n_labels - 1) // 2
    whole = RNG.integers(-steps, steps + 1, shape)
    hidden = RNG.random(shape) < unknown
    fractions = [
        [None if gone else Fraction(int(k), steps) for k, gone in zip(*row, strict=True)]
        for row in zip(whole, hidden, strict=True)
    ]
    return fractions, np.where(hidden, np.nan, whole / steps).astype(np.float32)


def levels(positions):
    return [sorted(set(row)).index(x) for row in [positions.tolist()] for x in row]


def permuted(preferences, order):
    """Preferences of the labels in another order: label order[j] becomes label j."""
    n_labels = len(order)
    pair = {p: k for k, p in enumerate(itertools.combinations(range(n_labels), 2))}
    columns = []
    for j, k in itertools.combinations(range(n_labels), 2):
        u, v = order[j], order[k]
        columns.append(preferences[:, pair[u, v]] if u < v else -preferences[:, pair[v, u]])
    return np.stack(columns, 1)


@pytest.mark.parametrize(("n_labels", "steps"), [(2, 4), (3, 4), (4, 4), (4, 7), (5, 6)])
def test_the_optimum_costs_the_least_of_all_weak_orders_and_has_the_fewest_buckets(n_labels, steps):
    fractions, preferences = table(40 if n_labels < 5 else 12, n_labels, steps)
    found = bucket_orders(preferences, method="optimal")
    for row, positions in zip(fractions, found, strict=True):
        matrix = oracles.matrix_of(row, n_labels)
        best = min((oracles.cost(o, matrix), max(o)) for o in oracles.weak_orders(n_labels))
        mine = levels(positions)
        assert (oracles.cost(mine, matrix), max(mine)) == best


def test_the_optimum_of_seven_labels_is_the_same_in_blocks_and_no_worse_than_any_pivots():
    fractions, preferences = table(300, 7, 9)
    found = bucket_orders(preferences, method="optimal")
    np.testing.assert_array_equal(found[40:45], bucket_orders(preferences[40:45], method="optimal"))
    others = [bucket_orders(preferences, method=method) for method in PIVOT_METHODS]
    worse = 0
    for i in range(30):
        matrix = oracles.matrix_of(fractions[i], 7)
        costs = [oracles.cost(levels(rows[i]), matrix) for rows in (found, *others)]
        assert costs[0] == min(costs)
        worse += costs[0] < max(costs)
    assert worse > 20


@pytest.mark.parametrize("method", PIVOT_METHODS)
@pytest.mark.parametrize(("n_labels", "steps"), [(2, 4), (3, 8), (5, 4), (6, 7), (9, 16)])
def test_pivot_algorithms_do_as_plain_loops_in_fractions(method, n_labels, steps):
    fractions, preferences = table(60, n_labels, steps)
    found = bucket_orders(preferences, method=method)
    for row, positions in zip(fractions, found, strict=True):
        buckets = oracles.pivot_order(oracles.matrix_of(row, n_labels), method)
        assert positions.tolist() == oracles.mean_places(buckets, n_labels)
    assert n_labels == 2 or len({len(set(row)) for row in found.tolist()}) > 1


@pytest.mark.parametrize("beta", [0, 0.1, 0.25, 0.3, 0.5])
def test_labels_at_the_threshold_are_tied(beta):
    edge = Fraction(str(2 * beta))
    beyond = edge + Fraction(1, 1000)
    fractions = [[edge], [-edge], [beyond], [-beyond], [Fraction(0)]]
    preferences = np.array(fractions, float).clip(-1, 1).astype(np.float32)
    for method in PIVOT_METHODS:
        found = bucket_orders(preferences, method=method, threshold=beta).tolist()
        first = [[1.5, 1.5], [1.5, 1.5], [1, 2], [2, 1], [1.5, 1.5]]
        assert found == (first if beta < 0.5 else [[1.5, 1.5]] * 5)


def test_the_methods_differ_where_they_should():
    """Example 3 of Aledo et al. 2017: the rankings 1|2|3, 1|3|2 and 2|1|3."""
    votes = np.array([[[1.0, 2, 3], [1, 3, 2], [2, 1, 3]]])
    preferences = group_preferences(votes, np.ones((1, 3)))
    np.testing.assert_allclose(preferences, [[1 / 3, 1, 1 / 3]], rtol=1e-6)
    assert bucket_orders(preferences, method="scikit-lr").tolist() == [[1.5, 1.5, 3]]
    assert bucket_orders(preferences, method="bpa").tolist() == [[1.5, 1.5, 3]]
    backwards = bucket_orders(permuted(preferences, [2, 1, 0]), method="bpa")
    assert backwards[:, ::-1].tolist() == [[1, 2.5, 2.5]]  # the pivot is the other one
    _, many = table(500, 6, 5)
    results = {method: bucket_orders(many, method=method).tobytes() for method in METHODS}
    assert len(set(results.values())) == len(METHODS)


@pytest.mark.parametrize("method", FOLLOW_LABELS)
def test_permuting_the_labels_permutes_bucket_orders(method):
    """Preferences without special values: no two labels are alike, and the optimum is unique."""
    preferences = RNG.uniform(-1, 1, (400, 10)).astype(np.float32)
    found = bucket_orders(preferences, method=method)
    for order in ([4, 3, 2, 1, 0], [2, 0, 3, 1, 4]):
        again = bucket_orders(permuted(preferences, order), method=method)
        np.testing.assert_array_equal(again, found[:, order])


def test_equal_optima_are_told_apart_by_what_the_labels_have_not_by_their_index():
    _, preferences = table(2000, 4, 2)
    found = bucket_orders(preferences, method="optimal")
    again = bucket_orders(permuted(preferences, [3, 1, 0, 2]), method="optimal")
    differ = (again != found[:, [3, 1, 0, 2]]).any(1)
    symmetric = np.array([len(set(row)) < 4 for row in total_and_indecision(preferences)])
    assert not (differ & ~symmetric).any()
    assert (~symmetric).sum() > 200


def total_and_indecision(preferences):
    pairs = list(itertools.combinations(range(4), 2))
    for row in preferences:
        keys = [[0.0, 0.0] for _ in range(4)]
        for (u, v), p in zip(pairs, row, strict=True):
            for label, mine in ((u, p), (v, -p)):
                keys[label][0] += mine
                keys[label][1] += min(abs(p), 1 - abs(p))
        yield [tuple(key) for key in keys]


@pytest.mark.parametrize("method", METHODS)
def test_strict_preferences_that_agree_give_their_ranking(method):
    rankings = RNG.permuted(np.tile(np.arange(1.0, 7), (50, 1)), axis=1)
    preferences = group_preferences(rankings[:, None], np.ones((50, 1)))
    found = bucket_orders(preferences, method=method)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, rankings)


@pytest.mark.parametrize("method", METHODS)
def test_rankings_with_ties_that_all_agree_are_their_own_bucket_order(method):
    rankings = oracles_table()
    copies = np.repeat(rankings[:, None], 3, axis=1)
    found = bucket_orders(group_preferences(copies, np.ones((len(rankings), 3))), method=method)
    np.testing.assert_array_equal(found, rankings)


def oracles_table():
    rows = []
    for order in oracles.weak_orders(4):
        buckets = [[u for u in range(4) if order[u] == k] for k in range(max(order) + 1)]
        rows.append(oracles.mean_places(buckets, 4))
    return np.array(rows)


@pytest.mark.parametrize("method", METHODS)
def test_labels_of_which_nothing_is_known_are_left_out_or_last_and_change_nothing(method):
    fractions, preferences = table(200, 4, 5)
    with_two_more = np.full((200, 15), np.nan, np.float32)
    pairs = list(itertools.combinations(range(6), 2))
    kept = [0, 2, 3, 5]  # labels 1 and 4 are unknown
    for k, (i, j) in enumerate(itertools.combinations(range(4), 2)):
        with_two_more[:, pairs.index((kept[i], kept[j]))] = preferences[:, k]
    alone = bucket_orders(preferences, method=method)
    found = bucket_orders(with_two_more, method=method)
    np.testing.assert_array_equal(found[:, kept], alone)
    assert np.isnan(found[:, [1, 4]]).all()
    last = bucket_orders(with_two_more, method=method, unknown="last")
    np.testing.assert_array_equal(last[:, kept], alone)
    assert (last[:, [1, 4]] == 5.5).all()
    nothing = np.full((2, 3), np.nan)
    assert np.isnan(bucket_orders(nothing, method=method)).all()
    assert (bucket_orders(nothing, method=method, unknown="last") == 2).all()


@pytest.mark.parametrize("method", METHODS)
def test_unknown_pairs_of_known_labels_count_as_level(method):
    fractions, preferences = table(300, 5, 4, unknown=0.3)
    assert np.isnan(preferences).any(1).mean() > 0.5
    known = ~np.isnan(bucket_orders(preferences, method=method)).any(1)
    found = bucket_orders(preferences[known], method=method)
    level = np.nan_to_num(preferences[known], nan=0.0)
    np.testing.assert_array_equal(found, bucket_orders(level, method=method))


@pytest.mark.parametrize("method", METHODS)
def test_the_smallest_tables_have_bucket_orders(method):
    assert bucket_orders(np.zeros((2, 0)), method=method).tolist() == [[1], [1]]
    assert bucket_orders(np.zeros((0, 3), np.float32), method=method).shape == (0, 3)
    assert bucket_orders(np.array([[1.0], [-0.9], [0]]), method=method).tolist() == [
        [1, 2],
        [2, 1],
        [1.5, 1.5],
    ]
    cyclic = bucket_orders(np.array([CYCLE]), method=method)
    np.testing.assert_array_equal(np.sort(cyclic).sum(), 6)


def test_rows_do_not_depend_on_each_other():
    preferences = RNG.uniform(-1, 1, (40_000, 10)).astype(np.float32)
    for method in METHODS:
        some = preferences[:3000] if method == "optimal" else preferences
        found = bucket_orders(some, method=method)
        for rows in (slice(5, 6), slice(2000, 2011), slice(len(some) - 3, None)):
            np.testing.assert_array_equal(bucket_orders(some[rows], method=method), found[rows])


def test_group_preferences_are_weighted_shares_of_the_rankings_that_rank_both():
    positions = RNG.integers(1, 4, (30, 6, 4)).astype(float)
    positions[RNG.random(positions.shape) < 0.4] = np.nan
    weight = RNG.integers(0, 3, (30, 6))
    found = group_preferences(positions, weight)
    unknown = 0
    for group, weights, row in zip(positions, weight, found, strict=True):
        for (u, v), value in zip(itertools.combinations(range(4), 2), row, strict=True):
            total = share = 0
            for ranking, w in zip(group, weights.tolist(), strict=True):
                if not np.isnan(ranking[u] + ranking[v]):
                    total += w
                    share += w * int(np.sign(ranking[v] - ranking[u]))
            unknown += total == 0
            assert np.isnan(value) if total == 0 else value == np.float32(share / total)
        np.testing.assert_array_equal(table_preferences(group, weights.astype(float)), row)
    assert unknown > 5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "pivot"}, "method must be one of 'optimal', 'bpa'"),
        ({"threshold": 0.51}, "threshold must be a number from 0 to .5; it is 0.51"),
        ({"threshold": float("nan")}, "threshold must be a number"),
        ({"threshold": True}, "threshold must be a number"),
        ({"unknown": "first"}, "unknown must be one of 'abstain', 'last'"),
        ({"method": "optimal", "n_labels": MAX_LABELS + 1}, "takes up to 12 labels"),
        ({"method": "optimal", "threshold": 0.1}, "threshold must be left out"),
    ],
)
def test_settings_that_do_not_do_are_refused(settings, message):
    good = {"method": "bpa", "threshold": 0.25, "unknown": "last", "n_labels": 3}
    require_settings(**good)
    with pytest.raises(InputError, match=message):
        require_settings(**(good | settings))
