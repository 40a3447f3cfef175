"""Plackett-Luce's distribution of rankings: places are filled from the best, one after another.

Each place goes to one of the labels that are left, with probability proportional to its strength.
A partial ranking is one of the labels that it ranks, whatever the others: nothing has to be
completed. Labels that share the last place (top-k lists) are left, in no order.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._backend import by_platform
from lrrf_jax._jax_settings import works_with_our_settings
from lrrf_jax._numerics import product, quotient, sum_in_turn
from lrrf_jax._programs import jit
from lrrf_jax._typing import AnyArray, Array
from lrrf_jax._xla import worked_out
from lrrf_jax.rankings.axes import namespace_of
from lrrf_jax.rankings.permutations import places, rank_scores

TOLERANCE = 1e-6
MAX_ITERATIONS = 1000
_UNROLLED = 16  # labels up to which loops over them are written out


@works_with_our_settings
def log_likelihood(
    positions: AnyArray,  # float (..., n_labels), NaN: missing
    strength: AnyArray,  # float (..., n_labels), not negative
) -> AnyArray:  # strength.dtype (...)
    """Return the log of the probability of each ranking; 0 where it holds no preference.

    Sums over places log(strength of the label there) less log(strength of all labels from there
    on). Strengths of 0 give -inf where they win a place. Costs O(n_labels^2) per row. NumPy arrays
    keep to their precision; JAX arrays can be jitted.
    """
    xp = namespace_of(positions, strength)
    _, decides = _choices(positions)
    strength = xp.broadcast_to(strength, positions.shape)
    behind = positions[..., None, :] >= positions[..., :, None]
    left = xp.where(behind, strength[..., None, :], 0.0).sum(axis=-1)
    can_win = strength > 0
    wins = decides & can_win  # of nothing else a logarithm is taken
    terms = xp.log(xp.where(wins, strength, 1.0)) - xp.log(xp.where(wins, left, 1.0))
    return xp.where(decides & ~can_win, -xp.inf, terms).sum(axis=-1)


@works_with_our_settings
@jit
def sample(
    key: Array,
    strength: Array,  # float32 (..., n_labels), not negative
) -> Array:  # int32 (..., n_labels)
    """Draw one complete ranking for each row of strengths; labels of strength 0 come last."""
    strength = strength.astype(jnp.float32)
    # No logarithm of a float32 is below -104, and no noise beyond 100.
    return sample_by_log(key, jnp.where(strength > 0, jnp.log(strength), -1000.0))


@works_with_our_settings
@jit
def sample_by_log(
    key: Array,
    log_strength: Array,  # float32 (..., n_labels), finite
) -> Array:  # int32 (..., n_labels)
    """Draw one complete ranking for each row of logarithms of strengths.

    Sorts them plus Gumbel noise, which is the same distribution (Yellott 1977).
    """
    chex.assert_type(log_strength, jnp.float32)
    return rank_scores(log_strength + jax.random.gumbel(key, log_strength.shape, jnp.float32))


class Prior(NamedTuple):
    """A gamma prior around ``strength``, worth ``weight`` places won per label; 0: none."""

    weight: Array | float = 0.0
    strength: Array | None = None  # float32 (n_labels,), sums to 1; None: all equal


NO_PRIOR = Prior()


class PlackettLuceFit(NamedTuple):
    """Distributions fitted to groups of rankings."""

    strength: Array  # float32 (n_groups, n_labels), each row sums to 1
    n_iterations: Array  # int32 (n_groups,); the limit where one did not come to rest


@works_with_our_settings
@functools.partial(jit, static_argnames=("n_groups", "max_iterations"))
def fit_groups(
    positions: Array,  # float32 (n_samples, n_labels), NaN: missing
    group: Array,  # int32 (n_samples,), 0..n_groups-1; others are left out
    weight: Array,  # float32 (n_samples,), not negative
    n_groups: int,
    prior: Prior = NO_PRIOR,
    max_iterations: int = MAX_ITERATIONS,
) -> PlackettLuceFit:
    """Fit one distribution per group, all at once, by minorisation and maximisation (MM).

    Each iteration divides the number of places that a label won by the sum, over the choices in
    which it took part, of 1 / (strength of all that were left). A group rests when no strength
    changes by more than `TOLERANCE`, or after ``max_iterations``; it then stays as it is,
    whatever the other groups do.

    Without a prior that is maximum likelihood, which need not exist: a label that never wins gets
    0, and where rankings agree, the strengths run off to the boundary, slowly. With a ``prior``
    of more weight than 0 every strength is more than 0 and unique, and that of a label which no
    ranking compares with another is the prior's.

    Costs O(n_samples n_labels^2) per iteration. Hunter 2004; Caron and Doucet 2012 (prior).
    """
    chex.assert_rank([positions, group, weight], [2, 1, 1])
    chex.assert_equal_shape_prefix([positions, group, weight], 1)
    chex.assert_type([positions, group], [float, int])
    used = (group >= 0) & (group < n_groups)
    at = jnp.where(used, group, 0)

    def total(values: Array) -> Array:  # (n_labels, n_samples) -> (n_labels, n_groups)
        return jax.ops.segment_sum(values.T, at, n_groups).T

    return _fit(
        positions.T,
        jnp.where(used, weight, 0.0),
        total,
        lambda strength: strength[:, at],
        prior,
        max_iterations,
    )


@works_with_our_settings
@functools.partial(jit, static_argnames="max_iterations")
def fit_tables(
    positions: Array,  # float32 (n_queries, k, n_labels), NaN: missing
    weight: Array,  # float32 (n_queries, k), not negative
    prior: Prior = NO_PRIOR,
    max_iterations: int = MAX_ITERATIONS,
) -> PlackettLuceFit:
    """Fit one distribution to each table of k rankings; otherwise as `fit_groups`.

    Sums run in one order whatever the number of tables, so that a row does not depend on it.
    """
    chex.assert_rank([positions, weight], [3, 2])
    chex.assert_equal_shape_prefix([positions, weight], 2)
    chex.assert_type(positions, float)

    def total(values: Array) -> Array:  # (k, n_labels, n_queries) -> (n_labels, n_queries)
        return _sum_in_order(values)

    # Queries last: the loops over them are the long ones, and become vector instructions.
    return _fit(
        positions.transpose(1, 2, 0),
        weight.T,
        total,
        lambda strength: strength[None],
        prior,
        max_iterations,
    )


def _choices(positions: AnyArray) -> tuple[AnyArray, AnyArray]:  # bool, both positions.shape
    """Tell which labels are ranked, and which of them won a place that others wanted."""
    n_before, n_level = places(positions)
    ranked = n_level > 0
    n_ranked = ranked.sum(axis=-1, keepdims=True, dtype=np.int32)
    return ranked, (n_level == 1) & (n_before + n_level < n_ranked)


def _fit(
    positions: Array,  # float32 (..., n_labels, n_columns)
    weight: Array,  # float32 (..., n_columns)
    total: Callable[[Array], Array],  # sums rankings over groups; (n_labels, n_groups)
    spread: Callable[[Array], Array],  # gives each ranking the column of its group
    prior: Prior,
    max_iterations: int,
) -> PlackettLuceFit:
    positions, weight = positions.astype(jnp.float32), weight.astype(jnp.float32)
    n_labels = positions.shape[-2]
    ranked, decides = (
        jnp.swapaxes(flags, -1, -2) for flags in _choices(jnp.swapaxes(positions, -1, -2))
    )
    won = jnp.where(decides, weight[..., None, :], 0.0)
    place = jnp.where(ranked, positions, jnp.inf)
    prior_strength = prior.strength
    if prior_strength is None:
        prior_strength = jnp.full(n_labels, 1 / n_labels, jnp.float32)
    chex.assert_shape(prior_strength, (n_labels,))
    more = jnp.asarray(prior.weight, jnp.float32) * n_labels
    n_won = total(won) + product(more, prior_strength.astype(jnp.float32)[:, None])
    unroll = n_labels if n_labels <= _UNROLLED else 1

    def over_labels(function: Callable[[Array], Array]) -> Array:
        def add(label: Array, sums: Array) -> Array:
            return sums + function(label)

        zero = jnp.zeros(place.shape, jnp.float32)
        total: Array = lax.fori_loop(0, n_labels, add, zero, unroll=unroll)
        return total

    def column(values: Array, label: Array) -> Array:
        return lax.dynamic_slice_in_dim(values, label, 1, axis=values.ndim - 2)

    def improve(strength: Array) -> Array:
        mine = jnp.where(ranked, spread(strength), 0.0)
        left = over_labels(lambda i: jnp.where(column(place, i) >= place, column(mine, i), 0.0))
        share = jnp.where(decides, worked_out(quotient(won, jnp.where(decides, left, 1.0))), 0.0)
        faced = over_labels(lambda i: jnp.where(column(place, i) <= place, column(share, i), 0.0))
        chances = total(jnp.where(ranked, faced, 0.0)) + more
        new = jnp.where(
            chances > 0, worked_out(quotient(n_won, jnp.where(chances > 0, chances, 1.0))), 0.0
        )
        return worked_out(quotient(new, _sum_in_order(new)[None]))

    def goes_on(state: tuple[Array, Array, Array]) -> Array:
        return jnp.any(state[1])

    def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        strength, moves, n_iterations = state
        new = jnp.where(moves[None], improve(strength), strength)
        n_iterations = n_iterations + moves.astype(jnp.int32)
        moved = jnp.max(jnp.abs(new - strength), axis=0) > TOLERANCE
        return new, moves & moved & (n_iterations < max_iterations), n_iterations

    start = jnp.full(n_won.shape, 1 / n_labels, jnp.float32)
    some = jnp.max(n_won, axis=0) > 0  # else all stay equal
    state = start, some, jnp.zeros(some.shape, jnp.int32)
    strength, _, n_iterations = lax.while_loop(goes_on, step, state)
    return PlackettLuceFit(strength.T, n_iterations)


def _sum_in_order(values: Array) -> Array:  # (n, ...) -> (...), one after another
    def in_loop(values: Array) -> Array:
        total: Array = lax.fori_loop(1, len(values), lambda i, sums: sums + values[i], values[0])
        return total

    return by_platform(values, cpu=in_loop, accelerator=sum_in_turn)
