"""The best split of every node for criteria of very many classes, along its sorted samples.

Dense histograms would take ``n_nodes * n_classes`` cells a bin. Here the samples of a node are
run through in the order of their bins, and what a threshold sends to either side is a running
sum: a sample that meets ``c`` others of its class there adds ``f(c + 1) - f(c)`` to a sum over
classes of ``f(count)``, and 1 to the number of distinct classes where ``c`` is 0. All sums are
of integers, so neither the order of the samples nor the device can change them.

A sort is dear on XLA:CPU, and least so for single words. So samples are ranked by each feature
once a tree, and a level sorts words of a node and a rank.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from lrrf_jax._typing import Array
from lrrf_jax.trees.criterion import SimilarityEntropy, SparseClassEntropy, log2_of, product, xlog2x
from lrrf_jax.trees.growth import GrowthConfig, Lottery, Samples
from lrrf_jax.trees.level_slots import Drawn
from lrrf_jax.trees.sample_bins import SampleBins, bin_of_feature
from lrrf_jax.trees.splitter import Split, choose_candidate, edge_at_share
from lrrf_jax.trees.xla import add_at, fusion_barrier, take

_LANE = 32  # values that follow each other in a lane
_TABLED_CLASSES = 32


class FeatureOrder(NamedTuple):
    """The drawn samples in the order of their bins, for each feature.

    The first of two sides has missing values last, the second, which is there only where values
    are missing, has them first.
    """

    place: Array  # int32 (n_sides, n_features * n_drawn), of each sample in the order
    sample: Array  # int32 (n_sides, n_features * n_drawn), at each place of the order


def sort_samples(bins: SampleBins, config: GrowthConfig) -> FeatureOrder:
    """Put all samples in the order of each feature; equal bins in the order of the samples."""
    n_drawn = len(bins.first)
    position = jnp.arange(n_drawn, dtype=jnp.int32)

    def sort_feature(feature: Array) -> tuple[Array, Array]:
        bin_ = bin_of_feature(bins, jnp.full(n_drawn, feature))
        sides = [_bin_on_side(bin_, side, config) for side in range(1 + config.has_missing)]
        samples = [_sort_pairs(side, position, config.n_bins, n_drawn)[1] for side in sides]
        places = [jnp.zeros_like(position).at[sample].set(position) for sample in samples]
        return jnp.stack(places), jnp.stack(samples)

    features = jnp.arange(config.n_features, dtype=jnp.int32)
    place, sample = lax.map(sort_feature, features)  # (n_features, n_sides, n_drawn)
    n_sides = 1 + config.has_missing
    return FeatureOrder(
        place.swapaxes(0, 1).reshape(n_sides, -1), sample.swapaxes(0, 1).reshape(n_sides, -1)
    )


def _bin_on_side(bin_: Array, side: int, config: GrowthConfig) -> Array:
    """Bins with the missing ones, which have the last, first on side 1."""
    return bin_ if side == 0 else (bin_ + 1) % config.n_bins


def _sort_pairs(major: Array, minor: Array, n_major: int, n_minor: int) -> tuple[Array, Array]:
    """Sort by ``major``, then ``minor``; both int32 and from 0."""
    if n_major * n_minor > 2**32:
        major, minor = lax.sort((major, minor), num_keys=2)
        return major, minor
    key = lax.sort(major.astype(jnp.uint32) * n_minor + minor.astype(jnp.uint32))
    return (key // n_minor).astype(jnp.int32), (key % n_minor).astype(jnp.int32)


def _running_sum(values: Array, zero: Array) -> Array:
    """Sum up to each place; int32 (n,). In lanes: XLA:CPU does not vectorise ``cumsum``."""
    lanes = jnp.pad(values, (0, -len(values) % _LANE)).reshape(-1, _LANE).T

    def step(total, some):
        total = total + some
        return total, total

    last, within = lax.scan(step, jnp.zeros_like(lanes[0]), fusion_barrier(zero, lanes))
    before = jnp.cumsum(last) - last
    return (within + before).T.reshape(-1)[: len(values)]


class _Runs(NamedTuple):
    """Sorted samples, slot after slot."""

    sample: Array  # int32 (n_drawn,)
    slot: Array  # int32 (n_drawn,); n_slots = in none, at the end
    start: Array  # int32 (n_slots + 1,), place of the first sample of each slot
    end: Array  # int32 (n_slots + 1,)
    zero: Array

    def sums(self, values: Array) -> tuple[Array, Array, Array]:
        """Sum int32 (n_drawn,) values of samples along each slot.

        Returns the sums up to and with each place, and of the whole slot, there and by slot.
        """
        running = _running_sum(take(values, self.sample), self.zero)
        running = jnp.concatenate([jnp.zeros(1, jnp.int32), running])
        before = take(running, self.start)
        total = take(running, self.end) - before
        return running[1:] - take(before, self.slot), take(total, self.slot), total[:-1]


class _Side(NamedTuple):
    """What lies on one side of a threshold, or in a node."""

    score: Array  # float32, purity score
    n_classes: Array  # int32, distinct ones
    n_samples: Array  # int32
    weight: Array  # int32


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
    three running sums for each sign.
    """
    n_slots, n_candidates = lottery.candidates.shape
    slot = jnp.where(drawn.copies > 0, drawn.at, n_slots)
    group = jnp.where(slot < n_slots, drawn.group, len(slot))
    signs = None
    if isinstance(config.criterion, SimilarityEntropy):
        signs = take(samples.stat, drawn.row)[:, 1:].T

    def search_candidate(k: Array) -> Found:
        feature = lax.dynamic_index_in_dim(lottery.candidates, k, axis=1, keepdims=False)
        edge = None
        if config.splitter == "random":
            assert lottery.uniform is not None
            uniform = lax.dynamic_index_in_dim(lottery.uniform, k, axis=1, keepdims=False)
            edge = _drawn_edges(bins(k), slot, feature, uniform, samples, config)
        found = [
            _search_side(
                side, order, bins(k), feature, edge, slot, group, signs, drawn, samples, config
            )
            for side in range(1 + config.has_missing)
        ]
        best = found[0]
        if config.has_missing:
            # The better; of equals the lower threshold; of these "missing right".
            left, right = found[0].split, found[1].split
            equal = left.score == right.score
            goes_left = (left.score > right.score) | (equal & (left.edge < right.edge))
            best = jax.tree.map(lambda a, b: jnp.where(goes_left, a, b), *found)
        return best

    assert config.splitter in ("best", "random")
    found = lax.map(search_candidate, jnp.arange(n_candidates, dtype=jnp.int32))
    lanes = Split(*(field.T.reshape(-1) for field in found.split))
    return *choose_candidate(lanes, lottery.candidates), found.parent_score[0]


