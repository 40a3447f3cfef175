"""What splits set apart: from rankings to the statistic that trees sum, and its criterion."""

import functools
import math
from collections.abc import Callable

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.learners.forest.config import ForestConfig
from lrrf_jax.learners.forest.preferences import Rankings
from lrrf_jax.rankings.mallows import fit_dispersion
from lrrf_jax.rankings.pairwise import pair_signs_on_host
from lrrf_jax.rankings.permutations import places
from lrrf_jax.rankings.statistics import (
    borda_votes_on_host,
    label_at_position,
    ranking_classes,
)
from lrrf_jax.trees.class_criterion import DENSE_CLASSES, ClassEntropy, SparseClassEntropy
from lrrf_jax.trees.criterion import Criterion
from lrrf_jax.trees.edira import SimilarityEntropy
from lrrf_jax.trees.pair_criterion import Disagreement, MeanSimilarity, curve_shares
from lrrf_jax.trees.shared_class import SharedClassEntropy
from lrrf_jax.trees.vector_criterion import Variance

_VOTE_SCALE = 8  # votes of partial rankings are fractions
# Histograms of more cells per node take longer than sorted samples: with 51 classes of 950 rows,
# twelve times as long or more at 255 thresholds, about as long at 31.
_DENSE_CELLS_A_ROW = 4


def growth_statistic(rankings: Rankings, config: ForestConfig) -> tuple[NDArray, Criterion]:
    """Return int32 (n_rows, ...), what the criterion of the configuration sums, and the criterion.

    Cost O(n_rows n_labels^2); classes of whole rankings are sorted.
    """
    make: dict[str, Callable[[Rankings, ForestConfig], tuple[NDArray, Criterion]]] = {
        "tlac": _top_labels,
        "rac": _ranking_classes,
        "edira": _alike_classes,
        "pairwise": _pair_variance,
        "positions": _position_variance,
        "votes": _vote_variance,
        "dispersion": functools.partial(_dispersion, impurity="inverse"),
        "theta": functools.partial(_dispersion, impurity="theta"),
        "similarity": _similarity,
    }
    return make[config.criterion](rankings, config)


def _top_labels(rankings, config) -> tuple[NDArray, Criterion]:
    n_labels = config.n_labels
    # Of complete rankings the last place follows from the others.
    n_stages = max(2, n_labels - 1) if config.purity == "ranking" else 1
    if rankings.tied:
        return _shared_places(rankings), SharedClassEntropy(n_labels, n_stages)
    stat = label_at_position(rankings.positions)[:, :n_stages]
    # Samples without a class carry no weight, so counts are sums of weights only where every
    # one has a class.
    return stat, ClassEntropy(n_labels, n_stages, separate_count=rankings.weighted)


def _shared_places(rankings: Rankings) -> NDArray:
    """Share each place among the labels that tie there; see `SharedClassEntropy`."""
    n_before, n_level = places(rankings.positions)
    # The least whole number that all ties part without a rest, or else what an int32 has room for.
    whole = math.lcm(*np.unique(n_level[n_level > 0]).tolist())
    whole = min(whole, 2 ** math.floor(math.log2(max(1.0, 2**29 / rankings.total_weight))))
    share = np.where(n_level > 0, np.round(whole / np.maximum(n_level, 1)), 0)
    return np.concatenate([n_before, n_before + n_level, share], axis=1).astype(np.int32)


def _ranking_classes(rankings, config) -> tuple[NDArray, Criterion]:
    classes, n_classes = ranking_classes(rankings.positions)
    # Rounded up, so that the folds of one table share a program.
    rounded = max(8, 1 << (n_classes - 1).bit_length())
    n_cells = rounded * (config.max_thresholds + 1)
    if n_classes <= DENSE_CLASSES and n_cells <= _DENSE_CELLS_A_ROW * len(rankings.positions):
        criterion = ClassEntropy(rounded, separate_count=rankings.weighted)
        return classes[:, None], criterion
    return classes[:, None], SparseClassEntropy(
        len(rankings.positions), _scale_bits(rankings.total_weight)
    )


