"""What a page tells of differences, and the files of its tables."""

import csv
import re

import numpy as np
import pytest
import scipy.stats

from lrrf_jax.evaluation import bayesian_sign_test, bayesian_t_test, effect_sizes, summarize
from lrrf_jax.reports import comparison_page, comparison_tables
from tests.reports.pages import checked
from tests.reports.test_comparison_page import CREATED, NASTY, TAUS, results

pytest.importorskip("matplotlib").use("agg")


def plain(text):
    return float(text.replace("−", "-").replace("< 0.001", "0"))


def test_differences_on_a_data_set_are_those_by_hand():
    page = checked(comparison_page(results(), created=CREATED, control="b", rope=0.05))
    header, *rows = page.table("Difference of mean tau to b")
    assert header[:7] == ["Data set", "Learner", "Difference", "From", "To", "p", "p, Holm"]
    assert [row[:2] for row in rows] == [[f"d{i}", k] for i in range(4) for k in "ac"]
    for i, j, row in zip(np.repeat(range(4), 2), [0, 2] * 4, rows, strict=True):
        ahead = (TAUS[i, j] - TAUS[i, 1]).ravel()
        error = np.sqrt(ahead.var(ddof=1) * (1 / 6 + 1 / 2))  # two times, three folds
        low, high = scipy.stats.t.interval(0.95, 5, ahead.mean(), error)
        p = 2 * scipy.stats.t.sf(abs(ahead.mean() / error), 5)
        found = list(map(plain, row[2:6]))
        assert found == pytest.approx([ahead.mean(), low, high, p], abs=6e-4)
        posterior = bayesian_t_test(TAUS[i, j], TAUS[i, 1], rope=0.05)
        expected = [posterior.better, posterior.equivalent, posterior.worse]
        assert list(map(plain, row[7:])) == pytest.approx(expected, abs=6e-4)
    assert any("Nadeau and Bengio" in text for text in page.texts)


def test_two_learners_have_one_p_and_one_alone_has_none():
    page = checked(comparison_page(results(learners=("a", "b")), created=CREATED))
    assert "p, Holm" not in page.table("Difference of mean tau to a")[0]
    page = checked(comparison_page(results(learners=("a",)), created=CREATED))
    assert "Differences need two learners; there is one." in page.texts


def test_a_data_set_without_a_difference_says_why_and_the_others_have_theirs():
    found = [r for r in results() if (r.data, r.learner) != ("d1", "a")]
    page = checked(comparison_page(found, created=CREATED))
    assert any("No difference is told on d1: runs must hold two" in text for text in page.texts)
    assert {row[0] for row in page.table("Difference of mean tau")[1:]} == {"d0", "d2", "d3"}


def test_the_sign_test_and_effect_sizes_are_those_of_the_mean_scores():
    page = checked(comparison_page(results(), created=CREATED, control="b", rope=0.05))
    scores = summarize(results()).scores(0.0)
    test = bayesian_sign_test(scores, control="b", rope=0.05)
    [a, c] = page.table("Bayesian sign test")[1:]
    assert a[:4] == ["a", *(str(counts[0]) for counts in (test.wins, test.ties, test.losses))]
    assert plain(c[4]) == pytest.approx(test.better[2], abs=6e-4)
    sizes = effect_sizes(scores, control="b")
    [line, _] = page.table("How far learners are from b")[1:]
    assert plain(line[2]) == pytest.approx(sizes.median_difference[0], abs=6e-5)
    assert (line[3], line[4]) == ("−∞", "∞")  # four data sets are too few for 95 %
    assert plain(line[5]) == pytest.approx(sizes.cliffs_delta[0], abs=6e-5)


# Files


def test_every_table_can_be_saved_with_its_numbers_in_full():
    page = checked(comparison_page(results(), created=CREATED))
    names = [a["download"] for a in page.all("a") if "download" in a]
    assert len(names) == len(set(names)) == 2 * len(page.tables)
    header, *rows = csv.reader(page.file("tau.csv").splitlines())
    assert header == ["Data set", "a", "a std", "b", "b std", "c", "c std"]
    flat = TAUS.reshape(4, 3, 6)
    for i in range(4):
        pairs = zip(flat[i].mean(1), flat[i].std(1, ddof=1), strict=True)
        assert list(map(float, rows[i][1:])) == [x for pair in pairs for x in pair]
    assert rows[4][0] == "Mean"
    assert rows[4][2] == ""  # without a deviation
    assert r"\begin{tabular}{lrrrrrr}" in page.file("tau.tex")
    folds = list(csv.reader(page.file("fold-2.csv").splitlines()))
    assert folds[4] == ["2", "1", *map(str, TAUS[2, :, 1, 0])]


def test_the_tables_of_a_comparison_are_those_of_its_page():
    page = checked(comparison_page(results(), control="c", created=CREATED))
    tables = comparison_tables(results(), control="c")
    assert {"tau", "difference", "test-sign", "test-effects", "test-nemenyi"} < set(tables)
    for name, table in tables.items():
        assert page.file(f"{name}.csv") == table.to_csv()
        assert page.file(f"{name}.tex") == table.to_latex()
    small = [row for row in tables["difference"].rows if row[5] < 1e-3]
    assert not small or small[0][5] > 0  # not the "< 0.001" of the page


def test_shares_of_missing_labels_have_files_of_their_own():
    found = results() + results(missing=0.3, taus=TAUS / 2)
    tables = comparison_tables(found)
    assert {"tau-0", "tau-1", "difference-0", "difference-1", "fold-1-3"} < set(tables)
    assert tables["tau-1"].rows[0][1] == pytest.approx(tables["tau-0"].rows[0][1] / 2)


def test_names_of_learners_do_no_harm_in_files():
    names = [f"{name}!" for name in (*NASTY[:2], r"\input{x} & ~ ^")]
    page = checked(comparison_page(results(NASTY, names, taus=TAUS[:3])))
    header = next(csv.reader(page.file("tau.csv").splitlines()))
    assert header[1::2] == names
    body = page.file("tau.tex")
    assert r"\textbackslash{}input\{x\} \& \textasciitilde{} \textasciicircum{}!" in body
    assert not re.search(r"(?<!\\)[&#_%](?! )", body.replace(" & ", ""))
