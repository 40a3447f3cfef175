"""Weights without a unit, and as integers, so that sums are exact, in any order, on any device."""

import math

import numpy as np

from lrrf_jax._typing import NDArray

_MAX_MULTIPLE = 2**20  # weights that are larger multiples of their unit count as real numbers
_MIN_RELATIVE = 2.0**-64  # of the mean; far below what float32 sums notice, but still positive


def relative_weights(weight: NDArray) -> NDArray | None:  # float64 (n_samples,)
    """Divide weights, finite and positive, by their mean; ``None`` where all are equal.

    Weights times any number give the same bits, as far as float64 holds their products:
    multiples of a common unit are worked out from whole numbers, and others rounded to float32.

    >>> relative_weights(np.array([1.0, 3, 2]) * 1e-300).tolist()
    [0.5, 1.5, 1.0]
    """
    share = weight / weight.max()  # a sum of the weights themselves may overflow
    if share.min() == share.max():
        return None
    unit = common_unit(share)
    if unit is not None:
        multiple = np.round(share / unit)
        return multiple / (multiple.sum() / len(multiple))
    relative = (share / share.mean()).astype(np.float32).astype(np.float64)
    return np.maximum(relative, _MIN_RELATIVE)


def common_unit(weight: NDArray) -> float | None:  # of float64 (n_samples,), positive
    """Find the largest number of which all weights are multiples, up to 2**20; else ``None``.

    Euclid's algorithm, with remainders that rounding may have left taken for none.
    """
    values = np.unique(weight)
    unit = float(values[0])
    while unit * _MAX_MULTIPLE >= values[-1]:
        rest = np.abs(values - unit * np.round(values / unit))
        rest = rest[rest > values[-1] * 2.0**-32]
        if rest.size == 0:
            multiple = np.round(values / unit)
            unit = float(values.sum() / multiple.sum())
            equal = np.abs(values - multiple * unit) <= values * 2.0**-44
            return unit if equal.all() else None
        unit = float(rest.min())  # half of the last one at most
    return None


def integer_weights(
    weight: NDArray,  # float64 (n_samples,), positive
    most: int,
    *,
    binary: bool = False,
) -> tuple[NDArray, float]:  # int32 (n_samples,), scale
    """Write weights as integers times ``1 / scale``, their sum at most ``most``.

    Exactly, as the smallest whole numbers in proportion, where these fit. Others are rounded to a
    multiple of a power of two, and a weight that is too small to count becomes 1. ``binary``: so
    are all, so that the scale, which shapes a program, takes few values.
    """
    unit = None if binary else common_unit(weight)
    if unit is not None and weight.sum() <= most * unit:
        return np.round(weight / unit).astype(np.int32), 1 / unit
    scale = 2.0 ** math.floor(math.log2(max(most - len(weight), 1) / weight.sum()))
    return np.maximum(np.round(weight * scale), 1).astype(np.int32), scale


def largest_scale(total: float, most: float) -> int:
    """Power of two, up to 1024, by which values up to ``most`` may be multiplied.

    Sums of ``total`` of them then stay within half of an int32, for chance to double.
    """
    room = 2**30 / max(total * most, 1.0)
    return 1 << max(0, min(10, math.floor(math.log2(max(room, 1.0)))))
