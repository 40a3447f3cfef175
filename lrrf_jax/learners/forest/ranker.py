"""What the forests share besides their trees: chance, out-of-bag rankings, more trees, threads."""

import dataclasses
import os
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Self

import jax
import numpy as np

from lrrf_jax import _devices as mesh
from lrrf_jax._threads import require_n_jobs, use_threads
from lrrf_jax._threefry import key_from_seed
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_integer, require_number
from lrrf_jax.learners._table import TableShape, TrainingTable
from lrrf_jax.learners.forest.config import ForestConfig, chooses_leaf_size
from lrrf_jax.learners.forest.early_stopping import grow_until_flat
from lrrf_jax.learners.forest.fit import ForestParams, Grower
from lrrf_jax.learners.forest.leaf_size import choose_leaf_size
from lrrf_jax.learners.forest.out_of_bag import OutOfBag
from lrrf_jax.learners.forest.progress import progress
from lrrf_jax.learners.forest.tree_ranker import TreeLabelRanker
from lrrf_jax.learners.forest.warm_start import LastFit
from lrrf_jax.learners.persistence.schema import LATER, Range
from lrrf_jax.rankings.pairwise import pair_probabilities
from lrrf_jax.trees.blocks import Grown, join_grown
from lrrf_jax.trees.forest import Forest, with_depth


def _later(default: Any) -> Any:
    """Say that there are models, in files, without this parameter."""
    return dataclasses.field(default=default, metadata=LATER)


