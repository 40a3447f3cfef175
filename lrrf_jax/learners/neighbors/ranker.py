"""The shell of the learners that model the rankings of near rows."""

import dataclasses
from typing import Any, ClassVar

import jax
import numpy as np

from lrrf_jax._backend import Backend
from lrrf_jax._devices import local_devices
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_choice, require_integer
from lrrf_jax.learners._table import TableShape, TrainingTable
from lrrf_jax.learners.base import LabelRanker
from lrrf_jax.learners.batching import map_rows
from lrrf_jax.learners.neighbors.choice import CANDIDATES, choose_n_neighbors
from lrrf_jax.learners.neighbors.labels import in_label_order, label_order
from lrrf_jax.learners.neighbors.params import (
    MAX_NEIGHBORS,
    WEIGHTS,
    NeighborConfig,
    NeighborParams,
    are_rankings,
    scaled,
)
from lrrf_jax.learners.neighbors.predict import ReadyNeighbors, neighbor_rows, put_back
from lrrf_jax.learners.neighbors.preferences import NearRows, near_preferences, weigh_near_rows
from lrrf_jax.learners.neighbors.scores import Model, padded_rankings, score_neighborhoods
from lrrf_jax.learners.neighbors.search import nearest, neighbor_table
from lrrf_jax.learners.on_device import RowFunction
from lrrf_jax.learners.why import Neighbor, Why, adjacent_pairs, ranking_text
from lrrf_jax.rankings.permutations import rank_scores

_WIDTHS = (5, 10, 20)  # numbers of neighbours up to these share a program
_PAIRS_AT_ONCE = 2**16


def _width_for(n_neighbors: int) -> int:
    return next((width for width in _WIDTHS if width >= n_neighbors), n_neighbors)


def _width(params: NeighborParams, config: NeighborConfig) -> int:
    """Neighbours to search for: no more than there are rows, whatever was asked for."""
    return min(config.width, max(*_WIDTHS, len(params.features)))


