"""Options of ``lrrf evaluate`` on how folds are run, where results go, and the page."""

import json

import numpy as np
import pytest

from lrrf_jax import datasets
from lrrf_jax.cli._comparison import learners_of
from lrrf_jax.evaluation import ResultsFile, comparison, cross_validate
from tests.cli.conftest import toy_table
from tests.reports.pages import checked

FAST = ("--learner", "default", "--folds", 3, "--repeats", 2)


@pytest.fixture
def calls(monkeypatch):
    """Count the folds that are run."""
    run_fold, counted = comparison.run_fold, []
    monkeypatch.setattr(
        comparison, "run_fold", lambda *arguments: counted.append(1) or run_fold(*arguments)
    )
    return counted


def test_stratified_and_first_folds_are_those_of_cross_validate(lrrf):
    options = ("--stratified", "--folds-run", 2, "--json")
    code, out, _ = lrrf("evaluate", "builtin:iris", *FAST, *options)
    assert code == 0
    [result] = json.loads(out)["results"]
    iris = datasets.load("iris")
    plain = cross_validate("default", iris.X, iris.y, 3, 2)
    same = cross_validate("default", iris.X, iris.y, 3, 2, stratified=True, folds_run=2)
    assert result["scores"] == same.scores.tolist() != plain.scores[:, :2].tolist()
    assert result["settings"]["stratified"] is True


def test_several_shares_of_missing_labels_have_a_line_each(lrrf):
    code, out, _ = lrrf("evaluate", "builtin:iris", *FAST, "--missing", "0, 0.6")
    assert code == 0
    header, *lines = [line.split() for line in out.splitlines()]
    assert header[4:7] == ["missing", "learner", "tau"]
    iris = datasets.load("iris")
    means = [cross_validate("default", iris.X, iris.y, 3, 2, share).mean for share in (0, 0.6)]
    assert [line[4:7] for line in lines] == [
        [share, "default", f"{mean:.4f}"] for share, mean in zip(("0", "0.6"), means, strict=True)
    ]


def test_the_protocol_of_the_authors_takes_their_forest_only(lrrf):
    authors = ("--protocol", "as-run-by-authors")
    code, out, err = lrrf("evaluate", "builtin:iris", *FAST, *authors)
    assert (code, out) == (2, "")
    assert "reproduces one forest only" in " ".join(err.split())
    forest = learners_of(["lr-rf"], ["n_estimators=7"], "as-run-by-authors")["lr-rf"]
    assert (forest.criterion, forest.aggregation, forest.n_estimators) == ("rac", "two-step", 7)
    other = ("--learner", "lr-rf", "--set", "criterion=tlac")
    assert lrrf("evaluate", "builtin:iris", *other, *authors)[0] == 2


def test_folds_in_the_results_file_are_not_run_again(lrrf, tmp_path, calls):
    path = tmp_path / "folds.csv"
    run = ("evaluate", "builtin:iris", *FAST, "--results", path)
    code, first, _ = lrrf(*run)
    assert (code, len(calls)) == (0, 6)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:5]))
    code, second, _ = lrrf(*run)
    assert (code, len(calls)) == (0, 8)
    taus = [[line.split()[5:7] for line in out.splitlines()] for out in (first, second)]
    assert taus[0] == taus[1]
    assert {result.data for result in ResultsFile(path).read()} == {"builtin:iris"}


def test_results_of_a_file_that_was_changed_are_not_taken(lrrf, toy, tmp_path, calls):
    run = ("evaluate", toy, "--features", "A*", *FAST, "--results", tmp_path / "folds.csv")
    code, out, _ = lrrf(*run)
    assert (code, len(calls)) == (0, 6)
    assert out.splitlines()[1].split()[0] == str(toy)
    toy.write_text("\n".join(toy_table(seed=1)))
    code, changed, _ = lrrf(*run)
    assert (code, len(calls)) == (0, 12)
    assert changed.splitlines()[1].split()[5] != out.splitlines()[1].split()[5]
    toy.write_text("\n".join(toy_table(seed=0)))
    code, again, _ = lrrf(*run)
    assert (code, len(calls)) == (0, 12)
    assert again == out


def test_a_column_of_categories_is_evaluated_and_a_level_that_changed_is_run_again(
    lrrf, toy, tmp_path, calls
):
    header, *rows = toy_table()
    levels = ["red", "blue", "red", "green"] * 5

    def write(levels):
        lines = [f"{level},{row}" for level, row in zip(levels, rows, strict=True)]
        toy.write_text("\n".join([f"colour,{header}", *lines]))

    write(levels)
    run = ("evaluate", toy, "--features", "A*,colour", *FAST, "--results", tmp_path / "folds.csv")
    for _ in range(2):
        code, out, _ = lrrf(*run)
        assert (code, len(calls)) == (0, 6)
    assert out.splitlines()[1].split()[1:4] == ["20", "3", "3"]
    write([*levels[:-1], "red"])
    assert lrrf(*run)[0] == 0
    assert len(calls) == 12


