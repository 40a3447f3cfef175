import csv
import importlib.util
import io
from pathlib import Path

import numpy as np
import pytest

from lrrf_jax import LEARNERS, InputError
from lrrf_jax.datasets import load
from lrrf_jax.evaluation import cross_validate, experiments, published_table, scaling
from lrrf_jax.evaluation.experiments import (
    AS_RUN,
    COLUMNS,
    CURVES,
    curve_experiment,
    table_experiment,
)
from lrrf_jax.evaluation.report_table import ReportTable
from lrrf_jax.evaluation.results import FoldResult, ResultsFile
from lrrf_jax.evaluation.scaling import planted_table, scaling_experiment

SCRIPT = Path(__file__).parents[2] / "scripts" / "reproduce.py"
TABLES = {name: (load(name).X, load(name).y) for name in ("iris", "wine")}
FEW = {"folds": 3, "repeats": 2}


@pytest.fixture
def noted(monkeypatch):
    """Replace the comparison: tau tells learner, table, share, repeat and fold."""
    calls = []

    def compare(learners, tables, *, missing=(0.0,), protocol, repeats, folds, **options):
        calls.append({"learners": learners, "tables": list(tables), "repeats": repeats} | options)
        return [
            FoldResult(
                name, data, share, protocol, False, folds, repeat, fold, 0, "{}", "1", "here",
                tau=tau_of(learners[name], data, share, protocol, repeat, fold),
            )
            for data in tables
            for share in missing
            for name in learners
            for repeat in range(repeats)
            for fold in range(folds)
        ]  # fmt: skip

    monkeypatch.setattr(experiments, "compare", compare)
    return calls


def tau_of(learner, data, share, protocol, repeat, fold):
    known = learner if isinstance(learner, str) else repr(learner.get_params())
    text = f"{known} {data} {share} {protocol}"
    return (sum(map(ord, text)) % 97) / 100 + repeat / 1000 + fold / 10_000


@pytest.mark.parametrize("number", [2, 3, 4, 5])
def test_a_table_stands_beside_the_figures_of_the_paper(number, noted):
    found = table_experiment(number, TABLES, ["lr-rf", "lrt", "default"], **FEW)
    assert found.methods == ("lr-rf", "lrt", "default", AS_RUN)
    share = {2: 0.0, 3: 0.0, 4: 0.3, 5: 0.6}[number]
    paper = published_table(number)
    for i, data in enumerate(found.datasets):
        for j, method in enumerate(found.methods):
            learner = "lr-rf" if method == AS_RUN else method
            protocol = "as-run-by-authors" if method == AS_RUN else "delete-once"
            taus = [
                tau_of(learner, data, share, protocol, r, f) for r in range(2) for f in range(3)
            ]
            assert found.scores[i, j] == pytest.approx(np.mean(taus))
            assert found.std[i, j] == pytest.approx(np.std(taus, ddof=1))
            if method == "default":
                assert np.isnan(found.printed[i, j])
            else:
                column = paper.methods.index(COLUMNS[learner])
                printed = paper.scores[paper.datasets.index(data), column]
                assert found.printed[i, j] == printed
    assert found.n_folds.tolist() == [6, 6]
    assert found.honest.methods == ("lr-rf", "lrt", "default")
    lines = list(csv.reader(io.StringIO(found.report().to_csv())))
    assert lines[0] == ["data", "lr-rf", "printed", "lrt", "printed", "default", AS_RUN, "printed"]
    assert [line[0] for line in lines[3:]] == ["mean", "average rank", "mean gap to printed"]
    assert float(lines[3][1]) == pytest.approx(found.scores[:, 0].mean())
    assert sum(float(line) for line in lines[4][1:] if line) == pytest.approx(6)
    gap = np.abs(found.scores[:, 3] - found.printed[:, 3]).mean()
    assert float(lines[5][6]) == pytest.approx(gap)
    assert len(found.rows().rows) == 8


def test_every_column_of_the_paper_has_a_learner_or_will_have_one():
    printed = {method for number in (3, 4, 5) for method in published_table(number).methods}
    assert set(COLUMNS.values()) == printed


def test_all_learners_are_run_by_default_and_large_tables_once(noted):
    tables = {"small": TABLES["iris"], "large": (np.zeros((5000, 1)), None)}
    found = table_experiment(3, tables, **FEW)
    assert found.methods == (*LEARNERS, AS_RUN)
    assert found.n_folds.tolist() == [6, 3]
    assert [(call["tables"], call["repeats"]) for call in noted] == [
        (["small"], 2), (["large"], 1), (["small"], 2), (["large"], 1),
    ]  # fmt: skip
    assert np.isnan(found.printed).all()


