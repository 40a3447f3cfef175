"""Predictions of arrays that lie on devices: the same bits, no transfer, no program twice."""

import os
import subprocess
import sys
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lrrf_jax import LEARNERS, InputError
from lrrf_jax.learners import on_device
from lrrf_jax.learners.neighbors.ranker import NeighborsLabelRanker
from tests.learners.least_squares import LeastSquaresLabelRanker
from tests.learners.small_forests import SMALL, X, Y
from tests.tracing import traces

NAMES = ("lr-rf", "rpc", "ll", "cc", "mlp", "ib-m", "lr-boost", "default")


@pytest.fixture(scope="module")
def learner():
    """Return a learner of a name, fitted once."""
    made = {}

    def of(name):
        if name not in made:
            settings = {"lr-rf": SMALL, "ib-m": {"n_neighbors": 5}}.get(name, {})
            made[name] = LEARNERS[name](**settings).fit(X, Y)
        return made[name]

    return of


@pytest.mark.parametrize("name", NAMES)
def test_ranks_and_scores_are_those_of_predict(name, learner):
    ranker, x = learner(name), jnp.asarray(X[:100])
    ranks = ranker.predict_on_device(x)
    assert (ranks.dtype, ranks.devices()) == (np.int32, x.devices())
    np.testing.assert_array_equal(ranks, ranker.predict(X[:100]))
    scores = ranker.predict_scores_on_device(x)
    assert scores.dtype == np.float32
    np.testing.assert_array_equal(scores, ranker.predict_scores(X[:100]))


@pytest.mark.parametrize("name", NAMES)
def test_a_model_becomes_a_part_of_the_program_that_calls_it(name, learner):
    ranker, x = learner(name), jnp.asarray(X[:100])

    @jax.jit
    def shifted(x):
        return ranker.predict_on_device(x + 1), ranker.predict_scores_on_device(x)

    ranks, scores = shifted(x - 1)
    assert ranks.dtype == np.int32
    np.testing.assert_array_equal(ranks, ranker.predict(X[:100] - 1 + 1))
    # The logistic function of "rpc" rounds as the program around it has XLA put it.
    rtol = 1e-6 if name == "rpc" else 0
    np.testing.assert_allclose(scores, ranker.predict_scores((X - 1)[:100]), rtol=rtol)


def test_rows_that_are_constants_of_a_program_are_ranked_in_it(learner):
    ranker, x = learner("default"), jnp.asarray(X[:100])
    found = jax.jit(lambda: ranker.predict_on_device(x))()
    np.testing.assert_array_equal(found, ranker.predict(X[:100]))


def test_any_number_of_rows_will_do(learner):
    ranker = learner("lr-rf")
    many = np.tile(X, (28, 1))
    for n_rows in (1, 33, 2048, 2049, 4200):  # a tile has 2,048
        found = ranker.predict_on_device(jnp.asarray(many[:n_rows]))
        np.testing.assert_array_equal(found, ranker.predict(many[:n_rows]))


@pytest.mark.parametrize("name", ["lr-rf", "rpc"])
def test_nothing_goes_from_the_host_or_comes_to_it(name, learner):
    ranker, x = learner(name), jnp.asarray(X[:100])
    ranker.predict_on_device(x)  # puts the model there
    with jax.transfer_guard("disallow"):
        found = ranker.predict_on_device(x)
        with pytest.raises(Exception, match="Disallowed host-to-device"):  # CPUs guard this way,
            jnp.sin(X[0])
    np.testing.assert_array_equal(found, ranker.predict(X[:100]))
    # and the other way cannot be gone with rows of which nothing is known but their shape.
    shape = jax.eval_shape(ranker.predict_on_device, jax.ShapeDtypeStruct((10**9, 4), np.float32))
    assert (shape.shape, shape.dtype) == ((10**9, 3), np.int32)


def test_a_shape_is_traced_once(learner):
    ranker = learner("rpc")
    ranker.predict_on_device(jnp.asarray(X[:100]))
    with traces() as seen:
        for start in (0, 10, 50):
            ranker.predict_on_device(jnp.asarray(X[start : start + 100]))
    assert seen == []
    with traces() as seen:
        ranker.predict_on_device(jnp.asarray(X[:101]))
    assert len(seen) > 0


