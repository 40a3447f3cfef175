"""Trees whose leaves hold the centre of a Mallows distribution: LRT and its bagged forms.

Cheng, Hühn and Hüllermeier, "Decision tree and instance-based learning for label ranking", 2009.
"""

import functools
from typing import Any, ClassVar

import chex
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._devices import on_host
from lrrf_jax._programs import jit
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._xla import bucket_size
from lrrf_jax.inference.ready import make_ready
from lrrf_jax.learners._table import TableShape, TrainingTable
from lrrf_jax.learners._weights import integer_weights
from lrrf_jax.learners.forest.bootstraps import bootstrap_table
from lrrf_jax.learners.forest.config import DISPERSIONS, ForestConfig
from lrrf_jax.learners.forest.leaves import leaf_at_depth, slots
from lrrf_jax.learners.forest.tree_ranker import TreeLabelRanker
from lrrf_jax.rankings.completion import most_probable_extension
from lrrf_jax.rankings.mallows import fit_groups
from lrrf_jax.rankings.permutations import rank_scores
from lrrf_jax.rankings.statistics import borda_votes_on_host
from lrrf_jax.trees.forest import Forest

_VOTE_SCALE = 64  # votes of partial rankings are fractions; sums of integers are exact
_MAX_WEIGHT = 2**22  # of a leaf: sums of weights and votes are exact in float32


class MallowsLeavesLabelRanker(TreeLabelRanker):
    """Trees whose leaves hold the centre of the rankings in them.

    Of complete rankings that is Borda's ranking. Partial ones are completed around the centre in
    turns (`fit_groups`); a label that no ranking of a leaf ranks goes where the nodes above have
    it.

    Parameters
    ----------
    criterion : {"dispersion", "theta"}
        What a split lowers: the mean of 1 / (1 + theta) of the children, as scikit-lr does; or
        raises: the mean of theta, as published, with theta that of half a reversed pair at most,
        for it is infinite where all rankings agree. From the counts of label pairs in a node:
        with partial rankings, the share of reversed pairs among those that are known.
    min_samples_split : int or None
        Minimum number of rows in a node to be split: repeats in the bootstrap counted, weights not.
        None: twice the number of labels, as published.
    """

    criterion: str = "dispersion"
    min_samples_split: int | None = None  # type: ignore[assignment]

    criteria: ClassVar[tuple[str, ...]] = DISPERSIONS
    fixed: ClassVar[dict[str, Any]] = {"aggregation": "two-step"}

    def _config(self, shape: TableShape) -> ForestConfig:
        fixed = self.fixed
        if self.min_samples_split is None:
            fixed = fixed | {"min_samples_split": 2 * shape.n_labels}
        return ForestConfig.of(self, shape, **fixed)

    def _with_leaves(
        self,
        key: Array,
        table: TrainingTable,
        config: ForestConfig,
        forest: Forest,
        first_tree: int = 0,
    ) -> Forest:
        if _complete(table.positions):
            return forest
        # Of labels in an order of their own, which decides between equals, and back.
        order = table.label_order
        ordered = table._replace(positions=np.ascontiguousarray(table.positions[:, order]))
        values = _leaf_centres(key, forest, ordered, config, first_tree)
        return forest._replace(leaf_value=values[:, np.argsort(order)])


def _complete(positions: NDArray) -> bool:
    ordered = np.sort(positions, axis=1)
    return bool((ordered == np.arange(1, positions.shape[1] + 1)).all())


