"""The best split of every slot of a level for criteria of very many classes, along its samples.

Dense histograms would take ``n_nodes * n_classes`` cells per bin. Here the samples of a node are
run through in the order of their bins, and what a threshold sends to either side is a running
sum. A sample that meets ``c`` others of its class there adds ``f(c + 1) - f(c)`` to a sum over
classes of ``f(count)``, and 1 to the number of distinct classes where ``c`` is 0.

Sorting is slow on XLA:CPU, fastest for single words. So samples are ranked by each feature
once per tree, and a level sorts words of a node and a rank. Sums are of integers, so neither the
order of equal samples nor the device can change them. :mod:`lrrf_jax.trees.cell_search` does the
same in another way.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, cast

import jax
import jax.numpy as jnp
from jax import lax

from lrrf_jax._numerics import running_sum, xlog2x
from lrrf_jax._typing import Array
from lrrf_jax._xla import add_at, fusion_barrier, take
from lrrf_jax.trees.binning import bins_of_rows
from lrrf_jax.trees.class_criterion import SparseClassEntropy
from lrrf_jax.trees.growth import GrowthConfig, Level, Samples, Scratch, Splits
from lrrf_jax.trees.splitter import Split, choose_candidate
from lrrf_jax.trees.thresholds import edge_at_share, parting_range


# ------------------------------------------------------------------------------ sorted samples
class FeatureOrder(NamedTuple):
    """The drawn samples in the order of their bins, for each feature.

    The first of two sides has missing values last, the second, which is there only where values
    are missing, has them first.
    """

    place: Array  # int32 (n_sides, n_features * n_drawn), of each sample in the order
    sample: Array  # int32 (n_sides, n_features * n_drawn), at each place of the order


def sort_samples(samples: Samples, row: Array, config: GrowthConfig) -> FeatureOrder:
    """Put drawn rows, int32 (n_drawn,), in the order of each feature; equal bins in theirs."""
    n_drawn = len(row)
    position = jnp.arange(n_drawn, dtype=jnp.int32)

    def sort_feature(feature: Array, found: FeatureOrder) -> FeatureOrder:
        bin_ = bins_of_rows(samples.bin_index, row, feature)
        sides = [bin_on_side(bin_, side, config) for side in range(1 + config.has_missing)]
        orders = [_sort_pairs(side, position, config.n_bins, n_drawn)[1] for side in sides]
        places = [jnp.zeros_like(position).at[order].set(position) for order in orders]
        own = FeatureOrder(jnp.stack(places), jnp.stack(orders))
        at = feature * n_drawn
        return FeatureOrder(
            *(
                lax.dynamic_update_slice_in_dim(*both, at, 1)
                for both in zip(found, own, strict=True)
            )
        )

    nothing = jnp.zeros((1 + config.has_missing, config.n_features * n_drawn), jnp.int32)
    order: FeatureOrder
    order = lax.fori_loop(
        jnp.int32(0), samples.sizes.n_features, sort_feature, FeatureOrder(nothing, nothing)
    )
    return order


def bin_on_side(bin_: Array, side: int, config: GrowthConfig) -> Array:
    """Bins with the missing ones, which have the last, first on side 1."""
    return bin_ if side == 0 else (bin_ + 1) % config.n_bins


def _sort_pairs(major: Array, minor: Array, n_major: int, n_minor: int) -> tuple[Array, Array]:
    """Sort by ``major``, then ``minor``; both int32 and from 0."""
    if n_major * n_minor > 2**32:
        major, minor = lax.sort((major, minor), num_keys=2)
        return major, minor
    key = lax.sort(major.astype(jnp.uint32) * n_minor + minor.astype(jnp.uint32))
    return (key // n_minor).astype(jnp.int32), (key % n_minor).astype(jnp.int32)


class Places(Protocol):
    """What a threshold may come after: samples in the order of their bins, or cells of them."""

    def sums(self, values: list[Array]) -> list[tuple[Array, Array, Array]]:
        """Sum values of samples: up to and with each place, of its whole slot, and by slot."""


class Runs(NamedTuple):
    """Samples sorted by the bins of a candidate, slot after slot."""

    sample: Array  # int32 (n_drawn,)
    value: Array  # int32 (n_drawn,), their bins
    slot: Array  # int32 (n_drawn,); n_slots = in none, at the end
    start: Array  # int32 (n_slots + 1,), place of the first sample of each slot
    end: Array  # int32 (n_slots + 1,)

    def sums(self, values: list[Array]) -> list[tuple[Array, Array, Array]]:
        """Sum int32 (n_drawn,) values of samples along each slot.

        Returns the sums up to and with each place, and of the whole slot, there and by slot.
        """
        return [self._sum(column) for column in values]

    def _sum(self, values: Array) -> tuple[Array, Array, Array]:
        running = running_sum(take(values, self.sample))
        running = jnp.pad(fusion_barrier(running), (1, 0))
        before = take(running, self.start)
        total = take(running, self.end) - before
        before, total = fusion_barrier(before, total)
        return running[1:] - take(before, self.slot), take(total, self.slot), total[:-1]


# -------------------------------------------------------------------------------------- sides
class Side(NamedTuple):
    """What lies on one side of a threshold, or in a node."""

    score: Array  # float32, purity score
    n_classes: Array  # int32, distinct ones
    n_samples: Array  # int32
    weight: Array  # int32


class Sides(NamedTuple):
    """Both sides of the threshold after each place, and their nodes."""

    low: Side  # fields (n_places,)
    high: Side  # fields (n_places,)
    whole: Side  # fields (n_slots,)
    is_first: Array  # int32 (n_drawn,), marks the first sample of a class in its slot
    is_last: Array  # int32 (n_drawn,)


class Search(NamedTuple):
    """What the search of every candidate and side starts from."""

    level: Level
    slot: Array  # int32 (n_drawn,), n_slots where nothing is searched
    group: Array  # int32 (n_drawn,), slot and class; n_drawn where nothing is searched
    criterion: SparseClassEntropy
    prepared: Any  # of the criterion


class Found(NamedTuple):
    """The best split of one candidate feature of each slot."""

    split: Split  # fields (n_slots,)
    parent_score: Array  # float32 (n_slots,)


# Search, side, bins (n_drawn,), features (n_slots,), and the only threshold of each, if any.
SearchSide = Callable[[Search, int, Array, Array, Array | None], Found]


def search_sorted(level: Level) -> tuple[Splits, Scratch]:
    """Find the best split of every slot; gain -inf where none leaves enough samples on each side.

    Also returns `Level.scratch`.

    Costs two sorts of words and a few passes per candidate, and what the criterion adds.
    """
    return search_candidates(level, _search_side)


def search_candidates(level: Level, search_side: SearchSide) -> tuple[Splits, Scratch]:
    """Search the candidates of all slots, one after another, and missing values on both sides."""
    config, candidates = level.config, level.candidates
    assert config.splitter in ("best", "random")
    n_slots, n_candidates = candidates.feature.shape
    slot = jnp.where(level.drawn.copies > 0, level.drawn.at, n_slots)
    group = jnp.where(slot < n_slots, level.drawn.label, len(slot))
    criterion = cast(SparseClassEntropy, config.criterion)
    search = Search(level, slot, group, criterion, criterion.prepare(level, slot, group))

    def search_candidate(k: Array, found: Found) -> Found:
        bin_, own = level.bins(k), candidates.of(k)
        edge = None
        if own.uniform is not None:
            # One threshold for each slot, as `thresholds.choose_edges` draws it.
            ends = parting_range(bin_, slot, slot < n_slots, n_slots + 1, config)
            first, last = (end[:-1] for end in ends)
            edge = edge_at_share(first, last, own.feature, level.samples.thresholds, own.uniform)
        best = search_side(search, 0, bin_, own.feature, edge)
        if config.has_missing:
            # The better; on a tie the lower threshold, then "missing right".
            other = search_side(search, 1, bin_, own.feature, edge)
            left, right = best.split, other.split
            equal = left.score == right.score
            goes_left = (left.score > right.score) | (equal & (left.edge < right.edge))
            best = jax.tree.map(lambda a, b: jnp.where(goes_left, a, b), best, other)
        found = jax.tree.map(lambda whole, part: whole.at[k].set(part), found, best)
        return found

    nothing = jnp.zeros((n_candidates, n_slots), jnp.int32)
    scores = jnp.full(nothing.shape, -jnp.inf, jnp.float32)
    found = Found(Split(scores, nothing, nothing > 0), jnp.zeros_like(scores))
    found = level.over_candidates(search_candidate, found)
    lanes = Split(*(field.T.reshape(-1) for field in found.split))
    sizes = level.samples.sizes
    best, feature = choose_candidate(lanes, candidates.feature, sizes.n_candidates)
    gain = best.score - found.parent_score[0]
    return Splits(feature, best.edge, best.missing_left, gain), level.scratch


def _search_side(
    search: Search,
    side: int,
    bin_: Array,  # int32 (n_drawn,)
    feature: Array,  # int32 (n_slots,)
    edge: Array | None,  # int32 (n_slots,), the only threshold to try
) -> Found:
    """Search with the missing values on one side: last, so left, or first, so right."""
    level, slot = search.level, search.slot
    config, order = level.config, level.order
    assert order is not None
    n_drawn, n_slots = len(slot), len(feature)
    feature = jnp.concatenate([feature, jnp.zeros(1, jnp.int32)])
    feature_of_sample = take(feature, slot)
    at = jnp.arange(n_drawn, dtype=jnp.int32)
    rank = take(order.place[side], feature_of_sample * n_drawn + at)
    sizes = add_at(jnp.zeros(n_slots + 1, jnp.int32), slot, jnp.ones_like(slot))
    end = jnp.cumsum(sizes)

    slot_there, rank_there = _sort_pairs(slot, rank, n_slots + 1, n_drawn)
    sample = take(order.sample[side], take(feature, slot_there) * n_drawn + rank_there)
    sample = fusion_barrier(sample)
    value = take(bin_on_side(bin_, side, config), sample)
    runs = Runs(sample, value, slot_there, end - sizes, end)
    met, total = _class_counts(search, order.sample[side], feature_of_sample, rank)
    sides = entropies(search, runs, met, total)
    sides = search.criterion.weigh(search.prepared, runs, sides)
    low, high, whole = sides.low, sides.high, sides.whole

    following = jnp.pad(value[1:], (0, 1))
    same_slot = jnp.pad(slot_there[1:], (0, 1), constant_values=-1) == slot_there
    parts = same_slot & (following > value)
    if edge is not None:
        wanted = take(jnp.pad(edge, (0, 1)), slot_there) + side
        parts &= (value <= wanted) & (following > wanted)
    min_leaf = search.level.samples.sizes.min_samples_leaf
    parts &= (low.n_samples >= min_leaf) & (high.n_samples >= min_leaf)
    score = jnp.where(parts & (slot_there < n_slots), low.score + high.score, -jnp.inf)
    # A node of one class has no split worth making.
    worth = take(jnp.pad(whole.n_classes > 1, (0, 1)), slot_there)
    score = fusion_barrier(jnp.where(worth, score, -jnp.inf))
    best = jnp.full(n_slots, -jnp.inf).at[slot_there].max(score, mode="drop")
    is_best = (score == take(jnp.pad(best, (0, 1)), slot_there)) & (score > -jnp.inf)
    chosen = jnp.where(is_best, slot_there, n_slots)
    place = jnp.full(n_slots, n_drawn - 1, jnp.int32).at[chosen].min(at, mode="drop")
    low, high = (jax.tree.map(lambda field: take(field, place), part) for part in (low, high))
    best = jnp.where(search.criterion.accepts(low, high, whole), best, -jnp.inf)
    if edge is None:
        edge = jnp.clip(take(value, place) - side, 0, config.n_bins - 2)
    missing_left = jnp.full(n_slots, side == 0 and config.has_missing)
    return Found(Split(best, edge, missing_left), whole.score)


def _class_counts(
    search: Search,
    order: Array,  # int32 (n_features * n_drawn,), of the side
    feature: Array,  # int32 (n_drawn,)
    rank: Array,  # int32 (n_drawn,)
) -> tuple[Array, Array]:  # int32 (n_drawn,) each
    """Weigh what comes before each sample in its node and class, and all of that class."""
    group, weight, n_drawn = search.group, search.level.drawn.weight, len(rank)
    total = add_at(jnp.zeros(n_drawn + 1, jnp.int32), group, weight)
    feature_of_group = jnp.zeros(n_drawn + 1, jnp.int32).at[group].set(feature)
    there, rank_there = _sort_pairs(group, rank, n_drawn + 1, n_drawn)
    sample = take(order, take(feature_of_group, there) * n_drawn + rank_there)
    there, sample = fusion_barrier(there, sample)
    own = take(weight, sample)
    start = jnp.cumsum(total) - total
    before = running_sum(own) - own - take(start, there)
    met = jnp.zeros(n_drawn, jnp.int32).at[sample].set(before)
    return met, take(total, group)


def entropies(
    search: Search,
    places: Places,
    met: Array,  # int32 (n_drawn,), see `_class_counts`
    total: Array,  # int32 (n_drawn,)
) -> Sides:
    """Minus entropy, times weight, up to each place, after it, and over the whole slot."""
    drawn, weight = search.level.drawn, search.level.drawn.weight
    scale = 2.0**search.criterion.scale_bits

    def steps(counts: Array) -> Array:
        return jnp.round(xlog2x(counts) * scale).astype(jnp.int32)

    rest = total - met
    below, after = steps(met), steps(rest)
    up, down = steps(met + weight) - below, after - steps(rest - weight)
    is_first = ((met == 0) & (weight > 0)).astype(jnp.int32)
    is_last = ((rest == weight) & (weight > 0)).astype(jnp.int32)
    up, down, is_first, is_last = fusion_barrier(up, down, is_first, is_last)
    sums = places.sums([up, down, weight, drawn.copies, is_first, is_last])
    (low_f, _, whole_f), (high_f, all_f, _), *sums = sums
    (low_weight, all_weight, whole_weight), (low_count, all_count, whole_count), *sums = sums
    (low_classes, all_classes, whole_classes), (last_seen, _, _) = sums

    def side(sum_f: Array, n_classes: Array, n_samples: Array, weight: Array) -> Side:
        score = sum_f.astype(jnp.float32) / scale - xlog2x(weight)
        return Side(score, n_classes, n_samples, weight)

    high_weight, high_count = all_weight - low_weight, all_count - low_count
    return Sides(
        low=side(low_f, low_classes, low_count, low_weight),
        high=side(all_f - high_f, all_classes - last_seen, high_count, high_weight),
        whole=side(whole_f, whole_classes, whole_count, whole_weight),
        is_first=is_first,
        is_last=is_last,
    )