def test_a_measured_table_is_what_cross_validate_gives(tmp_path):
    results = tmp_path / "folds.csv"
    found = table_experiment(4, TABLES, ["default"], **FEW, results=results)
    for i, (X, y) in enumerate(TABLES.values()):
        expected = cross_validate("default", X, y, 3, 2, 0.3)
        assert found.scores[i, 0] == pytest.approx(expected.mean)
        assert found.std[i, 0] == pytest.approx(expected.std)
    assert results.read_text().count("\n") == 13


def test_the_noise_curve_deletes_ever_more(noted):
    found = curve_experiment("noise", TABLES, ["lrt", "default"], **FEW)
    assert found.values == CURVES["noise"] == (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
    runs = found.runs["wine", "lrt"]
    assert runs.shape == (8, 2)
    for k, repeat in np.ndindex(8, 2):
        taus = [tau_of("lrt", "wine", found.values[k], "delete-once", repeat, f) for f in range(3)]
        assert runs[k, repeat] == pytest.approx(np.mean(taus))
    assert len(found.rows().rows) == 2 * 2 * 8
    assert found.report().header == ("data", "learner", *map(str, found.values))


@pytest.mark.parametrize(("name", "parameter"), [("trees", "n_estimators"), ("depth", "max_depth")])
def test_trees_and_depth_are_set_on_the_forest(name, parameter, noted):
    found = curve_experiment(name, TABLES, values=[2, 5], **FEW, missing=[0.2])
    [call] = noted
    assert [learner.get_params()[parameter] for learner in call["learners"].values()] == [2, 5]
    assert found.runs.keys() == {("iris", "lr-rf"), ("wine", "lr-rf")}
    assert all(runs.shape == (2, 2) for runs in found.runs.values())
    assert (found.runs["iris", "lr-rf"][0] != found.runs["iris", "lr-rf"][1]).all()
    assert CURVES["trees"][0] == 1
    assert CURVES["trees"][-1] == 75
    assert CURVES["depth"] == tuple(range(1, 16))


def test_with_one_repeat_the_runs_are_folds(noted):
    found = curve_experiment("trees", TABLES, values=[2], folds=3, repeats=1)
    assert found.runs["iris", "lr-rf"].shape == (1, 3)


def test_what_cannot_be_run_is_refused():
    with pytest.raises(InputError, match="no learner 'x'"):
        table_experiment(3, TABLES, ["x"])
    with pytest.raises(InputError, match="number must be one of 2, 3, 4, 5"):
        table_experiment(6, TABLES)
    with pytest.raises(InputError, match="'default' has no parameter n_estimators"):
        curve_experiment("trees", TABLES, ["default"])
    with pytest.raises(InputError, match="no learner 'x'"):
        scaling_experiment("x")


def test_planted_tables_can_be_learnt_and_have_their_sizes():
    X, y = planted_table(500, 3, 4)
    assert (X.shape, y.shape) == ((500, 3), (500, 4))
    assert (np.sort(y, 1) == [1, 2, 3, 4]).all()
    top = y[:, 0] == 1
    assert abs(X[top].mean(0) - X[~top].mean(0)).max() > 0.5


def test_exponents_are_those_of_the_times(monkeypatch):
    seen = []

    def seconds(learner, size, repeats):
        seen.append(size)
        fit = 1e-6 * size["n"] ** 1.5 * size["m"] ** 2 * size["trees"]
        return fit, 1e-3 * size["d"] ** 0.5

    monkeypatch.setattr(scaling, "_seconds", seconds)
    found = scaling_experiment("lr-rf", sizes=scaling.SIZES | {"trees": (10, 20)}, base={"m": 6})
    exponents = {axis: (fit, predict) for axis, fit, predict in found.exponents()}
    assert exponents["n"] == pytest.approx((1.5, 0))
    assert exponents["m"] == pytest.approx((2, 0))
    assert exponents["d"] == pytest.approx((0, 0.5))
    assert exponents["trees"] == pytest.approx((1, 0))
    assert seen[0] == {"n": 1000, "d": 16, "m": 6, "trees": 50}
    assert [row[0] for row in found.report().rows] == ["n", "d", "m", "trees"]
    without_trees = scaling_experiment("default", sizes={"n": (1, 2), "trees": (1, 2)})
    assert [row[0] for row in without_trees.seconds] == ["n", "n"]


def test_times_are_measured_after_compilation():
    found = scaling_experiment("default", sizes={"n": (50, 60)}, repeats=1)
    assert [row[:2] for row in found.seconds] == [("n", 50), ("n", 60)]
    assert all(fit > 0 and predict > 0 for _, _, fit, predict in found.seconds)


def test_reports_are_written_in_three_formats(tmp_path):
    table = ReportTable(
        "50 % of a_b", ("data", "x & y", "n"), [("a_b", -0.98765, 3), ("c", None, 12)]
    )
    paths = table.save(tmp_path / "deep", "t")
    texts = {path.suffix: path.read_text() for path in paths}
    assert texts[".csv"] == "data,x & y,n\na_b,-0.98765,3\nc,,12\n"
    assert "| a_b | -.988 | 3 |\n| c | - | 12 |" in texts[".md"]
    assert r"\caption{50 \% of a\_b}" in texts[".tex"]
    assert r"data & x \& y & n \\" in texts[".tex"]
    assert r"a\_b & $-$.988 & 3 \\" in texts[".tex"]
    assert ReportTable("t", ("x",), [(1.0,), (-12.34567,), (0.9996,)])._texts() == [
        ["1.000"], ["-12.346"], ["1.000"],
    ]  # fmt: skip


@pytest.fixture
def reproduce(monkeypatch, tmp_path, tmp_path_factory):
    """Run the script in this process, on two small tables; returns its exit code."""
    spec = importlib.util.spec_from_file_location("reproduce", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path_factory.mktemp("xla")))
    monkeypatch.setattr(script, "fetch_kebi", lambda name, directory: load(name))
    fast = ("--learners", "default", "--sets", "iris,wine", "--folds", "3", "--repeats", "2")
    return lambda *arguments: script.main([*arguments, *fast, "--output", str(tmp_path / "out")])


