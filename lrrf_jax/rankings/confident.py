"""Bucket orders that say only what preferences are sure of."""

import numbers
from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.rankings.pairwise import n_labels_of_pairs, pair_indices

# Shares are compared as whole numbers, in which those of up to 16 equal votes are exact.
_UNIT = 3_603_600
_CELLS_AT_ONCE = 2**18  # of samples x labels x labels


def confident_orders(
    preferences: NDArray,  # float32 or float64 (n_samples, n_pairs) in [-1, 1], NaN: unknown
    confidence: float,
    *,
    unknown: str = "abstain",
) -> NDArray:  # float32 (n_samples, n_labels)
    """Order labels in the finest buckets of which the order of any two labels is sure.

    Parameters
    ----------
    confidence : float in [.5, 1]
        A pair is sure where the probability, ``(1 + |preference|) / 2``, is so large at least, and
        above one half.
    unknown : {"abstain", "last"}
        Labels of which no preference is known get NaN; or they share a last bucket.

    Notes
    -----
    Two labels are in different buckets if, and only if, there is a cut into those before and those
    behind that all pairs across are sure of. There is one such bucket order with the most
    buckets, for cuts that are sure cannot cross: the labels before the one are among those
    before the other. Nothing that is sure is reversed; where it runs in circles, there is no cut.
    A higher confidence only joins buckets.

    After k labels there is a cut where their sure wins less their sure losses are as many as
    there are pairs across: among themselves these cancel. O(n_labels^2) per row.

    Examples
    --------
    >>> import numpy as np
    >>> votes = np.array([[0.9, 0.9, 0.1], [np.nan, 1.0, np.nan]], np.float32)
    >>> confident_orders(votes, 0.9).tolist()
    [[1.0, 2.5, 2.5], [1.0, nan, 2.0]]
    >>> confident_orders(votes[:1], 0.99).tolist()
    [[2.0, 2.0, 2.0]]
    """
    n_labels = n_labels_of_pairs(preferences.shape[1])
    out = np.empty((len(preferences), n_labels), np.float32)
    step = max(1, _CELLS_AT_ONCE // max(1, n_labels) ** 2)
    for start in range(0, len(preferences), step):
        rows = slice(start, start + step)
        out[rows] = _orders(preferences[rows], confidence, unknown, n_labels)
    return out


def _orders(preferences: NDArray, confidence: float, unknown: str, n_labels: int) -> NDArray:
    first, second = pair_indices(n_labels)
    given = ~np.isnan(preferences)
    whole = np.rint(np.where(given, preferences, 0).astype(np.float64) * _UNIT)
    least = max(round((2 * float(confidence) - 1) * _UNIT) - 1, 1)
    sure = np.where(np.abs(whole) >= least, np.sign(whole), 0).astype(np.int64)
    balance = np.zeros((len(preferences), n_labels), np.int64)  # sure wins less sure losses
    known = np.full(balance.shape, n_labels == 1)
    for pair, (one, other) in enumerate(zip(first, second, strict=True)):
        balance[:, one] += sure[:, pair]
        balance[:, other] -= sure[:, pair]
        known[:, one] |= given[:, pair]
        known[:, other] |= given[:, pair]
    n_known = known.sum(axis=1, keepdims=True)
    ordering = np.argsort(np.where(known, -balance, n_labels), axis=1, kind="stable")
    ahead = np.cumsum(np.take_along_axis(balance, ordering, axis=1), axis=1)
    count = np.arange(1, n_labels + 1)
    # The last cut is that behind all labels that are known: those that are not come after it.
    cut = (ahead == count * (n_known - count)) & (count <= n_known) | (count == n_labels)
    # Where the bucket of a place begins and ends, in labels before it and up to its end.
    end = np.where(cut, count, n_labels)
    end = np.minimum.accumulate(end[:, ::-1], axis=1)[:, ::-1]
    begin = np.where(cut, count, 0)
    begin = np.maximum.accumulate(np.pad(begin[:, :-1], ((0, 0), (1, 0))), axis=1)
    out = np.empty(balance.shape, np.float32)
    np.put_along_axis(out, ordering, ((begin + 1 + end) / 2).astype(np.float32), axis=1)
    if unknown == "abstain":
        out[~known] = np.nan
    return out


def require_confidence(confidence: Any, others: dict[str, tuple[Any, Any]]) -> None:
    """Raise InputError for no confidence, and where one of the ``others`` is not its default."""
    real = isinstance(confidence, numbers.Real) and not isinstance(confidence, bool)
    if not real or not 0.5 <= confidence <= 1:
        raise InputError(f"confidence must be a number from .5 to 1; it is {confidence!r}.")
    for name, (value, default) in others.items():
        if value != default:
            raise InputError(
                f"{name} must be left out with confidence, which decides alone; it is {value!r}. "
                "Leave one of them out."
            )
