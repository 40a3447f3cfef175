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


def preferences_of_sums(
    sums: NDArray,  # int32 or float64 (n_samples, n_pairs), whole numbers: sums over trees
    n_trees: int | NDArray,  # that were summed; int (n_samples, 1) where that differs by row
    aggregation: str,
) -> NDArray:  # float32 (n_samples, n_pairs) in [-1, 1]; NaN where there was no tree
    """Divide sums of what leaves say of pairs, in units of which they round to the next.

    Leaves of preferences are summed as they are, others as `leaf_signs`.
    """
    unit = n_trees * (PAIR_UNIT if aggregation in SHRUNKEN else 1)
    with np.errstate(invalid="ignore"):  # 0 / 0: no tree
        mean = (sums / unit).astype(np.float32)
    if aggregation in SHRUNKEN:
        mean[(np.abs(sums) <= n_trees) & (n_trees > 0)] = 0  # within a unit of level
    return mean


def sign_shares(
    forest: Forest,
    leaf: NDArray,  # int32 (n_samples, n_trees)
    n_labels: int,
    aggregation: str,
) -> NDArray:  # float32 (n_samples, n_pairs) in [-1, 1]
    """Average over the trees which label of each pair the leaf of a row has ahead; exact before."""
    slots = np.asarray(forest.leaf_slot)
    value = np.asarray(forest.leaf_value)
    first, second = pair_indices(n_labels)
    if aggregation == "one-step":
        value = -value  # votes: larger is better
    out = np.empty((len(leaf), len(first)), np.float32)
    step = max(1, _CELLS_AT_ONCE // max(1, len(first)))
    for start in range(0, len(leaf), step):
        block = leaf[start : start + step]
        total = np.zeros((len(first), len(block)), np.int32)
        for slot_of, leaves in zip(slots, block.T, strict=True):
            by_column = np.ascontiguousarray(value[slot_of[leaves]].T)
            one, other = by_column[first], by_column[second]
            total += (one < other).view(np.int8) - (one > other).view(np.int8)
        out[start : start + step] = preferences_of_sums(total.T, forest.n_trees, aggregation)
    return out