@pytest.mark.slow
def test_processes_change_no_score(lrrf_process, tmp_path):
    run = ("evaluate", "builtin:iris", *FAST, "--json", "--results")
    code, alone, err = lrrf_process(*run, "one.csv")
    assert code == 0, err
    code, shared, err = lrrf_process(*run, "two.csv", "--jobs", 2)
    assert code == 0, err
    scores = [json.loads(out)["results"][0]["scores"] for out in (alone, shared)]
    assert scores[0] == scores[1]
    assert len(ResultsFile(tmp_path / "two.csv").read()) == 6


# The page


def test_the_page_shows_what_is_printed_and_how_it_was_made(lrrf, tmp_path):
    path = tmp_path / "page.html"
    run = ("evaluate", "builtin:iris", "builtin:wine", *FAST, "--report", path)
    code, out, err = lrrf(*run)
    assert (code, err) == (0, f"page in {path}\n")
    page = checked(path.read_text(encoding="utf-8"))
    printed = [line.split() for line in out.splitlines()[1:]]
    rows = page.table("Mean Kendall")[1:3]
    assert rows == [[line[0], f"{line[5]} ± {line[6]}"] for line in printed]
    assert page.table("Data sets")[1] == ["builtin:iris", "150", "4", "3"]
    command = " ".join(map(str, ("lrrf", *run)))
    assert command in page.texts
    assert any("core" in text for text in page.texts)
    code, out, _ = lrrf(*run, "--json")
    assert code == 0
    assert len(json.loads(out)["results"]) == 2


def test_what_failed_is_told_on_the_page_and_the_rest_is_there(lrrf, toy, tmp_path):
    bad, path = tmp_path / "bad.csv", tmp_path / "page.html"
    lines = toy_table(seed=2)
    bad.write_text("\n".join([*lines[:-1], lines[-1].replace(lines[-1].split(",")[1], "")]))
    run = (*FAST[2:], "--features", "A*", "--learner", "default,ib-m", "--report", path, "--json")
    code, out, err = lrrf("evaluate", bad, toy, *run)
    assert code == 5
    document = json.loads(out)
    assert [(r["data"], r["learner"]) for r in document["results"]] == [
        (str(bad), "default"),
        (str(toy), "default"),
        (str(toy), "ib-m"),
    ]
    [failed] = document["failed"]
    assert failed["data"] == str(bad)
    assert f"error: {failed['error']}" in err
    page = checked(path.read_text(encoding="utf-8"))
    assert failed["error"] in page.texts
    assert page.table("Mean Kendall")[1][2] == "–"
    # A source that fails as a whole leaves nothing to write.
    path.unlink()
    assert lrrf("evaluate", tmp_path / "none.csv", *run)[0] == 3
    assert not path.exists()


def test_places_that_cannot_be_written_are_refused_before_anything_runs(lrrf, toy, tmp_path, calls):
    for option in ("--report", "--results"):
        code, _, err = lrrf("evaluate", toy, *FAST, option, toy)
        assert code == 2
        assert "is an input" in " ".join(err.split())
    both = ("--report", tmp_path / "x", "--results", tmp_path / "x")
    assert lrrf("evaluate", "builtin:iris", *FAST, *both)[0] == 2
    nowhere = tmp_path / "none" / "page.html"
    code, _, err = lrrf("evaluate", "builtin:iris", *FAST, "--report", nowhere)
    assert code == 3
    assert f"error: {nowhere}: there is no directory" in err
    code, _, err = lrrf("evaluate", "builtin:iris", *FAST, "--report", tmp_path)
    assert (code, "is a directory" in err) == (3, True)
    assert not calls
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    code, _, err = lrrf("evaluate", "builtin:iris", *FAST, "--results", tmp_path / "other.csv")
    assert code == 3
    assert "holds no results of folds" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("--folds-run", 0),
        ("--folds-run", 11),
        ("--jobs", 0),
        ("--protocol", "x"),
        ("--missing", "0,1"),
        ("--missing", "0;0.3"),
        ("--missing", "nan"),
    ],
)
def test_options_out_of_range_are_usage_errors(lrrf, arguments):
    code, out, err = lrrf("evaluate", "builtin:iris", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("Usage: lrrf evaluate")


@pytest.mark.parametrize(
    "option", [("--report", "x"), ("--jobs", 2), ("--stratified",), ("--folds", 10)]
)
def test_a_trained_model_takes_no_options_of_cross_validation(lrrf, model, toy, option):
    code, _, err = lrrf("evaluate", toy, "--model", model, *option)
    assert code == 2
    assert f"takes no {option[0]}" in " ".join(err.split())
    assert lrrf("evaluate", toy, "--model", model, "--features", "A*", "--json")[0] == 0
    assert np.isfinite(float(lrrf("evaluate", toy, "--model", model)[1].split()[-1]))
