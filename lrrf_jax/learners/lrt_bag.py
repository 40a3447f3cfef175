"""LRT+bag, W-LRT+bag and F-LRT+bag: bagged label ranking trees, three ways to find thresholds.

Aledo, Gámez and Molina, "Tackling the supervised label ranking problem by bagging weak learners",
2017.
"""

from typing import Any, ClassVar

from lrrf_jax.learners.forest.mallows import MallowsLeavesLabelRanker
from lrrf_jax.learners.forest.ranker import ForestLabelRanker


class BaggedMallowsTreesLabelRanker(MallowsLeavesLabelRanker, ForestLabelRanker):
    """Bagged label ranking trees (LRT+bag).

    Each tree is grown as by `MallowsTreeLabelRanker` on a bootstrap sample; their rankings are
    aggregated by Borda's method. All features are candidates by default, as published.

    Notes
    -----
    A whole weight is as good as copies of its row with ``bootstrap=False``,
    ``min_samples_split=2`` and the other settings of `MallowsTreeLabelRanker` that it needs.
    """

    name = "lrt-bag"

    min_samples_leaf: Any = 1  # as those of forests, not of a tree


class _IntervalMallowsTrees(BaggedMallowsTreesLabelRanker):
    """Trees whose thresholds are the bounds of intervals.

    Parameters
    ----------
    n_bins : int
        Intervals per feature.
    max_bins : "auto", "exact" or int
        Candidate thresholds per feature, at most 255, of which the nearest is taken. With few,
        small nodes have none near: on calhousing 31 cost .04 to .06 of tau.
    """

    n_bins: int = 2
    max_bins: Any = "exact"


class WidthMallowsTreesLabelRanker(_IntervalMallowsTrees):
    """Bagged label ranking trees with splits at equal widths (W-LRT+bag).

    At a node each feature offers the thresholds between ``n_bins`` intervals of equal width,
    whatever the rankings: with 2, the middle of the range. The range goes from the lowest to the
    highest threshold that parts the rows of the node.

    Notes
    -----
    More than two intervals are binary splits here, where the source has a child for each.
    """

    name = "w-lrt-bag"
    fixed: ClassVar[dict[str, Any]] = BaggedMallowsTreesLabelRanker.fixed | {"splitter": "width"}


class FrequencyMallowsTreesLabelRanker(_IntervalMallowsTrees):
    """Bagged label ranking trees with splits at equal frequencies (F-LRT+bag).

    At a node each feature offers the thresholds between ``n_bins`` intervals of as many rows
    each, whatever the rankings: with 2, the median.

    Notes
    -----
    More than two intervals are binary splits here, as in `WidthMallowsTreesLabelRanker`. Rows count
    once in a median, repeats in the bootstrap apart, whatever they weigh: a weight is not as good
    as copies.
    """

    name = "f-lrt-bag"
    fixed: ClassVar[dict[str, Any]] = BaggedMallowsTreesLabelRanker.fixed | {
        "splitter": "frequency"
    }
