"""Candidate thresholds of every feature, and the bin between them that a value falls into.

A bin is the number of thresholds at or below a value, so that ``x >= threshold[b]`` is the same
as ``bin > b``: growth on bins and traversal on raw values take the same way for every float32.
NaN has a bin of its own, the last.
"""

import functools
from collections.abc import Callable

import chex
import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._numerics import HIGHEST, INFINITY_KEY, float_key, float_key_on_host
from lrrf_jax._programs import jit
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._xla import COMPILER_OPTIONS, bucket_size, fusion_barrier, take

MAX_THRESHOLDS = 255  # bins fit in uint8
_BIN_SIZES = (16, 32, 64, 128, 256)  # few sizes, so that few programs are compiled
_QUANTILE_ROWS = 200_000  # more rows do not move a quantile by a visible amount
_THRESHOLDS_PER_STEP = 8
_MOST_SEARCHED_ROWS = 4096  # fewer are searched in the time that a program takes to start


def candidate_thresholds(
    features: NDArray,  # float32 (n_samples, n_features), may hold NaN
    max_thresholds: int,
) -> NDArray:  # float32 (n_features, n_bins - 1)
    """Choose at most ``max_thresholds`` thresholds per feature, each between two of its values.

    Where a feature has few distinct values every midpoint is kept, else those nearest to equal
    shares of the rows. A feature with missing values starts with ``-inf``, which parts them from
    the others. Rows are padded with ``+inf``, which sends nothing to the left.

    Returns
    -------
    float32 (n_features, n_bins - 1)
        Rising thresholds; ``n_bins`` is 16, 32, 64, 128 or 256.

    Notes
    -----
    Sorts each column: O(n_features n_samples log n_samples), of at most 200,000 rows.
    """
    n_samples = len(features)
    has_missing = bool(np.isnan(features).any())
    if has_missing:
        max_thresholds = min(max_thresholds, MAX_THRESHOLDS - 1)  # the last bin is for NaN
    if n_samples > _QUANTILE_ROWS:
        features = features[:: -(-n_samples // _QUANTILE_ROWS)]
    columns = [_column_thresholds(column, max_thresholds) for column in features.T]
    longest = max(len(column) for column in columns) + 1 + has_missing
    n_bins = next(size for size in _BIN_SIZES if size >= longest)
    table = np.full((len(columns), n_bins - 1), np.inf, np.float32)
    for row, column in zip(table, columns, strict=True):
        row[: len(column)] = column
    return table


def _column_thresholds(column: NDArray, max_thresholds: int) -> NDArray:
    ordered = np.sort(column)  # NaN last
    known = ordered[: len(ordered) - np.count_nonzero(np.isnan(ordered))]
    head = np.full(int(len(known) < len(column)), -np.inf, np.float32)
    room = max_thresholds - len(head)
    below = np.flatnonzero(known[1:] != known[:-1]) + 1  # rows below each midpoint
    if len(below) > room:
        wanted = np.arange(1, room + 1) * (len(known) / (room + 1))
        at = np.searchsorted(below, wanted)
        nearer = np.clip(at - 1, 0, None)
        at = np.clip(at, 0, len(below) - 1)
        at = np.where(wanted - below[nearer] < below[at] - wanted, nearer, at)
        below = below[np.unique(at)]
    lower, upper = known[below - 1], known[below]
    middle = lower / 2 + upper / 2  # the sum could overflow
    return np.concatenate([head, np.where(middle > lower, middle, upper)])


def bin_features(
    features: NDArray,  # float32 (n_samples, n_features)
    thresholds: NDArray,  # float32 (n_features, n_bins - 1)
) -> NDArray:  # uint8 (n_samples, n_features)
    """Count the thresholds at or below each value; NaN gets the last bin, ``n_bins - 1``."""
    if len(features) > _MOST_SEARCHED_ROWS:
        n_rows = bucket_size(len(features), per_octave=4)
        padded = np.zeros((n_rows, features.shape[1]), np.float32)
        padded[: len(features)] = features
        return np.asarray(_count_thresholds(padded, thresholds))[: len(features)]
    bins = np.empty(features.shape, np.uint8)
    keys, steps = float_key_on_host(features), float_key_on_host(thresholds)
    for feature, own in enumerate(steps):
        own = own[own < INFINITY_KEY]  # the padding, which no value is at or above
        bins[:, feature] = np.searchsorted(own, keys[:, feature], side="right")
    bins[np.isnan(features)] = thresholds.shape[1]
    return bins


@functools.partial(jit, compiler_options=COMPILER_OPTIONS)
def _count_thresholds(
    features: Array,  # float32 (n_samples, n_features)
    thresholds: Array,  # float32 (n_features, n_bins - 1)
) -> Array:  # uint8 (n_samples, n_features)
    """Count one by one, several times faster than a binary search of many values."""
    chex.assert_rank([features, thresholds], 2)
    chex.assert_shape(features, (None, len(thresholds)))
    chex.assert_type([features, thresholds], jnp.float32)
    n_bins = thresholds.shape[1] + 1
    keys = float_key(features).T
    steps = jnp.pad(
        float_key(thresholds),
        ((0, 0), (0, -thresholds.shape[1] % _THRESHOLDS_PER_STEP)),
        constant_values=HIGHEST,
    )
    # The padding of `thresholds` itself: no value may be counted as at or above it.
    steps = jnp.where(steps >= jnp.int32(INFINITY_KEY), jnp.int32(HIGHEST), steps)

    # some: int32 (_THRESHOLDS_PER_STEP, n_features)
    def count(total: Array, some: Array) -> tuple[Array, None]:
        for step in range(_THRESHOLDS_PER_STEP):
            total = total + (keys >= some[step][:, None]).astype(jnp.int32)
        return total, None

    steps = steps.T.reshape(-1, _THRESHOLDS_PER_STEP, features.shape[1])
    bins = lax.scan(count, jnp.zeros(keys.shape, jnp.int32), steps)[0]
    bins = jnp.where(jnp.isnan(features.T), jnp.int32(n_bins - 1), bins)
    return bins.astype(jnp.uint8).T


def bins_of_rows(
    bin_index: Array,  # uint8 (n_samples, n_features)
    row: Array,  # int32 (n_drawn,)
    feature: Array,  # int32 (n_drawn,), or one for all
) -> Array:  # int32 (n_drawn,)
    """Look up one bin of each row."""
    cell = row * bin_index.shape[1] + feature
    return take(bin_index.reshape(-1), cell).astype(jnp.int32)


def candidate_bins(
    bin_index: Array,  # uint8 (n_samples, n_features)
    row: Array,  # int32 (n_drawn,)
    slot: Array,  # int32 (n_drawn,), the node of each
    candidates: Array,  # int32 (n_nodes, n_candidates), features that a node may split on
) -> Callable[[int | Array], Array]:
    """Return the function from a candidate's number to the bin of each row, int32 (n_drawn,).

    As many features as fit share a word: a look-up costs more than arithmetic.
    """
    n_nodes, n_candidates = candidates.shape
    bits = max(1, (bin_index.shape[1] - 1).bit_length())
    per_word = min(31 // bits, n_candidates)
    padded = jnp.pad(candidates, ((0, 0), (0, -n_candidates % per_word)))
    shift = bits * jnp.arange(per_word, dtype=jnp.int32)
    packed = (padded.reshape(n_nodes, -1, per_word) << shift).sum(-1, dtype=jnp.int32)
    packed = fusion_barrier(packed.T)
    words = fusion_barrier(jnp.stack([take(word, slot) for word in packed]))

    def bins(k: int | Array) -> Array:
        word = lax.dynamic_index_in_dim(words, k // per_word, keepdims=False)
        return bins_of_rows(bin_index, row, word >> bits * (k % per_word) & (2**bits - 1))

    return bins
