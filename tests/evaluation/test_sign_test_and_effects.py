"""Many data sets: the Bayesian sign test, effect sizes, and the tables of all tests."""

import csv
import itertools
import re

import numpy as np
import pandas as pd
import pytest

from lrrf_jax import InputError
from lrrf_jax.evaluation import (
    ReportTable,
    ScoreTable,
    bayesian_sign_test,
    bonferroni_dunn,
    effect_sizes,
    friedman,
    holm,
    nemenyi,
    published_table,
)
from lrrf_jax.evaluation.bayesian import _largest
from lrrf_jax.evaluation.effect_sizes import size_of

A = [0.09, 0.24, 0.8, 0.58, 0.09, 0.43, 0.48, 0.16, 0.73, 0.11, 0.39, 0.52, 0.43, 0.59, 0.74]
B = [0.05, 0.24, 0.77, 0.6, 0.06, 0.41, 0.52, 0.16, 0.69, 0.08, 0.39, 0.58, 0.4, 0.56, 0.76]
TABLE = np.array([A, B]).T


# Figures of baycomp 1.0.3: `SignTest(A, B, 0.0099, prior=prior, nsamples=2_000_000)`.


@pytest.mark.parametrize(
    ("prior", "expected"),
    [
        (1, (0.8083, 0.0956, 0.0961)),
        (3, (0.6633, 0.2666, 0.0701)),
        (0.5, (0.8325, 0.0665, 0.1010)),
    ],
)
def test_the_sign_test_is_that_of_baycomp(prior, expected):
    test = bayesian_sign_test(TABLE, control=1, rope=0.0099, prior=prior)
    found = test.better[0], test.equivalent[0], test.worse[0]
    assert found == pytest.approx(expected, abs=2e-3)
    assert (test.wins[0], test.ties[0], test.losses[0]) == (8, 3, 4)
    assert np.isnan([test.better[1], test.equivalent[1], test.worse[1]]).all()


@pytest.mark.parametrize(
    "parameters", [(3, 1, 0), (0, 1, 0), (5, 0.5, 5), (40, 11, 3), (300, 280, 10), (1, 1, 1)]
)
def test_the_largest_of_a_dirichlet_vector_is_as_often_drawn(parameters):
    rng = np.random.default_rng(0)
    drawn = rng.gamma(np.array(parameters, float), size=(200_000, 3)).argmax(1)
    shares = np.bincount(drawn, minlength=3) / len(drawn)
    found = _largest(parameters)
    assert found.sum() == pytest.approx(1)
    np.testing.assert_allclose(found, shares, atol=0.004)


def test_two_outcomes_are_a_beta_distribution():
    """P(theta > 1/2) of a Beta(k, 1) is 1 - 2^-k."""
    for k in (1, 4, 9):
        assert _largest((k, 1, 0))[0] == pytest.approx(1 - 0.5**k)


def test_a_difference_of_the_rope_itself_is_a_tie_and_rounding_does_not_change_it():
    scores = np.array([[0.81, 0.80], [0.58, 0.57], [0.82, 0.80]])
    assert (scores[:, 0] - scores[:, 1])[0] > 0.01  # by rounding
    test = bayesian_sign_test(scores, control=1, rope=0.01)
    assert (test.wins[0], test.ties[0]) == (1, 2)


def test_the_sign_test_follows_the_names_and_swaps_with_the_control():
    frame = pd.DataFrame(TABLE, columns=["one", "two"])
    test = bayesian_sign_test(frame, control="two")
    other = bayesian_sign_test(TABLE, control=0)
    assert test.better["one"] == pytest.approx(other.worse[1])
    assert effect_sizes(frame, control="two").cliffs_delta["one"] == pytest.approx(
        -effect_sizes(TABLE, control=0).cliffs_delta[1]
    )


def test_effect_sizes_are_those_of_autorank():
    """`_cliffs_delta(A, B)` and `_cohen_d(A, B)` of autorank 1.3.0."""
    sizes = effect_sizes(TABLE, control=1)
    assert sizes.cliffs_delta[0] == pytest.approx(0.04444444444444443)
    assert sizes.cohens_d[0] == pytest.approx(0.029695160242356734)
    pairs = itertools.product(A, B)
    assert sizes.cliffs_delta[0] == pytest.approx(sum(np.sign(a - b) for a, b in pairs) / 225)
    assert sizes.mean_difference[0] == pytest.approx(np.mean(np.subtract(A, B)))
    assert sizes.median_difference[0] == pytest.approx(np.median(np.subtract(A, B)))
    assert np.isnan(sizes.low[1])


def test_the_interval_of_the_median_is_that_of_the_sign_test():
    """Of 15 differences, the 4th smallest to the 4th largest: 96.5 %, as in every table."""
    ahead = np.sort(np.subtract(A, B))
    sizes = effect_sizes(TABLE, control=1)
    assert (sizes.low[0], sizes.high[0]) == (ahead[3], ahead[-4])
    few = effect_sizes(TABLE[:4], control=1)
    assert (few.low[0], few.high[0]) == (-np.inf, np.inf)


def test_the_interval_of_the_median_covers_it_as_often_as_it_says():
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        sizes = effect_sizes(
            np.column_stack([rng.exponential(size=11) - np.log(2), np.zeros(11)]), control=1
        )
        covered += sizes.low[0] <= 0 <= sizes.high[0]
    assert covered / 400 > 0.94


