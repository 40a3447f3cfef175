"""Models of ONNX rank as the forests do that they were made of, in two runtimes."""

import json
import subprocess
import sys

import numpy as np
import onnx
import pytest
from jax import numpy as jnp
from onnx.reference import ReferenceEvaluator

import lrrf_jax
from lrrf_jax import LEARNERS, InputError, load
from lrrf_jax.interchange import onnx_trees
from lrrf_jax.interchange.compact_tree import compact_trees
from lrrf_jax.interchange.to_onnx import to_onnx
from lrrf_jax.learners.forest.aggregation import AGGREGATIONS
from tests.interchange.onnx_models import (
    SUBNORMAL,
    assert_same,
    checked,
    random_case,
    run,
    session_of,
)
from tests.models.store import FOLDER, fit

NOT_HELD = ("ib-m", "ib-pl", "lr-boost", "stack")
STORED = [p for p in sorted(FOLDER.glob("v2/*.lrrf")) if not p.stem.startswith(NOT_HELD)]
LABELS = (2, 3, 7, 8, 12)


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_a_stored_model_of_every_learner_says_in_onnx_what_it_said_when_it_was_fitted(path):
    ranker = load(path)
    with np.load(path.with_suffix(".npz")) as arrays:
        said = dict(arrays)
    ranks, scores, order = run(checked(ranker), said["x"])
    np.testing.assert_array_equal(ranks, said["ranks"])
    np.testing.assert_allclose(scores, said["scores"], rtol=1e-6, atol=2e-6)
    assert order.tolist() == ranker.predict_order(said["x"]).tolist()


def test_every_learner_but_those_that_onnx_does_not_hold_has_a_stored_model():
    assert {load(path).name for path in STORED} == set(LEARNERS) - set(NOT_HELD)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in LEARNERS if name not in NOT_HELD])
def test_every_learner_ranks_ten_thousand_rows_in_onnx_as_it_was_fitted_to(name):
    ranker = fit(name)
    rows = 12 * np.random.default_rng(0).standard_normal((10_000, 4)).astype(np.float32)
    rows[::2] = np.rint(rows[::2])  # on thresholds, and where labels tie
    if ranker.accepts_missing_features:
        rows[1::5, 1] = np.nan
    assert_same(run(checked(ranker), rows, threads=2), ranker, rows)


@pytest.mark.parametrize("n_labels", LABELS)
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_random_forests_rank_in_onnx_as_here(aggregation, n_labels):
    for seed in (1, 3):  # one of few values in the leaves, one of many
        ranker, rows = random_case(seed, n_labels, aggregation)
        assert_same(run(checked(ranker), rows), ranker, rows)


@pytest.mark.slow
@pytest.mark.parametrize("n_labels", LABELS)
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_two_hundred_random_forests_rank_in_onnx_as_here(aggregation, n_labels):
    compared = 0
    for seed in range(10):
        depth = (1, 3, 5, 8, 12)[seed % 5]
        n_trees = 2 if depth == 12 else 7
        case = random_case([seed, n_labels], n_labels, aggregation, n_trees, depth)
        ranker, rows = case
        for special in (np.nan, np.inf, -np.inf, 0.0, *SUBNORMAL):
            here = np.isnan(rows) if np.isnan(special) else rows == special
            assert here.any()
        outputs = run(checked(ranker), rows, threads=1 + seed % 2)
        assert_same(outputs, ranker, rows)
        if depth == 3:  # what is compiled agrees with what NumPy ranked, too
            x = jnp.asarray(rows)
            ranks, scores, _ = outputs
            np.testing.assert_array_equal(ranks, ranker.predict_on_device(x))
            ours = np.asarray(ranker.predict_scores_on_device(x))
            np.testing.assert_allclose(scores, ours, rtol=1e-6, atol=1e-6)
        compared += outputs[0].size
    assert compared == 10 * 256 * n_labels


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("n_labels", [7, 8])
def test_another_runtime_says_the_same(aggregation, n_labels):
    ranker, rows = random_case(3, n_labels, aggregation, n_trees=3, depth=3, n_rows=24)
    model = checked(ranker)
    ours, theirs = run(model, rows), ReferenceEvaluator(model).run(None, {"X": rows})
    assert_same(theirs, ranker, rows)
    np.testing.assert_array_equal(ours[0], theirs[0])
    np.testing.assert_array_equal(ours[1], theirs[1])
    assert ours[2].tolist() == theirs[2].tolist()


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_outputs_depend_neither_on_the_number_of_rows_nor_on_threads(aggregation):
    ranker, rows = random_case(1, 8, aggregation, n_rows=300)
    model = checked(ranker)
    whole = run(model, rows)
    for threads in (1, 2):
        session = session_of(model, threads=threads)
        for n_rows in (0, 1, 3, 129, 300):
            parts = session.run(None, {"X": rows[:n_rows]})
            for part, of_all in zip(parts, whole, strict=True):
                assert part.shape == (n_rows, 8)
                np.testing.assert_array_equal(part, of_all[:n_rows])


def test_many_equal_scores_go_by_the_index_of_the_labels():
    ranker, rows = random_case(0, 300, "two-step", n_trees=1, depth=1)
    first = np.arange(1, 301, dtype=np.int32)
    value = np.stack([first, first[::-1]])
    slot = np.array([[0, 1], [1, 0]], np.int32)  # two trees that say opposite things: all tie
    trees = ranker.forest_
    both = trees._replace(
        feature=np.repeat(trees.feature, 2, 0),
        threshold=np.zeros((2, 1), np.float32),
        missing_left=np.zeros((2, 1), bool),
        leaf_slot=slot,
        leaf_value=value,
    )
    ranker.params_ = ranker.params_._replace(forest=both)
    ranks, scores, _ = run(checked(ranker), rows)
    assert (ranks == first).all()
    assert (scores == 150.5).all()


