"""How rankings prefer the labels of each pair, on average: what `bucket_orders` starts from."""

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.rankings.pairwise import pair_indices, row_blocks


def group_preferences(
    positions: NDArray,  # float (n_groups, n_rankings, n_labels), NaN: missing
    weight: NDArray,  # float32 (n_groups, n_rankings), not negative
) -> NDArray:  # float32 (n_groups, n_pairs) in [-1, 1]
    """Average the preferences of the few rankings of each group, over those that rank both labels.

    A tie is for neither label. NaN where no ranking of positive weight ranks both.

    Examples
    --------
    >>> import numpy as np
    >>> near = np.array([[[1.0, 2, np.nan], [1.5, 1.5, 3], [2, 1, 3]]])
    >>> group_preferences(near, np.array([[2.0, 1, 1]])).tolist()
    [[0.25, 1.0, 1.0]]
    """
    first, second = pair_indices(positions.shape[2])
    total = np.zeros((len(first), len(positions)))
    counted = np.zeros((len(first), len(positions)))
    # One ranking after another: sums do not depend on the number of groups.
    for ranking, share in zip(positions.swapaxes(0, 1), weight.T.astype(np.float64), strict=True):
        by_label = np.ascontiguousarray(ranking.T)
        one, other = by_label[first], by_label[second]
        total += share * ((one < other).view(np.int8) - (one > other).view(np.int8))
        counted += share * ~np.isnan(one + other)
    with np.errstate(invalid="ignore"):
        return (total / counted).astype(np.float32).T


def table_preferences(
    positions: NDArray,  # float (n_rankings, n_labels), NaN: missing
    weight: NDArray | None = None,  # float64 (n_rankings,), not negative; None: all equal
) -> NDArray:  # float32 (n_pairs,) in [-1, 1], NaN: no ranking ranks both
    """Average the preferences of all rankings of a table, as `group_preferences` does of groups."""
    first, second = pair_indices(positions.shape[1])
    total, counted = np.zeros((2, len(first)))
    for rows in row_blocks(*positions.shape):
        one, other = positions[rows, first], positions[rows, second]
        signs = (one < other).astype(np.int8) - (one > other)
        known = ~np.isnan(one + other)
        share = np.ones((len(one), 1)) if weight is None else weight[rows, None]
        # Column by column, so that a sum does not depend on where its labels are.
        total += np.add.reduce(share * signs, axis=0)
        counted += np.add.reduce(share * known, axis=0)
    with np.errstate(invalid="ignore"):
        return (total / counted).astype(np.float32)
