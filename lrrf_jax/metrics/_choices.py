"""What is found by whoever tries the labels in a predicted order, in the mean over its ties.

Tied labels are tried in any order with the same chance. The means over these orders are exact:
one walk over the labels of a row, each with the chance that it is the one that counts.
"""

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.rankings.permutations import places


def best_of_first(
    values: NDArray,  # float64 (n_samples, n_labels), larger is better, NaN: unknown
    prediction: NDArray,  # float64 (n_samples, n_labels), positions
    k: int,
) -> NDArray:  # float64 (n_samples,)
    """Return the mean of the largest value among the first k labels whose value is known.

    Only the tie that place k divides is uncertain: r of its s labels are tried. Of labels by
    decreasing value, the i-th of the tie is tried, given that none before it was, with the chance
    r / (s - i + 1), and 1 where all of a tie are tried. Costs O(n_labels log n_labels) a row, and
    `places`.
    """
    known = ~np.isnan(values)
    n_before, n_level = places(np.where(known, prediction, np.nan))
    n_tried = np.clip(k - n_before, 0, n_level)
    order = np.argsort(-values, axis=1, kind="stable")  # unknown ones last
    mean, n_seen = np.zeros((2, len(values)))
    left = np.ones(len(values))  # the chance that no label so far was tried
    for label in order.T:
        at = np.arange(len(values)), label
        tried = n_tried[at]
        chance = np.minimum(tried / np.maximum(n_level[at] - n_seen, 1), 1)
        mean += np.where(known[at], left * chance * values[at], 0)
        left *= 1 - chance  # 0 from the first label on that is tried for certain
        n_seen += tried > 0
    return mean


def reciprocal_place_of_first(
    wanted: NDArray,  # bool (n_samples, n_labels), one label at least in every row that counts
    prediction: NDArray,  # float64 (n_samples, n_labels), positions, NaN: left out
) -> NDArray:  # float64 (n_samples,)
    """Return the mean of 1 / (place of the first wanted label).

    It lies in the first tie that holds one: after a labels, among s of which w are wanted, at
    place a + t with the chance C(s - t, w - 1) / C(s, w).
    """
    n_before, n_level = places(prediction)
    before = np.where(wanted, n_before, prediction.shape[1]).min(axis=1)
    in_tie = n_before == before[:, None]
    n_wanted = (wanted & in_tie).sum(axis=1)
    size = np.where(in_tie, n_level, 0).max(axis=1)
    mean, left = np.zeros(len(wanted)), np.ones(len(wanted))
    for step in range(int(size.max(initial=0))):
        chance = np.minimum(n_wanted / np.maximum(size - step, 1), 1)
        mean += left * chance / (before + step + 1)
        left *= 1 - chance
    return mean


def discounted_gain(
    gain: NDArray,  # float64 (n_samples, n_labels), 0 where unknown
    positions: NDArray,  # float64 (n_samples, n_labels), NaN: left out
    k: int | None = None,
) -> NDArray:  # float64 (n_samples,)
    """Sum gains over log2(1 + place); labels that are tied share the mean of their discounts."""
    discount = 1 / np.log2(np.arange(gain.shape[1]) + 2)
    if k is not None:
        discount[k:] = 0
    cumulative = np.concatenate([[0], np.cumsum(discount)])
    n_before, n_level = places(positions)
    shared = cumulative[n_before + n_level] - cumulative[n_before]
    return (gain * shared / np.maximum(n_level, 1)).sum(axis=1)
