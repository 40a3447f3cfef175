"""Likelihoods of rankings with ties, against sums over all orders and over all sets."""

import itertools
import math

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrrf_jax._validation import InputError
from lrrf_jax.rankings import mallows, mallows_log_likelihood, plackett_luce_log_likelihood
from lrrf_jax.rankings.permutations import places
from tests import oracles
from tests.rankings.test_distributions import mallows_by_brute_force
from tests.strategies import complete_rankings, partial_rankings

nan = math.nan
STRENGTH = [0.4, 0.05, 0.3, 0.25]
PREVALENCE = [0.5, 0.2, 2.0]
CENTRE = [3, 1, 4, 2]


def weak_orders(n_labels):
    """List all rankings of some labels with ties, as competition ranks."""
    levels = itertools.product(range(n_labels), repeat=n_labels)
    dense = [row for row in levels if set(row) == set(range(max(row) + 1))]
    return [[1 + sum(other < mine for other in row) for mine in row] for row in dense]


ALL = weak_orders(4)


def probability(row, strength, prevalence, n_left_last=0):
    """Multiply the probabilities of the sets chosen, each among all sets, in plain Python.

    Stops when no more than ``n_left_last`` labels are left.
    """
    prevalence = [1.0, *prevalence]

    def worth(labels):
        if len(labels) > len(prevalence):
            return 0.0
        mean = math.prod(strength[label] for label in labels) ** (1 / len(labels))
        return prevalence[len(labels) - 1] * mean

    left = [label for label, place in enumerate(row) if not oracles.missing(place)]
    result = 1.0
    for level in sorted({row[label] for label in left}):
        if len(left) <= n_left_last:
            break
        chosen = [label for label in left if row[label] == level]
        sets = (s for d in range(1, len(left) + 1) for s in itertools.combinations(left, d))
        result *= worth(chosen) / sum(worth(labels) for labels in sets)
        left = [label for label in left if label not in chosen]
    return result


def with_ties(positions, divisor):
    """Tie labels whose positions are close; competition ranks, which have no gaps to close."""
    before, level = places(np.ceil(positions / divisor))
    return np.where(level > 0, before + 1.0, np.nan)


# ------------------------------------------------------------------------------------- mallows
@given(complete_rankings((4,), (1,)), st.floats(0, 20))
def test_mallows_of_ties_equals_the_sum_over_all_their_orders(centre, theta):
    centre = centre[0].tolist()
    of_order = dict(
        zip(itertools.permutations(range(1, 5)), mallows_by_brute_force(centre, theta), strict=True)
    )
    got = mallows_log_likelihood(ALL, centre, theta)
    assert got.dtype == np.float64
    assert len(ALL) == 75
    for row, log in zip(ALL, got, strict=True):
        expected = math.log(sum(of_order[order] for order in oracles.consistent_rankings(row)))
        assert log == pytest.approx(expected, rel=1e-11, abs=1e-12)


def test_mallows_of_a_tie_of_all_labels_is_1_and_of_many_labels_stays_exact():
    wide = np.ones((1, 40))
    for theta in (0.0, 1e-9, 0.3, 50.0, np.inf):
        np.testing.assert_allclose(
            mallows_log_likelihood(wide, np.arange(1, 41), theta), 0, atol=1e-12
        )


def test_at_infinite_dispersion_ties_that_leave_the_centre_open_are_certain():
    logs = mallows_log_likelihood(ALL, CENTRE, np.inf)
    opens = [tuple(CENTRE) in set(oracles.consistent_rankings(row)) for row in ALL]
    assert logs.tolist() == [0.0 if is_open else -np.inf for is_open in opens]
    assert sum(opens) == 8  # a tie or none between each two that follow each other


@given(partial_rankings((4,), (3,)), st.sampled_from([1, 2]), st.floats(0, 20))
def test_mallows_of_top_lists_sums_over_all_orders_of_the_others(positions, divisor, theta):
    positions = with_ties(positions, divisor)
    got = mallows_log_likelihood(positions, CENTRE, theta, missing="last")
    of_order = dict(
        zip(itertools.permutations(range(1, 5)), mallows_by_brute_force(CENTRE, theta), strict=True)
    )
    for row, log in zip(positions.tolist(), got, strict=True):
        lowest = [5 if oracles.missing(place) else place for place in row]
        expected = math.log(sum(of_order[order] for order in oracles.consistent_rankings(lowest)))
        assert log == pytest.approx(expected, rel=1e-11, abs=1e-12)


