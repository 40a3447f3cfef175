"""Likelihoods and samples under Mallows and Plackett-Luce, for tables as users hold them.

What is given is checked, and likelihoods are computed on the host, in float64. The functions of
arrays behind these, for programs of JAX, are in `mallows` and `plackett_luce`.
"""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from lrrf_jax._jax_settings import our_settings
from lrrf_jax._names import paired_order
from lrrf_jax._numbers import VECTOR, as_numbers, shown
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_choice, require_integer
from lrrf_jax.rankings import davidson_luce, mallows, mallows_partial, plackett_luce
from lrrf_jax.rankings.pairwise import row_blocks
from lrrf_jax.rankings.permutations import places
from lrrf_jax.rankings.validation import require_rankings, require_rows

_LARGEST_SEED = 2**32 - 1  # what a key is made of in 32 bits
_LARGEST_STRENGTH = 1e290  # neither sums nor quotients leave float64


def mallows_log_likelihood(
    rankings: Any, centre: Any, dispersion: Any, *, missing: str = "unknown"
) -> NDArray:
    """Return the log of the probability of each ranking under Mallows' distribution.

    ``P(r) = exp(-dispersion * D(r, centre)) / phi(dispersion)``, D Kendall's distance and phi the
    sum over all rankings. A ranking with ties or missing labels has the probability of all the
    complete rankings, without ties, that it leaves open.

    Parameters
    ----------
    rankings : array-like or DataFrame, shape (n_samples, n_labels)
        Positions, 1 = best. The order of labels that tie is unknown; NaN is a missing label.
    centre : array-like, shape (n_labels,)
        The most probable ranking, as positions; its labels are in the order of the columns.
    dispersion : float
        0 or more: 0 makes all rankings equally probable, infinity allows the centre alone.
    missing : {"unknown", "last"}
        Whether nothing is known of a missing label, or it comes after every ranked one (a top-k
        list), in no order.

    Returns
    -------
    float64 (n_samples,)
        ``-inf`` for a ranking of probability 0. The sum is the log-likelihood of the table.

    Raises
    ------
    InputError
        Where a ranking leaves out so many labels that it is not to be computed, ``centre`` is no
        complete ranking of as many labels, or ``dispersion`` is no number of 0 or more.

    Notes
    -----
    The pairs that a ranking with ties orders are reversed in all of its complete rankings or in
    none, and within a tie of d labels every order occurs once: the sum of their probabilities is
    the product, over ties, of phi of d labels, times ``exp(-dispersion * D) / phi``, where D counts
    the pairs that are ordered, and against the centre. Where labels are missing from anywhere no
    formula is known. Complete rankings are then added up by the sets of their best labels,
    (1 + the sum over ties, a label alone included, of 2^d - 1) 2^n_missing of them, 16,384 at most.

    Mallows 1957; Fligner and Verducci 1986 (of top-k lists). Costs O(n_samples n_labels^2), and for
    partial rankings O(n_samples n_labels) for each set.

    Examples
    --------
    >>> dispersion = np.log(2)  # each reversed pair halves the probability
    >>> logs = mallows_log_likelihood([[1, 2, 3], [2, 1, 3], [3, 2, 1]], [1, 2, 3], dispersion)
    >>> (np.exp(logs) * 21).round(6).tolist()
    [8.0, 4.0, 1.0]
    >>> (np.exp(mallows_log_likelihood([[1, 1, 3]], [1, 2, 3], dispersion)) * 21).round(6).tolist()
    [12.0]
    >>> partial = [[2, np.nan, 1]]
    >>> (np.exp(mallows_log_likelihood(partial, [1, 2, 3], dispersion)) * 21).round(6).tolist()
    [5.0]
    """
    require_choice(missing, "missing", ("unknown", "last"))
    table = require_rankings(rankings, name="rankings").astype(np.float64)
    centre, theta = _centre(centre, rankings, table), _dispersion(dispersion)
    if missing == "last":
        table = np.where(np.isnan(table), table.shape[1] + 1, table)  # they share the last place
    complete = ~np.isnan(table).any(axis=1)
    partial = table[~complete]
    require_rows(
        complete | (mallows_partial.n_sets(table) <= mallows_partial.MOST_SETS),
        table,
        "rankings must leave out fewer labels, or be top-k lists, for all completions to be summed",
        'For top-k lists say missing="last". Complete others with '
        "`completion.most_probable_extension`, leave such rows out, or use "
        "`plackett_luce_log_likelihood`, which reads partial rankings.",
    )
    logs = np.empty(len(table))
    logs[complete] = _by_blocks(
        lambda rows: mallows.log_likelihood(rows, centre[None], np.full(len(rows), theta)),
        table[complete],
    )
    logs[~complete] = mallows_partial.log_likelihood(partial, centre, theta)
    return logs


