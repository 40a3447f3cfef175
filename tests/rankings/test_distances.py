import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lrrf_jax.rankings import distances
from tests import oracles
from tests.strategies import complete_rankings, partial_rankings

nan = np.nan
ALL = (
    distances.kendall_distance,
    distances.kendall_tau,
    distances.spearman_distance,
    distances.spearman_rho,
    distances.footrule_distance,
    distances.tau_x,
    distances.tau_b,
    distances.weighted_tau,
)


def in_both_libraries(score, truth, prediction):
    """Return the NumPy value, after a check that jitted JAX gives the same in float32."""
    exact = score(np.asarray(truth, float), np.asarray(prediction, float))
    fast = jax.jit(score)(jnp.asarray(truth, jnp.float32), jnp.asarray(prediction, jnp.float32))
    assert isinstance(fast, jax.Array)
    np.testing.assert_allclose(fast, exact, rtol=2e-6, atol=1e-6)
    return exact


def all_pairs_of_permutations(n_labels):
    rows = list(itertools.product(itertools.permutations(range(1, n_labels + 1)), repeat=2))
    return np.array([a for a, _ in rows], float), np.array([b for _, b in rows], float)


@pytest.mark.parametrize("n_labels", [2, 3, 4])
@pytest.mark.parametrize(
    ("score", "reference"),
    [
        (distances.kendall_tau, lambda a, b: stats.kendalltau(a, b).statistic),
        (distances.spearman_rho, lambda a, b: stats.spearmanr(a, b).statistic),
        (distances.weighted_tau, lambda a, b: stats.weightedtau(-a, -b).statistic),
    ],
)
def test_scipy_agrees_on_every_pair_of_permutations(score, reference, n_labels):
    truth, prediction = all_pairs_of_permutations(n_labels)
    expected = [reference(a, b) for a, b in zip(truth, prediction, strict=True)]
    found = in_both_libraries(score, truth, prediction)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_scipy_agrees_on_sixteen_labels():
    rng = np.random.default_rng(0)
    truth, prediction = (np.array([1.0 + rng.permutation(16) for _ in range(20)]) for _ in range(2))
    for score, reference in (
        (distances.kendall_tau, lambda a, b: stats.kendalltau(a, b).statistic),
        (distances.spearman_rho, lambda a, b: stats.spearmanr(a, b).statistic),
        (distances.weighted_tau, lambda a, b: stats.weightedtau(-a, -b).statistic),
    ):
        expected = [reference(a, b) for a, b in zip(truth, prediction, strict=True)]
        found = in_both_libraries(score, truth, prediction)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_labels", [2, 3, 4, 5])
def test_the_footrule_lies_between_the_kendall_distance_and_its_double(n_labels):
    # Diaconis and Graham 1977; the paper states it of another distance, for which it is false.
    truth, prediction = all_pairs_of_permutations(n_labels)
    kendall = distances.kendall_distance(truth, prediction)
    footrule = distances.footrule_distance(truth, prediction)
    assert (kendall <= footrule).all()
    assert (footrule <= 2 * kendall).all()
    if n_labels == 3:
        squared = distances.spearman_distance(truth[:6], prediction[:6])
        assert (squared > 2 * kendall[:6]).sum() == 3


def with_ties(rankings, divisor):
    return np.ceil(np.asarray(rankings) / divisor)


