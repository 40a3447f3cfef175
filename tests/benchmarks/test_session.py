"""A whole benchmark at the size of a toy, through the library, the command line and the script."""

import contextlib
import copy
import dataclasses
import gzip
import io
import json

import numpy as np
import pytest

import lrrf_jax.benchmarks
from lrrf_jax._validation import InputError
from lrrf_jax.benchmarks import Plan, Shape, engines, measure, session, timing
from lrrf_jax.benchmarks.cases import synthetic
from lrrf_jax.cli import main

TINY = Plan(
    shapes=(Shape(3, 3),),
    predict_rows=(1, 40),
    fit_rows=(),
    training_rows=60,
    n_trees=3,
    max_depth=3,
    max_bins=15,
    rounds=2,
    cell_seconds=0.5,
    small=(),
    left_out=("lrrf_jax, default",),
    peers_on_all_threads=True,
)
OURS = (engines.OURS, engines.OURS_DEFAULT, engines.OURS_PAIRWISE, *engines.SMALL_FITS)


@pytest.fixture(scope="module")
def document():
    """What the command prints for the tiny plan: the one measurement of this module."""
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.setattr(lrrf_jax.benchmarks, "QUICK", TINY)
        patch.setattr(timing, "_PAUSE_SECONDS", 0.0)
        assert main(["benchmark", "--quick", "--json"]) == 0
    return json.loads(out.getvalue())


def test_every_cell_has_ours_and_scikit_learn_on_one_thread_and_on_all(document):
    assert [(c["kind"], c["rows"]) for c in document["cells"]] == [("predict", 1), ("predict", 40)]
    check_cells(document["cells"])


@pytest.mark.slow
def test_fits_are_measured_as_predictions_are(monkeypatch):
    monkeypatch.setattr(session, "_QUALITY_ROWS", (90, 90))
    document = measure(dataclasses.replace(TINY, fit_rows=(90,)), kinds=["fit"])
    assert [(c["kind"], c["rows"]) for c in document["cells"]] == [("fit", 90)]
    check_cells(document["cells"])
    shares = document["cells"][0]["top_label_accuracy"]
    assert set(shares) == {engines.OURS, engines.SCIKIT_LEARN}
    assert all(0.4 < share < 1 for share in shares.values())  # one in three by chance
    compiled = [e["programs_compiled"] for e in document["cells"][0]["engines"] if "compile_s" in e]
    assert max(compiled) > 0


def test_real_and_small_tables_are_fitted_and_taken_up_again(tmp_path, monkeypatch):
    features, positions = synthetic(Shape(2, 3), 30, seed=0)
    with gzip.open(tmp_path / "toy.csv.gz", "wt") as file:
        file.write("A1,A2,L1,L2,L3\n")
        for x, y in zip(features.tolist(), positions.astype(int).tolist(), strict=True):
            file.write(",".join(map(repr, [*x, *y])) + "\n")
    plan = dataclasses.replace(
        TINY,
        data=str(tmp_path),
        real=("toy",),
        small=((20, Shape(4, 3)),),
        left_out=(*OURS, engines.LIGHTGBM),  # no compiling
        peers_on_all_threads=False,
    )
    real, _ = session.cells_of(plan, ["real", "small"])
    np.testing.assert_array_equal(real.table(plan)[0], features)
    np.testing.assert_array_equal(real.table(plan)[1], positions)
    document = measure(plan, kinds=["real", "small"])
    told = ("kind", "shape", "n_features", "n_labels", "rows")
    assert [tuple(cell[name] for name in told) for cell in document["cells"]] == [
        ("real", "toy", 2, 3, 30),
        ("small", "d4m3", 4, 3, 20),
    ]
    for cell in document["cells"]:
        ran = [(entry["engine"], entry["threads"]) for entry in cell["engines"]]
        assert ran == [(engines.SCIKIT_LEARN, 1)]
    monkeypatch.setattr(session, "_measure", None)
    again = measure(plan, kinds=["real", "small"], document=copy.deepcopy(document))
    assert again["cells"] == document["cells"]


def test_real_tables_are_left_out_without_their_folder_and_said_to_be():
    plan = dataclasses.replace(TINY, data=None, real=("toy",))
    assert session.cells_of(plan, ["real"]) == []
    assert "no folder" in session.new_document(plan)["notes"]["real"]


def test_more_than_a_hundred_thousand_rows_are_of_the_first_shape_only():
    shapes = (Shape(4, 3), Shape(3, 3))
    plan = dataclasses.replace(TINY, shapes=shapes, predict_rows=(1, 10**6), fit_rows=(10**6,))
    cells = [(cell.kind, cell.shape, cell.rows) for cell in session.cells_of(plan)]
    assert cells == [
        ("predict", shapes[0], 1),
        ("predict", shapes[0], 10**6),
        ("fit", shapes[0], 10**6),
        ("predict", shapes[1], 1),
    ]


def test_small_tables_are_fitted_by_each_learner_with_each_criterion():
    peers = engines.small_engines(*synthetic(Shape(3, 3), 10, seed=0), TINY)
    assert [engine.name for engine in peers.engines] == [
        engines.SCIKIT_LEARN,
        *("lr-rf", "lr-rf, rac", "lr-rf, pairwise", "lr-rf, positions"),
        *("pw-rf", "lw-rf", "lrt-bag"),
    ]
    fitted = [engine.run.func.__self__ for engine in peers.engines[1:]]
    assert [ranker.name for ranker in fitted] == ["lr-rf"] * 4 + ["pw-rf", "lw-rf", "lrt-bag"]
    criteria = [ranker.criterion for ranker in fitted[:4]]
    assert criteria == ["tlac", "rac", "pairwise", "positions"]


