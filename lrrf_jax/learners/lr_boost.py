"""LR-Boost: utilities of labels as sums of small trees, boosted on the Bradley-Terry loss.

Each pair of ranked labels is an observation of Bradley and Terry's model, "Rank analysis of
incomplete block designs", Biometrika 1952, as in :mod:`lrrf_jax.learners.ll`; boosting takes the
place of linear functions (Friedman 2001; Dekel, Manning and Singer, NIPS 2003, section 5).
"""

import dataclasses
import functools
from typing import Annotated, Any, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np

from lrrf_jax._backend import Backend
from lrrf_jax._devices import local_devices
from lrrf_jax._programs import jit
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._validation import InputError, require_integer, require_number
from lrrf_jax._xla import SLICING_OPTIONS, bucket_size
from lrrf_jax.inference.ready import ReadyForest, make_ready, rows_at_once, sum_over_trees
from lrrf_jax.learners._table import TableShape, TrainingTable
from lrrf_jax.learners.base import LabelRanker
from lrrf_jax.learners.batching import map_tiles
from lrrf_jax.learners.boosting.fit import fit_boost
from lrrf_jax.learners.boosting.rounds import MAX_ROUNDS, MAX_STEP, UNIT
from lrrf_jax.learners.forest.aggregation import ranks_of_sums
from lrrf_jax.learners.forest.config import candidates_of, thresholds_of
from lrrf_jax.learners.forest.fit import ForestParams, Importances
from lrrf_jax.learners.linear.preferences import utility_preferences
from lrrf_jax.learners.on_device import RowFunction
from lrrf_jax.learners.persistence import schema
from lrrf_jax.learners.persistence.content import Content
from lrrf_jax.learners.persistence.forests import StoredForest, unpack_forest
from lrrf_jax.learners.persistence.schema import Range
from lrrf_jax.trees.forest import Forest

_MAX_DEPTH = 8


@dataclasses.dataclass(frozen=True)
class BoostConfig:
    """Settings of a fitted model."""

    n_labels: Annotated[int, Range(2)]
    n_trees: Annotated[int, Range(1, MAX_ROUNDS)]


def _with_room(forest: Forest) -> Forest:
    """Add trees that say nothing: forests of like numbers of trees share a program."""
    n_more = bucket_size(forest.n_trees, per_octave=4, least=16) - forest.n_trees
    n_leaves, n_slots = forest.leaf_slot.shape[1], len(forest.leaf_value)
    idle = Forest(
        feature=np.zeros((n_more, n_leaves - 1), np.int32),
        threshold=np.full((n_more, n_leaves - 1), np.inf, np.float32),
        missing_left=np.zeros((n_more, n_leaves - 1), bool),
        leaf_slot=np.full((n_more, n_leaves), n_slots, np.int32),
        leaf_value=np.zeros((1, forest.n_outputs), np.int32),
    )
    return Forest(*(np.concatenate(fields) for fields in zip(forest, idle, strict=True)))


@functools.partial(jit, static_argnames=("n_labels", "of_ranks"), compiler_options=SLICING_OPTIONS)
def boosted_rows(
    forest: ReadyForest,
    features: Array,  # float32 (n_samples, n_features)
    *,
    n_labels: int,
    of_ranks: bool,
) -> Array:  # int32 or float32 (n_samples, n_labels)
    """Rank the labels of each row by their utilities, or give the utilities."""
    chex.assert_rank([features, forest.leaf_slot, forest.leaf_value], 2)
    chex.assert_type(features, jnp.float32)

    def rows(block: Array) -> Array:
        sums = sum_over_trees(forest, block)
        if of_ranks:
            return ranks_of_sums(sums, n_labels, "one-step")
        return sums.astype(jnp.float32) * jnp.float32(UNIT)

    return map_tiles(rows, features, rows_at_once(forest))