def sample_mallows(centre: Any, dispersion: float, n_samples: int, *, seed: int) -> NDArray:
    """Draw complete rankings from Mallows' distribution, by repeated insertion.

    Parameters
    ----------
    centre : array-like, shape (n_labels,)
        The most probable ranking, as positions, 1 = best.
    dispersion : float
        0 or more; see `mallows_log_likelihood`.
    n_samples : int
    seed : int
        From 0 to 2**32 - 1; the same seed gives the same rankings.

    Returns
    -------
    int32 (n_samples, n_labels)
        Positions, 1 = best.

    Raises
    ------
    InputError
        Where ``centre`` is no complete ranking, or a number is out of its range.

    Notes
    -----
    Doignon, Pekec and Regenwetter 2004. Costs O(n_samples n_labels^2).

    Examples
    --------
    >>> drawn = sample_mallows([2, 1, 3], 3.0, 1000, seed=0)
    >>> drawn.shape, bool((drawn == [2, 1, 3]).all(axis=1).mean() > 0.85)
    ((1000, 3), True)
    """
    centre, theta = _centre(centre), _dispersion(dispersion)
    require_integer(n_samples, "n_samples", 0)
    with our_settings():
        centres = np.broadcast_to(centre.astype(np.int32), (n_samples, len(centre)))
        thetas = np.full(n_samples, min(theta, float(np.finfo(np.float32).max)), np.float32)
        return np.asarray(mallows.sample(_key(seed), centres, thetas))


def plackett_luce_log_likelihood(
    rankings: Any, strength: Any, *, missing: str = "unknown", tie_prevalence: Any = None
) -> NDArray:
    """Return the log of the probability of each ranking under Plackett-Luce's distribution.

    Places are filled from the best, each by one of the labels that are left, with probability
    proportional to its strength. With ``tie_prevalence`` d labels can take the next d places
    together, with probability proportional to the prevalence of ties of d, times the geometric
    mean of their strengths.

    Parameters
    ----------
    rankings : array-like or DataFrame, shape (n_samples, n_labels)
        Positions, 1 = best; NaN is a missing label.
    strength : array-like, shape (n_labels,)
        Positive, of any scale; in the order of the columns of ``rankings``.
    missing : {"unknown", "last"}
        Whether nothing is known of a missing label (the ranking is one of the labels that it
        ranks), or it comes after every ranked one, in no order (a top-k list). Labels that are
        ranked and tie in the last place are a tie like any other.
    tie_prevalence : sequence of floats, optional
        Of ties of 2, 3, ... labels, in this order, 0 or more: how many times as probable it is
        that these of some equally strong labels take the next places together, as that a given one
        of them takes the next place alone. No more labels tie than there are numbers for; without
        any, none do.

    Returns
    -------
    float64 (n_samples,)
        0 for a ranking that holds no preference; -inf for a tie of prevalence 0. The sum is the
        log-likelihood of the table.

    Raises
    ------
    InputError
        For what are no positions, for ties of more labels than ``tie_prevalence`` has numbers for,
        and for strengths that are not one positive number per label.

    Notes
    -----
    Luce 1959; Plackett 1975; with ties Turner, van Etten, Firth and Kosmidis 2020 (their delta_2,
    delta_3, ...). There, what a ranking of some labels says is conditional on these; without ties
    it is also the sum over all places of the others.

    Costs O(n_samples n_labels^2), and with ties of up to d labels O(n_samples n_labels d^2).

    Examples
    --------
    >>> lists = [[1, 2, 3], [1, np.nan, 2], [1, np.nan, np.nan]]
    >>> np.exp(plackett_luce_log_likelihood(lists, [2, 1, 1])).round(4).tolist()
    [0.25, 0.6667, 1.0]
    >>> np.exp(plackett_luce_log_likelihood(lists, [2, 1, 1], missing="last")).round(4).tolist()
    [0.25, 0.25, 0.5]
    >>> logs = plackett_luce_log_likelihood([[1, 1], [1, 2]], [1, 1], tie_prevalence=[2])
    >>> np.exp(logs).round(4).tolist()
    [0.5, 0.25]
    """
    require_choice(missing, "missing", ("unknown", "last"))
    table = require_rankings(rankings, name="rankings").astype(np.float64)
    strengths = _strength(strength, rankings, table)
    prevalence = _tie_prevalence(tie_prevalence, table)
    if len(prevalence) > 1:
        if missing == "last":
            table = np.where(np.isnan(table), np.inf, table)
        return _by_blocks(
            lambda rows: davidson_luce.log_likelihood(rows, strengths, prevalence), table
        )
    if missing == "last":
        table = np.where(np.isnan(table), table.shape[1] + 1, table)  # they share the last place
    return _by_blocks(lambda rows: plackett_luce.log_likelihood(rows, strengths[None]), table)