def test_sums_that_float32_would_round_are_summed_in_blocks(monkeypatch):
    ranker, rows = random_case(2, 8, "kemeny", n_trees=6)
    assert len(onnx_trees.exact_blocks(compact_trees(ranker.forest_))) == 1
    values = np.asarray(ranker.forest_.leaf_value)
    monkeypatch.setattr(onnx_trees, "WHOLE_IN_FLOAT32", int(np.abs(values).max()) * 2)
    blocks = onnx_trees.exact_blocks(compact_trees(ranker.forest_))
    assert [len(block) for block in blocks] == [2, 2, 2]
    model = checked(ranker)
    assert sum(node.op_type == "TreeEnsembleRegressor" for node in model.graph.node) == 3
    assert_same(run(model, rows), ranker, rows)


def test_sums_beyond_the_24_bits_of_float32_are_exact():
    ranker, rows = random_case(2, 3, "one-step", n_trees=6, depth=3)
    value = np.asarray(ranker.forest_.leaf_value)
    value[...] = 2**22 + np.arange(value.size).reshape(value.shape) % 7  # as of 4,095 labels
    assert int(np.float32(6 * 2**22 + 1)) != 6 * 2**22 + 1
    assert len(onnx_trees.exact_blocks(compact_trees(ranker.forest_))) == 2
    ranks = run(checked(ranker), rows)[0]
    np.testing.assert_array_equal(ranks, ranker._map_rows(True, rows))


def test_leaves_beyond_float32_and_forests_beyond_a_file_are_refused(monkeypatch):
    ranker, _ = random_case(2, 3, "one-step")
    with monkeypatch.context() as patch:
        patch.setattr(onnx_trees, "_MOST_BYTES", 1000)
        with pytest.raises(InputError, match="fit 2 GiB.*Export fewer trees"):
            to_onnx(ranker)
    value = np.asarray(ranker.forest_.leaf_value)
    value[0] = 2**24 + 1
    with pytest.raises(InputError, match="numbers up to 16777216.*tree 0 holds 16777217"):
        to_onnx(ranker)


PROGRAM = """
import sys
import numpy
import onnxruntime

model, rows, out, flush = sys.argv[1:]
options = onnxruntime.SessionOptions()
options.add_session_config_entry("session.set_denormal_as_zero", flush)
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
ranks, scores, order = session.run(None, {"X": numpy.load(rows)})
numpy.savez(out, ranks=ranks, scores=scores, order=order.astype(str))
known = session.get_modelmeta().custom_metadata_map
assert "lrrf_jax_version" in known, known
assert not any(name.partition(".")[0] in ("lrrf_jax", "jax", "onnx") for name in sys.modules)
"""


def run_apart(model, rows, folder, flush=False):
    """Run a model in a process that has ONNX Runtime and NumPy, and nothing of ours."""
    onnx.save(model, folder / "model.onnx")
    np.save(folder / "rows.npy", rows)
    paths = [str(folder / name) for name in ("model.onnx", "rows.npy", "out.npz")]
    command = [sys.executable, "-I", "-c", PROGRAM, *paths, str(int(flush))]
    subprocess.run(command, check=True, cwd=folder)
    with np.load(folder / "out.npz") as said:
        return [said[name] for name in ("ranks", "scores", "order")]


def test_a_file_is_enough_where_there_is_no_lrrf_jax(tmp_path):
    ranker, rows = random_case(3, 8, "kemeny", n_rows=64)
    assert_same(run_apart(checked(ranker), rows, tmp_path), ranker, rows)


def test_subnormal_numbers_are_no_zeros_unless_the_runtime_is_told_so(tmp_path):
    ranker, _ = random_case(1, 7, "two-step")
    rows = np.random.default_rng(0).choice(SUBNORMAL, (256, 5))
    model = checked(ranker)
    assert_same(run(model, rows, threads=2), ranker, rows)
    # These rows can tell; in a process of its own, whose threads stay as they are told to be.
    flushed = run_apart(model, rows, tmp_path, flush=True)[0]
    assert (flushed != ranker._map_rows(True, rows)).any()


def test_a_model_tells_what_it_is():
    ranker = load(FOLDER / "v2/lr-rf-kemeny.lrrf")
    model = to_onnx(ranker)
    told = {entry.key: json.loads(entry.value) for entry in model.metadata_props}
    assert told == {
        "lrrf_jax_version": lrrf_jax.__version__,
        "learner": "lr-rf",
        "labels": ["a", "β", "c d"],
        "n_features": 4,
        "feature_names": ["width", "b>c", "größe", "7"],
        "aggregation": "kemeny",
        "n_trees": 4,
        "inputs": ["X"],
    }
    assert "1 = best" in model.doc_string
    assert model.producer_name == "lrrf_jax"
    shapes = {
        value.name: [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
        for value in (*model.graph.input, *model.graph.output)
    }
    assert shapes == {"X": ["n", 4]} | dict.fromkeys(("ranks", "scores", "order"), ["n", 3])
    assert to_onnx(ranker).SerializeToString() == model.SerializeToString()
