"""The bucket pivot algorithm, for many tables of preferences at once.

Labels are cut like a list in quicksort: those that a pivot is not set apart from are its bucket,
the others come before or after it, and are cut in turn.
"""

from typing import NamedTuple

import numpy as np

from lrrf_jax._typing import NDArray


class Variant(NamedTuple):
    """What the variants of the algorithm differ in, besides the order of the labels."""

    several: bool = False  # a label is compared with all that are in the bucket by then
    second: bool = False  # those left out are compared once more, with the whole bucket


def pivot_places(
    preference: NDArray,  # int32 (n_labels, n_labels, n_samples), [v, u]: of v over u
    priority: NDArray,  # int (n_labels, n_samples): pivots are the lowest, each number once
    known: NDArray,  # bool (n_labels, n_samples): the others stay apart
    limit: int,
    variant: Variant,
) -> NDArray:  # int32 (n_labels, n_samples), labels in buckets before; unknown ones: n_labels
    """Cut the labels of every sample into buckets.

    A label joins the bucket of its pivots where their mean preference over it is at most ``limit``
    either way. Labels are visited by index. Costs O(n_labels^2) per sample and round, of which
    there are as many as cuts lie within each other, mostly about log(n_labels).
    """
    n_labels = len(known)
    place = np.where(known, np.int32(0), np.int32(n_labels))
    unsettled = known.copy()
    while unsettled.any():
        side = _cut(preference, priority, place, unsettled, limit, variant)
        key = 4 * place + side
        together = key[:, None] == key
        place = np.where(known, (key[:, None] < key).sum(0, dtype=np.int32), n_labels)
        unsettled &= (side != 0) & (together.sum(0, dtype=np.int32) > 1)
    return place


def _cut(
    preference: NDArray,
    priority: NDArray,
    place: NDArray,  # int32 (n_labels, n_samples), equal within a list that is to be cut
    unsettled: NDArray,  # bool (n_labels, n_samples)
    limit: int,
    variant: Variant,
) -> NDArray:  # int8 (n_labels, n_samples): -1 before the bucket, 0 in it, 1 after it
    """Cut each list once: choose its pivot, and compare all of its labels with the bucket."""
    n_labels = len(place)
    same = (place[:, None] == place) & (unsettled[:, None] & unsettled)
    lowest = np.where(same, priority[:, None], n_labels).min(0)
    bucket = unsettled & (priority == lowest)
    if not variant.several:
        side = _side(preference, bucket[:, None] & same, limit)
        return np.where(bucket, np.int8(0), side)
    side = np.zeros(place.shape, np.int8)
    pivot = bucket.copy()
    for label in range(n_labels):
        side[label] = _side(preference[:, label], bucket & same[:, label], limit)
        side[label, pivot[label]] = 0
        bucket[label] |= (side[label] == 0) & unsettled[label]
    if variant.second:
        again = _side(preference, bucket[:, None] & same, limit)
        side = np.where(bucket, np.int8(0), again)
    return side


def _side(
    preference: NDArray,  # int32 (n_labels, ..., n_samples), of pivots over others
    pivots: NDArray,  # bool, as preference
    limit: int,
) -> NDArray:  # int8 (..., n_samples)
    """Compare with the pivots: -1 goes before them, 0 to them, 1 after them; 0 without any."""
    total = np.where(pivots, preference, 0).sum(0, dtype=np.int64)
    most = limit * pivots.sum(0, dtype=np.int64)
    side: NDArray = (total > most).astype(np.int8) - (total < -most)
    return side
