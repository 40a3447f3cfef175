"""IB-PL: Plackett-Luce's strengths of the labels, from the rankings near a row."""

import dataclasses
import numbers

import numpy as np

from lrrf_jax._devices import on_host
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._validation import InputError
from lrrf_jax._xla import bucket_size
from lrrf_jax.learners._table import TrainingTable
from lrrf_jax.learners.neighbors.labels import label_order
from lrrf_jax.learners.neighbors.params import MAX_PRIOR, NeighborConfig
from lrrf_jax.learners.neighbors.ranker import NeighborsLabelRanker
from lrrf_jax.learners.neighbors.scores import Model, Neighborhood
from lrrf_jax.rankings.plackett_luce import Prior, fit_groups, fit_tables

_OVERALL_PRIOR = Prior(1.0)  # keeps the strengths of all training rankings away from 0


def plackett_luce_scores(near: Neighborhood) -> Array:  # float32 (n_queries, n_labels)
    """Return the strengths of the labels, by the rankings near each row, which tie none."""
    prior = Prior(near.prior, near.overall)
    return fit_tables(near.positions, near.weight, prior, ties=False).strength


def plackett_luce_scores_of_ties(near: Neighborhood) -> Array:  # float32 (n_queries, n_labels)
    """Return the strengths of the labels, by the rankings near each row."""
    prior = Prior(near.prior, near.overall)
    return fit_tables(near.positions, near.weight, prior).strength


def overall_strength(table: TrainingTable) -> NDArray:  # float32 (n_labels,), sums to 1
    """Fit one distribution to all training rankings."""
    order = label_order(table.positions, table.tied)
    positions = table.positions[:, order.label]
    n_rows = len(table.positions)
    padding = bucket_size(n_rows) - n_rows
    weight = np.ones(n_rows) if table.weight is None else table.weight
    with on_host():
        fit = fit_groups(
            np.pad(positions, ((0, padding), (0, 0)), constant_values=np.nan),
            np.zeros(n_rows + padding, np.int32),
            np.pad(weight, (0, padding)).astype(np.float32),
            n_groups=1,
            prior=_OVERALL_PRIOR,
            ties=table.tied,
        )
        return np.asarray(fit.strength)[0, order.place]


class PlackettLuceNeighborsLabelRanker(NeighborsLabelRanker):
    """Rank labels by Plackett-Luce strengths, fitted to the rankings of the nearest rows.

    Parameters
    ----------
    prior : float
        Strength of a gamma prior around the strengths of all training rankings, in places won per
        label, while the nearest row weighs 1. With 0 a label that never wins a place near a row
        has strength 0, and rankings that agree drive the fit to its limit of 1,000 iterations.

    Notes
    -----
    Cheng, Dembczynski and Hüllermeier 2010; they use no prior. Distances are Euclidean, in
    float32, and exact; of equally near rows the first in training counts. ``n_neighbors`` counts
    rows, whatever they weigh; among them a row of weight w, of weights of mean 1, counts as w rows
    besides the prior. Partial rankings count as they are. Scores are the strengths: the chance of
    each label to be the best.

    Labels that a ranking ties win the places that they share, in an order that is not known, by
    Efron's likelihood (`lrrf_jax.rankings.plackett_luce`): before those behind as often as in a
    ranking without ties, and level with each other. A tie of all that is left, in the last place,
    says nothing of their order, like the end of a top-k list. Turner, van Etten, Firth and Kosmidis
    2020 have ties as results of their own, as frequent as a parameter says; a few near rankings do
    not tell it, and the order of the labels does not need it
    (`lrrf_jax.rankings.plackett_luce_log_likelihood` knows it).

    Fitting an int costs one fit to all rankings; predicting, and "auto", O(n_train n_features) a
    row, and up to 1,000 iterations of O(n_neighbors n_labels^2).

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [[1, 2, 3], [2, 1, 3], [1, 2, 3], [3, 1, 2]]
    >>> ranker = PlackettLuceNeighborsLabelRanker(n_neighbors=3).fit(X, y)
    >>> ranker.predict([[1.1]]).tolist()
    [[1, 2, 3]]
    """

    name = "ib-pl"
    by_share = False  # nothing is made up for the labels that it leaves out

    prior: float = 0.1

    def _settings(self) -> NeighborConfig:
        number = isinstance(self.prior, numbers.Real) and not isinstance(self.prior, bool)
        if not number or not 0 <= self.prior <= MAX_PRIOR:
            raise InputError(f"prior must be a finite number, 0 or more; it is {self.prior!r}.")
        return dataclasses.replace(super()._settings(), prior=float(self.prior))

    def _model(self, tied: bool) -> Model:
        return plackett_luce_scores_of_ties if tied else plackett_luce_scores

    def _overall(self, table: TrainingTable) -> NDArray:
        return overall_strength(table)
