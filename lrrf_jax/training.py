"""The one loop around optax: minimise a loss of arrays until it is flat.

>>> import jax.numpy as jnp
>>> import optax
>>> valley = lambda x: jnp.sum((x - jnp.array([1.0, 2.0])) ** 2)
>>> found = minimise(valley, jnp.zeros(2), optax.sgd(0.25), max_steps=20, tolerance=1e-3)
>>> found.params.round(3).tolist(), bool(found.converged)
([1.0, 2.0], True)
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp
import optax
from jax import lax

from lrrf_jax._typing import Array

PATIENCE = 5  # steps without a better loss; in float32 the best is often met twice


class Minimum(NamedTuple):
    """The best parameters that were met, and how they were found."""

    params: Any  # as the start
    loss: Array  # float32 ()
    n_steps: Array  # int32 ()
    converged: Array  # bool (): the gradient is small enough


class _Descent(NamedTuple):
    params: Any
    state: Any  # of the optimiser
    best: Any  # parameters
    best_loss: Array
    best_slope: Array  # largest component of the gradient there
    n_steps: Array
    n_worse: Array  # steps since the best


def minimise(
    loss: Callable[[Any], Array],
    start: Any,
    optimiser: optax.GradientTransformation,
    *,
    max_steps: int | Array,
    tolerance: float | Array,
) -> Minimum:
    """Follow ``optimiser`` from ``start`` until no component of the gradient exceeds ``tolerance``.

    To be called within a jitted function: the loop is a ``lax.while_loop``.

    Parameters
    ----------
    loss : callable
        A differentiable function of parameters like ``start``; returns float32 ().
    start : pytree of float32 arrays
    optimiser : optax.GradientTransformation
        Optimisers with a line search, as ``optax.lbfgs``, are given the loss; where they keep its
        value and gradient for the next step, it is not evaluated again.
    max_steps : int
    tolerance : float, in units of the loss

    Returns
    -------
    Minimum
        The loop also ends after five steps in a row without a lower loss, which is as far as
        float32 goes; a loss or gradient that is not finite is never the best, unless the start
        was such.
    """
    chex.assert_type(jax.tree.leaves(start), float)
    chex.assert_rank([max_steps, tolerance], 0)
    optimiser = optax.with_extra_args_support(optimiser)
    state = optimiser.init(start)
    # Whether a line search leaves value and gradient of the point that it went to.
    keeps = optax.tree.get(state, "grad") is not None
    evaluate = optax.value_and_grad_from_state(loss) if keeps else _ignoring_state(loss)

    def step(now: _Descent) -> _Descent:
        value, gradient = evaluate(now.params, state=now.state)
        chex.assert_shape(value, ())
        slope = optax.tree.max(jax.tree.map(lambda leaf: jnp.max(jnp.abs(leaf)), gradient))
        better = (value < now.best_loss) & jnp.isfinite(slope)
        updates, state = optimiser.update(
            gradient, now.state, now.params, value=value, grad=gradient, value_fn=loss
        )
        return _Descent(
            optax.apply_updates(now.params, updates),
            state,
            jax.tree.map(lambda new, old: jnp.where(better, new, old), now.params, now.best),
            jnp.where(better, value, now.best_loss),
            jnp.where(better, slope, now.best_slope),
            now.n_steps + 1,
            jnp.where(better, 0, now.n_worse + 1),
        )

    def goes_on(now: _Descent) -> Array:
        unfinished = (now.n_steps <= max_steps) & (now.n_worse < PATIENCE)
        return unfinished & ~(now.best_slope <= tolerance)

    nothing, far = jnp.zeros((), jnp.int32), jnp.full((), jnp.inf, jnp.float32)
    end = lax.while_loop(goes_on, step, _Descent(start, state, start, far, far, nothing, nothing))
    return Minimum(
        end.best, end.best_loss, end.n_steps - 1, jnp.asarray(end.best_slope <= tolerance)
    )


def _ignoring_state(loss: Callable[[Any], Array]) -> Callable[..., tuple[Array, Any]]:
    value_and_grad = jax.value_and_grad(loss)

    def evaluate(params: Any, *, state: Any) -> tuple[Array, Any]:
        del state
        return value_and_grad(params)

    return evaluate
