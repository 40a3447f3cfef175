"""From a training table to what trees sum: which statistic, which leaves, which bins."""

from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.learners._table import TrainingTable
from lrrf_jax.learners.fixed_point import integer_weights, largest_scale
from lrrf_jax.learners.forest_aggregation import leaf_statistics
from lrrf_jax.learners.forest_config import ForestConfig
from lrrf_jax.rankings.pairwise import pair_signs
from lrrf_jax.rankings.statistics import label_at_position, ranking_classes
from lrrf_jax.trees.binning import bin_features, candidate_thresholds
from lrrf_jax.trees.criterion import (
    DENSE_CLASSES,
    ClassEntropy,
    Criterion,
    SparseClassEntropy,
    Variance,
)
from lrrf_jax.trees.growth import GrowthConfig, Samples
from lrrf_jax.trees.sample_bins import pack_bins
from lrrf_jax.trees.xla import bucket_size


def growth_samples(
    table: TrainingTable, config: ForestConfig, histogram_bytes: int = 2**29
) -> tuple[Samples, GrowthConfig, Any]:
    """Turn a training table into what the grower sums; also the function from sums to leaves."""
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
    stat, criterion = _growth_statistic(positions, table.weight is not None, config)
    if table.weight is None:
        weight, weight_scale = np.ones(n_samples, np.int32), 1.0
        room = largest_scale(n_samples, config.n_labels + 1)
    else:
        # A quarter of what an int32 holds, for chance may draw a heavy row many times.
        weight, weight_scale = integer_weights(table.weight, 2**29 // (config.n_labels + 1))
        room = largest_scale(float(weight.sum()), config.n_labels + 1)
    leaf_stat, leaf_value = leaf_statistics(positions, config.aggregation, room, weight_scale)
    bins = bin_features(padded(table.features, np.float32), thresholds)
    samples = Samples(
        bin_index=pack_bins(np.asarray(bins)),
        stat=stat,
        leaf_stat=leaf_stat,
        weight=padded(weight, np.int32),
        n_samples=np.int32(n_samples),
        thresholds=thresholds,
    )
    growth = GrowthConfig(
        criterion=criterion,
        max_depth=config.max_depth,
        n_candidates=config.n_candidates,
        n_features=n_features,
        n_bins=thresholds.shape[1] + 1,
        has_missing=bool(np.isnan(table.features).any()),
        splitter=config.splitter,
        min_samples_split=config.min_samples_split,
        min_samples_leaf=config.min_samples_leaf,
        bootstrap=config.bootstrap,
        short_sums=table.weight is None and n_samples < 2**16,
        histogram_bytes=histogram_bytes,
    )
    return samples, growth, leaf_value


def _require_numbered_cells(n_rows: int, n_columns: int) -> None:
    """Growth numbers the cells of a table with 32 bits."""
    if n_rows * n_columns >= 2**31:
        raise InputError(
            f"X and y must have fewer than 2**31 cells each; {n_rows} rows (after rounding up) x "
            f"{n_columns} columns are {n_rows * n_columns}. Train on a sample of the rows, of at "
            f"most {2**31 // n_columns * 15 // 16}."
        )


def _growth_statistic(
    positions: NDArray, weighted: bool, config: ForestConfig
) -> tuple[Any, Criterion]:
    n_labels = config.n_labels
    missing = np.isnan(positions)
    if config.criterion == "tlac":
        n_stages = n_labels if config.purity == "ranking" else 1
        # Of complete rankings the last place follows from the others.
        n_stages = min(n_stages, max(1, n_labels - 1))
        stat = np.asarray(label_at_position(positions))[:, :n_stages]
        # Samples without a class carry no weight, so counts are sums of weights only where every
        # one has a class.
        return stat, ClassEntropy(n_labels, n_stages, separate_count=weighted)
    if config.criterion == "rac":
        classes, n_classes = ranking_classes(positions)
        stat = classes[:, None]
        # Rounded up, so that the folds of one table share a program.
        if n_classes <= DENSE_CLASSES:
            n_classes = max(8, 1 << (n_classes - 1).bit_length())
            return stat, ClassEntropy(n_classes, separate_count=weighted)
        return stat, SparseClassEntropy(len(positions), separate_count=weighted)
    if config.criterion == "pairwise":
        signs = np.asarray(pair_signs(positions), np.int32)
        masked = bool((signs == 0).any())
        if masked:
            signs = np.concatenate([signs, np.abs(signs)], axis=1)
        n_pairs = n_labels * (n_labels - 1) // 2
        return signs, Variance(n_pairs, masked, separate_count=weighted, signs=True)
    # Twice the position minus the middle: integers, also for the mean places of tied labels.
    values = np.where(missing, 0, 2 * positions - (n_labels + 1)).astype(np.int32)
    masked = bool(missing.any())
    if masked:
        values = np.concatenate([values, (~missing).astype(np.int32)], axis=1)
    return values, Variance(n_labels, masked, separate_count=weighted)
