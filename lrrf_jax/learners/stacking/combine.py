"""From the pair scores of the members to rankings."""

import functools

import chex
import jax.numpy as jnp
import numpy as np

from lrrf_jax._programs import jit
from lrrf_jax._typing import Array, NDArray
from lrrf_jax.rankings.aggregation import kemeny, scores_in_order
from lrrf_jax.rankings.pairwise import antisymmetric

FARTHEST = 6.0  # a member's logit counts no more: it is as sure as 1 in 400
_UNIT = 2**16  # of preferences that are summed exactly


def logit_of(preferences: NDArray) -> NDArray:  # float32, same shape
    """Turn preferences in [-1, 1] into logits, those that are not known (NaN) into 0.

    In float64 first, for functions of float32 differ in their last digit between processors.
    """
    most = np.tanh(FARTHEST / 2)
    known = np.clip(np.nan_to_num(preferences.astype(np.float64)), -most, most)
    return (2 * np.arctanh(known)).astype(np.float32)


@functools.partial(jit, static_argnames=("n_labels", "of_ranks"))
def decode(
    preferences: Array,  # float32 (n_samples, n_pairs) in [-1, 1]
    *,
    n_labels: int,
    of_ranks: bool,
) -> Array:  # int32 or float32 (n_samples, n_labels)
    """Find the rankings that agree most with the preferences, by Kemeny's rule, or their scores.

    Preferences are rounded to multiples of 2**-16 first, so that their sums are exact.
    """
    chex.assert_shape(preferences, (None, n_labels * (n_labels - 1) // 2))
    whole = jnp.round(preferences * _UNIT).astype(jnp.int32)
    ranks = kemeny(whole, n_labels)
    if of_ranks:
        return ranks
    total = antisymmetric(whole, n_labels).sum(-1, dtype=jnp.int32)
    return scores_in_order(total.astype(jnp.float32) / (_UNIT * (n_labels - 1)), ranks)
