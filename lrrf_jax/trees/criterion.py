"""What growth optimises: an additive statistic per sample, and an impurity of its sums.

A criterion knows nothing of rankings. It sees integers per sample, sums them with integer
weights (exact, in any order, on any device), and turns sums into the *purity score* of a group:
minus its impurity times its weight, up to a constant of the node, so that the best split has the
largest sum of its children's scores.

``ClassEntropy``        one class a sample; Shannon entropy in bits, dense class counts
``SparseClassEntropy``  the same for many classes, counted only where a node holds them
``SimilarityEntropy``   that, times the logarithm of how alike the classes are
``Variance``            a vector a sample; variance summed over its components, masked if asked

Those of votes on pairs are in :mod:`lrrf_jax.trees.pair_criterion`.
"""

import abc
import dataclasses
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import lax

from lrrf_jax._typing import Array

DENSE_CLASSES = 64  # more classes than this are counted sparsely


def product(a: Array, b: Array, zero: Array) -> Array:  # float32
    """Multiply, and round before anything is added.

    Compilers contract a product and a sum into one operation that rounds once, in some loops
    and not in others: a score would depend on the device and on how nodes are grouped. They
    cannot see through an exclusive or with ``zero`` (int32, 0 at run time only).
    """
    bits = lax.bitcast_convert_type(a * b, jnp.int32) ^ zero
    return lax.bitcast_convert_type(bits, jnp.float32)


def log2_of(
    number: Array,  # float32, positive and normal
    zero: Array,
) -> Array:  # float32
    """Logarithm from the exponent bits and a polynomial of the mantissa.

    The error is below 1e-5, and none at powers of two; ``jnp.log2`` is slower, and its last bits
    differ between devices.
    """
    bits = lax.bitcast_convert_type(number, jnp.int32)
    mantissa = lax.bitcast_convert_type(bits & 0x7FFFFF | 0x3F800000, jnp.float32) - 1.0
    log = jnp.zeros_like(mantissa)
    for coefficient in _LOG2_COEFFICIENTS:
        log = product(mantissa, coefficient + log, zero)
    return ((bits >> 23) - 127).astype(jnp.float32) + log


def xlog2x(
    counts: Array,  # integers, not negative
    zero: Array,
) -> Array:  # float32
    """``x log2 x`` of counts, 0 at 0."""
    number = counts.astype(jnp.float32)
    return product(number, log2_of(jnp.maximum(number, 1.0), zero), zero)


# log2(1 + y) ~ y (c6 + y (c5 + ...)): least-maximum fit on [0, 1) that is exact at both ends.
_LOG2_COEFFICIENTS = (
    -0.02584144982967,
    0.121797910687826,
    -0.27790423602866,
    0.45754919692582,
    -0.7181452567504,
    1.44254494359510,
)


_UNROLLED_TERMS = 8


def _at(sums: Array, index: int | Array) -> Array:
    if isinstance(index, int):
        return sums[..., index, :]
    return lax.dynamic_index_in_dim(sums, index, axis=sums.ndim - 2, keepdims=False)


def sum_terms(
    n_terms: int,
    term: Callable[[Any], Array],  # of an int, or of an int32 () in a loop
    shape: tuple[int, ...],
    dtype: Any = jnp.float32,
) -> Array:
    """Sum ``term(k)``, each of ``shape`` and ``dtype``, for k in 0..n_terms-1.

    A loop rather than a reduction over an axis, so that XLA:CPU vectorises over the lanes; in
    blocks, so that many labels do not make a long program.
    """
    total = jnp.zeros(shape, dtype)
    n_blocks = n_terms // _UNROLLED_TERMS if n_terms > 2 * _UNROLLED_TERMS else 0

    def add_block(block, total):
        for k in range(_UNROLLED_TERMS):
            total = total + term(block * _UNROLLED_TERMS + k)
        return total

    if n_blocks:
        total = lax.fori_loop(jnp.int32(0), jnp.int32(n_blocks), add_block, total)
    for k in range(n_blocks * _UNROLLED_TERMS, n_terms):
        total = total + term(k)
    return total


@dataclasses.dataclass(frozen=True)
class ClassEntropy:
    """Entropy of a class, weighted by the samples that have one.

    Samples come as int32 (n_samples, n_stages) class numbers, -1 = none. A node whose samples
    agree in one stage goes on to the next; in the last it is pure.
    """

    n_classes: int
    n_stages: int = 1
    separate_count: bool = False  # sums carry the number of samples apart from their weight

    @property
    def n_stats(self) -> int:
        """Rows of the sums: a weight for each class, then the count where it is kept."""
        return self.n_classes + self.separate_count

    def count(self, sums: Array) -> Array:
        """Count the samples in a group, for the least sizes of nodes and leaves."""
        return sums[..., -1, :] if self.separate_count else sums.sum(-2, dtype=sums.dtype)

    def score(self, sums: Array, zero: Array) -> Array:
        """Minus entropy in bits, times weight; sums int32 (..., n_stats, n_lanes) -> float32."""
        counts = sums[..., : self.n_classes, :]
        shape = (*sums.shape[:-2], sums.shape[-1])
        terms = sum_terms(self.n_classes, lambda k: xlog2x(_at(counts, k), zero), shape)
        return terms - xlog2x(counts.sum(-2, dtype=counts.dtype), zero)


