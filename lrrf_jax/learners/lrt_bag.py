"""LRT+bag, W-LRT+bag and F-LRT+bag: bagged label ranking trees, three ways to find thresholds.

Aledo, Gámez and Molina, "Tackling the supervised label ranking problem by bagging weak learners",
2017.
"""

from typing import Any, ClassVar

from lrrf_jax.learners._table import TrainingTable, table_of_shape
from lrrf_jax.learners.forest.config import ForestConfig
from lrrf_jax.learners.forest.fit import ForestParams
from lrrf_jax.learners.forest.mallows import fit_mallows_trees, mallows_config
from lrrf_jax.learners.forest.ranker import ForestLabelRanker


class BaggedMallowsTreesLabelRanker(ForestLabelRanker):
    """Bagged label ranking trees (LRT+bag).

    Each tree is grown as by `MallowsTreeLabelRanker` on a bootstrap sample; their rankings are
    aggregated by Borda's method.

    Parameters
    ----------
    n_estimators : int, default 50
        Number of trees.
    criterion : {"dispersion", "theta"}, default "dispersion"
        What splits lower or raise, see `MallowsTreeLabelRanker`.
    max_features : int, float, "log2+1", "sqrt", "log2" or None, default None
        Candidate features a node; all, as published, by default.
    max_depth : int, default 16
        Tests on the longest path, at most 16.
    min_samples_split : int or None, default None
        Least rows in a node to be split, repeats in the bootstrap counted, weights not; None:
        twice the number of labels.
    min_samples_leaf : int, default 1
    bootstrap : bool, default True
        Draw n_samples rows with replacement for each tree.
    max_bins : "auto", "exact" or int, default "auto"
        Candidate thresholds a feature, at most 255; "exact" keeps every midpoint while they fit.
    missing : {"unknown", "last"}, default "unknown"
        What a missing label means: nothing, or (top-k lists) a place after every ranked label.
    random_state : int, RandomState or None, default None
        The same int gives the same bytes, whatever the threads or devices.

    Notes
    -----
    A whole weight is as good as copies of its row with ``bootstrap=False``,
    ``min_samples_split=2`` and the other settings of `MallowsTreeLabelRanker` that it needs.
    """

    name = "lrt-bag"
    _splitter: ClassVar[str] = "best"

    def __init__(
        self,
        n_estimators: int = 50,
        *,
        criterion: str = "dispersion",
        max_features: Any = None,
        max_depth: int = 16,
        min_samples_split: int | None = None,
        min_samples_leaf: int = 1,
        bootstrap: bool = True,
        max_bins: Any = "auto",
        missing: str = "unknown",
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.bootstrap = bootstrap
        self.max_bins = max_bins
        self.missing = missing
        self.random_state = random_state

    def _check_settings(self, n_features: int, n_labels: int) -> None:
        self._config(table_of_shape(n_features, n_labels))

    def _config(self, table: TrainingTable) -> ForestConfig:
        return mallows_config(
            self,
            table,
            n_trees=self.n_estimators,
            splitter=self._splitter,
            n_bins=getattr(self, "n_bins", 2),
        )

    def _fit(self, key: Any, table: TrainingTable) -> tuple[ForestParams, ForestConfig]:
        config = self._config(table)
        return fit_mallows_trees(key, table, config), config


class _IntervalMallowsTrees(BaggedMallowsTreesLabelRanker):
    def __init__(
        self,
        n_estimators: int = 50,
        *,
        n_bins: int = 2,
        criterion: str = "dispersion",
        max_features: Any = None,
        max_depth: int = 16,
        min_samples_split: int | None = None,
        min_samples_leaf: int = 1,
        bootstrap: bool = True,
        max_bins: Any = "exact",
        missing: str = "unknown",
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_estimators,
            criterion=criterion,
            max_features=max_features,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            bootstrap=bootstrap,
            max_bins=max_bins,
            missing=missing,
            random_state=random_state,
        )
        self.n_bins = n_bins


class WidthMallowsTreesLabelRanker(_IntervalMallowsTrees):
    """Bagged label ranking trees with splits at equal widths (W-LRT+bag).

    At a node each feature offers the thresholds between ``n_bins`` intervals of equal width,
    whatever the rankings: with 2, the middle of the range. The range goes from the lowest to the
    highest threshold that parts the rows of the node.

    Parameters
    ----------
    n_bins : int, default 2
        Intervals a feature.
    max_bins : "auto", "exact" or int, default "exact"
        Candidate thresholds a feature, at most 255, of which the nearest is taken. With few,
        small nodes have none near: on calhousing 31 cost .04 to .06 of tau.

    Notes
    -----
    All other parameters are those of `BaggedMallowsTreesLabelRanker`. More than two intervals
    are binary splits here, where the source has a child for each.
    """

    name = "w-lrt-bag"
    _splitter = "width"


class FrequencyMallowsTreesLabelRanker(_IntervalMallowsTrees):
    """Bagged label ranking trees with splits at equal frequencies (F-LRT+bag).

    At a node each feature offers the thresholds between ``n_bins`` intervals of as many rows
    each, whatever the rankings: with 2, the median.

    Parameters
    ----------
    n_bins : int, default 2
        Intervals a feature.
    max_bins : "auto", "exact" or int, default "exact"
        Candidate thresholds a feature, at most 255, of which the nearest is taken. With few,
        small nodes have none near: on calhousing 31 cost .04 to .06 of tau.

    Notes
    -----
    All other parameters are those of `BaggedMallowsTreesLabelRanker`. More than two intervals
    are binary splits here, where the source has a child for each. Rows count once in a median,
    repeats in the bootstrap apart, whatever they weigh: a weight is not as good as copies.
    """

    name = "f-lrt-bag"
    _splitter = "frequency"