def sample_plackett_luce(strength: Any, n_samples: int, *, seed: int) -> NDArray:
    """Draw complete rankings from Plackett-Luce's distribution.

    Parameters
    ----------
    strength : array-like, shape (n_labels,)
        Positive, of any scale.
    n_samples : int
    seed : int
        From 0 to 2**32 - 1; the same seed gives the same rankings.

    Returns
    -------
    int32 (n_samples, n_labels)
        Positions, 1 = best.

    Raises
    ------
    InputError
        Where a strength is not positive, or a number is out of its range.

    Notes
    -----
    Yellott 1977: sorts log(strength) plus Gumbel noise. Costs O(n_samples n_labels^2).

    Examples
    --------
    >>> drawn = sample_plackett_luce([6, 1, 1], 1000, seed=0)
    >>> drawn.shape, bool(0.7 < (drawn[:, 0] == 1).mean() < 0.8)
    ((1000, 3), True)
    """
    logs = np.log(_strength(strength)).astype(np.float32)
    require_integer(n_samples, "n_samples", 0)
    with our_settings():
        tables = np.broadcast_to(logs, (n_samples, len(logs)))
        return np.asarray(plackett_luce.sample_by_log(_key(seed), tables))


def _by_blocks(function: Callable[[NDArray], NDArray], table: NDArray) -> NDArray:
    """Apply a function to blocks of rows; returns float64 (n_samples,)."""
    values = np.empty(len(table))
    for rows in row_blocks(*table.shape):
        values[rows] = function(table[rows])
    return values


def _per_label(values: Any, name: str, rankings: Any = None) -> NDArray:  # float64 (n_labels,)
    """Read one number per label; the names of a pandas Series decide where columns have names."""
    remedy = "Give one number per label, in the order of the columns."
    numbers = as_numbers(values, name, form=VECTOR, remedy=remedy).astype(np.float64)
    if numbers.ndim != 1 or len(numbers) == 0:
        raise InputError(f"{name} must have shape (n_labels,); it has {numbers.shape}. {remedy}")
    if hasattr(type(values), "to_frame") and hasattr(type(values), "iloc") and rankings is not None:
        order = paired_order(rankings, values.to_frame().T, "rankings", name)
        numbers = numbers if order is None else numbers[order]
    return numbers


def _require_width(numbers: NDArray, name: str, rankings: NDArray | None) -> None:
    if rankings is not None and len(numbers) != rankings.shape[1]:
        raise InputError(
            f"{name} must have one number per label; it has {len(numbers)}, and rankings have "
            f"{rankings.shape[1]} columns."
        )


def _centre(centre: Any, rankings: Any = None, table: NDArray | None = None) -> NDArray:
    numbers = _per_label(centre, "centre", rankings)
    _require_width(numbers, "centre", table)
    if np.any(np.sort(numbers) != np.arange(1, len(numbers) + 1)):
        raise InputError(
            f"centre must hold the positions 1..{len(numbers)} once each; it is "
            f"{shown(numbers.tolist(), str)}. Convert scores with `rankings_from_scores`, a list "
            "of labels with `rankings_from_orderings`."
        )
    return numbers


def _strength(strength: Any, rankings: Any = None, table: NDArray | None = None) -> NDArray:
    numbers = _per_label(strength, "strength", rankings)
    _require_width(numbers, "strength", table)
    require_rows(
        (numbers >= 1 / _LARGEST_STRENGTH) & (numbers <= _LARGEST_STRENGTH),
        numbers,
        "strength must hold one positive number per label, from 1e-290 to 1e290",
        "Only ratios count. A label that never wins has a small strength, not 0: fit with a prior.",
    )
    return numbers


def _tie_prevalence(values: Any, table: NDArray) -> NDArray:  # float64 (largest tie,)
    """Read the prevalences of ties; a label alone, in front, has 1."""
    numbers = np.empty(0)
    if values is not None:
        remedy = "Give one number each for ties of 2, 3, ... labels."
        numbers = as_numbers(values, "tie_prevalence", form=VECTOR, remedy=remedy)
        if numbers.ndim != 1:
            raise InputError(
                f"tie_prevalence must be a sequence; its shape is {numbers.shape}. {remedy}"
            )
        numbers = numbers.astype(np.float64)
        require_rows(
            (numbers >= 0) & (numbers <= _LARGEST_STRENGTH),
            numbers,
            "tie_prevalence must hold numbers from 0 to 1e290",
            remedy,
        )
    largest = len(numbers) + 1
    _, n_level = places(table)
    require_rows(
        (n_level <= largest).all(axis=1),
        table,
        f"rankings must tie no more than {largest} labels, as tie_prevalence has it"
        if largest > 1
        else "rankings must tie no labels without tie_prevalence",
        "Give the prevalence of ties of 2, 3, ... labels, 0 where there can be none.",
    )
    return np.append(1.0, numbers)


def _dispersion(value: Any) -> float:
    real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not real or not value >= 0:
        raise InputError(f"dispersion must be a number of 0 or more; it is {value!r}.")
    return float(value)


def _key(seed: int) -> jax.Array:
    require_integer(seed, "seed", 0, _LARGEST_SEED)
    return jax.random.key(np.uint32(seed))
