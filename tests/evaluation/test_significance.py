"""Tests over data sets: against scipy, scikit-posthocs, and cases worked out by hand."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scikit_posthocs
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from lrrf_jax._validation import InputError
from lrrf_jax.evaluation import (
    ScoreTable,
    average_ranks,
    bonferroni_dunn,
    friedman,
    holm,
    nemenyi,
    rank_table,
)

# Ranks by hand: (1, 2.5, 2.5), (1.5, 1.5, 3), (2, 2, 2), (1, 2, 3); means 5.5/4, 8/4, 10.5/4.
TIED = np.array([[0.9, 0.8, 0.8], [0.7, 0.7, 0.6], [0.5, 0.5, 0.5], [0.9, 0.6, 0.1]])


def scores(n_datasets, n_methods, seed=0, decimals=2):
    shift = np.linspace(0, 0.8, n_methods)
    table = np.random.default_rng(seed).random((n_datasets, n_methods)) + shift
    return np.round(table, decimals)


def rank_by_counting(row):
    """One more than the methods that are better, and half of the others that are as good."""
    return [1 + sum(o > s for o in row) + (sum(o == s for o in row) - 1) / 2 for s in row]


def test_ties_share_their_mean_rank():
    assert rank_table(TIED).tolist() == [[1, 2.5, 2.5], [1.5, 1.5, 3], [2, 2, 2], [1, 2, 3]]
    assert average_ranks(TIED).tolist() == [1.375, 2.0, 2.625]


@given(st.lists(st.lists(st.integers(0, 4), min_size=5, max_size=5), min_size=2, max_size=6))
def test_ranks_are_those_of_counting(rows):
    ranks = rank_table(rows)
    np.testing.assert_array_equal(ranks, [rank_by_counting(row) for row in rows])
    assert (ranks.sum(1) == 15).all()


def test_friedman_of_ties_by_hand():
    test = friedman(TIED)
    # 12 * 4 / (3 * 4) * (.625**2 + 0 + .625**2), and 3 * chi2 / (4 * 2 - chi2).
    assert test.chi2 == pytest.approx(3.125)
    assert test.f_statistic == pytest.approx(3 * 3.125 / (8 - 3.125))
    # Squares of ranks about 2 sum to 1.5 + 1.5 + 0 + 2 of 8 without ties.
    assert test.chi2_tie_corrected == pytest.approx(3.125 / (5 / 8))
    assert (test.df, test.f_df) == (2, (2, 6))
    assert test.p_value == pytest.approx(np.exp(-3.125 / 2))  # chi-square with two degrees


@pytest.mark.parametrize(("decimals", "ties"), [(6, False), (1, True)])
def test_friedman_agrees_with_scipy(decimals, ties):
    table = scores(9, 5, seed=1, decimals=decimals)
    assert (rank_table(table) % 1 > 0).any() == ties
    test = friedman(table)
    expected = scipy.stats.friedmanchisquare(*table.T)
    assert test.chi2_tie_corrected == pytest.approx(expected.statistic)
    assert test.p_value_tie_corrected == pytest.approx(expected.pvalue)
    if ties:
        assert test.chi2 < expected.statistic
    else:
        assert test.chi2 == pytest.approx(expected.statistic)
        assert test.p_value == pytest.approx(expected.pvalue)


def test_f_is_that_of_a_two_way_analysis_of_variance_of_untied_ranks():
    """Iman and Davenport's F is the F of methods in the analysis of variance of the ranks."""
    table = scores(8, 4, seed=2, decimals=9)
    ranks = rank_table(table)
    n, k = ranks.shape
    between = n * ((ranks.mean(0) - ranks.mean()) ** 2).sum()
    residual = ((ranks - ranks.mean(0)) ** 2).sum()
    f = (between / (k - 1)) / (residual / ((k - 1) * (n - 1)))
    test = friedman(table)
    assert test.f_statistic == pytest.approx(f)
    assert test.f_p_value == pytest.approx(scipy.stats.f.sf(f, k - 1, (k - 1) * (n - 1)))
    assert scipy.stats.f.sf(test.critical_f(0.01), *test.f_df) == pytest.approx(0.01)


def test_data_sets_that_all_agree_leave_no_doubt():
    test = friedman(np.tile([3.0, 2.0, 1.0], (5, 1)))
    assert test.chi2 == pytest.approx(10)
    assert test.f_statistic == np.inf
    assert test.f_p_value == 0


def test_methods_that_tie_everywhere_do_not_differ():
    test = friedman(np.ones((5, 3)))
    assert (test.chi2, test.f_statistic, test.p_value, test.f_p_value) == (0, 0, 1, 1)
    assert test.chi2_tie_corrected == 0
    assert not nemenyi(np.ones((5, 3))).significant.any()
    assert (holm(np.ones((5, 3)), control=0).p_values[1:] == 1).all()


