"""A fitted learner and rows: rankings, names, scores."""

import abc
import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, Self

import jax
import numpy as np

from lrrf_jax import metrics
from lrrf_jax._devices import backend_in_use, local_devices
from lrrf_jax._features import Expected, as_features
from lrrf_jax._jax_settings import our_settings
from lrrf_jax._output import answer, place_names
from lrrf_jax._program_limit import times_dropped
from lrrf_jax._threads import thread_count
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_integer
from lrrf_jax.learners._coding import n_columns_of, one_hot, unknown_as_missing
from lrrf_jax.learners._device_model import DeviceModel
from lrrf_jax.learners._estimator import require_fitted
from lrrf_jax.learners._file_model import FileModel
from lrrf_jax.learners._partial import PartialModel
from lrrf_jax.learners._table import warn_of_other_row_order
from lrrf_jax.learners.batching import batch_sizes as batch_sizes_of
from lrrf_jax.learners.batching import map_rows
from lrrf_jax.learners.on_device import function_on
from lrrf_jax.learners.streaming import Seen, Work
from lrrf_jax.rankings.by_label import positions_by_label


class OnHost(Protocol):
    """What ranks a few rows, float32 (n_samples, n_features), without a program."""

    def ranks(self, features: NDArray) -> NDArray:
        """Positions, int32 (n_samples, n_labels)."""

    def scores(self, features: NDArray) -> NDArray:
        """Scores, float32 (n_samples, n_labels)."""


