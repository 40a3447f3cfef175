"""The estimator shell: check, draw a key, fit, predict, score. No algorithm lives here."""

import abc
import dataclasses
import functools
import inspect
import logging
import numbers
import time
from typing import TYPE_CHECKING, Any, Self

import jax
import numpy as np

from lrrf_jax._jax_settings import our_settings
from lrrf_jax._program_limit import make_room_for_programs
from lrrf_jax._threefry import key_from_seed
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import require_choice
from lrrf_jax.learners._coding import UNSEEN, in_order, one_hot
from lrrf_jax.learners._estimator import Estimator, becomes_estimator
from lrrf_jax.learners._parameters import Parametrised
from lrrf_jax.learners._prediction import RankingModel
from lrrf_jax.learners._table import (
    KnownNames,
    TableShape,
    TrainingTable,
    training_table,
)
from lrrf_jax.learners.on_device import Placed
from lrrf_jax.learners.persistence.schema import LATER
from lrrf_jax.learners.persistence.stored import StoredModel
from lrrf_jax.learners.streaming import Seen
from lrrf_jax.rankings.statistics import borda_votes_on_host

logger: logging.Logger = logging.getLogger("lrrf_jax")
logger.addHandler(logging.NullHandler())  # what is logged is shown where somebody asks for it