@pytest.mark.parametrize("decimals", [1, 6])
def test_nemenyi_agrees_with_scikit_posthocs(decimals):
    table = scores(12, 6, seed=3, decimals=decimals)
    test = nemenyi(table)
    expected = scikit_posthocs.posthoc_nemenyi_friedman(table).to_numpy()
    np.testing.assert_allclose(test.p_values, expected, atol=1e-6)
    np.testing.assert_array_equal(test.significant, expected < 0.05)
    assert test.significant.any()
    assert not test.significant.all()


# q of Demsar (2006), table 5: two-tailed Nemenyi and Bonferroni-Dunn at .05, for 2 to 10 methods.
NEMENYI = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
BONFERRONI_DUNN = [1.960, 2.241, 2.394, 2.498, 2.576, 2.638, 2.690, 2.724, 2.773]


@pytest.mark.parametrize("k", range(2, 11))
def test_critical_differences_are_those_of_demsars_table(k):
    table = scores(7, k)
    unit = (k * (k + 1) / 42) ** 0.5
    assert nemenyi(table).critical_difference / unit == pytest.approx(NEMENYI[k - 2], abs=0.002)
    dunn = bonferroni_dunn(table, control=0)
    # The 2.724 of 9 methods is a misprint for 2.734.
    printed = 2.734 if k == 9 else BONFERRONI_DUNN[k - 2]
    assert dunn.critical_difference / unit == pytest.approx(printed, abs=0.002)


def test_bonferroni_dunn_is_the_critical_difference_and_the_p_values_alike():
    table = scores(10, 6, seed=4)
    test = bonferroni_dunn(table, control=5, alpha=0.1)
    apart = np.abs(test.ranks - test.ranks[5])
    np.testing.assert_array_equal(test.significant, apart > test.critical_difference)
    np.testing.assert_array_equal(test.significant[:5], test.p_values[:5] < 0.1)
    assert 0 < test.significant.sum() < 5
    assert np.isnan(test.p_values[5])
    assert not test.significant[5]
    assert test.control == "5"


@pytest.mark.parametrize("method", ["holm", "bonferroni"])
def test_adjusted_p_values_are_those_of_statsmodels(method):
    table = scores(10, 6, seed=5)
    test = (holm if method == "holm" else bonferroni_dunn)(table, control=0)
    raw = 2 * scipy.stats.norm.sf(np.abs(test.z[1:]))
    rejected, adjusted, *_ = multipletests(raw, alpha=0.05, method=method)
    np.testing.assert_allclose(test.p_values[1:], adjusted)
    np.testing.assert_array_equal(test.significant[1:], rejected)


@given(st.integers(0, 10_000))
def test_holm_finds_all_that_bonferroni_dunn_finds(seed):
    table = scores(8, 5, seed)
    dunn, step_down = bonferroni_dunn(table, control=2), holm(table, control=2)
    assert (step_down.significant >= dunn.significant).all()
    assert step_down.critical_difference is None


@given(st.permutations(range(5)))
def test_results_follow_the_methods_when_columns_are_moved(order):
    table = scores(9, 5, seed=6, decimals=1)
    np.testing.assert_allclose(average_ranks(table[:, order]), average_ranks(table)[order])
    moved = bonferroni_dunn(table[:, order], control=order.index(1))
    np.testing.assert_allclose(moved.z, bonferroni_dunn(table, control=1).z[order], atol=1e-12)


def test_an_increasing_map_of_a_data_set_changes_nothing():
    table = scores(9, 5, seed=7)
    stretched = np.exp(3 * table) * np.arange(1, 10)[:, None]
    assert friedman(stretched).chi2 == friedman(table).chi2


def test_rounding_before_ranking_makes_ties():
    table = [[0.9123, 0.9124], [0.5, 0.6]]
    assert average_ranks(table).tolist() == [2.0, 1.0]
    assert average_ranks(table, decimals=3).tolist() == [1.75, 1.25]


def test_a_pandas_frame_gives_results_with_its_names():
    frame = pd.DataFrame(TIED, list("wxyz"), ["one", "two", "three"])
    ranks = average_ranks(frame)
    assert ranks["three"] == 2.625
    assert isinstance(ranks, pd.Series)
    assert friedman(frame).datasets == tuple("wxyz")
    test = bonferroni_dunn(frame, control="two")
    assert test.control == "two"
    assert test.significant.index.tolist() == ["one", "two", "three"]
    assert nemenyi(frame).significant.loc["one", "three"] == nemenyi(TIED).significant[0, 2]


@pytest.mark.parametrize("library", [pd, pl])
def test_a_first_column_of_text_names_the_data_sets(library):
    frame = library.DataFrame({"set": list("wxyz"), "a": TIED[:, 0], "b": TIED[:, 1]})
    test = friedman(frame)
    assert test.datasets == tuple("wxyz")
    assert test.methods == ("a", "b")
    np.testing.assert_array_equal(test.ranks, average_ranks(TIED[:, :2]))


