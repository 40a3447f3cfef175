"""Columns that are made of the features: squares, products and hinges."""

from typing import Annotated, NamedTuple

import jax.numpy as jnp
import numpy as np

from lrrf_jax._numerics import product
from lrrf_jax._typing import AnyArray, Array, NDArray
from lrrf_jax.learners.persistence.schema import Stored

BASES = ("linear", "squares", "quadratic", "hinges")
_KNOTS = np.arange(1, 6) / 6  # the shares of rows below the hinges
SMALLEST_SCALE = float(np.finfo(np.float32).tiny)


class Basis(NamedTuple):
    """Scaled features, products of two of them, and hinges ``max(0, x - knot)``, in this order.

    The hinges of a feature stand side by side.
    """

    centre: Annotated[AnyArray, Stored("float32", "n_features")]
    scale: Annotated[AnyArray, Stored("float32", "n_features", minimum=SMALLEST_SCALE)]
    first: Annotated[AnyArray, Stored("int32", "n_products", minimum=0, maximum="n_features")]
    second: Annotated[AnyArray, Stored("int32", "n_products", minimum=0, maximum="n_features")]
    knots: Annotated[AnyArray, Stored("float32", "n_features", "n_knots")]  # of scaled features

    @property
    def n_columns(self) -> int:
        """Columns that are made of a row."""
        n_features, n_knots = self.knots.shape
        return n_features + len(self.first) + n_features * n_knots


def basis_of(
    name: str,
    features: NDArray,  # float32 (n_samples, n_features)
    centre: NDArray,  # float32 (n_features,)
    scale: NDArray,  # float32 (n_features,)
) -> Basis:
    """Make the basis of this name, with hinges at quantiles of the features."""
    n_features = len(scale)
    first = second = np.arange(n_features)
    if name == "quadratic":
        first, second = np.triu_indices(n_features)
    shares = _KNOTS if name == "hinges" else _KNOTS[:0]
    # A column at a time, in float64: quantiles between two large numbers stay finite.
    knots = np.array([np.quantile(column.astype(np.float64), shares) for column in features.T])
    knots = (knots - centre[:, None].astype(np.float64)) * scale[:, None]
    return Basis(
        centre,
        scale,
        first.astype(np.int32),
        second.astype(np.int32),
        np.ascontiguousarray(knots, np.float32),
    )


def expanded(
    basis: Basis,
    x: Array,  # float32 (..., n_features), scaled
) -> Array:  # float32 (..., n_columns)
    """Make the columns of scaled features."""
    left, right = (x.at[..., i].get(mode="promise_in_bounds") for i in (basis.first, basis.second))
    hinges = jnp.maximum(x[..., None] - basis.knots, 0).reshape(*x.shape[:-1], basis.knots.size)
    # A product that has not rounded might do so together with the sum that comes next, or not.
    return jnp.concatenate([x, product(left, right), hinges], axis=-1)