def _drawn_edges(
    bin_: Array, slot: Array, feature: Array, uniform: Array, samples: Samples, config: GrowthConfig
) -> Array:  # int32 (n_slots,)
    """Draw one threshold for each slot, see :func:`lrrf_jax.trees.splitter.few_splits`."""
    n_slots = len(feature)
    known = jnp.where(bin_ < config.n_bins - config.has_missing, slot, n_slots)
    first = jnp.full(n_slots, config.n_bins, jnp.int32).at[known].min(bin_, mode="drop")
    last = jnp.full(n_slots, -1, jnp.int32).at[known].max(bin_, mode="drop") - 1
    first = jnp.where(last < -1, 0, first)
    return edge_at_share(first, last, samples.thresholds[feature], uniform)


def _search_side(
    side: int,
    order: FeatureOrder,
    bin_: Array,  # int32 (n_drawn,)
    feature: Array,  # int32 (n_slots,)
    edge: Array | None,  # int32 (n_slots,), the only threshold to try
    slot: Array,
    group: Array,
    signs: Array | None,  # int32 (n_signs, n_drawn)
    drawn: Drawn,
    samples: Samples,
    config: GrowthConfig,
) -> Found:
    """Search with the missing values on one side: last, so left, or first, so right."""
    n_drawn, n_slots, zero = len(slot), len(feature), samples.zero
    assert isinstance(config.criterion, SparseClassEntropy)
    feature = jnp.concatenate([feature, jnp.zeros(1, jnp.int32)])
    feature_of_sample = take(feature, slot)
    at = jnp.arange(n_drawn, dtype=jnp.int32)
    rank = take(order.place[side], feature_of_sample * n_drawn + at)
    sizes = add_at(jnp.zeros(n_slots + 1, jnp.int32), slot, jnp.ones_like(slot))
    end = jnp.cumsum(sizes)

    slot_there, rank_there = _sort_pairs(slot, rank, n_slots + 1, n_drawn)
    sample = take(order.sample[side], take(feature, slot_there) * n_drawn + rank_there)
    sample = fusion_barrier(zero, sample)
    runs = _Runs(sample, slot_there, end - sizes, end, zero)
    met, total = _class_counts(side, order, group, feature_of_sample, rank, drawn.weight, zero)
    low, high, whole = _sides(runs, met, total, signs, drawn, config, zero)

    value = take(_bin_on_side(bin_, side, config), sample)
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
        unit = config.criterion.weight_unit
        best = jnp.where(_described_shorter(low, high, whole, unit, zero), best, -jnp.inf)
    if edge is None:
        edge = jnp.clip(take(value, place) - side, 0, config.n_bins - 2)
    missing_left = jnp.full(n_slots, side == 0 and config.has_missing)
    return Found(Split(best, edge, missing_left), whole.score)


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
    there, rank_there = _sort_pairs(group, rank, n_drawn + 1, n_drawn)
    sample = take(order.sample[side], take(feature_of_group, there) * n_drawn + rank_there)
    there, sample = fusion_barrier(zero, there, sample)
    own = take(weight, sample)
    start = jnp.cumsum(total) - total
    before = _running_sum(own, zero) - own - take(start, there)
    met = jnp.zeros(n_drawn, jnp.int32).at[sample].set(before)
    return met, take(total, group)


