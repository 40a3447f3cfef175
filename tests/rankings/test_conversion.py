import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from lrrf_jax._validation import InputError
from lrrf_jax.rankings import (
    densify,
    orderings_from_rankings,
    rankings_from_orderings,
    rankings_from_scores,
    rankings_from_strings,
)
from tests import oracles
from tests.strategies import partial_rankings, score_tables

nan = np.nan


def same(found, expected):
    found = found.to_numpy() if isinstance(found, pd.DataFrame) else found
    expected = np.asarray(expected, float)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == (np.float64 if np.isnan(expected).any() else np.int32)
    return True


@given(score_tables())
def test_scores_rank_by_value_then_label_index(scores):
    assert same(
        rankings_from_scores(scores), [oracles.ranks_of_scores(row) for row in scores.tolist()]
    )


def test_scores_are_compared_in_double_precision():
    scores = [[1.0, 1.0 + 1e-12]]
    assert np.float32(scores[0][0]) == np.float32(scores[0][1])
    assert same(rankings_from_scores(scores), [[2, 1]])


def test_missing_scores_are_missing_labels_in_every_kind_of_table():
    expected = [[2, nan, 1], [nan, nan, nan]]
    table = pd.DataFrame([[1, None, 5], [None] * 3], columns=list("abc"), dtype="Int64")
    assert same(rankings_from_scores(table), expected)
    assert same(rankings_from_scores([[1, None, 5], [None, nan, None]]), expected)
    masked = np.ma.masked_equal([[1, 0, 5], [0, 0, 0]], 0)
    assert same(rankings_from_scores(masked), expected)


@given(partial_rankings())
def test_orderings_round_trip_and_densify_changes_nothing_that_is_dense(rankings):
    orderings = orderings_from_rankings(rankings)
    assert same(rankings_from_orderings(orderings, rankings.shape[1]), rankings)
    names = [f"label {j}" for j in range(rankings.shape[1])]
    named = orderings_from_rankings(rankings, labels=names)
    assert same(rankings_from_orderings(named, labels=names), rankings)
    texts = [" > ".join(row) if row else "?" for row in named]
    from_texts, labels = rankings_from_strings(texts, labels=names)
    assert same(from_texts, rankings)
    assert labels == names
    assert same(densify(rankings), rankings)
    assert same(densify(densify(3 * rankings - 7)), rankings)


def test_the_papers_example_reads_as_label_4_2_3_5_1():
    assert same(rankings_from_orderings([[4, 2, 3, 5, 1]], start=1), [[5, 2, 3, 1, 4]])
    assert orderings_from_rankings([[5, 2, 3, 1, 4]]) == [[3, 1, 2, 4, 0]]


@pytest.mark.parametrize(
    ("orderings", "options"),
    [
        ([[1, 3, 0]], {"n_labels": 4}),
        ([[1, 3, 0, -1]], {}),
        (np.array([[1, 3, 0, -1]]), {}),
        (np.array([[1.0, 3.0, 0.0, -1.0]]), {}),
        ([[2, 4, 1, 0]], {"start": 1}),
        (pd.DataFrame([[1, 3, 0, nan]]), {}),
        (pd.DataFrame([["b", "d", "a", nan]]), {"labels": ["a", "b", "c", "d"]}),
        ([[2, 4, 1, None]], {"start": 1}),
        ([["b", "d", "a"]], {"labels": ["a", "b", "c", "d"]}),
        ([["b", "d", "a", None]], {"labels": ["a", "b", "c", "d"]}),
        ([(20, 40, 10)], {"labels": [10, 20, 30, 40]}),
        (["bda"], {"labels": "abcd"}),
    ],
)
def test_every_form_of_an_ordering_is_read(orderings, options):
    # b > d > a, c missing.
    assert same(rankings_from_orderings(orderings, **options), [[3, 1, nan, 2]])


def test_ragged_rows_leave_labels_out():
    assert same(
        rankings_from_orderings([[2, 0, 1], [1], []]), [[2, 3, 1], [nan, 1, nan], [nan] * 3]
    )


