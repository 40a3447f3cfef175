"""Entropy of the classes on both sides of every threshold, along the sorted samples of a node.

A sample that meets ``c`` others of its class there adds ``f(c + 1) - f(c)`` to a sum over classes
of ``f(count)``, and 1 to the number of distinct classes where ``c`` is 0.

:class:`SimilarityEntropy` (EDiRa of de Sa et al. 2017) weighs the entropy by how much the classes
of a side agree, and accepts a split by Fayyad and Irani's description length.
"""

import math
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from lrrf_jax._typing import Array
from lrrf_jax.trees.criterion import SimilarityEntropy, SparseClassEntropy, log2_of, product, xlog2x
from lrrf_jax.trees.growth import GrowthConfig
from lrrf_jax.trees.level_slots import Drawn
from lrrf_jax.trees.sorted_runs import Runs
from lrrf_jax.trees.xla import fusion_barrier, take

_LN2 = math.log(2.0)
_TABLED_CLASSES = 32
_GROUP_CELLS = 2**18


class Side(NamedTuple):
    """What lies on one side of a threshold, or in a node."""

    score: Array  # float32, purity score
    n_classes: Array  # int32, distinct ones
    n_samples: Array  # int32
    weight: Array  # int32


def measured_sides(
    runs: Runs,
    met: Array,
    total: Array,
    signs: Array | None,  # see `grouped_signs`
    drawn: Drawn,
    config: GrowthConfig,
    zero: Array,
) -> tuple[Side, Side, Side]:  # (n_drawn,), (n_drawn,), (n_slots,)
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
            runs, signs, is_first, is_last, weights, classes, weight, criterion, zero
        )
        # Both logarithms natural, as in the source.
        scores = [
            product(score, -_LN2 * _LN2 * log2_of(jnp.maximum(share, 1e-10), zero), zero)
            for score, share in zip(scores, alike, strict=True)
        ]
    counts = low_count, all_count - low_count, whole_count
    low, high, whole = (Side(*side) for side in zip(scores, classes, counts, weights, strict=True))
    return low, high, whole


def grouped_signs(signs: Array) -> Array:
    """Part the signs of samples, int32 (n_drawn, n_signs), in groups that are summed together.

    So many that a step of a loop has enough to do, so few that the sums stay in a cache. Zeros
    fill the last group: int32 (n_groups, n_drawn, width).
    """
    n_drawn, n_signs = signs.shape
    n_groups = -(-n_signs // max(1, min(n_signs, _GROUP_CELLS // n_drawn)))
    width = -(-n_signs // n_groups)
    padded = jnp.pad(signs, ((0, 0), (0, n_groups * width - n_signs)))
    return padded.reshape(n_drawn, n_groups, width).swapaxes(0, 1)


def _alikeness(
    runs: Runs,
    signs: Array,  # int32 (n_groups, n_drawn, width), see `grouped_signs`
    is_first: Array,
    is_last: Array,
    weights: tuple[Array, Array, Array],
    classes: tuple[Array, Array, Array],
    weight: Array,  # int32 (n_drawn,)
    criterion: SimilarityEntropy,
    zero: Array,
) -> list[Array]:  # float32 in [0, 1]
    """Mean agreement of the classes of a side with its samples."""
    marks = [take(mark, runs.sample)[:, None] for mark in (is_first, is_last, weight)]

    def products(rows: Array) -> tuple[Array, Array, Array]:  # of the sums of each sign
        low_class, all_class, whole_class = runs.sums_there(rows * marks[0])
        last_class, _, _ = runs.sums_there(rows * marks[1])
        low_sum, all_sum, whole_sum = runs.sums_there(rows * marks[2])
        pairs = (
            (low_class, low_sum),
            (all_class - last_class, all_sum - low_sum),
            (whole_class, whole_sum),
        )
        low, high, whole = (
            fusion_barrier(zero, product(a.astype(jnp.float32), b.astype(jnp.float32), zero).T)
            for a, b in pairs
        )
        return low, high, whole

    def add_columns(columns: tuple[Array, Array, Array], totals):
        def add(k, totals):
            here = [lax.dynamic_index_in_dim(side, k, keepdims=False) for side in columns]
            return tuple(total + one for total, one in zip(totals, here, strict=True))

        return lax.fori_loop(jnp.int32(0), jnp.int32(len(columns[0])), add, totals)

    def rows_of(group: Array) -> Array:  # int32 (n_drawn, width), sorted
        rows = lax.dynamic_index_in_dim(signs, group, keepdims=False)
        return fusion_barrier(zero, take(rows, runs.sample))

    def add(group, totals):
        rows = rows_of(group)
        return (
            add_columns(products(rows), totals[0]),
            add_columns(products(jnp.abs(rows)), totals[1]),
        )

    def add_complete(group, totals):
        return add_columns(products(rows_of(group)), totals)

    nothing = tuple(jnp.zeros(side.shape, jnp.float32) for side in weights)
    n_groups = jnp.int32(len(signs))
    if criterion.masked:
        agreement, compared = lax.fori_loop(jnp.int32(0), n_groups, add, (nothing, nothing))
    else:
        agreement = lax.fori_loop(jnp.int32(0), n_groups, add_complete, nothing)
        compared = tuple(
            product(n.astype(jnp.float32), w.astype(jnp.float32), zero) * criterion.n_signs
            for n, w in zip(classes, weights, strict=True)
        )
    return [
        jnp.clip((1 + a / jnp.maximum(c, 1.0)) / 2, 0.0, 1.0)
        for a, c in zip(agreement, compared, strict=True)
    ]


def described_shorter(
    low: Side, high: Side, whole: Side, unit: float, zero: Array
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
