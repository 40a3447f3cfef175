"""Perceptrons: their loss, what they reach, and sums that no order changes."""

import math
import os
import subprocess
import sys

import jax
import numpy as np
import pytest
from jax import numpy as jnp

from lrrf_jax import LEARNERS, InputError
from lrrf_jax.learners import PerceptronLabelRanker
from lrrf_jax.learners.linear.params import Scaling
from lrrf_jax.learners.neural import fit, predict
from tests.tracing import traces

SMALL = {"n_hidden": 8, "random_state": 0}


def random_params(seed=0, n_networks=3, n_features=5, n_hidden=8, n_labels=4):
    """Draw a rounded model, whose weights are as large as they may be."""
    rng = np.random.default_rng(seed)

    def layer(axes, *shape):
        weight = rng.normal(size=shape).astype(np.float32)
        return predict.rounded(weight, axes), rng.normal(size=(n_networks, shape[-1]))

    first = layer((1,), n_networks, n_features, n_hidden)
    second = layer((1,), n_networks, n_hidden, n_hidden)
    last, intercept = layer((0, 1), n_networks, n_hidden, n_labels)
    arrays = (*first, *second, last, intercept[0])
    scaling = rng.normal(size=n_features), rng.uniform(0.5, 2, n_features)
    return predict.PerceptronParams(*(np.asarray(a, np.float32) for a in (*scaling, *arrays)))


def utilities_in_a_loop(params, row):
    """Sum network by network and input by input in float64, rounding where the model does."""
    total = np.zeros(len(params.intercept_3))
    for network in range(len(params.weight_1)):
        values = np.clip((row - params.centre) * params.scale, -16, 16)
        for number, (weight, intercept) in enumerate((params[2:4], params[4:6], params[6:8])):
            sums = np.zeros(weight.shape[2])
            for value, to_outputs in zip(values, weight[network], strict=True):
                sums += np.round(value * 2.0**13) / 2.0**13 * to_outputs.astype(float)
            if number < 2:
                values = np.clip(sums.astype(np.float32) + intercept[network], 0, 8)
        total += sums
    return total.astype(np.float32) + params.intercept_3


def test_no_order_of_sums_changes_a_bit_of_what_is_predicted():
    params = random_params()
    rng = np.random.default_rng(1)
    rows = (rng.normal(size=(70, 5)) * 10.0 ** rng.integers(-3, 4, (70, 1))).astype(np.float32)
    found = np.asarray(predict.perceptron_rows(params, rows, of_ranks=False))
    loop = np.array([utilities_in_a_loop(params, row) for row in rows])
    np.testing.assert_array_equal(found, loop)
    # As far as rows can go, and with the units of hidden layers and networks turned round.
    far = np.where(rng.random((8, 5)) < 0.5, np.float32(-3e38), np.float32(3e38))
    turned = predict.PerceptronParams(
        *params[:2],
        params.weight_1[::-1, :, ::-1],
        params.intercept_1[::-1, ::-1],
        params.weight_2[::-1, ::-1, ::-1],
        params.intercept_2[::-1, ::-1],
        params.weight_3[::-1, ::-1],
        params.intercept_3,
    )
    turned = jax.tree.map(np.ascontiguousarray, turned)
    for x in (rows, far):
        np.testing.assert_array_equal(
            predict.perceptron_rows(turned, x, of_ranks=False),
            predict.perceptron_rows(params, x, of_ranks=False),
        )


def test_rounded_weights_sum_to_few_units_and_are_near():
    weight = np.random.default_rng(0).normal(size=(2, 30, 4)).astype(np.float32)
    weight[..., 2] *= 1e-20
    weight[..., 3] = 0
    found = predict.rounded(weight, (0, 1))
    assert (found[..., 3] == 0).all()
    for output in range(3):
        total = np.abs(weight[..., output]).sum()
        unit = 2.0 ** math.ceil(math.log2(total / 2**15))
        units = found[..., output] / unit
        assert (units == np.round(units)).all()
        assert 2**13 < np.abs(units).sum() <= 2**15 + 30
        assert np.abs(found[..., output] - weight[..., output]).max() <= unit / 2


