"""How the trees of a forest prefer one label to another."""

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.learners.forest.aggregation import PAIR_UNIT, SHRUNKEN
from lrrf_jax.rankings.pairwise import pair_indices
from lrrf_jax.trees.forest import Forest

_CELLS_AT_ONCE = 2**18  # of rows x pairs, which a cache holds


def leaf_signs(
    value: NDArray,  # int32 (n_slots, n_outputs), of leaves
    aggregation: str,
) -> NDArray:  # int8 (n_slots, n_pairs)
    """Tell which label of each pair a leaf prefers: +1 the first, -1 the second, 0 neither."""
    if aggregation in SHRUNKEN:
        return np.sign(value).astype(np.int8)
    first, second = pair_indices(value.shape[1])
    ahead = np.sign(value[:, second] - value[:, first])  # of ranks; votes are the other way round
    return (ahead if aggregation == "two-step" else -ahead).astype(np.int8)


def forest_preferences(
    forest: Forest,
    leaf: NDArray,  # int32 (n_samples, n_trees)
    n_labels: int,
    aggregation: str,
) -> NDArray:  # float32 (n_samples, n_pairs) in [-1, 1]
    """Average over the trees what the leaf of each row says of the pairs; exact before it is.

    A leaf of preferences says what it holds, in units of which it rounds to the next; one of
    positions or votes which label is ahead.
    """
    slots = np.asarray(forest.leaf_slot)
    value = np.asarray(forest.leaf_value)
    first, second = pair_indices(n_labels)
    of_pairs = aggregation in SHRUNKEN
    if aggregation == "one-step":
        value = -value  # votes: larger is better
    unit = forest.n_trees * (PAIR_UNIT if of_pairs else 1)
    out = np.empty((len(leaf), len(first)), np.float32)
    step = max(1, _CELLS_AT_ONCE // max(1, len(first)))
    for start in range(0, len(leaf), step):
        block = leaf[start : start + step]
        total = np.zeros((len(first), len(block)), np.int32)
        for slot_of, leaves in zip(slots, block.T, strict=True):
            by_column = np.ascontiguousarray(value[slot_of[leaves]].T)
            if of_pairs:
                total += by_column
            else:
                one, other = by_column[first], by_column[second]
                total += (one < other).view(np.int8) - (one > other).view(np.int8)
        if of_pairs:
            total[np.abs(total) <= forest.n_trees] = 0  # within a unit of level
        out[start : start + step] = (total / unit).T
    return out
