"""What chance decides in a tree: the rows that it draws, its candidate features, its thresholds.

Tree ``i`` depends on the key, ``i`` and the table alone, so the trees that it is grown with
cannot change it.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._numerics import running_sum
from lrrf_jax._threefry import derive_keys, key_of, random_words, uniform_of, words_at
from lrrf_jax._typing import AnyArray, Array, NDArray
from lrrf_jax._xla import add_at, fusion_barrier, place_at, take
from lrrf_jax.trees.growth import Candidates, Drawn, GrowthConfig, Samples


class TreeKeys(NamedTuple):
    """What the draws of some trees come from."""

    rows: AnyArray  # uint32 (n_trees, 2)
    candidates: AnyArray  # uint32 (n_trees, 2)
    thresholds: AnyArray  # uint32 (n_trees, 2)


def keys_of_trees(key: Array, trees: NDArray) -> TreeKeys:
    """Derive the keys of the trees of these numbers, int32 (n_trees,); host side."""
    tree = derive_keys(key_of(key), trees)
    first, second = np.zeros_like(trees), np.ones_like(trees)
    growth = derive_keys(tree, second)
    return TreeKeys(
        rows=derive_keys(tree, first),
        candidates=derive_keys(growth, first),
        thresholds=derive_keys(growth, second),
    )


def row_counts(
    key: Array,  # uint32 (n_trees, 2), `TreeKeys.rows`
    n_samples: Array,  # int32 ()
    n_rows: int,  # n_samples and padding
    bootstrap: bool,
) -> Array:  # int32 (n_trees, n_rows)
    """How often each tree draws each row: what its growth sees."""
    real = (jnp.arange(n_rows, dtype=jnp.int32) < n_samples).astype(jnp.int32)
    real = jnp.broadcast_to(real, (len(key), n_rows))
    if not bootstrap:
        return real
    words = random_words(key, n_rows)
    drawn = _high_word(words, n_samples.astype(jnp.uint32)).astype(jnp.int32)
    # One flat table: XLA:CPU adds to that at the speed of a C loop, and not to a matrix.
    first = n_rows * jnp.arange(len(words), dtype=jnp.int32)[:, None]
    counts = jnp.zeros(drawn.size, jnp.int32)
    return add_at(counts, (first + drawn).reshape(-1), real.reshape(-1)).reshape(drawn.shape)


def _high_word(a: Array, b: Array) -> Array:  # uint32
    """Upper half of the 64-bit product: ``a`` uniform over 32 bits gives 0 .. b - 1.

    One random word per draw. No row is favoured by more than n_samples / 2**32.
    """
    half: Array = jnp.uint32(0xFFFF)
    a_low, a_high, b_low, b_high = a & half, a >> 16, b & half, b >> 16
    cross = a_high * b_low + (a_low * b_low >> 16)
    return a_high * b_high + (cross >> 16) + ((a_low * b_high + (cross & half)) >> 16)


def drawn_capacity(n_rows: int, bootstrap: bool) -> int:
    """Room for the distinct rows of a bootstrap: eight standard deviations above their mean."""
    if not bootstrap:
        return n_rows
    return min(n_rows, math.ceil(0.63213 * n_rows + 8 * math.sqrt(0.0973 * n_rows)) + 8)


def draw_samples(
    key: Array,  # uint32 (n_trees, 2), `TreeKeys.rows`
    exists: Array,  # bool (n_trees,), trees that draw anything
    samples: Samples,
    config: GrowthConfig,
) -> Drawn:
    """Draw the rows of some trees; each starts at the place of its root, the number of its tree."""
    n_trees, n_rows = len(exists), samples.weight.shape[0]
    capacity = drawn_capacity(n_rows, config.bootstrap)
    counts = row_counts(key, samples.n_samples, n_rows, config.bootstrap)
    is_drawn = ((counts > 0) & exists[:, None]).astype(jnp.int32)
    # Rows that are drawn go to the front of their tree's places, in order.
    place = fusion_barrier(running_sum(is_drawn) - is_drawn)
    tree = jnp.arange(n_trees, dtype=jnp.int32)[:, None]
    place = jnp.where(is_drawn > 0, place + capacity * tree, capacity * n_trees).reshape(-1)
    row = jnp.broadcast_to(jnp.arange(n_rows, dtype=jnp.int32), counts.shape).reshape(-1)
    row, copies = (place_at(n_trees * capacity, place, a) for a in (row, counts.reshape(-1)))
    at, weight = jnp.repeat(tree[:, 0], capacity), take(samples.weight, row) * copies
    drawn = Drawn(row, at, copies, weight, label=jnp.zeros(0, jnp.int32))
    return drawn._replace(label=config.criterion.start(drawn, samples))


def draw_candidates(
    keys: TreeKeys,
    node: Array,  # int32 (n,), breadth first, in trees of ``config.max_depth``
    config: GrowthConfig,
) -> Candidates:  # fields (n, n_candidates)
    """Draw for some nodes, of the trees of these keys, fields (n, 2)."""
    n_nodes, n_candidates = 2**config.max_depth - 1, config.n_candidates
    each = jnp.arange(n_candidates, dtype=jnp.int32)
    if n_candidates == config.n_features:
        feature = jnp.broadcast_to(each, (len(node), n_candidates))
    else:
        words = words_at(keys.candidates, n_nodes * each[:, None] + node)
        feature = choose_features(words, config.n_features)
    if config.splitter != "random":
        return Candidates(feature, None)
    words = words_at(keys.thresholds[:, None], n_candidates * node[:, None] + each)
    return Candidates(feature, uniform_of(words))


def draw_for_all_nodes(keys: TreeKeys, config: GrowthConfig) -> Candidates:
    """Draw for every node of trees that grow full; fields (n_trees * n_nodes, n_candidates)."""
    n_trees, n_nodes = len(keys.candidates), 2**config.max_depth - 1
    node = jnp.tile(jnp.arange(n_nodes, dtype=jnp.int32), n_trees)
    of_node = jax.tree.map(lambda field: jnp.repeat(field, n_nodes, axis=0), keys)
    return draw_candidates(of_node, node, config)


def choose_features(
    words: Array,  # uint32 (n_candidates, n_nodes)
    n_features: int,
) -> Array:  # int32 (n_nodes, n_candidates)
    """Draw each node's candidate features, without replacement.

    Floyd's sampling: the k-th draw is among the first features up to the k-th from the end, or
    that last one where it is taken already. A sort of all features would cost more than a level
    of growth.
    """
    n_candidates = len(words)

    def draw(k: Array, chosen: Array) -> Array:
        last = n_features - n_candidates + k
        drawn = (words[k] % (last + 1).astype(jnp.uint32)).astype(jnp.int32)
        drawn = jnp.where((chosen == drawn).any(0), last, drawn)
        return chosen.at[k].set(drawn)

    chosen: Array = jnp.full(words.shape, -1, jnp.int32)
    chosen = lax.fori_loop(jnp.int32(0), jnp.int32(n_candidates), draw, chosen)
    return chosen.T
