"""The best split of every node for criteria of very many classes, along its sorted samples.

Dense histograms would take ``n_nodes * n_classes`` cells a bin. Here the samples of a node are
run through in the order of their bins, and what a threshold sends to either side is a running
sum (:mod:`lrrf_jax.trees.sorted_runs`), of which :mod:`lrrf_jax.trees.side_entropy` makes scores.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from lrrf_jax._typing import Array
from lrrf_jax._xla import add_at, fusion_barrier, take
from lrrf_jax.trees.criterion import SimilarityEntropy, SparseClassEntropy
from lrrf_jax.trees.few_cuts import parting_range
from lrrf_jax.trees.growth import GrowthConfig, Lottery, Samples
from lrrf_jax.trees.level_slots import Drawn
from lrrf_jax.trees.likeness import Signs, empty_tables, signs_of_level
from lrrf_jax.trees.side_entropy import described_shorter, measured_sides
from lrrf_jax.trees.sorted_runs import FeatureOrder, Runs, bin_on_side, running_sum, sort_pairs
from lrrf_jax.trees.splitter import Split, choose_candidate, edge_at_share


class _Search(NamedTuple):
    """What the search of every candidate and side starts from."""

    order: FeatureOrder
    slot: Array  # int32 (n_drawn,), n_slots where nothing is searched
    group: Array  # int32 (n_drawn,), slot and class; n_drawn where nothing is searched
    signs: Signs | None
    drawn: Drawn
    samples: Samples
    config: GrowthConfig


class Found(NamedTuple):
    """The best split of one candidate feature of each slot."""

    split: Split  # fields (n_slots,)
    parent_score: Array  # float32 (n_slots,)


def search_sorted(
    order: FeatureOrder,
    bins: Callable[[Array], Array],  # candidate -> int32 (n_drawn,)
    lottery: Lottery,  # of each slot
    drawn: Drawn,
    samples: Samples,
    config: GrowthConfig,
) -> tuple[Split, Array, Array]:
    """Find the best split of every slot, its feature, and the score of the slot unsplit.

    Costs two sorts of words and a few passes a candidate; for :class:`SimilarityEntropy` also
    sums of the signs, see :mod:`lrrf_jax.trees.likeness`.
    """
    n_slots, n_candidates = lottery.candidates.shape
    slot = jnp.where(drawn.copies > 0, drawn.at, n_slots)
    group = jnp.where(slot < n_slots, drawn.group, len(slot))
    signs: Signs | None = None
    tables: tuple[Array, ...] = ()
    if isinstance(config.criterion, SimilarityEntropy):
        rows = take(samples.stat, drawn.row)[:, 1:]
        signs = signs_of_level(rows, slot, group, drawn, n_slots, config.criterion, samples.zero)
        tables = empty_tables(signs, config, len(samples.weight))
    search = _Search(order, slot, group, signs, drawn, samples, config)

    def search_candidate(tables: tuple[Array, ...], k: Array) -> tuple[tuple[Array, ...], Found]:
        feature = lax.dynamic_index_in_dim(lottery.candidates, k, axis=1, keepdims=False)
        edge = None
        if config.splitter == "random":
            assert lottery.uniform is not None
            uniform = lax.dynamic_index_in_dim(lottery.uniform, k, axis=1, keepdims=False)
            edge = _drawn_edges(bins(k), slot, feature, uniform, samples, config)
        found = []
        for side in range(1 + config.has_missing):
            tables, one = _search_side(search, side, bins(k), feature, edge, tables)
            found.append(one)
        best = found[0]
        if config.has_missing:
            # The better; of equals the lower threshold; of these "missing right".
            left, right = found[0].split, found[1].split
            equal = left.score == right.score
            goes_left = (left.score > right.score) | (equal & (left.edge < right.edge))
            best = jax.tree.map(lambda a, b: jnp.where(goes_left, a, b), *found)
        return tables, best

    assert config.splitter in ("best", "random")
    candidates = jnp.arange(n_candidates, dtype=jnp.int32)
    _, found = lax.scan(search_candidate, tables, candidates)
    lanes = Split(*(field.T.reshape(-1) for field in found.split))
    return *choose_candidate(lanes, lottery.candidates), found.parent_score[0]


def _drawn_edges(
    bin_: Array, slot: Array, feature: Array, uniform: Array, samples: Samples, config: GrowthConfig
) -> Array:  # int32 (n_slots,)
    """Draw one threshold for each slot, see :func:`lrrf_jax.trees.few_cuts.choose_edges`."""
    n_slots = len(feature)
    first, last = parting_range(bin_, slot, slot < n_slots, n_slots + 1, config)
    first, last = first[:-1], last[:-1]
    return edge_at_share(first, last, feature, samples.thresholds, uniform, samples.zero)


def _search_side(
    search: _Search,
    side: int,
    bin_: Array,  # int32 (n_drawn,)
    feature: Array,  # int32 (n_slots,)
    edge: Array | None,  # int32 (n_slots,), the only threshold to try
    tables: tuple[Array, ...],  # see `empty_tables`
) -> tuple[tuple[Array, ...], Found]:
    """Search with the missing values on one side: last, so left, or first, so right."""
    order, slot, group, signs, drawn, samples, config = search
    n_drawn, n_slots, zero = len(slot), len(feature), samples.zero
    assert isinstance(config.criterion, SparseClassEntropy)
    feature = jnp.concatenate([feature, jnp.zeros(1, jnp.int32)])
    feature_of_sample = take(feature, slot)
    at = jnp.arange(n_drawn, dtype=jnp.int32)
    rank = take(order.place[side], feature_of_sample * n_drawn + at)
    sizes = add_at(jnp.zeros(n_slots + 1, jnp.int32), slot, jnp.ones_like(slot))
    end = jnp.cumsum(sizes)

    slot_there, rank_there = sort_pairs(slot, rank, n_slots + 1, n_drawn)
    sample = take(order.sample[side], take(feature, slot_there) * n_drawn + rank_there)
    sample = fusion_barrier(zero, sample)
    runs = Runs(sample, slot_there, end - sizes, end, zero)
    met, total = _class_counts(side, order, group, feature_of_sample, rank, drawn.weight, zero)
    value = take(bin_on_side(bin_, side, config), sample)
    tables, (low, high, whole) = measured_sides(
        runs, met, total, signs, value, tables, drawn, config, zero
    )

    following = jnp.pad(value[1:], (0, 1))
    parts = (jnp.pad(slot_there[1:], (0, 1), constant_values=-1) == slot_there) & (
        following > value
    )
    if edge is not None:
        wanted = take(jnp.pad(edge, (0, 1)), slot_there) + side
        parts &= (value <= wanted) & (following > wanted)
    parts &= (low.n_samples >= config.min_samples_leaf) & (
        high.n_samples >= config.min_samples_leaf
    )
    score = jnp.where(parts & (slot_there < n_slots), low.score + high.score, -jnp.inf)
    # A node of one class has no split worth making.
    worth = take(jnp.pad(whole.n_classes > 1, (0, 1)), slot_there)
    score = fusion_barrier(zero, jnp.where(worth, score, -jnp.inf))
    best = jnp.full(n_slots, -jnp.inf).at[slot_there].max(score, mode="drop")
    is_best = (score == take(jnp.pad(best, (0, 1)), slot_there)) & (score > -jnp.inf)
    chosen = jnp.where(is_best, slot_there, n_slots)
    place = jnp.full(n_slots, n_drawn - 1, jnp.int32).at[chosen].min(at, mode="drop")
    if isinstance(config.criterion, SimilarityEntropy):
        low, high = (jax.tree.map(lambda field: take(field, place), part) for part in (low, high))
        best = jnp.where(described_shorter(low, high, whole, zero), best, -jnp.inf)
    if edge is None:
        edge = jnp.clip(take(value, place) - side, 0, config.n_bins - 2)
    missing_left = jnp.full(n_slots, side == 0 and config.has_missing)
    return tables, Found(Split(best, edge, missing_left), whole.score)


def _class_counts(
    side: int,
    order: FeatureOrder,
    group: Array,  # int32 (n_drawn,)
    feature: Array,  # int32 (n_drawn,)
    rank: Array,  # int32 (n_drawn,)
    weight: Array,  # int32 (n_drawn,)
    zero: Array,
) -> tuple[Array, Array]:  # int32 (n_drawn,) each
    """Weigh what comes before each sample in its node and class, and all of that class."""
    n_drawn = len(group)
    total = add_at(jnp.zeros(n_drawn + 1, jnp.int32), group, weight)
    feature_of_group = jnp.zeros(n_drawn + 1, jnp.int32).at[group].set(feature)
    there, rank_there = sort_pairs(group, rank, n_drawn + 1, n_drawn)
    sample = take(order.sample[side], take(feature_of_group, there) * n_drawn + rank_there)
    there, sample = fusion_barrier(zero, there, sample)
    own = take(weight, sample)
    start = jnp.cumsum(total) - total
    before = running_sum(own, zero) - own - take(start, there)
    met = jnp.zeros(n_drawn, jnp.int32).at[sample].set(before)
    return met, take(total, group)
