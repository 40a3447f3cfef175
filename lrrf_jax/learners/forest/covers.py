"""How many rows there are in each node: what trees are averaged over where a feature is unknown."""

import numpy as np

from lrrf_jax._threefry import key_from_seed
from lrrf_jax._typing import NDArray
from lrrf_jax.learners.forest.bootstraps import bootstrap_table
from lrrf_jax.learners.forest.warm_start import LastFit


def drawn_weights(last: LastFit, n_trees: int) -> NDArray:  # number (n_samples, n_trees)
    """Weigh each training row in each tree: its copies in the bootstrap times its weight."""
    key, n_samples = key_from_seed(last.seed), len(last.features)
    copies = bootstrap_table(key, n_samples, n_trees, last.config.bootstrap)
    return copies if last.weight is None else copies * last.weight[:, None]


def node_covers(
    leaf: NDArray,  # int32 (n_samples,), of one tree, 0 .. 2**depth - 1
    weight: NDArray | None,  # (n_samples,); None: all 1
    depth: int,
) -> NDArray:  # float64 (2**(depth + 1) - 1,)
    """Sum the weights of the rows that go through each node of a complete tree, breadth first."""
    levels = [np.bincount(leaf, weight, 2**depth).astype(np.float64)]
    for _ in range(depth):
        levels.append(levels[-1].reshape(-1, 2).sum(axis=1))
    return np.concatenate(levels[::-1])


def shares_of_children(cover: NDArray) -> NDArray:  # float64, the shape of cover
    """Share of its parent's rows that each node gets; 1 of the root.

    A node that no row reaches tells nothing of its children: each gets half.
    """
    parent = cover[(np.arange(1, len(cover)) - 1) // 2]
    share = np.full(len(cover), 0.5)
    share[0] = 1
    np.divide(cover[1:], parent, out=share[1:], where=parent > 0)
    return share
