"""From a training table to what trees sum: which statistic, which leaves, which bins."""

import numpy as np

from lrrf_jax._validation import InputError
from lrrf_jax.learners._table import TrainingTable
from lrrf_jax.learners._weights import integer_weights, largest_scale
from lrrf_jax.learners.forest.aggregation import (
    SHRUNKEN,
    LeafValue,
    leaf_statistics,
    relabelled,
)
from lrrf_jax.learners.forest.config import ForestConfig
from lrrf_jax.learners.forest.preferences import Rankings, difference_weights
from lrrf_jax.learners.forest.targets import growth_statistic
from lrrf_jax.trees.binning import bin_features, candidate_thresholds
from lrrf_jax.trees.growth import GrowthConfig, Samples, Sizes
from lrrf_jax.trees.padding import padded_rows

_SUM_PAIRS = ("dispersion", "theta")  # criteria that sum the number of pairs of a ranking
_ROOM_FOR_DIFFERENCES = 2**10  # by which weights of rows are multiplied


def growth_samples(
    table: TrainingTable, config: ForestConfig, histogram_bytes: int = 2**29
) -> tuple[Samples, GrowthConfig, LeafValue]:
    """Turn a training table into what the grower sums, how, and what becomes of sums in leaves."""
    n_samples, n_features = table.features.shape
    _require_numbered_cells(n_samples, max(n_features, config.n_labels))
    thresholds = candidate_thresholds(table.features, config.max_thresholds)
    order = table.label_order
    positions = np.ascontiguousarray(table.positions[:, order])
    if table.weight is None:
        weight, weight_scale = np.ones(n_samples, np.int32), 1.0
    else:
        # A quarter of what an int32 holds, for chance may draw a heavy row many times.
        most = config.n_labels + 1
        if config.criterion in _SUM_PAIRS:
            most = max(most, config.n_labels * (config.n_labels - 1) // 2)
        if config.weighting == "difference":
            most = max(most, _ROOM_FOR_DIFFERENCES)
        in_units = config.aggregation in SHRUNKEN
        weight, weight_scale = integer_weights(table.weight, 2**29 // most, binary=in_units)
    total_weight = float(weight.sum(dtype=np.int64))
    rankings = Rankings(positions, table.tied, total_weight, weighted=table.weight is not None)
    if config.weighting == "difference" and table.scores is not None:
        pair_weight, mean = difference_weights(table.scores[:, order], weight)
        rankings = rankings._replace(pair_weight=pair_weight)
        weight_scale *= mean
    stat, criterion = growth_statistic(rankings, config)
    room = largest_scale(total_weight, config.n_labels + 1)
    leaf_stat, leaf_value = leaf_statistics(rankings, config.aggregation, room, weight_scale)
    if table.tied:
        leaf_value = relabelled(leaf_value, order, config.aggregation)
    n_edges = thresholds.shape[1]
    sizes = (
        n_samples,
        n_features,
        config.n_candidates,
        n_edges,
        criterion.n_stages,
        min(config.min_samples_leaf, n_samples),
    )
    samples = Samples(
        bin_index=bin_features(table.features, thresholds),
        stat=stat,
        leaf_stat=leaf_stat,
        weight=weight.astype(np.int32),
        thresholds=thresholds,
        sizes=Sizes(*map(np.int32, sizes)),
    )
    growth = GrowthConfig(
        criterion=criterion,
        max_depth=config.max_depth,
        n_candidates=config.n_candidates,
        n_features=n_features,
        n_bins=n_edges + 1,
        has_missing=bool(np.isnan(table.features).any()),
        splitter=config.splitter,
        n_cuts=config.n_cuts,
        min_samples_split=config.min_samples_split,
        bootstrap=config.bootstrap,
        short_sums=table.weight is None and criterion.fits_16_bits(stat, n_samples),
        histogram_bytes=histogram_bytes,
    )
    return samples, growth, leaf_value


def _require_numbered_cells(n_samples: int, n_columns: int) -> None:
    """Growth numbers the cells of a table with 32 bits."""
    n_rows = padded_rows(n_samples)
    if n_rows * n_columns >= 2**31:
        raise InputError(
            f"X and y must have fewer than 2**31 cells each; {n_rows} rows (after rounding up) x "
            f"{n_columns} columns are {n_rows * n_columns}. Train on a sample of the rows, of at "
            f"most {2**31 // n_columns * 3 // 4}."
        )
