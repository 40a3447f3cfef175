"""Preferences between two labels: the pairs (i, j) with i < j, in row-major order."""

import functools
import math
from collections.abc import Iterator

import chex
import jax.numpy as jnp
import numpy as np

from lrrf_jax._jax_settings import works_with_our_settings
from lrrf_jax._programs import jit
from lrrf_jax._typing import Array, NDArray
from lrrf_jax.rankings.axes import with_leading_axes

CELLS_PER_BLOCK = 2**20  # of rows x labels x labels


def pair_indices(n_labels: int) -> tuple[NDArray, NDArray]:  # int32 (n_pairs,), int32 (n_pairs,)
    """Return the first and the second label of every pair.

    Examples
    --------
    >>> first, second = pair_indices(3)
    >>> first.tolist(), second.tolist()
    ([0, 0, 1], [1, 2, 2])
    """
    first, second = np.triu_indices(n_labels, 1)
    return first.astype(np.int32), second.astype(np.int32)


def row_blocks(n_rows: int, n_labels: int) -> Iterator[slice]:
    """Yield slices of rows that are few enough to compare all of their labels in 8 MB of float64.

    Examples
    --------
    >>> [rows.stop for rows in row_blocks(2500, 32)]
    [1024, 2048, 3072]
    """
    n_rows_at_once = max(1, CELLS_PER_BLOCK // max(1, n_labels) ** 2)
    for start in range(0, n_rows, n_rows_at_once):
        yield slice(start, start + n_rows_at_once)


def n_labels_of_pairs(n_pairs: int) -> int:
    """Return the number of labels that have ``n_pairs`` pairs; ValueError if there is none.

    Examples
    --------
    >>> n_labels_of_pairs(10)
    5
    """
    n_labels = (1 + math.isqrt(1 + 8 * n_pairs)) // 2
    if n_labels * (n_labels - 1) // 2 != n_pairs:
        raise ValueError(f"{n_pairs} is not the number of pairs of any number of labels")
    return n_labels


@jit
def pair_signs(
    positions: Array,  # float32 or int (..., n_labels), NaN: missing
) -> Array:  # int8 (..., n_pairs)
    """Tell which label of each pair is preferred: +1 the first, -1 the second, 0 unknown.

    A pair is unknown where either label is missing, or where the two are tied.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> pair_signs(jnp.array([[2.0, 1.0, jnp.nan]])).tolist()
    [[-1, 0, 0]]
    """
    first, second = pair_indices(positions.shape[-1])
    one, other = positions[..., first], positions[..., second]
    return (one < other).astype(jnp.int8) - (one > other).astype(jnp.int8)


def pair_signs_on_host(
    positions: NDArray,  # float32 (n_samples, n_labels), NaN: missing
) -> NDArray:  # int8 (n_samples, n_pairs)
    """:func:`pair_signs` in NumPy, for tables that are prepared once: no program to compile."""
    first, second = pair_indices(positions.shape[1])
    signs = np.empty((len(positions), len(first)), np.int8)
    for block in row_blocks(*positions.shape):
        by_label = np.ascontiguousarray(positions[block].T)
        one, other = by_label[first], by_label[second]
        signs[block] = ((one < other).view(np.int8) - (one > other).view(np.int8)).T
    return signs


def preferences_of_logits(
    logit: NDArray,  # float32, any shape
) -> NDArray:  # float32 in [-1, 1], same shape
    """Turn logits into twice the probability less 1; those of the opposite pairs are opposite."""
    return np.tanh(logit.astype(np.float64) / 2).astype(np.float32)


def pair_probabilities(
    preferences: NDArray,  # float32 (n_samples, n_pairs) in [-1, 1], NaN: unknown
) -> NDArray:  # float32 (n_samples, n_labels, n_labels)
    """Lay out the probabilities, ``(1 + preference) / 2``, that label i comes before label j.

    The diagonal is one half.

    Examples
    --------
    >>> pair_probabilities(np.array([[0.5, np.nan, -1]], np.float32))[0].tolist()
    [[0.5, 0.75, nan], [0.25, 0.5, 0.0], [nan, 1.0, 0.5]]
    """
    n_labels = n_labels_of_pairs(preferences.shape[1])
    first, second = pair_indices(n_labels)
    half = preferences.astype(np.float32) / 2
    out = np.full((len(preferences), n_labels, n_labels), 0.5, np.float32)
    out[:, first, second] += half
    out[:, second, first] -= half
    return out


def pairs_ranked(
    positions: NDArray,  # float (n_samples, n_labels), NaN: missing
) -> NDArray:  # bool (n_samples, n_pairs)
    """Tell of which pairs a row ranks both labels, tied or not."""
    ranked = ~np.isnan(positions)
    first, second = pair_indices(positions.shape[1])
    return ranked[:, first] & ranked[:, second]


def reordered_pairs(
    values: NDArray,  # (..., n_pairs), positive where the first label of the pair is preferred
    order: NDArray,  # int (n_labels,), which of the labels so far comes where
) -> NDArray:  # (..., n_pairs)
    """Give the values of the pairs of reordered labels; a pair that is turned round changes sign.

    Examples
    --------
    >>> reordered_pairs(np.array([1, 2, 3]), np.array([2, 0, 1])).tolist()
    [-2, -3, 1]
    """
    n_labels = len(order)
    first, second = pair_indices(n_labels)
    pair = np.zeros((n_labels, n_labels), np.int64)
    pair[first, second] = pair[second, first] = np.arange(len(first))
    one, other = order[first], order[second]
    moved = values[..., pair[one, other]]
    return np.where(one < other, moved, -moved)


@works_with_our_settings
@functools.partial(jit, static_argnames="n_labels")
def antisymmetric(
    pair_values: Array,  # float or signed int (..., n_pairs)
    n_labels: int,
) -> Array:  # pair_values.dtype (..., n_labels, n_labels)
    """Lay pair values out as a matrix A with A[i, j] = value, A[j, i] = -value, diagonal 0.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> antisymmetric(jnp.array([1, 2, 3]), 3).tolist()
    [[0, 1, 2], [-1, 0, 3], [-2, -3, 0]]
    """
    chex.assert_shape(pair_values, (..., n_labels * (n_labels - 1) // 2))
    pair = np.zeros((n_labels, n_labels), np.int32)
    sign = np.zeros((n_labels, n_labels), np.int8)
    first, second = pair_indices(n_labels)
    pair[first, second] = pair[second, first] = np.arange(len(first))
    sign[first, second], sign[second, first] = 1, -1
    if len(first) == 0:  # there is nothing to gather from
        return jnp.zeros((*pair_values.shape[:-1], n_labels, n_labels), pair_values.dtype)
    signs = with_leading_axes(sign.astype(pair_values.dtype), pair_values.ndim + 1)
    return pair_values[..., pair] * signs


def summable(preferences: Array) -> Array:  # int32 or float, preferences.shape
    """Widen small integers, so that sums of them do not overflow."""
    if jnp.issubdtype(preferences.dtype, jnp.integer):
        return preferences.astype(jnp.int32)
    return preferences


def preference_matrix(
    preferences: Array,  # float or int (..., n_pairs)
) -> Array:  # int32 or float (..., n_labels, n_labels)
    """Lay preferences out as in `antisymmetric`, wide enough to be summed."""
    return antisymmetric(summable(preferences), n_labels_of_pairs(preferences.shape[-1]))
