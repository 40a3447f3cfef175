"""LR-RF: a random forest whose leaves hold neighbours, and Borda's method over their rankings.

Zhou and Qiu, "Random forest for label ranking", 2018. Trees split on the top label as a class
(TLAC) or another criterion; each leaf keeps one consensus of the rankings in it; a row gets the
consensus of its leaves over the trees. The pure functions are in :mod:`lrrf_jax.learners.forest`;
here is what users meet.
"""

import dataclasses
import functools
import numbers
import os
from typing import Annotated, Any, ClassVar, Self

import jax
import numpy as np

from lrrf_jax import _devices as mesh
from lrrf_jax._jax_settings import our_settings
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_integer
from lrrf_jax.learners._table import TrainingTable, table_of_shape
from lrrf_jax.learners.forest import views
from lrrf_jax.learners.forest.aggregation import AGGREGATIONS
from lrrf_jax.learners.forest.config import ForestConfig, resolve_config
from lrrf_jax.learners.forest.fit import ForestParams, fit_forest, hash_of
from lrrf_jax.learners.forest.ranker import ForestLabelRanker
from lrrf_jax.learners.schema import OneOf, Range, Unfit
from lrrf_jax.trees.forest import Forest

_PARAMETER_OF = {"n_candidates": "max_features", "max_thresholds": "max_bins"}


