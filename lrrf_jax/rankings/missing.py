"""Training rankings made incomplete, as in the experiments of the paper."""

from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.rankings.conversion import densify


def delete_labels(y: Any, p: float, seed: int | np.random.Generator) -> NDArray:
    """Delete every label of every row independently with probability ``p``.

    The survivors of a row are ranked 1..m' again. A row may be left with one label or none: it
    stays, and carries no preference (Zhou and Qiu 2018, section 5.1, do not say).

    Parameters
    ----------
    y : array-like, shape (n_samples, n_labels)
        Positions, 1 = best; NaN is a label that is missing already.
    p : float
        In [0, 1).
    seed : int or numpy.random.Generator
        With the same seed, a larger ``p`` deletes the same labels and more.

    Returns
    -------
    ndarray, shape (n_samples, n_labels)
        Float as ``y`` is, float32 for integers; NaN where a label is missing.

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
    if not 0 <= p < 1:
        raise InputError(f"p must be a probability in [0, 1); it is {p!r}.")
    table = np.asarray(y)
    dtype = table.dtype if table.dtype.kind == "f" else np.float32
    # densify checks the table before and closes the gaps after.
    rankings = densify(table).astype(np.float64)
    uniforms = np.random.default_rng(seed).random(rankings.shape)
    return densify(np.where(uniforms < p, np.nan, rankings)).astype(dtype)
