"""IB-M: the centre of Mallows' distribution of the rankings near a row."""

from typing import Any

import numpy as np

from lrrf_jax._typing import Array, NDArray
from lrrf_jax.learners._table import TrainingTable
from lrrf_jax.learners.neighbor_ranking import Model, Neighborhood, NeighborsLabelRanker
from lrrf_jax.rankings import mallows
from lrrf_jax.rankings.statistics import borda_votes


def mallows_scores(near: Neighborhood) -> Array:  # float32 (n_queries, n_labels)
    """Return the Borda votes of the completed rankings near each row, whose order is the centre."""
    return mallows.fit_tables(near.positions, near.weight).mean_vote


class MallowsNeighborsLabelRanker(NeighborsLabelRanker):
    """Predict the centre of Mallows' distribution, fitted to the rankings of the nearest rows.

    Parameters
    ----------
    n_neighbors : int or "auto", default "auto"
        "auto" chooses 5, 10, 15 or 20: the one of the best mean tau, over the known pairs of
        training rows held out in ten folds (of 4,096 rows, drawn at random, at most).
    weights : {"uniform", "dudani", "distance"}, default "uniform"
        What a near row counts. "dudani": from 1 for the nearest down to 0 for the farthest of
        them, by distance; "distance": the inverse of the distance, where rows at distance 0
        outweigh all others. A partial ranking counts by the share of labels that it ranks, too.
    scale : bool, default False
        Whether to standardise the features. Without it a feature counts by its units: set it
        where they differ (scikit-learn's wine: tau .57 without, .94 with it; notebook 04).
    missing : {"unknown", "last"}, default "unknown"
        What a missing label means: nothing, or a place after every ranked label.
    random_state : int, RandomState or None
        Draws the folds of "auto".

    Attributes
    ----------
    n_neighbors_ : int
        The number of neighbours in use.
    params_, config_
        The training rows, and the settings.

    Notes
    -----
    Cheng, Hühn and Hüllermeier 2009. Distances are Euclidean, in float32, and exact; of equally
    near rows the first in training counts. ``n_neighbors`` counts rows, whatever they weigh; among
    them a row of weight w counts as w rows. Partial rankings are completed by hard
    expectation-maximisation (`lrrf_jax.rankings.mallows.fit_tables`). Scores are mean Borda votes,
    from 1 to the number of labels. The model holds the training table.

    Fitting an int costs nothing; predicting, and "auto", O(n_train n_features) a row.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [[1, 2, 3], [2, 1, 3], [1, 2, 3], [3, 1, 2]]
    >>> MallowsNeighborsLabelRanker(n_neighbors=3).fit(X, y).predict([[1.1], [2.2]]).tolist()
    [[1, 2, 3], [2, 1, 3]]
    """

    name = "ib-m"
    by_share = True

    def __init__(
        self,
        *,
        n_neighbors: Any = "auto",
        weights: str = "uniform",
        scale: bool = False,
        missing: str = "unknown",
        random_state: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.scale = scale
        self.missing = missing
        self.random_state = random_state

    def _model(self) -> Model:
        return mallows_scores

    def _overall(self, table: TrainingTable) -> NDArray:
        votes = np.asarray(borda_votes(table.positions), np.float64)
        return np.average(votes, axis=0, weights=table.weight).astype(np.float32)
