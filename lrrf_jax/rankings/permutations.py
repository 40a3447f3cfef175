"""Scores, rankings and orderings of the same labels, ties and missing labels included.

A *ranking* gives the position of each label (1 = best), an *ordering* lists the labels from best
to worst: they are inverse permutations of each other. All functions work on the last axis.
"""

from collections.abc import Iterator

import chex
import jax.numpy as jnp
import numpy as np

from lrrf_jax._jax_settings import works_with_our_settings
from lrrf_jax._programs import jit
from lrrf_jax._typing import AnyArray, Array, NDArray
from lrrf_jax.rankings.axes import namespace_of, with_leading_axes
from lrrf_jax.rankings.pairwise import row_blocks

# Up to this many labels, comparing all pairs beats sorting: on a CPU, XLA vectorises the
# comparisons over the rows, and sorts each row on its own (60 to 200 times slower at 5 to 16
# labels).
_PAIRWISE_LIMIT = 32


@jit
def rank_scores(
    scores: Array,  # float or int (..., n_labels), larger is better
) -> Array:  # int32 (..., n_labels), 1..n_labels
    """Rank labels by decreasing score; of equal scores the lower label index comes first.

    The result is a permutation whatever the scores: a NaN counts as the lowest score.
    Costs O(n_labels^2) per row up to 32 labels, O(n_labels log n_labels) above.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> rank_scores(jnp.array([3, 7, 7, 9])).tolist()
    [4, 2, 3, 1]
    """
    if jnp.issubdtype(scores.dtype, jnp.floating):
        scores = jnp.where(jnp.isnan(scores), -jnp.inf, scores)
    n_labels = scores.shape[-1]
    if n_labels > _PAIRWISE_LIMIT:
        ordering = jnp.argsort(scores, axis=-1, stable=True, descending=True)
        return 1 + jnp.argsort(ordering, axis=-1).astype(jnp.int32)
    mine, other = scores[..., :, None], scores[..., None, :]
    label = jnp.arange(n_labels)
    lower_index = with_leading_axes(label[None, :] < label[:, None], mine.ndim)
    ahead = (other > mine) | ((other == mine) & lower_index)
    return 1 + jnp.sum(ahead, axis=-1, dtype=jnp.int32)


@jit
def take_in_order(
    values: Array,  # (..., n_labels), one value per label
    ranks: Array,  # (..., n_labels), a permutation of 1..n_labels
) -> Array:  # values.dtype (..., n_labels), column p: the value of the label at position p + 1
    """Rearrange label values from best to worst label."""
    n_labels = ranks.shape[-1]
    chex.assert_equal_shape_suffix([values, ranks], 1)
    values, ranks = jnp.broadcast_arrays(values, ranks)
    if n_labels > _PAIRWISE_LIMIT:
        return jnp.take_along_axis(values, jnp.argsort(ranks, axis=-1), axis=-1)
    position = jnp.arange(1, n_labels + 1).astype(ranks.dtype)
    here = ranks[..., None, :] == with_leading_axes(position[:, None], ranks.ndim + 1)
    zero = jnp.zeros((), values.dtype)
    return jnp.sum(jnp.where(here, values[..., None, :], zero), axis=-1, dtype=values.dtype)


@jit
def ordering_from_ranks(
    ranks: Array,  # int or float (..., n_labels), a permutation of 1..n_labels
) -> Array:  # int32 (..., n_labels), label indices, best first
    """Invert complete rankings into orderings.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> ordering_from_ranks(jnp.array([5, 2, 3, 1, 4])).tolist()
    [3, 1, 2, 4, 0]
    """
    labels = jnp.arange(ranks.shape[-1], dtype=jnp.int32)
    return take_in_order(jnp.broadcast_to(labels, ranks.shape), ranks)


@jit
def n_ranked(
    positions: Array,  # float (..., n_labels), NaN: missing
) -> Array:  # int32 (...)
    """Count the labels that each ranking ranks."""
    chex.assert_type(positions, float)
    return jnp.sum(~jnp.isnan(positions), axis=-1, dtype=jnp.int32)


@jit
def place_missing_last(
    positions: Array,  # float (..., n_labels), 1..m' dense, NaN: missing
) -> Array:  # positions.dtype (..., n_labels), no NaN
    """Read rankings as top-k lists: every missing label comes after every ranked one.

    The missing labels share the mean of the places that are left, so their order stays unknown
    (equal positions) and their Borda vote is the mean of the votes that are left. A row that
    ranks nothing becomes one tie of all labels.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> place_missing_last(jnp.array([[1.0, 2.0, jnp.nan, jnp.nan]])).tolist()
    [[1.0, 2.0, 3.5, 3.5]]
    """
    n_labels = positions.shape[-1]
    ranked = n_ranked(positions)[..., None].astype(positions.dtype)
    bottom = ranked + (n_labels - ranked + 1) / 2
    return jnp.where(jnp.isnan(positions), bottom, positions)


@works_with_our_settings
def places(
    positions: AnyArray,  # float (..., n_labels), NaN: missing
) -> tuple[AnyArray, AnyArray]:  # int32, int32, both (..., n_labels)
    """Count, for every label, the ranked labels before it and those level with it, itself included.

    Both counts close gaps: they depend on the order of the positions alone. Both are 0 for a
    missing label. JAX arrays give JAX arrays, NumPy arrays give NumPy arrays. Costs
    O(n_labels^2) per row.
    """
    if namespace_of(positions) is np:
        rows = positions.reshape(-1, positions.shape[-1])
        counts = np.empty((2, *rows.shape), np.int32)
        for block, *of_block in place_blocks(rows):
            counts[:, block] = np.swapaxes(of_block, 1, 2)
        return counts[0].reshape(positions.shape), counts[1].reshape(positions.shape)
    mine, other = positions[..., :, None], positions[..., None, :]
    n_before = jnp.sum(other < mine, axis=-1, dtype=jnp.int32)
    n_level = jnp.sum(other == mine, axis=-1, dtype=jnp.int32)
    return n_before, n_level


def place_blocks(
    positions: NDArray,  # float (n_samples, n_labels), NaN: missing
) -> Iterator[tuple[slice, NDArray, NDArray]]:
    """Yield blocks of rows and their `places`, small integers (n_labels, n_rows), label by label.

    A row of these holds neighbours in memory, and what a block takes stays in a core's cache.
    """
    n_labels = positions.shape[1]
    kind = np.uint8 if n_labels < 2**8 else np.int32
    for block in row_blocks(*positions.shape):
        by_label = np.ascontiguousarray(positions[block].T)
        n_before, n_level = np.zeros((2, *by_label.shape), kind)
        for other in by_label:
            n_before += (other < by_label).view(np.uint8)
            n_level += (other == by_label).view(np.uint8)
        yield block, n_before, n_level
