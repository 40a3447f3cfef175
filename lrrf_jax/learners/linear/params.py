"""The model of the linear learners, and the scaling of features that comes before it."""

from typing import Annotated, NamedTuple

import jax.numpy as jnp
import numpy as np

from lrrf_jax._programs import jit
from lrrf_jax._typing import AnyArray, Array, NDArray
from lrrf_jax.learners.batching import TILE
from lrrf_jax.learners.persistence.schema import Stored

# A spread below this share of the mean is what rounding to float32 leaves of a constant.
_MIN_SPREAD = 1e-6
# Values this many spreads from the mean are cut off: sums of products then stay finite.
FARTHEST = 1e9
_MIN_SCALE = float(np.finfo(np.float32).tiny)
_LARGEST = float(np.finfo(np.float32).max)


class LinearParams(NamedTuple):
    """Linear functions of scaled features: ``(x - centre) * scale @ weight + intercept``."""

    centre: Annotated[AnyArray, Stored("float32", "n_features")]
    scale: Annotated[AnyArray, Stored("float32", "n_features", minimum=_MIN_SCALE)]
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
    spread = np.maximum(spread, _MIN_SPREAD * np.abs(centre))
    # A factor, not a divisor: XLA divides by a row and by many equal rows to different last bits.
    smallest, greatest = _MIN_SCALE, _LARGEST / 4
    factor = 1 / np.where(spread < 1 / greatest, 1, spread)
    return Scaling(centre, np.clip(factor, smallest, greatest).astype(np.float32))


def _weighted_sum(share: NDArray, features: NDArray, centre: NDArray, *, power: int) -> NDArray:
    """Sum powers of deviations in float64, a block of rows at a time."""
    total = np.zeros(features.shape[1])
    for start in range(0, len(features), TILE):  # blocks: a float64 copy of the table is avoided
        rows = slice(start, start + TILE)
        total += share[rows] @ (features[rows].astype(np.float64) - centre) ** power
    return total


@jit
def scaled(
    scaling: Scaling | LinearParams, features: Array | NDArray
) -> Array:  # float32, same shape
    """Move and shrink the features; no value is farther than 1e9 from 0."""
    moved = jnp.subtract(features, scaling.centre)  # NumPy would warn of an overflow
    return jnp.clip(moved * scaling.scale, -FARTHEST, FARTHEST)


@jit
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


def params_violation(params: LinearParams) -> str | None:
    """Say whether an output might not be finite, of parameters that were read from a file."""
    largest = [max(-float(a.min()), float(a.max())) for a in (params.weight, params.intercept)]
    if largest[0] * len(params.weight) * FARTHEST + largest[1] > _LARGEST / 4:
        return "weights are so large that a score could be infinite"
    return None
