"""IB-M: the centre of Mallows' distribution of the rankings near a row."""

import numpy as np

from lrrf_jax._typing import Array, NDArray
from lrrf_jax.learners._table import TrainingTable
from lrrf_jax.learners.neighbors.ranker import NeighborsLabelRanker
from lrrf_jax.learners.neighbors.scores import Model, Neighborhood
from lrrf_jax.rankings import mallows
from lrrf_jax.rankings.statistics import borda_votes_on_host


def mallows_scores(near: Neighborhood) -> Array:  # float32 (n_queries, n_labels)
    """Return the Borda votes of the completed rankings near each row, whose order is the centre."""
    return mallows.fit_tables(near.positions, near.weight).mean_vote


class MallowsNeighborsLabelRanker(NeighborsLabelRanker):
    """Predict the centre of Mallows' distribution, fitted to the rankings of the nearest rows.

    Notes
    -----
    Cheng, Hühn and Hüllermeier 2009. Distances are Euclidean, in float32, and exact; of equally
    near rows the first in training counts. ``n_neighbors`` counts rows, whatever they weigh; among
    them a row of weight w counts as w rows. Partial rankings count by the share of labels that they
    rank, and are completed by hard expectation-maximisation
    (`lrrf_jax.rankings.mallows.fit_tables`). Labels that a ranking ties have an order that is not
    known: they start with the mean of their votes, and then are in the order of the centre, for
    that is the most probable one; their tie counts in full, as something that is ranked. Scores
    are mean Borda votes, from 1 to the number of labels. The model holds the training table.

    Fitting an int costs nothing; predicting, and "auto", O(n_train n_features) per
    row.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [[1, 2, 3], [2, 1, 3], [1, 2, 3], [3, 1, 2]]
    >>> MallowsNeighborsLabelRanker(n_neighbors=3).fit(X, y).predict([[1.1], [2.2]]).tolist()
    [[1, 2, 3], [2, 1, 3]]
    """

    name = "ib-m"
    by_share = True

    def _model(self, tied: bool) -> Model:
        return mallows_scores

    def _overall(self, table: TrainingTable) -> NDArray:
        votes = borda_votes_on_host(table.positions).astype(np.float64)
        return np.average(votes, axis=0, weights=table.weight).astype(np.float32)