@becomes_estimator
class LabelRanker(Parametrised, RankingModel, StoredModel, Estimator):
    """What every label ranker shares.

    A learner lists its parameters in its class body, and adds ``_fit`` and the pure functions
    ``_ranks`` and ``_scores`` of fitted parameters and rows.

    Parameters
    ----------
    missing : {"unknown", "last"}
        What a missing label means: nothing, or (top-k lists) a place after every ranked label.
    unseen : {"error", "missing"}
        What a level of a category is that the model does not know, in rows to rank: an error, or a
        missing value; learners that take none then know nothing of the category of that row.

    Attributes
    ----------
    labels_ : str (n_labels,)
    n_features_in_ : int
    feature_names_in_ : object (n_features,)
        Where the features had names.
    feature_categories_ : dict
        The levels of each category, by the name of its column, or its number where columns have
        none.
    """

    missing: str = "unknown"
    unseen: str = dataclasses.field(default="error", metadata=LATER)

    if TYPE_CHECKING:  # of `LEARNERS[name]`, of which only the class has the names of parameters

        def __init__(self, *args: Any, **parameters: Any) -> None: ...

    codes_categories = "one-hot"  # or "ordered", see `_coding`, or "as-they-are"

    random_state = None  # a parameter of the learners that draw at random

    # ------------------------------------------------------------------ what a learner provides
    def _check_settings(self, shape: TableShape) -> None:
        """Raise InputError for parameters that do not do for a table of this shape."""

    @abc.abstractmethod
    def _fit(self, key: jax.Array, table: TrainingTable) -> tuple[Any, Any]:
        """Fit; returns the parameters, a NamedTuple of arrays, and the frozen configuration.

        A learner whose ``fit`` takes further options gets them here, as keywords.
        """

    # ------------------------------------------------------------------------------- fit
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        scores: Any = None,
        feature_names: Any = None,
        labels: Any = None,
        **options: Any,
    ) -> Self:
        """Learn from rankings, or from scores of the labels.

        Parameters
        ----------
        X : array-like, sparse or data frame, (n_samples, n_features)
            Features; NaN is a missing value, which only learners that grow trees take. Converted
            to float32; a sparse matrix, to a dense one. Of data frames also categories: pandas'
            category, polars' Categorical and Enum, Arrow's dictionaries, and text of which no cell
            reads as a number.
        y : array-like or data frame, (n_samples, n_labels)
            ``y[i, j]`` is the position of label j in ranking i, 1 = best, NaN = missing. Labels
            may tie: as 1, 1, 3 or 1, 1, 2 or 1.5, 1.5, 3.
        scores : array-like or data frame, (n_samples, n_labels)
            In place of ``y``: utilities, larger is better, on any scale; NaN = unknown. They are
            ranked, and equal ones tie.
        sample_weight : array-like, (n_samples,), optional
            Weights, not negative. Only their ratios count: weights times any number give the same
            model, equal ones are no weights, and rows of weight 0 are left out.
        feature_names, labels : sequences of str, optional
            Names for the columns of plain arrays. Data frames bring their own, of which whole
            numbers 0, 1, 2, ... in this order are none; other names besides them are an error.
        **options
            Of learners that take more, see there: `RandomForestLabelRanker.fit`.

        Returns
        -------
        self

        Raises
        ------
        InputError
            For data or parameters that cannot be used; the message says what to change.
        BackendError
            Where JAX cannot work, here or in `predict`: it was told to use a device that is not
            there, or the process was forked from one that had used it.

        Notes
        -----
        Whatever counts rows counts each once, however heavy: minimum sizes of nodes and leaves,
        neighbours, draws of a bootstrap, quantiles of features. Penalties, priors and the like
        take the mean weight for 1. Where none of these matters a whole weight is worth as many
        copies of its row; each learner says where it is. Trees keep that exactly while the weights
        have no common divisor and sum to a few million at most.

        What becomes of categories: ``docs/frames.md``. Levels that are declared by the type of a
        column, and that no training row has, are missing values.

        What a tie means to each learner: ``docs/ties.md``. Where labels tie, permuting the columns
        of ``y`` permutes what is learnt and what is predicted. Only where labels, or rankings, come
        out equally good does the index of the labels decide.
        """
        started = time.perf_counter()
        inspect.signature(self._fit).bind(None, None, **options)  # TypeError for unknown ones
        require_choice(self.unseen, "unseen", UNSEEN)
        with our_settings():
            table = training_table(
                X,
                y,
                sample_weight,
                scores=scores,
                missing=self.missing,
                feature_names=feature_names,
                labels=labels,
                known=self._known_names(),
                needs_features=self.needs_features,
            )
            self._fit_table(table, **options)
        logger.info(
            "%s fitted: %d rows, %d features, %d labels, in %.3f s",
            self.name,
            len(table.positions),
            self.n_features_in_,
            len(table.labels),
            time.perf_counter() - started,
        )
        return self

    def _fit_table(self, table: TrainingTable, **options: Any) -> Self:
        """Learn from a table that is checked."""
        self._require_known(table.features, table.feature_names, table.row)
        n_features = table.features.shape[1]
        table = self._coded(table)
        self._check_settings(table.shape)
        make_room_for_programs()
        self._seed = self._draw_seed()
        key = key_from_seed(self._seed)
        params, config = self._fit(key, table, **options)
        self.n_features_in_: int = n_features
        self._categories = table.categories
        self._set_fitted(params, config, table.labels, table.feature_names)
        return self

    def _coded(self, table: TrainingTable) -> TrainingTable:
        """Make numbers that the learner can use of categories."""
        if not table.categories or self.codes_categories == "as-they-are":
            return table
        if self.codes_categories == "one-hot":
            return table._replace(features=one_hot(table.features, table.categories))
        positions = table.positions[:, table.label_order]
        features, categories = in_order(
            table.features, table.categories, borda_votes_on_host(positions), table.weight
        )
        return table._replace(features=features, categories=categories)

    def _known_names(self) -> KnownNames | None:
        """Names that a fit which adds to the last one must keep to."""
        if not (getattr(self, "warm_start", False) and hasattr(self, "params_")):
            return None
        features = getattr(self, "feature_names_in_", None)
        return KnownNames(None if features is None else list(features), self.labels_.tolist())

    def _draw_seed(self) -> int:
        if isinstance(self.random_state, numbers.Integral):
            return int(self.random_state) % 2**32
        state = np.random.mtrand._rand if self.random_state is None else self.random_state
        if not isinstance(state, np.random.RandomState):
            from sklearn.utils import check_random_state  # which says what is wrong with it

            state = check_random_state(state)
        return int(state.randint(2**31 - 1))

    def _set_fitted(self, params: Any, config: Any, labels: Any, feature_names: Any) -> None:
        self.params_: Any = params
        self.config_: Any = config
        self.labels_: NDArray = np.array(labels, dtype=str)
        if feature_names is not None:
            self.feature_names_in_: NDArray = np.array(feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._forget_derived()
        self._prepare()

    def _prepare(self) -> None:
        """Set what is derived from the parameters, later and as needed: predict adds no name."""
        self._seen_sizes: dict[tuple[bool | None, int], Seen] = {}
        self._placed = Placed(functools.partial(self._arrays, self.params_, self.config_))

    def __getstate__(self) -> dict[str, Any]:
        # Pickles hold NumPy arrays only: no device, no compiled program. This learner keeps them.
        bare = object.__new__(type(self))
        bare.__dict__ |= self.__dict__
        bare._forget_derived()
        return super(LabelRanker, bare).__getstate__()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "params_" in self.__dict__:
            self._prepare()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.two_d_labels = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.input_tags.allow_nan = self.accepts_missing_features
        tags.input_tags.sparse = True
        tags.no_validation = False
        return tags
