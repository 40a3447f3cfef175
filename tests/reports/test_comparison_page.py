import dataclasses
import datetime
import json
import os
import sys

import numpy as np
import pytest
import scipy.stats

from lrrf_jax import InputError
from lrrf_jax.evaluation import FoldResult
from lrrf_jax.reports import comparison_page, save_page
from tests.reports.pages import checked

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")

CREATED = datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.UTC)
TAUS = np.random.default_rng(0).random((4, 3, 2, 3)).round(3)  # data, learner, repeat, fold


def results(data=("d0", "d1", "d2", "d3"), learners=("a", "b", "c"), missing=0.0, taus=TAUS):
    """Results of folds that nobody ran."""
    return [
        FoldResult(
            *(learner, name, missing, "delete-once", False, 3, repeat, fold, 0),
            *('{"depth": 3}' if learner == "a" else "{}", "1.0", "python 3, jax 1, cpu"),
            *(float(taus[i, j, repeat, fold]), 0.5, 0.25 * (1 + fold)),
        )
        for i, name in enumerate(data)
        for j, learner in enumerate(learners)
        for repeat, fold in np.ndindex(taus.shape[2:])
    ]


def test_a_page_is_accessible_and_has_all_it_shows_in_itself():
    page = checked(comparison_page(results(), command="lrrf evaluate x", created=CREATED))
    assert len(page.all("svg")) == 2 + 4  # diagrams of two tests, and a figure a data set
    for expected in ("lrrf evaluate x", "2026-01-02 03:04 UTC", "python 3, jax 1, cpu", "depth"):
        assert any(expected in text for text in page.texts)


def test_scores_and_ranks_are_those_of_the_folds():
    page = checked(comparison_page(results(), created=CREATED))
    header, *rows, means, ranks = page.table("Mean Kendall")
    assert header == ["Data set", "a", "b", "c"]
    flat = TAUS.reshape(4, 3, 6)
    expected = [
        [f"{mean:.4f} ± {std:.4f}" for mean, std in zip(*pair, strict=True)]
        for pair in zip(flat.mean(2), flat.std(2, ddof=1), strict=True)
    ]
    assert [row[1:] for row in rows] == expected
    assert means == ["Mean", *(f"{mean:.4f}" for mean in flat.mean((0, 2)))]
    ranked = scipy.stats.rankdata(-flat.mean(2), axis=1).mean(0)
    assert ranks == ["Average rank", *(f"{rank:.2f}" for rank in ranked)]
    bold = sum(name == "strong" for name, _ in page.elements)
    assert bold == 4  # one best learner a data set; no pair differs
    spread = page.table("tau of single folds")
    assert spread[1][:4] == ["d0", "a", "6", f"{flat[0, 0].min():.4f}"]
    assert spread[1][5] == f"{np.median(flat[0, 0]):.4f}"
    assert page.table("Seconds")[1][2:] == "0.500 0.500 3.000 0.500 0.750 3.000".split()
    assert page.table("tau on d2")[4] == ["2", "1", *(f"{tau:.6f}" for tau in TAUS[2, :, 1, 0])]


def test_tests_are_those_of_scipy_and_by_hand():
    page = checked(comparison_page(results(), control="b", created=CREATED))
    means = TAUS.reshape(4, 3, 6).mean(2)
    plain = scipy.stats.friedmanchisquare(*means.T)
    corrected = page.table("Friedman")[2]
    assert corrected[1:] == [f"{plain.statistic:.3f}", f"{plain.pvalue:.3f}"]
    ranks = scipy.stats.rankdata(-means, axis=1).mean(0)
    z = (ranks - ranks[1]) / np.sqrt(3 * 4 / (6 * 4))
    against = page.table("Against b")
    assert [row[2] for row in against[1:]] == [
        f"{z[0]:.2f}".replace("-", "−"),
        "–",
        f"{z[2]:.2f}".replace("-", "−"),
    ]
    p = 2 * scipy.stats.norm.sf(np.abs(z[[0, 2]]))
    assert [row[3] for row in against[1::2]] == [f"{min(2 * value, 1):.3f}" for value in p]
    assert against[2][-1] == "control"
    order = np.argsort(ranks)
    assert page.table("All pairs")[0][2:] == [("a", "b", "c")[j] for j in order]


