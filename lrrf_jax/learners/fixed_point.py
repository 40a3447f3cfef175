"""Real weights and votes as integers, so that sums are exact, in any order, on any device."""

import math

import numpy as np

from lrrf_jax._typing import NDArray


def integer_weights(
    weight: NDArray,  # float64 (n_samples,), positive
    most: int,
) -> tuple[NDArray, float]:  # int32 (n_samples,), scale
    """Write weights as integers times ``1 / scale``, their sum at most ``most``.

    Whole weights stay as they are where they fit; others are rounded to a multiple of a power of
    two, and a weight that is too small to count becomes 1.
    """
    total = float(weight.sum())
    if total <= most and (weight == np.round(weight)).all():
        return weight.astype(np.int32), 1.0
    scale = 2.0 ** math.floor(math.log2(max(most - len(weight), 1) / total))
    return np.maximum(np.round(weight * scale), 1).astype(np.int32), scale


def largest_scale(total: float, most: float) -> int:
    """Power of two, up to 1024, by which values up to ``most`` may be multiplied.

    Sums of ``total`` of them then stay within half of an int32, for chance to double.
    """
    room = 2**30 / max(total * most, 1.0)
    return 1 << max(0, min(10, math.floor(math.log2(max(room, 1.0)))))
