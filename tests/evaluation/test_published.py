"""The figures of the paper, and the corrected ones beside them."""

import csv
import pathlib

import numpy as np
import pytest
import scipy.stats

from lrrf_jax._validation import InputError
from lrrf_jax.evaluation import (
    average_ranks,
    friedman,
    published_ranks,
    published_table,
    published_test,
    rank_table,
)

SHARED = pathlib.Path(__file__).parents[3] / "shared" / "data" / "paper"


def of(number, values):
    methods = published_test(number).friedman.methods
    return dict(zip(methods, np.asarray(values).tolist(), strict=True))


@pytest.mark.parametrize(
    ("number", "shape"), [(2, (16, 7)), (3, (16, 12)), (4, (16, 10)), (5, (16, 10))]
)
def test_tables_have_the_data_sets_and_methods_of_the_paper(number, shape):
    table = published_table(number)
    assert table.scores.shape == shape
    assert table.datasets[0] == "authorship"
    assert table.datasets[-1] == "wisconsin"
    assert "LR-RF" in table.methods
    assert np.isnan(table.scores).sum() == (2 if number == 3 else 0)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the tables are not beside this checkout")
def test_tables_are_those_that_were_printed():
    for path in SHARED.glob("table*.csv"):
        with open(path, newline="") as lines:
            header, *rows = csv.reader(lines)
        table = published_table(int(path.name[5]))
        assert table.methods == tuple(header[1:])
        assert table.datasets == tuple(row[0] for row in rows)
        printed = [[float(cell or "nan") for cell in row[1:]] for row in rows]
        np.testing.assert_array_equal(table.scores, printed)


@pytest.mark.parametrize(("number", "corrected"), [(2, 2.86), (3, 4.22), (4, 6.65), (5, 9.61)])
def test_f_statistics_are_corrected(number, corrected):
    test = published_test(number)
    assert test.friedman.f_statistic == pytest.approx(corrected, abs=0.005)
    with_missing = friedman(published_table(number), missing="drop")
    assert test.friedman.f_statistic == with_missing.f_statistic


@pytest.mark.parametrize("number", [2, 3, 4, 5])
def test_printed_f_follows_from_printed_ranks_rounded_half_up(number):
    ranks = published_ranks(number)
    n, k = ranks.shape
    mean = np.floor(ranks.mean(0) * 100 + 0.5) / 100
    chi2 = 12 * n / (k * (k + 1)) * ((mean**2).sum() - k * (k + 1) ** 2 / 4)
    f = (n - 1) * chi2 / (n * (k - 1) - chi2)
    assert f == pytest.approx(published_test(number).f_statistic, abs=0.0051)


@pytest.mark.parametrize(
    ("number", "degrees", "corrected"),
    [(2, (6, 90), 2.201), (3, (11, 154), 1.851), (4, (9, 135), 1.950), (5, (9, 135), 1.950)],
)
def test_critical_values_of_f_are_corrected(number, degrees, corrected):
    test = published_test(number)
    assert test.friedman.f_df == degrees
    assert test.friedman.critical_f() == pytest.approx(corrected, abs=0.0005)
    assert test.friedman.f_statistic > test.friedman.critical_f()


@pytest.mark.parametrize(("number", "critical"), [(2, 2.015), (3, 3.736), (4, 2.968), (5, 2.968)])
def test_critical_differences_are_corrected(number, critical):
    test = published_test(number)
    n, k = published_ranks(number).shape
    assert test.bonferroni_dunn.critical_difference == pytest.approx(critical, abs=0.0005)
    printed = test.quantile * (k * (k + 1) / (6 * n)) ** 0.5
    assert printed == pytest.approx(test.critical_difference, abs=0.0051)
    quantile = scipy.stats.norm.ppf(1 - 0.05 / (2 * (k - 1)))
    assert (abs(quantile - test.quantile) > 0.001) == (number == 3)


def test_printed_ranks_are_swapped_never_lost():
    for number, wrong in ((2, 0), (3, 2), (4, 4), (5, 6)):
        printed, correct = (
            published_ranks(number),
            rank_table(published_table(number), missing="drop"),
        )
        k = printed.shape[1]
        assert (printed != correct).sum() == wrong
        assert (printed.sum(1) == k * (k + 1) / 2).all()


def test_mean_ranks_as_printed_and_corrected():
    printed = of(3, published_test(3).mean_ranks)
    assert printed["LRT"] == pytest.approx(7.60, abs=0.005)
    assert printed["F-LRT+bag"] == pytest.approx(6.33, abs=0.005)
    corrected = of(3, average_ranks(published_table(3), missing="drop"))
    assert corrected["LRT"] == pytest.approx(7.67, abs=0.005)
    assert corrected["F-LRT+bag"] == pytest.approx(6.27, abs=0.005)
    printed, corrected = (
        of(4, published_test(4).mean_ranks),
        of(4, published_test(4).friedman.ranks),
    )
    assert [round(printed[m], 2) for m in ("RPC", "IB-PL", "IB-M")] == [5.97, 5.84, 6.91]
    assert [round(corrected[m], 2) for m in ("RPC", "IB-PL", "IB-M")] == [5.78, 6.03, 6.91]
    names = ("LL", "IB-PL", "LRT", "W-LRT+bag", "F-LRT+bag")
    printed, corrected = (
        of(5, published_test(5).mean_ranks),
        of(5, published_test(5).friedman.ranks),
    )
    assert [printed[m] for m in names] == pytest.approx([6.84, 7.25, 7.31, 5.38, 4.25], abs=0.006)
    assert [corrected[m] for m in names] == pytest.approx([6.91, 7.12, 7.50, 5.31, 4.19], abs=0.006)


def test_two_conclusions_flip_where_30_percent_of_the_labels_are_missing():
    assert [published_test(number).changed for number in (2, 3, 4, 5)] == [
        (),
        (),
        ("RPC", "IB-PL"),
        (),
    ]
    rows = {row["method"]: row for row in published_test(4).rows()}
    assert rows["RPC"]["significant_printed"]
    assert not rows["RPC"]["significant"]
    assert not rows["IB-PL"]["significant_printed"]
    assert rows["IB-PL"]["significant"]
    assert rows["RPC"]["mean_rank_printed"] == 5.97


def test_the_methods_that_differ_from_the_forest():
    different = {
        number: {name for name, differs in of(number, test.significant).items() if differs}
        for number, test in ((n, published_test(n).bonferroni_dunn) for n in (2, 3, 4, 5))
    }
    assert different[2] == {"IB-PL20"}
    assert different[3] == {"LL", "LRT", "LRF-ERT"}
    assert different[4] == {"CC", "LL", "IB-M", "IB-PL", "LRT"}
    assert different[5] == {"CC", "LL", "IB-M", "IB-PL", "LRT"}


def test_a_table_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match="number must be one of 2, 3, 4, 5; it is 1"):
        published_table(1)
