import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from lrrf_jax._validation import InputError
from lrrf_jax.rankings import (
    densify,
    orderings_from_rankings,
    rankings_from_orderings,
    rankings_from_scores,
    rankings_from_strings,
)
from tests import oracles
from tests.strategies import partial_rankings, score_tables, tied_rankings

nan = np.nan


def same(found, expected):
    found = found.to_numpy() if isinstance(found, pd.DataFrame) else found
    expected = np.asarray(expected, float)
    np.testing.assert_array_equal(found, expected)
    strict = (np.sort(expected) == np.arange(1, expected.shape[1] + 1)).all()
    assert found.dtype == (np.int32 if strict else np.float64)
    return True


@given(score_tables())
def test_scores_rank_by_value_and_by_label_index_where_asked_to(scores):
    expected = [oracles.ranks_of_scores(row) for row in scores.tolist()]
    assert same(rankings_from_scores(scores, ties="index"), expected)


@given(score_tables())
def test_equal_scores_share_the_mean_of_their_places(scores):
    assert same(rankings_from_scores(scores), rankdata(-scores, axis=1))


def buckets_in_a_loop(row, tolerance):
    """Ties from the best label on: numbers of the labels of each, best first."""
    left = sorted((j for j, score in enumerate(row) if score == score), key=lambda j: -row[j])
    buckets = []
    while left:
        best = row[left[0]]
        buckets.append([j for j in left if row[j] == best or best - row[j] <= tolerance])
        left = [j for j in left if j not in buckets[-1]]
    return buckets


@given(score_tables(), st.sampled_from([0, 0.5, 1, 2.5, 40]), st.randoms(use_true_random=False))
def test_scores_within_the_tolerance_of_the_best_of_a_tie_are_in_it(scores, tolerance, random):
    scores = scores.astype(float)
    scores[np.array([[random.random() < 0.1 for _ in row] for row in scores])] = nan
    expected = np.full(scores.shape, nan)
    by_index = expected.copy()
    drawn = rankings_from_scores(scores, tolerance=tolerance, ties="random")
    for i, row in enumerate(scores.tolist()):
        place = 1
        for bucket in buckets_in_a_loop(row, tolerance):
            expected[i, bucket] = place + (len(bucket) - 1) / 2
            by_index[i, sorted(bucket)] = place + np.arange(len(bucket))
            assert sorted(drawn[i, bucket]) == sorted(by_index[i, bucket])
            place += len(bucket)
    assert same(rankings_from_scores(scores, tolerance=tolerance), expected)
    assert same(rankings_from_scores(scores, tolerance=tolerance, ties="index"), by_index)


def test_ties_are_drawn_evenly_and_by_the_seed():
    scores = np.zeros((6000, 3))
    drawn = rankings_from_scores(scores, ties="random", seed=3)
    orders, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(orders) == 6
    assert np.abs(counts - 1000).max() < 150  # five standard deviations
    assert same(rankings_from_scores(scores, ties="random", seed=3), drawn)
    assert same(rankings_from_scores(scores[:9], ties="random", seed=3), drawn[:9])
    assert not np.array_equal(rankings_from_scores(scores, ties="random"), drawn)


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


@given(partial_rankings() | tied_rankings())
def test_every_notation_reads_back_and_densify_changes_nothing_that_is_dense(rankings):
    orderings = orderings_from_rankings(rankings)
    assert same(rankings_from_orderings(orderings, rankings.shape[1]), rankings)
    names = [f"label {j}" for j in range(rankings.shape[1])]
    named = orderings_from_rankings(rankings, labels=names)
    assert same(rankings_from_orderings(named, labels=names), rankings)
    for tie in ("{} = {}", "{} ~ {}"):
        places = [[tied(cell, tie) for cell in row] for row in named]
        from_texts, labels = rankings_from_strings([" > ".join(p) or "?" for p in places], names)
        assert same(from_texts, rankings)
        assert labels == names
    places = [["{" + tied(cell, "{}, {}") + "}" for cell in row] for row in named]
    assert same(rankings_from_strings([">".join(p) or "?" for p in places], names)[0], rankings)
    lists = [[list(cell) if isinstance(cell, tuple) else cell for cell in row] for row in named]
    sets = [[set(cell) if isinstance(cell, tuple) else cell for cell in row] for row in named]
    assert same(rankings_from_orderings(lists, labels=names), rankings)
    assert same(rankings_from_orderings(sets, labels=names), rankings)
    assert same(densify(rankings), rankings)
    assert same(densify(densify(3 * rankings - 7)), rankings)