def check_cells(cells):
    for cell in cells:
        keys = {(entry["engine"], entry["threads"]) for entry in cell["engines"]}
        both = {engines.OURS, engines.SCIKIT_LEARN}
        assert {(name, n) for name in both for n in {1, timing.n_cores()}} <= keys
        for entry in cell["engines"]:
            assert entry["median_s"] == pytest.approx(np.median(entry["seconds"]), rel=1e-2)
            assert 1 <= entry["rounds"] == len(entry["seconds"]) <= TINY.rounds


def test_few_rows_are_also_scored_and_ranked_by_other_aggregations(document):
    one, forty = ({e["engine"] for e in cell["engines"]} for cell in document["cells"])
    assert set(engines.OF_FEW_ROWS) <= one
    assert set(engines.OF_FEW_ROWS) & forty == {engines.OURS}


def test_forests_of_equal_trees_rank_alike(document):
    alike = [cell["rows_ranked_alike"] for cell in document["cells"]]
    assert len(alike) == 2
    for shares in alike:
        assert engines.SCIKIT_LEARN in shares
        assert set(shares.values()) == {1.0}


def test_peers_that_cannot_run_are_named_with_the_reason(document, monkeypatch):
    reasons = document["cells"][0]["skipped"]
    assert reasons[engines.C_REFERENCE] == "its source comes with the repository only"

    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(engines.importlib, "import_module", absent)
    table = synthetic(Shape(3, 3), 10, seed=0)
    peers = engines.fit_engines(*table, TINY, (1,))
    assert {engine.name for engine in peers.engines} == {engines.OURS, engines.SCIKIT_LEARN}
    assert peers.skipped == {engines.LIGHTGBM: "lightgbm is not installed (extra: benchmark)"}


def test_cells_that_a_document_holds_are_kept(document, monkeypatch):
    def not_again(*_, **__):
        raise AssertionError

    monkeypatch.setattr(engines, "prediction_forest", not_again)
    assert measure(TINY, document=copy.deepcopy(document))["cells"] == document["cells"]
    with pytest.raises(AssertionError):
        measure(TINY, document=copy.deepcopy(document) | {"cells": document["cells"][:1]})


def test_measurements_of_another_machine_are_not_mixed_in(document):
    other = copy.deepcopy(document)
    other["hardware"]["processor"] = "abacus"
    with pytest.raises(InputError, match=r"hardware, processor was 'abacus' .* another file"):
        measure(TINY, document=other)
    other["hardware"]["processor"] = document["hardware"]["processor"]
    other["hardware"]["load_at_start"] = 99.0
    assert measure(TINY, document=other)["cells"] == document["cells"]


def test_what_would_take_too_long_is_left_out_and_said_to_be(document):
    before = copy.deepcopy(document)
    before["cells"][0] |= {"rows": 10_000}
    for entry in before["cells"][0]["engines"]:
        entry["median_s"] = 1.0 if entry["engine"] == engines.SCIKIT_LEARN else 1e-9
    plan = dataclasses.replace(TINY, predict_rows=(100_000,), fit_rows=(), longest_seconds=5.0)
    small = dataclasses.replace(plan, predict_rows=(20_000,))
    cell = session.Cell("predict", TINY.shapes[0], 100_000)
    peer = timing.Engine(engines.SCIKIT_LEARN, 1, lambda: None)
    assert session._expected_seconds(cell, peer, before) == pytest.approx(11.5)
    cell.rows = small.predict_rows[0]
    assert session._expected_seconds(cell, peer, before) == pytest.approx(2.3)
    unknown = timing.Engine("treelite", 7, lambda: None)
    assert session._expected_seconds(cell, unknown, before) == np.inf
    cell.rows = 9_000
    assert session._expected_seconds(cell, peer, before) == 0.0


def test_synthetic_rankings_are_permutations_that_the_features_tell_much_about():
    shape = Shape(16, 10)
    x, y = synthetic(shape, 500, seed=0)
    assert (x.shape, x.dtype) == ((500, 16), np.float32)
    np.testing.assert_array_equal(np.sort(y, axis=1), np.tile(np.arange(1, 11), (500, 1)))
    again, _ = synthetic(shape, 500, seed=0)
    np.testing.assert_array_equal(x, again)
    # A least-squares line explains a good part of the positions, and by no means all.
    design = np.column_stack([x, np.ones(500)])
    rest = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    assert 0.3 < 1 - rest.var() / y.var() < 0.95


def test_the_command_prints_a_line_an_engine(document, monkeypatch, capsys):
    def told(plan, on_cell):
        for cell in document["cells"]:
            on_cell(document | {"cells": [cell]}, f"cell of {cell['rows']} rows")
        return document

    monkeypatch.setattr(lrrf_jax.benchmarks, "measure", told)
    assert main(["benchmark"]) == 0
    out = capsys.readouterr().out
    for part in ("cell of 1 rows", "cell of 40 rows", "First calls compile", "scikit-learn"):
        assert part in out
    assert out.count(" threads ") == sum(len(cell["engines"]) for cell in document["cells"])


def test_what_is_no_option_is_a_usage_error(capsys):
    assert main(["benchmark", "--fast"]) == 2
    assert "No such option" in capsys.readouterr().err
