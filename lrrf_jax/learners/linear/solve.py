"""Positive definite equations, solved to the same bits whatever the number of threads."""

import jax
import jax.numpy as jnp
from jax import lax

from lrrf_jax._typing import Array

# Newton's steps solve with such a share of the diagonal added. It bends the path, not the optimum,
# and keeps the factorisation possible in float32 where features are collinear.
MIN_DAMPING = 1e-5
REJECTED_DAMPING = 1e-3
_BLOCK = 32  # so short a sum of products is cut by no library into a part per thread
# LAPACK, as SciPy brings it, spreads larger matrices over threads, and sums by their number.
_LARGEST_OF_LAPACK = 128
_EXACT = lax.Precision.HIGHEST


def solve(
    matrix: Array,  # float32 (n, n), positive definite; else the result holds NaN
    right: Array,  # float32 (n,)
) -> Array:  # float32 (n,)
    """Solve by Cholesky's factors, of blocks where the matrix is large."""
    n = len(right)
    if n <= _LARGEST_OF_LAPACK:
        factor = jnp.linalg.cholesky(matrix)
        return jax.scipy.linalg.cho_solve((factor, True), right)
    n_blocks = -(-n // _BLOCK)
    more = n_blocks * _BLOCK - n
    matrix = jnp.pad(matrix, (0, more)) + jnp.diag(
        jnp.pad(jnp.zeros(n), (0, more), constant_values=1)
    )
    rows, eye = jnp.arange(n + more)[:, None], jnp.eye(_BLOCK)

    def eliminate(k: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        left, rest, inverses = state  # what is done holds factors, on its block columns
        start = k * _BLOCK
        panel = lax.dynamic_slice(left, (0, start), (n + more, _BLOCK))
        corner = lax.dynamic_slice(panel, (start, 0), (_BLOCK, _BLOCK))
        factor = jnp.linalg.cholesky(corner)
        inverse = jax.scipy.linalg.solve_triangular(factor, eye, lower=True)
        below = jnp.where(rows >= start + _BLOCK, 1.0, 0.0) * _product(panel, inverse.T)
        left = lax.dynamic_update_slice(left - _product(below, below.T), below, (0, start))
        done = _product(inverse, lax.dynamic_slice(rest, (start, 0), (_BLOCK, 1)))
        rest = lax.dynamic_update_slice(rest - _product(below, done), done, (start, 0))
        return left, rest, inverses.at[k].set(inverse)

    def substitute(at: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        solved, inverses = state
        k = n_blocks - 1 - at
        start = k * _BLOCK
        below = lax.dynamic_slice(factors, (0, start), (n + more, _BLOCK))
        # `below` is 0 but under the block, where all is solved.
        taken = jnp.sum(below * solved, axis=0)[:, None]
        mine = lax.dynamic_slice(solved, (start, 0), (_BLOCK, 1)) - taken
        mine = _product(inverses[k].T, mine)
        return lax.dynamic_update_slice(solved, mine, (start, 0)), inverses

    inverses = jnp.zeros((n_blocks, _BLOCK, _BLOCK))
    start = matrix, jnp.pad(right, (0, more))[:, None], inverses
    factors, half, inverses = lax.fori_loop(0, n_blocks, eliminate, start)
    solved, _ = lax.fori_loop(0, n_blocks, substitute, (half, inverses))
    return solved[:n, 0]


def _product(left: Array, right: Array) -> Array:
    return jnp.matmul(left, right, precision=_EXACT)
