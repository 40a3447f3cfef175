"""Bars, tables and the plot are made of the numbers in the document, and of nothing else."""

import copy
import json

import numpy as np
import pytest

from lrrf_jax._validation import InputError
from lrrf_jax.benchmarks import bars, engines, plot, report


def timed(engine, threads, seconds, **more):
    return {
        "engine": engine,
        "threads": threads,
        "median_s": seconds,
        "rounds": 3,
        "cores_used": 1.0,
        **more,
    }


def cell(kind, rows, entries, shape="d16m10"):
    ours = {e["threads"]: e["median_s"] for e in entries if e["engine"] == engines.OURS}
    for entry in entries:
        if entry["engine"] != engines.OURS and entry["threads"] in ours:
            entry["ratio"] = entry["median_s"] / ours[entry["threads"]]
    return {
        "kind": kind,
        "shape": shape,
        "n_features": 16,
        "n_labels": 10,
        "rows": rows,
        "engines": entries,
        "skipped": {},
    }


@pytest.fixture
def document():
    predict = [
        timed(engines.OURS, 1, 1e-3),
        timed(engines.OURS, 2, 0.5e-3),
        timed(engines.SCIKIT_LEARN, 1, 12e-3),
        timed(engines.ONNX, 1, 11.9e-3),
        timed(engines.C_REFERENCE, 1, 0.9e-3),
    ]
    fits = [
        cell("fit", n, [timed(engines.OURS, 1, 1e-6 * n**1.2), timed(engines.LIGHTGBM, 1, 9.0)])
        for n in (150, 10_000, 100_000, 1_000_000)
    ]
    return {
        "what": "50 trees",
        "created": "2020-01-01T00:00:00",
        "hardware": {"cores": 2, "processor": "a processor"},
        "versions": {"jax": "1.2", "lightgbm": "not installed"},
        "cells": [cell("predict", 10_000, predict), *fits],
        "bars": [],
    }


def held(document):
    return {(bar["bar"], bar["case"]): bar["held"] for bar in bars.judge(document)}


def test_a_bar_is_held_at_its_limit_and_missed_below_it(document):
    judged = held(document)
    at = "d16m10, 10000 rows"
    assert judged["predict, one thread: times as fast as scikit-learn", at]
    assert not judged["predict, one thread: times as fast as ONNX Runtime", at]
    assert judged["predict, one thread: time over that of the bit-slice in C", at]
    assert judged["predict: two threads over one", at]


def test_what_was_not_measured_is_not_judged(document):
    names = {name for name, _ in held(document)}
    assert not any("few rows" in name or "1 row" in name or "cold" in name for name in names)
    document["cells"][0]["engines"] = [timed(engines.SCIKIT_LEARN, 1, 1.0)]
    assert not any(name.startswith("predict") for name, _ in held(document))
    document["programs"] = document["cold_start"] = [{"shape": "d16m10", "failed": "no memory"}]
    assert not any("programs" in name or "cold" in name for name, _ in held(document))


def test_a_single_row_may_take_20_microseconds(document):
    for ours, expected in ((20e-6, True), (21e-6, False)):
        entries = [timed(engines.OURS, 1, ours), timed(engines.ONNX, 1, 1e-6)]
        document["cells"] = [cell("predict", 1, entries)]
        assert list(held(document).values()) == [expected]


def test_few_rows_may_take_the_time_of_onnx_runtime_and_a_hundred_a_third(document):
    for rows, ours in ((8, 1e-3), (32, 1e-3), (100, 1e-3 / 3)):
        for name in (engines.OURS, engines.OURS_KEMENY):
            for factor, expected in ((0.999, True), (1.001, False)):
                entries = [timed(name, 1, factor * ours), timed(engines.ONNX, 1, 1e-3)]
                document["cells"] = [cell("predict", rows, entries)]
                assert list(held(document).values()) == [expected]


def test_a_real_table_is_judged_by_default_settings_and_by_pairs(document):
    entries = [
        timed(engines.OURS, 1, 1e-9),
        timed(engines.OURS_DEFAULT, 1, 0.1),
        timed(engines.OURS_PAIRWISE, 1, 0.235),
        timed(engines.SCIKIT_LEARN, 1, 2.0),
    ]
    document["cells"] = [cell("real", 7, entries, shape=name) for name in ("pendigits", "fried")]
    pendigits, pairwise, fried = bars.judge(document)
    assert (pendigits["figure"], pendigits["held"]) == (20.0, True)
    assert (fried["figure"], fried["held"]) == (20.0, False)
    assert (pairwise["figure"], pairwise["held"]) == (0.235, True)
    assert pairwise["note"] == "2.35 times as long as by default"
    document["bars"] = bars.judge(document)
    text = report.markdown(document)
    assert "| pendigits (d 16, m 10) | 7 | 2 s | 100 ms (20x) |" in text
    assert "| held (2.35 times as long as by default) |" in text