def _sides(
    runs: _Runs,
    met: Array,
    total: Array,
    signs: Array | None,
    drawn: Drawn,
    config: GrowthConfig,
    zero: Array,
) -> tuple[_Side, _Side, _Side]:  # (n_drawn,), (n_drawn,), (n_slots,)
    """Sum up to each place, after it, and over the whole slot."""
    criterion, weight = config.criterion, drawn.weight
    assert isinstance(criterion, SparseClassEntropy)
    scale = 2.0**criterion.scale_bits

    def steps(counts):
        return jnp.round(xlog2x(counts, zero) * scale).astype(jnp.int32)

    rest = total - met
    below, after = steps(met), steps(rest)
    up, down = steps(met + weight) - below, after - steps(rest - weight)
    is_first = ((met == 0) & (weight > 0)).astype(jnp.int32)
    is_last = ((rest == weight) & (weight > 0)).astype(jnp.int32)
    up, down, is_first, is_last = fusion_barrier(zero, up, down, is_first, is_last)
    low_f, _, whole_f = runs.sums(up)
    high_f, all_f, _ = runs.sums(down)
    low_weight, all_weight, whole_weight = runs.sums(weight)
    low_count, all_count, whole_count = runs.sums(drawn.copies)
    low_classes, all_classes, whole_classes = runs.sums(is_first)
    last_seen, _, _ = runs.sums(is_last)

    def negative_entropy(sum_f, weight):
        return sum_f.astype(jnp.float32) / scale - xlog2x(weight, zero)

    weights = low_weight, all_weight - low_weight, whole_weight
    classes = low_classes, all_classes - last_seen, whole_classes
    scores = [
        negative_entropy(f, w)
        for f, w in zip((low_f, all_f - high_f, whole_f), weights, strict=True)
    ]
    if signs is not None:
        assert isinstance(criterion, SimilarityEntropy)
        alike = _alikeness(
            runs, signs, is_first, is_last, weights, classes, weight, criterion.masked, zero
        )
        # Both logarithms natural, as in the source.
        scores = [
            product(score, -_LN2 * _LN2 * log2_of(jnp.maximum(share, 1e-10), zero), zero)
            for score, share in zip(scores, alike, strict=True)
        ]
    counts = low_count, all_count - low_count, whole_count
    low, high, whole = (_Side(*side) for side in zip(scores, classes, counts, weights, strict=True))
    return low, high, whole


