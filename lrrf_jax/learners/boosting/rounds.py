"""Gradient boosting: trees of vectors, one after another, each for what those before left over.

Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 2001;
the gain of a split and the values of leaves are the Newton steps of Chen and Guestrin, "XGBoost",
KDD 2016. Slopes and curvatures are rounded to whole numbers before they are summed, so that sums
are exact in any order. All rounds are one program, which the host does not wait for in between.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._numerics import product, quotient, sum_terms
from lrrf_jax._programs import jit
from lrrf_jax._threefry import uniform_of, words_at
from lrrf_jax._typing import AnyArray, Array, NDArray
from lrrf_jax._xla import COMPILER_OPTIONS, add_at, take
from lrrf_jax.trees.binning import bins_of_rows
from lrrf_jax.trees.draws import TreeKeys
from lrrf_jax.trees.forest import Forest, grown_depth, with_depth
from lrrf_jax.trees.grower import grow_splits
from lrrf_jax.trees.growth import Drawn, GrowthConfig, Samples, Splits
from lrrf_jax.trees.vector_criterion import Variance

UNIT = 2.0**-16  # of leaf values
MAX_STEP = 2**19  # of a leaf, in units: 8
MAX_ROUNDS = 2**30 // MAX_STEP - 1  # of which differences of sums fit 32 bits

# Of totals, int32 (n_samples, n_values) in units, of targets and of weights: slopes toward a
# smaller loss and curvatures, int32 (n_samples, 2 n_values), and losses, float32 (n_samples,).
Loss = Callable[[Array, Array, Array], tuple[Array, Array]]


@dataclasses.dataclass(frozen=True)
class NewtonGain(Variance):
    """Twice the decrease of a loss that is quadratic, summed over its components.

    Samples are slopes and curvatures; these take the place of observations. ``ridge`` is added to
    the curvature of every group.
    """

    ridge: float = 0.0

    def score(self, sums: Array) -> Array:
        """Sum of (sum of slopes)^2 / (sum of curvatures + ridge)."""

        def term(k: int | Array) -> Array:
            return product(self.at(sums, k).astype(jnp.float32), self.step(sums, k))

        return sum_terms(self.n_values, term, (*sums.shape[:-2], sums.shape[-1]))

    def step(self, sums: Array, k: int | Array) -> Array:
        """Divide the slope of component k by its curvature."""
        curvature = self.at(sums, self.n_values + k).astype(jnp.float32) + self.ridge
        return quotient(self.at(sums, k).astype(jnp.float32), jnp.maximum(curvature, 1))


class Rows(NamedTuple):
    """What the rows are to be predicted by, and which of them are learnt from."""

    target: AnyArray  # float32 (n_samples, n_values)
    weight: AnyArray  # float32 (n_samples,), 0: padding
    learns: AnyArray  # bool (n_samples,); the other rows are held out
    scale: AnyArray  # float32 (), by which slopes are multiplied before they are rounded


class Progress(NamedTuple):
    """How far boosting may go, and how fast; of arrays (), so that a change compiles nothing."""

    rate: AnyArray  # float32, of each Newton step
    subsample: AnyArray  # float32, share of the rows that the splits of a tree are searched with
    n_rounds: AnyArray  # int32, maximum
    patience: AnyArray  # int32, rounds that may pass without a smaller loss of the rows held out


class Boosted(NamedTuple):
    """The trees of some rounds, and the room for more."""

    feature: AnyArray  # int32 (room, 2**max_depth - 1)
    threshold: AnyArray  # float32 (room, 2**max_depth - 1)
    missing_left: AnyArray  # bool (room, 2**max_depth - 1)
    gain: AnyArray  # float32 (room, 2**max_depth - 1)
    step: AnyArray  # int32 (room, 2**max_depth, n_values), of the leaves, in units
    held_out: AnyArray  # float32 (room,), loss of the rows held out before each round
    n_rounds: AnyArray  # int32 ()


class _State(NamedTuple):
    """What one round hands to the next."""

    total: Array  # int32 (n_samples, n_values), in units
    best: Array  # int32 (), round before which the rows held out were predicted best
    boosted: Boosted


@functools.partial(jit, static_argnames=("config", "loss"), compiler_options=COMPILER_OPTIONS)
def boost(
    keys: TreeKeys,  # fields (room, 2), of each round
    samples: Samples,  # of which the statistic is not looked at
    rows: Rows,
    progress: Progress,
    config: GrowthConfig,
    loss: Callable[..., tuple[Array, Array]],
) -> Boosted:
    """Grow a tree per round, until the rows held out are predicted no better for a while.

    Cost O(n_samples (n_features + max_depth) n_values) per level of a tree, besides the loss.
    """
    target, weight, learns, scale = rows
    n_rows, n_values = target.shape
    chex.assert_shape([*keys], (None, 2))
    chex.assert_shape([weight, learns], (n_rows,))
    chex.assert_shape(samples.bin_index, (n_rows, config.n_features))
    chex.assert_type([target, weight, learns, scale], [*[jnp.float32] * 2, jnp.bool_, jnp.float32])
    chex.assert_rank([scale, *progress], 0)
    room, depth = len(keys.rows), config.max_depth
    shape = room, 2**depth - 1
    row = jnp.arange(n_rows, dtype=jnp.int32)
    learns = learns & (weight > 0)
    held = ~learns & (weight > 0)

    def one_round(state: _State) -> _State:
        total, best, done = state
        number = done.n_rounds
        stat, losses = loss(total, target, weight, scale)
        stat = jnp.where(learns[:, None], stat, 0)
        held_out = done.held_out.at[number].set(jnp.sum(jnp.where(held, losses, 0)))
        best = jnp.where(held_out[number] < held_out[best], number, best)
        own = TreeKeys(*(field[number][None] for field in keys))
        drawn = learns & (uniform_of(words_at(own.rows, row)) < progress.subsample)
        copies = drawn.astype(jnp.int32)
        nothing = jnp.zeros_like(row)
        roots = Drawn(row, nothing, copies, copies, jnp.zeros(0, jnp.int32))
        splits, _ = grow_splits(own, samples._replace(stat=stat), roots, config)
        splits = jax.tree.map(lambda field: field[0], splits)
        leaf = _leaves(splits, samples.bin_index, config)
        step = _newton_steps(stat, leaf, progress.rate, config)
        is_split = splits.edge < config.n_bins - 1
        edge = jnp.minimum(splits.edge, config.n_bins - 2)
        threshold = jnp.where(is_split, samples.thresholds[splits.feature, edge], jnp.inf)
        done = Boosted(
            feature=done.feature.at[number].set(splits.feature),
            threshold=done.threshold.at[number].set(threshold),
            missing_left=done.missing_left.at[number].set(splits.missing_left),
            gain=done.gain.at[number].set(splits.gain),
            step=done.step.at[number].set(step),
            held_out=held_out,
            n_rounds=number + 1,
        )
        return _State(total + take(step, leaf), best, done)

    def goes_on(state: _State) -> Array:
        number: Array = jnp.asarray(state.boosted.n_rounds)
        goes: Array = (number < progress.n_rounds) & (number - state.best <= progress.patience)
        return goes

    empty = Boosted(
        feature=jnp.zeros(shape, jnp.int32),
        threshold=jnp.full(shape, jnp.inf, jnp.float32),
        missing_left=jnp.zeros(shape, bool),
        gain=jnp.zeros(shape, jnp.float32),
        step=jnp.zeros((room, 2**depth, n_values), jnp.int32),
        held_out=jnp.full(room, jnp.inf, jnp.float32),
        n_rounds=jnp.int32(0),
    )
    start = _State(jnp.zeros((n_rows, n_values), jnp.int32), jnp.int32(0), empty)
    last: _State = lax.while_loop(goes_on, one_round, start)
    return last.boosted


def _leaves(splits: Splits, bin_index: Array, config: GrowthConfig) -> Array:  # int32 (n_samples,)
    """Walk every row down a tree, those too that it was not grown with."""
    row = jnp.arange(len(bin_index), dtype=jnp.int32)

    def down(_: Array, node: Array) -> Array:
        value = bins_of_rows(bin_index, row, take(splits.feature, node))
        left = value > take(splits.edge, node)
        if config.has_missing:
            left = jnp.where(value == config.n_bins - 1, take(splits.missing_left, node), left)
        return 2 * node + 2 - left.astype(jnp.int32)

    nodes = lax.fori_loop(0, config.max_depth, down, jnp.zeros_like(row))
    leaf: Array = nodes - (2**config.max_depth - 1)
    return leaf


def _newton_steps(
    stat: Array,  # int32 (n_samples, 2 n_values)
    leaf: Array,  # int32 (n_samples,)
    rate: Array,  # float32 ()
    config: GrowthConfig,
) -> Array:  # int32 (2**max_depth, n_values), in units
    criterion = config.criterion
    assert isinstance(criterion, NewtonGain)
    sums = add_at(jnp.zeros((2**config.max_depth, stat.shape[1]), jnp.int32), leaf, stat)
    sums = sums.T  # statistics, then lanes
    step = [criterion.step(sums, k) for k in range(criterion.n_values)]
    value = jnp.round(product(jnp.stack(step, axis=1), rate / UNIT))
    return jnp.clip(value, -MAX_STEP, MAX_STEP).astype(jnp.int32)


def as_forest(boosted: Boosted, n_rounds: int) -> Forest:
    """Take the trees of the first rounds; host side.

    All paths below a node that is not split end in its last leaf, as rows went in training.
    """
    feature, threshold, missing_left, _, step = (
        np.asarray(field)[:n_rounds] for field in boosted[:5]
    )
    depth = step.shape[1].bit_length() - 1
    is_leaf = np.ones((n_rounds, 1), bool)  # the nodes of a level where rows may be
    for level in range(depth):
        split = threshold[:, 2**level - 1 : 2 ** (level + 1) - 1] < np.inf
        is_leaf = np.stack([is_leaf & split, is_leaf], axis=2).reshape(n_rounds, -1)
    before: NDArray = (np.cumsum(is_leaf) - is_leaf.ravel()).reshape(is_leaf.shape)
    slot = before.astype(np.int32)
    forest = Forest(feature, threshold, missing_left, slot, step[is_leaf])
    return with_depth(forest, grown_depth(forest))