@pytest.mark.parametrize(
    "columns",
    [[0, 1, 2], [2, 0, 1], [2019, 2020, 2021], [("a", 1), ("a", 2), ("b", 1)], [1, "x", 2.5]],
)
def test_methods_that_are_no_text_keep_their_names(columns):
    frame = pd.DataFrame(TIED)
    frame.columns = pd.MultiIndex.from_tuples(columns) if columns[0] == ("a", 1) else columns
    names = tuple(map(str, columns))
    ranks = average_ranks(frame)
    assert ranks.index.equals(frame.columns)
    assert ranks.tolist() == average_ranks(TIED).tolist()
    assert (frame.mean() - ranks).notna().all()
    assert friedman(frame).methods == names
    assert friedman(frame).chi2 == friedman(TIED).chi2
    pairs = nemenyi(frame)
    assert pairs.p_values.columns.equals(frame.columns)
    for control in (columns[1], names[1]):
        for test in (bonferroni_dunn(frame, control=control), holm(frame, control=control)):
            assert test.control == names[1]
            assert test.z[columns[1]] == 0
    plot = pytest.importorskip("lrrf_jax.plotting").plot_critical_difference
    drawn = " ".join(text.get_text() for text in plot(pairs).texts)
    assert all(name in drawn for name in names)
    pytest.importorskip("matplotlib.pyplot").close("all")


def test_objects_of_numbers_and_decimals_are_scores():
    for frame in (pd.DataFrame(TIED, dtype=object), pl.DataFrame(TIED).cast(pl.Decimal(5, 2))):
        assert list(average_ranks(frame)) == average_ranks(TIED).tolist()


def test_data_sets_without_a_result_are_dropped_when_asked():
    table = ScoreTable(
        np.vstack([TIED, [0.1, np.nan, 0.2]]), (*"wxyz", "pendigits"), ("a", "b", "LRF")
    )
    with pytest.raises(InputError, match="'b' has none on 'pendigits' .1 of 5 data sets fail"):
        friedman(table)
    for call in (friedman, nemenyi):
        assert call(table, missing="drop").datasets == tuple("wxyz")
    for call in (holm, bonferroni_dunn):
        assert call(table, control="LRF", missing="drop").datasets == tuple("wxyz")
    assert average_ranks(table, missing="drop").tolist() == [1.375, 2.0, 2.625]


@pytest.mark.parametrize(
    ("table", "fragment"),
    [
        ([1.0, 2.0], "shape is"),
        (3.0, "is a number"),
        ([["a", "b"]], "must hold numbers"),
        ([[1.0], [2.0]], "at least two of each"),
        ([[1.0, 2.0]], "two data sets at least"),
        ([[1.0, np.inf], [2.0, 3.0]], "'1' on '0' is inf"),
        ([[1.0, np.nan], [np.nan, 3.0], [1.0, 2.0]], "2 of 3 data sets fail"),
        (pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), "column 'b' of table must hold numbers"),
        (
            pl.DataFrame({"s": ["x", "y"], "a": [1, 2], "b": ["x", "y"]}),
            "column 'b' of table must hold numbers",
        ),
        (ScoreTable(TIED, tuple("wxyz"), ("a", "a", "b")), "'a' is there more than once"),
    ],
)
def test_what_is_no_table_of_scores_is_refused(table, fragment):
    with pytest.raises(InputError, match=fragment):
        friedman(table)


def test_dropping_must_leave_two_data_sets():
    with pytest.raises(InputError, match="1 of 2 has"):
        friedman([[1.0, np.nan], [2.0, 3.0]], missing="drop")


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        ({"control": "LR"}, "one of the methods '0', '1', '2'; it is 'LR'"),
        ({"control": 3}, "it is 3"),
        ({"control": 0, "alpha": 5}, "alpha must be between 0 and 1"),
        ({"control": 0, "missing": "skip"}, "'raise', 'drop'"),
        ({"control": 0, "decimals": -1}, "decimals"),
    ],
)
@pytest.mark.parametrize("call", [bonferroni_dunn, holm])
def test_arguments_out_of_range_are_refused(call, arguments, fragment):
    with pytest.raises(InputError, match=fragment):
        call(TIED, **arguments)
    assert call(TIED, control=-1).control == "2"


def test_no_pair_of_two_methods_is_more_apart_than_the_sign_of_ranks_allows():
    """Two methods: the z of the ranks is that of a sign test without continuity correction."""
    table = scores(20, 2, seed=8, decimals=9)
    wins = (table[:, 0] > table[:, 1]).sum()
    z = (wins - 10) / np.sqrt(20 / 4)
    assert abs(bonferroni_dunn(table, control=1).z[0]) == pytest.approx(abs(z))
    for first, second in itertools.permutations(range(2)):
        p = nemenyi(table).p_values[first, second]
        assert p == pytest.approx(2 * scipy.stats.norm.sf(abs(z)), abs=1e-9)
