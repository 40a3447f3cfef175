"""What a learner is compared with: the single best label, a random ranking, and the oracle."""

import math

import numpy as np

from lrrf_jax import metrics
from lrrf_jax._typing import NDArray
from lrrf_jax.evaluation.measures import Measure
from lrrf_jax.rankings import distances
from lrrf_jax.rankings.ties import mean_places


def single_best_of(
    rankings: NDArray, scores: NDArray | None, weight: NDArray | None
) -> NDArray:  # float64 (n_labels,)
    """Rank the labels without features, by what the training rows of a fold tell.

    By their mean score; without scores, by the mean of their Borda scores (m' + 1 - place) / (m' +
    1) among the m' labels that a row ranks.
    """
    if scores is None:
        n_ranked = (~np.isnan(rankings)).sum(axis=1, keepdims=True)
        scores = 1 - mean_places(rankings) / (n_ranked + 1)
    known = ~np.isnan(scores)
    if weight is not None:
        known = known & (weight[:, None] > 0)
    if not known.any():
        return np.ones(scores.shape[1])  # nothing tells them apart: one tie
    return metrics.single_best(scores, weight)


def random_rows(measure: Measure, truth: NDArray) -> NDArray:  # float64 (n_samples,)
    """Mean of a measure over all strict rankings of the labels that a row ranks, exactly.

    Where a measure takes the mean over the orders of tied labels, that is its value for one tie.
    Of ``weighted_tau`` the mean has no short form where the truth has ties; these rows are NaN.
    """
    itself = measure.rows(truth, true_positions(truth, measure.of_scores))
    n_ranked = (~np.isnan(truth)).sum(axis=1)
    if measure.metric in ("spearman_rho", "tau_b", "tau_x"):
        return itself * 0.0  # a ranking and its reverse cancel
    if measure.metric == "weighted_tau":  # two rankings that swap a pair cancel on that pair
        n_pairs = n_ranked * (n_ranked - 1) / 2
        strict = distances.n_known_pairs(truth, truth) == n_pairs
        return np.where(strict, itself * 0.0, np.nan)
    if measure.metric == "kendall_distance":
        return np.where(np.isnan(itself), np.nan, distances.n_known_pairs(truth, truth) / 2)
    if measure.metric == "top_k_accuracy":
        k = measure.k or 1
        orders = np.array([math.perm(int(n), min(k, int(n))) for n in n_ranked], np.float64)
        return np.where(np.isnan(itself), np.nan, 1 / orders)
    if measure.metric in ("spearman_distance", "footrule_distance"):
        place = mean_places(truth)
        total = np.zeros(len(truth))
        for other in range(1, truth.shape[1] + 1):  # each label is as often at each place
            step = np.where(np.isnan(truth), 0, np.abs(place - other))
            step = step**2 if measure.metric == "spearman_distance" else step
            total += np.where(other <= n_ranked, step.sum(axis=1), 0)
        return np.where(np.isnan(itself), np.nan, total / np.maximum(n_ranked, 1))
    return measure.rows(truth, np.ones(truth.shape))


def true_positions(truth: NDArray, of_scores: bool) -> NDArray:
    """Positions that a prediction may have: the unknown labels last."""
    keys = np.where(np.isnan(truth), np.inf, -truth if of_scores else truth)
    return mean_places(keys)
