"""Measures of predicted rankings, as users call them.

Measures of rankings (``OF_RANKINGS``) take ``(y_true, y_pred, sample_weight=None, *,
per_row=False)``, measures of the choices that a ranking leads to (``OF_SCORES``) take ``scores``
in place of ``y_true``. `brier_score` takes probabilities of pairs in place of ``y_pred``;
`fit_temperature` and `apply_temperature` calibrate them.

Parameters
----------
y_true : array-like or DataFrame, shape (n_samples, n_labels)
    True positions, 1 = best, NaN = unknown. A measure looks only at the labels that the truth
    ranks.
scores : array-like or DataFrame, shape (n_samples, n_labels)
    What each label is worth in each row (a yield, minus a runtime), larger is better, on any
    scale; NaN = unknown. A measure looks only at the labels whose score is known.
y_pred : array-like or DataFrame, shape (n_samples, n_labels)
    Predicted positions, complete; ties are allowed. Where both are data frames, labels are
    paired by name, in the order of the first, and names that only one of them has are an error.
    An array has no names: its columns must be in the order of the other side, as those of
    `predict` are in that of ``labels_``. ``ranker.score`` knows the labels by name.
sample_weight : array-like of non-negative numbers, shape (n_samples,), optional
per_row : bool
    If true, return a float64 array (n_samples,) with NaN where the measure is undefined.

Notes
-----
The result is the mean over the rows in which the measure is defined, a Python float. Rows without
a known pair of labels (two ranked labels that the truth does not tie; for `tau_x` two that it
ranks), for measures of scores rows with fewer than two known scores, are left out. `InputError` is
raised if there is no other row, or if an argument has another form. Computed in float64 on the
host, in blocks of about 8 MB, in O(n_samples n_labels^2) time. ``docs/measures.md`` has all of them
as formulas. `get_scorer` makes scikit-learn's scorers of measures of rankings.

Examples
--------
>>> kendall_tau([[1, 2, float("nan"), 3]], [[2, 1, 3, 4]])
0.3333333333333333
>>> regret([[30, 75, 0]], [[1, 2, 3]])
45.0
"""

from lrrf_jax.metrics.gap import gap_closed, single_best
from lrrf_jax.metrics.of_pairs import brier_score
from lrrf_jax.metrics.of_rankings import (
    footrule_distance,
    hit_rate,
    kendall_distance,
    kendall_tau,
    mean_reciprocal_rank,
    ndcg,
    spearman_distance,
    spearman_rho,
    tau_b,
    tau_x,
    top_k_accuracy,
    weighted_tau,
)
from lrrf_jax.metrics.of_scores import (
    ndcg_of_scores,
    regret,
    relative_regret,
    utility,
)
from lrrf_jax.metrics.scorers import get_scorer, get_scorer_names
from lrrf_jax.metrics.temperature import apply_temperature, fit_temperature

__all__ = [
    "apply_temperature",
    "brier_score",
    "fit_temperature",
    "footrule_distance",
    "gap_closed",
    "get_scorer",
    "get_scorer_names",
    "hit_rate",
    "kendall_distance",
    "kendall_tau",
    "mean_reciprocal_rank",
    "ndcg",
    "ndcg_of_scores",
    "regret",
    "relative_regret",
    "single_best",
    "spearman_distance",
    "spearman_rho",
    "tau_b",
    "tau_x",
    "top_k_accuracy",
    "utility",
    "weighted_tau",
]

OF_RANKINGS = (
    "footrule_distance",
    "hit_rate",
    "kendall_distance",
    "kendall_tau",
    "mean_reciprocal_rank",
    "ndcg",
    "spearman_distance",
    "spearman_rho",
    "tau_b",
    "tau_x",
    "top_k_accuracy",
    "weighted_tau",
)
OF_SCORES = ("gap_closed", "ndcg_of_scores", "regret", "relative_regret", "utility")