class NeighborsLabelRanker(LabelRanker):
    """A label ranker that models the rankings of the nearest training rows.

    Parameters
    ----------
    n_neighbors : int or "auto"
        "auto" chooses 5, 10, 15 or 20: the one of the best mean tau, over the known pairs of
        training rows held out in ten folds (of 4,096 rows, drawn at random, at most).
    weights : {"uniform", "dudani", "distance"}
        What a near row counts. "dudani": from 1 for the nearest down to 0 for the farthest of
        them, by distance; "distance": the inverse of the distance, where rows at distance 0
        outweigh all others.
    scale : bool
        Whether to standardise the features. Without it a feature counts by its units: set it
        where they differ (scikit-learn's wine with IB-M: tau .57 without, .94 with it; notebook
        04).
    random_state : int, RandomState or None
        Draws the folds of "auto".

    Attributes
    ----------
    n_neighbors_ : int
        The number of neighbours in use.
    params_, config_
        The training rows, and the settings.
    """

    n_neighbors: Any = "auto"
    weights: str = "uniform"
    scale: bool = False
    random_state: Any = None

    params_type = NeighborParams
    config_type = NeighborConfig
    accepts_missing_features = False
    by_share: ClassVar[bool]  # whether a ranking counts by the share of labels that it ranks

    # ------------------------------------------------------------------ what a learner provides
    def _model(self, tied: bool) -> Model:
        """Return what models near rankings, some of which tie labels or none."""
        raise NotImplementedError

    def _overall(self, table: TrainingTable) -> NDArray:  # float32 (n_labels,)
        """Sum up what all training rankings say of the labels, larger is better."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------- fit, predict
    def _settings(self) -> NeighborConfig:
        if self.n_neighbors != "auto":
            if isinstance(self.n_neighbors, str):
                raise InputError(
                    f"n_neighbors must be 'auto' or a whole number; it is {self.n_neighbors!r}."
                )
            require_integer(self.n_neighbors, "n_neighbors", 1, MAX_NEIGHBORS)
        require_choice(self.weights, "weights", WEIGHTS)
        require_choice(self.scale, "scale", (False, True))
        n_neighbors = 0 if self.n_neighbors == "auto" else int(self.n_neighbors)
        width = _width_for(n_neighbors or max(CANDIDATES))
        return NeighborConfig(n_neighbors, width, self.weights, bool(self.scale))

    def _check_settings(self, shape: TableShape) -> None:
        self._settings()

    def _fit(self, key: jax.Array, table: TrainingTable) -> tuple[NeighborParams, NeighborConfig]:
        config = dataclasses.replace(self._settings(), tied=table.tied)
        features = table.features
        weight = np.ones(len(features)) if table.weight is None else table.weight
        mean = np.zeros(features.shape[1], np.float32)
        deviation = np.ones(features.shape[1], np.float32)
        if config.scale:
            mean = np.average(features, axis=0, weights=weight).astype(np.float32)
            square = np.average(
                np.square(features - mean, dtype=np.float64), axis=0, weights=weight
            )
            deviation = np.where(square > 0, np.sqrt(square), 1).astype(np.float32)
        params = NeighborParams(
            scaled(features, mean, deviation) if config.scale else features,
            table.positions,
            weight.astype(np.float32),
            self._overall(table),
            mean,
            deviation,
        )
        if config.n_neighbors == 0:
            ordered = in_label_order(params, label_order(params.positions, config.tied))
            model = self._model(config.tied)
            chosen = choose_n_neighbors(key, ordered, config, model, self.by_share)
            config = dataclasses.replace(config, n_neighbors=chosen)
        return params, config

    @property
    def n_neighbors_(self) -> int:
        """The number of neighbours in use."""
        return self.config_.n_neighbors

    @classmethod
    def _arrays(
        cls, params: NeighborParams, config: NeighborConfig, backend: Backend
    ) -> ReadyNeighbors:
        order = label_order(params.positions, config.tied)
        params = in_label_order(params, order)
        return ReadyNeighbors(
            neighbor_table(params.features, room=_width(params, config)),
            *padded_rankings(params),
            params.overall,
            np.float32(config.n_neighbors),
            np.float32(config.prior),
            order.place,
        )

    def _row_function(self, of_ranks: bool) -> RowFunction | None:
        config = self.config_
        if config.scale:
            return None  # XLA divides to other last bits than NumPy, by which distances are known
        return RowFunction.of(
            neighbor_rows,
            marks_unknown=True,
            width=self._width(),
            model=self._model(config.tied),
            weights=config.weights,
            by_share=self.by_share,
            tied=config.tied,
            of_ranks=of_ranks,
        )

    def _row_bytes(self) -> int:
        return 64 * self._width() * len(self.labels_)

    def _width(self) -> int:
        return _width(self.params_, self.config_)

    def _found(self, features: NDArray) -> tuple[jax.Array, jax.Array]:
        """Rows and distances of the nearest, (n_samples, width)."""
        if self.config_.scale:
            features = scaled(features, self.params_.mean, self.params_.deviation)
        table = self._placed_arrays().on(local_devices()[0]).table
        return nearest(table, features, k=self._width())

    def _near(self, features: NDArray) -> NearRows:
        def weighed(rows: NDArray) -> jax.Array:
            ready = self._placed_arrays().on(local_devices()[0])
            found = self._found(rows)
            kind = self.config_.weights
            return weigh_near_rows(ready.weight, *found, ready.n_neighbors, weights=kind)

        return NearRows.of(map_rows(weighed, features, self._seen(None)))

    def _preferences(self, features: NDArray) -> NDArray:
        return near_preferences(np.asarray(self.params_.positions), self._near(features))

    def why(self, X: Any, row: int = 0, k: int = 5) -> Why:
        """Tell which training rows stand behind the ranking of one row.

        Parameters
        ----------
        X : array-like or data frame, (n_samples, n_features)
        row : int
            Which row of ``X``, from 0.
        k : int
            How many training rows to show at most.

        Returns
        -------
        Why
            - labels, scores: as predicted, best first;
            - agreement: float64 (n_labels - 1,), the share of near rankings, by their weights, that
              has each label before the next one, with half of those that tie them; NaN where none
              ranks both;
            - neighbors: the ``k`` of most weight, the nearer one first among equals, and their
              rankings. Weights are shares of those of all ``n_neighbors_``, before what a model
              makes of partial rankings. Rows are numbered as they are kept: those that
              were left out of training are not counted.

            ``str`` of it is a text, `lrrf_jax.plotting.plot_why` a figure; notebooks show the text.

        Raises
        ------
        InputError
            For rows that `predict` refuses, and a row that is not there.

        Examples
        --------
        >>> from lrrf_jax import LEARNERS
        >>> ranker = LEARNERS["ib-m"](n_neighbors=3)
        >>> ranker = ranker.fit([[0.0], [1], [2]], [[1, 2], [1, 2], [2, 1]], labels=["tea", "milk"])
        >>> print(ranker.why([[0.0]], k=1))
        row 0: tea > milk
        <BLANKLINE>
        label  score
        tea     1.67
        milk    1.33
        <BLANKLINE>
        share of rankings in this order
          tea > milk   67 %
        <BLANKLINE>
        training rows by weight
          row 0  0.333  tea > milk
        """
        features = self._features(X)
        require_integer(row, "row", 0, len(features) - 1)
        require_integer(k, "k", 1)
        features = features[row : row + 1]
        ranks, scores = self._map_rows(True, features)[0], self._map_rows(False, features)[0]
        order = np.argsort(ranks)
        near, positions = self._near(features), np.asarray(self.params_.positions)
        weight = near.weight[0] / near.weight[0].sum()
        heaviest = np.argsort(-weight, kind="stable")[: int(k)]
        share = (1 + near_preferences(positions, near)[0].astype(np.float64)) / 2
        pairs = adjacent_pairs(order)
        share = np.where(order[:-1] < order[1:], share[pairs], 1 - share[pairs])
        labels = self.labels_.tolist()
        found = [
            Neighbor(int(at), float(w), ranking_text(positions[at], labels), positions[at][order])
            for at, w in zip(near.row[0, heaviest], weight[heaviest], strict=True)
            if w > 0
        ]
        names = self.labels_[order].tolist()
        return Why(int(row), names, scores[order], share, "rankings", found, None, [])

    def _scores(self, features: NDArray) -> jax.Array:
        config = self.config_
        _, *rankings, place = self._placed_arrays().on(local_devices()[0])
        scores = score_neighborhoods(
            *rankings[:3],
            *self._found(features),
            *rankings[3:],
            model=self._model(config.tied),
            weights=config.weights,
            by_share=self.by_share,
        )
        return put_back(scores, place) if config.tied else scores

    def _ranks(self, features: NDArray) -> jax.Array:
        return rank_scores(self._scores(features))

    def _check_params(self, params: NeighborParams) -> str | None:
        if len(params.features) < 1:
            return "it holds no training rows"
        config = self.config_
        if config.width not in (_width_for(config.n_neighbors), _width_for(max(CANDIDATES))):
            return f"{config.n_neighbors} neighbours are never chosen from {config.width}"
        if config.width < config.n_neighbors:
            return f"{config.n_neighbors} neighbours are not found among {config.width}"
        n_rows = max(1, _PAIRS_AT_ONCE // params.positions.shape[1] ** 2)
        for start in range(0, len(params.positions), n_rows):
            if not are_rankings(params.positions[start : start + n_rows]):
                return "its training rows hold what is no ranking"
        return None
