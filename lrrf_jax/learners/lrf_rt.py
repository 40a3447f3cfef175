"""LRF-RT: a forest of ranking trees, which split by the similarity of rankings."""

from typing import Any, ClassVar

from lrrf_jax.learners.forest.ranker import ForestLabelRanker


class SimilarityForestLabelRanker(ForestLabelRanker):
    """Label ranking forest of ranking trees (LRF-RT), de Sá, Soares, Knobbe and Cortez 2017.

    A split should raise the mean Kendall tau between the rankings of a node, its children's
    weighed by their sizes, and is made where ``gamma (1 + after) > 1 + before``.

    Parameters
    ----------
    gamma : float
        How much of the similarity after a split counts, in (0, 1].

    Notes
    -----
    All features are candidates by default, as in the authors' program; their text speaks of a
    random forest. A ranking is not compared with itself, in the node and in its children, where
    the authors' program does so in the children: with weights that comparison is taken off as if
    all rows of a node weighed the same, so a whole weight is not as good as copies. Of partial
    rankings, pairs of labels that two rankings both know are counted. Fit costs
    O(n_estimators max_depth n_samples max_features n_labels^2).
    """

    name = "lrf-rt"
    fixed: ClassVar[dict[str, Any]] = {"criterion": "similarity", "aggregation": "one-step"}

    gamma: float = 0.98
    min_samples_leaf: Any = 2
