"""Entropy of the classes on both sides of every threshold, along the sorted samples of a node.

A sample that meets ``c`` others of its class there adds ``f(c + 1) - f(c)`` to a sum over classes
of ``f(count)``, and 1 to the number of distinct classes where ``c`` is 0.

:class:`SimilarityEntropy` (EDiRa of de Sa et al. 2017) weighs the entropy by how much the classes
of a side agree, and accepts a split by Fayyad and Irani's description length.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from lrrf_jax._typing import Array
from lrrf_jax.trees.criterion import SimilarityEntropy, SparseClassEntropy, log2_of, product, xlog2x
from lrrf_jax.trees.growth import GrowthConfig
from lrrf_jax.trees.level_slots import Drawn
from lrrf_jax.trees.sorted_runs import Runs
from lrrf_jax.trees.xla import fusion_barrier

_LN2 = math.log(2.0)
_TABLED_CLASSES = 32


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
    signs: Array | None,
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
            runs, signs, is_first, is_last, weights, classes, weight, criterion.masked, zero
        )
        # Both logarithms natural, as in the source.
        scores = [
            product(score, -_LN2 * _LN2 * log2_of(jnp.maximum(share, 1e-10), zero), zero)
            for score, share in zip(scores, alike, strict=True)
        ]
    counts = low_count, all_count - low_count, whole_count
    low, high, whole = (Side(*side) for side in zip(scores, classes, counts, weights, strict=True))
    return low, high, whole


def _alikeness(
    runs: Runs,
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
