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
from lrrf_jax._threefry import derive_keys, key_of, uniform_of, words_at
from lrrf_jax._typing import AnyArray, Array, NDArray
from lrrf_jax._xla import add_at, fusion_barrier, place_at, take
from lrrf_jax.trees.growth import Candidates, Drawn, GrowthConfig, Samples, Sizes


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


class Counted(NamedTuple):
    """How often trees draw rows: those of the first tree, then those of the second, and so on."""

    tree: Array  # int32 (n_draws,)
    row: Array  # int32 (n_draws,)
    copies: Array  # int32 (n_draws,)


def count_rows(
    key: Array,  # uint32 (n_trees, 2), `TreeKeys.rows`
    n_samples: Array,  # int32 ()
    n_draws: int,  # room, at least n_samples times the trees that draw
    bootstrap: bool,
) -> Counted:
    """Count how often each tree draws each row: what its growth sees."""
    number = jnp.arange(n_draws, dtype=jnp.int32)
    tree, row = jnp.zeros_like(number), number
    if len(key) > 1:
        tree, row = number // n_samples, number % n_samples
    real = (number < len(key) * n_samples).astype(jnp.int32)
    tree = jnp.minimum(tree, len(key) - 1)
    if not bootstrap:
        return Counted(tree, row, real)
    words = words_at(take(key, tree) if len(key) > 1 else key[0], row)
    drawn = _high_word(words, n_samples.astype(jnp.uint32)).astype(jnp.int32)
    cell = jnp.where(real > 0, number - row + drawn, 0)
    # One flat table: XLA:CPU adds to that at the speed of a C loop, and not to a matrix.
    return Counted(tree, row, add_at(jnp.zeros_like(number), cell, real))


def _high_word(a: Array, b: Array) -> Array:  # uint32
    """Upper half of the 64-bit product: ``a`` uniform over 32 bits gives 0 .. b - 1.

    One random word per draw. No row is favoured by more than n_samples / 2**32.
    """
    half: Array = jnp.uint32(0xFFFF)
    a_low, a_high, b_low, b_high = a & half, a >> 16, b & half, b >> 16
    cross = a_high * b_low + (a_low * b_low >> 16)
    return a_high * b_high + (cross >> 16) + ((a_low * b_high + (cross & half)) >> 16)


def drawn_capacity(n_draws: int, bootstrap: bool) -> int:
    """Room for the distinct rows of bootstraps: eight standard deviations above their mean.

    Of as many draws in all, by one tree or by several; these have a fifth of a row each on top.
    """
    if not bootstrap:
        return n_draws
    return min(n_draws, math.ceil(0.63213 * n_draws + 8 * math.sqrt(0.0973 * n_draws)) + 16)


def draw_samples(
    key: Array,  # uint32 (n_trees, 2), `TreeKeys.rows`
    exists: Array,  # bool (n_trees,), trees that draw anything
    samples: Samples,
    config: GrowthConfig,
) -> Drawn:
    """Draw the rows of some trees; each starts at the place of its root, the number of its tree.

    Rows that are drawn come one after another, tree after tree, and what room is left after them.
    """
    n_draws = config.n_draws or len(exists) * len(samples.weight)
    capacity = drawn_capacity(n_draws, config.bootstrap)
    counted = count_rows(key, samples.sizes.n_samples, n_draws, config.bootstrap)
    is_drawn = ((counted.copies > 0) & take(exists, counted.tree)).astype(jnp.int32)
    place = fusion_barrier(running_sum(is_drawn) - is_drawn)
    place = jnp.where(is_drawn > 0, place, capacity)
    row, copies = (place_at(capacity, place, a) for a in (counted.row, counted.copies))
    at = place_at(capacity, place, counted.tree) if len(exists) > 1 else jnp.zeros_like(row)
    weight = take(samples.weight, row) * copies
    drawn = Drawn(row, at, copies, weight, label=jnp.zeros(0, jnp.int32))
    return drawn._replace(label=config.criterion.start(drawn, samples))


def draw_candidates(
    keys: TreeKeys,
    node: Array,  # int32 (n,), breadth first, in trees of ``config.max_depth``
    sizes: Sizes,
    config: GrowthConfig,
) -> Candidates:  # fields (n, n_candidates)
    """Draw for some nodes, of the trees of these keys, fields (n, 2)."""
    n_nodes = 2**config.max_depth - 1
    each = jnp.arange(config.n_candidates, dtype=jnp.int32)
    feature = jnp.broadcast_to(each, (len(node), len(each)))
    if not config.every_feature:
        words = words_at(keys.candidates, n_nodes * each[:, None] + node)
        some = choose_features(words, sizes)
        feature = jnp.where(sizes.n_candidates < sizes.n_features, some, feature)
    if config.splitter != "random":
        return Candidates(feature, None)
    words = words_at(keys.thresholds[:, None], sizes.n_candidates * node[:, None] + each)
    return Candidates(feature, uniform_of(words))


def draw_for_all_nodes(keys: TreeKeys, sizes: Sizes, config: GrowthConfig) -> Candidates:
    """Draw for every node of trees that grow full; fields (n_trees * n_nodes, n_candidates)."""
    n_trees, n_nodes = len(keys.candidates), 2**config.max_depth - 1
    node = jnp.tile(jnp.arange(n_nodes, dtype=jnp.int32), n_trees)
    of_node = jax.tree.map(lambda field: jnp.repeat(field, n_nodes, axis=0), keys)
    return draw_candidates(of_node, node, sizes, config)


def choose_features(
    words: Array,  # uint32 (n_candidates, n_nodes)
    sizes: Sizes,
) -> Array:  # int32 (n_nodes, n_candidates)
    """Draw each node's candidate features, without replacement.

    Floyd's sampling: the k-th draw is among the first features up to the k-th from the end, or
    that last one where it is taken already. A sort of all features would cost more than a level
    of growth. Candidates beyond those in use are any feature.
    """

    def draw(k: Array, chosen: Array) -> Array:
        last = jnp.clip(sizes.n_features - sizes.n_candidates + k, 0, sizes.n_features - 1)
        drawn = (words[k] % (last + 1).astype(jnp.uint32)).astype(jnp.int32)
        drawn = jnp.where((chosen == drawn).any(0), last, drawn)
        return chosen.at[k].set(drawn)

    chosen: Array = jnp.full(words.shape, -1, jnp.int32)
    chosen = lax.fori_loop(jnp.int32(0), jnp.int32(len(words)), draw, chosen)
    return chosen.T
