"""The samples of every node in the order of a feature, and sums along them.

A sort is dear on XLA:CPU, and least so for single words. So samples are ranked by each feature
once a tree, and a level sorts words of a node and a rank. Sums are of integers, so neither the
order of equal samples nor the device can change them.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from lrrf_jax._typing import Array
from lrrf_jax._xla import fusion_barrier, take
from lrrf_jax.trees.growth import GrowthConfig
from lrrf_jax.trees.sample_bins import SampleBins, bin_of_feature

_LANE = 32  # values that follow each other in a lane


class FeatureOrder(NamedTuple):
    """The drawn samples in the order of their bins, for each feature.

    The first of two sides has missing values last, the second, which is there only where values
    are missing, has them first.
    """

    place: Array  # int32 (n_sides, n_features * n_drawn), of each sample in the order
    sample: Array  # int32 (n_sides, n_features * n_drawn), at each place of the order


def sort_samples(bins: SampleBins, config: GrowthConfig) -> FeatureOrder:
    """Put all samples in the order of each feature; equal bins in the order of the samples."""
    n_drawn = len(bins.first)
    position = jnp.arange(n_drawn, dtype=jnp.int32)

    def sort_feature(feature: Array) -> tuple[Array, Array]:
        bin_ = bin_of_feature(bins, jnp.full(n_drawn, feature))
        sides = [bin_on_side(bin_, side, config) for side in range(1 + config.has_missing)]
        samples = [sort_pairs(side, position, config.n_bins, n_drawn)[1] for side in sides]
        places = [jnp.zeros_like(position).at[sample].set(position) for sample in samples]
        return jnp.stack(places), jnp.stack(samples)

    features = jnp.arange(config.n_features, dtype=jnp.int32)
    place, sample = lax.map(sort_feature, features)  # (n_features, n_sides, n_drawn)
    n_sides = 1 + config.has_missing
    return FeatureOrder(
        place.swapaxes(0, 1).reshape(n_sides, -1), sample.swapaxes(0, 1).reshape(n_sides, -1)
    )


def bin_on_side(bin_: Array, side: int, config: GrowthConfig) -> Array:
    """Bins with the missing ones, which have the last, first on side 1."""
    return bin_ if side == 0 else (bin_ + 1) % config.n_bins


def sort_pairs(major: Array, minor: Array, n_major: int, n_minor: int) -> tuple[Array, Array]:
    """Sort by ``major``, then ``minor``; both int32 and from 0."""
    if n_major * n_minor > 2**32:
        major, minor = lax.sort((major, minor), num_keys=2)
        return major, minor
    key = lax.sort(major.astype(jnp.uint32) * n_minor + minor.astype(jnp.uint32))
    return (key // n_minor).astype(jnp.int32), (key % n_minor).astype(jnp.int32)


def running_sum(values: Array, zero: Array) -> Array:
    """Sum up to each place; int32 (n, ...). In lanes: XLA:CPU does not vectorise ``cumsum``."""
    n_values, *rest = values.shape
    if n_values <= _LANE:
        return jnp.cumsum(values, axis=0)
    lanes = jnp.concatenate([values, jnp.zeros((-n_values % _LANE, *rest), values.dtype)])
    lanes = lanes.reshape(-1, _LANE, *rest).swapaxes(0, 1)

    def step(total, some):
        total = total + some
        return total, total

    last, within = lax.scan(step, jnp.zeros_like(lanes[0]), fusion_barrier(zero, lanes))
    before = running_sum(last, zero) - last
    return (within + before).swapaxes(0, 1).reshape(-1, *rest)[:n_values]


class Runs(NamedTuple):
    """Sorted samples, slot after slot."""

    sample: Array  # int32 (n_drawn,)
    slot: Array  # int32 (n_drawn,); n_slots = in none, at the end
    start: Array  # int32 (n_slots + 1,), place of the first sample of each slot
    end: Array  # int32 (n_slots + 1,)
    zero: Array

    def sums(self, values: Array) -> tuple[Array, Array, Array]:
        """Sum int32 (n_drawn,) values of samples along each slot.

        Returns the sums up to and with each place, and of the whole slot, there and by slot.
        """
        running = running_sum(take(values, self.sample), self.zero)
        running = jnp.pad(fusion_barrier(self.zero, running), (1, 0))
        before = take(running, self.start)
        total = take(running, self.end) - before
        before, total = fusion_barrier(self.zero, before, total)
        return running[1:] - take(before, self.slot), take(total, self.slot), total[:-1]
