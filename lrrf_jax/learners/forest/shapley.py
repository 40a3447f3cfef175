"""Shapley values of trees, for all rows and leaves at once.

A tree whose features are known in part goes both ways where it asks for one that is not, by the
shares of the rows in the children (Lundberg et al. 2020, "path-dependent"). So a leaf adds to the
value of a set of features its own value times a product over the features on its path: of a known
one whether the row passes its tests, of an unknown one the share that passes them. The Shapley
value of such a product is an integral over the chance ``t`` with which each of the others is known,

    value * (passes_i - share_i) * integral of prod_{j != i} (share_j + t (passes_j - share_j)),

of a polynomial, which Gauss-Legendre quadrature takes exactly with half as many points as there
are features on the path.
"""

import functools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import chex
import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._numerics import LOWEST
from lrrf_jax._programs import jit
from lrrf_jax._typing import AnyArray, Array, NDArray
from lrrf_jax._xla import COMPILER_OPTIONS, add_at, fusion_barrier, take
from lrrf_jax.learners.forest.leaf_paths import LeafPaths

_WIDTHS = (4, 6, 8, 12, 16)  # features on a path; each of these has a program of its own
_STEPS_OF_BLOCK = 2048  # leaves times features that a program works on at a time: caches hold them
_STEPS_OF_CHUNK = 16  # of one feature, summed by one product of matrices


class Block(NamedTuple):
    """Some leaves, of any trees, and the features on their paths."""

    feature: AnyArray  # int32 (n_steps,), of leaves x width
    lowest: AnyArray  # int32 (n_steps,), keys
    room: AnyArray  # uint32 (n_steps,), of keys from the lowest on
    missing: AnyArray  # bool (n_steps,)
    share: AnyArray  # float32 (n_leaves, width)
    value: AnyArray  # float32 (n_leaves + 1, n_outputs), the last 0
    step: AnyArray  # int32 (n_chunks, _STEPS_OF_CHUNK), steps of one feature; n_steps: none
    of_feature: AnyArray  # int32 (n_chunks,)