class BoostedLabelRanker(LabelRanker):
    """Boosted utilities of labels (LR-Boost): small trees, each for what those before left over.

    Each label has a utility, the sum of one number per tree, and labels are ranked by it. Trees
    are grown one after another, each a step toward a smaller ``log(1 + exp(utility of the worse -
    utility of the better))``, summed over all pairs of ranked labels: the loss of "ll", with trees
    in place of linear functions. One tree serves all labels, with a number for each in its leaves.

    Parameters
    ----------
    n_estimators : int
        Number of trees, or the largest where ``n_iter_no_change`` stops before.
    learning_rate : float
        Share of each Newton step that is taken, more than 0.
    max_depth : int
        Tests on the longest path, at most 8.
    min_samples_leaf : int
        Minimum number of rows, of those that a tree is grown with, in the children of a split.
    ridge : float
        Added to the curvature of the loss in every leaf, for each label: about a row of mean weight
        whose pairs are undecided has (n_labels - 1) / 2. Larger is smoother.
    subsample : float
        Share of the rows that splits are searched with, drawn anew for each tree. The numbers in
        the leaves come of all rows.
    max_features : int, float, "log2+1", "sqrt", "log2" or None
        Features that a node may split on, as those of a forest: a number, a share, ..., all.
    max_bins : "auto", "exact" or int
        Thresholds to choose from per feature, at most 255; "exact": all midpoints while they fit.
    n_iter_no_change : int or None
        Hold out rows, and stop when so many rounds did not lower their loss: each of five parts
        in turn, or of more than 5,000 rows a tenth. Then all rows are boosted for as many rounds
        as had the smallest loss in all. None, or fewer than 10 rows: grow all trees.
    random_state : int, RandomState or None
        The same int gives the same bytes, whatever the threads.

    Attributes
    ----------
    n_estimators_ : int
        Number of trees.
    forest_ : Forest
        Its leaves hold utilities in units of 2**-16.
    feature_importances_ : float64 (n_features,)
        Mean share of what splits on a feature took off the loss; sums to 1, or to 0 where no tree
        split.
    held_out_loss_ : float64 (n_rounds,)
        Summed loss of the rows held out, before each round; not in model files, and not there
        where none were held out.

    Notes
    -----
    Labels that tie have no preference. Features may be missing: trees learn where these go.

    Weights count in the loss, not in the minimum size of leaves. A whole weight is as good as
    copies of its row but for rounding, thresholds, and rows that are drawn or held out.

    Fit costs O(n_samples n_features n_labels max_depth) per round, six rounds or two for each
    where rows are held out, and O(n_samples n_labels^2) for the loss; predict, O(n_estimators) per
    row. Fits on CPUs hold out several parts at a time, in threads. It uses one device.

    The gains of splits, and leaves, are those of Chen and Guestrin, "XGBoost" (KDD 2016), with
    twice the diagonal of the curvature, which is an upper bound of all of it.

    Examples
    --------
    >>> from lrrf_jax.learners import BoostedLabelRanker
    >>> ranker = BoostedLabelRanker(20, random_state=0)
    >>> ranker = ranker.fit([[0.0], [1], [2], [3]], [[1, 2], [1, 2], [2, 1], [2, 1]])
    >>> ranker.predict([[0.5], [2.5]]).tolist()
    [[1, 2], [2, 1]]
    """

    name = "lr-boost"

    n_estimators: int = dataclasses.field(default=500, kw_only=False)
    learning_rate: float = 0.1
    max_depth: int = 4
    min_samples_leaf: int = 1
    ridge: float = 1.0
    subsample: float = 0.8
    max_features: Any = None
    max_bins: Any = "auto"
    n_iter_no_change: int | None = 20
    random_state: Any = None

    codes_categories = "ordered"
    params_type = ForestParams
    config_type = BoostConfig

    def _check_settings(self, shape: TableShape) -> None:
        require_integer(self.n_estimators, "n_estimators", 1, MAX_ROUNDS)
        require_number(self.learning_rate, "learning_rate")
        require_integer(self.max_depth, "max_depth", 1, _MAX_DEPTH)
        require_integer(self.min_samples_leaf, "min_samples_leaf", 1)
        require_number(self.ridge, "ridge")
        require_number(self.subsample, "subsample")
        for name, most in (("learning_rate", 1), ("subsample", 1)):
            if not 0 < getattr(self, name) <= most:
                value = getattr(self, name)
                raise InputError(f"{name} must be a number in (0, {most}]; it is {value!r}.")
        if self.n_iter_no_change is not None:
            require_integer(self.n_iter_no_change, "n_iter_no_change", 1)
        candidates_of(self.max_features, shape.n_features)
        thresholds_of(self.max_bins, shape.n_samples)

    def _fit(self, key: jax.Array, table: TrainingTable) -> tuple[ForestParams, BoostConfig]:
        params, losses = fit_boost(key, table, self)
        self.__dict__.pop("held_out_loss_", None)
        if losses is not None:
            self.held_out_loss_: NDArray = losses
        return params, BoostConfig(table.positions.shape[1], params.forest.n_trees)

    # ------------------------------------------------------------------------------- predict
    @classmethod
    def _arrays(cls, params: ForestParams, config: BoostConfig, backend: Backend) -> ReadyForest:
        return make_ready(_with_room(params.forest), backend)

    def _row_function(self, of_ranks: bool) -> RowFunction:
        return RowFunction.of(boosted_rows, n_labels=self.config_.n_labels, of_ranks=of_ranks)

    def _row_bytes(self) -> int:
        return 8 * (self.forest_.n_trees + 2 * self.config_.n_labels)

    def _rows(self, features: NDArray, of_ranks: bool) -> Any:
        forest = self._placed_arrays().on(local_devices()[0])
        return boosted_rows(forest, features, n_labels=self.config_.n_labels, of_ranks=of_ranks)

    def _ranks(self, features: NDArray) -> Any:
        return self._rows(features, True)

    def _scores(self, features: NDArray) -> Any:
        return self._rows(features, False)

    def _preferences(self, features: NDArray) -> NDArray:
        return utility_preferences(self._map_rows(False, features))

    # ------------------------------------------------------------------------------- fitted
    @property
    def forest_(self) -> Forest:
        """The fitted trees."""
        return self.params_.forest

    @property
    def n_estimators_(self) -> int:
        """Number of trees."""
        return int(self.forest_.n_trees)

    @property
    def feature_importances_(self) -> NDArray:
        """Mean share of what splits on each feature took off the loss."""
        total = np.asarray(self.params_.importances, np.float64)
        return total / total.sum() if total.sum() > 0 else total

    @classmethod
    def _read_arrays(
        cls, arrays: dict[str, NDArray], content: Content, format_version: int
    ) -> ForestParams:
        stored = schema.arrays_of(_StoredParams, arrays, content.sizes)
        forest = unpack_forest(stored.forest, content.config.n_trees, _MAX_DEPTH)
        return ForestParams(forest, stored.importances)

    def _check_params(self, params: ForestParams) -> str | None:
        values = np.asarray(params.forest.leaf_value)
        if values.min() < -MAX_STEP or values.max() > MAX_STEP:
            return f"a leaf holds more than {MAX_STEP}"
        return None


class _StoredParams(NamedTuple):
    forest: StoredForest
    importances: Importances
