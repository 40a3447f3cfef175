"""Plackett-Luce's distribution of rankings: places are filled from the best, one after another.

Each place goes to one of the labels that are left, with probability proportional to its strength.
A partial ranking is one of the labels that it ranks, whatever the others: nothing has to be
completed. Labels that share the last place (top-k lists, and ties of all that is left) are left, in
no order.

Any other tie is several places that its labels won, in an order that is not known, by Efron's
likelihood: of d labels that tie, each wins a place once, and while the r-th of these places is
given, (r - 1) / d of every one of them is gone. That is the likelihood of one order, averaged over
all orders, to first order in how the strengths of the tied labels differ, and exactly so where they
are equal. It is Plackett-Luce's own without ties, stays linear in the strengths that are left, and
draws tied labels together. (`davidson_luce` has the model in which ties are results of their own,
with a prevalence. A few near rankings do not tell that number: without a tie among them it is 0,
and with nothing else infinite.) Efron 1977, of times to failure that tie.
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
from lrrf_jax.rankings.axes import namespace_of, with_leading_axes
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
    on). Strengths of 0 give -inf where they win a place. Ties count as the module says, one order
    of their labels on average. Costs O(n_labels^2) per row. NumPy arrays keep to their precision;
    JAX arrays can be jitted.
    """
    xp = namespace_of(positions, strength)
    _, decides, earlier, n_level = _choices(positions)
    strength = xp.broadcast_to(strength, positions.shape)
    mine, other = positions[..., :, None], positions[..., None, :]
    n_level = xp.maximum(n_level, xp.ones_like(n_level)).astype(strength.dtype)
    there = 1 - earlier.astype(strength.dtype) / n_level  # of every label that ties with this one
    others = strength[..., None, :]
    left = xp.where(other > mine, others, 0.0)
    left = xp.where(other == mine, others * there[..., :, None], left).sum(axis=-1)
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
@functools.partial(jit, static_argnames=("n_groups", "ties"))
def fit_groups(
    positions: Array,  # float32 (n_samples, n_labels), NaN: missing
    group: Array,  # int32 (n_samples,), 0..n_groups-1; others are left out
    weight: Array,  # float32 (n_samples,), not negative
    n_groups: int,
    prior: Prior = NO_PRIOR,
    ties: bool = True,
) -> PlackettLuceFit:
    """Fit one distribution per group, all at once, by minorisation and maximisation (MM).

    Each iteration divides the number of places that a label won by the sum, over the choices in
    which it took part, of 1 / (strength of all that were left); of a choice in a tie it may have
    been there in part, which counts as that part. `log_likelihood` never falls. A group rests when
    no strength changes by more than `TOLERANCE`, or after `MAX_ITERATIONS`; it then stays as it
    is, whatever the other groups do.

    Without a prior that is maximum likelihood, which need not exist: a label that never wins gets
    0, and where rankings agree, the strengths run off to the boundary, slowly. With a ``prior``
    of more weight than 0 every strength is more than 0 and unique, and that of a label which no
    ranking compares with another is the prior's.

    ``ties=False`` leaves them out, and takes up to three times less time: for rankings where
    labels share the last place alone. What comes out is then the same to the last bit.

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
        ties,
    )


@works_with_our_settings
@functools.partial(jit, static_argnames="ties")
def fit_tables(
    positions: Array,  # float32 (n_queries, k, n_labels), NaN: missing
    weight: Array,  # float32 (n_queries, k), not negative
    prior: Prior = NO_PRIOR,
    ties: bool = True,
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
        ties,
    )


class _Choices(NamedTuple):
    ranked: AnyArray  # bool, as all of the shape of the positions
    decides: AnyArray  # bool: won a place that others wanted, alone or in a tie
    earlier: AnyArray  # int32: labels that tie with this one, and come before it in the columns
    n_level: AnyArray  # int32: labels that tie with this one, itself included; 0: missing


def _choices(positions: AnyArray) -> _Choices:
    """Find what was chosen; of a tie, each label stands for one of the places that it covers."""
    n_before, n_level = places(positions)
    ranked = n_level > 0
    n_ranked = ranked.sum(axis=-1, keepdims=True, dtype=np.int32)
    mine, other = positions[..., :, None], positions[..., None, :]
    label = np.arange(positions.shape[-1])
    lower = with_leading_axes(label[None, :] < label[:, None], mine.ndim)
    earlier = ((other == mine) & lower).sum(axis=-1, dtype=np.int32)
    return _Choices(ranked, ranked & (n_before + n_level < n_ranked), earlier, n_level)


def _fit(
    positions: Array,  # float32 (..., n_labels, n_columns)
    weight: Array,  # float32 (..., n_columns)
    total: Callable[[Array], Array],  # sums rankings over groups; (n_labels, n_groups)
    spread: Callable[[Array], Array],  # gives each ranking the column of its group
    prior: Prior,
    ties: bool,
) -> PlackettLuceFit:
    positions, weight = positions.astype(jnp.float32), weight.astype(jnp.float32)
    n_labels = positions.shape[-2]
    ranked, decides, earlier, n_level = (
        jnp.swapaxes(choices, -1, -2) for choices in _choices(jnp.swapaxes(positions, -1, -2))
    )
    # How much is there of every label that ties with this one, when its turn comes; 1 without ties.
    level = jnp.maximum(n_level, 1).astype(jnp.float32)
    there = worked_out(quotient(level - earlier.astype(jnp.float32), level))
    decides = decides if ties else decides & (n_level == 1)
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

        def still_there(i: Array) -> Array:
            other, strength = column(place, i), column(mine, i)
            if not ties:
                return jnp.where(other >= place, strength, 0.0)
            level = jnp.where(other == place, product(strength, there), 0.0)
            return jnp.where(other > place, strength, level)

        left = over_labels(still_there)
        share = jnp.where(decides, worked_out(quotient(won, jnp.where(decides, left, 1.0))), 0.0)
        of_level = worked_out(product(share, there)) if ties else share

        def faced_by(i: Array) -> Array:
            other = column(place, i)
            if not ties:
                return jnp.where(other <= place, column(share, i), 0.0)
            level = jnp.where(other == place, column(of_level, i), 0.0)
            return jnp.where(other < place, column(share, i), level)

        faced = over_labels(faced_by)
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
        return new, moves & moved & (n_iterations < MAX_ITERATIONS), n_iterations

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
