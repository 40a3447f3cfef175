"""LW-RF: a forest on the positions of labels."""

import dataclasses
from typing import Any, ClassVar

from lrrf_jax.learners.forest.ranker import ForestLabelRanker


class LabelwiseForestLabelRanker(ForestLabelRanker):
    """Label-wise random forest (LW-RF): a regression forest on the positions of the labels.

    A split lowers the variance of the positions, summed over labels; a row gets the mean position
    of each label in its leaves.

    Notes
    -----
    The trees are grown on all labels together, where the literature has a forest for each label.
    Of a partial ranking each ranked label counts as what is expected of it in the complete one
    (generalised Borda); labels that are missing do not take part in the splits. A whole weight is
    as good as copies of its row with ``bootstrap=False``, the minimum sizes 2 and 1, and every
    midpoint a threshold.
    """

    name = "lw-rf"
    fixed: ClassVar[dict[str, Any]] = {"criterion": "votes", "aggregation": "one-step"}

    n_estimators: int = dataclasses.field(default=100, kw_only=False)