NASTY = ('<script>alert("1")</script>', "a&b</td>'", "$x$ 中\x00\udcff")


def test_every_name_is_escaped_and_no_name_breaks_a_figure():
    found = results(data=NASTY, learners=[f"{name}!" for name in NASTY], taus=TAUS[:3])
    page = checked(
        comparison_page(
            found,
            shapes={name: (1, 2, 3) for name in NASTY},
            failures={name: name for name in NASTY},
            command=NASTY[0],
            more_settings={NASTY[0]: NASTY[1]},
            title=NASTY[0],
        )
    )
    shown = [*NASTY[:2], "$x$ 中\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}"]
    assert page.table("Mean Kendall")[0][1:] == [f"{name}!" for name in shown]
    assert [row[0] for row in page.table("Mean Kendall")[1:4]] == shown
    assert page.table("Data sets")[1] == [shown[0], "1", "2", "3"]
    assert len(page.all("svg")) == 5
    assert page.all("svg")[0]["aria-label"].count("<script>") == 2  # the control is named twice


def test_without_matplotlib_the_page_says_so_and_keeps_its_tables(monkeypatch):
    whole = checked(comparison_page(results(), created=CREATED))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    page = checked(comparison_page(results(), created=CREATED))
    assert page.tables == whole.tables
    assert not page.all("svg")
    assert any("pip install 'lrrf_jax[plot]'" in text for text in page.texts)
    assert not any("lrrf_jax[plot]" in text for text in whole.texts)


def test_a_learner_without_results_is_a_dash_and_its_data_set_is_left_out_of_the_tests():
    found = [r for r in results() if (r.data, r.learner) != ("d1", "c")]
    page = checked(comparison_page(found, created=CREATED))
    assert page.table("Mean Kendall")[2][3] == "–"
    assert page.table("Mean Kendall")[-2][0] == "Mean of 3 complete rows"
    assert any("Left out, as a learner has no score there: d1." in text for text in page.texts)
    assert page.table("Friedman's test that 3 learners are equally good on 3 data sets")


@pytest.mark.parametrize(("n_data", "n_learners"), [(1, 3), (4, 1), (1, 1)])
def test_what_cannot_be_tested_is_told(n_data, n_learners):
    found = results(("d0", "d1", "d2", "d3")[:n_data], ("a", "b", "c")[:n_learners])
    page = checked(comparison_page(found, created=CREATED))
    assert any("Tests need two learners" in text for text in page.texts)
    assert len(page.all("svg")) == n_data


def test_data_sets_that_all_agree_give_an_infinite_f_and_no_p():
    taus = np.tile(np.array([0.9, 0.5, 0.1])[:, None, None], (4, 1, 2, 3))
    statistics = checked(comparison_page(results(taus=taus), created=CREATED)).table("Friedman")
    assert statistics[3][1:] == ["∞", "–"]
    assert statistics[1][1:] == ["8.000", "0.018"]


def test_shares_of_missing_labels_have_a_part_each_and_curves():
    found = results() + results(missing=0.3, taus=TAUS / 2)
    page = checked(comparison_page(found, created=CREATED))
    assert page.texts.count("All labels there") == 6
    assert page.texts.count("0.3 of the training labels deleted") == 6
    assert len(page.all("svg")) == 4 + 2 * (2 + 4)
    alt = page.all("svg")[0]["aria-label"]
    assert f"b: {TAUS[0, 1].mean():.3f}, {TAUS[0, 1].mean() / 2:.3f};" in alt


