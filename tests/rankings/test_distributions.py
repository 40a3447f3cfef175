"""Likelihoods and samples for tables as users hold them, against sums over all rankings."""

import collections
import itertools
import math

import jax
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrrf_jax._validation import InputError
from lrrf_jax.rankings import (
    mallows_log_likelihood,
    plackett_luce_log_likelihood,
    sample_mallows,
    sample_plackett_luce,
)
from tests import oracles
from tests.rankings.test_plackett_luce import probability
from tests.strategies import complete_rankings, partial_rankings

ALL = list(itertools.permutations(range(1, 5)))
CENTRE, STRENGTH = [3, 1, 4, 2], [0.4, 0.05, 0.3, 0.25]
CALLS = {
    "mallows": lambda n, seed: sample_mallows(CENTRE, 0.5, n, seed=seed),
    "plackett_luce": lambda n, seed: sample_plackett_luce(STRENGTH, n, seed=seed),
}


def mallows_by_brute_force(centre, theta):
    """Weigh all rankings of four labels by their distance from the centre."""
    weights = [math.exp(-theta * oracles.pair_counts(centre, r)[1]) for r in ALL]
    return [weight / sum(weights) for weight in weights]


@given(complete_rankings((4,), (1,)), st.floats(0, 20))
def test_mallows_equals_brute_force_over_all_rankings_in_float64(centre, theta):
    got = mallows_log_likelihood(ALL, centre[0], theta)
    assert got.dtype == np.float64
    expected = np.log(mallows_by_brute_force(centre[0].tolist(), theta))
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13)


def test_at_infinite_dispersion_the_centre_alone_has_a_probability():
    logs = mallows_log_likelihood(ALL, CENTRE, np.inf)
    assert logs[ALL.index(tuple(CENTRE))] == 0
    assert np.isneginf(logs).sum() == 23


@given(partial_rankings((4,), (3,)), st.sampled_from([1e-280, 1.0, 1e280]))
def test_plackett_luce_equals_sums_over_all_completions_whatever_the_scale(positions, scale):
    got = plackett_luce_log_likelihood(positions, np.array(STRENGTH) * scale)
    assert got.dtype == np.float64
    for row, log in zip(positions.tolist(), got, strict=True):
        completions = list(oracles.consistent_rankings(row))
        expected = math.log(sum(probability(r, STRENGTH) for r in completions))
        assert log == pytest.approx(expected, rel=1e-10, abs=1e-12)


