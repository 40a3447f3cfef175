"""Partial rankings completed around a centre."""

import chex
import jax.numpy as jnp

from lrrf_jax._programs import jit
from lrrf_jax._typing import Array
from lrrf_jax._xla import scan
from lrrf_jax.rankings.permutations import places, rank_scores, take_in_order

# Reversals up to here, the fewest so far, the slot where they were.
_Slots = tuple[Array, Array, Array]


@jit
def most_probable_extension(
    positions: Array,  # float32 (..., n_labels), NaN: missing
    centre: Array,  # int or float (..., n_labels), each row a permutation of 1..n_labels
) -> Array:  # int32 (..., n_labels), each row a permutation of 1..n_labels
    """Complete each ranking so that it is as likely as can be under Mallows around its centre.

    A missing label goes, whatever the other missing ones do, into the slot between ranked labels
    where it reverses the fewest preferences of the centre: of equally good slots the best place.
    Labels in one slot, and labels that the ranking ties (their order is unknown), are ordered as in
    the centre. A ranking that ranks nothing becomes the centre. Costs O(n_labels^2) per row.

    Notes
    -----
    Cheng, Hühn and Hüllermeier 2009, Proposition 1; it holds for any spread.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> centre = jnp.array([1, 2, 3, 4])
    >>> most_probable_extension(jnp.array([jnp.nan, 1.0, jnp.nan, 2.0]), centre).tolist()
    [1, 2, 3, 4]
    >>> most_probable_extension(jnp.array([2.0, jnp.nan, jnp.nan, 1.0]), centre).tolist()
    [4, 1, 2, 3]
    """
    n_labels = positions.shape[-1]
    chex.assert_type(positions, float)
    chex.assert_shape(centre, (..., n_labels))
    centre = jnp.broadcast_to(centre.astype(jnp.int32), positions.shape)
    n_before, n_level = places(positions)
    ranked = n_level > 0
    n_ranked = jnp.sum(ranked, axis=-1, keepdims=True, dtype=jnp.int32)
    # 1..m' for the ranked labels, ties resolved; the missing ones come after them.
    place = rank_scores(-(jnp.where(ranked, n_before, n_labels) * (n_labels + 1) + centre))
    centre_at_place = take_in_order(centre, place)

    # Going one slot on, past the label at this place, reverses one preference more or one less.
    def go_on(state: _Slots, place_here: tuple[Array, Array]) -> tuple[_Slots, None]:
        reversals, fewest, slot = state
        index, centre_here = place_here
        step = jnp.sign(centre_here[..., None] - centre)
        reversals = reversals + jnp.where(index <= n_ranked, step, 0)
        better = reversals < fewest
        slot = jnp.where(better, index, slot)
        return (reversals, jnp.minimum(reversals, fewest), slot), None

    zero = jnp.zeros_like(centre)
    steps = (jnp.arange(1, n_labels + 1, dtype=jnp.int32), jnp.moveaxis(centre_at_place, -1, 0))
    (_, _, slot), _ = scan(go_on, (zero, zero, zero), steps)
    key = jnp.where(ranked, 2 * place, 2 * slot + 1)
    return rank_scores(-(key * (n_labels + 1) + centre))
