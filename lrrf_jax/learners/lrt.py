"""LRT: one tree whose splits lower the dispersion of the rankings in their children."""

from typing import Any

from lrrf_jax.learners.forest.mallows import MallowsLeavesLabelRanker


class MallowsTreeLabelRanker(MallowsLeavesLabelRanker):
    """Label ranking tree (LRT), Cheng, Hühn and Hüllermeier 2009.

    A split should make the children's Mallows distributions narrow. Growth stops where no two
    rankings of a node order a pair of labels differently, and at ``min_samples_split``.

    Notes
    -----
    There is no chance in this learner: ``random_state`` changes nothing.

    A leaf holds the centre of its rankings: Borda's ranking, with partial rankings completed
    around it in turns. A label that no ranking of a leaf ranks goes where the node above has it.
    A whole weight is as good as copies of its row with ``min_samples_split=2``,
    ``min_samples_leaf=1`` and ``criterion="dispersion"``, where every midpoint is a threshold: by
    default a row, however heavy, counts once towards ``min_samples_split``. "theta" takes half a
    pair of a row of mean weight. Fit costs O(max_depth n_samples n_features n_labels^2).

    Examples
    --------
    >>> from lrrf_jax import LEARNERS
    >>> from lrrf_jax.datasets import load
    >>> iris = load("iris")
    >>> LEARNERS["lrt"]().fit(iris.X, iris.y).score(iris.X, iris.y) > 0.9
    True
    """

    name = "lrt"
    max_bins: Any = "exact"
