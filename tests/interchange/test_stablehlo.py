"""A learner as a program of StableHLO: reloaded, it predicts what the learner predicts."""

import os
import re
import subprocess
import sys

import jax
import numpy as np
import pytest

from lrrf_jax import LEARNERS, InputError
from lrrf_jax.interchange import to_stablehlo
from tests.interchange.cases import random_ranker, ranks_of, scores_of, two_hundred_forests

pytest.importorskip("flatbuffers")

# What a stranger runs: with JAX, and nothing else; in 64 bits, which the program does not heed.
STRANGER = """
import sys
sys.modules["lrrf_jax"] = None  # cannot be imported
import jax, numpy as np
from jax import export
rows = np.load("rows.npy")
program = export.deserialize(bytearray(open("model.stablehlo", "rb").read()))
found = jax.jit(program.call)(rows)
one = program.call(rows[:1])
assert found["ranks"].dtype == np.int32 and found["scores"].dtype == np.float32
np.testing.assert_array_equal(one["ranks"], found["ranks"][:1])
np.savez("found.npz", **found)
"""


def reloaded(ranker):
    return jax.export.deserialize(to_stablehlo(ranker).serialize())


def assert_same(program, ranker, rows):
    found = program.call(rows)
    np.testing.assert_array_equal(found["ranks"], ranks_of(ranker, rows))
    np.testing.assert_array_equal(found["scores"], scores_of(ranker, rows))
    assert found["ranks"].dtype == np.int32
    assert found["scores"].dtype == np.float32


@pytest.mark.parametrize("aggregation", ["two-step", "copeland"])  # others: 200 forests, below
def test_a_reloaded_forest_predicts_the_same_whatever_the_number_of_rows(aggregation):
    ranker, _, rows = random_ranker(11, aggregation)
    program = reloaded(ranker)
    assert_same(program, ranker, rows)
    if aggregation == "two-step":
        assert_same(program, ranker, rows[:3])


@pytest.mark.slow
def test_reloaded_programs_predict_the_same_on_two_hundred_forests():
    compared = differ = 0
    for seed, settings in two_hundred_forests():
        ranker, _, rows = random_ranker(seed, **settings)
        found = reloaded(ranker).call(rows)
        differ += (np.asarray(found["ranks"]) != ranks_of(ranker, rows)).sum()
        differ += (np.asarray(found["scores"]) != scores_of(ranker, rows)).sum()
        compared += found["ranks"].size
    assert (compared, differ) == (250_880, 0)


def fitted(name, **parameters):
    rng = np.random.default_rng(5)
    x = rng.standard_normal((40, 3)).astype(np.float32)
    y = rng.random((40, 4)).argsort(1) + 1
    return LEARNERS[name](**parameters).fit(x, y), x


@pytest.mark.parametrize("name", ["default", "rpc"])
def test_every_family_of_learners_is_reloaded(name):
    ranker, x = fitted(name)
    assert_same(reloaded(ranker), ranker, x)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "stack"])
def test_every_learner_is_reloaded(name):
    ranker, x = fitted(
        name, **({"n_estimators": 3} if "n_estimators" in dir(LEARNERS[name]) else {})
    )
    assert_same(reloaded(ranker), ranker, x)


def test_rows_that_a_linear_learner_refuses_get_no_ranks():
    ranker, x = fitted("ll")
    x = x[:5].copy()
    x[1, 0], x[3, 2] = np.nan, np.inf
    found = reloaded(ranker).call(x)
    unknown = np.array([False, True, False, True, False])
    assert (np.asarray(found["ranks"])[unknown] == 0).all()
    assert np.isnan(np.asarray(found["scores"])[unknown]).all()
    np.testing.assert_array_equal(np.asarray(found["ranks"])[~unknown], ranker.predict(x[~unknown]))


def test_a_file_is_read_and_applied_where_there_is_no_lrrf_jax(tmp_path):
    ranker, _, rows = random_ranker(12, "kemeny")
    ranker.export(tmp_path / "model.stablehlo")
    np.save(tmp_path / "rows.npy", rows)
    flags = {"JAX_ENABLE_X64": "1", "JAX_NUMPY_RANK_PROMOTION": "raise", "JAX_DEBUG_NANS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", STRANGER],
        cwd=tmp_path,
        env={**os.environ, **flags, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "found.npz") as found:
        np.testing.assert_array_equal(found["ranks"], ranks_of(ranker, rows))
        np.testing.assert_array_equal(found["scores"], scores_of(ranker, rows))


def test_the_program_depends_neither_on_flags_nor_on_where_the_library_lies():
    ranker, _, _ = random_ranker(13, "two-step")
    plain = to_stablehlo(ranker)
    with jax.enable_x64(True), jax.numpy_rank_promotion("raise"), jax.debug_nans(True):
        assert to_stablehlo(ranker).serialize() == plain.serialize()
    assert ".py" not in plain.mlir_module()


def test_the_program_is_for_cpus_and_cuda_and_chooses_when_it_is_compiled():
    exported = to_stablehlo(random_ranker(14, "two-step")[0])
    assert exported.platforms == ("cpu", "cuda")
    text = exported.mlir_module()
    assert "stablehlo.case" in text  # by the platform: how labels are ranked
    # JAX's own check of the number of rows, and nothing that only some XLA knows.
    assert set(re.findall(r"custom_call @(\w+)", text)) == {"shape_assertion"}
    (rows,) = exported.in_avals
    assert str(rows.shape) == "(n, 5)"


def test_categories_that_become_columns_are_refused():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"colour": ["red", "blue"] * 4})
    ranker = LEARNERS["rpc"]().fit(X, [[1, 2], [2, 1]] * 4)
    with pytest.raises(InputError, match="whose categories become columns"):
        to_stablehlo(ranker)
