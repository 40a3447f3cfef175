"""What ``lrrf evaluate`` tells of differences between learners, and its files of tables."""

import csv
import json

import numpy as np
import pytest

from lrrf_jax import LEARNERS, datasets
from lrrf_jax.evaluation import (
    ScoreTable,
    bayesian_sign_test,
    bayesian_t_test,
    bonferroni_dunn,
    corrected_t_test,
    cross_validate,
    effect_sizes,
    friedman,
)
from tests.reports.pages import checked

RUN = ("--learner", "default,ib-m,lr-rf", "--folds", 3, "--repeats", 2, "--set", "n_estimators=3")
PAIR = ("--learner", "default,ib-m", *RUN[2:6])
SOURCES = ("builtin:iris", "builtin:wine")


@pytest.fixture(scope="module")
def runs():
    """Scores of three learners on two tables, not by the command line."""
    made = {"default": "default", "ib-m": "ib-m", "lr-rf": LEARNERS["lr-rf"](n_estimators=3)}
    return {
        (f"builtin:{name}", learner): cross_validate(made[learner], data.X, data.y, 3, 2)
        for name in ("iris", "wine")
        for data in [datasets.load(name)]
        for learner in made
    }


def blocks(out):
    return [block.splitlines() for block in out.split("\n\n")]


