"""Linear utilities by damped Newton steps, of few columns and labels."""

import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._programs import jit
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._xla import COMPILER_OPTIONS
from lrrf_jax.learners.linear.blocks import assert_blocks, outer_sum
from lrrf_jax.learners.linear.solve import MIN_DAMPING, REJECTED_DAMPING, solve
from lrrf_jax.rankings.pairwise import pair_indices

MOST_UNKNOWNS = 4096  # whose matrix takes 64 MiB
_LEAST_PROMISE = 1e-8  # of a step, in nats per pair: float32 tells no more
_EXACT = lax.Precision.HIGHEST


def contrasts(n_labels: int) -> NDArray:  # float32 (n_labels - 1, n_labels)
    """Lay out orthonormal directions in which utilities sum to 0 (Helmert's).

    What all utilities have in common decides nothing, and the best with a penalty have nothing.
    """
    rows = []
    for k in range(1, n_labels):
        rows.append([1.0] * k + [-float(k)] + [0.0] * (n_labels - 1 - k))
    return np.array([np.array(row) / np.linalg.norm(row) for row in rows], np.float32)


@functools.partial(jit, compiler_options=COMPILER_OPTIONS)
def fit_newton(
    columns: Array,  # float32 (n_blocks, block_rows, n_columns)
    sign: Array,  # int8 (n_blocks, block_rows, n_pairs)
    row_weight: Array,  # float32 (n_blocks, block_rows)
    ridge: Array,  # float32 ()
    max_iter: Array,  # int32 ()
    tolerance: Array,  # float32 ()
    start: Array,  # float32 (n_columns, n_labels)
) -> tuple[Array, Array]:  # float32 (n_columns, n_labels), int32 () steps
    """Minimise the mean loss of an edge plus ``ridge / 2`` times the squared weights.

    Memory: (n_columns n_labels)^2 + n_pairs n_columns^2, and blocks.
    """
    assert_blocks(columns, sign, row_weight)
    chex.assert_rank([ridge, max_iter, tolerance], 0)
    chex.assert_shape(start, (columns.shape[-1], None))
    n_columns, n_labels = start.shape
    first, second = pair_indices(n_labels)
    directions = contrasts(n_labels)
    # How the difference of a pair follows from coordinates along the directions.
    towards = np.ascontiguousarray((directions[:, first] - directions[:, second]).T)
    share = 1 / jnp.sum(row_weight[..., None] * jnp.abs(sign).astype(jnp.float32))
    product = functools.partial(jnp.matmul, precision=_EXACT)

    def evaluate(weight: Array) -> tuple[Array, Array, Array]:
        def add_block(sums: tuple[Array, ...], block: tuple[Array, ...]) -> tuple[tuple, None]:
            x, toward, counts = block
            toward = toward.astype(jnp.float32)
            counts = counts[:, None] * jnp.abs(toward) * share
            margin = toward * product(product(x, weight), towards.T)
            wrong = jax.nn.sigmoid(-margin)
            pull = product(counts * toward * wrong, towards)
            bend = counts * wrong * jax.nn.sigmoid(margin)
            # One product for all pairs: its order of sums does not depend on the threads.
            curvature = jnp.einsum("tk,tp,tq->kpq", bend, x, x, precision=_EXACT)
            return (
                sums[0] + jnp.sum(counts * jax.nn.softplus(-margin)),
                sums[1] - outer_sum(x, pull),
                sums[2] + curvature,
            ), None

        zeros = jnp.zeros((len(towards), n_columns, n_columns))
        start = ridge / 2 * jnp.sum(weight**2), ridge * weight, zeros
        return lax.scan(add_block, start, (columns, sign, row_weight))[0]

    def matrix_of(curvature: Array) -> Array:
        n_unknowns = n_columns * (n_labels - 1)

        def add_pair(total: Array, pair: tuple[Array, Array]) -> tuple[Array, None]:
            bend, toward = pair
            outer = toward[:, None] * toward
            return total + bend[:, None, :, None] * outer[None, :, None, :], None

        zeros = jnp.zeros((n_columns, n_labels - 1, n_columns, n_labels - 1))
        total, _ = lax.scan(add_pair, zeros, (curvature, jnp.asarray(towards)))
        return total.reshape(n_unknowns, n_unknowns) + ridge * jnp.eye(n_unknowns)

    def step(state: tuple) -> tuple:
        n_steps, weight, (loss, gradient, curvature), damping, _ = state
        matrix = matrix_of(curvature)
        added = damping * jnp.diagonal(matrix) + 1e-12  # for a column that is 0 in every row
        move = solve(matrix + jnp.diag(added), -gradient.ravel()).reshape(gradient.shape)
        promised = -0.5 * jnp.sum(gradient * move)
        tried = evaluate(weight + move)
        better = tried[0] <= loss  # false for NaN
        eased = jnp.maximum(damping / 10, MIN_DAMPING)
        raised = jnp.maximum(damping * 10, REJECTED_DAMPING)
        weight, (loss, gradient, curvature) = jax.tree.map(
            lambda new, old: jnp.where(better, new, old),
            (weight + move, tried),
            (weight, (loss, gradient, curvature)),
        )
        flat = jnp.max(jnp.abs(gradient)) <= tolerance
        active = ~flat & ~(promised <= _LEAST_PROMISE)
        damping = jnp.where(better, eased, raised)
        return n_steps + 1, weight, (loss, gradient, curvature), damping, active

    def goes_on(state: tuple) -> Array:
        return (state[0] < max_iter) & state[4]

    weight = product(start, directions.T)
    nothing, damping = jnp.zeros((), jnp.int32), jnp.float32(MIN_DAMPING)
    first_state = nothing, weight, evaluate(weight), damping, jnp.ones((), bool)
    n_steps, weight, *_ = lax.while_loop(goes_on, step, first_state)
    return product(weight, directions), n_steps
