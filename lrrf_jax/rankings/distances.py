"""How far two rankings of the same labels are apart, one value per row.

The first argument is the truth, the second the prediction. Only labels that both rank count. For
the pair-based ones a pair that is tied in the truth is unknown, and left out; a pair that is tied
in the prediction only is neither concordant nor discordant. The others rank the common labels
anew, 1..m', where ties share the mean of their places.

JAX arrays give JAX arrays (and can be jitted), NumPy arrays give NumPy arrays in their own
precision. Every function costs O(n_labels^2) per row. A quotient is NaN where its denominator is 0.
"""

from typing import Any, TypeAlias

import numpy as np

from lrrf_jax._jax_settings import works_with_our_settings
from lrrf_jax._typing import AnyArray
from lrrf_jax.rankings.axes import namespace_of
from lrrf_jax.rankings.pairwise import pair_indices
from lrrf_jax.rankings.permutations import places

# Annotated for neither library: the two namespaces agree on every function used here.
Positions: TypeAlias = AnyArray  # float (..., n_labels), NaN: missing
PerRow: TypeAlias = AnyArray  # the dtype of the positions (...,)


@works_with_our_settings
def n_known_pairs(truth: Positions, prediction: Positions) -> PerRow:  # int32 (...,)
    """Count the pairs of labels that both rank and that the truth does not tie."""
    true_sign, _, common = _pair_signs(truth, prediction)
    return (common & (true_sign != 0)).sum(axis=-1, dtype=np.int32)


@works_with_our_settings
def kendall_distance(truth: Positions, prediction: Positions) -> PerRow:
    """Count the discordant pairs; 0 where no pair is known."""
    true_sign, predicted_sign, _ = _pair_signs(truth, prediction)
    return (true_sign * predicted_sign < 0).sum(axis=-1, dtype=truth.dtype)


@works_with_our_settings
def kendall_tau(truth: Positions, prediction: Positions) -> PerRow:
    """Divide (concordant - discordant) by the number of known pairs.

    Without ties this is Kendall's tau. A pair tied in the prediction counts 0 and stays in the
    denominator, as in tau-a.

    Examples
    --------
    >>> truth = np.array([[1, 2, np.nan, 3], [1, 2, 2, 3]])
    >>> prediction = np.array([[2.0, 1, 3, 4], [1, 2, 3, 4]])
    >>> kendall_tau(truth, prediction).round(3).tolist()
    [0.333, 1.0]
    """
    true_sign, predicted_sign, common = _pair_signs(truth, prediction)
    agreement = (true_sign * predicted_sign).sum(axis=-1, dtype=truth.dtype)
    return _quotient(agreement, (common & (true_sign != 0)).sum(axis=-1, dtype=truth.dtype))


@works_with_our_settings
def tau_x(truth: Positions, prediction: Positions) -> PerRow:
    """Return the extended correlation of Emond and Mason 2002, in which ties are statements.

    A pair scores 1 where both rankings order or tie it alike, -1 where they order it in opposite
    ways, 0 where only one of them ties it. Equals `kendall_tau` without ties.
    """
    true_sign, predicted_sign, common = _pair_signs(truth, prediction)
    both_tied = common & (true_sign == 0) & (predicted_sign == 0)
    agreement = (true_sign * predicted_sign).sum(axis=-1, dtype=truth.dtype)
    agreement = agreement + both_tied.sum(axis=-1, dtype=truth.dtype)
    return _quotient(agreement, common.sum(axis=-1, dtype=truth.dtype))


@works_with_our_settings
def tau_b(truth: Positions, prediction: Positions) -> PerRow:
    """Divide (concordant - discordant) by the geometric mean of the pairs that each side orders.

    A pair tied on one side counts 0, and in the denominator of the other side: an order where the
    truth ties costs as much as a tie where the truth orders. NaN where a side ties all common
    labels. Equals ``scipy.stats.kendalltau``, and `kendall_tau` without ties. Kendall 1945.

    Examples
    --------
    >>> truth = np.array([[1.0, 2, 2, 4], [1, 1, 1, 1]])
    >>> prediction = np.array([[1.0, 2, 3, 4], [1, 2, 3, 4]])
    >>> tau_b(truth, prediction).round(3).tolist()
    [0.913, nan]
    """
    true_sign, predicted_sign, _ = _pair_signs(truth, prediction)
    xp = namespace_of(truth, prediction)
    agreement = (true_sign * predicted_sign).sum(axis=-1, dtype=truth.dtype)
    n_true = (true_sign != 0).sum(axis=-1, dtype=truth.dtype)
    n_predicted = (predicted_sign != 0).sum(axis=-1, dtype=truth.dtype)
    return _quotient(agreement, xp.sqrt(n_true * n_predicted))


