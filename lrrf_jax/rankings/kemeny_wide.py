"""Kemeny's search on accelerators: the rankings of `kemeny`, by programs of another shape.

There, many rows are worked on at one time, what a row needs stays in registers, and no step has
to look up where the last one wrote.
"""

from typing import Any

import chex
import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._typing import Array
from lrrf_jax.rankings.pairwise import antisymmetric, pair_indices

# Up to here sets of labels are written out; each label more makes a program 2.3 times as long.
WRITTEN_OUT_LABELS = 7
_BARRIER_SETS = 21  # of a size; fewer fit into registers beside what they are made of
_DIGIT_BITS = 3  # of a label, in the orderings of up to 8
_UNROLLED = 16  # positions that one kernel looks at
_STEPS_PER_CHECK = 2  # the host waits for each check; a step too many changes nothing

# Value of the best ordering of a set, and that ordering, a digit per place.
_Best = tuple[Array, Array]
# Places of labels, (n_labels, n_samples), whether the last step improved a row, steps so far.
_State = tuple[Array, Array, Array]


def exact_wide(
    values: Array,  # int32 or float (n_samples, n_pairs)
    n_labels: int,
) -> Array:  # int32 (n_samples, n_labels), 1..n_labels
    """Find the best rankings of up to `WRITTEN_OUT_LABELS` labels, each step written out.

    The dynamic programming of `kemeny_exact`, set by set. Orderings are carried along, as the
    digits of one integer: nothing is read back.
    """
    chex.assert_shape(values, (None, n_labels * (n_labels - 1) // 2))
    preference = _columns(values, n_labels)
    shape = values.shape[:1]
    nothing = lax.full(shape, 0, values.dtype)
    # Preferences of a label over the labels of a set, summed in their order.
    over: dict[tuple[int, int], Array] = {(label, 0): nothing for label in range(n_labels)}

    def preferences_over(label: int, others: int) -> Array:
        if (label, others) not in over:
            last = others.bit_length() - 1
            rest = preferences_over(label, others - (1 << last))
            over[label, others] = rest + preference[label, last]
        return over[label, others]

    best: dict[int, _Best] = {0: (nothing, lax.full(shape, 0, jnp.int32))}
    # By size, behind barriers: the registers of a thread hold the sets of two sizes, and no more.
    sets = sorted(range(1, 1 << n_labels), key=int.bit_count)
    for labels in sets:
        members = [label for label in range(n_labels) if labels >> label & 1]
        place = n_labels - len(members)
        value, ordering = best[labels - (1 << members[0])]
        value = value + preferences_over(members[0], labels - (1 << members[0]))
        ordering = ordering + np.int32(members[0] << _DIGIT_BITS * place)
        for label in members[1:]:  # the first of equals stays
            rest_value, rest_ordering = best[labels - (1 << label)]
            other_value = rest_value + preferences_over(label, labels - (1 << label))
            other = rest_ordering + np.int32(label << _DIGIT_BITS * place)
            better = lax.gt(other_value, value)
            value = lax.select(better, other_value, value)
            ordering = lax.select(better, other, ordering)
        best[labels] = value, ordering
        if labels == (1 << n_labels) - (1 << place):  # the last of its size
            size = [others for others in sets if others.bit_count() == len(members)]
            if _BARRIER_SETS <= len(size):
                held = lax.optimization_barrier([best[others] for others in size])
                best.update(zip(size, held, strict=True))
    # Behind a barrier, or it would be worked out once for each label.
    ordering = lax.optimization_barrier(best[(1 << n_labels) - 1][1])
    digit = np.arange(n_labels, dtype=np.int32)
    at_place = ordering[:, None] >> _DIGIT_BITS * digit[None] & 2**_DIGIT_BITS - 1
    here = at_place[:, None, :] == digit[None, :, None]
    return jnp.sum(jnp.where(here, 1 + digit[None, None], 0), axis=-1, dtype=jnp.int32)


def _columns(values: Array, n_labels: int) -> dict[tuple[int, int], Array]:
    """Give the preferences of each label over each other, (n_samples,) each."""
    found = {}
    for first, second, column in zip(*pair_indices(n_labels), values.T, strict=True):
        found[int(first), int(second)] = column
        found[int(second), int(first)] = -column
    return found


def search_wide(
    values: Array,  # int32 or float (n_samples, n_pairs)
    ranks: Array,  # int32 (n_samples, n_labels), 1..n_labels
) -> Array:  # int32 (n_samples, n_labels), 1..n_labels
    """Improve rankings as `kemeny_local_search` does, all rows together.

    Preferences stay as they are, and are looked up in the current order: a move changes the places
    alone.
    """
    n_labels = ranks.shape[-1]
    matrix = lax.optimization_barrier(jnp.moveaxis(antisymmetric(values, n_labels), 0, -1))
    zero = jnp.zeros((), matrix.dtype)
    least_gain = zero
    if jnp.issubdtype(matrix.dtype, jnp.floating):
        # Gains below the rounding error of their own sums could be traded for ever.
        eps = float(jnp.finfo(matrix.dtype).eps)  # type: ignore[no-untyped-call]
        least_gain = n_labels * n_labels * eps * jnp.max(jnp.abs(matrix), axis=(0, 1))
    label = np.arange(n_labels, dtype=np.int32)

    def gains(place: Array) -> tuple[Array, Array]:  # values.dtype, int32 (n_labels, n_samples)
        """Find half the greatest gain of moving each label, and the first position that has it."""
        here = place[None] == label[:, None, None]  # by position, then label
        ordering = jnp.sum(jnp.where(here, label[None, :, None], 0), axis=1, dtype=jnp.int32)
        won = jnp.zeros(place.shape, matrix.dtype)

        def look(other: Array) -> Array:
            return jnp.take_along_axis(matrix, other[None, None], axis=1)[:, 0]

        def add_up(sums: tuple[Array, Array], at: tuple[Array, Array]) -> tuple[Any, None]:
            upto, own = sums
            position, other = at
            upto = upto + look(other)
            return (upto, jnp.where(place == position, upto, own)), None

        positions = jnp.arange(n_labels, dtype=jnp.int32), ordering
        unroll = min(n_labels, _UNROLLED)
        (_, own), _ = lax.scan(add_up, (won, won), positions, unroll=unroll)

        def try_move(state: tuple[Array, ...], at: tuple[Array, Array]) -> tuple[Any, None]:
            upto, best, target = state
            position, other = at
            mine = look(other)
            upto = upto + mine
            gain = own - jnp.where(position > place, upto, upto - mine)
            better = gain > best
            return (
                upto,
                jnp.where(better, gain, best),
                jnp.where(better, position, target),
            ), None

        start = won, won, place  # staying gains nothing
        (_, best, target), _ = lax.scan(try_move, start, positions, unroll=unroll)
        return best, target

    def step(place: Array) -> tuple[Array, Array]:
        gain, target = gains(place)
        best = jnp.max(gain, axis=0)
        improves = best > least_gain
        move = jnp.where(gain == best[None], place * n_labels + target, n_labels**2)
        chosen = jnp.where(improves, jnp.min(move, axis=0), 0)
        start, end = (chosen // n_labels)[None], (chosen % n_labels)[None]
        closes_up = (start < place) & (place <= end)
        makes_way = (end <= place) & (place < start)
        moved = place - closes_up.astype(jnp.int32) + makes_way.astype(jnp.int32)
        return jnp.where(place == start, end, moved), jnp.any(improves)

    def steps(state: _State) -> _State:
        place, _, n_steps = state
        improved = jnp.array(True)
        for _ in range(_STEPS_PER_CHECK):
            place, improved = step(lax.optimization_barrier(place))
        return place, improved, n_steps + _STEPS_PER_CHECK

    def goes_on(state: _State) -> Array:
        _, improved, n_steps = state
        return improved & (n_steps < 4 * n_labels**2)

    state = ranks.T - 1, jnp.array(True), jnp.array(0, jnp.int32)
    place: Array = lax.while_loop(goes_on, steps, state)[0]
    return 1 + place.T
