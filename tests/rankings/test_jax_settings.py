"""A caller's settings of JAX change no result of a function of rankings, and break none."""

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src import config

from lrrf_jax.rankings import (
    aggregation,
    completion,
    distances,
    kemeny_search,
    mallows,
    pairwise,
    permutations,
    plackett_luce,
    statistics,
)

nan, inf = np.nan, np.inf
RANKS = np.array(
    [[1, 2, 3, 4], [4, 3, 2, 1], [2, 1, 4, 3], [3, 1, 4, 2], [1, 4, 2, 3], [2, 3, 1, 4]]
)
PARTIAL = np.where(RANKS == 4, nan, RANKS)
PARTIAL[0] = [1, 2, 2, nan]
TABLES = PARTIAL.reshape(2, 3, 4)
PAIRS = np.array([[3, -1, 0, 2, -2, 1], [1, 1, -3, 0, 2, -1]])
MANY_PAIRS = np.arange(56).reshape(2, 28) * 5 % 7 - 3
POSITIVE = np.array([0.0, 0.1, 0.7, 2.0, inf, 0.3])
STRENGTH = RANKS / 10.0 - 0.1  # one label has none
GROUP, WEIGHT = np.array([0, 0, 1, 1, 1, 2]), np.array([1, 0.5, 2, 0.25, 1, 1])
PRIOR = np.array([0.1, 0.2, 0.3, 0.4])
KEY = np.array([0, 7], np.uint32)

# Functions of arrays, and the arrays as a caller would write them: float64 and int64 in 64 bits.
CALLS = {
    "borda": (aggregation.borda, STRENGTH),
    "copeland_scores": (aggregation.copeland_scores, PAIRS),
    "copeland": (aggregation.copeland, PAIRS),
    "kemeny_objective": (aggregation.kemeny_objective, PAIRS, RANKS[:2]),
    "kemeny": (lambda pairs: aggregation.kemeny(pairs, 8), MANY_PAIRS * 0.5),
    "kemeny_exact": (lambda pairs: kemeny_search.kemeny_exact(pairs, 4), PAIRS),
    "scores_in_order": (aggregation.scores_in_order, STRENGTH, RANKS),
    "most_probable_extension": (completion.most_probable_extension, PARTIAL, RANKS[3]),
    "n_known_pairs": (distances.n_known_pairs, PARTIAL, RANKS * 1.0),
    "kendall_distance": (distances.kendall_distance, PARTIAL, RANKS * 1.0),
    "kendall_tau": (distances.kendall_tau, PARTIAL, RANKS * 1.0),
    "tau_x": (distances.tau_x, PARTIAL, RANKS * 1.0),
    "weighted_tau": (distances.weighted_tau, PARTIAL, RANKS * 1.0),
    "spearman_distance": (distances.spearman_distance, PARTIAL, RANKS * 1.0),
    "footrule_distance": (distances.footrule_distance, PARTIAL, RANKS * 1.0),
    "spearman_rho": (distances.spearman_rho, PARTIAL, RANKS * 1.0),
    "log_normaliser": (lambda theta: mallows.log_normaliser(theta, 4), POSITIVE),
    "expected_distance": (lambda theta: mallows.expected_distance(theta, 4), POSITIVE),
    "fit_dispersion": (lambda d, n: mallows.fit_dispersion(d, 4, n), POSITIVE, GROUP + 2),
    "mallows.log_likelihood": (mallows.log_likelihood, RANKS, RANKS[::-1], POSITIVE),
    "mallows.sample": (mallows.sample, KEY, RANKS, POSITIVE),
    "mallows.fit_groups": (lambda p, g, w: mallows.fit_groups(p, g, w, 3), PARTIAL, GROUP, WEIGHT),
    "mallows.fit_tables": (mallows.fit_tables, TABLES, WEIGHT.reshape(2, 3)),
    "pair_signs": (pairwise.pair_signs, PARTIAL),
    "antisymmetric": (lambda pairs: pairwise.antisymmetric(pairs, 4), PAIRS * 0.5),
    "preference_matrix": (pairwise.preference_matrix, PAIRS),
    "rank_scores": (permutations.rank_scores, PARTIAL),
    "take_in_order": (permutations.take_in_order, STRENGTH, RANKS),
    "ordering_from_ranks": (permutations.ordering_from_ranks, RANKS),
    "n_ranked": (permutations.n_ranked, PARTIAL),
    "place_missing_last": (permutations.place_missing_last, PARTIAL),
    "places": (permutations.places, PARTIAL),
    "plackett_luce.log_likelihood": (plackett_luce.log_likelihood, PARTIAL, STRENGTH),
    "plackett_luce.sample": (plackett_luce.sample, KEY, STRENGTH),
    "plackett_luce.fit_groups": (
        lambda p, g, w, *prior: plackett_luce.fit_groups(p, g, w, 3, plackett_luce.Prior(*prior)),
        *(PARTIAL, GROUP, WEIGHT, np.array(0.5), PRIOR),
    ),
    "plackett_luce.fit_tables": (plackett_luce.fit_tables, TABLES, WEIGHT.reshape(2, 3)),
    "borda_votes": (statistics.borda_votes, PARTIAL),
}
# Their results have the type of their arguments, so that 64 bits give more digits.
OF_ANY_PRECISION = (
    *("kemeny_objective", "kendall_distance", "kendall_tau", "tau_x", "weighted_tau"),
    *("spearman_distance", "footrule_distance", "spearman_rho", "log_normaliser"),
    *("expected_distance", "fit_dispersion", "antisymmetric", "take_in_order"),
    *("place_missing_last", "mallows.log_likelihood", "plackett_luce.log_likelihood"),
)
# What a caller may set, all at once, since each costs a trace of every function.
OF_CALLER = {
    "debug_infs": True,
    "debug_nans": True,  # which are missing values here
    "default_matmul_precision": "bfloat16",
    "default_prng_impl": "rbg",
    "numpy_rank_promotion": "raise",
    "threefry_partitionable": False,
    "transfer_guard_device_to_device": "disallow",
    "transfer_guard_host_to_device": "disallow",
}


def assert_same(found, expected):
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", CALLS)
def test_no_setting_of_the_caller_changes_a_number(name):
    function, *arrays = CALLS[name]
    arrays = [jnp.asarray(array) for array in arrays]
    expected = function(*arrays)
    with contextlib.ExitStack() as stack:
        for setting, value in OF_CALLER.items():
            stack.enter_context(getattr(config, setting)(value))
        found = function(*arrays)
    assert_same(found, expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_programs_of_the_caller_may_use_64_bits_and_forbid_implicit_broadcasting(name):
    function, *arrays = CALLS[name]
    expected = jax.jit(function)(*map(jnp.asarray, arrays))
    with jax.enable_x64(True), jax.numpy_rank_promotion("raise"):
        found = jax.jit(function)(*map(jnp.asarray, arrays))
    if name not in OF_ANY_PRECISION:
        assert_same(found, expected)
    else:
        assert found.dtype.itemsize == 8 or name == "kemeny_objective"
        np.testing.assert_allclose(found, expected, 1e-5, 1e-6)
