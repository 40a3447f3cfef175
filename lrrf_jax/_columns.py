"""The largest or least entry of each column, the same one on every device where several tie."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._backend import by_platform
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._xla import take


def largest_of_columns(score: Array) -> tuple[Array, Array]:  # float32, int32 (n_lanes,)
    """Largest entry of each column, and the place of one that holds it.

    By halves: XLA:CPU vectorises that, and not ``argmax`` over the first axis. Of equal entries
    it is always the same one, the first within its pair, but of places 1 and 2 of four it is 2.
    An accelerator reduces at once, to the same one.
    """
    return by_platform(score, cpu=_largest_by_halves, accelerator=_largest_at_once)


def _largest_by_halves(score: Array) -> tuple[Array, Array]:
    place = jnp.broadcast_to(jnp.arange(len(score), dtype=jnp.int32)[:, None], score.shape)
    while len(score) > 1:
        half = (len(score) + 1) // 2
        first, second = score[:half], score[half:]
        pad = half - len(second)
        second = jnp.pad(second, ((0, pad), (0, 0)), constant_values=-jnp.inf)
        second_wins = second > first
        place = jnp.where(second_wins, jnp.pad(place[half:], ((0, pad), (0, 0))), place[:half])
        score = jnp.where(second_wins, second, first)
    return score[0], place[0]


def _largest_at_once(score: Array) -> tuple[Array, Array]:
    order = _order_of_ties(len(score))
    turn = jnp.asarray(np.argsort(order).astype(np.int32))[:, None]

    def better(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
        first = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))
        return jnp.where(first, a[0], b[0]), jnp.where(first, a[1], b[1])

    turn = jnp.broadcast_to(turn, score.shape)
    least = jnp.float32(-jnp.inf), jnp.int32(len(score))
    largest, turn = lax.reduce((score, turn), least, better, (0,))
    return largest, take(jnp.asarray(order), turn)


def _order_of_ties(n_places: int) -> NDArray:  # int32 (n_places,)
    """List the places in the order in which `_largest_by_halves` takes them, where all tie."""
    groups = [[place] for place in range(n_places)]
    while len(groups) > 1:
        half = (len(groups) + 1) // 2
        groups = [sum(groups[place::half], []) for place in range(half)]
    return np.array(groups[0], np.int32)


def least_of_columns(off: Array) -> tuple[Array, Array]:  # float32, int32 (n_lanes,)
    """Least entry of each column and its place, the first on a tie.

    In pairs of neighbours: XLA:CPU vectorises that, and not ``argmin`` over the first axis.
    """
    return by_platform(off, cpu=_least_in_pairs, accelerator=_least_at_once)


def _least_in_pairs(off: Array) -> tuple[Array, Array]:
    place = jnp.broadcast_to(jnp.arange(len(off), dtype=jnp.int32)[:, None], off.shape)
    while len(off) > 1:
        pad = ((0, len(off) % 2), (0, 0))
        off, place = jnp.pad(off, pad, constant_values=jnp.inf), jnp.pad(place, pad)
        second = off[1::2] < off[::2]
        off, place = (jnp.where(second, a[1::2], a[::2]) for a in (off, place))
    return off[0], place[0]


def _least_at_once(off: Array) -> tuple[Array, Array]:
    return off.min(0), jnp.argmin(off, axis=0).astype(jnp.int32)
