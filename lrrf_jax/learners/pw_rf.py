"""PW-RF: a forest on pairs of labels."""

import dataclasses
from typing import Any, ClassVar

from lrrf_jax.learners.forest.ranker import ForestLabelRanker


class PairwiseForestLabelRanker(ForestLabelRanker):
    """Pairwise random forest (PW-RF): a classification forest on all pairs of labels.

    A split lowers the variance of the preferences, which is Gini's impurity, summed over pairs;
    a row gets the mean preferences of its leaves, and the labels are ordered by Copeland's method.

    Parameters
    ----------
    weighting : {"equal", "difference"}
        What a pair of labels counts: as much as any other; or, of ``fit(X, scores=U)``, the
        difference of their scores.

    Notes
    -----
    The trees are grown on all pairs together, where the literature has a forest for each pair, and
    orders labels by KwikSort. Pairs that a partial ranking does not know do not take part. Every
    pair of a leaf starts with half an observation of no preference, by a row of mean weight, so a
    whole weight is not quite as good as copies.
    """

    name = "pw-rf"
    fixed: ClassVar[dict[str, Any]] = {"criterion": "pairwise", "aggregation": "copeland"}

    n_estimators: int = dataclasses.field(default=100, kw_only=False)
    max_features: Any = "sqrt"
    weighting: str = "equal"
