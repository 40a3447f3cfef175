"""Entropy of the classes on both sides of every threshold, along the sorted samples of a node.

A sample that meets ``c`` others of its class there adds ``f(c + 1) - f(c)`` to a sum over classes
of ``f(count)``, and 1 to the number of distinct classes where ``c`` is 0.

:class:`SimilarityEntropy` (EDiRa of de Sa et al. 2017) weighs the entropy by how much the classes
of a side agree, and accepts a split by Fayyad and Irani's description length.
"""

import math
from typing import NamedTuple

import jax.numpy as jnp

from lrrf_jax._typing import Array
from lrrf_jax._xla import fusion_barrier, take
from lrrf_jax.trees.criterion import SimilarityEntropy, SparseClassEntropy, log2_of, product, xlog2x
from lrrf_jax.trees.growth import GrowthConfig
from lrrf_jax.trees.level_slots import Drawn
from lrrf_jax.trees.likeness import Signs, agreements, cells_along
from lrrf_jax.trees.sorted_runs import Runs

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
    signs: Signs | None,
    value: Array,  # int32 (n_drawn,), bins, of sorted samples
    tables: tuple[Array, ...],  # see `empty_tables`
    drawn: Drawn,
    config: GrowthConfig,
    zero: Array,
) -> tuple[tuple[Array, ...], tuple[Side, Side, Side]]:  # (n_drawn,), (n_drawn,), (n_slots,)
    """Sum up to each place, after it, and over the whole slot; the tables, all 0 again."""
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
        n_slots = len(whole_weight)
        cells, cell = cells_along(runs.sample, runs.slot, value, n_slots, zero)
        tables, sides = agreements(tables, signs, cells, is_first, is_last, weight, zero)
        there = [jnp.stack([take(kind, cell) for kind in side]) for side in sides]
        there.append(signs.whole[:, :n_slots])
        for k, (kinds, n, w) in enumerate(zip(there, classes, weights, strict=True)):
            everything = product(n.astype(jnp.float32), w.astype(jnp.float32), zero)
            compared = kinds[1] if criterion.masked else everything * criterion.n_signs
            alike = jnp.clip((1 + kinds[0] / jnp.maximum(compared, 1.0)) / 2, 0.0, 1.0)
            # Both logarithms natural, as in the source.
            log = log2_of(jnp.maximum(alike, 1e-10), zero)
            scores[k] = product(scores[k], -_LN2 * _LN2 * log, zero)
    counts = low_count, all_count - low_count, whole_count
    low, high, whole = (Side(*side) for side in zip(scores, classes, counts, weights, strict=True))
    return tables, (low, high, whole)


def described_shorter(low: Side, high: Side, whole: Side, zero: Array) -> Array:  # bool
    """Fayyad and Irani's test: whether the gain pays for the description of the split."""
    number = jnp.maximum(whole.n_samples.astype(jnp.float32), 1.0)

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