def _leaf_centres(
    key: Array, forest: Forest, table: TrainingTable, config: ForestConfig, first_tree: int
) -> NDArray:  # int32 (n_slots, n_labels)
    """Fit Mallows' distribution in every leaf, and complete it from the nodes above."""
    n_samples, n_labels = table.positions.shape
    slot = slots(table.features, make_ready(forest))  # (n_samples, n_trees)
    copies = bootstrap_table(key, n_samples, forest.n_trees, config.bootstrap, first_tree)
    weight = copies.astype(np.int64)
    if table.weight is not None:
        # Sums are those of a leaf, so weights may be the finer the smaller the leaves are.
        in_leaf = np.bincount(slot.ravel(), (weight * table.weight[:, None]).ravel())
        share = max(in_leaf.max(), table.weight.max()) / table.weight.sum()
        most = int(_MAX_WEIGHT / (2 * n_labels * share))
        weight = weight * integer_weights(table.weight, most)[0][:, None]
    leaf_slot = np.asarray(forest.leaf_slot)
    first_slot = leaf_slot.min(1)
    # Coarse sizes: forests that differ in their number of leaves share programs.
    n_groups = bucket_size(int((leaf_slot.max(1) - first_slot).max()) + 1, per_octave=1)

    n_rows = bucket_size(n_samples)
    positions = np.full((n_rows, n_labels), np.nan, np.float32)
    positions[:n_samples] = table.positions
    n_slots = len(forest.leaf_value)
    centre = np.zeros((n_slots, n_labels), np.int32)
    unseen = np.zeros((n_slots, n_labels), bool)
    for tree, start in enumerate(first_slot):
        group = np.full(n_rows, -1, np.int32)
        group[:n_samples] = slot[:, tree] - start
        tree_weight = np.zeros(n_rows, np.float32)
        tree_weight[:n_samples] = weight[:, tree]
        with on_host():
            fit = jax.device_get(fit_groups(positions, group, tree_weight, n_groups, unseen="last"))
        n_leaves = leaf_slot[tree].max() + 1 - start
        centre[start : start + n_leaves] = fit.centre[:n_leaves]
        unseen[start : start + n_leaves] = fit.unseen[:n_leaves]
    if not unseen.any():
        return centre

    votes = np.round(borda_votes_on_host(table.positions) * _VOTE_SCALE).astype(np.int64)
    ranked = ~np.isnan(table.positions)

    def by_slot(values: NDArray) -> NDArray:  # (n_samples, n_labels) -> (n_slots, n_labels)
        sums = [
            np.bincount(slot.ravel(), (column[:, None] * weight).ravel(), n_slots)
            for column in values.T
        ]
        return np.stack(sums, axis=1)

    # The leaf of a slot is the last that points to it: those before it are descendants of the
    # same unsplit node. Numbers are those of trees of the largest depth, which do not change with
    # the depth that other trees reach.
    leaf_of_slot = np.zeros(n_slots, np.int32)
    leaf_of_slot[leaf_slot.ravel()] = np.arange(leaf_slot.size, dtype=np.int32)
    leaf_of_slot = leaf_at_depth(leaf_of_slot, forest.depth, config.max_depth)
    more = bucket_size(n_slots, per_octave=1) - n_slots
    beyond = np.full(more, np.iinfo(np.int32).max, np.int32)
    completed = _complete_from_above(
        np.concatenate([leaf_of_slot, beyond]),
        np.pad(by_slot(votes), ((0, more), (0, 0))).astype(np.int32),
        np.pad(by_slot(ranked) > 0, ((0, more), (0, 0))),
        np.pad(centre, ((0, more), (0, 0)), mode="edge"),
        np.pad(unseen, ((0, more), (0, 0))),
        depth=config.max_depth,
    )
    return np.asarray(completed)[:n_slots]


@functools.partial(jit, static_argnames="depth")
def _complete_from_above(
    leaf: Array,  # int32 (n_slots,), rising: tree * 2**depth + leaf
    votes: Array,  # int32 (n_slots, n_labels), generalised Borda, summed
    seen: Array,  # bool (n_slots, n_labels)
    centre: Array,  # int32 (n_slots, n_labels)
    unseen: Array,  # bool (n_slots, n_labels)
    *,
    depth: int,
) -> Array:  # int32 (n_slots, n_labels)
    """Complete leaves by the most probable extension to the node above, and so on to the root."""
    n_slots, n_labels = votes.shape
    chex.assert_shape([votes, seen, centre, unseen], (n_slots, n_labels))
    chex.assert_shape(leaf, (n_slots,))
    chex.assert_type([leaf, votes, centre], jnp.int32)
    chex.assert_type([seen, unseen], bool)

    def node_sums(level):
        node = leaf >> (depth - level)
        starts = jnp.concatenate([jnp.zeros(1, bool), node[1:] != node[:-1]])
        group = jnp.cumsum(starts.astype(jnp.int32))
        total = jax.ops.segment_sum(votes, group, n_slots)[group]
        return total, jax.ops.segment_max(seen, group, n_slots)[group]

    def descend(level, above):
        total, some = node_sums(level)
        own = jnp.where(some, rank_scores(total).astype(jnp.float32), jnp.nan)
        return most_probable_extension(own, above)

    root = rank_scores(node_sums(0)[0])
    above = lax.fori_loop(jnp.int32(0), jnp.int32(depth), descend, root)
    own = jnp.where(unseen, jnp.nan, centre.astype(jnp.float32))
    return most_probable_extension(own, above)
