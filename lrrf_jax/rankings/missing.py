"""Training rankings made incomplete, as in the experiments of the paper."""

from typing import Any

import numpy as np

from lrrf_jax._frames import column_arrays, frame_like, library_of
from lrrf_jax._numbers import as_array
from lrrf_jax._validation import require_share
from lrrf_jax.rankings.from_numbers import densify
from lrrf_jax.rankings.validation import number_table


def delete_labels(y: Any, p: float, seed: int | np.random.Generator) -> Any:
    """Delete every label of every row independently with probability ``p``.

    The survivors of a row are ranked 1..m' again, tied ones stay tied. A row may be left with one
    label or none: it stays, and carries no preference (Zhou and Qiu 2018, section 5.1, do not say).

    Parameters
    ----------
    y : array-like or DataFrame, shape (n_samples, n_labels)
        Positions, 1 = best; equal ones are ties; NaN is a label that is missing already.
    p : float
        In [0, 1).
    seed : int or numpy.random.Generator
        With the same seed, a larger ``p`` deletes the same labels and more.

    Returns
    -------
    ndarray or DataFrame, shape (n_samples, n_labels)
        Float as ``y`` is, float32 for integers; NaN where a label is missing; a tied label has the
        mean of the places that the tie covers. A data frame gives one of its kind, with the same
        columns and index.

    Raises
    ------
    InputError
        Where ``p`` is outside [0, 1), or ``y`` is no two-dimensional table of rankings.

    Examples
    --------
    >>> delete_labels([[1, 2, 3], [3, 1, 2]], 0.3, seed=0)
    array([[ 1., nan, nan],
           [nan,  1.,  2.]], dtype=float32)
    """
    require_share(p, "p")
    # densify checks the table before and closes the gaps after.
    rankings = np.asarray(densify(number_table(y, "y", finite=True)), np.float64)
    uniforms = np.random.default_rng(seed).random(rankings.shape)
    deleted = densify(np.where(uniforms < p, np.nan, rankings)).astype(_float_type(y))
    return deleted if library_of(y) is None else frame_like(y, deleted)


def _float_type(y: Any) -> Any:
    """Type of the result: that of a table of floats, or float32."""
    columns = [as_array(y, "y")] if library_of(y) is None else column_arrays(y)
    kinds = {column.dtype for column in columns}
    return kinds.pop() if len(kinds) == 1 and next(iter(kinds)).kind == "f" else np.float32