@given(partial_rankings((4,), (3,)))
def test_missing_labels_of_top_lists_come_last(positions):
    got = plackett_luce_log_likelihood(positions, STRENGTH, missing="last")
    for row, log in zip(positions.tolist(), got, strict=True):
        lowest = [5 if oracles.missing(p) else p for p in row]
        completions = list(oracles.consistent_rankings(lowest))
        expected = math.log(sum(probability(r, STRENGTH) for r in completions))
        assert log == pytest.approx(expected, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("name", CALLS)
def test_samples_have_the_frequencies_of_brute_force_and_follow_the_seed(name):
    drawn = CALLS[name](40_000, 3)
    assert drawn.dtype == np.int32
    counts = collections.Counter(map(tuple, drawn.tolist()))
    assert counts.keys() <= set(ALL)
    expected = (
        mallows_by_brute_force(CENTRE, 0.5)
        if name == "mallows"
        else [probability(r, STRENGTH) for r in ALL]
    )
    for ranks, p in zip(ALL, expected, strict=True):
        assert abs(counts[ranks] / 40_000 - p) < 4.5 * math.sqrt(p * (1 - p) / 40_000)
    assert CALLS[name](40_000, 3).tolist() == drawn.tolist()
    assert CALLS[name](40_000, 4).tolist() != drawn.tolist()


@pytest.mark.parametrize("name", CALLS)
def test_a_caller_who_works_in_64_bits_draws_the_same_rankings(name):
    drawn = CALLS[name](50, 2**32 - 1)
    with jax.enable_x64(True), jax.default_prng_impl("rbg"):
        assert CALLS[name](50, 2**32 - 1).tolist() == drawn.tolist()
    assert CALLS[name](0, 0).shape == (0, 4)


def test_extreme_parameters_draw_the_centre_and_the_strongest_first():
    for theta in (1e300, np.inf):
        assert (sample_mallows(CENTRE, theta, 20, seed=0) == CENTRE).all()
    assert (sample_plackett_luce([1e-280, 1e280, 1], 20, seed=0) == [3, 1, 2]).all()


def test_blocks_of_rows_give_what_the_whole_table_gives(monkeypatch):
    def both():
        return mallows_log_likelihood(ALL, CENTRE, 1.5), plackett_luce_log_likelihood(ALL, STRENGTH)

    whole = both()
    monkeypatch.setattr("lrrf_jax.rankings.pairwise.CELLS_PER_BLOCK", 5 * 4**2)  # five rows
    for one, other in zip(both(), whole, strict=True):
        assert one.tolist() == other.tolist()


@pytest.mark.parametrize("library", [pd, pl])
def test_a_data_frame_is_read_as_its_numbers(library):
    frame = library.DataFrame(dict(zip("abcd", np.array(ALL).T, strict=True)))
    assert mallows_log_likelihood(frame, CENTRE, 1).tolist() == (
        mallows_log_likelihood(ALL, CENTRE, 1).tolist()
    )


def test_the_names_of_a_series_decide():
    frame = pd.DataFrame(ALL, columns=list("abcd"))
    centre, strength = pd.Series(CENTRE, list("abcd")), pd.Series(STRENGTH, list("abcd"))
    for call, series in (
        (lambda table, values: mallows_log_likelihood(table, values, 1.0), centre),
        (plackett_luce_log_likelihood, strength),
    ):
        expected = call(ALL, series.to_numpy()).tolist()
        assert call(frame, series[::-1]).tolist() == expected
        assert call(frame, pd.Series(series.to_numpy())).tolist() == expected  # without names
        with pytest.raises(InputError, match="'e' is not known"):
            call(frame, series.rename({"d": "e"}))


@pytest.mark.parametrize(
    ("call", "fragment"),
    [
        (
            lambda: mallows_log_likelihood(
                [[1, 2, *[np.nan] * 13]], np.arange(1, 16), 1, missing="unknown"
            ),
            'leave out fewer.*missing="last"',
        ),
        (lambda: mallows_log_likelihood([[1, 3]], [1, 2], 1), "positions 1..2 once per row"),
        (lambda: mallows_log_likelihood([[1, 2]], [1, 2, 3], 1), "it has 3, and rankings have 2"),
        (lambda: mallows_log_likelihood([[1, 2]], [1, 1], 1), "centre must hold the positions"),
        (lambda: mallows_log_likelihood([[1, 2]], [1, np.nan], 1), "centre must hold the positi"),
        (lambda: mallows_log_likelihood([[1, 2]], [[1, 2]], 1), r"shape \(n_labels,\)"),
        (lambda: mallows_log_likelihood([[1, 2]], "ab", 1), "centre must be"),
        (lambda: mallows_log_likelihood([[1, 2]], [1, 2], -0.1), "dispersion must be a number of"),
        (lambda: mallows_log_likelihood([[1, 2]], [1, 2], np.nan), "it is nan"),
        (lambda: mallows_log_likelihood([[1, 2]], [1, 2], True), "it is True"),
        (lambda: plackett_luce_log_likelihood([[1, 3]], [1, 1]), "positions 1..2 once per row"),
        (lambda: plackett_luce_log_likelihood([[1, 2]], [1, 0]), "strength must hold one positive"),
        (lambda: plackett_luce_log_likelihood([[1, 2]], [1, np.nan]), "row 1 is nan"),
        (lambda: plackett_luce_log_likelihood([[1, 2]], [1]), "it has 1, and rankings have 2"),
        (lambda: plackett_luce_log_likelihood([[1, 2]], [1, 1], missing="first"), "'last'"),
        (lambda: sample_mallows([1, 2], 1, -1, seed=0), "n_samples must be a whole number"),
        (lambda: sample_mallows([1, 3], 1, 1, seed=0), "centre must hold"),
        (lambda: sample_mallows([1, 2], 1, 1, seed=2**32), "seed must be a whole number from 0"),
        (lambda: sample_plackett_luce([1, -1], 1, seed=0), "strength must hold one positive"),
        (lambda: sample_plackett_luce([], 1, seed=0), r"shape \(n_labels,\)"),
        (lambda: sample_plackett_luce([1, 1], 1.5, seed=0), "n_samples must be a whole number"),
        (lambda: sample_plackett_luce([1, 1], 1, seed=-1), "seed must be a whole number from 0"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused_by_name(call, fragment):
    with pytest.raises(InputError, match=fragment):
        call()