def test_methods_without_any_spread_have_no_cohens_d_and_sizes_have_words():
    sizes = effect_sizes([[2.0, 1.0], [2.0, 1.0]], control=1)
    assert np.isnan(sizes.cohens_d[0])
    assert sizes.cliffs_delta[0] == 1
    words = [size_of(delta) for delta in (0, 0.15, -0.4, 0.5)]
    assert words == ["negligible", "small", "medium", "large"]


@pytest.mark.parametrize(
    ("call", "arguments", "fragment"),
    [
        (bayesian_sign_test, {"rope": -1}, "rope must be 0 or a positive"),
        (bayesian_sign_test, {"prior": 0}, "prior must be a positive"),
        (bayesian_sign_test, {"control": 5}, "control must be one of the methods"),
        (effect_sizes, {"alpha": 0}, "alpha must be between"),
        (effect_sizes, {"control": "x"}, "control must be one of the methods"),
    ],
)
def test_arguments_out_of_range_are_refused(call, arguments, fragment):
    with pytest.raises(InputError, match=fragment):
        call(TABLE, **{"control": 0, **arguments})


# Tables


def tables():
    table = published_table(4)
    yield table.table()
    yield friedman(table).table()
    yield nemenyi(table).table()
    for call in (bonferroni_dunn, holm, bayesian_sign_test, effect_sizes):
        yield call(table, control="LR-RF").table()


def test_every_test_has_a_table_in_three_formats_with_the_same_cells():
    for table in tables():
        rows = list(csv.reader(table.to_csv().splitlines()))
        assert {len(row) for row in rows} == {len(table.header)}
        assert len(rows) == 1 + len(table.rows)
        latex = [line for line in table.to_latex().splitlines() if line.endswith(r" \\")]
        markdown = table.to_markdown().splitlines()
        assert len(latex) == len(markdown) - 1 == len(rows)
        assert {line.count(" & ") for line in latex} == {len(table.header) - 1}


def test_tables_of_tests_hold_their_numbers():
    table = published_table(4)
    dunn, sign = bonferroni_dunn(table, control="LR-RF"), bayesian_sign_test(table, control="LR-RF")
    rows = {row[0]: row for row in dunn.table().rows}
    assert rows["LR-RF"][-1] == "control"
    at = dunn.methods.index("CC")
    assert rows["CC"][1:4] == (dunn.ranks[at], dunn.z[at], dunn.p_values[at])
    line = next(row for row in sign.table().rows if row[0] == "CC")
    assert line[1:] == (
        *(sign.wins[at], sign.ties[at], sign.losses[at]),
        *(sign.better[at], sign.equivalent[at], sign.worse[at]),
    )
    assert "LR-RF" not in {row[0] for row in sign.table().rows}
    assert nemenyi(table).table().rows[1][3] is None  # a method with itself


def test_names_mean_nothing_to_latex():
    r"""Undoing the escapes gives the name again; no command but ours is left."""
    names = [*"&%_#${}~^\\<>|", r"\input{x}", "a\n\nb", "[1mm]", "* $x_1^2$ ~ 50 % of {a} & b"]
    table = ReportTable("; ".join(names), ("name", "tau"), [(name, 0.5) for name in names])
    text = table.to_latex()
    body = [line for line in text.splitlines() if line.endswith(r" \\")][1:]
    assert len(body) == len(names)
    words = {
        "backslash": "\\",
        "asciitilde": "~",
        "asciicircum": "^",
        "less": "<",
        "greater": ">",
        "bar": "|",
    }
    for name, line in zip(names, body, strict=True):
        cell = line.removesuffix(r" & .500 \\")
        assert not re.search(r"(?<!\\)[&%#_$~^]", cell)
        assert not cell.startswith(("[", "*"))
        plain = re.sub(r"\\text(\w+)\{\}", lambda match: words[match[1]], cell)
        plain = re.sub(r"\{([\[*])\}", r"\1", plain)
        known = " ".join(name.split())
        assert re.sub(r"\\([&%_#${}])", r"\1", plain) == known or "\\" in known
    assert r"\textbackslash{}input\{x\}" in text
    assert "\n\n" not in text


def test_signs_that_pdflatex_does_not_know_are_written_for_it():
    table = ReportTable(
        "Kendall’s − τ", ("x ↑", "y"), [(-0.5, np.inf), (1.5, -np.inf), (None, 1.0)]
    )
    text = table.to_latex()
    assert r"x $\uparrow$ & y" in text
    assert r"$-$.500 & $\infty$ \\" in text
    assert r"1.500 & $-$$\infty$ \\" in text
    assert r"- & 1.000" in text


def test_names_do_not_break_a_table_of_markdown():
    table = ReportTable("t", ("a|b", "c"), [("x\n|y", 1)])
    assert table.to_markdown() == "| a\\|b | c |\n| --- | ---: |\n| x \\|y | 1 |"


def test_a_table_of_scores_is_a_table():
    table = ScoreTable(np.array([[0.5, np.nan]]), ("d",), ("a", "b")).table("Tau")
    assert table.to_csv() == "data,a,b\nd,0.5,\n"
