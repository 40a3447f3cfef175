"""Choosing the smallest leaf by what the training rows say: ``min_samples_leaf="auto"``."""

import dataclasses
import math
from collections.abc import Callable

from lrrf_jax import _devices as mesh
from lrrf_jax._typing import Array
from lrrf_jax.learners._table import TrainingTable
from lrrf_jax.learners.forest.config import LEAF_SIZES, ForestConfig
from lrrf_jax.learners.forest.fit import Grower
from lrrf_jax.learners.forest.out_of_bag import OutOfBag
from lrrf_jax.trees.forest import Forest, with_depth

# As many for every forest, so that one that gets more trees later has leaves of the same size.
N_TREES = 50
_DIGITS = 9  # of tau: the last bits are those of a device


def choose_leaf_size(
    key: Array,
    table: TrainingTable,
    config: ForestConfig,
    with_leaves: Callable[[ForestConfig, Forest], Forest],
    memory_budget: int | None = None,
) -> int:
    """Return the size in `LEAF_SIZES` of the highest out-of-bag tau, of equal ones the smallest.

    ``with_leaves`` gives trees what their leaves hold in the end. Nothing but the training table is
    looked at. Costs `N_TREES` trees for each size, and as many rankings of the training rows; the
    trees of all sizes share their programs.
    """
    taus = []
    for size in LEAF_SIZES:
        own = dataclasses.replace(config, n_trees=N_TREES, min_samples_leaf=size)
        with Grower(key, table, own, memory_budget=memory_budget) as grower:
            forest = grower.grow(N_TREES).forest
        deep = with_depth(forest, own.max_depth)
        tau = OutOfBag(key, table, own).add(with_leaves(own, deep))
        taus.append(-math.inf if math.isnan(tau) else round(tau, _DIGITS))
    chosen = taus.index(max(taus))
    if mesh.spans_processes(mesh.growing_devices()):  # which must all grow the same trees
        chosen = mesh.of_first_process(bytes([chosen]))[0]
    return LEAF_SIZES[chosen]