def test_strings_name_their_labels():
    rankings, labels = rankings_from_strings(["L2>L4>L1", "?", "L4 > L1"])
    assert labels == ["L1", "L2", "L4"]
    assert same(rankings, [[3, 1, 2], [nan] * 3, [2, nan, 1]])


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (
            lambda: densify([[1, 2, 3], [1, 1, 3], [2, 2, nan]]),
            ["rankings must", "row 1 is [1, 1, 3] (2 of 3 rows fail)", "rankings_from_scores"],
        ),
        (lambda: densify([[1, np.inf]]), ["row 0 is [1, inf] (1 of 1 rows fail)", "NaN"]),
        (lambda: densify([1, 2]), ["two dimensions", "(2,)", "np.reshape"]),
        (lambda: densify([["b>d"]]), ["must hold numbers", "rankings_from_strings"]),
        (lambda: densify([[1, "x"]]), ["must hold numbers", "rankings_from_strings"]),
        (lambda: densify([[1, object()]]), ["must hold numbers", "row 0"]),
        (lambda: densify([[True, False]]), ["must hold numbers", "bool"]),
        (lambda: rankings_from_scores([[1], [1, 2]]), ["different lengths", "orderings"]),
        (
            lambda: rankings_from_orderings([[0, 1], [1, 2]]),
            ["0..1", "row 1 is [1, 2] (1 of 2 rows fail)", "n_labels", "start=1"],
        ),
        (
            lambda: rankings_from_orderings([[1, 2], [2, 3]], start=1),
            ["1..2", "row 1 is [2, 3] (1 of 2 rows fail)"],
        ),
        (
            lambda: rankings_from_orderings([[0, 1], [1, 1]]),
            ["once", "row 1 is [1, 1] (1 of 2 rows fail)"],
        ),
        (
            lambda: rankings_from_orderings([["a", "a"]], labels=["a", "b"]),
            ["once", "row 0 is [a, a]"],
        ),
        (lambda: rankings_from_orderings([[0, -1, 1]]), ["padding", "row 0 is [0, -1, 1]"]),
        (lambda: rankings_from_orderings([["a", "b"]]), ["whole numbers", "row 0 is [a, b]"]),
        (lambda: rankings_from_orderings([[0, 1.5]]), ["whole numbers", "row 0 is [0, 1.5]"]),
        (
            lambda: rankings_from_orderings([["a", "z"]], labels=["a", "b"]),
            ["labels a, b", "row 0 is [a, z]"],
        ),
        (lambda: rankings_from_orderings([["a"]], labels=["a", "a"]), ["differ"]),
        (lambda: rankings_from_orderings([["a"]], 3, labels=["a", "b"]), ["n_labels", "2"]),
        (lambda: rankings_from_orderings([[0, 1]], start=2), ["start must be 0 or 1"]),
        (lambda: orderings_from_rankings([[1, 2]], labels=["a"]), ["2 columns", "1 names"]),
        (lambda: orderings_from_rankings([[1, 1]]), ["position of its own", "[1, 1]"]),
        (lambda: rankings_from_strings(["a>b", "a>>b"]), ["row 1 is 'a>>b' (1 of 2 rows fail)"]),
        (lambda: rankings_from_strings(["a>b>"]), ["before and after every '>'"]),
        (lambda: rankings_from_strings([""]), ["Write '?'"]),
        (lambda: rankings_from_strings(["a>b", None]), ["row 1 is None"]),
        (lambda: rankings_from_strings(["a>a"]), ["once", "'a>a'"]),
        (lambda: rankings_from_strings(["a=b>c"]), ["'a=b>c'", "Break ties first"]),
        (lambda: rankings_from_strings(["a>bc"], labels=list("abc")), ["labels a, b, c", "'a>bc'"]),
    ],
)
def test_an_error_shows_the_argument_the_first_bad_row_and_the_way_out(call, parts):
    with pytest.raises(InputError) as caught:
        call()
    for part in parts:
        assert part in str(caught.value)


def test_long_rows_are_cut_in_messages():
    with pytest.raises(
        InputError, match=r"row 0 is \[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, \.\.\.\]"
    ):
        densify(np.ones((1, 40)))


def test_an_empty_table_of_rankings_stays_empty():
    assert rankings_from_orderings([], 3).shape == (0, 3)
    assert densify(np.empty((0, 3))).shape == (0, 3)
