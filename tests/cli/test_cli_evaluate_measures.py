"""``lrrf evaluate`` on data with scores, folds and groups."""

import json

import numpy as np
import pytest

from lrrf_jax import load, metrics
from lrrf_jax.datasets import read_aslib
from lrrf_jax.evaluation import ResultsFile, comparison, cross_validate
from tests.datasets.scenarios import write_scenario
from tests.reports.pages import checked

RNG = np.random.default_rng(0)
N_ROWS = 24
X = RNG.random((N_ROWS, 2)).round(3).astype(np.float32)
SECONDS = RNG.choice([1.0, 5, 20, 3600], (N_ROWS, 3))
FOLDS, GROUPS = np.arange(N_ROWS) % 3, np.repeat(list("abcdef"), 4)
OPTIONS = ("--scores", "T*", "--lower-is-better", "--features", "A*")
FAST = ("--learner", "default", "--repeats", 2)


@pytest.fixture
def runtimes(tmp_path):
    """Runtimes of three algorithms, with folds and groups."""
    lines = ["A1,A2,Tx,Ty,Tz,fold,group"]
    for row in range(N_ROWS):
        cells = (*X[row].tolist(), *SECONDS[row].tolist(), FOLDS[row], GROUPS[row])
        lines.append(",".join(map(str, cells)))
    (tmp_path / "runtimes.csv").write_text("\n".join(lines))
    return tmp_path / "runtimes.csv"


def same_run(**options):
    return cross_validate("default", X, scores=-SECONDS, repeats=2, **options)


def test_what_choices_are_worth_is_shown_unasked_with_its_baselines(lrrf, runtimes):
    code, out, err = lrrf("evaluate", runtimes, *OPTIONS, *FAST, "--folds", "fold")
    assert (code, err) == (0, "")
    taus, worth = (part.splitlines() for part in out.split("\n\n"))
    expected = same_run(folds=FOLDS)
    assert taus[1].split()[4:6] == ["default", f"{expected.mean:.4f}"]
    header, *lines = [line.split() for line in worth]
    assert header == ["data", "learner", *expected.measures]
    names = ["default", "single best", "random", "oracle"]
    assert [line[1 : 1 + len(name.split())] for line, name in zip(lines, names, strict=True)] == [
        name.split() for name in names
    ]
    for line, row in zip(lines, expected.table().rows, strict=True):
        assert line[-len(row[1:]) :] == [f"{value:.4f}" for value in row[1:]]


def test_json_has_the_measures_of_every_fold_and_the_baselines(lrrf, runtimes):
    run = (*OPTIONS, *FAST, "--fold-column", "fold", "--measures", "gap_closed,regret@2,ndcg")
    code, out, _ = lrrf("evaluate", runtimes, *run, "--json")
    assert code == 0
    [result] = json.loads(out)["results"]
    expected = same_run(folds=FOLDS, measures=["gap_closed", "regret@2", "ndcg"])
    assert result["measures"] == expected.to_dict()["measures"]
    assert list(result["measures"]) == ["gap_closed", "regret@2", "ndcg"]
    assert result["settings"] == expected.settings


@pytest.mark.parametrize(
    ("typed", "options"),
    [
        (("--folds", 4), {"folds": 4}),
        (("--folds", "leave-one-out"), {"folds": "leave-one-out"}),
        (("--folds", 3, "--group-column", "group"), {"folds": 3, "groups": GROUPS}),
        (("--folds", "leave-one-out", "--group-column", "group"), {"folds": "leave-one-out"}),
        (("--folds", 5, "--fold-column", "fold"), {"folds": 5}),
        (("--group-column", "group", "--folds", 2), {"folds": 2, "groups": GROUPS}),
    ],
)
def test_rows_are_cut_as_cross_validate_cuts_them(lrrf, runtimes, typed, options):
    if typed[:2] == ("--folds", "leave-one-out") and len(typed) > 2:
        options = {**options, "groups": GROUPS}
    code, out, _ = lrrf("evaluate", runtimes, *OPTIONS, *FAST, *typed, "--json")
    assert code == 0
    [result] = json.loads(out)["results"]
    expected = same_run(**options)
    assert result["scores"] == expected.to_dict()["scores"]
    assert result["settings"] == expected.settings


def test_folds_of_another_column_are_run_and_those_that_are_there_are_not(
    lrrf, runtimes, tmp_path, monkeypatch
):
    run_fold, calls = comparison.run_fold, []
    monkeypatch.setattr(
        comparison, "run_fold", lambda *arguments: calls.append(1) or run_fold(*arguments)
    )
    run = ("evaluate", runtimes, *OPTIONS, *FAST, "--results", tmp_path / "r.csv", "--folds")
    assert lrrf(*run, "fold")[0] == 0
    assert len(calls) == 6
    assert lrrf(*run, "fold")[0] == 0
    assert len(calls) == 6
    assert lrrf(*run, 3)[0] == 0
    assert len(calls) == 12
    assert len(ResultsFile(tmp_path / "r.csv").read()) == 12