def test_folds_without_a_score_and_one_fold_alone_are_written():
    taus = TAUS.copy()
    taus[0, 0] = np.nan
    taus[1, 1, 0, 0] = np.nan
    page = checked(comparison_page(results(taus=taus), created=CREATED))
    assert page.table("Mean Kendall")[1][1] == "–"
    assert page.table("tau on d1")[1][3] == "–"
    found = results(("d0",), ("a",), taus=TAUS[:1, :1, :1, :1])
    assert checked(comparison_page(found)).table("Mean Kendall")[1][1].endswith("± 0.0000")


def test_the_same_results_are_the_same_page():
    pages = {comparison_page(results(), created=CREATED) for _ in range(2)}
    assert len(pages) == 1


def test_the_protocol_of_the_authors_is_marked_as_no_evidence():
    found = [dataclasses.replace(r, protocol="as-run-by-authors") for r in results()]
    page = checked(comparison_page(found, created=CREATED))
    assert any("does not tell how well a learner does" in text for text in page.texts)


def measured(found, values):
    """Results of folds with a measure of scores; ``values`` by learner."""
    rows = ("single best", [10.0, 5]), ("random", [5.0, 5]), ("oracle", [40.0, 5])
    return [
        dataclasses.replace(
            result,
            folds=6,
            splits="leave-one-out",
            measures=json.dumps(
                {
                    "utility": {"learner": [values[result.learner], 5], **dict(rows)},
                    "regret": {"learner": [-values[result.learner], 5], **dict(rows)},
                }
            ),
        )
        for result in found
    ]


def test_other_measures_are_shown_with_the_best_learner_in_bold_above_the_baselines():
    values = {"a": 20, "b": 30.0, "c": 30.0 + 1e-13}
    found = measured(results(data=("d0", "d1")), values) + results(data=("d2",), taus=TAUS[:1])
    page = checked(comparison_page(found, created=CREATED))
    header, *rows = page.table("beside tau on d1")
    assert header == ["Learner", "utility ↑", "regret ↓"]
    assert rows == [
        ["a", "4.0000", "−4.0000"],
        ["b", "6.0000", "−6.0000"],
        ["c", "6.0000", "−6.0000"],
        ["single best", "2.0000", "2.0000"],
        ["random", "1.0000", "1.0000"],
        ["oracle", "8.0000", "8.0000"],
    ]
    captions = [table["caption"] for table in page.tables if "beside tau" in table["caption"]]
    assert len(captions) == 2  # the third data set has none
    without = [dataclasses.replace(result, measures="") for result in found]
    plain = checked(comparison_page(without, created=CREATED))
    bold = [sum(name == "strong" for name, _ in p.elements) for p in (page, plain)]
    assert bold[0] - bold[1] == 2 * 2 * 2  # b and c, in two columns of two tables
    assert any("3- to 6-fold cross-validation" in text for text in page.texts)
    assert any("d0: leave-one-out" in text for text in page.texts)
    assert not any("Measures beside tau" in text for text in plain.texts)


def test_one_learner_alone_is_the_best_of_nothing():
    found = measured(results(("d0",), ("a",), taus=TAUS[:1, :1]), {"a": 20})
    page = checked(comparison_page(found, created=CREATED))
    assert not any(name == "strong" for name, _ in page.elements)


def test_a_control_that_is_no_learner_is_refused():
    with pytest.raises(InputError, match="control must be one of the learners a, b, c; it is 'x'"):
        comparison_page(results(), control="x")


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    save_page(path, "old é")
    assert path.read_text(encoding="utf-8") == "old é"

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(InputError, match=r"page.html: cannot be written \(No space"):
            save_page(path, "new")
    assert path.read_text(encoding="utf-8") == "old é"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(InputError, match="is a directory"):
        save_page(tmp_path, "new")
    with pytest.raises(InputError, match="there is no directory"):
        save_page(tmp_path / "none" / "page.html", "new")
