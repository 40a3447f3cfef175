"""Bounds and symmetries of distances and scores, for any rankings."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lrrf_jax import metrics
from lrrf_jax.rankings import distances
from tests.strategies import complete_rankings, partial_rankings

ALL = {name: getattr(metrics, name) for name in metrics.OF_RANKINGS}
BOUNDS = {
    "kendall_tau": (-1, 1),
    "spearman_rho": (-1, 1),
    "tau_b": (-1, 1),
    "tau_x": (-1, 1),
    "weighted_tau": (-1, 1),
    "ndcg": (0, 1),
    "mean_reciprocal_rank": (0, 1),
    "top_k_accuracy": (0, 1),
    "hit_rate": (0, 1),
    "kendall_distance": (0, np.inf),
    "spearman_distance": (0, np.inf),
    "footrule_distance": (0, np.inf),
}
LARGEST = {  # between rankings of m labels without ties
    "kendall_distance": lambda m: m * (m - 1) / 2,
    "spearman_distance": lambda m: m * (m * m - 1) / 3,
    "footrule_distance": lambda m: m * m // 2,
}
sizes = st.sampled_from([2, 3, 5])
partial_pairs = sizes.flatmap(
    lambda m: st.tuples(partial_rankings((m,), (3,)), complete_rankings((m,), (3,)))
)
triples = sizes.flatmap(lambda m: st.tuples(*[complete_rankings((m,), (3,))] * 3)).map(
    lambda tables: [table.astype(float) for table in tables]
)


def test_every_score_has_bounds_here():
    assert set(BOUNDS) == set(ALL)


@given(partial_pairs)
def test_scores_stay_within_their_bounds(pair):
    for name, score in ALL.items():
        rows = score(*pair, per_row=True)
        rows = rows[~np.isnan(rows)]
        low, high = BOUNDS[name]
        high = LARGEST[name](pair[1].shape[1]) if name in LARGEST else high
        assert (rows >= low - 1e-12).all(), name
        assert (rows <= high + 1e-12).all(), name


@given(partial_pairs)
def test_nothing_scores_better_than_the_truth_itself(pair):
    truth, prediction = pair
    known = (~np.isnan(truth)).sum(1) > 1
    assume(known.any())
    itself = np.where(np.isnan(truth), truth.shape[1], truth)  # missing ones are not looked at
    for name, score in ALL.items():
        best = score(truth, itself, per_row=True)[known]
        other = score(truth, prediction, per_row=True)[known]
        if name.endswith("distance"):
            assert (best == 0).all(), name
            assert (other >= best).all(), name
        else:
            np.testing.assert_allclose(best, 1, rtol=1e-12, err_msg=name)
            assert (other <= best + 1e-12).all(), name


@given(triples)
def test_distances_are_metrics_on_rankings(tables):
    one, two, three = tables
    for distance in (
        distances.kendall_distance,
        distances.footrule_distance,
        lambda a, b: np.sqrt(distances.spearman_distance(a, b)),
    ):
        assert (distance(one, one) == 0).all()
        assert (distance(one, two) == distance(two, one)).all()
        assert ((distance(one, two) == 0) == (one == two).all(1)).all()
        assert (distance(one, three) <= distance(one, two) + distance(two, three) + 1e-12).all()


@given(triples)
def test_correlations_are_symmetric_and_turn_with_a_reversal(tables):
    one, two, _ = tables
    m = one.shape[1]
    for correlation in (distances.kendall_tau, distances.spearman_rho, distances.tau_x):
        value = correlation(one, two)
        np.testing.assert_allclose(correlation(two, one), value, rtol=1e-12)
        np.testing.assert_allclose(correlation(one, m + 1 - two), -value, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(distances.weighted_tau(one, two), distances.weighted_tau(two, one))


@given(triples)
def test_tau_and_rho_are_distances_brought_to_minus_1_to_1(tables):
    one, two, _ = tables
    m = one.shape[1]
    tau = 1 - 4 * distances.kendall_distance(one, two) / (m * (m - 1))
    rho = 1 - 6 * distances.spearman_distance(one, two) / (m * (m * m - 1))
    np.testing.assert_allclose(distances.kendall_tau(one, two), tau, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(distances.spearman_rho(one, two), rho, rtol=1e-12, atol=1e-12)


@given(triples, st.data())
def test_a_swap_of_neighbours_is_one_step_of_kendall_and_two_of_the_others(tables, data):
    one, two, _ = tables
    place = data.draw(st.integers(1, one.shape[1] - 1))
    swapped = np.where(two == place, place + 1, np.where(two == place + 1, place, two))
    step = distances.kendall_distance(one, swapped) - distances.kendall_distance(one, two)
    assert (np.abs(step) == 1).all()
    assert (distances.footrule_distance(two, swapped) == 2).all()
    assert (distances.spearman_distance(two, swapped) == 2).all()


@given(partial_pairs)
def test_labels_that_the_truth_leaves_out_might_as_well_not_exist(pair):
    truth, prediction = (table.astype(float) for table in pair)
    for name, score in ALL.items():
        rows = score(truth, prediction, per_row=True)
        for row in range(3):
            ranked = ~np.isnan(truth[row])
            if ranked.sum() < 2:
                assert np.isnan(rows[row])
                continue
            kept = np.argsort(np.argsort(prediction[row, ranked])) + 1
            alone = score([truth[row, ranked]], [kept], per_row=True)[0]
            np.testing.assert_allclose(alone, rows[row], rtol=1e-12, atol=1e-12, err_msg=name)


@given(partial_pairs)
def test_a_longer_list_is_right_only_if_the_shorter_one_is(pair):
    m = pair[0].shape[1]
    hits = [metrics.top_k_accuracy(*pair, k=k, per_row=True) for k in range(1, m + 1)]
    for shorter, longer in zip(hits, hits[1:], strict=False):
        assert (np.isnan(longer) | (longer <= shorter)).all()
    reciprocal = metrics.mean_reciprocal_rank(*pair, per_row=True)
    known = ~np.isnan(reciprocal)
    assert ((reciprocal == 1) == (hits[0] == 1))[known].all()


@given(partial_pairs, st.permutations(range(3)))
def test_a_mean_does_not_depend_on_the_order_of_the_rows(pair, order):
    truth, prediction = pair
    for score in ALL.values():
        rows = score(truth, prediction, per_row=True)
        np.testing.assert_array_equal(
            score(truth[order], prediction[order], per_row=True), rows[order]
        )
        if not np.isnan(rows).all():
            assert score(truth, prediction) == pytest.approx(np.nanmean(rows), abs=1e-12)
