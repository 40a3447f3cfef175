"""Random words by counters: Threefry 2x32 with 20 rounds (Salmon et al. 2011), for many keys.

Word ``i`` of a key depends on the key and ``i`` alone. These are the words, and the ways to derive
keys, of ``jax.random`` for "threefry2x32" where ``jax_threefry_partitionable`` is on; here no
setting changes them, and a program is compiled in less time.

A key is two words, uint32 (..., 2). Keys are derived on the host, where that costs nothing.
"""

from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from lrrf_jax._typing import Array, NDArray

_ROTATIONS = (13, 15, 26, 6), (17, 29, 16, 24)
_PARITY = np.uint32(0x1BD11BDA)
_N_GROUPS = 5  # of four rounds


def key_of(key: Array) -> NDArray:  # uint32 (2,)
    """Words of a key of ``jax.random``, which must be of the kind "threefry2x32"."""
    kind = str(jax.random.key_impl(key))
    if kind != "threefry2x32":
        raise ValueError(f"key must be of the kind 'threefry2x32', not {kind!r}.")
    return np.asarray(jax.random.key_data(key))


def key_from_seed(seed: int) -> Array:
    """Make the key that ``jax.random.key`` makes of 0 .. 2**32 - 1, which would compile for it."""
    words = np.array([0, seed], np.uint32)
    return cast(Array, jax.random.wrap_key_data(words, impl="threefry2x32"))  # type: ignore[arg-type]


def derive_keys(key: NDArray, number: NDArray) -> NDArray:  # uint32 (n, 2)
    """Derive the key of each number, int32 (n,), from the one key, (2,), or its own, (n, 2)."""
    counter = number.astype(np.uint32)
    first, second = (np.broadcast_to(key[..., word], counter.shape) for word in (0, 1))
    return np.stack(_hash(first, second, counter), axis=-1)


def first_word(key: Array) -> int:
    """Draw what ``jax.random.bits`` draws of a key, 0 .. 2**32 - 1, on the host."""
    one, other = derive_keys(key_of(key), np.zeros(1, np.int32))[0]
    return int(one ^ other)


def words_at(key: Array, number: Array) -> Array:  # uint32
    """Draw the words of these numbers of the keys, uint32 (..., 2); leading axes are broadcast."""
    first, second = _hash(key[..., 0], key[..., 1], number.astype(jnp.uint32))
    words: Array = first ^ second
    return words


def uniform_of(words: Array) -> Array:  # float32, 0 <= u < 1
    """Make floats of random words, of their upper 23 bits."""
    bits_of_one = jnp.uint32(0x3F800000)
    return jax.lax.bitcast_convert_type(words >> 9 | bits_of_one, jnp.float32) - 1


def _hash(first: Any, second: Any, counter: Any) -> tuple[Any, Any]:
    """Encrypt the words 0 and ``counter`` by a key; arrays of NumPy or of JAX."""
    parts = first, second, first ^ second ^ _PARITY
    second = second + counter
    for group in range(_N_GROUPS):
        for shift in _ROTATIONS[group % 2]:
            first = first + second
            second = first ^ (second << shift | second >> (32 - shift))
        first = first + parts[(group + 1) % 3]
        second = second + (parts[(group + 2) % 3] + np.uint32(group + 1))
    return first, second
