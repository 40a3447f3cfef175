"""LR-Boost: utilities of labels as sums of small trees, boosted on the Bradley-Terry loss.

Each pair of ranked labels is an observation of Bradley and Terry's model, "Rank analysis of
incomplete block designs", Biometrika 1952, as in :mod:`lrrf_jax.learners.ll`; boosting takes the
place of linear functions (Friedman 2001; Dekel, Manning and Singer, NIPS 2003, section 5).
"""

import concurrent.futures
import dataclasses
import functools
import math
from typing import Annotated, Any, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._backend import Backend, backend_of
from lrrf_jax._devices import growing_devices, local_devices
from lrrf_jax._jax_settings import our_settings
from lrrf_jax._numerics import product
from lrrf_jax._programs import jit
from lrrf_jax._threads import thread_count
from lrrf_jax._threefry import derive_keys, key_of
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._validation import InputError, require_integer, require_number
from lrrf_jax._xla import SLICING_OPTIONS, bucket_size
from lrrf_jax.inference.ready import ReadyForest, make_ready, rows_at_once, sum_over_trees
from lrrf_jax.learners._table import TableShape, TrainingTable
from lrrf_jax.learners.base import LabelRanker
from lrrf_jax.learners.batching import TILE, map_tiles
from lrrf_jax.learners.forest.aggregation import ranks_of_sums
from lrrf_jax.learners.forest.config import candidates_of, thresholds_of
from lrrf_jax.learners.forest.fit import ForestParams, Importances, importances_of
from lrrf_jax.learners.linear.blocks import row_weights
from lrrf_jax.learners.linear.preferences import utility_preferences
from lrrf_jax.learners.on_device import RowFunction
from lrrf_jax.learners.persistence import schema
from lrrf_jax.learners.persistence.content import Content
from lrrf_jax.learners.persistence.forests import StoredForest, unpack_forest
from lrrf_jax.learners.persistence.schema import Range
from lrrf_jax.trees.binning import bin_features, candidate_thresholds
from lrrf_jax.trees.blocks import Grown, suited_to
from lrrf_jax.trees.boosting import (
    MAX_ROUNDS,
    MAX_STEP,
    UNIT,
    Boosted,
    NewtonGain,
    Progress,
    as_forest,
    boost,
)
from lrrf_jax.trees.draws import keys_of_trees
from lrrf_jax.trees.forest import Forest, node_levels
from lrrf_jax.trees.growth import GrowthConfig, Samples, Sizes
from lrrf_jax.trees.padding import share_program

_MAX_DEPTH = 8
_LEAST_ROWS = 10  # fewer are not held out
_MANY_ROWS = 5_000  # of which one part tells enough
_LEAST_PROBABILITY = 1e-7  # of a pair, in the loss
_FOLDS, _SHARE_OF_MANY = 5, 10


@dataclasses.dataclass(frozen=True)
class BoostConfig:
    """Settings of a fitted model."""

    n_labels: Annotated[int, Range(2)]
    n_trees: Annotated[int, Range(1, MAX_ROUNDS)]


