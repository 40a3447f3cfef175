"""From many rankings to one: Borda, Copeland, Kemeny.

Preferences are pair values, (..., n_pairs) in the order of `pairwise.pair_indices`: positive where
the first label of the pair is preferred, by how much (a sum of `pair_signs`, for example).
Integers stay exact: int8 and int16 are summed as int32. All functions are pure and can be jitted.
"""

import functools

import chex
import jax.numpy as jnp
import numpy as np

from lrrf_jax._jax_settings import works_with_our_settings
from lrrf_jax._programs import jit
from lrrf_jax._typing import AnyArray, Array
from lrrf_jax._xla import scan, worked_out
from lrrf_jax.rankings.axes import namespace_of, with_leading_axes
from lrrf_jax.rankings.kemeny_search import kemeny_exact, kemeny_local_search
from lrrf_jax.rankings.pairwise import pair_indices, preference_matrix, summable
from lrrf_jax.rankings.permutations import (
    ordering_from_ranks,
    rank_scores,
    take_in_order,
)

# Up to here exact search costs no more than local search (1 us per row at 7 labels on one CPU core,
# 2.5 us at 8), and compiles as fast.
EXACT_LIMIT = 7


def borda(
    vote_sums: Array,  # float or int (..., n_labels)
) -> Array:  # int32 (..., n_labels), 1..n_labels
    """Rank labels by decreasing sum of Borda votes, ties to the lower index; see `rank_scores`."""
    return rank_scores(vote_sums)


@jit
def copeland_scores(
    preferences: Array,  # float or int (..., n_pairs)
) -> Array:  # float32 (..., n_labels), multiples of 1/2
    """Count the labels that each label wins against; a tied pair is half a win for both.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> copeland_scores(jnp.array([3, -1, 0])).tolist()
    [1.0, 0.5, 1.5]
    """
    return _half_wins(preference_matrix(preferences)).astype(jnp.float32) / 2


@jit
def copeland(
    preferences: Array,  # float or int (..., n_pairs)
) -> Array:  # int32 (..., n_labels), 1..n_labels
    """Rank labels by the number of labels that they win against.

    Equal numbers are told apart by the sum of the label's preferences (its Borda score), then by
    the lower index. Costs O(n_labels^2) per row. Copeland 1951.
    """
    matrix = preference_matrix(preferences)
    total = jnp.sum(matrix, axis=-1, dtype=matrix.dtype)
    wins, total = worked_out((_half_wins(matrix), total))
    label = jnp.arange(wins.shape[-1])
    lower_index = with_leading_axes(label[None, :] < label[:, None], matrix.ndim)
    equal_wins = wins[..., None, :] == wins[..., :, None]
    equal_total = total[..., None, :] == total[..., :, None]
    ahead = (wins[..., None, :] > wins[..., :, None]) | (
        equal_wins & ((total[..., None, :] > total[..., :, None]) | (equal_total & lower_index))
    )
    return 1 + jnp.sum(ahead, axis=-1, dtype=jnp.int32)


@works_with_our_settings
def kemeny_objective(
    preferences: AnyArray,  # float or int (..., n_pairs)
    ranks: AnyArray,  # int or float (..., n_labels), each row a permutation of 1..n_labels
) -> AnyArray:  # the type that preferences are summed in, (...,)
    """Sum the pair values in the direction of the ranking; Kemeny's rankings maximise this.

    It is the weight of the preferences that ``ranks`` keeps less the weight of those it reverses.
    NumPy arrays give NumPy arrays, in 64 bits.
    """
    xp = namespace_of(preferences, ranks)
    first, second = pair_indices(ranks.shape[-1])
    kept = ranks[..., first] < ranks[..., second]
    if xp is np:
        return np.sum(np.where(kept, preferences, -preferences), axis=-1)
    values = summable(preferences)
    return jnp.sum(jnp.where(kept, values, -values), axis=-1, dtype=values.dtype)


@functools.partial(jit, static_argnames="n_labels")
def kemeny(
    preferences: Array,  # float or int (..., n_pairs)
    n_labels: int,
) -> Array:  # int32 (..., n_labels), 1..n_labels
    """Return Kemeny's ranking: exact for seven labels or fewer, else searched for from Borda's.

    See `kemeny_exact` and `kemeny_local_search` for ties and cost.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> kemeny(jnp.array([-1, -1, 3]), 3).tolist()
    [3, 1, 2]
    """
    chex.assert_shape(preferences, (..., n_labels * (n_labels - 1) // 2))
    if n_labels <= EXACT_LIMIT:
        return kemeny_exact(preferences, n_labels)
    matrix = preference_matrix(preferences)
    start_ranks = rank_scores(jnp.sum(matrix, axis=-1, dtype=matrix.dtype))
    return kemeny_local_search(preferences, start_ranks)


@jit
def scores_in_order(
    scores: Array,  # float32 or int (..., n_labels), larger is better
    ranks: Array,  # int32 (..., n_labels), a permutation of 1..n_labels
) -> Array:  # float32 (..., n_labels)
    """Redistribute scores over the labels so that they agree with ``ranks``.

    The k-th largest score goes to the label at position k, lowered by the smallest step that
    float32 knows where `rank_scores` would order equal neighbours otherwise:
    ``rank_scores(scores_in_order(scores, ranks)) == ranks``, always. A NaN counts as the lowest
    score, and an infinite one becomes finite if it has to be lowered. O(n_labels^2) per row.
    """
    chex.assert_equal_shape_suffix([scores, ranks], 1)
    scores, ranks = jnp.broadcast_arrays(scores.astype(jnp.float32), ranks)
    info = np.finfo(np.float32)
    tiny, lowest = float(info.tiny), float(info.min) / 2
    # Below `lowest` there is room for a step for every label. Subnormal numbers become 0, as some
    # devices compare them.
    scores = jnp.where(jnp.isnan(scores), lowest, jnp.maximum(scores, lowest))
    scores = jnp.where(jnp.abs(scores) < tiny, 0.0, scores)
    best_first = take_in_order(scores, rank_scores(scores))
    ordering = ordering_from_ranks(ranks)

    def lower(score: Array) -> Array:
        step = jnp.nextafter(score, jnp.full_like(score, -jnp.inf))
        step = jnp.where((score > 0) & (score <= tiny), 0.0, step)
        return jnp.where((score <= 0) & (score > -tiny), -tiny, step)

    def place(
        previous: tuple[Array, Array], here: tuple[Array, Array]
    ) -> tuple[tuple[Array, Array], Array]:
        previous_score, previous_label = previous
        score, label = here
        score = jnp.minimum(score, previous_score)
        flips = (score == previous_score) & (label < previous_label)
        score = jnp.where(flips, lower(score), score)
        return (score, label), score

    first = (jnp.full_like(best_first[..., 0], jnp.inf), jnp.full_like(ordering[..., 0], -1))
    steps = (jnp.moveaxis(best_first, -1, 0), jnp.moveaxis(ordering, -1, 0))
    placed = jnp.moveaxis(scan(place, first, steps)[1], 0, -1)
    return take_in_order(placed, 1 + ordering)  # the inverse of an ordering is its ranking


def _half_wins(matrix: Array) -> Array:  # int32 (..., n_labels)
    won = jnp.sum(matrix > 0, axis=-1, dtype=jnp.int32)
    level = jnp.sum(matrix == 0, axis=-1, dtype=jnp.int32) - 1  # not with itself
    return 2 * won + level