class RandomForestLabelRanker(ForestLabelRanker):
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
        Least rows in a node to be split, and in its children: repeats in the bootstrap counted,
        weights not.
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
        Keep the trees of the last fit, on the same data, and add to them. The labels of a data
        frame go by name.
    random_state : int, RandomState or None, default None
        The same int gives the same bytes, whatever the threads or devices.
    memory_budget : int or None, default None
        Bytes that the trees in work may take, histograms and drawn rows, beside the table; in
        the memory of the host on CPUs, of each device on accelerators. One tree is always in
        work. None: 1 GiB, but as many trees as there are threads.
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
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        feature_names: Any = None,
        labels: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from rankings.

        Parameters
        ----------
        X : array-like or data frame, (n_samples, n_features)
            Features; NaN is a missing value. Converted to float32.
        y : array-like or data frame, (n_samples, n_labels)
            ``y[i, j]`` is the position of label j in ranking i, 1 = best, NaN = missing.
        sample_weight : array-like, (n_samples,), optional
            Weights, not negative. Only their ratios count: weights times any number give the same
            model, equal ones are no weights, and rows of weight 0 are left out.
        feature_names, labels : sequences of str, optional
            Names for the columns of plain arrays. Data frames bring their own, of which whole
            numbers 0, 1, 2, ... in this order are none; other names beside them are an error.
        checkpoint : path, optional
            A directory for finished trees, which are written every ten seconds or so. A fit that
            was cut off, and is started again with the same data, parameters and
            ``random_state``, takes them from there, even on other devices, or for more trees.
            They are left there in the end.

        Returns
        -------
        self

        Raises
        ------
        InputError
            For data or parameters that cannot be used, and for a checkpoint of another fit; the
            message says what to change.
        ModelFileError
            For a damaged file in the checkpoint.
        BackendError
            Where JAX cannot work: no such device, or a process forked from one that had used it.

        Notes
        -----
        Trees are spread over devices, of all processes where there are several: see
        :func:`lrrf_jax.distributed.use_devices`.

        Each row counts once towards ``min_samples_split`` and ``min_samples_leaf``, in the draws of
        a bootstrap and in quantiles of features, however heavy. So a whole weight is worth as many
        copies of its row without a bootstrap, with the least sizes 2 and 1, where every midpoint
        is a threshold: exactly, while the weights have no common divisor and sum to a few million
        at most. Not so for the aggregations "copeland" and "kemeny", whose leaves start with half
        an observation of no preference, by a row of mean weight.
        """
        if checkpoint is not None and self.random_state is None:
            raise InputError(
                "random_state must be set where there is a checkpoint, for the trees that are "
                "still to grow must be drawn as if there had been no interruption. Set it to a "
                "whole number."
            )
        fit = functools.partial(self._fit, checkpoint=checkpoint)
        return self._fit_checked(fit, X, y, sample_weight, feature_names, labels)

    def _fit(
        self, key: Any, table: TrainingTable, checkpoint: Any = None
    ) -> tuple[ForestParams, ForestConfig]:
        config = resolve_config(self, table)
        first_trees, importances = None, 0.0
        if self.warm_start and hasattr(self, "params_"):
            first_trees = self._kept_trees(config, table)
            importances = self.params_.importances
        if first_trees is not None and first_trees.n_trees == config.n_trees:
            params = self.params_
        else:
            with views.progress(self.verbose, config.n_trees) as on_trees:
                params, _ = fit_forest(
                    key,
                    table,
                    config,
                    first_trees,
                    memory_budget=self.memory_budget,
                    checkpoint=checkpoint,
                    on_trees=on_trees,
                )
            params = params._replace(importances=params.importances + importances)
        self.aggregation_ = config.aggregation
        self._training_features = table.features
        self._training_rankings = hash_of(table.positions), self.missing
        self._training_rows = table.row
        self._training_weight = table.weight
        if self.oob_score:
            self.oob_ranking_, self.oob_score_ = views.out_of_bag(key, params.forest, table, config)
        return params, config

    def _draw_seed(self) -> int:
        if self.warm_start and hasattr(self, "params_"):
            return self._seed  # the trees that are kept were drawn with it
        seed = super()._draw_seed()
        if self.random_state is None and mesh.spans_processes(mesh.growing_devices()):
            return int.from_bytes(mesh.of_first_process(seed.to_bytes(4)))
        return seed

    def _kept_trees(self, config: ForestConfig, table: TrainingTable) -> Forest:
        """Trees of the last fit, which more are added to."""
        if not hasattr(self, "_training_features"):
            raise InputError(
                "warm_start needs the training rows, which a saved model does not hold. "
                "Fit a new forest."
            )
        if changed := self._changed_since_last_fit(config, table):
            raise InputError(
                "warm_start needs the data and the parameters of the last fit, but for "
                f"n_estimators; {changed} differs. Set warm_start=False to start afresh."
            )
        if config.n_trees < self.config_.n_trees:
            raise InputError(
                f"n_estimators must not fall with warm_start; it was {self.config_.n_trees} and "
                f"is {config.n_trees}. Set warm_start=False to start afresh."
            )
        return self.params_.forest

    def _changed_since_last_fit(self, config: ForestConfig, table: TrainingTable) -> str | None:
        """Name the first argument that differs from that of the last fit."""

        def same(one: Any, other: Any) -> bool:
            if one is None or other is None:
                return one is other
            return np.array_equal(one, other, equal_nan=np.asarray(one).dtype.kind == "f")

        seed = self.random_state
        unchanged = {
            "missing": table.complete or self.missing == self._training_rankings[1],
            "X": same(table.features, self._training_features),
            "y": hash_of(table.positions) == self._training_rankings[0],
            "sample_weight": same(table.weight, self._training_weight),
            "labels": same(table.labels, self.labels_.tolist()),
            "feature_names": same(table.feature_names, getattr(self, "feature_names_in_", None)),
            "random_state": not isinstance(seed, numbers.Integral)
            or int(seed) % 2**32 == self._seed,
        }
        theirs = dataclasses.asdict(self.config_)
        for name, value in dataclasses.asdict(config).items():
            unchanged[_PARAMETER_OF.get(name, name)] = name == "n_trees" or value == theirs[name]
        return next((name for name, same in unchanged.items() if not same), None)

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
        with our_settings():
            return views.neighbors(
                features,
                int(k),
                jax.random.key(self._seed, impl="threefry2x32"),
                self._ready_forests().on_one(),
                self._training_features,
                self._training_weight,
                self._training_rows,
                self.config_.bootstrap,
            )

    def _check_settings(self, n_features: int, n_labels: int) -> None:
        resolve_config(self, table_of_shape(n_features, n_labels))

    _extra_types: ClassVar[dict[str, Any]] = {
        "aggregation": Annotated[str, OneOf(AGGREGATIONS)],
        "oob_score": Annotated[float | None, Range(-1, 1)],
    }

    def _extra_header(self) -> dict[str, Any]:
        extra = {"aggregation": self.aggregation_}
        return extra | ({"oob_score": self.oob_score_} if hasattr(self, "oob_score_") else {})

    def _restore_extra(self, extra: dict[str, Any]) -> None:
        self.aggregation_ = self.config_.aggregation
        if extra["aggregation"] != self.aggregation_:
            raise Unfit(f"the aggregation is {extra['aggregation']} in extra, not in config")
        if "oob_score" in extra:
            score = extra["oob_score"]
            self.oob_score_ = float("nan") if score is None else float(score)
