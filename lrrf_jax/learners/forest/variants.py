"""Forests that differ from LR-RF in what their splits set apart, by a fixed configuration each."""

from typing import Any, ClassVar

from lrrf_jax._validation import require_integer
from lrrf_jax.learners._table import TrainingTable, table_of_shape
from lrrf_jax.learners.forest.config import (
    ForestConfig,
    require_tree_parameters,
    resolve_max_features,
)
from lrrf_jax.learners.forest.fit import ForestParams, fit_forest
from lrrf_jax.learners.forest.ranker import ForestLabelRanker
from lrrf_jax.trees.binning import resolve_max_bins


class ForestVariant(ForestLabelRanker):
    """A forest grown with one criterion; a learner names it, and sets its own defaults."""

    _criterion: ClassVar[str]
    _aggregation: ClassVar[str]

    def __init__(
        self,
        n_estimators: int = 50,
        *,
        max_features: Any = None,
        max_depth: int = 16,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        bootstrap: bool = True,
        max_bins: Any = "auto",
        missing: str = "unknown",
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.bootstrap = bootstrap
        self.max_bins = max_bins
        self.missing = missing
        self.random_state = random_state

    def _fit(self, key: Any, table: TrainingTable) -> tuple[ForestParams, ForestConfig]:
        config = self._forest_config(table)
        return fit_forest(key, table, config)[0], config

    def _check_settings(self, n_features: int, n_labels: int) -> None:
        self._forest_config(table_of_shape(n_features, n_labels))

    def _forest_config(self, table: TrainingTable) -> ForestConfig:
        require_integer(self.n_estimators, "n_estimators", 1)
        require_integer(self.min_samples_split, "min_samples_split", 2)
        require_tree_parameters(self)
        n_samples, n_features = table.features.shape
        return ForestConfig(
            n_labels=table.positions.shape[1],
            n_trees=int(self.n_estimators),
            criterion=self._criterion,
            purity="ranking",
            splitter="best",
            max_depth=int(self.max_depth),
            n_candidates=resolve_max_features(self.max_features, n_features),
            min_samples_split=int(self.min_samples_split),
            min_samples_leaf=int(self.min_samples_leaf),
            bootstrap=bool(self.bootstrap),
            aggregation=self._aggregation,
            max_thresholds=resolve_max_bins(self.max_bins, n_samples),
        )