@works_with_our_settings
def weighted_tau(truth: Positions, prediction: Positions) -> PerRow:
    """Return tau with weight 1/r_i + 1/r_j on the pair of the labels at places r_i and r_j.

    The mean of two values, with places by the truth and by the prediction. For rankings without
    ties it equals ``scipy.stats.weightedtau(-truth, -prediction)``. Ties: the places are means,
    and the pairs count as in `kendall_tau`. Vigna 2015.
    """
    xp = namespace_of(truth, prediction)
    true_sign, predicted_sign, common = _pair_signs(truth, prediction)
    known = common & (true_sign != 0)
    first, second = pair_indices(truth.shape[-1])
    total: Any = 0
    for place in _common_places(truth, prediction):
        weight = 1 / place
        weight = xp.where(known, weight[..., first] + weight[..., second], 0.0)
        agreement = (weight * (true_sign * predicted_sign).astype(truth.dtype)).sum(axis=-1)
        total = total + _quotient(agreement, weight.sum(axis=-1))
    return total / 2


@works_with_our_settings
def spearman_distance(truth: Positions, prediction: Positions) -> PerRow:
    """Sum the squared differences of the places among the common labels."""
    xp = namespace_of(truth, prediction)
    true_place, predicted_place = _common_places(truth, prediction)
    return xp.nansum((true_place - predicted_place) ** 2, axis=-1)


@works_with_our_settings
def footrule_distance(truth: Positions, prediction: Positions) -> PerRow:
    """Sum the absolute differences of the places among the common labels."""
    xp = namespace_of(truth, prediction)
    true_place, predicted_place = _common_places(truth, prediction)
    return xp.nansum(abs(true_place - predicted_place), axis=-1)


@works_with_our_settings
def spearman_rho(truth: Positions, prediction: Positions) -> PerRow:
    """Correlate the places among the common labels (Pearson's formula on mean places).

    1 - 6 D / (m' (m'^2 - 1)) without ties, where D is the `spearman_distance`. NaN where fewer than
    two labels are common, or where all of them are tied on one side.
    """
    xp = namespace_of(truth, prediction)
    true_place, predicted_place = _common_places(truth, prediction)
    # Places have the mean (m' + 1) / 2 whatever the ties, so centring is exact.
    n_common = (~xp.isnan(true_place)).sum(axis=-1, keepdims=True, dtype=truth.dtype)
    true_place = true_place - (n_common + 1) / 2
    predicted_place = predicted_place - (n_common + 1) / 2
    covariance = xp.nansum(true_place * predicted_place, axis=-1)
    spread = xp.nansum(true_place**2, axis=-1) * xp.nansum(predicted_place**2, axis=-1)
    return _quotient(covariance, xp.sqrt(spread))


def _pair_signs(
    truth: Positions, prediction: Positions
) -> tuple[Positions, Positions, Positions]:  # int8, int8, bool, all (..., n_pairs)
    """Return the sign of each pair on both sides, 0 for a tie or an unknown pair; common pairs."""
    first, second = pair_indices(truth.shape[-1])
    # A NaN on either side makes the difference NaN, and both comparisons false.
    one_way = truth[..., first] - truth[..., second]
    other_way = prediction[..., first] - prediction[..., second]
    common = ~namespace_of(truth, prediction).isnan(one_way + other_way)
    signs = [
        ((gap < 0) & common).astype(np.int8) - ((gap > 0) & common).astype(np.int8)
        for gap in (one_way, other_way)
    ]
    return signs[0], signs[1], common


def _common_places(truth: Positions, prediction: Positions) -> list[Any]:  # (..., n_labels), twice
    """Rank the labels that both sides rank, 1..m' with mean places for ties; NaN elsewhere."""
    xp = namespace_of(truth, prediction)
    common = ~xp.isnan(truth + prediction)
    mean_places = []
    for positions in (truth, prediction):
        n_before, n_level = places(xp.where(common, positions, np.nan))
        mean = n_before.astype(truth.dtype) + (n_level.astype(truth.dtype) + 1) / 2
        mean_places.append(xp.where(common, mean, np.nan))
    return mean_places


def _quotient(numerator: Positions, denominator: Positions) -> Any:
    xp = namespace_of(numerator, denominator)
    safe = xp.where(denominator == 0, xp.ones_like(denominator), denominator)
    return xp.where(denominator == 0, np.nan, numerator / safe)