def _alike_classes(rankings, config) -> tuple[NDArray, Criterion]:
    classes, _ = ranking_classes(rankings.positions)
    signs = pair_signs_on_host(rankings.positions).astype(np.int32)
    criterion = SimilarityEntropy(
        len(rankings.positions),
        _scale_bits(rankings.total_weight),
        n_signs=signs.shape[1],
        masked=bool((signs == 0).any()),
    )
    return np.concatenate([classes[:, None], signs], axis=1), criterion


def _scale_bits(total_weight: float) -> int:
    """Bits behind the point of sums of n log2 n, of which an int32 has room for all samples."""
    most = 2 * max(total_weight, 2.0)  # chance may draw heavy rows
    room = 2**31 / (most * np.log2(most))
    return max(0, min(12, int(np.floor(np.log2(max(room, 1.0))))))


def _pair_variance(rankings, config) -> tuple[NDArray, Criterion]:
    values, counts = rankings.pairs()
    n_pairs, masked = values.shape[1], not (counts == 1).all()
    # Where a tie is half way between the signs, not only opposite ones differ.
    only_signs = rankings.pair_weight is not None or not rankings.tied
    stat = np.concatenate([values, counts], axis=1) if masked else values
    return stat, Variance(n_pairs, masked, separate_count=rankings.weighted, signs=only_signs)


def _position_variance(rankings, config) -> tuple[NDArray, Criterion]:
    # Twice the position minus the middle: integers, also for the mean places of tied labels.
    values = 2 * rankings.positions - (config.n_labels + 1)
    return _variance(values, np.isnan(rankings.positions), rankings.weighted)


def _vote_variance(rankings, config) -> tuple[NDArray, Criterion]:
    # What is known of the position in the complete ranking; see `borda_votes`.
    votes = 2 * borda_votes_on_host(rankings.positions) - (config.n_labels + 1)
    if (votes != np.round(votes)).any():
        votes = votes * _VOTE_SCALE
    return _variance(np.round(votes), np.isnan(rankings.positions), rankings.weighted)


def _variance(values, missing, weighted) -> tuple[NDArray, Criterion]:
    values = np.where(missing, 0, values).astype(np.int32)
    n_values, masked = values.shape[1], bool(missing.any())
    if masked:
        values = np.concatenate([values, (~missing).astype(np.int32)], axis=1)
    return values, Variance(n_values, masked, separate_count=weighted)


def _dispersion(rankings, config, *, impurity) -> tuple[NDArray, Criterion]:
    signs = pair_signs_on_host(rankings.positions).astype(np.int32)
    n_before, n_level = places(rankings.positions)
    n_ranked = np.count_nonzero(n_level, axis=1)[:, None]
    wins = np.where(n_level > 0, n_ranked - n_level - 2 * n_before, 0)  # less defeats
    masked = bool((signs == 0).any())
    columns = [signs, wins] + [np.abs(signs).sum(1, keepdims=True)] * masked
    criterion = Disagreement(
        config.n_labels,
        _dispersion_curve(config.n_labels, impurity),
        masked,
        separate_count=rankings.weighted,
        at_least_half=impurity == "theta",
    )
    return np.concatenate(columns, axis=1).astype(np.int32), criterion


@functools.cache
def _dispersion_curve(n_labels: int, impurity: str) -> tuple[float, ...]:
    """1 / (1 + theta), or minus theta, of Mallows' distribution at each share of reversed pairs."""
    distance = np.array(curve_shares()) * (n_labels * (n_labels - 1) / 2)
    theta = np.asarray(fit_dispersion(distance, n_labels), np.float64)
    values = 1 / (1 + theta) if impurity == "inverse" else -theta
    return tuple(values.astype(np.float32).tolist())


def _similarity(rankings, config) -> tuple[NDArray, Criterion]:
    signs = pair_signs_on_host(rankings.positions).astype(np.int32)
    n_pairs, masked = signs.shape[1], bool((signs == 0).any())
    stat = np.concatenate([signs, np.abs(signs)], axis=1) if masked else signs
    return stat, MeanSimilarity(n_pairs, config.patience, masked, separate_count=rankings.weighted)
