"""What the linear learners share: scaled features, blocks of rows, and sums in a fixed order."""

import functools
from typing import Annotated, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._typing import AnyArray, Array, NDArray
from lrrf_jax._xla import COMPILER_OPTIONS, bucket_size
from lrrf_jax.learners._table import TrainingTable
from lrrf_jax.learners.batching import TILE, map_tiles
from lrrf_jax.learners.schema import Stored
from lrrf_jax.rankings.permutations import rank_scores

# A spread below this share of the mean is what rounding to float32 leaves of a constant.
_LEAST_SPREAD = 1e-6
# Values this many spreads from the mean are cut off: sums of products then stay finite.
_FARTHEST = 1e9
_LEAST_SCALE = float(np.finfo(np.float32).tiny)
_LARGEST = float(np.finfo(np.float32).max)


class LinearParams(NamedTuple):
    """Linear functions of scaled features: ``(x - centre) * scale @ weight + intercept``."""

    centre: Annotated[AnyArray, Stored("float32", "n_features")]
    scale: Annotated[AnyArray, Stored("float32", "n_features", least=_LEAST_SCALE)]
    weight: Annotated[AnyArray, Stored("float32", "n_features", "n_outputs")]
    intercept: Annotated[AnyArray, Stored("float32", "n_outputs")]


class Scaling(NamedTuple):
    """Where each feature is moved and how it is shrunk before anything is learnt from it."""

    centre: AnyArray  # float32 (n_features,)
    scale: AnyArray  # float32 (n_features,), positive


def scaling_of(
    features: NDArray,  # float32 (n_samples, n_features)
    weight: NDArray | None,  # float64 (n_samples,)
    *,
    centred: bool,
) -> Scaling:
    """Find the weighted mean and spread of each feature; without ``centred`` the mean is 0.

    A model with an intercept ranks alike whatever the centre, one without does not.
    """
    share = np.full(len(features), 1.0) if weight is None else weight / weight.max()
    share = share / share.sum()
    mean = _weighted_sum(share, features, np.zeros(features.shape[1]), power=1)
    centre = mean.astype(np.float32) if centred else np.zeros(features.shape[1], np.float32)
    spread = np.sqrt(_weighted_sum(share, features, centre.astype(np.float64), power=2))
    spread = np.maximum(spread, _LEAST_SPREAD * np.abs(centre))
    # A factor, not a divisor: XLA divides by a row and by many equal rows to different last bits.
    smallest, greatest = _LEAST_SCALE, _LARGEST / 4
    factor = 1 / np.where(spread < 1 / greatest, 1, spread)
    return Scaling(centre, np.clip(factor, smallest, greatest).astype(np.float32))


def _weighted_sum(share: NDArray, features: NDArray, centre: NDArray, *, power: int) -> NDArray:
    """Sum powers of deviations in float64, a block of rows at a time."""
    total = np.zeros(features.shape[1])
    for start in range(0, len(features), TILE):  # blocks: a float64 copy of the table is avoided
        rows = slice(start, start + TILE)
        total += share[rows] @ (features[rows].astype(np.float64) - centre) ** power
    return total


def scaled(
    scaling: Scaling | LinearParams, features: Array | NDArray
) -> Array:  # float32, same shape
    """Move and shrink the features; no value is farther than 1e9 from 0."""
    moved = jnp.subtract(features, scaling.centre)  # NumPy would warn of an overflow
    return jnp.clip(moved * scaling.scale, -_FARTHEST, _FARTHEST)


def linear_outputs(
    params: LinearParams,
    features: Array,  # float32 (n_samples, n_features)
) -> Array:  # float32 (n_samples, n_outputs)
    """Evaluate the linear functions, to the same bits whatever the number of rows.

    A matrix product would choose its order of summation by the number of rows, and a compiler
    may round a product and a sum once (FMA) or twice. So the sum runs over the features in their
    order, and factors are cut in two halves of 12 bits, whose products need no rounding.
    """

    def add(total: Array, feature: tuple[Array, Array]) -> tuple[Array, None]:
        value, weight = feature
        for left in _halves(value):
            for right in _halves(weight):
                total = total + left[:, None] * right
        return total, None

    start = jnp.broadcast_to(params.intercept, (len(features), len(params.intercept)))
    total, _ = lax.scan(add, start, (scaled(params, features).T, params.weight))
    return total


def _halves(values: Array) -> tuple[Array, Array]:  # float32, as values
    """Split numbers of 24 bits into a sum of numbers of 12 bits."""
    bits = lax.bitcast_convert_type(values, jnp.uint32) & np.uint32(0xFFFFF000)
    upper = lax.bitcast_convert_type(bits, jnp.float32)
    return upper, values - upper


@functools.partial(jax.jit, static_argnames="of_ranks", compiler_options=COMPILER_OPTIONS)
def utility_rows(
    params: LinearParams,
    features: Array,  # float32 (n_samples, n_features)
    *,
    of_ranks: bool,
) -> Array:  # int32 or float32 (n_samples, n_labels)
    """Rank the labels of each row by their linear utilities, or give the utilities."""

    def rows(block: Array) -> Array:
        utility = linear_outputs(params, block)
        return rank_scores(utility) if of_ranks else utility

    return map_tiles(rows, features)


def in_blocks(*arrays: NDArray) -> tuple[NDArray, ...]:  # each (n_blocks, block_rows, ...)
    """Fill up rows with zeros to a size that similar tables share, and cut them into blocks."""
    n_rows = len(arrays[0])
    size = bucket_size(n_rows)
    block = min(size, TILE)
    size = -(-size // block) * block
    out = []
    for array in arrays:
        padded = np.pad(array, ((0, size - n_rows), *((0, 0),) * (array.ndim - 1)))
        out.append(padded.reshape(size // block, block, *array.shape[1:]))
    return tuple(out)


def outer_sum(
    left: Array,  # float32 (n_samples, n_left)
    right: Array,  # float32 (n_samples, n_right)
) -> Array:  # float32 (n_left, n_right)
    """Compute ``left.T @ right``, in an order that does not depend on the number of threads.

    Eigen cuts a long sum into one part a thread. For few columns this is as fast.
    """
    return jnp.sum(left[:, :, None] * right[:, None, :], axis=0)


def design(scaling: Scaling, features: Array | NDArray) -> Array:  # float32 (..., n_features + 1)
    """Scale the features and append the constant 1."""
    columns = scaled(scaling, features)
    return jnp.concatenate([columns, jnp.ones_like(columns[..., :1])], axis=-1)


def params_of(scaling: Scaling, models: NDArray) -> LinearParams:
    """Split models, float32 (n_features + 1 or n_features, n_outputs), into weight and intercept.

    Without a row for the constant, the intercept is 0.
    """
    n_features = len(scaling.scale)
    models = np.asarray(models)
    intercept = models[n_features] if len(models) > n_features else np.zeros_like(models[0])
    return LinearParams(*scaling, np.ascontiguousarray(models[:n_features]), intercept)


def row_weights(table: TrainingTable) -> NDArray:  # float32 (n_samples,), of mean 1
    """Return the weights of the rows, 1 where all are equal."""
    if table.weight is None:
        return np.ones(len(table.features), np.float32)
    return table.weight.astype(np.float32)


def params_violation(params: LinearParams) -> str | None:
    """Say whether an output might not be finite, of parameters that were read from a file."""
    largest = [max(-float(a.min()), float(a.max())) for a in (params.weight, params.intercept)]
    if largest[0] * len(params.weight) * _FARTHEST + largest[1] > _LARGEST / 4:
        return "weights are so large that a score could be infinite"
    return None
