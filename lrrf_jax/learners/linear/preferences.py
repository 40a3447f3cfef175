"""How linear models prefer one label to another."""

import functools

import numpy as np

from lrrf_jax._programs import jit
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._xla import COMPILER_OPTIONS
from lrrf_jax.learners.linear.params import AnyParams
from lrrf_jax.learners.linear.predict import assert_applies, linear_outputs, map_linear
from lrrf_jax.rankings.pairwise import pair_indices, preferences_of_logits


@functools.partial(jit, compiler_options=COMPILER_OPTIONS)
def output_rows(
    params: AnyParams,
    features: Array,  # float32 (n_samples, n_features)
) -> Array:  # float32 (n_samples, n_outputs)
    """Evaluate the linear functions."""
    assert_applies(params, features)
    return map_linear(functools.partial(linear_outputs, params), features, params)


def utility_preferences(
    utility: NDArray,  # float32 (n_samples, n_labels)
) -> NDArray:  # float32 (n_samples, n_pairs) in [-1, 1]
    """Take the differences of utilities for logits."""
    first, second = pair_indices(utility.shape[1])
    return preferences_of_logits(utility[:, first] - utility[:, second])


def differences(n_labels: int) -> NDArray:  # float32 (n_labels, n_pairs)
    """Lay out the matrix that takes utilities to differences, first minus second label.

    A product with it and its transpose is faster than gathering pairs and adding them up again.
    """
    first, second = pair_indices(n_labels)
    eye = np.eye(n_labels, dtype=np.float32)
    return np.ascontiguousarray((eye[first] - eye[second]).T)
