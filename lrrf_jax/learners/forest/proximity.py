"""How often two rows meet: the share of trees in which they end in one leaf."""

from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray

_CELLS_AT_ONCE = 2**24  # of rows x rows


def proximity(
    slots: NDArray,  # int32 (n_samples, n_trees), rows of leaf_value
    others: NDArray,  # int32 (n_others, n_trees)
    n_slots: int,
    *,
    sparse_output: bool,
) -> Any:  # float32 (n_samples, n_others)
    """Count in how many trees each row shares a leaf with each of the others, as a share."""
    import scipy.sparse

    n_trees = slots.shape[1]
    of_leaf = _indicator(others, n_slots).T.tocsr()
    step = max(1, _CELLS_AT_ONCE // max(1, len(others)))
    parts = []
    dense = None if sparse_output else np.empty((len(slots), len(others)), np.float32)
    for start in range(0, len(slots), step):
        part = _indicator(slots[start : start + step], n_slots) @ of_leaf
        part.data /= np.float32(n_trees)  # of whole numbers, which float32 holds exactly
        if dense is not None:
            dense[start : start + step] = part.toarray()
            continue
        part.sort_indices()
        parts.append(part)
    return scipy.sparse.vstack(parts, format="csr") if dense is None else dense


def _indicator(slots: NDArray, n_slots: int) -> Any:  # float32 (n_samples, n_slots), CSR
    import scipy.sparse

    n_samples, n_trees = slots.shape
    starts = np.arange(0, slots.size + 1, n_trees)
    ones = np.ones(slots.size, np.float32)
    return scipy.sparse.csr_matrix((ones, slots.ravel(), starts), shape=(n_samples, n_slots))
