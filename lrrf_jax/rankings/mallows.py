"""Mallows' distribution of rankings: P(r) = exp(-theta D(r, centre)) / phi(theta).

Labels that a ranking ties have an order that is not known: `log_likelihood` sums over all of them,
fits take the most probable one.

D is Kendall's distance, and theta, 0 or more, the dispersion: 0 makes all rankings equally likely,
infinity allows the centre alone. Given a number of labels, everything but the centre is a function
of one number: `log_normaliser` and `expected_distance` of theta, `fit_dispersion` of the mean
distance. These three and `log_likelihood` take NumPy arrays and keep to their precision (tables can
be built on the host, in float64), or JAX arrays, and then can be jitted.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

from lrrf_jax._backend import by_platform
from lrrf_jax._jax_settings import works_with_our_settings
from lrrf_jax._numerics import quotient, sum_in_turn
from lrrf_jax._programs import jit
from lrrf_jax._typing import AnyArray, Array
from lrrf_jax._xla import worked_out
from lrrf_jax.rankings.aggregation import borda
from lrrf_jax.rankings.axes import namespace_of, with_leading_axes
from lrrf_jax.rankings.completion import most_probable_extension
from lrrf_jax.rankings.distances import kendall_distance
from lrrf_jax.rankings.permutations import ordering_from_ranks, places, take_in_order
from lrrf_jax.rankings.statistics import borda_votes

MAX_ITERATIONS = 100  # even: see `_iterate`
# 1 / (e^x - 1) - 1 / x + 1 / 2 in powers x, x^3, ...: Bernoulli numbers over factorials.
_SERIES = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
)


@works_with_our_settings
def log_normaliser(theta: Any, n_labels: int) -> Any:
    """Return log(phi(theta)), phi the product over j of (1 - e^(-j theta)) / (1 - e^-theta).

    Parameters
    ----------
    theta : array of floats, any shape
        0 or more; infinity gives 0.
    n_labels : int

    Returns
    -------
    array of floats, the shape and kind of ``theta``

    Examples
    --------
    >>> np.exp(log_normaliser(np.array([0.0, np.log(2), np.inf]), 3)).round(4).tolist()
    [6.0, 2.625, 1.0]
    """
    xp, theta = _floats(theta)
    return _log_factors(xp, theta, n_labels).sum(axis=-1)


def _log_factors(xp: Any, theta: Any, n_labels: int) -> Any:  # (..., n_labels)
    steps = with_leading_axes(xp.arange(1, n_labels + 1).astype(theta.dtype), theta.ndim + 1)
    safe = xp.where(theta > 0, theta, xp.ones_like(theta))[..., None]
    terms = xp.log(xp.expm1(-steps * safe) / xp.expm1(-safe))
    return xp.where(theta[..., None] > 0, terms, xp.log(steps))


@works_with_our_settings
def expected_distance(theta: Any, n_labels: int, n_ranked: Any = None) -> Any:
    """Return the mean distance to the centre, which falls in theta from m (m - 1) / 4 to 0.

    Parameters
    ----------
    theta : array of floats, any shape
        0 or more.
    n_labels : int
        m.
    n_ranked : array of ints, the shape of ``theta``, optional
        Other values of m, up to ``n_labels``, one for each theta.

    Returns
    -------
    array of floats, the shape and kind of ``theta``

    Examples
    --------
    >>> expected_distance(np.array([0.0, np.log(2), np.inf]), 3).round(4).tolist()
    [1.5, 0.9048, 0.0]
    """
    xp, theta = _floats(theta)
    steps = with_leading_axes(xp.arange(1, n_labels + 1).astype(theta.dtype), theta.ndim + 1)
    # The sum over j of 1 / (e^theta - 1) - j / (e^(j theta) - 1), less the part 1 / theta that
    # cancels; far out nothing is left to cancel, and the plain form decays as it should.
    near = _regular(xp, theta)[..., None] - steps * _regular(xp, theta[..., None] * steps)
    is_near = theta < 0.5
    beyond = xp.where(is_near, xp.ones_like(theta), theta)  # nothing overflows where it is unused
    far = _inverse_expm1(xp, beyond)[..., None] - steps * _inverse_expm1(
        xp, beyond[..., None] * steps
    )
    terms = xp.where(is_near[..., None], near, far)
    if n_ranked is not None:
        terms = xp.where(steps <= n_ranked.astype(theta.dtype)[..., None], terms, 0 * terms)
    return terms.sum(axis=-1)


@works_with_our_settings
def fit_dispersion(mean_distance: Any, n_labels: int, n_ranked: Any = None) -> Any:
    """Return the theta of the greatest likelihood, given the mean distance to the centre.

    Parameters
    ----------
    mean_distance : array of floats, any shape
        Not negative.
    n_labels : int
        m.
    n_ranked : array of ints, the shape of ``mean_distance``, optional
        Other values of m, up to ``n_labels``, one for each distance.

    Returns
    -------
    array of floats, the shape and kind of ``mean_distance``
        0 where the distance is m (m - 1) / 4 or more, infinity where it is 0.

    Notes
    -----
    `expected_distance` is inverted by bisection, to the precision of the type. It starts between
    bounds: with u = e^-theta, (m - 1) u / (1 + u) <= E[D] <= (m - 1) u / (1 - u).

    Examples
    --------
    >>> fit_dispersion(np.array([1.5, 0.9048, 0.0]), 3).round(3).tolist()
    [0.0, 0.693, inf]
    """
    xp, distance = _floats(mean_distance)
    given = xp.full_like(distance, n_labels) if n_ranked is None else n_ranked
    given = xp.maximum(given.astype(distance.dtype), xp.ones_like(distance))
    most = given * (given - 1) / 4
    inside = (distance > 0) & (distance < most)
    safe = xp.where(inside, distance, xp.maximum(most, xp.ones_like(most)) / 2)
    low = xp.log(xp.maximum((given - 1 - safe) / safe, xp.ones_like(safe)))
    high = xp.log1p((given - 1) / safe)

    def halve(bounds: Any) -> Any:
        low, high = bounds
        middle = (low + high) / 2
        too_far = expected_distance(middle, n_labels, n_ranked) > safe
        return xp.where(too_far, middle, low), xp.where(too_far, high, middle)

    n_halvings = 30 if safe.dtype == np.float32 else 60
    if xp is np:
        bounds = (low, high)
        for _ in range(n_halvings):
            bounds = halve(bounds)
    else:
        bounds = jax.lax.fori_loop(0, n_halvings, lambda _, bounds: halve(bounds), (low, high))
    theta = (bounds[0] + bounds[1]) / 2
    theta = xp.where(distance >= most, xp.zeros_like(theta), theta)
    return xp.where(distance <= 0, xp.full_like(theta, xp.inf), theta)


@works_with_our_settings
def log_likelihood(
    positions: AnyArray,  # float or int (..., n_labels), complete; ties: order unknown
    centre: AnyArray,  # int or float (..., n_labels), a permutation of 1..n_labels
    theta: AnyArray,  # float (...), 0 or more
) -> AnyArray:  # theta.dtype (...)
    """Return the log of the probability of each ranking that ranks all; -inf where it has none.

    That of ties is of all their orders together, a product: the pairs that are ordered are reversed
    in all of them or in none, and the orders of d labels that tie add up to phi of d labels.
    """
    xp = namespace_of(positions, centre, theta)
    _, theta = _floats(xp.asarray(theta))
    n_labels = positions.shape[-1]
    distance = kendall_distance(positions.astype(theta.dtype), centre.astype(theta.dtype))
    # At infinite theta, 0 distance costs nothing: that is not infinity times 0.
    apart = distance > 0
    cost = xp.where(apart, xp.where(apart, distance, 1.0) * theta, 0.0)
    # The i-th label of a tie, from 0, brings the factor i + 1 of phi; the first, alone, 1.
    index = xp.arange(n_labels)
    lower = with_leading_axes(index[None, :] < index[:, None], positions.ndim + 1)
    level = positions[..., None, :] == positions[..., :, None]
    number = (level & lower).sum(axis=-1)
    factors = xp.broadcast_to(_log_factors(xp, theta, n_labels), number.shape)
    within = xp.take_along_axis(factors, number, axis=-1).sum(axis=-1)
    return -cost - (log_normaliser(theta, n_labels) - within)


@works_with_our_settings
@jit
def sample(
    key: Array,
    centre: Array,  # int or float (..., n_labels), a permutation of 1..n_labels
    theta: Array,  # float32 (...), 0 or more
) -> Array:  # int32 (..., n_labels)
    """Draw one ranking for each centre, by repeated insertion; O(n_labels^2) each.

    The i-th best label of the centre is put v places above the end of those before it, with
    probability proportional to e^(-theta v). Doignon, Pekec and Regenwetter 2004.
    """
    n_labels = centre.shape[-1]
    theta = jnp.broadcast_to(jnp.asarray(theta, jnp.float32), centre.shape[:-1])
    uniform = jax.random.uniform(key, (n_labels, *theta.shape), jnp.float32)
    index = jnp.arange(n_labels, dtype=jnp.int32)
    at = with_leading_axes(index, centre.ndim)
    safe = jnp.where(theta > 0, theta, 1.0)

    def insert(place: Array, step: tuple[Array, Array]) -> tuple[Array, None]:
        i, u = step  # i labels are placed already
        n = (i + 1).astype(jnp.float32)
        moved = jnp.where(theta > 0, jnp.log1p(u * jnp.expm1(-n * safe)) / -safe, u * n)
        up = jnp.clip(jnp.floor(moved).astype(jnp.int32), 0, i)
        new = (i + 1 - up)[..., None]
        place = place + ((at < i) & (place >= new)).astype(jnp.int32)
        return jnp.where(at == i, new, place), None

    start = jnp.zeros(centre.shape, jnp.int32)
    place, _ = jax.lax.scan(insert, start, (index, uniform))  # of the i-th best of the centre
    return take_in_order(place, 1 + ordering_from_ranks(centre))


class MallowsFit(NamedTuple):
    """Distributions fitted to groups of rankings."""

    centre: Array  # int32 (n_groups, n_labels), permutations of 1..n_labels
    mean_vote: Array  # float32 (n_groups, n_labels), Borda votes of which the centre is the ranking
    mean_distance: Array  # float32 (n_groups,), of the completed rankings, weighted; 0: no weight
    theta: Array  # float32 (n_groups,)
    unseen: Array  # bool (n_groups, n_labels): no ranking of positive weight ranks the label


@works_with_our_settings
@functools.partial(jit, static_argnames=("n_groups", "unseen"))
def fit_groups(
    positions: Array,  # float32 (n_samples, n_labels), NaN: missing
    group: Array,  # int32 (n_samples,), 0..n_groups-1; others are left out
    weight: Array,  # float32 (n_samples,), not negative
    n_groups: int,
    unseen: str = "middle",
) -> MallowsFit:
    """Fit one distribution per group, all at once, by hard expectation-maximisation.

    The centre starts as the generalised Borda ranking; then every partial ranking is completed,
    from its original form, by `most_probable_extension`, and Borda's ranking of the completed ones
    is the next centre, until nothing changes or for `MAX_ITERATIONS`. It may cycle: the last
    counts. Exact maximum likelihood would take Kemeny's ranking, which is hard to find. Complete
    rankings need no second step. Labels that a ranking ties start with the mean of their votes;
    then their order is that of the centre, of all orders the most probable one.

    A label that no ranking of a group ranks gets the middle vote at the start, and then goes where
    the centre has it. With ``unseen="last"`` it comes last throughout, and counts in nothing: the
    order of the other labels and theta are those of rankings without it, for callers who know
    better where it belongs (`most_probable_extension` of the others). The field ``unseen`` tells.

    Costs O(n_samples n_labels^2) per iteration. Cheng, Hühn and Hüllermeier 2009, Algorithm 1.
    """
    chex.assert_rank([positions, group, weight], [2, 1, 1])
    chex.assert_equal_shape_prefix([positions, group, weight], 1)
    chex.assert_type([positions, group], [float, int])
    used = (group >= 0) & (group < n_groups)
    weight = jnp.where(used, weight, 0.0)
    at = jnp.where(used, group, 0)

    def total(values: Array) -> Array:  # (n_samples, ...) -> (n_groups, ...)
        return jax.ops.segment_sum(values, at, n_groups)

    return _fit(positions, weight, total, lambda centre: centre[at], unseen)


@works_with_our_settings
@functools.partial(jit, static_argnames="unseen")
def fit_tables(
    positions: Array,  # float32 (n_queries, k, n_labels), NaN: missing
    weight: Array,  # float32 (n_queries, k), not negative
    unseen: str = "middle",
) -> MallowsFit:
    """Fit one distribution to each table of k rankings; otherwise as `fit_groups`.

    Sums run in one order whatever the number of tables, so that a row does not depend on it.
    """
    chex.assert_rank([positions, weight], [3, 2])
    chex.assert_equal_shape_prefix([positions, weight], 2)
    chex.assert_type(positions, float)

    def total(values: Array) -> Array:  # (n_queries, k, ...) -> (n_queries, ...)
        sums: Array = by_platform(
            values, cpu=_sum_rankings, accelerator=functools.partial(sum_in_turn, axis=1)
        )
        return sums

    return _fit(positions, weight, total, lambda centre: centre[:, None], unseen)


def _sum_rankings(values: Array) -> Array:  # (n_queries, k, ...) -> (n_queries, ...)
    def add(i: Array, sums: Array) -> Array:
        return sums + values[:, i]

    sums: Array = jax.lax.fori_loop(1, values.shape[1], add, values[:, 0])
    return sums


def _fit(
    positions: Array,
    weight: Array,
    total: Callable[[Array], Array],  # sums rankings over groups
    spread: Callable[[Array], Array],  # gives each ranking the row of its group
    unseen: str,
) -> MallowsFit:
    positions, weight = positions.astype(jnp.float32), weight.astype(jnp.float32)
    n_labels = positions.shape[-1]
    seen = total(jnp.where(jnp.isnan(positions), 0.0, weight[..., None])) > 0
    put_last = ~seen & (unseen == "last")

    def votes_after(completed: Array) -> Array:
        votes = (n_labels + 1 - completed).astype(jnp.float32)
        return jnp.where(put_last, -1.0, total(weight[..., None] * votes))

    def complete(centre: Array) -> Array:
        return most_probable_extension(positions, jnp.broadcast_to(spread(centre), positions.shape))

    start = jnp.where(put_last, -1.0, total(weight[..., None] * borda_votes(positions)))
    known = jnp.logical_not(jnp.any(_undecided(positions) & (weight > 0)))
    votes = _iterate(lambda votes: votes_after(complete(borda(votes))), start, known)
    centre = borda(votes)
    completed, at = complete(centre).astype(jnp.float32), spread(centre).astype(jnp.float32)
    weight_sum = total(weight)
    divisor = jnp.where(weight_sum > 0, weight_sum, 1.0)
    mean_distance = total(weight * kendall_distance(completed, at)) / divisor
    n_seen = jnp.sum(seen, axis=-1) if unseen == "last" else None
    theta = fit_dispersion(mean_distance, n_labels, n_seen)
    mean_vote = jnp.where(put_last, 0.0, worked_out(quotient(votes, divisor[..., None])))
    return MallowsFit(centre, mean_vote, mean_distance, theta, ~seen)


def _undecided(positions: Array) -> Array:  # bool (...), rankings that an extension would change
    _, n_level = places(positions)
    return jnp.any(n_level != 1, axis=-1)


def _iterate(improve: Callable[[Array], Array], start: Array, known: Array) -> Array:
    """Apply ``improve`` to votes until their order rests, at most `MAX_ITERATIONS` times.

    Stops early where every row either rests or alternates between two orders, with the one of the
    two that the last iteration, of even number, would give.
    """

    def goes_on(state: tuple[Array, Array, Array, Array]) -> Array:
        older, old, new, n_done = state
        centre = borda(new)
        settled = jnp.all(centre == borda(old), axis=-1) | jnp.all(centre == borda(older), axis=-1)
        return (n_done < MAX_ITERATIONS) & ((n_done < 2) | ~jnp.all(settled))

    def step(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        _, old, new, n_done = state
        return old, new, improve(new), n_done + 1

    # Complete rankings give back the start: there is nothing to do.
    n_done = jnp.where(known, MAX_ITERATIONS, 0)
    _, old, new, n_done = jax.lax.while_loop(goes_on, step, (start, start, start, n_done))
    return jnp.where(n_done % 2 == 0, new, old)


def _floats(values: Any) -> tuple[Any, Any]:
    if isinstance(values, jax.Array):
        return jnp, values if jnp.issubdtype(values.dtype, jnp.floating) else values.astype(
            jnp.float32
        )
    values = np.asarray(values)
    return np, values if values.dtype.kind == "f" else values.astype(np.float64)


def _inverse_expm1(xp: Any, x: Any) -> Any:
    """Return 1 / (e^x - 1), as e^-x / (1 - e^-x): nothing overflows."""
    safe = xp.where(x > 0, x, xp.ones_like(x))
    return xp.exp(-safe) / -xp.expm1(-safe)


def _regular(xp: Any, x: Any) -> Any:
    """Return 1 / (e^x - 1) - 1 / x, without cancellation near 0."""
    small = x < 0.5
    inside = xp.where(small, x, xp.zeros_like(x))
    series = xp.zeros_like(x)
    for coefficient in reversed(_SERIES):
        series = series * inside * inside + coefficient
    outside = xp.where(small, xp.ones_like(x), x)
    return xp.where(small, series * inside - 0.5, _inverse_expm1(xp, outside) - 1 / outside)
