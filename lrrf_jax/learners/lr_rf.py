"""LR-RF: a random forest whose leaves hold neighbours, and Borda's method over their rankings.

Zhou and Qiu, "Random forest for label ranking", 2018. Trees split on the top label as a class
(TLAC) or another criterion; each leaf keeps one consensus of the rankings in it; a row gets the
consensus of its leaves over the trees.
"""

import dataclasses
import functools
import math
from typing import Any, NamedTuple

import jax
import numpy as np

from lrrf_jax._typing import AnyArray, Array, NDArray
from lrrf_jax._validation import InputError, require_choice, require_integer
from lrrf_jax.learners import forest_views
from lrrf_jax.learners._table import TrainingTable
from lrrf_jax.learners.base import LabelRanker
from lrrf_jax.learners.batching import map_tiles
from lrrf_jax.learners.fixed_point import integer_weights, largest_scale
from lrrf_jax.learners.forest_aggregation import (
    AGGREGATIONS,
    leaf_statistics,
    ranks_of_sums,
    scores_of_sums,
)
from lrrf_jax.rankings.pairwise import pair_signs
from lrrf_jax.rankings.statistics import label_at_position, ranking_classes
from lrrf_jax.trees.binning import bin_features, candidate_thresholds, resolve_max_bins
from lrrf_jax.trees.criterion import (
    DENSE_CLASSES,
    ClassEntropy,
    Criterion,
    SparseClassEntropy,
    Variance,
)
from lrrf_jax.trees.ensemble import grow_forest, join
from lrrf_jax.trees.forest import MAX_DEPTH, Forest, invariant_violation, is_split
from lrrf_jax.trees.grower import GrowthConfig, Samples
from lrrf_jax.trees.inference import ReadyForest, make_ready, sum_over_trees
from lrrf_jax.trees.xla import COMPILER_OPTIONS, bucket_size

CRITERIA = ("tlac", "rac", "pairwise", "positions")


class LRRFParams(NamedTuple):
    """What a fitted forest is made of."""

    forest: Forest
    importances: AnyArray  # float32 (n_features,)


@dataclasses.dataclass(frozen=True)
class LRRFConfig:
    """Settings of a fitted forest; ``aggregation`` is never "auto" here."""

    n_labels: int
    n_trees: int
    criterion: str
    purity: str
    splitter: str
    max_depth: int
    n_candidates: int
    min_samples_split: int
    min_samples_leaf: int
    bootstrap: bool
    aggregation: str
    max_thresholds: int
    histogram_bytes: int = 2**29


