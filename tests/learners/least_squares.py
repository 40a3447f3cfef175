"""LS: a linear regression of the votes of each label, which `test_new_learner.py` adds."""

from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import require_number
from lrrf_jax.learners._table import TableShape, TrainingTable
from lrrf_jax.learners.linear.blocks import row_weights
from lrrf_jax.learners.linear.params import LinearParams, design, params_of, scaling_of
from lrrf_jax.learners.linear.predict import utility_rows
from lrrf_jax.learners.linear.ranker import LinearLabelRanker
from lrrf_jax.learners.persistence.stored import PlainConfig
from lrrf_jax.rankings.statistics import borda_votes


def fit_least_squares(table: TrainingTable, ridge: float) -> LinearParams:
    """Solve the normal equations of all labels at once, in float64."""
    scaling = scaling_of(table.features, table.weight, centred=True)
    columns = np.asarray(design(scaling, table.features), np.float64)
    pull = columns.T * row_weights(table)
    penalty = ridge * np.eye(columns.shape[1])
    models = np.linalg.solve(
        pull @ columns + penalty, pull @ np.asarray(borda_votes(table.positions))
    )
    return params_of(scaling, models.astype(np.float32))


class LeastSquaresLabelRanker(LinearLabelRanker):
    """Rank labels by linear functions that fit their Borda votes in the least squares.

    Parameters
    ----------
    ridge : float
        Penalty on the squared weights, for features of unit variance and weights of mean 1.

    Notes
    -----
    Fit costs O(n_samples n_features^2), predict O(n_features n_labels) per row.
    """

    name = "ls"

    ridge: float = 1e-3

    def _check_settings(self, shape: TableShape) -> None:
        require_number(self.ridge, "ridge", 1e-6)

    def _fit(self, key: Any, table: TrainingTable) -> tuple[LinearParams, PlainConfig]:
        return fit_least_squares(table, float(self.ridge)), PlainConfig(table.shape.n_labels)

    def _ranks(self, features: NDArray) -> Any:
        return utility_rows(self.params_, features, of_ranks=True)

    def _scores(self, features: NDArray) -> Any:
        return utility_rows(self.params_, features, of_ranks=False)
