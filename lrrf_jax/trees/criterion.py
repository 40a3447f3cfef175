"""What growth optimises: an additive statistic per sample, and an impurity of its sums.

A criterion knows nothing of rankings. It sees integers per sample, sums them with integer
weights (exact, in any order, on any device), and turns sums into the *purity score* of a group:
minus its impurity times its weight, up to a constant of the node, so that the best split has the
largest sum of its children's scores.

``ClassEntropy``        one class a sample; Shannon entropy in bits, dense class counts
``SparseClassEntropy``  the same for many classes, counted only where a node holds them
``Variance``            a vector a sample; variance summed over its components, masked if asked
"""

import dataclasses

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


def xlog2x(
    counts: Array,  # integers, not negative
    zero: Array,
) -> Array:  # float32
    """``x log2 x`` of counts, 0 at 0, from the exponent bits and a polynomial of the mantissa.

    The error of the logarithm is below 1e-5 and none at powers of two; ``jnp.log2`` is slower,
    and its last bits differ between devices.
    """
    number = counts.astype(jnp.float32)
    bits = lax.bitcast_convert_type(jnp.maximum(number, 1.0), jnp.int32)
    mantissa = lax.bitcast_convert_type(bits & 0x7FFFFF | 0x3F800000, jnp.float32) - 1.0
    log = jnp.zeros_like(mantissa)
    for coefficient in _LOG2_COEFFICIENTS:
        log = product(mantissa, coefficient + log, zero)
    return product(number, ((bits >> 23) - 127).astype(jnp.float32) + log, zero)


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


def _sum_terms(n_terms: int, term, shape: tuple[int, ...]) -> Array:
    """Sum ``term(k)``, each float32 of ``shape``, for k in 0..n_terms-1.

    A loop rather than a reduction over an axis, so that XLA:CPU vectorises over the lanes; in
    blocks, so that many labels do not make a long program.
    """
    total = jnp.zeros(shape, jnp.float32)
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
        terms = _sum_terms(self.n_classes, lambda k: xlog2x(_at(counts, k), zero), shape)
        return terms - xlog2x(counts.sum(-2, dtype=counts.dtype), zero)


@dataclasses.dataclass(frozen=True)
class SparseClassEntropy:
    """:class:`ClassEntropy` of one stage for many classes.

    A class is counted only in the nodes that hold it: each (node, class) pair that exists has
    one *group*, and there are never more of them than samples.
    """

    n_classes: int
    separate_count: bool = False


@dataclasses.dataclass(frozen=True)
class Variance:
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
    def n_stats(self) -> int:
        """Rows of the sums: values, observations (or the weight of all), then the count."""
        return self.n_values + self._n_observed + (self.masked or self.separate_count)

    @property
    def _n_observed(self) -> int:
        return self.n_values if self.masked else 1

    def count(self, sums: Array) -> Array:
        """Count the samples in a group, for the least sizes of nodes and leaves."""
        return sums[..., -1, :]

    def score(self, sums: Array, zero: Array) -> Array:
        """Sum of (sum of values)^2 / observations; int32 (..., n_stats, n_lanes) -> float32."""
        observed = sums[..., self.n_values : self.n_values + self._n_observed, :]

        def term(k):
            value = _at(sums, k).astype(jnp.float32)
            if self.masked:
                mean = value / jnp.maximum(_at(observed, k), 1).astype(jnp.float32)
                return product(value, mean, zero)
            return product(value, value, zero)

        total = _sum_terms(self.n_values, term, (*sums.shape[:-2], sums.shape[-1]))
        if self.masked:
            return total
        return total / jnp.maximum(_at(observed, 0), 1).astype(jnp.float32)


Criterion = ClassEntropy | SparseClassEntropy | Variance
