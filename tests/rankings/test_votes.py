"""Votes of a table of rankings, against counting in plain Python."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrrf_jax._validation import InputError
from lrrf_jax.rankings import aggregation, copeland_scores, kemeny_objective
from tests import oracles
from tests.strategies import partial_rankings

ALL = np.array(list(itertools.permutations(range(1, 5))))  # (24, 4)
WEIGHT = [2, 0, 3]


def wins_by_counting(rows, weight, n_labels):
    wins = []
    for i in range(n_labels):
        duels = [
            sum(w * oracles.sign_of_pair(row, i, j) for w, row in zip(weight, rows, strict=True))
            for j in range(n_labels)
            if j != i
        ]
        wins.append(sum(1 if duel > 0 else 0.5 if duel == 0 else 0 for duel in duels))
    return wins


def kept_less_reversed(rows, weight, candidate):
    total = 0
    for w, row in zip(weight, rows, strict=True):
        kept, reversed_, _ = oracles.pair_counts(row, candidate)
        total += w * (kept - reversed_)
    return total


@given(partial_rankings((4,), (3,)), st.sampled_from([None, WEIGHT]))
def test_copeland_counts_the_majorities_that_a_label_wins(positions, weight):
    expected = wins_by_counting(positions.tolist(), weight or [1] * 3, 4)
    assert copeland_scores(positions, weight).tolist() == expected


@given(partial_rankings((4,), (3,)), st.sampled_from([None, WEIGHT]))
def test_the_objective_of_all_rankings_equals_counting_and_kemeny_has_the_largest(
    positions, weight
):
    values = kemeny_objective(positions, ALL, weight)
    weight = weight or [1] * 3
    assert values.tolist() == [
        kept_less_reversed(positions.tolist(), weight, candidate) for candidate in ALL.tolist()
    ]
    preferences = [
        sum(w * oracles.sign_of_pair(row, i, j) for w, row in zip(weight, positions, strict=True))
        for i, j in oracles.pairs(4)
    ]
    best = aggregation.kemeny(np.array(preferences, np.int32), 4)
    assert kemeny_objective(positions, [np.asarray(best)], weight)[0] == values.max()


def test_a_tie_has_no_vote():
    assert copeland_scores([[1, 1, 3]]).tolist() == [1.5, 1.5, 0]
    assert kemeny_objective([[1, 1, 3]], [[1, 2, 3], [2, 1, 3], [3, 2, 1]]).tolist() == [2, 2, -2]


def test_many_rows_are_counted_in_blocks(monkeypatch):
    positions = ALL[np.random.default_rng(0).integers(0, 24, 50)]
    weight = np.arange(50)
    whole = copeland_scores(positions, weight), kemeny_objective(positions, ALL, weight)
    monkeypatch.setattr("lrrf_jax.rankings.pairwise.CELLS_PER_BLOCK", 7 * 4**2)  # seven rows
    parts = copeland_scores(positions, weight), kemeny_objective(positions, ALL, weight)
    assert whole[0].tolist() == parts[0].tolist()
    assert whole[1].tolist() == parts[1].tolist()


def test_counts_beyond_32_bits_are_exact():
    weight = [2**40, 1]
    assert kemeny_objective([[1, 2], [2, 1]], [[1, 2]], weight).tolist() == [2**40 - 1]
    assert copeland_scores([[1, 2], [2, 1]], weight).tolist() == [1, 0]


@pytest.mark.parametrize("library", [pd, pl])
def test_labels_of_data_frames_are_paired_by_name(library):
    votes = library.DataFrame({"a": [1, 1], "b": [2, 3], "c": [3, 2]})
    candidates = library.DataFrame({"c": [3, 1], "a": [1, 2], "b": [2, 3]})
    assert kemeny_objective(votes, candidates).tolist() == [4, 0]
    with pytest.raises(InputError, match="'c' is missing"):
        kemeny_objective(votes, library.DataFrame({"a": [1], "b": [2], "d": [3]}))


@pytest.mark.parametrize(
    ("rankings", "fragment"),
    [
        ([[0.3, 0.7]], "rankings must hold positions from 1 to 2, or NaN where unknown; row 0"),
        ([[1, 2], [1, 3]], r"row 1 is \[1, 3\] .1 of 2 rows fail"),
        (np.empty((0, 3)), "one row at least"),
        ([1, 2, 3], "two dimensions"),
        ([["a>b"]], "rankings_from_strings"),
        ([[1, np.inf]], "finite numbers"),
    ],
)
def test_what_is_no_table_of_positions_is_refused(rankings, fragment):
    for call in (copeland_scores, lambda table: kemeny_objective(table, [[1, 2]])):
        with pytest.raises(InputError, match=fragment):
            call(rankings)


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (([[1, 2, 3]],), "candidates must rank the 2 labels of rankings; they have 3 columns"),
        (([[1, np.nan]],), "candidates must be complete"),
        (([[1, 1]],), r"candidates must hold the positions 1..2 once per row; row 0 is \[1, 1\]"),
        (([1, 2],), "candidates must have two dimensions"),
        (([[1, 2]], [1, 2]), r"sample_weight must have one number .* row"),
        (([[1, 2]], [-1]), "not negative"),
        (([[1, 2]], [0]), "positive number"),
    ],
)
def test_candidates_and_weights_that_do_not_fit_are_refused(arguments, fragment):
    with pytest.raises(InputError, match=fragment):
        kemeny_objective([[1, 2]], *arguments)
