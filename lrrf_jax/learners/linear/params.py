"""The model of the linear learners, and the scaling of features that comes before it."""

from collections.abc import Callable
from typing import Annotated, NamedTuple, TypeAlias

import jax.numpy as jnp
import numpy as np

from lrrf_jax._programs import jit
from lrrf_jax._typing import AnyArray, Array, NDArray
from lrrf_jax._xla import bucket_size
from lrrf_jax.learners.batching import TILE
from lrrf_jax.learners.linear.basis import SMALLEST_SCALE, Basis, basis_of, expanded
from lrrf_jax.learners.persistence.schema import Stored

# A spread below this share of the mean is what rounding to float32 leaves of a constant.
_MIN_SPREAD = 1e-6
# Values this many spreads from the mean are cut off: sums of products then stay finite.
FARTHEST = 1e9
_LARGEST = float(np.finfo(np.float32).max)


class LinearParams(NamedTuple):
    """Linear functions of scaled features: ``(x - centre) * scale @ weight + intercept``."""

    centre: Annotated[AnyArray, Stored("float32", "n_features")]
    scale: Annotated[AnyArray, Stored("float32", "n_features", minimum=SMALLEST_SCALE)]
    weight: Annotated[AnyArray, Stored("float32", "n_features", "n_outputs")]
    intercept: Annotated[AnyArray, Stored("float32", "n_outputs")]


class ExpandedParams(NamedTuple):
    """Linear functions of scaled columns that are made of features by a basis."""

    basis: Basis
    centre: Annotated[AnyArray, Stored("float32", "n_columns")]
    scale: Annotated[AnyArray, Stored("float32", "n_columns", minimum=SMALLEST_SCALE)]
    weight: Annotated[AnyArray, Stored("float32", "n_columns", "n_outputs")]
    intercept: Annotated[AnyArray, Stored("float32", "n_outputs")]


class Scaling(NamedTuple):
    """Where each feature is moved and how it is shrunk before anything is learnt from it."""

    centre: AnyArray  # float32 (n_features,)
    scale: AnyArray  # float32 (n_features,), positive


class ExpandedScaling(NamedTuple):
    """The same for the columns of a basis."""

    basis: Basis
    centre: AnyArray  # float32 (n_columns,)
    scale: AnyArray  # float32 (n_columns,), positive


AnyParams: TypeAlias = LinearParams | ExpandedParams
AnyScaling: TypeAlias = Scaling | ExpandedScaling


def n_features_of(scaling: AnyScaling | AnyParams) -> int:
    """Count the features, of which a basis makes more columns."""
    if isinstance(scaling, ExpandedScaling | ExpandedParams):
        return len(scaling.basis.scale)
    return len(scaling.scale)


def scaling_of(
    features: NDArray,  # float32 (n_samples, n_features)
    weight: NDArray | None,  # float64 (n_samples,)
    *,
    centred: bool,
    basis: str = "linear",
) -> AnyScaling:
    """Find the weighted mean and spread of each feature; without ``centred`` the mean is 0.

    A model with an intercept ranks alike whatever the centre, one without does not. The columns
    that another basis than "linear" makes of scaled features are scaled like features.
    """
    share = np.full(len(features), 1.0) if weight is None else weight / weight.max()
    share = share / share.sum()
    scaling = Scaling(*_scaling(share, features, _same, centred))
    if basis == "linear":
        return scaling
    made = basis_of(basis, features, *scaling)

    def columns(rows: NDArray) -> NDArray:
        filled = np.pad(rows, ((0, bucket_size(len(rows)) - len(rows)), (0, 0)))
        return np.asarray(_columns(made, filled))[: len(rows)]

    return ExpandedScaling(made, *_scaling(share, features, columns, centred))


def _same(rows: NDArray) -> NDArray:
    return rows


def _scaling(
    share: NDArray, features: NDArray, columns: Callable[[NDArray], NDArray], centred: bool
) -> tuple[NDArray, NDArray]:  # both float32 (n_columns,)
    mean = _weighted_sum(share, features, columns, np.zeros(1), power=1)
    centre = mean.astype(np.float32) if centred else np.zeros(len(mean), np.float32)
    spread = np.sqrt(_weighted_sum(share, features, columns, centre.astype(np.float64), power=2))
    spread = np.maximum(spread, _MIN_SPREAD * np.abs(centre))
    # A factor, not a divisor: XLA divides by a row and by many equal rows to different last bits.
    smallest, greatest = SMALLEST_SCALE, _LARGEST / 4
    factor = 1 / np.where(spread < 1 / greatest, 1, spread)
    return centre, np.clip(factor, smallest, greatest).astype(np.float32)


def _weighted_sum(
    share: NDArray,
    features: NDArray,
    columns: Callable[[NDArray], NDArray],
    centre: NDArray,
    *,
    power: int,
) -> NDArray:
    """Sum powers of deviations in float64, a block of rows at a time."""
    total = np.zeros(1)
    for start in range(0, len(features), TILE):  # blocks: a float64 copy of the table is avoided
        rows = slice(start, start + TILE)
        terms = (columns(features[rows]).astype(np.float64) - centre) ** power
        total = total + share[rows] @ terms
    return total


@jit
def _columns(basis: Basis, features: Array) -> Array:
    return expanded(basis, _moved(basis, features))


@jit
def scaled(
    scaling: AnyScaling | AnyParams, features: Array | NDArray
) -> Array:  # float32 (..., n_columns), which without a basis are the features
    """Move and shrink the features, or columns of them; no value is farther than 1e9 from 0."""
    if isinstance(scaling, ExpandedScaling | ExpandedParams):
        features = expanded(scaling.basis, _moved(scaling.basis, features))
    return _moved(scaling, features)


def _moved(scaling: AnyScaling | AnyParams | Basis, columns: Array | NDArray) -> Array:
    moved = jnp.subtract(columns, scaling.centre)  # NumPy would warn of an overflow
    return jnp.clip(moved * scaling.scale, -FARTHEST, FARTHEST)


@jit
def design(scaling: AnyScaling, features: Array | NDArray) -> Array:  # float32 (..., n_columns + 1)
    """Scale the features, or columns of them, and append the constant 1."""
    columns = scaled(scaling, features)
    return jnp.concatenate([columns, jnp.ones_like(columns[..., :1])], axis=-1)


def params_of(scaling: AnyScaling, models: NDArray) -> AnyParams:
    """Split models, float32 (n_columns + 1 or n_columns, n_outputs), into weight and intercept.

    Without a row for the constant, the intercept is 0.
    """
    n_columns = len(scaling.scale)
    models = np.asarray(models)
    intercept = models[n_columns] if len(models) > n_columns else np.zeros_like(models[0])
    weight = np.ascontiguousarray(models[:n_columns])
    if isinstance(scaling, ExpandedScaling):
        return ExpandedParams(*scaling, weight, intercept)
    return LinearParams(*scaling, weight, intercept)


def params_violation(params: AnyParams) -> str | None:
    """Say what is wrong of parameters that were read from a file, each of which is right."""
    if isinstance(params, ExpandedParams) and params.basis.n_columns != len(params.weight):
        return f"weights are of {len(params.weight)} columns, not {params.basis.n_columns}"
    largest = [max(-float(a.min()), float(a.max())) for a in (params.weight, params.intercept)]
    if largest[0] * len(params.weight) * FARTHEST + largest[1] > _LARGEST / 4:
        return "weights are so large that a score could be infinite"
    return None
