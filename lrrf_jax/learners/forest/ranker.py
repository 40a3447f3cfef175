"""What every learner shares whose model is a forest: prediction, leaves, importances, checks."""

from typing import Any, NamedTuple

import numpy as np

from lrrf_jax._jax_settings import our_settings
from lrrf_jax._typing import NDArray
from lrrf_jax.learners import schema
from lrrf_jax.learners.base import LabelRanker
from lrrf_jax.learners.forest import views
from lrrf_jax.learners.forest.aggregation import leaf_violation, numbers_in_leaf
from lrrf_jax.learners.forest.config import ForestConfig
from lrrf_jax.learners.forest.fit import ForestParams, Importances
from lrrf_jax.learners.forest.predict import ReadyForests, forest_ranks, forest_scores
from lrrf_jax.learners.forest.storage import (
    FlatForest,
    StoredForest,
    forest_of_flat,
    unpack_forest,
)
from lrrf_jax.learners.persistence import Content
from lrrf_jax.trees.forest import Forest


class ForestLabelRanker(LabelRanker):
    """A label ranker that keeps a :class:`Forest`; a learner adds its parameters and ``_fit``."""

    params_type = ForestParams
    config_type = ForestConfig

    # ------------------------------------------------------------------------------- predict
    def _forget_derived(self) -> None:
        super()._forget_derived()
        self.__dict__.pop("_ready", None)

    def _set_fitted(self, params: Any, config: Any, labels: Any, feature_names: Any) -> None:
        super()._set_fitted(params, config, labels, feature_names)
        self._ready = ReadyForests(params.forest)  # nothing is on a device yet

    def _ready_forests(self) -> ReadyForests:
        if "_ready" not in self.__dict__:
            self._ready = ReadyForests(self.params_.forest)
        return self._ready

    def _ranks(self, features: NDArray) -> Any:
        return self._ready_forests().apply(forest_ranks, features, **self._static())

    def _scores(self, features: NDArray) -> Any:
        return self._ready_forests().apply(forest_scores, features, **self._static())

    def _static(self) -> dict[str, Any]:
        return {"n_labels": self.config_.n_labels, "aggregation": self.config_.aggregation}

    def apply(self, X: Any) -> NDArray:
        """Leaf that each row reaches in each tree.

        Returns
        -------
        int32 (n_samples, n_estimators)
            0 .. 2**max_depth - 1, leaves of the complete tree from left to right. A number does
            not change with the depth that the trees reach. ``forest_`` may have fewer levels; a
            column of its ``leaf_slot`` is ``leaf >> (max_depth - forest_.depth)``.
        """
        features = self._features(X)
        with our_settings():
            leaf = views.leaves(features, self._ready_forests().on_one())
        return views.leaf_at_depth(leaf, self.forest_.depth, self.config_.max_depth)

    def _leaf_slots(self, X: Any) -> NDArray:  # int32 (n_samples, n_estimators)
        """Row of ``forest_.leaf_value`` that each row reaches in each tree."""
        features = self._features(X)
        with our_settings():
            return views.slots(features, self._ready_forests().on_one())

    # ------------------------------------------------------------------------------- fitted
    @property
    def forest_(self) -> Forest:
        """The fitted trees."""
        return self.params_.forest

    @property
    def feature_importances_(self) -> NDArray:
        """Mean share of the impurity that splits on each feature took away."""
        total = np.asarray(self.params_.importances, np.float64)
        return total / total.sum() if total.sum() > 0 else total

    @classmethod
    def _n_outputs(cls, config: ForestConfig, n_labels: int) -> int:
        return numbers_in_leaf(n_labels, config.aggregation)

    @classmethod
    def _read_arrays(
        cls, arrays: dict[str, NDArray], content: Content, format_version: int
    ) -> ForestParams:
        config = content.config
        sizes = {**content.sizes, "n_trees": config.n_trees}
        stored = schema.arrays_of(_FILES[format_version], arrays, sizes)
        if format_version == 1:
            forest = forest_of_flat(stored.forest, sizes["n_features"], config.max_depth)
        else:
            forest = unpack_forest(stored.forest, config.n_trees, config.max_depth)
        return ForestParams(forest, stored.importances)

    def _check_params(self, params: ForestParams) -> str | None:
        config = self.config_
        values = params.forest.leaf_value
        return leaf_violation(values, config.n_trees, config.n_labels, config.aggregation)


class _StoredParams(NamedTuple):
    forest: StoredForest
    importances: Importances


class _FlatParams(NamedTuple):
    forest: FlatForest
    importances: Importances


_FILES: dict[int, type] = {1: _FlatParams, 2: _StoredParams}