def test_the_script_writes_tables_and_figures_and_keeps_folds(reproduce, tmp_path, capsys):
    assert reproduce("--table", "5", "--folds-run", "2") == 0
    out, folder = capsys.readouterr().out, tmp_path / "out"
    assert "| iris | " in out
    assert (folder / "table5.md").read_text().strip() in out
    written = {path.name for path in folder.iterdir()}
    names = {f"table5{kind}.{suffix}" for kind in ("", "-long") for suffix in ("csv", "md", "tex")}
    assert names | {"folds.csv"} <= written
    assert (folder / "folds.csv").read_text().count("\n") == 1 + 2 * 2 * 2
    assert reproduce("--table", "5", "--large-folds-run", "1") == 0  # none is large
    assert (folder / "folds.csv").read_text().count("\n") == 1 + 2 * 2 * 3


def test_the_script_runs_fewer_folds_of_large_sets_and_keeps_them_where_it_is_told(
    reproduce, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(experiments, "LARGE", 160)  # iris has 150 rows, wine 178
    kept = tmp_path / "kept.csv"
    arguments = ("--table", "3", "--large-folds-run", "1", "--results", str(kept))
    assert reproduce(*arguments) == 0
    assert not (tmp_path / "out" / "folds.csv").exists()
    folds = [(fold.data, fold.repeat, fold.fold) for fold in ResultsFile(kept).read()]
    small = [("iris", repeat, fold) for repeat in (0, 1) for fold in (0, 1, 2)]
    assert folds == [*small, ("wine", 0, 0)]
    assert reproduce("--table", "3", "--large-folds-run", "0") == 3
    assert "folds_run must be a whole number from 1 to 3" in capsys.readouterr().err


def test_the_script_draws_a_curve_for_each_data_set(reproduce, tmp_path):
    pytest.importorskip("matplotlib")
    assert reproduce("--figure", "noise", "--values", "0.2,0.6") == 0
    written = {path.name for path in (tmp_path / "out").iterdir()}
    names = {f"noise-{data}.{suffix}" for data in ("iris", "wine") for suffix in ("png", "svg")}
    assert names | {"noise.csv", "noise-long.tex"} <= written
    assert (tmp_path / "out" / "noise-iris.png").read_bytes().startswith(b"\x89PNG")


def test_the_script_says_what_it_cannot_do(reproduce, capsys):
    assert reproduce("--figure", "depth") == 3
    assert "error: 'default' has no parameter max_depth" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        reproduce()
    assert ended.value.code == 2
    assert "name what to reproduce" in capsys.readouterr().err