@functools.partial(jit, compiler_options=COMPILER_OPTIONS)
def add_up_leaves(
    key: Array,  # int32 (n_features, n_samples)
    block: Block,
) -> Array:  # float32 (n_features, n_outputs, n_samples)
    """Sum the Shapley values of all leaves of a block."""
    n_leaves, width = block.share.shape
    (n_features, n_samples), n_outputs = key.shape, block.value.shape[1]
    chex.assert_shape(block.feature, (n_leaves * width,))
    chex.assert_shape(block.step, (None, _STEPS_OF_CHUNK))
    chex.assert_type([key, block.room, block.share], [jnp.int32, jnp.uint32, jnp.float32])
    t, weight = _quadrature(width)

    mine = take(key, block.feature)
    inside = (
        lax.bitcast_convert_type(mine - block.lowest[:, None], jnp.uint32) < block.room[:, None]
    )
    passes = inside | ((mine == LOWEST) & block.missing[:, None])
    passes = fusion_barrier(passes.reshape(n_leaves, width, n_samples))

    share = block.share[..., None]
    known, unknown = share + t * (1 - share), share * (1 - t)  # (n_leaves, width, n_points)
    products = []
    for point, w in enumerate(weight):
        product = jnp.full((n_leaves, n_samples), w)
        for i in range(width):
            factor = known[:, i, point, None], unknown[:, i, point, None]
            product = product * jnp.where(passes[:, i], *factor)
        products.append(product)
    of_point = fusion_barrier(*products)
    # (passes_i - share_i) over the factor of i; where that is 0, so is the product.
    gain, loss = (1 - share) / known, -1 / (1 - t)
    total = jnp.zeros(passes.shape, jnp.float32)
    for point in range(len(t)):
        by = jnp.where(passes, gain[..., point, None], loss[point])
        total = total + by * of_point[point][:, None]
    total = fusion_barrier(total).reshape(n_leaves * width, n_samples)

    step = jnp.minimum(block.step, n_leaves * width - 1)
    of_chunk = jnp.einsum(
        "cso,csn->con",
        take(block.value, block.step // width),
        take(total, step),
        precision="highest",
    )
    return add_at(jnp.zeros((n_features, n_outputs, n_samples)), block.of_feature, of_chunk)


def _quadrature(width: int) -> tuple[NDArray, NDArray]:  # float32 (n_points,), float32 (n_points,)
    """Points and weights that integrate polynomials of degree ``width - 1`` from 0 to 1."""
    at, weight = np.polynomial.legendre.leggauss(-(-width // 2))
    return ((at + 1) / 2).astype(np.float32), (weight / 2).astype(np.float32)


def blocks_of(
    trees: Iterable[tuple[LeafPaths, NDArray]],  # and the values of its leaves, float64
    n_features: int,
) -> Iterator[Block]:
    """Put the leaves of trees together, those with about as many features on their paths."""
    waiting: dict[int, list[tuple[NDArray, ...]]] = {width: [] for width in _WIDTHS}
    for paths, value in trees:
        n_steps = paths.n_steps
        for least, width in zip((0, *_WIDTHS), _WIDTHS, strict=False):
            chosen = np.flatnonzero((n_steps > least) & (n_steps <= width))
            if not len(chosen):
                continue
            waiting[width].append(_padded(paths, value, n_steps, chosen, width))
            yield from _whole_blocks(waiting, width, n_features)
    for width in _WIDTHS:
        yield from _whole_blocks(waiting, width, n_features, with_rest=True)


def _padded(
    paths: LeafPaths, value: NDArray, n_steps: NDArray, chosen: NDArray, width: int
) -> tuple[NDArray, ...]:
    """Fill up the paths of some leaves with a feature that every row passes, which gets nothing."""
    column = np.arange(width)
    exists = column < n_steps[chosen, None]
    first = np.cumsum(n_steps) - n_steps
    at = np.where(exists, first[chosen, None] + column, 0)
    room = np.maximum(paths.beyond.astype(np.int64) - paths.lowest, 0)
    return (
        np.where(exists, paths.feature[at], -1),
        np.where(exists, paths.lowest[at], LOWEST),
        np.where(exists, room[at], 2**32 - 1),
        np.where(exists, paths.missing[at], True),
        np.where(exists, paths.share[at], 1.0),
        value[chosen],
    )


def _whole_blocks(
    waiting: dict[int, list[tuple[NDArray, ...]]],
    width: int,
    n_features: int,
    with_rest: bool = False,
) -> Iterator[Block]:
    size = _STEPS_OF_BLOCK // width
    n_waiting = sum(len(part[0]) for part in waiting[width])
    if not n_waiting or (n_waiting < size and not with_rest):
        return
    fields = [np.concatenate(field) for field in zip(*waiting[width], strict=True)]
    n_whole = n_waiting if with_rest else n_waiting // size * size
    for start in range(0, n_whole, size):
        yield _block([field[start : start + size] for field in fields], size, n_features)
    waiting[width] = [] if with_rest else [tuple(field[n_whole:] for field in fields)]


def _block(fields: list[NDArray], size: int, n_features: int) -> Block:
    feature, lowest, room, missing, share, value = fields
    n_used, width = feature.shape
    more = ((0, size - n_used), (0, 0))
    feature = np.pad(feature, more, constant_values=-1).ravel()
    step, of_feature = _chunks(feature, n_features)
    return Block(
        np.maximum(feature, 0).astype(np.int32),
        np.pad(lowest, more).ravel().astype(np.int32),
        np.pad(room, more).ravel().astype(np.uint32),
        np.pad(missing, more).ravel(),
        np.pad(share, more, constant_values=1).astype(np.float32),
        np.pad(value, ((0, size - n_used + 1), (0, 0))).astype(np.float32),
        step,
        of_feature,
    )


def _chunks(feature: NDArray, n_features: int) -> tuple[NDArray, NDArray]:
    """Put steps of one feature together, so many at a time; see `Block`."""
    n_steps = len(feature)
    used = np.flatnonzero(feature >= 0)
    used = used[np.argsort(feature[used], kind="stable")]
    count = np.bincount(feature[used], minlength=n_features)
    n_chunks = -(-count // _STEPS_OF_CHUNK)
    room = n_steps // _STEPS_OF_CHUNK + min(n_features, n_steps)  # for any features of the steps
    step = np.full((room, _STEPS_OF_CHUNK), n_steps, np.int32)
    of_feature = np.zeros(room, np.int32)
    of_feature[: n_chunks.sum()] = np.repeat(np.arange(n_features), n_chunks)
    start = (np.cumsum(n_chunks) - n_chunks) * _STEPS_OF_CHUNK - (np.cumsum(count) - count)
    step.reshape(-1)[np.arange(len(used)) + np.repeat(start, count)] = used
    return step, of_feature
