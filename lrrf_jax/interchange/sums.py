"""From the sums that other libraries predict to ranks.

Their outputs are sums (scikit-learn: means) of the same small integers, exact in float32, so the
ranks must come out equal: the fastest check that all of them, ours included, are right.
"""

import numpy as np

from lrrf_jax._typing import NDArray


def ranks_of_sums(sums: NDArray) -> NDArray:  # int32 (n_samples, n_outputs)
    """Rank by rising sum, the lower label first among equals: the two-step aggregation."""
    order = np.argsort(np.rint(sums), axis=1, kind="stable")
    return (np.argsort(order, axis=1) + 1).astype(np.int32)