def bradley_terry(
    total: Array,  # int32 (n_samples, n_labels), utilities in units
    positions: Array,  # float32 (n_samples, n_labels), NaN: missing
    weight: Array,  # float32 (n_samples,)
    scale: Array,  # float32 ()
) -> tuple[Array, Array]:  # int32 (n_samples, 2 n_labels), float32 (n_samples,)
    """Sum slopes, curvatures and losses over the pairs of each ranking.

    Pairs are rounded before they are summed, so that no order of the labels is another result.
    Twice the diagonal of the curvature is above the whole of it, and is it for two labels.
    """
    n_rows, n_labels = total.shape
    tile = TILE if n_rows % TILE == 0 else n_rows
    # Padding is not looked at.
    n_tiles = (jnp.count_nonzero(weight > 0) + tile - 1) // tile
    labels_used = jnp.count_nonzero((positions == positions).any(0)).astype(jnp.int32)

    def of_tile(number: Array, sums: tuple[Array, Array]) -> tuple[Array, Array]:
        def own(array: Array) -> Array:
            return lax.dynamic_slice_in_dim(array, number * tile, tile)

        utility, place = own(total).T, own(positions).T
        worth, share = product(own(weight), scale), own(weight)

        def against(label: Array, sums: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            """Compare a label with those that it is before."""
            slope, curvature, lost = sums
            first = place[label] < place
            wrong = jax.nn.sigmoid((utility - utility[label]).astype(jnp.float32) * UNIT)
            pull = jnp.where(first, jnp.round(worth * wrong), 0).astype(jnp.int32)
            bend = jnp.where(first, jnp.round(worth * 2 * wrong * (1 - wrong)), 0)
            bend = bend.astype(jnp.int32)
            log_right = jnp.log(jnp.maximum(1 - wrong, _LEAST_PROBABILITY))
            return (
                (slope - pull).at[label].add(pull.sum(0)),
                (curvature + bend).at[label].add(bend.sum(0)),
                lost - jnp.where(first, log_right, 0).sum(0) * share,
            )

        nothing = jnp.zeros((n_labels, tile), jnp.int32)
        start = nothing, nothing, jnp.zeros(tile, jnp.float32)
        slope, curvature, lost = lax.fori_loop(0, labels_used, against, start)
        stat = jnp.concatenate([slope, curvature]).T
        first_row = number * tile
        return (
            lax.dynamic_update_slice_in_dim(sums[0], stat, first_row, 0),
            lax.dynamic_update_slice_in_dim(sums[1], lost, first_row, 0),
        )

    nothing = jnp.zeros((n_rows, 2 * n_labels), jnp.int32), jnp.zeros(n_rows, jnp.float32)
    sums: tuple[Array, Array] = lax.fori_loop(jnp.int32(0), n_tiles, of_tile, nothing)
    return sums


class _Table(NamedTuple):
    """A training table as all runs of a fit see it."""

    samples: Samples
    config: GrowthConfig
    target: NDArray  # float32 (n_rows, n_values), NaN: missing, padding
    weight: NDArray  # float32 (n_rows,), 0: padding
    scale: np.float32


def _padded_table(table: TrainingTable, ranker: "BoostedLabelRanker", max_depth: int) -> _Table:
    """Bin the features, and pad all, so that tables of like sizes share a program."""
    (n_samples, n_features), n_labels = table.features.shape, table.positions.shape[1]
    thresholds = candidate_thresholds(table.features, thresholds_of(ranker.max_bins, n_samples))
    n_candidates = candidates_of(ranker.max_features, n_features)
    weight = row_weights(table)
    # Slopes and curvatures of all rows, at most n_labels - 1 each, sum to less than 2**30.
    total_weight = float(weight.sum(dtype=np.float64))
    bits = math.floor(math.log2(2**30 / (bucket_size(math.ceil(total_weight)) * n_labels)))
    scale = 2.0 ** min(20, bits)
    leaf = min(int(ranker.min_samples_leaf), n_samples)
    sizes = n_samples, n_features, n_candidates, thresholds.shape[1], 1, leaf
    samples = Samples(
        bin_index=bin_features(table.features, thresholds),
        stat=np.zeros((n_samples, 2 * n_labels), np.int32),
        leaf_stat=np.zeros((n_samples, 1), np.int32),
        weight=np.ones(n_samples, np.int32),
        thresholds=thresholds,
        sizes=Sizes(*map(np.int32, sizes)),
    )
    config = GrowthConfig(
        criterion=NewtonGain(n_labels, masked=True, ridge=float(ranker.ridge) * scale),
        max_depth=max_depth,
        n_candidates=n_candidates,
        n_features=n_features,
        n_bins=thresholds.shape[1] + 1,
        has_missing=bool(np.isnan(table.features).any()),
        bootstrap=False,
    )
    backend = backend_of(growing_devices())
    samples, config = share_program(samples, suited_to(backend, config), backend)
    n_rows, n_values = len(samples.weight), samples.stat.shape[1] // 2
    target = np.full((n_rows, n_values), np.nan, np.float32)
    target[:n_samples, :n_labels] = table.positions[:, table.label_order]
    return _Table(
        samples, config, target, np.pad(weight, (0, n_rows - n_samples)), np.float32(scale)
    )


def fit_boost(
    key: jax.Array, table: TrainingTable, ranker: "BoostedLabelRanker"
) -> tuple[ForestParams, NDArray | None]:  # float64 (n_rounds + 1,), losses held out
    """Find the number of rounds on rows held out, and boost so often on all rows."""
    padded = _padded_table(table, ranker, int(ranker.max_depth))
    n_samples, most = len(table.features), int(ranker.n_estimators)
    room = bucket_size(most, per_octave=1)
    keys = keys_of_trees(key, np.arange(room, dtype=np.int32))
    arrays = jax.device_put(
        (keys, padded.samples, padded.target, padded.weight), growing_devices()[0]
    )
    rate, subsample = np.float32(ranker.learning_rate), np.float32(ranker.subsample)

    def run(held: NDArray | None, n_rounds: int, patience: int) -> Boosted:
        learns = np.ones(len(padded.weight), bool)
        if held is not None:
            learns[held] = False
        progress = Progress(rate, subsample, np.int32(n_rounds), np.int32(patience))
        with our_settings():  # which threads do not inherit
            boosted = boost(
                *arrays, learns, padded.scale, progress, padded.config, loss=bradley_terry
            )
            return Boosted(*jax.device_get(boosted))

    losses, n_rounds = None, most
    if ranker.n_iter_no_change is not None and n_samples >= _LEAST_ROWS:
        stop = functools.partial(run, n_rounds=most, patience=int(ranker.n_iter_no_change))
        losses = _losses_held_out(stop, _parts(key, n_samples))
        n_rounds = max(1, int(np.argmin(losses)))
    boosted = run(None, n_rounds, most)
    forest = as_forest(boosted, n_rounds)
    gain = node_levels(boosted.gain[:n_rounds], forest.depth, 0)
    importances = importances_of(Grown(forest, gain), table.features.shape[1])
    values = forest.leaf_value[:, np.argsort(table.label_order)]
    return ForestParams(
        forest._replace(leaf_value=np.ascontiguousarray(values)), importances
    ), losses


def _parts(key: jax.Array, n_samples: int) -> list[NDArray]:
    """Draw the rows to hold out: each fold in turn, or a tenth of many rows."""
    order = np.argsort(derive_keys(key_of(key), np.arange(n_samples))[:, 0], kind="stable")
    if n_samples > _MANY_ROWS:
        return [order[: n_samples // _SHARE_OF_MANY]]
    return np.array_split(order, _FOLDS)


def _losses_held_out(stop: Any, parts: list[NDArray]) -> NDArray:
    """Sum the losses of rows held out; where a run had stopped, it keeps its last loss."""
    runs = [stop(parts[0])]  # alone, so that its program is compiled once
    with concurrent.futures.ThreadPoolExecutor(thread_count()) as pool:
        runs += pool.map(stop, parts[1:])
    longest = max(int(run.n_rounds) for run in runs)
    total = np.zeros(longest)
    for run in runs:
        losses = run.held_out[: int(run.n_rounds)].astype(np.float64)
        total += np.pad(losses, (0, longest - len(losses)), mode="edge")
    return total


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
        Number of trees; with ``n_iter_no_change``, the largest.
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
        Candidate features per node: a number, a share, floor(log2 n_features) + 1, ..., all.
    max_bins : "auto", "exact" or int
        Candidate thresholds per feature, at most 255; "exact" keeps every midpoint while they fit.
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
