"""Criteria of samples that are votes on pairs of items: how far the votes of a node agree.

A vote says -1, 0 (nothing) or 1 for each pair (a, b) of items, a < b, in lexicographic order; 1
means that a comes first. Like all criteria these know nothing of rankings.
"""

import dataclasses
import itertools

import jax.numpy as jnp
from jax import lax

from lrrf_jax._numerics import product, quotient, sum_terms
from lrrf_jax._typing import Array
from lrrf_jax.trees.vector_criterion import VectorCriterion

# Curves are tabulated in logarithmic steps, 64 per octave, down to shares of 2**-20.
CURVE_OCTAVES = 20
CURVE_STEPS = 64
_SHIFT = 23 - (CURVE_STEPS.bit_length() - 1)
_FIRST_STEP = (127 - CURVE_OCTAVES) << (23 - _SHIFT)


def curve_shares() -> list[float]:
    """Shares at which a curve is tabulated, rising, the last 1."""
    octaves = range(-CURVE_OCTAVES, 0)
    steps = [2.0**k * (1 + j / CURVE_STEPS) for k in octaves for j in range(CURVE_STEPS)]
    return [*steps, 1.0]


def read_curve(
    curve: tuple[float, ...],  # one value for each of `curve_shares`
    share: Array,  # float32 (...), in [0, 1]
) -> Array:  # float32 (...)
    """Interpolate a tabulated curve; shares below the first are taken for it, none (0) for 0."""
    table = jnp.asarray(curve, jnp.float32)
    bits = lax.bitcast_convert_type(share, jnp.int32)
    step = jnp.clip((bits >> _SHIFT) - _FIRST_STEP, 0, len(curve) - 2)
    rest = (bits & (1 << _SHIFT) - 1).astype(jnp.float32) * (2.0**-_SHIFT)
    rest = jnp.where(share >= 1, 1.0, jnp.where(share < 2.0**-CURVE_OCTAVES, 0.0, rest))
    low, high = table.at[step].get(mode="clip"), table.at[step + 1].get(mode="clip")
    return jnp.where(share > 0, low + product(high - low, rest), 0.0)


@dataclasses.dataclass(frozen=True)
class Disagreement(VectorCriterion):
    """A curve of the share of votes that contradict the node's order of the items.

    The order is by net wins, the lower item first on a tie. Samples come as int32
    (n_samples, n_values): votes on the n_items (n_items - 1) / 2 pairs, then each item's net
    wins, then, with ``masked``, the number of pairs that are voted on.
    """

    n_items: int
    curve: tuple[float, ...]  # cost at each of `curve_shares`; 0 without any contradiction
    masked: bool = False
    separate_count: bool = False
    # No share is taken for less than half a contradiction in all, by a sample of mean weight.
    at_least_half: bool = False
    weight_row = True

    @property
    def n_pairs(self) -> int:
        """Pairs of items."""
        return self.n_items * (self.n_items - 1) // 2

    @property
    def n_columns(self) -> int:
        """Columns of a sample."""
        return self.n_pairs + self.n_items + self.masked

    @property
    def n_signs(self) -> int:
        """Columns of votes."""
        return self.n_pairs

    def score(self, sums: Array) -> Array:
        """Minus the curve, times weight; int32 (..., n_stats, n_lanes) -> float32."""
        weight = self.weight(sums)
        pairs = list(itertools.combinations(range(self.n_items), 2))
        first, second = (jnp.asarray(items, jnp.int32) for items in zip(*pairs, strict=True))

        def agreeing(k: int | Array) -> Array:  # votes for the node's order, less those against it
            a, b = pairs[k] if isinstance(k, int) else (first[k], second[k])
            in_order = self.item_wins(sums, a) >= self.item_wins(sums, b)
            votes = self.at(sums, k)
            return jnp.where(in_order, votes, -votes)

        agreement = sum_terms(self.n_pairs, agreeing, weight.shape, jnp.int32)
        voted = self.at(sums, self.n_columns - 1) if self.masked else self.n_pairs * weight
        against = (voted - agreement).astype(jnp.float32)  # twice the contradictions
        if self.at_least_half:
            against = jnp.maximum(against, self.mean_weight(sums))
        share = quotient(against, jnp.maximum(2 * voted.astype(jnp.float32), 1.0))
        cost = read_curve(self.curve, jnp.clip(share, 0.0, 1.0))
        return -product(weight.astype(jnp.float32), cost)

    def item_wins(self, sums: Array, item: int | Array) -> Array:
        """Net wins of an item."""
        return self.at(sums, self.n_pairs + item)


@dataclasses.dataclass(frozen=True)
class MeanSimilarity(VectorCriterion):
    """Mean share of agreement, -1 .. 1, between two different samples of a node.

    Samples come as int32 (n_samples, n_pairs) votes; with ``masked`` followed by 0/1 marks of
    the pairs that are voted on: then agreements are counted over what both of two samples vote on.
    With weights, what a sample has in common with itself is taken off as if all in a node weighed
    the same.
    """

    n_pairs: int
    patience: float  # a split is made where patience (1 + children's) > 1 + parent's
    masked: bool = False
    separate_count: bool = False
    weight_row = True

    @property
    def n_columns(self) -> int:
        """Columns of a sample."""
        return self.n_pairs * (1 + self.masked)

    @property
    def n_signs(self) -> int:
        """Columns of votes."""
        return self.n_pairs

    def score(self, sums: Array) -> Array:
        """Mean similarity, times weight; int32 (..., n_stats, n_lanes) -> float32."""
        weight = self.weight(sums).astype(jnp.float32)
        one = self.mean_weight(sums)

        def square(k: int | Array) -> Array:
            votes = self.at(sums, k).astype(jnp.float32)
            return product(votes, votes)

        def seen(k: int | Array) -> Array:
            return self.at(sums, self.n_pairs + k).astype(jnp.float32)

        def both_seen(k: int | Array) -> Array:
            return product(seen(k), jnp.maximum(seen(k) - one, 0.0))

        # Each ordered pair of samples agrees or not on each pair of items: S^2 = agreements less
        # contradictions, of which every sample has one with itself.
        total = sum_terms(self.n_pairs, square, weight.shape)
        if self.masked:
            itself = sum_terms(self.n_pairs, seen, weight.shape)
            chances = sum_terms(self.n_pairs, both_seen, weight.shape)
        else:
            itself = product(jnp.float32(self.n_pairs), weight)
            chances = product(itself, jnp.maximum(weight - one, 0.0))
        if self.separate_count:
            itself = product(itself, jnp.asarray(one, jnp.float32))
        mean = quotient(total - itself, jnp.maximum(chances, 1.0))
        return product(weight, jnp.where(chances > 0, mean, 0.0))

    def accepts(self, score: Array, parent_score: Array, total: Array) -> Array:
        """Whether the children of a split agree enough better than their parent did."""
        weight = jnp.maximum(self.weight(total), 1).astype(jnp.float32)
        own, above = quotient(score, weight), quotient(parent_score, weight)
        return self.patience * (1 + own) > 1 + above
