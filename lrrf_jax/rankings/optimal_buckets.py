"""The bucket orders that contradict preferences least, by dynamic programming over sets."""

import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.rankings.pairwise import pair_indices

MAX_LABELS = 12
_CELLS_AT_ONCE = 2**21
_COUNTED = 16.0  # above the number of buckets, which decides between equal costs


def optimal_places(
    preference: NDArray,  # float64 (n_samples, n_labels, n_labels), [u, v]: of u over v, whole
    unit: int,
) -> NDArray:  # int32 (n_samples, n_labels), labels in buckets before
    """Find the bucket orders of least cost of each sample.

    A pair costs what its preference lacks to ``unit`` in the direction of the order, or, in one
    bucket, what it differs from 0. Of orders of equal cost, the one of fewest buckets is taken,
    then the one whose last buckets hold the labels of the highest index. Costs O(3^n_labels) per
    sample.
    """
    n_samples, n_labels = preference.shape[:2]
    rows = max(1, _CELLS_AT_ONCE // (2**n_labels * max(1, n_labels)))
    blocks = [
        _places_of_block(preference[start : start + rows], float(unit))
        for start in range(0, n_samples, rows)
    ]
    return np.concatenate(blocks) if blocks else np.zeros((0, n_labels), np.int32)


class _Ends(NamedTuple):
    """The sets that may be the last bucket of a set of labels, from the largest number down."""

    bits: int
    labels: NDArray  # intp (n_members,)
    last: NDArray  # intp (n_ends,), sets as numbers
    rest: NDArray  # intp (n_ends,), the set without these
    members: NDArray  # float64 (n_members, n_ends), 1: in the last bucket


@functools.cache
def _members(n_labels: int) -> NDArray:  # float64 (2**n_labels, n_labels), 0 or 1
    return ((np.arange(2**n_labels)[:, None] >> np.arange(n_labels)) & 1).astype(np.float64)


def _ends(n_labels: int) -> Iterator[_Ends]:
    """Yield the sets of labels, each after all of its parts."""
    members = _members(n_labels)
    for bits in range(1, 2**n_labels):
        labels = np.flatnonzero(members[bits])
        parts = _members(len(labels))[:0:-1]
        last = (parts @ 2.0**labels).astype(np.intp)
        yield _Ends(bits, labels, last, bits - last, parts.T)


def _places_of_block(preference: NDArray, unit: float) -> NDArray:
    n_samples, n_labels = preference.shape[:2]
    members = _members(n_labels)
    first, second = pair_indices(n_labels)
    tied = np.abs(preference[:, first, second]) @ (members[:, first] * members[:, second]).T
    # Cost of all of a set before a label; within the set, which is taken off again, a pair
    # costs 2 units both ways together.
    before = members @ (unit * (1 - np.eye(n_labels)) - preference)  # (n_samples, sets, n_labels)
    size = members.sum(1)
    bucket = _COUNTED * (tied - unit * size * (size - 1)) + 1
    before *= _COUNTED

    least = np.zeros((n_samples, 2**n_labels))
    chosen = np.zeros((n_samples, 2**n_labels), np.intp)
    sample = np.arange(n_samples)
    for ends in _ends(n_labels):
        cost = before[:, ends.bits, ends.labels] @ ends.members
        cost += bucket[:, ends.last]
        cost += least[:, ends.rest]
        best = cost.argmin(1)
        least[:, ends.bits] = cost[sample, best]
        chosen[:, ends.bits] = ends.last[best]

    place = np.zeros((n_samples, n_labels), np.int32)
    left = np.full(n_samples, 2**n_labels - 1)
    while left.any():
        last = chosen[sample, left]
        left = left - last
        n_before = size[left].astype(np.int32)
        place += np.where(members[last] > 0, n_before[:, None], 0)
    return place
