"""LR-RF: a random forest whose leaves hold neighbours, and Borda's method over their rankings.

Zhou and Qiu, "Random forest for label ranking", 2018. Trees split on the top label as a class
(TLAC) or another criterion; each leaf keeps one consensus of the rankings in it; a row gets the
consensus of its leaves over the trees. The pure functions are in :mod:`lrrf_jax.learners.forest`;
here is what users meet.
"""

import os
from typing import Annotated, Any, ClassVar, Self

import jax

from lrrf_jax import _devices as mesh
from lrrf_jax._jax_settings import our_settings
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_integer
from lrrf_jax.learners._table import TableShape, TrainingTable
from lrrf_jax.learners.forest import views
from lrrf_jax.learners.forest.aggregation import AGGREGATIONS
from lrrf_jax.learners.forest.config import CRITERIA, ForestConfig
from lrrf_jax.learners.forest.fit import ForestParams, fit_forest
from lrrf_jax.learners.forest.ranker import ForestLabelRanker
from lrrf_jax.learners.forest.warm_start import LastFit
from lrrf_jax.learners.persistence.schema import OneOf, Range, Unfit
from lrrf_jax.trees.forest import Forest


class RandomForestLabelRanker(ForestLabelRanker):
    """Random forest for label ranking (LR-RF), Zhou and Qiu 2018.

    Parameters
    ----------
    criterion : {"tlac", "rac", "pairwise", "positions"}
        What a split should set apart: "tlac", entropy of the top label as class, as the paper
        writes; "rac", entropy of the whole ranking as class, as the authors' program does;
        "pairwise", variance of the signs of label pairs, missing pairs left out; "positions",
        variance of positions.
    purity : {"ranking", "top-label"}
        For "tlac": where all rows of a node share the top label, go on with the next place until
        the rankings agree; or stop there, as the paper writes.
    splitter : {"best", "random"}
        All candidate thresholds, or one drawn at random per feature (extra-trees).
    aggregation : {"auto", "two-step", "one-step", "copeland", "kemeny"}
        "two-step", the paper's: Borda's consensus in each leaf, Borda over the trees; "one-step":
        mean Borda vote; "copeland", "kemeny": mean preference of each pair of labels, then the
        number of wins, or the ranking that agrees most. "auto": "two-step" where every training
        ranking is complete and without ties, and pairs count alike, else "kemeny", which mostly
        ranks better there (iris with 60 % of the labels deleted: tau .83 against .77).
    weighting : {"equal", "difference"}
        What a pair of labels counts for the criterion "pairwise" and the aggregations "copeland"
        and "kemeny": as much as any other; or, of ``fit(X, scores=U)``, the difference of their
        scores, so that costly mistakes count for more than cheap ones.
    oob_score : bool
        Rank each training row by the trees that did not draw it.
    warm_start : bool
        Keep the trees of the last fit, on the same data, and add to them. The labels of a data
        frame go by name.
    memory_budget : int or None
        Bytes that the trees in work may take, histograms and drawn rows, besides the table; in
        the memory of the host on CPUs, of each device on accelerators. One tree is always in
        work. None: 1 GiB, but as many trees as there are threads; half of an accelerator's memory.
    verbose : int
        1: a progress bar on stderr.

    Attributes
    ----------
    aggregation_ : str
        The aggregation in use.
    oob_score_ : float
        Mean tau of ``oob_ranking_``.
    oob_ranking_ : float64 (n_samples, n_labels)
        NaN for rows that every tree drew.

    Notes
    -----
    ``x >= threshold`` goes left. Features are float32. A missing value goes the way that was
    learned at the node, right where training saw none. Fit costs O(n_estimators max_depth
    n_samples max_features), predict O(n_estimators 2**max_depth) bit operations per row.

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
    criteria = CRITERIA

    criterion: str = "tlac"
    purity: str = "ranking"
    splitter: str = "best"
    max_depth: int = 8
    max_features: Any = "log2+1"
    aggregation: str = "auto"
    weighting: str = "equal"
    oob_score: bool = False
    warm_start: bool = False
    memory_budget: int | None = None
    verbose: int = 0

    # ------------------------------------------------------------------------------- fit
    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        scores: Any = None,
        feature_names: Any = None,
        labels: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from rankings, or from scores of the labels.

        Parameters
        ----------
        X, y, sample_weight, scores, feature_names, labels
            See :meth:`LabelRanker.fit`, which also says what is raised.
        checkpoint : path, optional
            A directory for finished trees, which are written every ten seconds or so. A fit that
            was cut off, and is started again with the same data, parameters and
            ``random_state``, takes them from there, even on other devices, or for more trees.
            They are left there in the end. One of another fit is an InputError, a damaged file in
            it a ModelFileError.

        Returns
        -------
        self

        Notes
        -----
        Trees are spread over devices, of all processes where there are several: see
        :func:`lrrf_jax.distributed.use_devices`.

        A whole weight is worth as many copies of its row without a bootstrap, with the minimum
        sizes 2 and 1, where every midpoint is a threshold. Not so for the aggregations "copeland"
        and "kemeny", whose leaves start with half an observation of no preference, by a row of mean
        weight.
        """
        if checkpoint is not None and self.random_state is None:
            raise InputError(
                "random_state must be set where there is a checkpoint, for the trees that are "
                "still to grow must be drawn as if there had been no interruption. Set it to a "
                "whole number."
            )
        return super().fit(
            X,
            y,
            sample_weight,
            scores=scores,
            feature_names=feature_names,
            labels=labels,
            checkpoint=checkpoint,
        )

    def _check_settings(self, shape: TableShape) -> None:
        super()._check_settings(shape)
        if self.memory_budget is not None:
            require_integer(self.memory_budget, "memory_budget", 2**20)
        if self.oob_score and not self.bootstrap:
            raise InputError(
                "oob_score needs bootstrap=True: without a bootstrap every tree draws every row, "
                "and none is out of bag. Set one of them the other way."
            )

    def _fit(
        self, key: jax.Array, table: TrainingTable, checkpoint: Any = None
    ) -> tuple[ForestParams, ForestConfig]:
        config = self._config(table.shape)
        first_trees, importances = None, 0.0
        if self.warm_start and hasattr(self, "params_"):
            first_trees = self._kept_trees(config, table)
            importances = self.params_.importances
        if first_trees is not None and first_trees.n_trees == config.n_trees:
            params = self.params_
        else:
            with views.progress(self.verbose, config.n_trees) as on_trees:
                params = fit_forest(
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
        if self.oob_score:
            self.oob_ranking_, self.oob_score_ = views.out_of_bag(key, params.forest, table, config)
        self._last_fit = LastFit.of(table, config, self.missing, self._seed)
        return params, config

    def _draw_seed(self) -> int:
        if self.warm_start and hasattr(self, "_last_fit"):
            return self._last_fit.seed  # the trees that are kept were drawn with it
        seed = super()._draw_seed()
        if self.random_state is None and mesh.spans_processes(mesh.growing_devices()):
            return int.from_bytes(mesh.of_first_process(seed.to_bytes(4)))
        return seed

    def _kept_trees(self, config: ForestConfig, table: TrainingTable) -> Forest:
        """Trees of the last fit, which more are added to."""
        last = self._last_fit_for("warm_start", "Fit a new forest.")
        last.require_same(table, config, self.missing, self.random_state)
        return self.params_.forest

    def _last_fit_for(self, what: str, remedy: str) -> LastFit:
        if not hasattr(self, "_last_fit"):
            raise InputError(
                f"{what} needs the training rows, which a saved model does not hold. {remedy}"
            )
        return self._last_fit

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
        last = self._last_fit_for("neighbors", "Fit the forest in this process.")
        require_integer(k, "k", 1)
        with our_settings():
            return views.neighbors(features, int(k), self._on_one(), last)

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
