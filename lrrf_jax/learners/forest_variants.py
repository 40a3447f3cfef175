"""Forests that differ from LR-RF in what their splits set apart, by a fixed configuration each."""

from typing import Any, ClassVar

from lrrf_jax._validation import require_choice, require_integer
from lrrf_jax.learners._table import TrainingTable
from lrrf_jax.learners.forest_config import ForestConfig, resolve_max_features
from lrrf_jax.learners.forest_growth import ForestParams, fit_forest
from lrrf_jax.learners.forest_ranker import ForestLabelRanker
from lrrf_jax.trees.binning import resolve_max_bins
from lrrf_jax.trees.forest import MAX_DEPTH


class ForestVariant(ForestLabelRanker):
    """A forest grown with one criterion; a learner names it, and sets its own defaults."""

    _criterion: ClassVar[str]
    _aggregation: ClassVar[str]

    n_estimators: Any
    max_features: Any
    max_depth: Any
    min_samples_split: Any
    min_samples_leaf: Any
    bootstrap: Any
    max_bins: Any

    def _fit(self, key: Any, table: TrainingTable) -> tuple[ForestParams, ForestConfig]:
        config = self._forest_config(table)
        return fit_forest(key, table, config)[0], config

    def _forest_config(self, table: TrainingTable) -> ForestConfig:
        require_integer(self.n_estimators, "n_estimators", 1)
        require_integer(self.max_depth, "max_depth", 1, MAX_DEPTH)
        require_integer(self.min_samples_split, "min_samples_split", 2)
        require_integer(self.min_samples_leaf, "min_samples_leaf", 1)
        if not isinstance(self.max_bins, str):
            require_integer(self.max_bins, "max_bins", 1, 255)
        else:
            require_choice(self.max_bins, "max_bins", ("auto", "exact"))
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
