"""The part of a learner that predicts bucket orders: rankings with ties, labels left out."""

import abc
from typing import Any

import numpy as np

from lrrf_jax._output import answer, pair_names
from lrrf_jax._typing import NDArray
from lrrf_jax.learners._estimator import require_fitted
from lrrf_jax.rankings.bucket_orders import (
    DEFAULT_METHOD,
    DEFAULT_THRESHOLD,
    bucket_orders,
    require_settings,
)
from lrrf_jax.rankings.confident import confident_orders, require_confidence
from lrrf_jax.rankings.pairwise import pair_probabilities, pair_signs_on_host

_CELLS_AT_ONCE = 2**22  # of rows x pairs
_ROWS_AT_ONCE = 2**16  # enough for several threads


class PartialModel(abc.ABC):
    """A fitted model that tells how it prefers one label to another; a base of `RankingModel`."""

    labels_: NDArray

    # ------------------------------------------------------------------ what a learner provides
    @abc.abstractmethod
    def _features(self, X: Any) -> NDArray:
        """Check rows, float32 (n_samples, n_features)."""

    @abc.abstractmethod
    def _map_rows(self, of_ranks: bool, features: NDArray) -> NDArray:
        """Rank or score rows."""

    def _preferences(self, features: NDArray) -> NDArray:  # float32 (n_samples, n_pairs)
        """Tell how each pair is preferred, from -1 to 1; see `predict_preferences`.

        A learner whose scores say nothing of how sure it is prefers the higher one altogether.
        """
        return pair_signs_on_host(-self._map_rows(False, features)).astype(np.float32)

    # ------------------------------------------------------------------------------- rows
    def predict_preferences(self, X: Any, output: str | None = None) -> Any:
        """Tell how each pair of labels is preferred.

        See :meth:`predict` for the parameters. The columns of frames are called like "a>b".

        Returns
        -------
        float32 (n_samples, n_pairs)
            For the pairs (i, j), i < j, of ``labels_`` in row-major order: 1 where label i
            certainly comes first, -1 where label j does, 0 where nothing speaks for either, NaN
            where nothing is known of the pair. ``(1 + value) / 2`` is the share, or probability,
            that prefers label i, with half of the ties.

        Notes
        -----
        What is shared out depends on the learner:

        - forests whose leaves hold preferences ("copeland", "kemeny"; "pw-rf"): the mean over
          the leaves, each of which starts with half an observation of no preference;
        - other forests and trees: the share of trees whose leaf has label i first, less the share
          of those that have label j first;
        - "ib-m", "ib-pl": the same of the near rankings that rank both labels, by their weights
          (whatever share of labels they rank); NaN where there is none;
        - "rpc": 2 p - 1 of the pair's probability p, whatever the ``voting``; "ll",
          "lr-boost" and "mlp": 2 p - 1 of the probability that their loss gives to the edge;
        - "stack": 2 p - 1 of the probability that the weighted members give;
        - "default": the same of all training rankings (of a model that was saved before there
          were bucket orders: 1 or -1, as its votes have it);
        - "cc" and all others: 1 or -1, as the scores have it, and 0 where they are equal, for the
          margins of a perceptron have no scale.

        Examples
        --------
        >>> from lrrf_jax import LEARNERS
        >>> ranker = LEARNERS["ib-m"](n_neighbors=3)
        >>> ranker = ranker.fit([[0.0], [1], [2]], [[1, 2, 3], [1, 3, 2], [2, 1, 3]])
        >>> (3 * ranker.predict_preferences([[0.0]])).tolist()
        [[1.0, 3.0, 1.0]]
        """
        require_fitted(self)
        return answer(self, X, output, self._all_preferences, pair_names(self.labels_.tolist()))

    def _all_preferences(self, features: NDArray) -> NDArray:  # float32 (n_samples, n_pairs)
        n_pairs = len(self.labels_) * (len(self.labels_) - 1) // 2
        out = np.empty((len(features), n_pairs), np.float32)
        for rows in self._blocks(len(features)):
            out[rows] = self._preferences(features[rows])
        return out

    def predict_pairwise(self, X: Any) -> NDArray:
        """Tell how probable it is that the one label comes before the other.

        See :meth:`predict` for the rows, and for what is raised.

        Returns
        -------
        float32 (n_samples, n_labels, n_labels)
            At ``[row, i, j]`` the probability that label i of ``labels_`` comes before label j:
            `predict_preferences` as a matrix, ``(1 + value) / 2``. The diagonal is .5, the two
            of a pair sum to 1 up to rounding, and NaN says that nothing is known of a pair.

        Notes
        -----
        They are as good as the learner: those of "rpc" and "ll" are of models of probability;
        shares of trees or neighbours are estimates, and those of forests lean to .5.
        `metrics.brier_score` and `plotting.plot_pair_reliability` tell how far they can be
        trusted. `rankings.kemeny` turns them into rankings. ``4 n_labels^2`` bytes per row.

        Examples
        --------
        >>> from lrrf_jax import LEARNERS
        >>> ranker = LEARNERS["ib-m"](n_neighbors=4)
        >>> rankings = [[1, 2, 3], [1, 3, 2], [2, 1, 3], [1, 2, 3]]
        >>> ranker = ranker.fit([[0.0], [1], [2], [3]], rankings)
        >>> ranker.predict_pairwise([[0.0]])[0].tolist()
        [[0.5, 0.75, 1.0], [0.25, 0.5, 0.75], [0.0, 0.25, 0.5]]
        """
        require_fitted(self)
        return pair_probabilities(self._all_preferences(self._features(X)))

    def predict_partial(
        self,
        X: Any,
        *,
        confidence: float | None = None,
        method: str = DEFAULT_METHOD,
        threshold: float = DEFAULT_THRESHOLD,
        unknown: str = "abstain",
        output: str | None = None,
    ) -> Any:
        """Rank the labels of each row with ties where they are not preferred clearly.

        Parameters
        ----------
        X : array-like or data frame, (n_samples, n_features)
        confidence : float in [.5, 1], optional
            Say only what is sure: labels are ordered in the finest buckets such that all pairs of
            labels of different buckets have a probability (`predict_pairwise`) of so much at
            least, and above one half. In place of ``method`` and ``threshold``.
        method : str
            How `predict_preferences` become a bucket order. "bpa-lia-mp2", "bpa-lia-mp", "bpa-lia",
            "bpa-mp2", "bpa-mp", "bpa": the bucket pivot algorithm; "scikit-lr": as scikit-lr does;
            "optimal": the bucket order that differs least from the preferences, for up to 12
            labels. See `lrrf_jax.rankings.bucket_orders`.
        threshold : float in [0, .5]
            Of the bucket pivot algorithm: labels are tied where the share that prefers the one to
            the other is at most so far from one half. 0 ties what is level; .5 ties everything.
        unknown : {"abstain", "last"}
            Labels of which the model knows no preference, which "ib-m" and "ib-pl" meet where no
            near ranking ranks them beside another label: they get NaN, and the others are ranked
            without them; or, as in scikit-lr, they share a last bucket.
        output : {"same", "pandas", "polars", "arrow"}, optional
            See :meth:`predict`.

        Returns
        -------
        float32 (n_samples, n_labels)
            Positions, 1 = best, in the order of ``labels_``; tied labels have the mean of the
            places that they cover.

        Raises
        ------
        InputError
            For rows that `predict` refuses, and settings other than these.

        Notes
        -----
        Rows do not depend on each other, and are worked on in blocks. Costs what `predict` costs,
        and O(n_labels^2) for each tree, neighbour or pivot. With ``confidence`` no answer reverses
        a sure pair, and two labels may be tied though their pair is sure: because of others that
        are unsure about both, or since what is sure runs in circles. A higher confidence only
        joins buckets; at 1 all but certain pairs are tied. Permuting the labels permutes the
        result where the preferences follow, but for "scikit-lr", "bpa", "bpa-mp" and "bpa-mp2",
        which go by index, and labels that are alike in indecision and total preference.

        Examples
        --------
        >>> from lrrf_jax import LEARNERS
        >>> ranker = LEARNERS["ib-m"](n_neighbors=3)
        >>> ranker = ranker.fit([[0.0], [1], [2]], [[1, 2, 3], [1, 3, 2], [2, 1, 3]])
        >>> ranker.predict([[0.0]]).tolist(), ranker.predict_partial([[0.0]]).tolist()
        ([[1, 2, 3]], [[1.5, 1.5, 3.0]])
        >>> ranker.predict_partial([[0.0]], confidence=0.6).tolist()
        [[1.0, 2.0, 3.0]]
        """

        def orders(features: NDArray) -> NDArray:
            require_settings(method, threshold, unknown, len(self.labels_))
            if confidence is not None:
                own = {
                    "method": (method, DEFAULT_METHOD),
                    "threshold": (threshold, DEFAULT_THRESHOLD),
                }
                require_confidence(confidence, own)
                return confident_orders(
                    self._all_preferences(features), confidence, unknown=unknown
                )
            out = np.empty((len(features), len(self.labels_)), np.float32)
            for rows in self._blocks(len(features)):
                out[rows] = bucket_orders(
                    self._preferences(features[rows]),
                    method=method,
                    threshold=threshold,
                    unknown=unknown,
                )
            return out

        return answer(self, X, output, orders)

    def _blocks(self, n_rows: int) -> list[slice]:
        cells = max(1, len(self.labels_) * (len(self.labels_) - 1) // 2)
        step = max(1, min(_ROWS_AT_ONCE, _CELLS_AT_ONCE // cells))
        return [slice(start, start + step) for start in range(0, n_rows, step)]
