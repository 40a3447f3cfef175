"""The training rankings as trees look at them: what a pair of labels says, and what it counts."""

import math
from typing import NamedTuple

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.rankings.pairwise import (
    pair_indices,
    pair_signs_on_host,
    pairs_ranked,
    row_blocks,
)


class Rankings(NamedTuple):
    """The training rankings."""

    positions: NDArray  # float32 (n_rows, n_labels), NaN: missing
    tied: bool  # whether labels tie; equal positions are else those of missing labels
    total_weight: float  # of all rows, in integer weights
    weighted: bool  # whether rows have weights of their own
    pair_weight: NDArray | None = None  # int32 (n_rows, n_pairs), 0: tied, unknown; None: all equal

    def pairs(self) -> tuple[NDArray, NDArray]:  # int32, int32 (n_rows, n_pairs)
        """Tell how far each pair leans to its first label, and what it counts.

        A tie is an observation half way between the labels; a pair of which one is missing is none.
        """
        signs = pair_signs_on_host(self.positions).astype(np.int32)
        if self.pair_weight is not None:
            return signs * self.pair_weight, self.pair_weight
        if self.tied:
            return signs, pairs_ranked(self.positions).astype(np.int32)
        return signs, np.abs(signs)


def difference_weights(
    scores: NDArray,  # float64 (n_rows, n_labels), NaN: unknown
    weight: NDArray,  # int32 (n_rows,), of the rows
) -> tuple[NDArray, float]:  # int32 (n_rows, n_pairs), 0: tied or unknown; what the mean counts
    """Weigh pairs of labels by the differences of their scores, as whole numbers.

    Their mean, over pairs that differ in all rows, counts a power of two, up to 1024, and as large
    as sums of int32 have room for; a difference that is too small to count becomes 1.
    """
    first, second = pair_indices(scores.shape[1])
    share = scores / max(np.nanmax(np.abs(scores)), np.finfo(np.float64).tiny)  # none overflows

    def gaps(rows: slice) -> NDArray:
        return np.nan_to_num(np.abs(share[rows, first] - share[rows, second]))

    total, number, most = 0.0, 0, np.zeros(len(first))
    for rows in row_blocks(*scores.shape):
        gap = gaps(rows)
        total, number = total + float(gap.sum()), number + int(np.count_nonzero(gap))
        most = most + (gap * weight[rows, None]).sum(axis=0)
    mean = total / number
    # A quarter of what an int32 holds, for chance may draw a heavy row many times.
    scale = 2.0 ** min(10, math.floor(math.log2(2**29 * mean / most.max())))
    counts = np.zeros((len(scores), len(first)), np.int32)
    for rows in row_blocks(*scores.shape):
        gap = gaps(rows)
        counts[rows] = np.where(gap > 0, np.maximum(np.round(gap / mean * scale), 1), 0)
    return counts, scale
