"""Search for Kemeny's ranking of given preferences: exact for few labels, local for more.

See `aggregation` for what preferences are, and for `kemeny`, which chooses between the two.
"""

import functools
import itertools
from collections.abc import Callable

import chex
import jax
import jax.numpy as jnp
import numpy as np

from lrrf_jax._backend import by_platform
from lrrf_jax._programs import jit
from lrrf_jax._typing import Array, NDArray
from lrrf_jax.rankings.axes import with_leading_axes
from lrrf_jax.rankings.kemeny_wide import WRITTEN_OUT_LABELS, exact_wide, search_wide
from lrrf_jax.rankings.pairwise import antisymmetric, summable
from lrrf_jax.rankings.permutations import ordering_from_ranks

_BLOCK_ROWS = 512  # worked on together on a CPU: few enough for its cache
# Rows x labels x labels that are worked on together elsewhere: half a GB of preferences.
_WIDE_CELLS = 2**27

# Preferences and labels in the current order, whether the last step improved a row, steps so far.
_SearchState = tuple[Array, Array, Array, Array]


@functools.partial(jit, static_argnames="n_labels")
def kemeny_exact(
    preferences: Array,  # float or int (..., n_pairs)
    n_labels: int,
) -> Array:  # int32 (..., n_labels), 1..n_labels
    """Find the best ranking by dynamic programming over the sets of labels.

    The best order of a set, put behind all others, starts with the label whose preferences over
    the rest of the set, plus the best order of that rest, are the greatest. Of several best
    rankings, the one whose ordering comes first lexicographically is returned.

    Costs O(2^n_labels n_labels) time and memory per row: meant for eight labels or fewer.
    Held and Karp 1962, as applied to Kemeny's rule by Betzler et al. 2009.
    """
    chex.assert_shape(preferences, (..., n_labels * (n_labels - 1) // 2))
    batch = preferences.shape[:-1]
    values = summable(preferences).reshape(-1, preferences.shape[-1])
    exact = functools.partial(_exact_block, n_labels=n_labels)
    wide = functools.partial(exact_wide, n_labels=n_labels)
    ranks: Array = by_platform(
        values,
        cpu=functools.partial(_in_blocks, exact, _BLOCK_ROWS),
        accelerator=functools.partial(
            _in_blocks, wide if n_labels <= WRITTEN_OUT_LABELS else exact, _wide_rows(n_labels)
        ),
    )
    return ranks.reshape(*batch, n_labels)


@jit
def kemeny_local_search(
    preferences: Array,  # float or int (..., n_pairs)
    start_ranks: Array,  # int (..., n_labels), 1..n_labels
) -> Array:  # int32 (..., n_labels), 1..n_labels
    """Improve rankings by moving one label to another position while this helps.

    Every step takes the move that raises `kemeny_objective` most, of equal ones that of the label
    in front, to the position in front. A step costs O(n_labels^2) per row; the rows of a block step
    together until none improves, at most 4 n_labels^2 times.
    """
    batch, n_labels = start_ranks.shape[:-1], start_ranks.shape[-1]
    chex.assert_type(start_ranks, int)
    chex.assert_shape(preferences, (*batch, n_labels * (n_labels - 1) // 2))
    values = summable(preferences).reshape(-1, preferences.shape[-1])
    ranks = start_ranks.astype(jnp.int32).reshape(-1, n_labels)
    improved: Array = by_platform(
        values,
        ranks,
        cpu=functools.partial(_in_blocks, _search_block, _BLOCK_ROWS),
        accelerator=functools.partial(_in_blocks, search_wide, _wide_rows(n_labels)),
    )
    return improved.reshape(*batch, n_labels)


def _wide_rows(n_labels: int) -> int:
    return max(1, _WIDE_CELLS // n_labels**2)


def _in_blocks(
    rank_block: Callable[..., Array],
    n_rows: int,
    *arrays: Array,  # (n_samples, ...)
) -> Array:  # int32 (n_samples, n_labels)
    """Apply ``rank_block`` to blocks of at most so many rows, one after another."""
    n_samples = len(arrays[0])
    if n_samples <= n_rows:
        return rank_block(*arrays)
    n_blocks = -(-n_samples // n_rows)
    padding = ((0, n_blocks * n_rows - n_samples), (0, 0))
    blocks = [
        jnp.pad(array, padding, mode="edge").reshape(n_blocks, n_rows, -1) for array in arrays
    ]
    ranks: Array = jax.lax.map(lambda block: rank_block(*block), blocks)
    return ranks.reshape(n_blocks * n_rows, -1)[:n_samples]


def _exact_block(
    values: Array,  # int32 or float (n_samples, n_pairs)
    *,
    n_labels: int,
) -> Array:  # int32 (n_samples, n_labels)
    # Samples go on the last axis, where they are contiguous and every step is vectorised.
    matrix = jnp.moveaxis(antisymmetric(values, n_labels), 0, -1)
    n_samples = matrix.shape[-1]
    best = jnp.zeros((1, n_samples), matrix.dtype)  # of the empty set
    won = jnp.zeros((1, n_labels, n_samples), matrix.dtype)  # a label's preferences over the set
    first_label = [jnp.zeros((1, n_samples), jnp.int32)]
    sizes, row_of_subset = subsets_by_size(n_labels)
    for members, rest in sizes:  # (n_subsets, size), both
        value = best[rest] + won[rest, members]
        best = jnp.max(value, axis=1)
        attains = value == best[:, None]
        lowest = jnp.where(attains, members[..., None], n_labels)
        first_label.append(jnp.min(lowest, axis=1))
        won = won[rest[:, -1]] + jnp.moveaxis(matrix[:, members[:, -1]], 0, 1)
    first_of = jnp.concatenate(first_label)  # (2^n_labels, n_samples)
    ranks = jnp.zeros((n_labels, n_samples), jnp.int32)
    left = jnp.full(n_samples, 2**n_labels - 1, jnp.int32)
    label = np.arange(n_labels, dtype=np.int32)[:, None]
    for position in range(1, n_labels + 1):
        row = jnp.asarray(row_of_subset)[left]
        chosen = jnp.take_along_axis(first_of, row[None], axis=0)[0]
        ranks = jnp.where(label == chosen[None], position, ranks)
        left = left - jnp.left_shift(1, chosen)
    return ranks.T


def _search_block(
    values: Array,  # int32 or float (n_samples, n_pairs)
    ranks: Array,  # int32 (n_samples, n_labels)
) -> Array:  # int32 (n_samples, n_labels)
    n_labels = ranks.shape[-1]
    # Samples go on the last axis, where every step is vectorised. Rows and columns of the matrix
    # follow the current order, so that a move shifts them and nothing has to be gathered.
    ordering = ordering_from_ranks(ranks)
    matrix = antisymmetric(values, n_labels)
    matrix = jnp.take_along_axis(matrix, ordering[:, :, None], axis=1)
    matrix = jnp.take_along_axis(matrix, ordering[:, None, :], axis=2)
    matrix, ordering = jnp.moveaxis(matrix, 0, -1), ordering.T
    zero = jnp.zeros((), matrix.dtype)
    least_gain = zero
    if jnp.issubdtype(matrix.dtype, jnp.floating):
        # Gains below the rounding error of their own sums could be traded for ever.
        eps = float(jnp.finfo(matrix.dtype).eps)  # type: ignore[no-untyped-call]
        rounding = n_labels * n_labels * eps
        least_gain = rounding * jnp.max(jnp.abs(matrix), axis=(0, 1))
    origin = np.arange(n_labels, dtype=np.int32)[:, None, None]
    target = np.arange(n_labels, dtype=np.int32)[None, :, None]
    move = np.arange(n_labels**2, dtype=np.int32)[:, None]

    def step(state: _SearchState) -> _SearchState:
        matrix, ordering, _, n_steps = state
        # Half the gain of a move: backwards it wins what was lost to the labels that it passes,
        # forwards it gives up what was won against them.
        upto = jnp.cumsum(matrix, axis=1, dtype=matrix.dtype)
        own = jnp.sum(
            jnp.where(origin == target, upto, zero), axis=1, keepdims=True, dtype=matrix.dtype
        )
        gain = own - jnp.where(target > origin, upto, upto - matrix)
        gain = gain.reshape(n_labels**2, -1)
        best = jnp.max(gain, axis=0)
        improves = best > least_gain
        chosen = jnp.min(jnp.where(gain == best[None], move, n_labels**2), axis=0)
        chosen = jnp.where(improves, chosen, 0)  # moves the first label to the first position
        start, end = chosen // n_labels, chosen % n_labels
        matrix = _shift(_shift(matrix, start, end, axis=0), start, end, axis=1)
        return matrix, _shift(ordering, start, end, axis=0), jnp.any(improves), n_steps + 1

    def goes_on(state: _SearchState) -> Array:
        _, _, improved, n_steps = state
        return improved & (n_steps < 4 * n_labels**2)

    # A block goes on only while one of its own rows improves.
    state = (matrix, ordering, jnp.array(True), jnp.array(0, jnp.int32))
    ordering = jax.lax.while_loop(goes_on, step, state)[1]
    return 1 + ordering_from_ranks(ordering.T + 1)  # the inverse of an ordering is its ranking


def _shift(
    values: Array,  # (n_labels, n_samples) or (n_labels, n_labels, n_samples)
    start: Array,  # int32 (n_samples,)
    end: Array,  # int32 (n_samples,)
    axis: int,
) -> Array:  # values.dtype, values.shape
    """Move the slice at ``start`` to ``end``; those between close up."""
    place = np.arange(values.shape[axis], dtype=np.int32)
    place = place.reshape([-1 if i == axis else 1 for i in range(values.ndim)])
    start, end = with_leading_axes(start, values.ndim), with_leading_axes(end, values.ndim)
    moved = jnp.sum(
        jnp.where(place == start, values, jnp.zeros((), values.dtype)),
        axis=axis,
        keepdims=True,
        dtype=values.dtype,
    )
    after, before = jnp.roll(values, -1, axis), jnp.roll(values, 1, axis)
    values = jnp.where((start <= place) & (place < end), after, values)
    values = jnp.where((end < place) & (place <= start), before, values)
    return jnp.where(place == end, moved, values)


@functools.cache
def subsets_by_size(n_labels: int) -> tuple[list[tuple[NDArray, NDArray]], NDArray]:
    """List the sets of 1..n_labels labels by size, as (members, rows of the sets without each).

    Rows number the sets of one size. The second result gives the row of every bit mask among all
    sets, the empty one included, ordered by size.
    """
    by_size, rows_before = [], {0: 0}
    order = [0]
    for size in range(1, n_labels + 1):
        members = np.array(list(itertools.combinations(range(n_labels), size)), np.int32)
        masks = np.sum(1 << members, axis=1)
        rest = [
            [rows_before[int(m - (1 << j))] for j in row]
            for m, row in zip(masks, members, strict=True)
        ]
        by_size.append((members, np.array(rest, np.int32)))
        rows_before = {int(mask): row for row, mask in enumerate(masks)}
        order.extend(masks.tolist())
    row_of_subset = np.empty(2**n_labels, np.int32)
    row_of_subset[order] = np.arange(2**n_labels)
    return by_size, row_of_subset