def test_the_loss_is_that_of_bradley_and_terry_over_the_known_pairs():
    rng = np.random.default_rng(0)
    layers = fit._starting_layers(jax.random.key(0), (3, 4, 4, 3))
    columns = rng.normal(size=(5, 3)).astype(np.float32)
    sign = rng.integers(-1, 2, (5, 3)).astype(np.int8)
    weight = rng.uniform(0, 2, 5).astype(np.float32)
    assert (sign == 0).any()
    found = fit._pair_losses(layers, jnp.asarray(columns), jnp.asarray(sign), jnp.asarray(weight))
    values = columns.astype(float)
    for number, layer in enumerate(layers):
        values = np.clip(values, 0, 8) if number else values
        values = values @ np.asarray(layer.weight, float) + np.asarray(layer.intercept)
    expected = 0.0
    for row in range(5):
        for (i, j), side in zip(((0, 1), (0, 2), (1, 2)), sign[row], strict=True):
            better, worse = (i, j) if side > 0 else (j, i)
            if side:
                lead = values[row, better] - values[row, worse]
                expected += weight[row] * math.log1p(math.exp(-lead))
    assert float(found) == pytest.approx(expected, rel=1e-5)


def bent_table(n_rows, seed=0):
    """Rankings by distances of the rows to points: no linear utility orders them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 2)).astype(np.float32)
    points = np.array([[0, 0], [1.2, 0], [-1.2, 0], [0, 1.2]])
    utility = np.abs(np.linalg.norm(x[:, None] - points, axis=2) - 0.9)
    return x, utility.argsort(1).argsort(1) + 1.0


def test_perceptrons_learn_what_no_linear_utility_can():
    x, y = bent_table(300)
    new_x, new_y = bent_table(300, seed=1)
    perceptrons = PerceptronLabelRanker(random_state=0).fit(x, y)
    assert perceptrons.score(new_x, new_y) > LEARNERS["ll"]().fit(x, y).score(new_x, new_y) + 0.1
    assert perceptrons.score(new_x, new_y) > 0.8


def test_tables_of_like_size_and_other_epochs_share_a_program():
    x, y = bent_table(64)
    PerceptronLabelRanker(epochs=2, **SMALL).fit(x, y)
    with traces() as seen:
        PerceptronLabelRanker(epochs=3, learning_rate=0.1, **SMALL).fit(x[:40], y[:40])
        PerceptronLabelRanker(epochs=1, weight_decay=0.0, **SMALL).fit(x[:9], y[:9])
    assert not seen


def test_settings_that_no_network_has_are_refused():
    for settings in (
        {"n_networks": 0},
        {"n_hidden": 0},
        {"epochs": 0},
        {"learning_rate": -1},
        {"weight_decay": np.nan},
    ):
        (name,) = settings
        with pytest.raises(InputError, match=f"{name} must be"):
            PerceptronLabelRanker(**settings).fit([[0.0], [1.0]], [[1, 2], [2, 1]])


PRINT_A_MODEL = """
import hashlib
import os
import sys
os.sched_setaffinity(0, map(int, sys.argv[1:]))
import numpy as np
from lrrf_jax.learners import PerceptronLabelRanker
rng = np.random.default_rng(0)
x = rng.normal(size=(3000, 20)).astype(np.float32)
y = rng.random((3000, 6)).argsort(1) + 1.0
params = PerceptronLabelRanker(epochs=2, random_state=0).fit(x, y).params_
print(hashlib.sha256(b"".join(array.tobytes() for array in params)).hexdigest())
"""


@pytest.mark.slow
def test_one_processor_and_all_of_them_fit_the_same_bytes():
    found = set()
    everywhere = os.sched_getaffinity(0)
    for processors in ({min(everywhere)}, everywhere):
        done = subprocess.run(
            [sys.executable, "-c", PRINT_A_MODEL, *map(str, processors)],
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(done.stdout)
    assert len(everywhere) > 1
    assert len(found) == 1


def test_features_are_cut_off_far_from_their_mean():
    scaling = Scaling(np.float32([1, 0]), np.float32([2, 1]))
    rows = np.float32([[2, 1e30], [-1e30, 0.5]])
    assert predict.bounded(scaling, rows).tolist() == [[2, 16], [-16, 0.5]]
