"""Near rankings weighed, and the scores that a model of them gives to the labels of each row."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import chex
import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._backend import by_platform
from lrrf_jax._numerics import quotient
from lrrf_jax._programs import jit
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._xla import bucket_size, worked_out
from lrrf_jax.learners.neighbors.params import NeighborParams
from lrrf_jax.learners.neighbors.search import rows_at_once
from lrrf_jax.rankings.permutations import n_ranked

_TILE = 256  # rows whose neighbours' rankings are modelled at one time on a CPU
_NUMBERS = 16  # held at one time elsewhere, for each label of each near ranking


class Neighborhood(NamedTuple):
    """The rankings near some rows."""

    positions: Array  # float32 (n_queries, k, n_labels)
    weight: Array  # float32 (n_queries, k)
    overall: Array  # float32 (n_labels,), as in `NeighborParams`
    prior: Array  # float32 ()


# Models the rankings of each neighbourhood; float32 (n_queries, n_labels), larger is better.
Model = Callable[[Neighborhood], Array]


def neighbor_weights(
    distance: Array,  # float32 (n_queries, k), ascending; infinite: no row
    copies: Array,  # float32 (n_queries, k), weights of the rows in training
    reliability: Array,  # float32 (n_queries, k)
    *,
    k: Array | float,
    weights: str,
) -> Array:  # float32 (n_queries, k)
    """Weigh the neighbours of each row; the nearest ``k`` count, whatever they weigh.

    Where all weights come out as 0, the reliability alone counts, and else the copies.
    """
    number = jnp.arange(distance.shape[1], dtype=jnp.float32)
    used = jnp.where(jnp.isfinite(distance) & (number < k), copies, 0.0)
    nearest = distance[:, :1]
    near = jnp.where(used > 0, distance, nearest)
    if weights == "uniform":
        closeness = jnp.ones_like(distance)
    elif weights == "dudani":
        farthest = jnp.max(near, axis=1, keepdims=True)
        span = jnp.where(farthest > nearest, farthest - nearest, 1.0)
        closeness = jnp.where(farthest > nearest, worked_out(quotient(farthest - near, span)), 1.0)
    else:
        safe = jnp.where(near > 0, near, 1.0)
        at_once = jnp.where(near > 0, 0.0, 1.0)
        closeness = jnp.where(nearest > 0, worked_out(quotient(nearest, safe)), at_once)
    weight = used * closeness * reliability
    for fallback in (used * reliability, used):
        nothing = ~jnp.any(weight > 0, axis=1, keepdims=True)
        weight = jnp.where(nothing, fallback, weight)
    return weight


@functools.partial(jit, static_argnames=("model", "weights", "by_share"))
def score_neighborhoods(
    positions: Array,  # float32 (n_samples, n_labels)
    weight: Array,  # float32 (n_samples,); rows from n_samples on count nothing
    overall: Array,  # float32 (n_labels,)
    row: Array,  # int32 (n_queries, width)
    distance: Array,  # float32 (n_queries, width)
    k: Array | float,  # float32 (), at most the width: one program does for any
    prior: Array | float,  # float32 ()
    *,
    model: Model,
    weights: str,
    by_share: bool,
) -> Array:  # float32 (n_queries, n_labels)
    """Model the rankings of the ``k`` nearest of the neighbours of each row.

    ``by_share``: a ranking counts by the share of labels that it ranks.
    """
    n_queries, width = row.shape
    n_rows, n_labels = positions.shape
    chex.assert_shape([weight, overall, distance], [(n_rows,), (n_labels,), (n_queries, width)])
    chex.assert_rank([k, prior], 0)
    chex.assert_type([positions, weight, overall, distance], jnp.float32)
    chex.assert_type(row, jnp.int32)
    reliability = jnp.ones(len(positions), jnp.float32)
    if by_share:
        reliability = n_ranked(positions).astype(jnp.float32) / positions.shape[1]

    def score(near: tuple[Array, Array]) -> Array:
        row, distance = near
        real = row < len(positions)
        at = jnp.where(real, row, 0)
        copies = jnp.where(real, weight[at], 0.0)
        weighed = neighbor_weights(distance, copies, reliability[at], k=k, weights=weights)
        return model(Neighborhood(positions[at], weighed, overall, jnp.asarray(prior, jnp.float32)))

    def score_tiles(row: Array, distance: Array, *, tile: int) -> Array:
        n_tiles = -(-n_queries // tile)

        def tiled(field: Array) -> Array:
            field = jnp.pad(field, ((0, n_tiles * tile - n_queries), (0, 0)))
            return field.reshape(n_tiles, tile, width)

        scores: Array = lax.map(score, (tiled(row), tiled(distance)))
        return scores.reshape(-1, positions.shape[1])[:n_queries]

    wide = rows_at_once(4 * _NUMBERS * width * n_labels, n_queries)
    return by_platform(
        row,
        distance,
        cpu=functools.partial(score_tiles, tile=min(n_queries, _TILE)),
        accelerator=functools.partial(score_tiles, tile=wide),
    )


def padded_rankings(
    params: NeighborParams,
) -> tuple[NDArray, NDArray]:  # float32 (n_padded, n_labels), float32 (n_padded,)
    """Fill the training rankings up, with weight 0, to a size that other tables share."""
    padding = bucket_size(len(params.positions)) - len(params.positions)
    return (
        np.pad(params.positions, ((0, padding), (0, 0)), constant_values=np.nan),
        np.pad(params.weight, (0, padding)),
    )