@given(partial_rankings((4,), (5,)), st.sampled_from([1, 2]), st.floats(0, 300))
def test_mallows_of_partial_rankings_equals_the_sum_over_all_completions(positions, divisor, theta):
    positions = with_ties(positions, divisor)
    got = mallows_log_likelihood(positions, CENTRE, theta)
    logs = mallows_log_likelihood(list(itertools.permutations(range(1, 5))), CENTRE, theta)
    of_order = dict(zip(itertools.permutations(range(1, 5)), logs, strict=True))
    for row, log in zip(positions.tolist(), got, strict=True):
        each = [of_order[order] for order in oracles.consistent_rankings(row)]
        assert log == pytest.approx(np.logaddexp.reduce(each), rel=1e-11, abs=1e-12)


def test_mallows_of_a_pair_among_seven_labels_and_of_any_pair_of_ties():
    # Of labels j places apart in the centre; theta = ln 2. Mallows 1957.
    rows = np.full((6, 7), nan)
    rows[:, 0] = 1
    rows[np.arange(6), np.arange(1, 7)] = 2
    got = np.exp(mallows_log_likelihood(rows, np.arange(1, 8), np.log(2)))
    apart = np.arange(1, 7)
    ratio = 0.5
    expected = (apart + 1) / (1 - ratio ** (apart + 1)) - apart / (1 - ratio**apart)
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    # Infinite dispersion: what the centre agrees with is certain, all else impossible.
    certain = mallows_log_likelihood([[1, nan, 2, nan], [2, nan, 1, nan]], [1, 2, 3, 4], np.inf)
    assert certain.tolist() == [0, -np.inf]


def test_rankings_without_a_pair_are_certain_however_many_labels_they_leave_out():
    rows = np.full((3, 40), nan)
    rows[1, 7] = 1
    rows[2, [3, 8, 30]] = 1
    assert mallows_log_likelihood(rows, np.arange(1, 41), 0.7).tolist() == [0, 0, 0]
    rows[2, 4] = 4
    with pytest.raises(InputError, match="leave out fewer.*1 of 3 rows"):
        mallows_log_likelihood(rows, np.arange(1, 41), 0.7)


def test_blocks_of_partial_rankings_give_what_the_whole_table_gives(monkeypatch):
    rng = np.random.default_rng(0)
    rows = np.argsort(rng.random((40, 5)), axis=1) + 1.0
    rows[rows > 3] = nan
    whole = mallows_log_likelihood(rows, [2, 1, 5, 3, 4], 0.4)
    monkeypatch.setattr("lrrf_jax.rankings.mallows_partial._CELLS_AT_ONCE", 100)
    blocks = mallows_log_likelihood(rows, [2, 1, 5, 3, 4], 0.4)
    np.testing.assert_allclose(blocks, whole, rtol=1e-15)


def test_mallows_of_ties_is_the_same_in_float32_programs():
    positions = np.array(ALL, np.float32)
    got = mallows.log_likelihood(
        jnp.asarray(positions), jnp.array(CENTRE, jnp.float32), jnp.full(75, 0.7)
    )
    np.testing.assert_allclose(got, mallows_log_likelihood(ALL, CENTRE, 0.7), rtol=1e-5)


# ------------------------------------------------------------------------------- plackett-luce
@given(
    partial_rankings((4,), (3,)), st.sampled_from([1, 2, 4]), st.sampled_from([1e-280, 1, 1e280])
)
def test_plackett_luce_of_ties_equals_the_choices_among_all_sets(positions, divisor, scale):
    positions = with_ties(positions, divisor)
    got = plackett_luce_log_likelihood(
        positions, np.array(STRENGTH) * scale, tie_prevalence=PREVALENCE
    )
    assert got.dtype == np.float64
    for row, log in zip(positions.tolist(), got, strict=True):
        expected = math.log(probability(row, STRENGTH, PREVALENCE))
        assert log == pytest.approx(expected, rel=1e-10, abs=1e-12)


def test_probabilities_of_all_rankings_with_ties_add_up_to_1():
    logs = plackett_luce_log_likelihood(ALL, STRENGTH, tie_prevalence=PREVALENCE)
    assert np.exp(logs).sum() == pytest.approx(1, rel=1e-12)
    pairs = [row for row in ALL if max(row.count(place) for place in row) < 3]
    logs = plackett_luce_log_likelihood(pairs, STRENGTH, tie_prevalence=[0.7])
    assert np.exp(logs).sum() == pytest.approx(1, rel=1e-12)
    assert 24 < len(pairs) < 75


