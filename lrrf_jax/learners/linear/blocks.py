"""Rows in blocks for the fits of linear learners, and sums over them in a fixed order."""

import chex
import jax.numpy as jnp
import numpy as np

from lrrf_jax._backend import backend_of
from lrrf_jax._devices import growing_devices
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._xla import bucket_size
from lrrf_jax.learners._table import TrainingTable
from lrrf_jax.learners.batching import TILE

_NUMBERS = 2**27  # in the block of an accelerator
_MOST_ROWS = 2**17


def in_blocks(
    *arrays: NDArray,  # (n_samples, ...)
    numbers: int,  # that a fit holds of a row
) -> tuple[NDArray, ...]:  # each (n_blocks, block_rows, ...)
    """Fill up rows with zeros to a size that similar tables share, and cut them into blocks.

    Accelerators get blocks that fill half a gigabyte: of small ones they would launch many kernels.
    """
    n_rows = len(arrays[0])
    size = bucket_size(n_rows)
    block = min(size, TILE)
    if not backend_of(growing_devices()).on_host:
        most = max(TILE, min(_MOST_ROWS, _NUMBERS // numbers))
        block = -(-size // -(-size // most))
    size = -(-size // block) * block
    out = []
    for array in arrays:
        padded = np.pad(array, ((0, size - n_rows), *((0, 0),) * (array.ndim - 1)))
        out.append(padded.reshape(size // block, block, *array.shape[1:]))
    return tuple(out)


def row_weights(table: TrainingTable) -> NDArray:  # float32 (n_samples,), of mean 1
    """Return the weights of the rows, 1 where all are equal."""
    if table.weight is None:
        return np.ones(len(table.features), np.float32)
    return table.weight.astype(np.float32)


def assert_blocks(
    columns: Array,  # float32 (n_blocks, block_rows, n_columns)
    sign: Array,  # int8 (n_blocks, block_rows, n_pairs)
    row_weight: Array,  # float32 (n_blocks, block_rows)
) -> None:
    """Check, as a program is traced, that rows are cut into the same blocks everywhere."""
    chex.assert_rank([columns, sign], 3)
    chex.assert_equal_shape_prefix([columns, sign, row_weight], 2)
    chex.assert_rank(row_weight, 2)
    chex.assert_type([columns, sign, row_weight], [jnp.float32, jnp.int8, jnp.float32])


def outer_sum(
    left: Array,  # float32 (n_samples, n_left)
    right: Array,  # float32 (n_samples, n_right)
) -> Array:  # float32 (n_left, n_right)
    """Compute ``left.T @ right``, in an order that does not depend on the number of threads.

    Eigen cuts a long sum into one part per thread. For few columns this is as fast.
    """
    return jnp.sum(left[:, :, None] * right[:, None, :], axis=0)
