"""Several leaf values in a word of 32 bits, so that one addition sums them all."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._typing import Array, NDArray


def packed_words(n_trees: int, leaf_value: NDArray) -> int:
    """Count words per leaf: as many values per word as sums over the trees leave room for."""
    n_outputs: int = leaf_value.shape[1]
    if leaf_value.min() < 0:
        return n_outputs
    bits = max(1, (n_trees * int(leaf_value.max())).bit_length())
    return -(-n_outputs // max(1, 32 // bits))


def pack(
    values: NDArray,  # int32 (n_slots, n_outputs)
    n_words: int,
) -> NDArray:  # uint32 (n_slots, n_words)
    """Put the values of each leaf into its words; host side."""
    per_word, bits = _values_per_word(values.shape[1], n_words)
    padding = n_words * per_word - values.shape[1]
    parts = np.pad(values, ((0, 0), (0, padding))).astype(np.uint32).reshape(-1, n_words, per_word)
    shift = np.arange(per_word, dtype=np.uint32) * np.uint32(bits)
    words: NDArray = np.bitwise_or.reduce(parts << shift, axis=2)
    return words


def unpack(
    total: Array,  # uint32 (n_words, n_samples), sums of words
    n_outputs: int,
) -> Array:  # int32 (n_outputs, n_samples)
    """Take sums of words apart."""
    if len(total) == n_outputs:
        return lax.bitcast_convert_type(total, jnp.int32)
    per_word, bits = _values_per_word(n_outputs, len(total))
    parts = [total >> bits * k & jnp.uint32(2**bits - 1) for k in range(per_word)]
    return jnp.stack(parts, axis=1).reshape(-1, total.shape[1])[:n_outputs].astype(jnp.int32)


def _values_per_word(n_outputs: int, n_words: int) -> tuple[int, int]:
    """Return how many values share a word, and the bits of each."""
    per_word = -(-n_outputs // n_words)
    return per_word, 32 // per_word
