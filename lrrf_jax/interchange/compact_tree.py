"""Trees of a forest without the padding below their leaves, the form that other libraries share."""

from typing import NamedTuple

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.trees.forest import Forest


class CompactTree(NamedTuple):
    """One tree without the padding below its leaves; the root comes first."""

    feature: NDArray  # int32 (n_nodes,), -1 in a leaf
    threshold: NDArray  # float32 (n_nodes,), x >= threshold goes left
    missing_left: NDArray  # bool (n_nodes,)
    left: NDArray  # int32 (n_nodes,), number of the child, -1 in a leaf
    right: NDArray  # int32 (n_nodes,)
    value: NDArray  # int32 (n_nodes, n_outputs), 0 in an inner node


def compact_trees(forest: Forest) -> list[CompactTree]:
    """Leave out what lies below unsplit nodes."""
    return [_compact(*fields, forest.leaf_value) for fields in zip(*forest[:4], strict=True)]


def _compact(
    feature: NDArray,
    threshold: NDArray,
    missing_left: NDArray,
    leaf_slot: NDArray,
    leaf_value: NDArray,
) -> CompactTree:
    n_inner = len(feature)
    split = np.append(threshold < np.inf, np.zeros(n_inner + 1, bool))
    kept = [0]
    for node in kept:  # breadth first: the list grows while it is walked
        if split[node]:
            kept += [2 * node + 1, 2 * node + 2]
    nodes = np.array(kept)
    number = np.full(2 * n_inner + 1, -1, np.int32)
    number[nodes] = np.arange(len(nodes), dtype=np.int32)
    inner = split[nodes]
    at = np.where(inner, nodes, 0)
    lowest = nodes.copy()  # any leaf below an unsplit node holds its value
    while (lowest < n_inner).any():
        lowest = np.where(lowest < n_inner, 2 * lowest + 2, lowest)
    value = np.asarray(leaf_value)[leaf_slot[lowest - n_inner]]
    return CompactTree(
        feature=np.where(inner, feature[at], -1).astype(np.int32),
        threshold=np.where(inner, threshold[at], 0).astype(np.float32),
        missing_left=inner & missing_left[at],
        left=np.where(inner, number[2 * at + 1], -1).astype(np.int32),
        right=np.where(inner, number[2 * at + 2], -1).astype(np.int32),
        value=np.where(inner[:, None], 0, value).astype(np.int32),
    )
