"""From a training table to what trees sum: which statistic, which leaves, which bins."""

from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax._xla import bucket_size
from lrrf_jax.learners._table import TrainingTable
from lrrf_jax.learners._weights import integer_weights, largest_scale
from lrrf_jax.learners.forest.aggregation import SHRUNKEN, leaf_statistics
from lrrf_jax.learners.forest.config import ForestConfig
from lrrf_jax.learners.forest.targets import growth_statistic
from lrrf_jax.trees.binning import bin_features, candidate_thresholds
from lrrf_jax.trees.growth import GrowthConfig, Samples

_SUM_PAIRS = ("dispersion", "theta")  # criteria that sum the number of pairs of a ranking


def growth_samples(
    table: TrainingTable, config: ForestConfig, histogram_bytes: int = 2**29
) -> tuple[Samples, GrowthConfig]:
    """Turn a training table into what the grower sums, and how."""
    n_samples, n_features = table.features.shape
    n_rows = bucket_size(n_samples)
    _require_numbered_cells(n_rows, max(n_features, config.n_labels))

    def padded(array: NDArray, dtype: Any) -> NDArray:
        out = np.zeros((n_rows, *array.shape[1:]), dtype)
        out[:n_samples] = array
        return out

    thresholds = candidate_thresholds(table.features, config.max_thresholds)
    # Padding rows weigh nothing; a complete ranking keeps them from looking like a partial one.
    complete = np.arange(1, config.n_labels + 1, dtype=np.float32)
    positions = np.tile(complete, (n_rows, 1))
    positions[:n_samples] = table.positions
    if table.weight is None:
        weight, weight_scale = np.ones(n_samples, np.int32), 1.0
    else:
        # A quarter of what an int32 holds, for chance may draw a heavy row many times.
        most = config.n_labels + 1
        if config.criterion in _SUM_PAIRS:
            most = max(most, config.n_labels * (config.n_labels - 1) // 2)
        in_units = config.aggregation in SHRUNKEN
        weight, weight_scale = integer_weights(table.weight, 2**29 // most, binary=in_units)
    total_weight = float(weight.sum(dtype=np.int64))
    stat, criterion = growth_statistic(
        positions, config, total_weight, weighted=table.weight is not None
    )
    room = largest_scale(total_weight, config.n_labels + 1)
    leaf_stat, leaf_value = leaf_statistics(positions, config.aggregation, room, weight_scale)
    bins = bin_features(padded(table.features, np.float32), thresholds)
    samples = Samples(
        bin_index=np.asarray(bins),
        stat=stat,
        leaf_stat=leaf_stat,
        weight=padded(weight, np.int32),
        n_samples=np.int32(n_samples),
        thresholds=thresholds,
    )
    growth = GrowthConfig(
        criterion=criterion,
        leaf_value=leaf_value,
        max_depth=config.max_depth,
        n_candidates=config.n_candidates,
        n_features=n_features,
        n_bins=thresholds.shape[1] + 1,
        has_missing=bool(np.isnan(table.features).any()),
        splitter=config.splitter,
        n_cuts=config.n_cuts,
        min_samples_split=config.min_samples_split,
        min_samples_leaf=config.min_samples_leaf,
        bootstrap=config.bootstrap,
        short_sums=table.weight is None and criterion.fits_16_bits(stat, n_samples),
        histogram_bytes=histogram_bytes,
    )
    return samples, growth


def _require_numbered_cells(n_rows: int, n_columns: int) -> None:
    """Growth numbers the cells of a table with 32 bits."""
    if n_rows * n_columns >= 2**31:
        raise InputError(
            f"X and y must have fewer than 2**31 cells each; {n_rows} rows (after rounding up) x "
            f"{n_columns} columns are {n_rows * n_columns}. Train on a sample of the rows, of at "
            f"most {2**31 // n_columns * 15 // 16}."
        )
