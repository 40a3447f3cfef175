"""Mallows' probability of a partial ranking: of all complete rankings that agree with it.

No formula is known where labels are missing from anywhere, so complete rankings are added up, from
the best place on, by which labels are placed already: orders that lead to the same set go on alike.
"""

from collections.abc import Iterator

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.rankings.mallows import log_normaliser
from lrrf_jax.rankings.permutations import places

MOST_SETS = 2**14  # that are looked at for rows with ties of the same sizes at the same places
_CELLS_AT_ONCE = 2**22


def n_sets(
    positions: NDArray,  # float (n_samples, n_labels), NaN: missing
) -> NDArray:  # float64 (n_samples,)
    """Count the sets of labels that can be the best ones; 1 where every ranking agrees.

    Ties come one after another, the missing labels with them at any time: (1 + the sum over ties of
    d labels of 2^d - 1) 2^n_missing.
    """
    n_before, n_level = places(positions)
    level = n_level.astype(np.float64)
    ranked = n_level > 0
    parts = np.where(ranked, (np.exp2(level) - 1) / np.maximum(level, 1), 0.0)
    n_missing = (~ranked).sum(axis=1)
    certain = ~(n_before > 0).any(axis=1)
    return np.where(certain, 1.0, np.round(1 + parts.sum(axis=1)) * np.exp2(n_missing))


def log_likelihood(
    positions: NDArray,  # float (n_samples, n_labels), NaN: missing, ties: order unknown
    centre: NDArray,  # float (n_labels,), a permutation of 1..n_labels
    theta: float,  # 0 or more
) -> NDArray:  # float64 (n_samples,)
    """Return the log of the probability of each ranking; costs O(n_samples n_sets n_labels)."""
    n_before, n_level = places(positions)
    ranked = n_level > 0
    order = np.argsort(np.where(ranked, n_before, positions.shape[1]), axis=1, kind="stable")
    # Rows with ties of the same sizes at the same places go through the same sets.
    levels, form = np.unique(
        np.take_along_axis(n_level, order, axis=1), axis=0, return_inverse=True
    )
    total = np.zeros(len(positions))
    for number, level in enumerate(levels):
        rows = np.flatnonzero(form.reshape(-1) == number)
        if level[0] == np.count_nonzero(level):  # no two labels are ordered
            continue
        for block in _blocks(rows, positions[rows[:1]]):
            total[block] = _sum_up(level, centre[order[block]], theta)
    return total


def _sum_up(
    level: NDArray,  # int (n_labels,), size of the tie of each label, 0: missing; best first
    centre: NDArray,  # float (n_rows, n_labels), in the same order
    theta: float,
) -> NDArray:  # float64 (n_rows,)
    n_labels = len(level)
    ahead = _what_must_be_there(level)
    # Placing a label costs the pairs with those that the centre has before it, and that are left.
    before = (centre[:, None] < centre[:, :, None]).astype(np.float64)
    reached = {0: np.zeros(len(centre))}
    for _ in range(n_labels):
        further: dict[int, NDArray] = {}
        for there, logs in reached.items():
            left = np.array([not there >> label & 1 for label in range(n_labels)], np.float64)
            reversals = before @ left
            for label in np.flatnonzero(left).tolist():
                if ahead[label] & ~there:
                    continue
                n_pairs = reversals[:, label]
                cost = np.where(n_pairs > 0, np.where(n_pairs > 0, n_pairs, 1.0) * theta, 0.0)
                new, old = logs - cost, further.get(there | 1 << label)
                further[there | 1 << label] = new if old is None else np.logaddexp(old, new)
        reached = further
    (logs,) = reached.values()
    return np.asarray(logs - log_normaliser(np.array(theta), n_labels))


def _what_must_be_there(level: NDArray) -> list[int]:  # by label, a bit for each label
    """List the labels that come before each: those of better places than its tie."""
    ahead: list[int] = []
    while len(ahead) < np.count_nonzero(level):
        ahead += [(1 << len(ahead)) - 1] * int(level[len(ahead)])
    return ahead + [0] * (len(level) - len(ahead))


def _blocks(rows: NDArray, one: NDArray) -> Iterator[NDArray]:
    """Cut rows into blocks whose numbers of all sets fit in memory."""
    n_rows = max(1, _CELLS_AT_ONCE // int(n_sets(one)[0]))
    for start in range(0, len(rows), n_rows):
        yield rows[start : start + n_rows]