_LN2 = math.log(2.0)


def _alikeness(
    runs: _Runs,
    signs: Array,  # int32 (n_signs, n_drawn)
    is_first: Array,
    is_last: Array,
    weights: tuple[Array, Array, Array],
    classes: tuple[Array, Array, Array],
    weight: Array,  # int32 (n_drawn,)
    masked: bool,
    zero: Array,
) -> list[Array]:  # float32 in [0, 1]
    """Mean agreement of the classes of a side with its samples."""

    def products(values: Array) -> tuple[Array, Array, Array]:
        low_class, all_class, whole_class = runs.sums(is_first * values)
        last_class, _, _ = runs.sums(is_last * values)
        low_sum, all_sum, whole_sum = runs.sums(weight * values)
        high_class, high_sum = all_class - last_class, all_sum - low_sum
        pairs = (low_class, low_sum), (high_class, high_sum), (whole_class, whole_sum)
        low, high, whole = (
            product(a.astype(jnp.float32), b.astype(jnp.float32), zero) for a, b in pairs
        )
        return low, high, whole

    def add(k, totals):
        values = lax.dynamic_index_in_dim(signs, k, keepdims=False)
        totals = jax.tree.map(jnp.add, totals, (products(values), products(jnp.abs(values))))
        return totals

    def add_complete(k, totals):
        values = lax.dynamic_index_in_dim(signs, k, keepdims=False)
        return jax.tree.map(jnp.add, totals, products(values))

    nothing = tuple(jnp.zeros(side.shape, jnp.float32) for side in weights)
    n_signs = jnp.int32(len(signs))
    if masked:
        agreement, compared = lax.fori_loop(jnp.int32(0), n_signs, add, (nothing, nothing))
    else:
        agreement = lax.fori_loop(jnp.int32(0), n_signs, add_complete, nothing)
        compared = tuple(
            product(n.astype(jnp.float32), w.astype(jnp.float32), zero) * len(signs)
            for n, w in zip(classes, weights, strict=True)
        )
    return [
        jnp.clip((1 + a / jnp.maximum(c, 1.0)) / 2, 0.0, 1.0)
        for a, c in zip(agreement, compared, strict=True)
    ]


def _described_shorter(
    low: _Side, high: _Side, whole: _Side, unit: float, zero: Array
) -> Array:  # bool
    """Fayyad and Irani's test: whether the gain pays for the description of the split."""
    number = jnp.maximum(whole.weight.astype(jnp.float32) / unit, 1.0)

    def times_classes(side):
        entropy = -side.score / jnp.maximum(side.weight.astype(jnp.float32), 1.0)
        return product(side.n_classes.astype(jnp.float32), entropy, zero)

    gain = (low.score + high.score - whole.score) / jnp.maximum(
        whole.weight.astype(jnp.float32), 1.0
    )
    tabled = jnp.asarray([0.0] + [math.log(3.0**k - 2) for k in range(1, _TABLED_CLASSES)])
    choices = jnp.where(
        whole.n_classes < _TABLED_CLASSES,
        tabled.astype(jnp.float32).at[whole.n_classes].get(mode="clip"),
        whole.n_classes.astype(jnp.float32) * math.log(3.0),
    )
    delta = choices - (times_classes(whole) - times_classes(low) - times_classes(high))
    cost = _LN2 * log2_of(jnp.maximum(number - 1, 1.0), zero)
    return gain > (cost + delta) / number
