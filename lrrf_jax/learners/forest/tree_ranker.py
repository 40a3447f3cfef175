"""What every learner shares whose model is one tree or many: settings, prediction, importances."""

from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np

from lrrf_jax._backend import Backend
from lrrf_jax._devices import backend_in_use, local_devices
from lrrf_jax._jax_settings import our_settings, require_devices
from lrrf_jax._typing import NDArray
from lrrf_jax.inference.few_rows import is_exact_here
from lrrf_jax.inference.ready import ReadyForest, make_ready
from lrrf_jax.learners._table import TableShape, TrainingTable
from lrrf_jax.learners.base import LabelRanker
from lrrf_jax.learners.batching import map_rows
from lrrf_jax.learners.forest.aggregation import SHRUNKEN, leaf_violation, numbers_in_leaf
from lrrf_jax.learners.forest.config import ForestConfig
from lrrf_jax.learners.forest.few_rows import FewRowsRanker
from lrrf_jax.learners.forest.fit import ForestParams, Grower, Importances, importances_of
from lrrf_jax.learners.forest.leaves import leaves
from lrrf_jax.learners.forest.pair_shares import preferences_of_sums, sign_shares
from lrrf_jax.learners.forest.predict import (
    apply_spread,
    forest_ranks,
    forest_scores,
    forest_sums,
)
from lrrf_jax.learners.forest.reasons import TreeReasons
from lrrf_jax.learners.forest.warm_start import LastFit
from lrrf_jax.learners.on_device import RowFunction
from lrrf_jax.learners.persistence import schema
from lrrf_jax.learners.persistence.content import Content
from lrrf_jax.learners.persistence.forests import (
    FlatForest,
    StoredForest,
    forest_of_flat,
    unpack_forest,
)
from lrrf_jax.learners.streaming import Seen
from lrrf_jax.trees.blocks import Grown
from lrrf_jax.trees.forest import Forest


class TreeLabelRanker(LabelRanker, TreeReasons):
    """A label ranker that keeps a :class:`Forest`, of one tree or many.

    Parameters
    ----------
    max_depth : int
        Tests on the longest path, at most 16.
    min_samples_split : int
        Minimum number of rows in a node to be split: repeats in the bootstrap counted, weights not.
    min_samples_leaf : int
        The same of the children of a split.
    max_bins : "auto", "exact" or int
        Candidate thresholds per feature, at most 255; "exact" keeps every midpoint while they fit.
    random_state : int, RandomState or None
        The same int gives the same bytes, whatever the threads or devices.

    Attributes
    ----------
    forest_ : Forest
    feature_importances_ : float64 (n_features,)
        Mean share of the impurity that splits on a feature took away; sums to 1, or to 0 where
        no tree split.
    """

    max_depth: int = 16
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    max_bins: Any = "auto"
    random_state: Any = None

    codes_categories = "ordered"
    params_type = ForestParams
    config_type = ForestConfig
    criteria: ClassVar[tuple[str, ...]] = ()  # of which users choose
    fixed: ClassVar[dict[str, Any]] = {}  # what `ForestConfig.of` gets in place of parameters

    # ------------------------------------------------------------------------------- fit
    def _config(self, shape: TableShape) -> ForestConfig:
        return ForestConfig.of(self, shape, **self.fixed)

    def _check_settings(self, shape: TableShape) -> None:
        self._config(shape)

    def _fit(self, key: jax.Array, table: TrainingTable) -> tuple[ForestParams, ForestConfig]:
        config = self._config(table.shape)
        with Grower(key, table, config) as grower:
            grown = grower.grow(config.n_trees)
        params = self._params_of(key, table, config, grown)
        self._last_fit = LastFit.of(table, config, self.missing, self._seed, grown)
        return params, config

    def _params_of(
        self, key: jax.Array, table: TrainingTable, config: ForestConfig, grown: Grown
    ) -> ForestParams:
        """Make parameters of all trees of a fit."""
        forest = self._with_leaves(key, table, config, grown.forest)
        return ForestParams(forest, importances_of(grown, table.features.shape[1]))

    def _with_leaves(
        self,
        key: jax.Array,
        table: TrainingTable,
        config: ForestConfig,
        forest: Forest,
        first_tree: int = 0,
    ) -> Forest:
        """Give leaves what they hold in the end, which more than their sums may decide."""
        return forest

    # ------------------------------------------------------------------------------- predict
    def _forget_derived(self) -> None:
        super()._forget_derived()
        self.__dict__.pop("_few_rows", None)

    def _prepare(self) -> None:
        super()._prepare()
        self._few_rows = FewRowsRanker(self.params_.forest, **self._static())

    @classmethod
    def _arrays(cls, params: ForestParams, config: ForestConfig, backend: Backend) -> ReadyForest:
        return make_ready(params.forest, backend)

    def _row_function(self, of_ranks: bool) -> RowFunction:
        return RowFunction.of(forest_ranks if of_ranks else forest_scores, **self._static())

    def _row_bytes(self) -> int:
        # As compiled for an H200: 6.3 per tree, or 6 per number in a leaf, whichever is more.
        forest = self.params_.forest
        return 8 * (forest.n_trees + forest.n_outputs + self.config_.n_labels)

    def _on_host(self, n_rows: int, seen: Seen | None = None) -> FewRowsRanker | None:
        if "_few_rows" not in self.__dict__:
            self._few_rows = FewRowsRanker(self.params_.forest, **self._static())
        few = self._few_rows
        if n_rows > few.most_rows and not (seen and few.spares_compiling(n_rows, seen)):
            return None
        require_devices()  # whatever the number of rows
        return few if backend_in_use().on_host and is_exact_here() else None

    def _ranks(self, features: NDArray) -> Any:
        return apply_spread(forest_ranks, self._placed_arrays(), features, **self._static())

    def _scores(self, features: NDArray) -> Any:
        return apply_spread(forest_scores, self._placed_arrays(), features, **self._static())

    def _preferences(self, features: NDArray) -> NDArray:
        aggregation = self.config_.aggregation
        if aggregation not in SHRUNKEN:
            return sign_shares(self.forest_, self._leaves(features), **self._static())
        return preferences_of_sums(self._sums(features), self.forest_.n_trees, aggregation)

    def _on_one(self) -> ReadyForest:
        """Return the forest as it lies on the first device of this process."""
        return self._placed_arrays().on(local_devices()[0])

    def _static(self) -> dict[str, Any]:
        return {"n_labels": self.config_.n_labels, "aggregation": self.config_.aggregation}

    def _sums(self, features: NDArray) -> NDArray:  # whole numbers (n_samples, n_outputs)
        seen = self._seen("sums")
        few = self._on_host(len(features), seen)
        if few is not None:
            return few.sums(features)
        with our_settings():
            forest = self._on_one()
            return map_rows(lambda rows: forest_sums(forest, rows), features, seen)

    def _leaves(self, features: NDArray) -> NDArray:  # int32 (n_samples, n_estimators)
        seen = self._seen(None)
        few = self._on_host(len(features), seen)
        if few is not None:
            return few.leaves(features)
        with our_settings():
            return leaves(features, self._on_one(), seen)

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