@dataclasses.dataclass(frozen=True)
class SparseClassEntropy:
    """:class:`ClassEntropy` of one stage for many classes.

    A class is counted only in the nodes that hold it: each (node, class) pair that exists has
    one *group*, and there are never more of them than samples. ``n log2 n`` of counts is summed
    as multiples of ``2**-scale_bits``.
    """

    n_classes: int
    scale_bits: int = 10


@dataclasses.dataclass(frozen=True)
class SimilarityEntropy(SparseClassEntropy):
    """Entropy of the classes times minus the logarithm of how alike samples and classes are.

    Samples come as int32 (n_samples, 1 + n_signs): a class, and the signs, -1, 0 or 1, that all
    samples of the class have. Alike is (1 + mean of the products of the signs) / 2, over every
    distinct class and every sample of the node; with ``masked`` zeros are left out of the mean.
    Splits have to pass the description-length test of Fayyad and Irani (1993), which counts the
    distinct classes, and samples whatever their weight.
    """

    n_signs: int = 0
    masked: bool = False


class VectorCriterion(abc.ABC):
    """A criterion whose samples are vectors of integers, summed component by component.

    The sums have a row for each column of a sample, then, where ``weight_row``, their weight,
    and where ``count_row``, their number.
    """

    separate_count: bool
    masked: bool
    weight_row: bool
    signs: bool  # opposite signs in the leading `n_signs` columns are all disagreement there is

    @property
    @abc.abstractmethod
    def n_columns(self) -> int:
        """Columns of a sample."""

    @property
    @abc.abstractmethod
    def n_signs(self) -> int:
        """Leading columns of which opposite signs mean disagreement."""

    @abc.abstractmethod
    def score(self, sums: Array, zero: Array) -> Array:
        """Purity score of groups; sums int32 (..., n_stats, n_lanes) -> float32."""

    @property
    def count_row(self) -> bool:
        """Whether the number of samples is kept apart from their weight."""
        return self.separate_count or not self.weight_row

    @property
    def n_stats(self) -> int:
        """Rows of the sums."""
        return self.n_columns + self.weight_row + self.count_row

    def at(self, sums: Array, index: int | Array) -> Array:
        """One row of the sums, which may be kept as int16; int32 (..., n_lanes)."""
        return _at(sums, index).astype(jnp.int32)

    def count(self, sums: Array) -> Array:
        """Count the samples in a group, for the least sizes of nodes and leaves."""
        return self.at(sums, self.n_stats - 1)

    def weight(self, sums: Array) -> Array:
        """Weigh the samples in a group."""
        return self.at(sums, self.n_columns) if self.weight_row else self.count(sums)

    def mean_weight(self, sums: Array) -> Array | float:
        """Divide weight by number, float32 (..., n_lanes); 1 where samples have no weights."""
        if not self.separate_count:
            return 1.0
        count = jnp.maximum(self.count(sums), 1).astype(jnp.float32)
        return self.weight(sums).astype(jnp.float32) / count

    def accepts(self, score: Array, parent_score: Array, weight: Array) -> Array | None:
        """Whether the best split of each node is to be made; ``None``: always."""
        return None


@dataclasses.dataclass(frozen=True)
class Variance(VectorCriterion):
    """Variance of a vector, summed over its components.

    Samples come as int32 (n_samples, n_values) vectors. With ``masked`` each component has its
    own number of observations, and a sample that lacks it counts neither way; a sample is then
    (n_samples, 2 n_values): values, 0 where missing, and 0/1 marks of the observed ones.
    """

    n_values: int
    masked: bool = False
    separate_count: bool = False
    # Values are -1, 0 or 1, so that full agreement shows in the sums alone.
    signs: bool = False

    @property
    def weight_row(self) -> bool:  # type: ignore[override]
        """Whether all components have the same observations."""
        return not self.masked

    @property
    def n_columns(self) -> int:
        """Columns of a sample."""
        return self.n_values * (1 + self.masked)

    @property
    def n_signs(self) -> int:
        """Leading columns of which opposite signs mean disagreement."""
        return self.n_values

    def score(self, sums: Array, zero: Array) -> Array:
        """Sum of (sum of values)^2 / observations; int32 (..., n_stats, n_lanes) -> float32."""

        def term(k):
            value = self.at(sums, k).astype(jnp.float32)
            if self.masked:
                observed = jnp.maximum(self.at(sums, self.n_values + k), 1).astype(jnp.float32)
                return product(value, value / observed, zero)
            return product(value, value, zero)

        total = sum_terms(self.n_values, term, (*sums.shape[:-2], sums.shape[-1]))
        if self.masked:
            return total
        return total / jnp.maximum(self.weight(sums), 1).astype(jnp.float32)


Criterion = ClassEntropy | SparseClassEntropy | VectorCriterion