class ForestLabelRanker(TreeLabelRanker):
    """A label ranker of many trees, each grown on rows and features drawn at random.

    Parameters
    ----------
    n_estimators : int
        Number of trees; with ``n_iter_no_change``, the largest.
    max_features : int, float, "log2+1", "sqrt", "log2" or None
        Candidate features per node: a number, a share, floor(log2 n_features) + 1, ..., all.
    min_samples_leaf : int or "auto"
        Minimum number of rows in the children of a split. "auto": 1 or 5, whichever has the
        higher out-of-bag tau; `min_samples_leaf_` tells which, and the forest is the one of that
        number, to the byte. For it 50 trees of each are grown and looked at first, whatever
        ``n_estimators``, so that fitting 50 takes about three times as long.
    bootstrap : bool
        Draw n_samples rows with replacement for each tree.
    oob_score : bool
        Rank each training row by the trees that did not draw it.
    warm_start : bool
        Keep the trees of the last fit, on the same data, and add to them. The labels of a data
        frame go by name.
    n_iter_no_change : int or None
        Grow so many trees at a time, and stop when these raise the out-of-bag tau by less than
        ``tol``; ``n_estimators_`` tells how many trees there are then. It is the forest of that
        many trees, to the byte. None: grow them all. Each time the training rows are ranked by the
        new trees: that takes about as long as `predict`, besides a second or two to compile it.
    tol : float
        See ``n_iter_no_change``, of which it is a part.
    memory_budget : int or None
        Bytes that the trees in work may take, histograms and drawn rows, besides the table; in
        the memory of the host on CPUs, of each device on accelerators. One tree is always in
        work. None: 1 GiB, but as many trees as there are threads; half of an accelerator's memory.
    n_jobs : int or None
        Threads that grow trees and rank rows on CPUs. None or -1: one for each core that the
        process has; -2: all but one, and so on; never more. It changes no result. XLA has threads
        of its own, which this cannot count: they compile, and at times run two steps of a program
        at once. ``NPROC=1`` in the environment of a process keeps it to one; ``predict_file`` also
        reads and writes in threads.
    verbose : int
        1: a progress bar on stderr.

    Attributes
    ----------
    n_estimators_ : int
        Number of trees.
    min_samples_leaf_ : int
        Minimum number of rows in the children of a split, also where it was chosen.
    oob_score_ : float
        Mean tau of ``oob_ranking_``; where ``oob_score`` is set.
    oob_ranking_ : float64 (n_samples, n_labels)
        NaN for rows that every tree drew; not in model files.
    oob_pairwise_ : float32 (n_samples, n_labels, n_labels)
        What `predict_pairwise` would say of each training row without the trees that drew it: the
        probability that label i comes before label j, NaN for rows that every tree drew or that
        were left out of training. Where ``oob_score`` is set; worked out whenever it is asked for,
        in about the time of `predict`; not in model files.
    """

    n_estimators: int = dataclasses.field(default=50, kw_only=False)
    max_features: Any = None
    min_samples_leaf: Any = 1
    bootstrap: bool = True
    oob_score: bool = _later(False)
    warm_start: bool = _later(False)
    n_iter_no_change: int | None = _later(None)
    tol: float = _later(1e-3)
    memory_budget: int | None = _later(None)
    n_jobs: int | None = _later(None)
    verbose: int = _later(0)

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
        sizes 2 and 1, where every midpoint is a threshold; where it is not, the learner says so.
        Not so for the aggregations "copeland" and "kemeny", whose leaves start with half an
        observation of no preference, by a row of mean weight.

        The training rows and their rankings are kept, for `neighbors`, `proximity`, `shap_values`,
        `why` and ``warm_start``: in memory and in pickles, not in model files.
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
        require_n_jobs(self.n_jobs)
        require_number(self.tol, "tol")
        if self.n_iter_no_change is not None:
            require_integer(self.n_iter_no_change, "n_iter_no_change", 1)
        looks_out_of_bag = {
            "oob_score": self.oob_score,
            "n_iter_no_change": self.n_iter_no_change,
            'min_samples_leaf="auto"': chooses_leaf_size(self),
        }
        for name, wanted in looks_out_of_bag.items():
            if wanted and not self.bootstrap:
                raise InputError(
                    f"{name} needs bootstrap=True: without a bootstrap every tree draws every row, "
                    "and none is out of bag. Set one of them the other way."
                )

    def _fit(
        self, key: jax.Array, table: TrainingTable, checkpoint: Any = None
    ) -> tuple[ForestParams, ForestConfig]:
        config = self._config(table.shape)
        if chooses_leaf_size(self):
            config = dataclasses.replace(config, min_samples_leaf=self._leaf_size(key, table))
        kept = self._kept_trees(config, table) if self.warm_start else None
        with use_threads(self.n_jobs):
            grown = self._grow(key, table, config, kept, checkpoint)
            config = dataclasses.replace(config, n_trees=grown.forest.n_trees)
            params = self._params_of(key, table, config, grown)
            for of_last_fit in ("oob_ranking_", "oob_score_"):
                self.__dict__.pop(of_last_fit, None)
            if self.oob_score:
                seen = OutOfBag(key, table, config, pairs=False)
                seen.add(params.forest)
                rankings, score = seen.rankings()
                self.oob_ranking_: NDArray = rankings
                self.oob_score_: float = score
        self._last_fit = LastFit.of(table, config, self.missing, self._seed, grown)
        return params, config

    def _leaf_size(self, key: jax.Array, table: TrainingTable) -> int:
        """Choose what `min_samples_leaf` leaves open."""
        with use_threads(self.n_jobs):
            return choose_leaf_size(
                key,
                table,
                self._config(table.shape),
                lambda config, forest: self._with_leaves(key, table, config, forest),
                self.memory_budget,
            )

    def _grow(
        self,
        key: jax.Array,
        table: TrainingTable,
        config: ForestConfig,
        kept: Grown | None,
        checkpoint: Any,
    ) -> Grown:
        """Grow the trees that are not there yet."""
        most, n_kept = config.n_trees, 0 if kept is None else kept.forest.n_trees
        if kept is not None and n_kept == most:
            return kept
        with (
            progress(self.verbose, most, n_kept) as on_trees,
            Grower(
                key,
                table,
                config,
                n_kept,
                memory_budget=self.memory_budget,
                checkpoint=checkpoint,
                on_trees=on_trees,
            ) as grower,
        ):
            if self.n_iter_no_change is None:
                new = grower.grow(most - n_kept)
                return new if kept is None else join_grown(kept, new)
            seen = OutOfBag(key, table, config, pairs=False)

            def add(forest: Forest) -> float:
                # As deep as it may be: as many trees share a program, however deep they are.
                deep = with_depth(forest, config.max_depth)
                return seen.add(self._with_leaves(key, table, config, deep, seen.n_trees))

            step = int(self.n_iter_no_change)
            return grow_until_flat(grower.grow, add, kept, most, step, float(self.tol))

    def _draw_seed(self) -> int:
        if self.warm_start and hasattr(self, "_last_fit"):
            return self._last_fit.seed  # the trees that are kept were drawn with it
        seed = super()._draw_seed()
        if self.random_state is None and mesh.spans_processes(mesh.growing_devices()):
            return int.from_bytes(mesh.of_first_process(seed.to_bytes(4)))
        return seed

    def _kept_trees(self, config: ForestConfig, table: TrainingTable) -> Grown | None:
        """Trees of the last fit, where there was one, which more are added to."""
        if not hasattr(self, "params_"):
            return None
        last = self._last_fit_for("warm_start", "Fit a new forest.")
        last.require_same(table, config, self.missing, self.random_state)
        return last.grown(self.params_.forest)

    # ------------------------------------------------------------------------------- predict
    def _map_rows(self, of_ranks: bool, features: NDArray) -> NDArray:
        with use_threads(self.n_jobs):
            return super()._map_rows(of_ranks, features)

    def _sums(self, features: NDArray) -> NDArray:
        with use_threads(self.n_jobs):
            return super()._sums(features)

    def _leaves(self, features: NDArray) -> NDArray:
        with use_threads(self.n_jobs):
            return super()._leaves(features)

    def compile(self, batch_sizes: Sequence[int] | None = None, *, scores: bool = False) -> Self:
        """Compile what :meth:`predict` needs now; see :meth:`LabelRanker.compile`."""
        with use_threads(self.n_jobs):
            return super().compile(batch_sizes, scores=scores)

    # ------------------------------------------------------------------------------- fitted
    @property
    def oob_pairwise_(self) -> NDArray:
        """Pair scores of the training rows by the trees that did not draw them."""
        if not hasattr(self, "oob_ranking_"):
            raise AttributeError(
                f"{type(self).__name__} has 'oob_pairwise_' once it was fitted with oob_score=True"
            )
        last, known = self._last_fit, self._out_of_bag_preferences()
        of_rows = np.full((last.n_rows, known.shape[1]), np.nan, np.float32)
        of_rows[last.row] = known
        return pair_probabilities(of_rows)

    def _out_of_bag_preferences(self) -> NDArray:  # float32 (n_samples, n_pairs)
        """Tell how each pair is preferred in the rows learnt from, by the other trees; or NaN."""
        last = self._last_fit
        with use_threads(self.n_jobs):
            seen = OutOfBag(key_from_seed(last.seed), last.table(), self.config_)
            seen.add(with_depth(self.forest_, self.config_.max_depth))
            return seen.preferences()

    @property
    def n_estimators_(self) -> int:
        """Number of trees."""
        n_trees: int = self.forest_.n_trees
        return n_trees

    @property
    def min_samples_leaf_(self) -> int:
        """Minimum number of rows in the children of a split, also where it was chosen."""
        size: int = self.config_.min_samples_leaf
        return size

    _extra_types: ClassVar[dict[str, Any]] = {"oob_score": Annotated[float | None, Range(-1, 1)]}

    def _extra_header(self) -> dict[str, Any]:
        return {"oob_score": self.oob_score_} if hasattr(self, "oob_score_") else {}

    def _restore_extra(self, extra: dict[str, Any]) -> None:
        if "oob_score" in extra:
            score = extra["oob_score"]
            self.oob_score_ = float("nan") if score is None else float(score)