def tied(cell, form):
    """Join the labels of a place; ``form`` is how two are joined."""
    names = list(cell) if isinstance(cell, tuple) else [cell]
    return form[2:-2].join(names)


@given(tied_rankings())
def test_competition_dense_and_average_ranks_are_one_ranking(rankings):
    for method in ("min", "max", "dense", "average"):
        ranks = rankdata(rankings, method, axis=1, nan_policy="omit")
        assert same(densify(ranks), rankings)


def test_a_tuple_that_is_a_label_is_no_tie():
    labels = [("a", 1), "b", ("c", 2)]
    rows = [["b", ("a", 1), ("c", 2)], [(("a", 1), "b")], [[("a", 1), ("c", 2)], "b"]]
    expected = [[2, 1, 3], [1.5, 1.5, nan], [1.5, 3, 1.5]]
    assert same(rankings_from_orderings(rows, labels=labels), expected)
    assert rankings_from_orderings([[(0, 2), 1, -1]]).tolist()[0][:3] == [1.5, 3, 1.5]


def test_signs_of_the_given_labels_say_no_ties():
    found, _ = rankings_from_strings(
        ["a=b>c~d", "c>{d}>a=b", "c~{d}>a=b"], ["a=b", "c", "d", "{d}"]
    )
    assert same(found, [[1, 2.5, 2.5, nan], [3, 1, nan, 2], [3, 1.5, nan, 1.5]])
    found, _ = rankings_from_strings(["x, y=z>a", "a>x, y"], labels=["a", "x, y", "z"])
    assert same(found, [[3, 1.5, 1.5], [1, 2, nan]])
    found, labels = rankings_from_strings(["x, y>a", "a=x, y"])
    assert labels == ["a", "x, y"]
    assert same(found, [[2, 1], [1.5, 1.5]])


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
        (lambda: rankings_from_scores([[1, 2]], ties="first"), ["ties must be one of", "'first'"]),
        (lambda: rankings_from_scores([[1, 2]], tolerance=-1), ["tolerance must", "-1"]),
        (lambda: rankings_from_scores([[1, 2]], tolerance=nan), ["tolerance must", "nan"]),
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
        (lambda: rankings_from_orderings([[(0, 1), 1]]), ["once", "['b', ('a', 'c')]"]),
        (lambda: rankings_from_orderings([[0, ()]]), ["on every place", "Leave an empty place"]),
        (lambda: rankings_from_orderings([[0, (1, None)]]), ["padding", "row 0"]),
        (lambda: rankings_from_orderings([[(0, (1, 2))]]), ["whole numbers"]),
        (lambda: rankings_from_orderings([[("a", ["b"])]], labels="ab"), ["labels a, b"]),
        (lambda: rankings_from_strings(["a>b", "a>>b"]), ["row 1 is 'a>>b' (1 of 2 rows fail)"]),
        (lambda: rankings_from_strings(["a>b>"]), ["before and after every '>'"]),
        (lambda: rankings_from_strings([""]), ["Write '?'"]),
        (lambda: rankings_from_strings(["a>b", None]), ["row 1 is None"]),
        (lambda: rankings_from_strings(["a>a"]), ["once", "'a>a'"]),
        (lambda: rankings_from_strings(["a>b=a"]), ["once", "'a>b=a'", "'a>b=c'"]),
        (lambda: rankings_from_strings(["a>b=", "a>b"]), ["'='", "'a>b=' (1 of 2"]),
        (lambda: rankings_from_strings(["a>{b,c"]), ["'a>{b,c'", "Give labels"]),
        (lambda: rankings_from_strings(["a>{b=c}"]), ["'a>{b=c}'", "Give labels"]),
        (lambda: rankings_from_strings(["{a,b}>c", "x, y>c"]), ["comma", "row 1 is 'x, y>c'"]),
        (lambda: rankings_from_strings(["a|b>c"]), ["'a|b>c'", "Give labels"]),
        (lambda: rankings_from_strings(["a=b>c"], ["a=", "b", "c"]), ["says no tie"]),
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
        InputError, match=r"row 0 is \[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \.\.\.\]"
    ):
        rankings_from_orderings([[0] * 40])


def test_an_empty_table_of_rankings_stays_empty():
    assert rankings_from_orderings([], 3).shape == (0, 3)
    assert densify(np.empty((0, 3))).shape == (0, 3)
