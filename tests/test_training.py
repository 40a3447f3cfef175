import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import scipy.optimize

from lrrf_jax.training import PATIENCE, minimise

# A valley that bends: hard for steps along the gradient.
START = {"x": jnp.array([-1.2]), "y": jnp.array([1.0])}


def rosenbrock(point):
    x, y = point["x"], point["y"]
    return jnp.sum((1 - x) ** 2 + 100 * (y - x**2) ** 2)


def found(loss, start, optimiser=None, max_steps=200, tolerance=1e-3):
    solve = functools.partial(minimise, loss, optimiser=optimiser or optax.lbfgs())
    return jax.jit(lambda s, n, t: solve(s, max_steps=n, tolerance=t))(
        start, np.int32(max_steps), np.float32(tolerance)
    )


def test_the_minimum_is_that_of_scipy():
    theirs = scipy.optimize.minimize(
        lambda p: (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2, [-1.2, 1.0]
    )
    ours = found(rosenbrock, START)
    assert ours.converged
    assert 5 < ours.n_steps < 100
    np.testing.assert_allclose([ours.params["x"][0], ours.params["y"][0]], theirs.x, atol=2e-3)
    assert ours.loss == pytest.approx(float(rosenbrock(ours.params)), rel=1e-3)


def test_the_last_step_is_counted_and_no_step_is_needed_at_the_minimum():
    def bowl(x):
        return jnp.sum((x - 3) ** 2)

    # Plain gradient descent halves the distance, 3, with each step: slope 6 * 2**-n.
    halving = optax.sgd(0.25)
    for tolerance, n_steps in ((6.0, 0), (3.0, 1), (2.9, 2), (0.1, 6)):
        end = found(bowl, jnp.zeros(2), halving, tolerance=tolerance)
        assert (int(end.n_steps), bool(end.converged)) == (n_steps, True)
        np.testing.assert_array_equal(end.params, 3 - 3 * 0.5**n_steps)


def test_the_number_of_steps_is_bounded_and_the_last_point_counts():
    for max_steps in (0, 1, 4):
        end = found(lambda x: jnp.sum((x - 3) ** 2), jnp.zeros(1), optax.sgd(0.25), max_steps, 0.0)
        assert int(end.n_steps) == max_steps
        assert not end.converged
        np.testing.assert_array_equal(end.params, [3 - 3 * 0.5**max_steps])


def test_the_best_point_is_kept_where_steps_go_wrong():
    # Steps of this size throw the point farther out each time.
    end = found(lambda x: jnp.sum(x**2), jnp.ones(1), optax.sgd(1.5), max_steps=100)
    np.testing.assert_array_equal(end.params, [1.0])
    assert end.loss == 1
    assert not end.converged
    assert int(end.n_steps) == PATIENCE


@pytest.mark.parametrize("optimiser", [optax.lbfgs(), optax.sgd(1.0)])
def test_a_loss_that_is_not_finite_is_never_the_best(optimiser):
    def walled(x):  # NaN beyond 1, where the slope leads
        return jnp.sum(jnp.where(x > 1, jnp.nan, (x - 2) ** 2))

    end = found(walled, jnp.zeros(1), optimiser, max_steps=20)
    assert np.isfinite(end.loss)
    assert np.isfinite(end.params).all()
    assert (end.params <= 1).all()


def test_a_flat_loss_ends_at_once():
    end = found(lambda x: jnp.sum(x * 0), jnp.ones(1), optax.sgd(1.0))
    assert end.converged
    assert int(end.n_steps) == 0
