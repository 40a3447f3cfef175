import jax
import numpy as np
import pytest

from lrrf_jax.learners.linear.blocks import in_blocks
from lrrf_jax.learners.linear.params import LinearParams, params_violation, scaled, scaling_of
from lrrf_jax.learners.linear.predict import linear_outputs
from lrrf_jax.learners.persistence import schema
from tests.accelerator import accelerator_forms

RNG = np.random.default_rng(2)


def params(n_features, n_outputs):
    numbers = [RNG.standard_normal(n).astype(np.float32) for n in (n_features, n_outputs)]
    scale = RNG.uniform(0.1, 9, n_features).astype(np.float32)
    weight = RNG.standard_normal((n_features, n_outputs)).astype(np.float32)
    return LinearParams(numbers[0], scale, weight, numbers[1])


# Shapes at which matrix products, or products and sums rounded once or twice, differ.
@pytest.mark.parametrize(("n_features", "n_outputs"), [(1, 1), (3, 4), (9, 5), (70, 4)])
def test_outputs_are_exact_to_rounding_and_alike_for_any_number_of_rows(n_features, n_outputs):
    model = params(n_features, n_outputs)
    x = RNG.standard_normal((256, n_features)).astype(np.float32)
    outputs = np.asarray(jax.jit(linear_outputs)(model, x))
    centre, scale, weight, intercept = (np.float64(field) for field in model)
    expected = (x - centre) * scale @ weight + intercept
    np.testing.assert_allclose(outputs, expected, rtol=1e-4, atol=1e-5 * n_features)
    for n_rows in (1, 3, 8, 128):
        np.testing.assert_array_equal(jax.jit(linear_outputs)(model, x[:n_rows]), outputs[:n_rows])


def test_scaling_is_the_weighted_mean_and_spread():
    x = RNG.normal(5, 3, (100, 4)).astype(np.float32)
    weight = RNG.integers(1, 5, 100)
    copies = np.repeat(x, weight, axis=0).astype(np.float64)
    centred = scaling_of(x, weight.astype(float), centred=True)
    np.testing.assert_allclose(centred.centre, copies.mean(0), rtol=1e-5)
    np.testing.assert_allclose(1 / centred.scale, copies.std(0), rtol=1e-5)
    free = scaling_of(x, weight.astype(float), centred=False)
    assert (free.centre == 0).all()
    np.testing.assert_allclose(1 / free.scale, np.sqrt((copies**2).mean(0)), rtol=1e-5)


def test_constants_and_extremes_are_scaled_to_finite_numbers():
    x = np.tile(np.float32([0, 7, 3e38, -1e-38, 1e5]), (9, 1))
    x[::2, 4] = np.nextafter(np.float32(1e5), np.float32(2e5))  # constant but for rounding
    scaling = scaling_of(x, None, centred=True)
    columns = np.asarray(scaled(scaling, x))
    np.testing.assert_array_equal(columns[:, :3], 0)
    assert np.abs(columns).max() < 0.1
    far = np.asarray(scaled(scaling, np.full((1, 5), -3e38, np.float32)))
    assert np.isfinite(far).all()


def test_blocks_hold_all_rows_and_then_zeros():
    for n_rows, shape in ((60, (1, 64)), (2048, (1, 2048)), (2100, (2, 2048))):
        (blocks,) = in_blocks(np.arange(1, n_rows + 1), numbers=100)
        assert blocks.shape == shape
        assert blocks.ravel()[:n_rows].tolist() == list(range(1, n_rows + 1))
        assert (blocks.ravel()[n_rows:] == 0).all()


@pytest.mark.parametrize(
    ("n_rows", "numbers", "shape"),
    [
        (3000, 100, (1, 3072)),
        (150_000, 100, (2, 81920)),  # 2**17 rows at most, and evenly
        (150_000, 10_000, (13, 12604)),  # half a gigabyte
        (5000, 10**9, (3, 1707)),
    ],
)
def test_blocks_of_an_accelerator_are_few_and_hold_every_row_once(n_rows, numbers, shape):
    with accelerator_forms():
        (blocks,) = in_blocks(np.arange(1, n_rows + 1), numbers=numbers)
    assert blocks.shape == shape
    assert blocks.ravel()[:n_rows].tolist() == list(range(1, n_rows + 1))
    assert (blocks.ravel()[n_rows:] == 0).all()


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        ({"centre": np.zeros(2, np.float32)}, r"centre has the wrong shape, \(2,\)"),
        ({"scale": np.zeros(3, np.float32)}, "scale holds a number outside"),
        ({"weight": np.zeros((3, 4))}, "weight is float64"),
        ({"intercept": np.full(4, np.inf, np.float32)}, "intercept holds .* not finite"),
    ],
)
def test_damaged_parameters_are_told(change, fragment):
    model = params(3, 4)
    sizes = {"n_features": 3, "n_outputs": 4}
    assert schema.arrays_of(LinearParams, model._asdict(), {**sizes}).weight is model.weight
    with pytest.raises(schema.Unfit, match=fragment):
        schema.arrays_of(LinearParams, model._replace(**change)._asdict(), {**sizes})


def test_weights_whose_scores_could_be_infinite_are_told():
    model = params(3, 4)
    assert params_violation(model) is None
    for name, value in (("weight", 1e29), ("weight", -1e29), ("intercept", 3e38)):
        large = getattr(model, name).copy()
        large.flat[0] = value
        assert "infinite" in params_violation(model._replace(**{name: large}))
