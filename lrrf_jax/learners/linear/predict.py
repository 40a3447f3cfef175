"""Linear functions of rows, to the same bits whatever the number of rows."""

import functools
from collections.abc import Callable

import chex
import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._backend import by_platform
from lrrf_jax._programs import jit
from lrrf_jax._typing import Array
from lrrf_jax._xla import COMPILER_OPTIONS, scan
from lrrf_jax.learners.batching import map_tiles
from lrrf_jax.learners.linear.params import AnyParams, n_features_of, scaled
from lrrf_jax.rankings.permutations import rank_scores

_WIDE_OUTPUTS = 2**27


def assert_applies(params: AnyParams, features: Array) -> None:
    """Check, as a program is traced, that the linear functions are of these features."""
    n_columns, n_outputs = params.weight.shape
    chex.assert_shape([features], [(None, n_features_of(params))])
    chex.assert_shape([params.centre, params.scale], (n_columns,))
    chex.assert_shape(params.intercept, (n_outputs,))
    chex.assert_type([features, *params[-4:]], jnp.float32)


def linear_outputs(
    params: AnyParams,
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
    total, _ = scan(add, start, (scaled(params, features).T, params.weight))
    return total


def _halves(values: Array) -> tuple[Array, Array]:  # float32, as values
    """Split numbers of 24 bits into a sum of numbers of 12 bits."""
    bits = lax.bitcast_convert_type(values, jnp.uint32) & np.uint32(0xFFFFF000)
    upper = lax.bitcast_convert_type(bits, jnp.float32)
    return upper, values - upper


@functools.partial(jit, static_argnames="of_ranks", compiler_options=COMPILER_OPTIONS)
def utility_rows(
    params: AnyParams,
    features: Array,  # float32 (n_samples, n_features)
    *,
    of_ranks: bool,
) -> Array:  # int32 or float32 (n_samples, n_labels)
    """Rank the labels of each row by their linear utilities, or give the utilities."""
    assert_applies(params, features)

    def rows(block: Array) -> Array:
        utility = linear_outputs(params, block)
        return rank_scores(utility) if of_ranks else utility

    return map_linear(rows, features, params)


def map_linear(rows: Callable[[Array], Array], features: Array, params: AnyParams) -> Array:
    """Apply a function of rows that evaluates the linear functions, to tiles of rows.

    Those of accelerators are so large that a gigabyte holds twice the outputs.
    """
    n_outputs = params.weight.shape[1]
    wide = 1 << max(0, (_WIDE_OUTPUTS // n_outputs).bit_length() - 1)
    return by_platform(
        features,
        cpu=functools.partial(map_tiles, rows),
        accelerator=functools.partial(map_tiles, rows, tile=wide),
    )