def growth_samples(table: TrainingTable, config: LRRFConfig) -> tuple[Samples, GrowthConfig, Any]:
    """Turn a training table into what the grower sums; also the function from sums to leaves."""
    n_samples, n_features = table.features.shape
    n_rows = bucket_size(n_samples)

    def padded(array: NDArray, dtype: Any) -> NDArray:
        out = np.zeros((n_rows, *array.shape[1:]), dtype)
        out[:n_samples] = array
        return out

    thresholds = candidate_thresholds(table.features, config.max_thresholds)
    # Padding rows weigh nothing; a complete ranking keeps them from looking like a partial one.
    complete = np.arange(1, config.n_labels + 1, dtype=np.float32)
    positions = np.tile(complete, (n_rows, 1))
    positions[:n_samples] = table.positions
    stat, criterion = _growth_statistic(positions, table.weight is not None, config)
    if table.weight is None:
        weight, weight_scale = np.ones(n_samples, np.int32), 1.0
        room = largest_scale(n_samples, config.n_labels + 1)
    else:
        # A quarter of what an int32 holds, for chance may draw a heavy row many times.
        weight, weight_scale = integer_weights(table.weight, 2**29 // (config.n_labels + 1))
        room = largest_scale(float(weight.sum()), config.n_labels + 1)
    leaf_stat, leaf_value = leaf_statistics(positions, config.aggregation, room, weight_scale)
    bins = bin_features(padded(table.features, np.float32), thresholds)
    samples = Samples(
        bin_index=np.asarray(bins).reshape(-1),
        stat=stat,
        leaf_stat=leaf_stat,
        weight=padded(weight, np.int32),
        n_samples=np.int32(n_samples),
        thresholds=thresholds,
    )
    growth = GrowthConfig(
        criterion=criterion,
        max_depth=config.max_depth,
        n_candidates=config.n_candidates,
        n_features=n_features,
        n_bins=thresholds.shape[1] + 1,
        has_missing=bool(np.isnan(table.features).any()),
        splitter=config.splitter,
        min_samples_split=config.min_samples_split,
        min_samples_leaf=config.min_samples_leaf,
        bootstrap=config.bootstrap,
        histogram_bytes=config.histogram_bytes,
    )
    return jax.device_put(samples), growth, leaf_value


def _growth_statistic(
    positions: NDArray, weighted: bool, config: LRRFConfig
) -> tuple[Any, Criterion]:
    n_labels = config.n_labels
    missing = np.isnan(positions)
    if config.criterion == "tlac":
        n_stages = n_labels if config.purity == "ranking" else 1
        # Of complete rankings the last place follows from the others.
        n_stages = min(n_stages, max(1, n_labels - 1))
        stat = np.asarray(label_at_position(positions))[:, :n_stages]
        # Samples without a class carry no weight, so counts are sums of weights only where every
        # one has a class.
        return stat, ClassEntropy(n_labels, n_stages, separate_count=weighted)
    if config.criterion == "rac":
        classes, n_classes = ranking_classes(positions)
        stat = classes[:, None]
        # Rounded up, so that the folds of one table share a program.
        if n_classes <= DENSE_CLASSES:
            n_classes = max(8, 1 << (n_classes - 1).bit_length())
            return stat, ClassEntropy(n_classes, separate_count=weighted)
        return stat, SparseClassEntropy(len(positions), separate_count=weighted)
    if config.criterion == "pairwise":
        signs = np.asarray(pair_signs(positions), np.int32)
        masked = bool((signs == 0).any())
        if masked:
            signs = np.concatenate([signs, np.abs(signs)], axis=1)
        n_pairs = n_labels * (n_labels - 1) // 2
        return signs, Variance(n_pairs, masked, separate_count=weighted, signs=True)
    # Twice the position minus the middle: integers, also for the mean places of tied labels.
    values = np.where(missing, 0, 2 * positions - (n_labels + 1)).astype(np.int32)
    masked = bool(missing.any())
    if masked:
        values = np.concatenate([values, (~missing).astype(np.int32)], axis=1)
    return values, Variance(n_labels, masked, separate_count=weighted)


def fit_lr_rf(
    key: Array,
    table: TrainingTable,
    config: LRRFConfig,
    first_trees: Forest | None = None,
    on_trees: Any = lambda n_grown: None,
) -> tuple[LRRFParams, NDArray]:
    """Grow the forest; ``first_trees`` of an earlier call with the same key are kept.

    Returns the parameters, and the gains of the nodes, float32 (n_trees, 2**depth - 1), of the
    trees that were grown now.
    """
    samples, growth, leaf_value = growth_samples(table, config)
    n_first = 0 if first_trees is None else first_trees.n_trees
    forest, gain = grow_forest(
        key,
        samples,
        growth,
        leaf_value,
        config.n_trees - n_first,
        first_tree=n_first,
        on_trees=on_trees,
    )
    importances = _importances(forest, gain, table.features.shape[1])
    if first_trees is not None:
        forest = join(first_trees, forest)
    return LRRFParams(forest, importances), gain


def _importances(forest: Forest, gain: NDArray, n_features: int) -> NDArray:
    """Sum of each tree's importances, float32 (n_features,): gains, in shares of the tree's."""
    gain = np.where(is_split(forest), np.maximum(gain, 0), 0).astype(np.float64)
    share = gain / np.maximum(gain.sum(1, keepdims=True), np.finfo(np.float64).tiny)
    total = np.bincount(forest.feature.ravel(), share.ravel(), n_features)
    return total.astype(np.float32)


@functools.partial(
    jax.jit, static_argnames=("n_labels", "aggregation"), compiler_options=COMPILER_OPTIONS
)
def lr_rf_ranks(
    forest: ReadyForest, features: Array, *, n_labels: int, aggregation: str
) -> Array:  # int32 (n_samples, n_labels)
    """Rank the labels of each row."""
    return map_tiles(
        lambda rows: ranks_of_sums(sum_over_trees(forest, rows), n_labels, aggregation), features
    )


@functools.partial(
    jax.jit, static_argnames=("n_labels", "aggregation"), compiler_options=COMPILER_OPTIONS
)
def lr_rf_scores(
    forest: ReadyForest, features: Array, *, n_labels: int, aggregation: str
) -> Array:  # float32 (n_samples, n_labels)
    """Score the labels of each row in the order of :func:`lr_rf_ranks`."""
    n_trees = forest.leaf_slot.shape[0]
    return map_tiles(
        lambda rows: scores_of_sums(sum_over_trees(forest, rows), n_labels, aggregation, n_trees),
        features,
    )


def resolve_max_features(max_features: Any, n_features: int) -> int:
    """Turn the user's ``max_features`` into a number of candidate features a node."""
    named = {
        "log2+1": int(math.log2(n_features)) + 1,
        "log2": max(1, int(math.log2(n_features))),
        "sqrt": max(1, int(math.sqrt(n_features))),
        None: n_features,
    }
    if isinstance(max_features, str | None):
        require_choice(max_features, "max_features", list(named))
        return min(named[max_features], n_features)
    if isinstance(max_features, float | np.floating):
        if not 0 < max_features <= 1:
            raise InputError(
                f"max_features must be a share in (0, 1] or a whole number; it is {max_features}."
            )
        return max(1, int(max_features * n_features))
    require_integer(max_features, "max_features", 1)
    return min(int(max_features), n_features)


class RandomForestLabelRanker(LabelRanker):
    """Random forest for label ranking (LR-RF), Zhou and Qiu 2018.

    Parameters
    ----------
    n_estimators : int, default 50
        Number of trees.
    criterion : {"tlac", "rac", "pairwise", "positions"}, default "tlac"
        What a split should set apart: "tlac", entropy of the top label as class, as the paper
        writes; "rac", entropy of the whole ranking as class, as the authors' program does;
        "pairwise", variance of the signs of label pairs, missing pairs left out; "positions",
        variance of positions.
    purity : {"ranking", "top-label"}, default "ranking"
        For "tlac": where all rows of a node share the top label, go on with the next place until
        the rankings agree; or stop there, as the paper writes.
    splitter : {"best", "random"}, default "best"
        All candidate thresholds, or one drawn at random a feature (extra-trees).
    max_depth : int, default 8
        Tests on the longest path, at most 16.
    max_features : "log2+1", int, float, "sqrt", "log2" or None, default "log2+1"
        Candidate features a node: floor(log2 n_features) + 1, a number, a share, ..., all.
    min_samples_split, min_samples_leaf : int, default 2 and 1
        Least size of a node to be split, and of its children, repeats in the bootstrap counted.
    bootstrap : bool, default True
        Draw n_samples rows with replacement for each tree.
    aggregation : {"auto", "two-step", "one-step", "copeland", "kemeny"}, default "auto"
        "two-step", the paper's: Borda's consensus in each leaf, Borda over the trees; "one-step":
        mean Borda vote; "copeland", "kemeny": mean preference of each pair of labels, then the
        number of wins, or the ranking that agrees most. "auto": "two-step" where every training
        ranking is complete, else "kemeny", which mostly ranks better there (iris with 60 % of the
        labels deleted: tau .83 against .77).
    max_bins : "auto", "exact" or int, default "auto"
        Candidate thresholds a feature, at most 255; "exact" keeps every midpoint while they fit.
    missing : {"unknown", "last"}, default "unknown"
        What a missing label means: nothing, or (top-k lists) a place after every ranked label.
    oob_score : bool, default False
        Rank each training row by the trees that did not draw it.
    warm_start : bool, default False
        Keep the trees of the last fit, on the same data, and add to them.
    random_state : int, RandomState or None, default None
        The same int gives the same bytes, whatever the threads or devices.
    memory_budget : int or None, default None
        Bytes that the histograms of all trees in work may take; None: 1 GiB.
    verbose : int, default 0
        1: a progress bar on stderr.

    Attributes
    ----------
    labels_ : str (n_labels,)
    n_features_in_ : int
    feature_names_in_ : object (n_features,)
        Where the features had names.
    forest_ : Forest
    aggregation_ : str
        The aggregation in use.
    feature_importances_ : float64 (n_features,)
        Mean share of the impurity that splits on a feature took away; sums to 1, or to 0 where
        no tree split.
    oob_score_ : float
        Mean tau of ``oob_ranking_``.
    oob_ranking_ : float64 (n_samples, n_labels)
        NaN for rows that every tree drew.

    Notes
    -----
    ``x >= threshold`` goes left. Features are float32. A missing value goes the way that was
    learned at the node, right where training saw none. Fit costs O(n_estimators max_depth
    n_samples max_features), predict O(n_estimators 2**max_depth) bit operations a row.

    Examples
    --------
    >>> from lrrf_jax import RandomForestLabelRanker
    >>> from lrrf_jax.datasets import load
    >>> iris = load("iris")
    >>> ranker = RandomForestLabelRanker(n_estimators=10, random_state=0)
    >>> ranker.fit(iris.X, iris.y).score(iris.X, iris.y) > 0.9
    True
    """

    name = "lr-rf"
    params_type = LRRFParams
    config_type = LRRFConfig

    def __init__(
        self,
        n_estimators: int = 50,
        *,
        criterion: str = "tlac",
        purity: str = "ranking",
        splitter: str = "best",
        max_depth: int = 8,
        max_features: Any = "log2+1",
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        bootstrap: bool = True,
        aggregation: str = "auto",
        max_bins: Any = "auto",
        missing: str = "unknown",
        oob_score: bool = False,
        warm_start: bool = False,
        random_state: Any = None,
        memory_budget: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.purity = purity
        self.splitter = splitter
        self.max_depth = max_depth
        self.max_features = max_features
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.bootstrap = bootstrap
        self.aggregation = aggregation
        self.max_bins = max_bins
        self.missing = missing
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.random_state = random_state
        self.memory_budget = memory_budget
        self.verbose = verbose

    # ------------------------------------------------------------------------------- fit
    def _fit(self, key: Any, table: TrainingTable) -> tuple[LRRFParams, LRRFConfig]:
        config = self._resolve(table)
        first_trees, importances = None, 0.0
        if self.warm_start and hasattr(self, "params_"):
            first_trees = self._kept_trees(config, table)
            importances = self.params_.importances
        if first_trees is not None and first_trees.n_trees == config.n_trees:
            params = self.params_
        else:
            with forest_views.progress(self.verbose, config.n_trees) as on_trees:
                params, _ = fit_lr_rf(key, table, config, first_trees, on_trees)
            params = params._replace(importances=params.importances + importances)
        self.aggregation_ = config.aggregation
        self._training_features = table.features
        self._training_rows = table.row
        self._training_weight = table.weight
        if self.oob_score:
            self.oob_ranking_, self.oob_score_ = forest_views.out_of_bag(
                key, params.forest, table, config
            )
        return params, config

    def _draw_seed(self) -> int:
        if self.warm_start and hasattr(self, "params_"):
            return self._seed  # the trees that are kept were drawn with it
        return super()._draw_seed()

    def _resolve(self, table: TrainingTable) -> LRRFConfig:
        """Check the parameters and settle what "auto" and the like stand for."""
        require_integer(self.n_estimators, "n_estimators", 1)
        require_choice(self.criterion, "criterion", CRITERIA)
        require_choice(self.purity, "purity", ("ranking", "top-label"))
        require_choice(self.splitter, "splitter", ("best", "random"))
        require_integer(self.max_depth, "max_depth", 1, MAX_DEPTH)
        require_integer(self.min_samples_split, "min_samples_split", 2)
        require_integer(self.min_samples_leaf, "min_samples_leaf", 1)
        require_choice(self.aggregation, "aggregation", ("auto", *AGGREGATIONS))
        if not isinstance(self.max_bins, str):
            require_integer(self.max_bins, "max_bins", 1, 255)
        else:
            require_choice(self.max_bins, "max_bins", ("auto", "exact"))
        if self.memory_budget is not None:
            require_integer(self.memory_budget, "memory_budget", 2**20)
        aggregation = self.aggregation
        if aggregation == "auto":
            aggregation = "two-step" if table.complete else "kemeny"
        n_samples, n_features = table.features.shape
        budget = 2**30 if self.memory_budget is None else self.memory_budget
        return LRRFConfig(
            n_labels=table.positions.shape[1],
            n_trees=int(self.n_estimators),
            criterion=self.criterion,
            purity=self.purity,
            splitter=self.splitter,
            max_depth=int(self.max_depth),
            n_candidates=resolve_max_features(self.max_features, n_features),
            min_samples_split=int(self.min_samples_split),
            min_samples_leaf=int(self.min_samples_leaf),
            bootstrap=bool(self.bootstrap),
            aggregation=aggregation,
            max_thresholds=resolve_max_bins(self.max_bins, n_samples),
            histogram_bytes=forest_views.histogram_share(budget),
        )

    def _kept_trees(self, config: LRRFConfig, table: TrainingTable) -> Forest:
        """Trees of the last fit, which more are added to."""
        if not hasattr(self, "_training_features"):
            raise InputError(
                "warm_start needs the training rows, which a saved model does not hold. "
                "Fit a new forest."
            )
        same = dataclasses.replace(config, n_trees=self.config_.n_trees) == self.config_
        if not same or not np.array_equal(table.features, self._training_features, equal_nan=True):
            raise InputError(
                "warm_start needs the data and the parameters of the last fit, but for "
                "n_estimators. Set warm_start=False to start afresh."
            )
        if config.n_trees < self.config_.n_trees:
            raise InputError(
                f"n_estimators must not fall with warm_start; it was {self.config_.n_trees} and "
                f"is {config.n_trees}. Set warm_start=False to start afresh."
            )
        return self.params_.forest

    # ------------------------------------------------------------------------------- predict
    def _forget_derived(self) -> None:
        self.__dict__.pop("_ready", None)

    def _ready_forest(self) -> ReadyForest:
        if "_ready" not in self.__dict__:
            self._ready = make_ready(self.params_.forest)
        return self._ready

    def _ranks(self, features: NDArray) -> Any:
        return lr_rf_ranks(self._ready_forest(), features, **self._static())

    def _scores(self, features: NDArray) -> Any:
        return lr_rf_scores(self._ready_forest(), features, **self._static())

    def _static(self) -> dict[str, Any]:
        return {"n_labels": self.config_.n_labels, "aggregation": self.config_.aggregation}

    def apply(self, X: Any) -> NDArray:
        """Leaf that each row reaches in each tree.

        Returns
        -------
        int32 (n_samples, n_estimators)
            0 .. 2**max_depth - 1, leaves of the complete tree from left to right.
        """
        return forest_views.leaves(self._features(X), self._ready_forest)

    def neighbors(self, X: Any, k: int = 5) -> tuple[NDArray, NDArray]:
        """Training rows that share leaves with each row, as the paper retrieves them.

        A training row weighs, in each tree, its share of the bootstrap rows in the leaf; weights
        are means over trees, so those of all training rows sum to 1.

        Returns
        -------
        indices : int64 (n_samples, k)
            Numbers of rows as passed to ``fit``, heaviest first, lower numbers first on a tie;
            -1 where fewer than ``k`` rows share a leaf.
        weights : float32 (n_samples, k)

        Notes
        -----
        Costs O(n_samples n_training n_estimators).
        """
        features = self._features(X)
        if not hasattr(self, "_training_features"):
            raise InputError(
                "neighbors needs the training rows, which a saved model does not hold. "
                "Fit the forest in this process."
            )
        require_integer(k, "k", 1)
        return forest_views.neighbors(
            features,
            int(k),
            jax.random.key(self._seed, impl="threefry2x32"),
            self._ready_forest(),
            self._training_features,
            self._training_weight,
            self._training_rows,
            self.config_.bootstrap,
        )

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

    def _extra_header(self) -> dict[str, Any]:
        return {"aggregation": self.aggregation_, "oob_score": getattr(self, "oob_score_", None)}

    def _restore_extra(self, extra: dict[str, Any]) -> None:
        self.aggregation_ = self.config_.aggregation
        if extra.get("oob_score") is not None:
            self.oob_score_ = float(extra["oob_score"])

    def _check_params(self, params: LRRFParams) -> str | None:
        if params.importances.shape != (self.n_features_in_,):
            return f"importances have shape {params.importances.shape}"
        n_labels = len(self.labels_)
        two_step = self.config_.aggregation in ("two-step", "one-step")
        n_outputs = n_labels if two_step else n_labels * (n_labels - 1) // 2
        problem = invariant_violation(params.forest, self.n_features_in_)
        if problem is None and params.forest.n_outputs != n_outputs:
            problem = f"leaves hold {params.forest.n_outputs} numbers, not {n_outputs}"
        return problem
