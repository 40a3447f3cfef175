"""Rankings as additive per-sample statistics, the form in which a tree sums them over its nodes."""

import chex
import jax.numpy as jnp
import numpy as np

from lrrf_jax._numerics import quotient
from lrrf_jax._programs import jit
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._xla import worked_out
from lrrf_jax.rankings.permutations import place_blocks, places
from lrrf_jax.rankings.ties import canonical_order


def label_at_position(
    positions: NDArray,  # float (n_samples, n_labels), NaN: missing
) -> NDArray:  # int32 (n_samples, n_labels), column p: label at place p + 1, -1: none or tied
    """Return the label on each place, best first; column 0 is the top label (the TLAC class).

    A column is -1 where the ranking has no such place, or where several labels share it. Runs on
    the host, O(n_labels^2) per row.

    Examples
    --------
    >>> label_at_position(np.array([[2.0, np.nan, 1.0]])).tolist()
    [[2, 0, -1]]
    """
    n_samples, n_labels = positions.shape
    found = np.full((n_samples, n_labels + 1), -1, np.int32)  # the last: of labels not alone
    label = np.arange(n_labels, dtype=np.int32)[:, None]
    for block, n_before, n_level in place_blocks(positions):
        place = np.where(n_level == 1, n_before, n_labels)
        found[block][np.arange(place.shape[1]), place] = label
    return found[:, :-1]


def ranking_classes(
    positions: NDArray,  # float (n_samples, n_labels), NaN: missing
) -> tuple[NDArray, int]:  # int32 (n_samples,), n_classes
    """Give every distinct ranking a class number, 0.. in lexicographic order (RAC classes).

    Two rows are the same class if they rank the same labels in the same positions; a missing
    label sorts after every position. Runs on the host, O(n_samples log n_samples).

    Examples
    --------
    >>> classes, n_classes = ranking_classes(np.array([[2, 1], [1, 2], [2, 1], [1, np.nan]]))
    >>> classes.tolist(), n_classes
    ([2, 0, 2, 1], 3)
    """
    positions = np.asarray(positions, dtype=np.float32)
    # Non-negative IEEE floats sort as their big-endian bytes do, infinity last: one comparison of
    # memory per pair of rows instead of one per column.
    keys = np.where(np.isnan(positions), np.float32(np.inf), positions).astype(">f4")
    rows = np.ascontiguousarray(keys).view(np.dtype((np.void, keys.itemsize * keys.shape[1])))
    distinct, classes = np.unique(rows.ravel(), return_inverse=True)
    return classes.reshape(-1).astype(np.int32), len(distinct)


def label_order(
    positions: NDArray,  # float32 (n_samples, n_labels), NaN: missing
    tied: bool,  # whether rankings tie labels; not those that are missing, placed last
) -> NDArray:  # int64 (n_labels,)
    """Order the labels so that permuting the columns permutes nothing; see `canonical_order`.

    Without ties that is the order of the columns, as it always was.

    Examples
    --------
    >>> positions = np.array([[3.0, 1.5, 1.5], [3.0, 1.0, 2.0]], np.float32)
    >>> label_order(positions, True).tolist(), label_order(positions, False).tolist()
    ([1, 2, 0], [0, 1, 2])
    """
    if not tied:
        return np.arange(positions.shape[1])
    return canonical_order(positions, borda_votes_on_host(positions))


@jit
def borda_votes(
    positions: Array,  # float (..., n_labels), NaN: missing
) -> Array:  # float32 (..., n_labels)
    """Return generalised Borda votes, which estimate the votes of the complete ranking.

    The label at place r of m' ranked ones gets (m' + 1 - r) (m + 1) / (m' + 1), a missing label
    (m + 1) / 2; tied labels share the mean of their votes. A complete ranking gives exactly
    m + 1 - r, so sums of such votes are exact integers. Costs O(n_labels^2) per row.

    Notes
    -----
    Cheng, Hühn and Hüllermeier 2009, Proposition 2. Zhou and Qiu 2018, Definition 2, print the
    last division as a product.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> borda_votes(jnp.array([[1.0, 2.5, 2.5, 4.0, 5.0]])).tolist()
    [[5.0, 3.5, 3.5, 2.0, 1.0]]
    """
    chex.assert_type(positions, float)
    n_labels = positions.shape[-1]
    n_before, n_level = places(positions)
    ranked = n_level > 0
    n_places = jnp.sum(ranked, axis=-1, keepdims=True, dtype=jnp.int32).astype(jnp.float32)
    mean_place = n_before.astype(jnp.float32) + (n_level.astype(jnp.float32) + 1) / 2
    vote = n_places + 1 - mean_place
    vote = worked_out(quotient(vote * (n_labels + 1), n_places + 1))
    return jnp.where(ranked, vote, (n_labels + 1) / 2)


def borda_votes_on_host(
    positions: NDArray,  # float32 (n_samples, n_labels), NaN: missing
) -> NDArray:  # float32 (n_samples, n_labels)
    """:func:`borda_votes` in NumPy, for tables that are prepared once: no program to compile."""
    n_labels = positions.shape[1]
    votes = np.empty(positions.shape, np.float32)
    for block, n_before, n_level in place_blocks(positions):
        ranked = n_level > 0
        one_more = np.count_nonzero(ranked, axis=0).astype(np.float32) + np.float32(1)
        mean_place = n_before.astype(np.float32) + (n_level.astype(np.float32) + np.float32(1)) / 2
        # As XLA:CPU does it: an inverse for each row, and both factors before the vote.
        vote = (one_more - mean_place) * (np.float32(n_labels + 1) * (np.float32(1) / one_more))
        vote[~ranked] = (n_labels + 1) / 2
        votes[block] = vote.T
    return votes
