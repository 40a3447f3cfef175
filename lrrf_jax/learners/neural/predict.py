"""What perceptrons say of rows, to the same bits in whatever order sums are made."""

import functools
from typing import Annotated, NamedTuple

import chex
import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._backend import by_platform
from lrrf_jax._programs import jit
from lrrf_jax._typing import AnyArray, Array, NDArray
from lrrf_jax._xla import COMPILER_OPTIONS
from lrrf_jax.learners.batching import map_tiles
from lrrf_jax.learners.linear.params import Scaling, scaled
from lrrf_jax.learners.persistence.schema import Stored
from lrrf_jax.rankings.permutations import rank_scores

EXACT = lax.Precision.HIGHEST
# Features and what hidden layers put out are cut off here, and rounded: see `exact_product`.
FARTHEST_INPUT, HIGHEST = 16.0, 8.0
COARSE_AND_FINE = 2.0**-5, 2.0**-13
_MOST_UNITS = 2**15  # that the weights of an output may sum to
_LARGEST = float(np.finfo(np.float32).max)
_MIN_SCALE = float(np.finfo(np.float32).tiny)


class PerceptronParams(NamedTuple):
    """Scaling of features, and the layers of all networks; rounded, see `rounded`."""

    centre: Annotated[AnyArray, Stored("float32", "n_features")]
    scale: Annotated[AnyArray, Stored("float32", "n_features", minimum=_MIN_SCALE)]
    weight_1: Annotated[AnyArray, Stored("float32", "n_networks", "n_features", "n_hidden")]
    intercept_1: Annotated[AnyArray, Stored("float32", "n_networks", "n_hidden")]
    weight_2: Annotated[AnyArray, Stored("float32", "n_networks", "n_hidden", "n_hidden")]
    intercept_2: Annotated[AnyArray, Stored("float32", "n_networks", "n_hidden")]
    weight_3: Annotated[AnyArray, Stored("float32", "n_networks", "n_hidden", "n_outputs")]
    intercept_3: Annotated[AnyArray, Stored("float32", "n_outputs")]


def bent(values: Array) -> Array:
    """Bend what a hidden layer puts out: nothing below 0, at most 8."""
    return jnp.clip(values, 0, HIGHEST)


def bounded(scaling: Scaling | PerceptronParams, features: Array | NDArray) -> Array:
    """Scale features, and cut them off 16 spreads from the mean."""
    scaling = Scaling(scaling.centre, scaling.scale)
    return jnp.clip(scaled(scaling, features), -FARTHEST_INPUT, FARTHEST_INPUT)


def exact_product(
    inputs: Array,  # float32, as `spec` says, of -16 .. 16
    weight: Array,  # float32, `rounded`
    spec: str,
) -> Array:
    """Multiply matrices to the same bits in whatever order sums are made.

    A matrix product chooses its order by the number of rows and by the machine. Here no order
    rounds: inputs are multiples of 2**-13, cut into coarse and fine parts of 9 bits, and the
    weights of an output are so many bits wide as leave room for their sum.
    """
    upper, lower = COARSE_AND_FINE
    inputs = jnp.round(inputs / lower) * lower
    coarse = jnp.floor(inputs / upper) * upper
    return jnp.einsum(spec, coarse, weight, precision=EXACT) + jnp.einsum(
        spec, inputs - coarse, weight, precision=EXACT
    )


def rounded(weight: NDArray, axes: tuple[int, ...]) -> NDArray:  # float32, weight.shape
    """Round the weights of each output to multiples of a power of two.

    ``axes`` are those of the inputs. The unit is so large that the weights of an output sum to at
    most 2**15 units, and half a unit for each input besides.
    """
    total = np.abs(weight.astype(np.float64)).sum(axes, keepdims=True)
    unit = 2.0 ** np.ceil(np.log2(np.where(total > 0, total, 1) / _MOST_UNITS))
    return np.asarray(np.round(weight / unit) * unit, np.float32)


def perceptron_utilities(params: PerceptronParams, features: Array) -> Array:
    """Average the utilities of the networks; float32 (n_samples, n_labels)."""
    chex.assert_type([features, *params], jnp.float32)
    chex.assert_shape([features], [(None, params.weight_1.shape[1])])
    hidden = exact_product(bounded(params, features), params.weight_1, "rf,nfh->nrh")
    hidden = exact_product(
        bent(hidden + params.intercept_1[:, None]), params.weight_2, "nrg,ngh->nrh"
    )
    utility = exact_product(
        bent(hidden + params.intercept_2[:, None]), params.weight_3, "nrh,nhl->rl"
    )
    return utility + params.intercept_3


@functools.partial(jit, static_argnames="of_ranks", compiler_options=COMPILER_OPTIONS)
def perceptron_rows(
    params: PerceptronParams,
    features: Array,  # float32 (n_samples, n_features)
    *,
    of_ranks: bool,
) -> Array:  # int32 or float32 (n_samples, n_labels)
    """Rank the labels of each row by their utilities, or give the utilities."""

    def rows(block: Array) -> Array:
        utility = perceptron_utilities(params, block)
        return rank_scores(utility) if of_ranks else utility

    return by_platform(
        features,
        cpu=functools.partial(map_tiles, rows),
        accelerator=functools.partial(map_tiles, rows, tile=2**17),
    )


def params_violation(params: PerceptronParams) -> str | None:
    """Say what is wrong of parameters that were read from a file, each of which is right."""
    for weight, intercept in (params[2:4], params[4:6], params[6:8]):
        reach = FARTHEST_INPUT * float(np.abs(weight).max()) * weight[..., 0].size
        if reach + float(np.abs(intercept).max()) > _LARGEST / 4:
            return "weights are so large that a score could be infinite"
    return None