def test_the_page_shows_measures_and_baselines(lrrf, runtimes, tmp_path):
    path = tmp_path / "page.html"
    run = ("evaluate", runtimes, *OPTIONS, "--learner", "default,ib-m", "--folds", "fold")
    code, _, _ = lrrf(*run, "--repeats", 1, "--report", path)
    assert code == 0
    page = checked(path.read_text(encoding="utf-8"))
    header, *rows = page.table("What is measured beside tau")
    assert header[:3] == ["Learner", "utility ↑", "regret ↓"]
    assert [row[0] for row in rows] == ["default", "ib-m", "single best", "random", "oracle"]
    assert rows[2][header.index("gap_closed ↑")] == "0.0000"
    assert any("Measures beside tau" in text for text in page.texts)
    assert any(text.startswith(f"{runtimes}: given ") for text in page.texts)


def test_tables_without_scores_are_shown_as_before_and_others_below(lrrf, runtimes, toy, tmp_path):
    code, out, _ = lrrf("evaluate", "builtin:iris", *FAST, "--folds", 3, "--measures", "ndcg,tau_x")
    assert code == 0
    first, second = out.split("\n\n")
    assert second.split()[:4] == ["data", "learner", "ndcg", "tau_x"]
    code, plain, _ = lrrf("evaluate", "builtin:iris", *FAST, "--folds", 3)
    assert "\n\n" not in plain
    assert [line.split()[:7] for line in plain.splitlines()] == [
        line.split()[:7] for line in first.splitlines()
    ]


def test_a_model_is_judged_by_the_scores_of_other_rows(lrrf, runtimes, tmp_path):
    model = tmp_path / "m.lrrf"
    code, _, _ = lrrf(
        *("train", runtimes, *OPTIONS, "--model", model, "--learner", "default"),
        *("--exclude", "fold,group"),
    )
    assert code == 0
    run = ("evaluate", runtimes, "--model", model, *OPTIONS[:3])
    code, out, _ = lrrf(*run, "--json")
    assert code == 0
    [result] = json.loads(out)["results"]
    predicted = load(model).predict(X)
    regret = result["measures"]["regret"]
    assert regret["value"] == pytest.approx(metrics.regret(-SECONDS, predicted))
    assert set(regret["baselines"]) == {"random", "oracle"}
    at_random = metrics.regret(-SECONDS, np.ones_like(SECONDS))
    assert regret["baselines"]["random"] == pytest.approx(at_random)
    code, out, _ = lrrf(*run)
    worth = out.split("\n\n")[1].splitlines()
    assert worth[1].split()[1:] == [
        "model",
        *(f"{result['measures'][name]['value']:.4f}" for name in result["measures"]),
    ]
    assert [line.split()[1] for line in worth[2:]] == ["random", "oracle"]


def test_a_scenario_is_cut_as_it_says_and_its_choices_are_judged(lrrf, tmp_path):
    source = f"aslib:{write_scenario(tmp_path / 'toy')}"
    code, out, err = lrrf("evaluate", source, *FAST, "--json", "--results", tmp_path / "r.csv")
    assert code == 0, err
    [result] = json.loads(out)["results"]
    data = read_aslib(tmp_path / "toy")
    expected = cross_validate("default", data.X, scores=data.scores, folds=data.folds, repeats=2)
    assert result["scores"] == expected.to_dict()["scores"]
    assert result["measures"] == expected.to_dict()["measures"]
    assert result["settings"]["folds"] == 2


def test_made_up_tables_bring_folds_or_groups(lrrf):
    for name, n_folds in (("algorithms", 10), ("reactions", 8)):
        code, out, _ = lrrf("evaluate", f"builtin:{name}", *FAST[:3], 1, "--json")
        assert code == 0
        [result] = json.loads(out)["results"]
        assert result["settings"]["folds"] == n_folds
        assert result["measures"]["regret"]["baselines"]["oracle"] == 0


@pytest.mark.parametrize(
    ("typed", "expected", "text"),
    [
        (("--measures", "regrets"), 2, "'regrets' is none"),
        (("--measures", "regret@9"), 3, "a k of at most 3, the number of labels"),
        (("--folds", "none"), 3, "none"),
        (("--folds", "1"), 2, "1 is not 2 or more"),
        (("--folds", "fold", "--fold-column", "group"), 2, "--fold-column names 'group'"),
        (("--folds", 9, "--group-column", "group"), 3, "the groups, of which there are 6; it is 9"),
        (("--folds", "fold", "--folds-run", 4), 3, "folds_run must be a whole number from 1 to 3"),
        (("--folds", 3, "--folds-run", 4), 2, "4 is not in 1..3"),
        (("--folds", "fold", "--stratified"), 3, "stratified must be False where groups"),
    ],
)
def test_what_cannot_be_done_is_told(lrrf, runtimes, typed, expected, text):
    code, out, err = lrrf("evaluate", runtimes, *OPTIONS, *FAST, *typed)
    assert (code, out) == (expected, "")
    assert text in " ".join(err.replace("│", " ").split())


def test_measures_of_scores_are_refused_for_the_tables_that_have_none(lrrf, runtimes, toy):
    code, out, err = lrrf("evaluate", toy, *FAST, "--features", "A*", "--measures", "regret")
    assert (code, out) == (3, "")
    assert f"{toy}: measures must be of rankings where there are no scores; 'regret'" in err
