"""Tables of like sizes are padded to the same arrays, so that their trees grow by the same program.

A program takes a second to compile and a few milliseconds to run on a small table. So tables of up
to 4,096 rows and 16 features come in two sizes, with room for 4 candidates and 4 or 8 classes;
above, there are a few sizes per octave. What is padded counts nowhere: rows are not drawn, features
are no candidates, candidates not chosen, thresholds not tried, and classes have no samples. How
much is in use is told at run time, in `Sizes`, and loops end there.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from lrrf_jax._backend import Backend
from lrrf_jax._typing import NDArray
from lrrf_jax._xla import bucket_size
from lrrf_jax.trees.growth import GrowthConfig, Samples

# Room for fewer is not worth a program.
_LEAST_FEATURES, _LEAST_CANDIDATES, _LEAST_COLUMNS, _LEAST_BINS = 16, 4, 8, 32
_MOST_CELLS = 2**31 - 1


class Small(NamedTuple):
    """A size of small tables."""

    n_rows: int
    n_classes: int  # room for so many, or for a power of two
    n_draws: int  # of trees that grow together


SMALL = Small(512, 4, 2**13), Small(4096, 8, 2**15)


def small_of(n_samples: int, n_features: int) -> Small | None:
    """Return the size of tables like this one, if they are small."""
    if n_features > _LEAST_FEATURES:
        return None
    return next((size for size in SMALL if n_samples <= size.n_rows), None)


def padded_rows(n_samples: int) -> int:
    """Rows of the arrays that a table comes in, if it is not small."""
    return bucket_size(n_samples, per_octave=4)


def share_program(
    samples: Samples, config: GrowthConfig, backend: Backend
) -> tuple[Samples, GrowthConfig]:
    """Pad a table, and say so in the configuration.

    For accelerators rows only: every other loop there has an end that is known beforehand.
    """
    n_samples, n_features = samples.bin_index.shape
    every_feature = config.n_candidates == n_features > _LEAST_CANDIDATES
    config = dataclasses.replace(config, every_feature=every_feature)
    if not backend.on_host:
        return _pad(samples, padded_rows(n_samples)), config
    small = small_of(n_samples, n_features)
    n_rows = small.n_rows if small else padded_rows(n_samples)
    wide = bucket_size(n_features, per_octave=2, least=_LEAST_FEATURES)
    n_features = max(n_features, min(wide, _MOST_CELLS // n_rows))
    n_bins = max(_LEAST_BINS, config.n_bins)
    per_octave = 1 if small else 4
    n_classes = small.n_classes if small else 1

    def room(size: int, least: int) -> int:
        return bucket_size(size, per_octave, least)

    criterion, stat = config.criterion.with_room(
        samples.stat, n_rows, lambda size: room(size, n_classes)
    )
    if config.has_missing:  # which have the last bin
        bins = samples.bin_index
        bins = np.where(bins == config.n_bins - 1, n_bins - 1, bins).astype(np.uint8)
        samples = samples._replace(bin_index=bins)
    samples = _pad(
        samples._replace(
            bin_index=_with_columns(samples.bin_index, n_features),
            stat=stat,
            leaf_stat=_with_columns(
                samples.leaf_stat, room(samples.leaf_stat.shape[1], _LEAST_COLUMNS)
            ),
            thresholds=np.pad(
                samples.thresholds,
                ((0, n_features - len(samples.thresholds)), (0, n_bins - config.n_bins)),
                constant_values=np.inf,
            ),
        ),
        n_rows,
    )
    config = dataclasses.replace(
        config,
        criterion=criterion,
        n_candidates=bucket_size(config.n_candidates, per_octave=4, least=_LEAST_CANDIDATES),
        n_features=n_features,
        n_bins=n_bins,
    )
    return samples, config


def _with_columns(array: NDArray, n_columns: int) -> NDArray:
    return np.pad(array, ((0, 0), (0, n_columns - array.shape[1])))


def _pad(samples: Samples, n_rows: int) -> Samples:
    def padded(array: NDArray) -> NDArray:
        out = np.zeros((n_rows, *array.shape[1:]), array.dtype)
        out[: len(array)] = array
        return out

    return samples._replace(
        bin_index=padded(samples.bin_index),
        stat=padded(samples.stat),
        leaf_stat=padded(samples.leaf_stat),
        weight=padded(samples.weight),
    )