def test_learners_are_compared_with_the_first_on_each_table_and_over_all(lrrf, runs):
    code, out, err = lrrf("evaluate", *SOURCES, *RUN, "--rope", 0.03, "--json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert [of_data["data"] for of_data in document["differences"]] == list(SOURCES)
    for of_data in document["differences"]:
        assert (of_data["control"], of_data["rope"], of_data["missing"]) == ("default", 0.03, 0)
        for line in of_data["learners"]:
            pair = runs[of_data["data"], line["learner"]], runs[of_data["data"], "default"]
            test, posterior = corrected_t_test(*pair), bayesian_t_test(*pair, rope=0.03)
            assert line["difference"] == test.difference
            assert line["interval"] == list(test.interval)
            assert (line["p"], line["t"]) == (test.p_value, test.t_statistic)
            found = [line[key] for key in ("better", "equivalent", "worse")]
            assert found == [posterior.better, posterior.equivalent, posterior.worse]
    [tests] = document["tests"]
    learners = ("default", "ib-m", "lr-rf")
    means = np.array([[runs[data, learner].mean for learner in learners] for data in SOURCES])
    scores = ScoreTable(means, SOURCES, learners)
    assert (tests["control"], tests["learners"]) == ("default", list(learners))
    assert tests["friedman"]["chi2"] == friedman(scores).chi2
    dunn = bonferroni_dunn(scores, control="default")
    assert tests["bonferroni_dunn"]["p_values"] == [None, *dunn.p_values[1:]]
    sign = bayesian_sign_test(scores, control="default", rope=0.03)
    assert tests["sign_test"]["better"] == [None, *sign.better[1:]]
    assert tests["sign_test"]["wins"] == sign.wins.tolist()
    sizes = effect_sizes(scores, control="default")
    assert tests["effect_sizes"]["median_difference"][1:] == sizes.median_difference[1:].tolist()
    assert tests["effect_sizes"]["low"] == [None] * 3  # of two tables there is no interval


def test_tables_show_what_json_holds(lrrf, runs):
    code, out, _ = lrrf("evaluate", *SOURCES, *RUN)
    assert code == 0
    taus, differences, tests = blocks(out)
    assert taus[0].split()[5:] == "tau std fit s, sum predict s, sum".split()
    assert differences[0].split()[:7] == "data learner against difference from to p".split()
    lines = [line.split() for line in differences[1:]]
    assert [line[:3] for line in lines] == [
        [data, learner, "default"] for data in SOURCES for learner in ("ib-m", "lr-rf")
    ]
    test = corrected_t_test(runs[SOURCES[0], "ib-m"], runs[SOURCES[0], "default"])
    shown = (test.difference, *test.interval, test.p_value)
    assert lines[0][3:7] == [f"{number:.4f}" for number in shown]
    assert tests[0].split()[:5] == "learner against data sets average".split()
    rows = [line.split() for line in tests[1:]]
    assert [row[0] for row in rows] == ["default", "ib-m", "lr-rf"]
    assert rows[0][4:] == ["-"] * 6
    code, out, _ = lrrf("evaluate", SOURCES[0], *PAIR, "--missing", "0,0.3")
    taus, differences = blocks(out)
    assert [line.split()[1] for line in differences[1:]] == ["0", "0.3"]


def test_one_learner_is_compared_with_nothing(lrrf):
    code, out, _ = lrrf("evaluate", *SOURCES, "--learner", "default", *RUN[2:6], "--json")
    assert code == 0
    document = json.loads(out)
    assert document["differences"] == document["tests"] == []


def test_one_fold_alone_gives_no_difference_and_says_so(lrrf):
    one = ("--learner", "default,ib-m", "--folds", 3, "--repeats", 1, "--folds-run", 1)
    code, out, err = lrrf("evaluate", "builtin:iris", *one)
    assert code == 0
    assert len(blocks(out)) == 1
    assert err.startswith("builtin:iris: no difference is told: first and second must have two")


def test_the_sum_of_the_seconds_is_called_one(lrrf):
    code, out, _ = lrrf("evaluate", SOURCES[0], "--learner", "default", *RUN[2:6], "--json")
    assert code == 0
    seconds = np.array(json.loads(out)["results"][0]["fit_seconds"])
    assert seconds.size == 6
    header = lrrf("evaluate", SOURCES[0], "--learner", "default", *RUN[2:6])[1].splitlines()[0]
    assert header.endswith("fit s, sum  predict s, sum")


# Files


def test_every_table_of_the_page_is_written_in_three_formats(lrrf, tmp_path, runs):
    folder, page = tmp_path / "deep" / "study", tmp_path / "page.html"
    arguments = ("--tables", folder, "--report", page, "--rope", 0.02)
    code, out, err = lrrf("evaluate", *SOURCES, *RUN, *arguments)
    assert code == 0
    names = {path.stem for path in folder.iterdir()}
    assert {"tau", "difference", "test-sign", "test-effects", "test-control", "fold-1"} < names
    assert {path.suffix for path in folder.iterdir()} == {".csv", ".tex", ".md"}
    assert err == f"{len(names)} tables in {folder}\npage in {page}\n"
    shown = checked(page.read_text(encoding="utf-8"))
    for path in folder.glob("*.csv"):
        assert path.read_text() == shown.file(path.name)
    rows = list(csv.DictReader((folder / "tau.csv").read_text().splitlines()))
    assert float(rows[1]["lr-rf"]) == runs[SOURCES[1], "lr-rf"].mean
    assert (folder / "difference.tex").read_text().count(r" \\") == 1 + 4


def test_a_folder_that_cannot_be_is_refused_before_anything_runs(lrrf, toy, tmp_path):
    code, out, err = lrrf("evaluate", "builtin:iris", *RUN, "--tables", toy)
    assert (code, out) == (3, "")
    assert f"{toy}: is a file, and tables need a folder" in err
    code, out, err = lrrf("evaluate", "builtin:iris", *RUN, "--tables", toy / "below")
    assert (code, out) == (6, "")
    assert "cannot be written" in err


@pytest.mark.parametrize("rope", [-0.1, "x"])
def test_a_rope_is_a_number_and_not_negative(lrrf, rope):
    code, out, err = lrrf("evaluate", "builtin:iris", *RUN, "--rope", rope)
    assert (code, out) == (2, "")
    assert err.startswith("Usage: lrrf evaluate")


def test_a_trained_model_takes_neither(lrrf, model, toy, tmp_path):
    for option in (("--rope", 0.1), ("--tables", tmp_path / "x")):
        code, _, err = lrrf("evaluate", toy, "--model", model, *option)
        assert code == 2
        assert f"takes no {option[0]}" in " ".join(err.split())