def test_a_top_list_has_the_probability_of_all_that_may_follow_and_a_tie_of_the_rest_has_less():
    top = [[2, 1, nan, nan]]
    got = np.exp(
        plackett_luce_log_likelihood(top, STRENGTH, missing="last", tie_prevalence=PREVALENCE)
    )
    follow = [row for row in ALL if row[:2] == [2, 1] and 2 not in row[2:]]
    assert len(follow) == 3
    each = np.exp(plackett_luce_log_likelihood(follow, STRENGTH, tie_prevalence=PREVALENCE))
    assert got[0] == pytest.approx(each.sum(), rel=1e-12)
    tie = follow.index([2, 1, 3, 3])
    assert each[tie] < 0.5 * got[0]
    # A tie that is in the list, before labels that are left out.
    listed = plackett_luce_log_likelihood(
        [[1, 1, nan, nan]], STRENGTH, missing="last", tie_prevalence=PREVALENCE
    )
    expected = probability([1, 1, 3, 3], STRENGTH, PREVALENCE, n_left_last=2)
    assert np.exp(listed[0]) == pytest.approx(expected, rel=1e-12)


def test_without_ties_and_prevalences_plackett_luce_is_what_it_was():
    rankings = [row for row in ALL if len(set(row)) == 4]
    plain = plackett_luce_log_likelihood(rankings, STRENGTH)
    for none in ((), [], None):
        same = plackett_luce_log_likelihood(rankings, STRENGTH, tie_prevalence=none)
        assert same.tolist() == plain.tolist()
    never = plackett_luce_log_likelihood(rankings, STRENGTH, tie_prevalence=[0, 0])
    np.testing.assert_allclose(never, plain, rtol=1e-13)
    impossible = plackett_luce_log_likelihood([[1, 1, 3, 4]], STRENGTH, tie_prevalence=[0, 1])
    assert np.isneginf(impossible).all()


def test_ties_of_two_and_of_four_without_any_of_three():
    # PlackettLuce 54 crashed.
    rankings = [[1, 1, 3, 4], [1, 1, 1, 1], [2, 1, 3, 3]]
    got = plackett_luce_log_likelihood(rankings, STRENGTH, tie_prevalence=[0.5, 0, 2])
    expected = [math.log(probability(row, STRENGTH, [0.5, 0, 2])) for row in rankings]
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_large_ties_among_many_labels_neither_overflow_nor_lose_digits():
    n_labels, largest = 400, 30
    row = np.ones((1, n_labels))
    row[0, largest:] = largest + 1 + np.arange(n_labels - largest)
    prevalence = np.full(largest - 1, 0.5)
    got = plackett_luce_log_likelihood(row, np.ones(n_labels), tie_prevalence=prevalence)
    # Of equal strengths, sets are counted.
    expected = 0.0
    for left in [n_labels, *range(n_labels - largest, 0, -1)]:
        n_sets = left + sum(math.comb(left, d) for d in range(2, largest + 1)) * 0.5
        expected += math.log((0.5 if left == n_labels else 1.0) / n_sets)
    assert got[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "fragment"),
    [
        (lambda: plackett_luce_log_likelihood([[1, 1]], [1, 1]), "no labels without tie_preval"),
        (
            lambda: plackett_luce_log_likelihood(
                [[1, 2, 3], [1, 1, 1]], [1, 1, 1], tie_prevalence=[1]
            ),
            r"no more than 2 labels.*row 1 is \[2, 2, 2\] \(1 of 2 rows",
        ),
        (
            lambda: plackett_luce_log_likelihood([[1, 2]], [1, 1], tie_prevalence=[-1]),
            "numbers from 0",
        ),
        (
            lambda: plackett_luce_log_likelihood([[1, 2]], [1, 1], tie_prevalence=[nan]),
            "row 0 is nan",
        ),
        (lambda: plackett_luce_log_likelihood([[1, 2]], [1, 1], tie_prevalence=[[1]]), "sequence"),
        (lambda: mallows_log_likelihood([[1, 2]], [1, 2], 1, missing="first"), "'last'"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused_by_name(call, fragment):
    with pytest.raises(InputError, match=fragment):
        call()
