"""Ranks and scores of a few rows on the host: what `aggregation` gives, without a program."""

import dataclasses

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.inference.few_rows import BlockForest, block_forest, sum_over_trees
from lrrf_jax.learners.forest.aggregation import PAIR_UNIT, VOTE_UNIT
from lrrf_jax.rankings import on_host
from lrrf_jax.trees.forest import Forest


@dataclasses.dataclass(frozen=True)
class FewRowsRanker:
    """A forest in the form of :mod:`lrrf_jax.inference.few_rows`, and how its sums become ranks."""

    forest: BlockForest
    aggregation: str
    positions: NDArray  # int32 (n_labels,), 1..n_labels

    @classmethod
    def of(cls, forest: Forest, n_labels: int, aggregation: str) -> "FewRowsRanker":
        """Rearrange a forest."""
        positions = np.arange(1, n_labels + 1, dtype=np.int32)
        return cls(block_forest(forest), aggregation, positions)

    def ranks(self, features: NDArray) -> NDArray:
        """Rank rows, float32 (n_samples, n_features), as `predict.forest_ranks` does."""
        ordering = self._ordering(sum_over_trees(self.forest, features))
        return on_host.ranks_of_ordering(ordering, self.positions)

    def scores(self, features: NDArray) -> NDArray:
        """Score rows as `predict.forest_scores` does."""
        n_trees, n_labels = len(self.forest.ones), len(self.positions)
        sums = sum_over_trees(self.forest, features).reshape(len(features), -1)
        if self.aggregation == "two-step":
            scores = on_host.mean_scores((n_labels + 1) * n_trees - sums, n_trees)
        elif self.aggregation == "one-step":
            scores = on_host.mean_scores(sums, n_trees * VOTE_UNIT)
        else:
            total = on_host.label_totals(sums, n_labels)
            scores = on_host.mean_scores(total, n_trees * PAIR_UNIT * (n_labels - 1))
        return on_host.scores_in_order(scores, self._ordering(sums).reshape(scores.shape))

    def _ordering(self, sums: NDArray) -> NDArray:  # intp (..., n_labels)
        if self.aggregation == "two-step":
            return sums.argsort(-1, "stable")
        if self.aggregation == "one-step":
            return on_host.ordering_of_scores(sums)
        if self.aggregation == "copeland":
            return on_host.copeland_ordering(sums, len(self.positions))
        return on_host.kemeny_ordering(sums, len(self.positions))
