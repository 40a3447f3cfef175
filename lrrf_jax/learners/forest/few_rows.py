"""Ranks and scores of a few rows on the host: what `aggregation` gives, without a program."""

import functools

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.inference.few_rows import (
    BlockForest,
    block_forest,
    find_leaves,
    sum_over_trees,
)
from lrrf_jax.learners.forest.aggregation import PAIR_UNIT, VOTE_UNIT
from lrrf_jax.rankings import on_host
from lrrf_jax.trees.forest import Forest

# Rows up to which no more is asked than whether a program would have to be compiled, and pairs of
# rows and trees up to which it would be no faster if it were there.
_MOST_ROWS_AT_ANY_RATE, _MOST_ROWS, _MOST_ROW_TREES = 8, 32, 1200


class FewRowsRanker:
    """A forest that ranks a few rows; its tables are made when they are first needed.

    Calls may come from several threads: nothing is kept between them but the tables.
    """

    def __init__(self, forest: Forest, n_labels: int, aggregation: str) -> None:
        self._source, self._aggregation = forest, aggregation
        self._positions = np.arange(1, n_labels + 1, dtype=np.int32)
        trees_allow = _MOST_ROW_TREES // forest.n_trees
        self.most_rows = max(_MOST_ROWS_AT_ANY_RATE, min(_MOST_ROWS, trees_allow))

    @functools.cached_property
    def _forest(self) -> BlockForest:
        return block_forest(self._source)

    def leaves(self, features: NDArray) -> NDArray:  # int32 (n_samples, n_trees)
        """Find the leaves of rows, float32 (n_samples, n_features), as `views.leaves` does."""
        n_trees, n_leaves = self._source.leaf_slot.shape
        leaf = find_leaves(self._forest, features).reshape(len(features), n_trees) % n_leaves
        return leaf.astype(np.int32)

    def ranks(self, features: NDArray) -> NDArray:
        """Rank rows as `predict.forest_ranks` does."""
        ordering = self._ordering(sum_over_trees(self._forest, features))
        return on_host.ranks_of_ordering(ordering, self._positions)

    def scores(self, features: NDArray) -> NDArray:
        """Score rows as `predict.forest_scores` does."""
        n_trees, n_labels = self._source.n_trees, len(self._positions)
        sums = sum_over_trees(self._forest, features).reshape(len(features), -1)
        if self._aggregation == "two-step":
            scores = on_host.mean_scores((n_labels + 1) * n_trees - sums, n_trees)
        elif self._aggregation == "one-step":
            scores = on_host.mean_scores(sums, n_trees * VOTE_UNIT)
        else:
            total = on_host.label_totals(sums, n_labels)
            scores = on_host.mean_scores(total, n_trees * PAIR_UNIT * (n_labels - 1))
        return on_host.scores_in_order(scores, self._ordering(sums).reshape(scores.shape))

    def _ordering(self, sums: NDArray) -> NDArray:  # intp (..., n_labels)
        if self._aggregation == "two-step":
            return sums.argsort(-1, "stable")
        if self._aggregation == "one-step":
            return on_host.ordering_of_scores(sums)
        if self._aggregation == "copeland":
            return on_host.copeland_ordering(sums, len(self._positions))
        return on_host.kemeny_ordering(sums, len(self._positions))
