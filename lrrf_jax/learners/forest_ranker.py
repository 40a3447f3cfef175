"""What every learner shares whose model is a forest: prediction, leaves, importances, checks."""

from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.learners import forest_views
from lrrf_jax.learners.base import LabelRanker
from lrrf_jax.learners.forest_config import ForestConfig
from lrrf_jax.learners.forest_growth import ForestParams
from lrrf_jax.learners.forest_prediction import ReadyForests, forest_ranks, forest_scores
from lrrf_jax.trees.forest import Forest, invariant_violation


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
            0 .. 2**max_depth - 1, leaves of the complete tree from left to right.
        """
        return forest_views.leaves(self._features(X), self._ready_forests().on_one())

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

    def _check_params(self, params: ForestParams) -> str | None:
        if params.importances.shape != (self.n_features_in_,):
            return f"importances have shape {params.importances.shape}"
        if not np.isfinite(params.importances).all():
            return "importances are not finite"
        n_labels = len(self.labels_)
        two_step = self.config_.aggregation in ("two-step", "one-step")
        n_outputs = n_labels if two_step else n_labels * (n_labels - 1) // 2
        problem = invariant_violation(params.forest, self.n_features_in_)
        if problem is None and params.forest.n_outputs != n_outputs:
            problem = f"leaves hold {params.forest.n_outputs} numbers, not {n_outputs}"
        return problem
