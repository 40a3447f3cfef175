"""The names of the axes, and the array type that the whole package writes in its signatures.

Axes, in the order in which they appear:

=============  ==============================================================================
n_samples      rows of a table; n in the paper
n_features     columns of a table; d in the paper
n_labels       labels that are ranked; m in the paper
n_pairs        label pairs (i, j) with i < j, in row-major order: n_labels (n_labels - 1) / 2
n_trees        trees of a forest; T in the paper
n_nodes        nodes of a tree, or of one level of it
n_bins         intervals into which the thresholds of a feature cut the real line
n_candidates   features that one node may split on; n_s in the paper
n_stats        components of the additive statistic that a criterion sums over samples
n_slots        leaves that exist in a forest
n_outputs      integers that one leaf holds
=============  ==============================================================================

Rankings are *positions*: entry (i, j) is the place of label j in ranking i, 1 = best, and
NaN where the ranking leaves label j out.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

NDArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]
# Fields of containers that live on both sides: NumPy arrays on the host, JAX arrays in a program.
AnyArray: TypeAlias = Any

if TYPE_CHECKING:
    from jax import Array as Array
else:

    def __getattr__(name: str) -> Any:
        if name != "Array":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import jax  # here: files are read, and found to be wrong, before JAX is imported

        return jax.Array


__all__ = ["AnyArray", "Array", "NDArray"]