@given(
    st.sampled_from([2, 3, 5]).flatmap(
        lambda m: st.tuples(partial_rankings((m,), (3,)), partial_rankings((m,), (3,)))
    ),
    st.sampled_from([1, 2]),
    st.sampled_from([1, 2]),
)
def test_every_distance_equals_a_plain_loop_with_ties_and_labels_missing_on_both_sides(
    tables, true_divisor, predicted_divisor
):
    truth, prediction = with_ties(tables[0], true_divisor), with_ties(tables[1], predicted_divisor)
    found = {score.__name__: in_both_libraries(score, truth, prediction) for score in ALL}
    known_pairs = distances.n_known_pairs(truth, prediction)
    for row, (a, b) in enumerate(zip(truth.tolist(), prediction.tolist(), strict=True)):
        concordant, discordant, known = oracles.pair_counts(a, b)
        labels = oracles.common_labels(a, b)
        p, q = oracles.mean_places(a, labels), oracles.mean_places(b, labels)
        expected = {
            "kendall_distance": discordant,
            "kendall_tau": (concordant - discordant) / known if known else nan,
            "spearman_distance": sum((p[j] - q[j]) ** 2 for j in labels),
            "footrule_distance": sum(abs(p[j] - q[j]) for j in labels),
            "tau_x": oracles.tau_x(a, b),
            "tau_b": nan,
        }
        if len(labels) > 1:
            pairs = [a[j] for j in labels], [b[j] for j in labels]
            expected["tau_b"] = stats.kendalltau(*pairs, variant="b").statistic
        assert known_pairs[row] == known
        for name, value in expected.items():
            np.testing.assert_allclose(
                found[name][row], value, rtol=1e-12, atol=1e-12, err_msg=name
            )
        constant = len(set(p.values())) < 2 or len(set(q.values())) < 2
        rho = nan
        if not constant:
            rho = stats.spearmanr([a[j] for j in labels], [b[j] for j in labels]).statistic
        np.testing.assert_allclose(found["spearman_rho"][row], rho, rtol=1e-12, atol=1e-12)
        if true_divisor == predicted_divisor == 1 and len(labels) > 1:
            weighted = stats.weightedtau([-a[j] for j in labels], [-b[j] for j in labels]).statistic
            np.testing.assert_allclose(found["weighted_tau"][row], weighted, rtol=1e-12, atol=1e-12)


def test_ties_in_the_truth_are_unknown_ties_in_the_prediction_count_zero():
    # scipy 12951: tau-b would be 0.91287, pairs over total 0.83333; this is (C - D) / (C + D).
    tied, strict = np.array([[1.0, 2, 2, 3]]), np.array([[1.0, 2, 3, 4]])
    assert distances.kendall_tau(tied, strict).tolist() == [1]
    assert distances.kendall_tau(strict, tied).tolist() == [5 / 6]
    assert distances.kendall_tau(strict, np.ones((1, 4))).tolist() == [0]
    np.testing.assert_allclose(distances.tau_b(tied, strict), 0.91287, atol=1e-5)


def test_rows_without_a_known_pair_are_undefined_not_zero():
    truth = np.array([[1.0, 1, 1], [nan, 1, nan], [nan, nan, nan]])
    prediction = np.array([[1.0, 2, 3]] * 3)
    undefined = (distances.kendall_tau, distances.tau_b, distances.spearman_rho)
    for score in (*undefined, distances.weighted_tau):
        assert np.isnan(in_both_libraries(score, truth, prediction)).all()
    assert distances.n_known_pairs(truth, prediction).tolist() == [0, 0, 0]


def test_tau_of_rankings_is_not_tau_of_orderings():
    truth, prediction = all_pairs_of_permutations(3)
    orderings = [np.argsort(rows, axis=1) + 1.0 for rows in (truth, prediction)]
    differ = distances.kendall_tau(truth, prediction) != distances.kendall_tau(*orderings)
    assert round(100 * differ.mean()) == 22  # the share that the field's notes give


@given(
    st.sampled_from([3, 5]).flatmap(
        lambda m: st.tuples(
            partial_rankings((m,), (3,)),
            complete_rankings((m,), (3,)),
            st.permutations(range(m)),
        )
    )
)
def test_renaming_labels_changes_no_distance(case):
    truth, prediction, renamed = case
    prediction = prediction.astype(float)
    for score in ALL:
        np.testing.assert_allclose(
            score(truth, prediction),
            score(truth[:, renamed], prediction[:, renamed]),
            rtol=1e-12,
            atol=1e-12,  # sums of weights cancel in another order
            err_msg=score.__name__,
        )
