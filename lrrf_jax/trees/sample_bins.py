"""The bins of drawn samples, laid out for looking at any feature of each.

What a level asks, "the bin of sample i in feature f_i", would be a gather a sample and candidate.
Where a row is short, arithmetic is cheaper: the samples' rows are fetched once a tree, four bins
a word, and each question selects among the words, for many samples an instruction.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._typing import Array, NDArray
from lrrf_jax._xla import fusion_barrier, take
from lrrf_jax.trees.growth import Draw, Samples

_BINS_PER_WORD = 4
_MOST_WORDS = 20  # beyond, a gather costs less


class SampleBins(NamedTuple):
    """Either words, or where to look."""

    words: tuple[Array, ...]  # int32 (n_drawn,) each, four bins a word; empty for long rows
    bin_index: Array  # uint8 (n_samples * n_features,), for long rows
    first: Array  # int32 (n_drawn,), of each sample's row in it


def pack_bins(
    bins: NDArray,  # uint8 (n_samples, n_features)
) -> NDArray:  # int32 (n_samples, n_words), or uint8 (n_samples * n_features,) for long rows
    """Bring bins to the form of `Samples.bin_index`; host side."""
    n_words = -(-bins.shape[1] // _BINS_PER_WORD)
    if n_words > _MOST_WORDS:
        return np.ascontiguousarray(bins).reshape(-1)
    padded = np.zeros((len(bins), _BINS_PER_WORD * n_words), np.uint8)
    padded[:, : bins.shape[1]] = bins
    return padded.view("<i4").astype(np.int32, copy=False)


def fetch_bins(samples: Samples, draw: Draw, n_features: int) -> SampleBins:
    """Lay out the bins of the samples that were drawn."""
    if samples.bin_index.ndim == 1:
        return SampleBins((), samples.bin_index, draw.row * n_features)
    words = fusion_barrier(samples.zero, take(samples.bin_index, draw.row))
    nothing = jnp.zeros(0, jnp.uint8)
    return SampleBins(tuple(words.T), nothing, jnp.zeros_like(draw.row))


def bin_of_feature(
    bins: SampleBins,
    feature: Array,  # int32 (n_drawn,)
) -> Array:  # int32 (n_drawn,)
    """Look up one bin a sample."""
    if not bins.words:
        return take(bins.bin_index, bins.first + feature).astype(jnp.int32)
    number, word = feature >> 2, bins.words[0]
    for k, other in enumerate(bins.words[1:], start=1):
        word = jnp.where(number == k, other, word)
    return word >> ((feature & 3) << 3) & 0xFF


def candidate_lookup(
    bins: SampleBins,
    slot: Array,  # int32 (n_drawn,), the node of each sample
    candidates: Array,  # int32 (n_nodes, n_candidates), features that a node may split on
    n_features: int,
    zero: Array,
) -> Callable[[Array], Array]:
    """Return the function from a candidate's number to the bin of each sample, int32 (n_drawn,)."""
    n_nodes, n_candidates = candidates.shape
    # A look-up costs more than arithmetic: as many features as fit share a word.
    bits = max(1, (n_features - 1).bit_length())
    per_word = min(31 // bits, n_candidates)
    shift = bits * jnp.arange(per_word, dtype=jnp.int32)
    padded = jnp.pad(candidates, ((0, 0), (0, -n_candidates % per_word)))
    packed = (padded.reshape(n_nodes, -1, per_word) << shift).sum(-1, dtype=jnp.int32)
    packed = fusion_barrier(zero, packed.T)
    words = fusion_barrier(zero, jnp.stack([take(word, slot) for word in packed]))

    def bins_of_candidate(k: Array) -> Array:
        word = words[0]
        if len(words) > 1:
            word = lax.dynamic_index_in_dim(words, k // per_word, keepdims=False)
        return bin_of_feature(bins, word >> bits * (k % per_word) & (2**bits - 1))

    return bins_of_candidate
