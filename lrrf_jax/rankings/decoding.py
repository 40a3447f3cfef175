"""From preferences between pairs of labels, as users hold them, to rankings."""

from typing import Any

import numpy as np

from lrrf_jax._jax_settings import our_settings
from lrrf_jax._numbers import as_numbers
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax._xla import bucket_size
from lrrf_jax.rankings import aggregation
from lrrf_jax.rankings.pairwise import n_labels_of_pairs, pair_indices, row_blocks

_ROWS_AT_ONCE = 2**16
_REMEDY = "Take `predict_pairwise` or `predict_preferences` of a learner, for example."


def kemeny(preferences: Any) -> NDArray:
    """Rank labels so that as few preferences as possible are reversed.

    Parameters
    ----------
    preferences : array-like of numbers
        Shape (n_samples, n_labels, n_labels): how much speaks for label i before label j, at
        ``[row, i, j]``. Only the difference to ``[row, j, i]`` counts: probabilities, as of
        `predict_pairwise`, and numbers of votes will do. Or shape (n_samples, n_pairs): numbers
        for the pairs (i, j), i < j, in row-major order, positive where label i is preferred, as of
        `predict_preferences`; of a probability p give 2 p - 1. NaN: nothing is known of the pair.

    Returns
    -------
    int32 (n_samples, n_labels)
        Positions, 1 = best. Up to seven labels no other ranking keeps more: of several that keep
        most the one whose ordering of labels, by index, comes first. Of more labels, those
        ranked by the sum of their preferences are improved while moving one label helps.

    Raises
    ------
    InputError
        For other shapes, and for what is no finite number.

    Notes
    -----
    Kemeny 1959. The preferences of a row are rounded to a step, a power of 2 that lets their sums
    be exact in 32 bits: 2**-24 of the largest at most for seven labels, 2**-21 for a hundred.
    Rows do not depend on each other. Takes 2^n_labels n_labels steps per row up to seven labels
    (about 1 us), n_labels^2 for each move of more.

    Examples
    --------
    >>> import numpy as np
    >>> probability = np.array([[0.5, 0.9, 0.6], [0.1, 0.5, 0.3], [0.4, 0.7, 0.5]])
    >>> kemeny([probability, 1 - probability]).tolist()
    [[1, 3, 2], [3, 1, 2]]
    >>> kemeny([[1, -1, 2]]).tolist()
    [[1, 2, 3]]
    """
    values = as_pair_values(preferences, "preferences")
    n_labels = n_labels_of_pairs(values.shape[1])
    out = np.empty((len(values), n_labels), np.int32)
    for start in range(0, len(values), _ROWS_AT_ONCE):
        exact = _whole_numbers(values[start : start + _ROWS_AT_ONCE], n_labels)
        n_rows = len(exact)
        # Padded: tables of like size share a program.
        padded = np.pad(exact, ((0, bucket_size(n_rows, per_octave=4) - n_rows), (0, 0)))
        with our_settings():
            ranks = np.asarray(aggregation.kemeny(padded, n_labels))
        out[start : start + n_rows] = ranks[:n_rows]
    return out


def as_pair_values(
    values: Any, name: str
) -> NDArray:  # float64 (n_samples, n_pairs), positive where the first label is preferred
    """Check preferences of pairs, or matrices of them; NaN becomes 0.

    Raises
    ------
    InputError
        For other shapes, and for what is no finite number.
    """
    array = as_numbers(values, name, remedy=_REMEDY)
    shape = array.shape
    if array.ndim == 3 and shape[1] == shape[2] and shape[1] >= 2:
        pairs = _pairs_of_matrices(array)
    elif array.ndim == 2 and _has_pairs(shape[1]):
        pairs = array.astype(np.float64)
    else:
        raise InputError(
            f"{name} must have the shape (n_samples, n_labels, n_labels) or (n_samples, n_pairs), "
            f"with n_labels (n_labels - 1) / 2 pairs of two labels or more; it has shape {shape}. "
            f"Write one matrix as {name}[None]."
        )
    rows = np.isinf(array).any(axis=tuple(range(1, array.ndim))) | np.isinf(pairs).any(axis=1)
    if rows.any():
        raise InputError(
            f"{name} must be finite, or NaN where unknown; row {int(np.argmax(rows))} is not "
            f"({rows.sum()} of {len(array)} rows fail). Write 0 where nothing speaks for either."
        )
    return np.nan_to_num(pairs, copy=False)


def _pairs_of_matrices(matrix: NDArray) -> NDArray:  # float64 (n_samples, n_pairs)
    first, second = pair_indices(matrix.shape[1])
    pairs = np.empty((len(matrix), len(first)))
    for rows in row_blocks(len(matrix), matrix.shape[1]):
        block = matrix[rows].astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):  # is refused next
            pairs[rows] = block[:, first, second] - block[:, second, first]
    return pairs


def _has_pairs(count: int) -> bool:
    try:
        return n_labels_of_pairs(count) >= 2
    except ValueError:
        return False


def _whole_numbers(values: NDArray, n_labels: int) -> NDArray:  # int32, the shape of values
    """Scale each row by a power of 2 so that whole numbers, and all of their sums, fit 32 bits."""
    room = 30 - int(np.ceil(np.log2(max(2 * n_labels, 21))))  # as `aggregation` sums them
    _, exponent = np.frexp(np.abs(values).max(axis=1))
    whole: NDArray = np.rint(np.ldexp(values, room - exponent[:, None])).astype(np.int32)
    return whole
