"""How the rankings near a row prefer one label to another."""

import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._programs import jit
from lrrf_jax._typing import Array, NDArray
from lrrf_jax.learners.neighbors.scores import neighbor_weights
from lrrf_jax.rankings.preferences import group_preferences

_CELLS_AT_ONCE = 2**20  # of rows x neighbours x labels


class NearRows(NamedTuple):
    """Training rows near some others, and what they weigh."""

    row: NDArray  # int32 (n_queries, width)
    weight: NDArray  # float32 (n_queries, width)

    @classmethod
    def of(cls, packed: NDArray) -> "NearRows":
        """Take apart what `weigh_near_rows` put together."""
        row, weight = np.ascontiguousarray(packed.swapaxes(0, 1))
        return cls(row, weight.view(np.float32))


@functools.partial(jit, static_argnames="weights")
def weigh_near_rows(
    copies: Array,  # float32 (n_samples,), weights of the training rows
    row: Array,  # int32 (n_queries, width)
    distance: Array,  # float32 (n_queries, width)
    k: Array,  # float32 ()
    *,
    weights: str,
) -> Array:  # int32 (n_queries, 2, width): rows, and the bits of their weights
    """Weigh the ``k`` nearest rows, whatever their rankings rank."""
    at = jnp.where(row < len(copies), row, 0)
    here = jnp.where(row < len(copies), copies[at], 0.0)
    weight = neighbor_weights(distance, here, jnp.ones_like(distance), k=k, weights=weights)
    return jnp.stack([at, lax.bitcast_convert_type(weight, jnp.int32)], axis=1)


def near_preferences(
    positions: NDArray,  # float32 (n_samples, n_labels), NaN: missing
    near: NearRows,
) -> NDArray:  # float32 (n_queries, n_pairs), NaN: unknown
    """Average the preferences of near rankings, over those that rank both labels of a pair."""
    n_labels = positions.shape[1]
    step = max(1, _CELLS_AT_ONCE // (near.row.shape[1] * n_labels))
    blocks = [slice(start, start + step) for start in range(0, len(near.row), step)]
    row = np.minimum(near.row, len(positions) - 1)  # those beyond, which fill tables, weigh 0
    parts = [group_preferences(positions[row[rows]], near.weight[rows]) for rows in blocks]
    return np.concatenate(parts)