def test_small_tables_may_take_twice_the_time_of_scikit_learn_and_lr_rf_once(document):
    seconds = {"lr-rf, rac": 1.01, "lr-rf": 1.0, "pw-rf": 2.0, "lrt-bag": 2.01}
    entries = [timed(name, 1, value) for name, value in seconds.items()]
    document["cells"] = [cell("small", 33, [*entries, timed(engines.SCIKIT_LEARN, 1, 1.0)])]
    at = "d16m10, 33 rows, "
    judged = {case.removeprefix(at): is_held for (_, case), is_held in held(document).items()}
    assert judged == {"lr-rf": True, "lr-rf, rac": False, "pw-rf": True, "lrt-bag": False}


def test_growth_is_the_power_that_the_times_follow(document):
    judged = bars.judge(document)
    [ours] = [g for g in document["growth"] if g["engine"] == engines.OURS]
    assert ours["exponent"] == pytest.approx(1.2, abs=1e-3)
    assert ours["rows"] == [10_000, 100_000, 1_000_000]  # 150 rows are all fixed costs
    [bar] = [bar for bar in judged if "exponent" in bar["bar"]]
    assert (bar["figure"], bar["held"]) == (1.2, False)


def test_a_slow_cold_start_passes_only_through_the_cache(document):
    start = {"shape": "d16m10", "compile_s": 5.0, "second_start_compile_s": 0.4}
    document["programs"] = [{"shape": "d16m10", "calls": 1000, "programs": 13}]
    document["cold_start"] = [start, start | {"second_start_compile_s": None}]
    programs, through_cache, without = bars.judge(document)[-3:]
    assert not programs["held"]
    assert through_cache["held"]
    assert "0.40 s at the second start" in through_cache["note"]
    assert not without["held"]


def test_tables_hold_the_numbers_of_the_document(document):
    document["bars"] = bars.judge(document)
    text = report.markdown(document)
    assert "| d 16, m 10 | 10,000 | 1 ms | 12x | 11.9x | 0.9x |" in text
    assert "| d 16, m 10 | 10,000 | 500 us |" in text  # two threads, where no peer ran
    assert "lightgbm" not in text.splitlines()[0]
    assert text.count("| held |") + text.count("**missed**") == len(document["bars"])
    assert "**missed**" in text
    json.dumps(document, allow_nan=False)


def test_lines_say_what_was_left_out_and_who_ranks_otherwise(document):
    entry = document["cells"][0]
    entry |= {"skipped": {"treelite GTIL": "not installed"}, "rows_ranked_alike": {"x": 0.5}}
    assert report.unequal_ranks(document) == ["x, d16m10, 10000 rows"]
    assert "**Ranks differ:** x, d16m10, 10000 rows." in report.markdown(document)
    text = "\n".join(report.lines(entry))
    assert "treelite GTIL: not installed" in text
    assert "RANKS DIFFER from x: 50.00% alike" in text


def test_the_plot_draws_every_time_once(document, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    from matplotlib.axes import Axes

    for kind in ("real", "small"):
        document["cells"].append(cell(kind, 33, [timed(engines.SCIKIT_LEARN, 1, 1.0)], shape=kind))
    drawn = []
    plain = Axes.plot

    def note(self, x, y, **style):
        drawn.extend(zip(x, y, strict=True))
        return plain(self, x, y, **style)

    monkeypatch.setattr(Axes, "plot", note)
    before = copy.deepcopy(document)
    plot.draw(document, tmp_path / "plot.png")
    assert document == before
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    expected = [
        ({"real": 0, "small": 1}.get(cell["kind"], cell["rows"]), entry["median_s"])
        for cell in document["cells"]
        for entry in cell["engines"]
        if entry["threads"] == 1
    ]
    np.testing.assert_array_equal(sorted(drawn), sorted(expected))
    with pytest.raises(InputError, match="nothing that ran with 5 threads"):
        plot.draw(document, tmp_path / "plot.png", threads=5)
