"""Entropy of very many classes: sums only for the (node, class) pairs that exist.

A *group* is the set of a tree's samples that share a node and a class; there are never more
groups than samples, where dense counts would take ``n_nodes * n_classes`` cells a bin.
"""

import jax.numpy as jnp

from lrrf_jax._typing import Array
from lrrf_jax.trees.criterion import SparseClassEntropy, xlog2x


def split_groups(
    key: Array,  # int32 (n_drawn,), below 2 n_drawn: equal for samples of one group
    present: Array,  # bool (n_drawn,), False for padding
) -> Array:  # int32 (n_drawn,) groups 0.. without gaps; n_drawn for padding
    """Give numbers to the groups that hold samples, without gaps, in the order of their keys."""
    n_drawn = len(key)
    size = 2 * n_drawn
    used = jnp.zeros(size, bool).at[jnp.where(present, key, size)].set(True, mode="drop")
    number = jnp.cumsum(used.astype(jnp.int32)) - 1
    return jnp.where(present, number.at[key].get(mode="clip"), n_drawn)


def group_evaluation(
    criterion: SparseClassEntropy,
    group: Array,  # int32 (n_drawn,)
    slot: Array,  # int32 (n_drawn,); n_slots = none
    bins: Array,  # int32 (n_candidates, n_drawn)
    weight: Array,  # int32 (n_drawn,)
    count: Array,  # int32 (n_drawn,)
    n_bins: int,
    n_slots: int,
    zero: Array,
):
    """Build what the search for a split needs.

    Returns
    -------
    evaluate
        Sums of the right child, int32 (..., n_stats, n_groups * n_candidates), to the scores and
        sizes of both children, each (..., n_slots * n_candidates).
    histogram
        int32 (n_bins, n_stats, n_groups * n_candidates); component 1 is the count where weights
        differ from it.
    occupancy
        int32 (n_bins, n_slots * n_candidates).
    parent_score
        float32 (n_slots,).
    column_lane
        int32 (n_groups * n_candidates,).
    """
    n_groups, n_candidates = len(group), len(bins)
    width, n_lanes = n_groups * n_candidates, n_slots * n_candidates
    offset = jnp.arange(n_candidates, dtype=jnp.int32)
    slot_of_group = jnp.full(n_groups, n_slots, jnp.int32).at[group].set(slot, mode="drop")
    column_lane = (slot_of_group[:, None] * n_candidates + offset).reshape(-1)
    column_lane = jnp.minimum(column_lane, n_lanes)  # a node outside this chunk: dropped
    column = group * n_candidates + offset[:, None]
    inside = (slot < n_slots) & (group < n_groups)
    key = jnp.where(inside, bins * width + column, n_bins * width)

    def scatter(values):
        values = jnp.broadcast_to(values, key.shape).reshape(-1)
        flat = jnp.zeros(n_bins * width, jnp.int32).at[key.reshape(-1)].add(values, mode="drop")
        return flat.reshape(n_bins, 1, width)

    def by_lane(columns):  # (..., width) -> (..., n_lanes)
        zeros = jnp.zeros((*columns.shape[:-1], n_lanes), columns.dtype)
        return zeros.at[..., column_lane].add(columns, mode="drop")

    histogram = scatter(weight)
    if criterion.separate_count:
        histogram = jnp.concatenate([histogram, scatter(count)], axis=1)
    total = histogram.sum(0)
    n_total = by_lane(total[-1])
    total_weight = by_lane(total[0])

    def score(sums, weights):
        return by_lane(xlog2x(sums, zero)) - xlog2x(weights, zero)

    several = by_lane((total[0] > 0).astype(jnp.int32)) > 1  # more than one class in the node

    def evaluate(right, _):
        n_right = by_lane(right[..., -1, :])
        sums = right[..., 0, :]
        weights = by_lane(sums)
        both = score(sums, weights) + score(total[0] - sums, total_weight - weights)
        # A pure node has no split worth making.
        return jnp.where(several, both, -jnp.inf), n_right, n_total - n_right

    parent_score = score(total[0], total_weight)[::n_candidates]
    occupancy = by_lane(histogram[:, -1])
    return evaluate, histogram, occupancy, parent_score, jnp.minimum(column_lane, n_lanes - 1)