@pytest.mark.parametrize("name", ["rpc", "ib-m"])
def test_rows_that_a_learner_refuses_get_no_ranking(name, learner):
    ranker = learner(name)
    rows = X[:100].copy()
    rows[3, 0], rows[5, 1], rows[7, 2] = np.nan, np.inf, -np.inf
    bad = np.isin(np.arange(100), (3, 5, 7))
    x = jnp.asarray(rows)
    ranks = np.asarray(ranker.predict_on_device(x))
    assert (ranks[bad] == 0).all()
    np.testing.assert_array_equal(ranks[~bad], ranker.predict(rows[~bad]))
    scores = np.asarray(ranker.predict_scores_on_device(x))
    assert np.isnan(scores[bad]).all()
    np.testing.assert_array_equal(scores[~bad], ranker.predict_scores(rows[~bad]))


def test_trees_take_missing_values_and_infinities_as_large_numbers(learner):
    ranker = learner("lr-rf")
    rows, finite = X[:100].copy(), X[:100].copy()
    for row, (value, stands_for) in enumerate([(np.nan, np.nan), (np.inf, 1e30), (-np.inf, -1e30)]):
        rows[row, 2], finite[row, 2] = value, stands_for
    found = ranker.predict_on_device(jnp.asarray(rows))
    np.testing.assert_array_equal(found, ranker.predict(finite))


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("inside", [False, True])
def test_settings_of_the_caller_change_nothing(bits, inside, learner):
    ranker, x = learner("rpc"), jnp.asarray(X[:100])
    call = jax.jit(lambda x: ranker.predict_on_device(x)) if inside else ranker.predict_on_device
    with jax.enable_x64(bits == 64), jax.numpy_rank_promotion("raise"):
        found = call(x)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, ranker.predict(X[:100]))


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (X[:5], "x must be a jax.Array, which lies on a device; it is a ndarray"),
        (X[:5].tolist(), "it is a list"),
        (jnp.asarray(X[:5], jnp.int32), "x must be float32; it is int32"),
        (jnp.asarray(X[:5, :3]), r"x must be \(n_samples, 4\).*its shape is \(5, 3\)"),
        (jnp.asarray(X[0]), r"its shape is \(4,\).*x.reshape\(1, -1\)"),
        (jnp.asarray(X[:0]), r"with a row at least; its shape is \(0, 4\)"),
    ],
)
def test_what_can_be_told_without_looking_at_values_is_refused(x, message, learner):
    for call in (learner("rpc").predict_on_device, learner("rpc").predict_scores_on_device):
        with pytest.raises(InputError, match=message):
            call(x)


def test_learners_without_such_a_program_say_so(learner):
    scaled = LEARNERS["ib-m"](n_neighbors=5, scale=True).fit(X, Y)
    assert isinstance(scaled, NeighborsLabelRanker)
    for ranker in (LeastSquaresLabelRanker().fit(X, Y), scaled):
        message = f"'{ranker.name}' has no program that ranks rows on a device.*Use predict"
        with pytest.raises(InputError, match=message):
            ranker.predict_on_device(jnp.asarray(X))


def test_a_model_is_put_on_a_device_once_and_not_pickled(learner):
    ranker, x = learner("ll"), jnp.asarray(X[:100])
    ranker.predict_on_device(x)
    with mock.patch.object(on_device.jax, "device_put", side_effect=AssertionError("put again")):
        ranker.predict_on_device(x)
    assert "_placed" not in ranker.__getstate__()


@pytest.mark.parametrize("kind", [jax.sharding.AxisType.Explicit, jax.sharding.AxisType.Auto])
@pytest.mark.parametrize("name", ["lr-rf", "rpc"])
def test_rows_on_a_mesh_of_one_device_are_ranked(name, kind, learner):
    """As a program for many devices has them on a machine with one."""
    mesh = jax.make_mesh((1,), ("rows",), axis_types=(kind,), devices=jax.devices()[:1])
    spread = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("rows"))
    x = jax.device_put(X[:100], spread)
    ranks = learner(name).predict_on_device(x)
    assert ranks.devices() == x.devices()
    if kind is jax.sharding.AxisType.Explicit:
        assert ranks.sharding.mesh == mesh
    np.testing.assert_array_equal(ranks, learner(name).predict(X[:100]))


def test_rows_that_are_spread_over_devices_are_ranked_where_they_lie():
    flags = "--xla_force_host_platform_device_count=4 --xla_backend_optimization_level=0"
    subprocess.run(
        [sys.executable, "-m", "tests.learners.rank_where_rows_lie"],
        env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        check=True,
        timeout=300,
    )