class RankingModel(PartialModel, DeviceModel, FileModel):
    """The part of a learner that ranks rows once it is fitted; a base of `LabelRanker`."""

    accepts_missing_features: ClassVar[bool] = True
    needs_features: ClassVar[bool] = True
    codes_categories: ClassVar[str]

    unseen: str

    # ------------------------------------------------------------------ what a learner provides
    @abc.abstractmethod
    def _ranks(self, features: NDArray) -> jax.Array:
        """Positions of a block of rows, int32 (n_samples, n_labels)."""

    @abc.abstractmethod
    def _scores(self, features: NDArray) -> jax.Array:
        """Scores of a block of rows, float32 (n_samples, n_labels), in the order of `_ranks`."""

    def _on_host(self, n_rows: int, seen: Seen | None = None) -> OnHost | None:
        """Return what ranks so few rows without a program, where there is such a thing.

        ``seen`` is what is known of the program, where it is only to be put off: more rows then
        do without it, as long as compiling it would take longer.
        """
        return None

    # ------------------------------------------------------------------------------- rows
    def _features(self, X: Any) -> NDArray:
        require_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        expected = Expected(self.n_features_in_, names, self._categories, self.unseen)
        features = as_features(X, expected, none_will_do=not self.needs_features).values
        self._require_known(features, names)
        return self._as_numbers(features)

    def _as_numbers(self, features: NDArray) -> NDArray:
        """Make numbers that the learner can use of rows with codes of categories."""
        if not self._categories or self.codes_categories == "as-they-are":
            return features
        as_numbers = one_hot if self.codes_categories == "one-hot" else unknown_as_missing
        return as_numbers(features, self._categories)

    @property
    def _n_columns(self) -> int:
        """Columns of the features as the learner gets them, which are more where it is one-hot."""
        if self.codes_categories == "one-hot":
            return n_columns_of(self.n_features_in_, self._categories)
        return self.n_features_in_

    @property
    def feature_categories_(self) -> dict[str | int, tuple[str, ...]]:
        """The levels of each category in the order of their codes."""
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        return {names[j]: levels for j, levels in self._levels.items()}

    @property
    def _levels(self) -> dict[int, tuple[str, ...]]:
        return {j: levels.names for j, levels in self._categories.items()}

    def _require_known(
        self, features: NDArray, names: Sequence[str] | None, row: NDArray | None = None
    ) -> None:
        if self.accepts_missing_features:
            return
        bad = np.isnan(features)
        if bad.any():
            first, column = np.argwhere(bad)[0]
            where = column if names is None else f"'{names[column]}'"
            raise InputError(
                f"X must hold no missing values for '{self.name}'; row "
                f"{first if row is None else row[first]}, column {where} is NaN "
                f"({bad.any(1).sum()} of {len(bad)} rows fail). Fill them in, for example with "
                "sklearn.impute.SimpleImputer, or use 'lr-rf', which takes them."
            )

    def _map_rows(self, of_ranks: bool, features: NDArray) -> NDArray:
        seen = self._seen(of_ranks)
        few = self._on_host(len(features), seen)
        if few is not None:
            return few.ranks(features) if of_ranks else few.scores(features)
        function = self._ranks if of_ranks else self._scores
        return map_rows(function, features, seen, lambda: self._work(of_ranks))

    def _work(self, of_ranks: bool) -> Work:
        row_bytes, largest = self._row_bytes(), len(self.labels_) if of_ranks else None
        rows = self._row_function(of_ranks)
        if rows is None:
            function = self._ranks if of_ranks else self._scores
            return Work(lambda devices: function, False, row_bytes, largest)
        rows = dataclasses.replace(rows, marks_unknown=False)  # no such row gets as far
        placed = self._placed_arrays()
        return Work(lambda devices: function_on(devices, rows, placed), True, row_bytes, largest)

    def _forget_derived(self) -> None:
        """Drop what is derived from the parameters and can be derived again."""
        super()._forget_derived()
        self.__dict__.pop("_seen_sizes", None)

    def _seen(self, program: bool | str | None) -> Seen:
        """Sizes for which the program of ``_ranks`` (True), ``_scores`` or another is compiled."""
        of_all = self.__dict__.setdefault("_seen_sizes", {})
        key = program, times_dropped()
        return of_all[key] if key in of_all else of_all.setdefault(key, Seen())

    def predict(self, X: Any, output: str | None = None) -> Any:
        """Rank all labels for each row.

        Parameters
        ----------
        X : array-like or data frame, (n_samples, n_features)
            Rows, as `fit` takes them; the columns of a data frame have the names of training.
        output : {"same", "pandas", "polars", "arrow"}, optional
            A data frame with the names of the labels: of the kind of ``X``, or of a library.
            Pandas' has the index of ``X``. By default an array.

        Returns
        -------
        int32 (n_samples, n_labels)
            Positions, 1 = best: each row is a permutation of 1..n_labels.

        Raises
        ------
        InputError
            For rows and kinds of output that cannot be used.

        Examples
        --------
        >>> import pandas as pd
        >>> from lrrf_jax import LEARNERS
        >>> X = pd.DataFrame({"size": [1.0, 2.0]}, index=["u", "v"])
        >>> ranker = LEARNERS["default"]().fit(X, pd.DataFrame({"a": [2, 2], "b": [1, 1]}))
        >>> ranker.predict(X, output="same")
           a  b
        u  2  1
        v  2  1
        """
        return answer(self, X, output, lambda features: self._map_rows(True, features))

    def compile(self, batch_sizes: Sequence[int] | None = None, *, scores: bool = False) -> Self:
        """Compile what :meth:`predict` needs now, so that no later call waits for it.

        Rows are cut into batches of at most nine sizes (four on accelerators), each with a program
        of its own, which takes about a second to compile. Never needed: a call compiles what it
        lacks. On CPUs forests have no program for 8 rows and fewer, or 24 and fewer of up to 50
        trees: NumPy ranks these, and what it needs is made here. Of up to 4,096 rows NumPy also
        does the first calls, a quarter of a second of them in all, unless this was called.

        Parameters
        ----------
        batch_sizes : sequence of int, optional
            Numbers of rows that will be asked for. None: any.
        scores : bool
            Compile also what :meth:`predict_scores` needs.

        Returns
        -------
        self
        """
        require_fitted(self)
        rows = () if batch_sizes is None else batch_sizes
        for n_rows in rows:
            require_integer(n_rows, "batch_sizes", 1)
        with our_settings():
            backend = backend_in_use()
            n_devices = len(local_devices())
        if not backend.on_host:
            largest = [size * n_devices for size in backend.batch_sizes]
            for n_rows in rows or [1, *largest]:
                for of_ranks in (True, False)[: 1 + scores]:
                    self._map_rows(of_ranks, np.zeros((n_rows, self._n_columns), np.float32))
            return self
        sizes = set(backend.batch_sizes)
        if batch_sizes is not None:
            many = [int(n) for n in rows if self._on_host(int(n)) is None]
            sizes = {size for n in many for size in batch_sizes_of(n, thread_count())}
        sizes = {size for size in sizes if self._on_host(size) is None}
        few = self._on_host(1)
        if few is not None:
            few.ranks(np.zeros((1, self._n_columns), np.float32))  # which makes its tables
        with our_settings():
            for of_ranks in (True, False)[: 1 + scores]:
                function, seen = self._ranks if of_ranks else self._scores, self._seen(of_ranks)
                for size in sorted(sizes - seen.sizes):
                    np.asarray(function(np.zeros((size, self._n_columns), np.float32)))
                    seen.sizes.add(size)
        return self

    def predict_order(self, X: Any, output: str | None = None) -> Any:
        """Name the labels of each row, best first.

        See :meth:`predict` for the parameters. The columns of frames are place_1, place_2, ...

        Returns
        -------
        str (n_samples, n_labels)
        """
        return self._order(X, None, output)

    def predict_topk(self, X: Any, k: int = 3, output: str | None = None) -> Any:
        """Name the ``k`` best labels of each row, best first.

        As :meth:`predict_order`, of which these are the first columns.

        Returns
        -------
        str (n_samples, k)

        Raises
        ------
        InputError
            For rows that `predict` refuses, and where there are fewer than ``k`` labels.
        """
        require_fitted(self)
        require_integer(k, "k", 1, len(self.labels_))
        return self._order(X, int(k), output)

    def _order(self, X: Any, k: int | None, output: str | None) -> Any:
        def order(features: NDArray) -> NDArray:
            ranks = self._map_rows(True, features)
            return np.asarray(self.labels_[ranks.argsort(1)[:, :k]])

        require_fitted(self)
        return answer(self, X, output, order, place_names(len(self.labels_[:k])))

    def predict_scores(self, X: Any, output: str | None = None) -> Any:
        """Score the labels of each row, larger is better, in the order of :meth:`predict`.

        See there for the parameters.

        Returns
        -------
        float32 (n_samples, n_labels)
        """
        return answer(self, X, output, lambda features: self._map_rows(False, features))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean Kendall tau of the predictions, over rows with at least one known pair.

        Pairs of which ``y`` leaves a label out do not count. The columns of a data frame go by
        name, in any order; unknown and absent labels are an `InputError`. The columns of an array
        are in the order of ``labels_``, and so are those of a frame, with a warning, where the
        model was fitted without names for its labels (they are then called L1, L2, ...).
        """
        require_fitted(self)
        warn_of_other_row_order(X, y)
        truth = positions_by_label(y, self.labels_.tolist())
        return metrics.kendall_tau(truth, self.predict(X), sample_weight)
