"""LRT: one tree whose splits lower the dispersion of the rankings in their children."""

from typing import Any

from lrrf_jax.learners._table import TrainingTable, table_of_shape
from lrrf_jax.learners.forest.config import ForestConfig
from lrrf_jax.learners.forest.fit import ForestParams
from lrrf_jax.learners.forest.mallows import fit_mallows_trees, mallows_config
from lrrf_jax.learners.forest.ranker import ForestLabelRanker


class MallowsTreeLabelRanker(ForestLabelRanker):
    """Label ranking tree (LRT), Cheng, Hühn and Hüllermeier 2009.

    A split should make the children's Mallows distributions narrow. Growth stops where no two
    rankings of a node order a pair of labels differently, and at ``min_samples_split``.

    Parameters
    ----------
    criterion : {"dispersion", "theta"}, default "dispersion"
        What a split lowers: the mean of 1 / (1 + theta) of the children, as scikit-lr does; or
        raises: the mean of theta, as published, with theta that of half a reversed pair at most,
        for it is infinite where all rankings agree. From the counts of label pairs in a node:
        with partial rankings, the share of reversed pairs among those that are known.
    max_depth : int, default 16
        Tests on the longest path, at most 16.
    min_samples_split : int or None, default None
        Least rows in a node to be split, whatever they weigh; None: twice the number of labels,
        as published.
    min_samples_leaf : int, default 1
    max_bins : "auto", "exact" or int, default "exact"
        Candidate thresholds a feature, at most 255; "exact" keeps every midpoint while they fit.
    missing : {"unknown", "last"}, default "unknown"
        What a missing label means: nothing, or (top-k lists) a place after every ranked label.
    random_state : ignored
        There is no chance in this learner.

    Notes
    -----
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

    def __init__(
        self,
        *,
        criterion: str = "dispersion",
        max_depth: int = 16,
        min_samples_split: int | None = None,
        min_samples_leaf: int = 1,
        max_bins: Any = "exact",
        missing: str = "unknown",
        random_state: Any = None,
    ) -> None:
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_bins = max_bins
        self.missing = missing
        self.random_state = random_state

    def _check_settings(self, n_features: int, n_labels: int) -> None:
        self._config(table_of_shape(n_features, n_labels))

    def _config(self, table: TrainingTable) -> ForestConfig:
        return mallows_config(self, table, n_trees=1, splitter="best")

    def _fit(self, key: Any, table: TrainingTable) -> tuple[ForestParams, ForestConfig]:
        config = self._config(table)
        return fit_mallows_trees(key, table, config), config
