"""Pair scores of training rows by models that did not learn from them."""

from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.learners._table import TrainingTable
from lrrf_jax.learners.forest.ranker import ForestLabelRanker
from lrrf_jax.learners.stacking.members import copy_of, rows_for
from lrrf_jax.rankings.pairwise import pair_indices


def fit_member(
    ranker: Any, table: TrainingTable, fold: NDArray
) -> tuple[Any, NDArray]:  # float32 (n_samples, n_pairs) in [-1, 1], NaN: unknown
    """Fit a member, and score the pairs of each training row without its own ranking.

    Forests with a bootstrap use the trees that did not draw the row; all others are fitted once
    more for each fold, without its rows.
    """
    if isinstance(ranker, ForestLabelRanker) and ranker.bootstrap:
        ranker = copy_of(ranker)._fit_table(table)
        return ranker, ranker._out_of_bag_preferences()
    n_pairs = len(pair_indices(table.positions.shape[1])[0])
    out = np.full((len(fold), n_pairs), np.nan, np.float32)
    for number in range(fold.max() + 1 if fold.any() else 0):  # of one row none is left to fit
        tested = fold == number
        part = copy_of(ranker)._fit_table(rows_of(table, ~tested))
        out[tested] = part._preferences(rows_for(part, table.features[tested], table.categories))
    return copy_of(ranker)._fit_table(table), out


def rows_of(table: TrainingTable, chosen: NDArray) -> TrainingTable:
    """Take some of the rows of a table."""
    weight = table.weight_of(chosen)
    return table._replace(
        features=table.features[chosen],
        positions=table.positions[chosen],
        weight=None if weight is None else weight / weight.mean(),
        row=table.row[chosen],
        scores=None if table.scores is None else table.scores[chosen],
    )


def folds_of(n_samples: int, n_folds: int, random: np.random.Generator) -> NDArray:
    """Deal the rows to folds at random, as evenly as may be; int64 (n_samples,)."""
    return random.permutation(np.arange(n_samples) % n_folds)
