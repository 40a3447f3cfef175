"""Ranks and scores of a few rows on the host: what `aggregation` gives, without a program.

Also of many, at first, while compiling that program would take longer.
"""

import functools
from collections.abc import Callable

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.inference.few_rows import (
    BlockForest,
    block_forest,
    find_leaves,
    sum_over_trees,
)
from lrrf_jax.learners.batching import batch_sizes
from lrrf_jax.learners.forest.aggregation import PAIR_UNIT, VOTE_UNIT
from lrrf_jax.learners.streaming import Seen
from lrrf_jax.rankings import on_host
from lrrf_jax.trees.forest import Forest

# Rows up to which no more is asked than whether a program would have to be compiled, and pairs of
# rows and trees up to which it would be no faster if it were there.
_MOST_ROWS_AT_ANY_RATE, _MOST_ROWS, _MOST_ROW_TREES = 8, 32, 1200
# More rows are ranked here as long as that takes less, in all, than their program does to compile:
# half a second, and .05 s where it was kept on disk. A cell, one of the 16 columns or more that
# a row and tree take, is 4 ns of NumPy: the quarter of a second between them is 2**26 cells.
_MOST_ROWS_AT_FIRST, _CELLS_TO_COMPILE = 4096, 2**26
_LEAST_COLUMNS = 16  # of a round of tests
_CELLS_OF_ROW = 64  # an ordering, and each step of Kemeny's search for one
_CELLS_AT_ONCE, _ROWS_AT_ONCE = 2**17, 256  # a core's cache holds what is made of these


class FewRowsRanker:
    """A forest that ranks a few rows; its tables are made when they are first needed.

    Calls may come from several threads: nothing is kept between them but the tables.
    """

    def __init__(self, forest: Forest, n_labels: int, aggregation: str) -> None:
        self._source, self._aggregation = forest, aggregation
        self._positions = np.arange(1, n_labels + 1, dtype=np.int32)
        trees_allow = _MOST_ROW_TREES // forest.n_trees
        self.most_rows: int = max(_MOST_ROWS_AT_ANY_RATE, min(_MOST_ROWS, trees_allow))
        cells = forest.n_trees * max(_LEAST_COLUMNS, forest.n_outputs)
        self._rows_at_once = max(1, min(_ROWS_AT_ONCE, _CELLS_AT_ONCE // cells))
        searched = n_labels**2 if aggregation == "kemeny" else 1
        self._cells_of_row = cells + searched * _CELLS_OF_ROW

    def spares_compiling(self, n_rows: int, seen: Seen) -> bool:
        """Whether so many rows are better ranked here, since their program is not there yet.

        What is done here is counted, not timed, so that a sequence of calls always takes the same
        ways; threads that ask at once may do a little more of it.
        """
        size = batch_sizes(n_rows)[0]
        done = seen.done_without.get(size, 0) + n_rows * self._cells_of_row
        if n_rows > _MOST_ROWS_AT_FIRST or size in seen.sizes or done > _CELLS_TO_COMPILE:
            return False
        seen.done_without[size] = done
        return True

    @functools.cached_property
    def _forest(self) -> BlockForest:
        return block_forest(self._source)

    def leaves(self, features: NDArray) -> NDArray:  # int32 (n_samples, n_trees)
        """Find the leaves of rows, float32 (n_samples, n_features), as `leaves.leaves` does."""
        return self._in_chunks(self._leaves, features)

    def ranks(self, features: NDArray) -> NDArray:
        """Rank rows as `predict.forest_ranks` does."""
        return self._in_chunks(self._ranks, features)

    def scores(self, features: NDArray) -> NDArray:
        """Score rows as `predict.forest_scores` does."""
        return self._in_chunks(self._scores, features)

    def sums(self, features: NDArray) -> NDArray:
        """Sum leaves as `predict.forest_sums` does; float64 (n_samples, n_outputs)."""
        return self._in_chunks(self._sums, features)

    def _in_chunks(self, function: Callable[[NDArray], NDArray], features: NDArray) -> NDArray:
        n_rows, step = len(features), self._rows_at_once
        if n_rows <= step:
            return function(features)
        return np.concatenate([function(features[at : at + step]) for at in range(0, n_rows, step)])

    def _leaves(self, features: NDArray) -> NDArray:
        n_trees, n_leaves = self._source.leaf_slot.shape
        leaf = find_leaves(self._forest, features).reshape(len(features), n_trees) % n_leaves
        return leaf.astype(np.int32)

    def _sums(self, features: NDArray) -> NDArray:
        return sum_over_trees(self._forest, features).reshape(len(features), -1)

    def _ranks(self, features: NDArray) -> NDArray:
        ordering = self._ordering(sum_over_trees(self._forest, features))
        return on_host.ranks_of_ordering(ordering, self._positions)

    def _scores(self, features: NDArray) -> NDArray:
        n_trees, n_labels = self._source.n_trees, len(self._positions)
        sums = self._sums(features)
        if self._aggregation == "two-step":
            scores = on_host.mean_scores((n_labels + 1) * n_trees - sums, n_trees)
        elif self._aggregation == "one-step":
            scores = on_host.mean_scores(sums, n_trees * VOTE_UNIT)
        else:
            total = on_host.label_totals(sums, n_labels)
            scores = on_host.mean_scores(total, n_trees * PAIR_UNIT * (n_labels - 1))
        return on_host.scores_in_order(scores, self._ordering(sums).reshape(scores.shape))

    def _ordering(self, sums: NDArray) -> NDArray:  # intp (..., n_labels)
        return ordering_of_sums(sums, len(self._positions), self._aggregation)


def ordering_of_sums(
    sums: NDArray,  # float64 (..., n_outputs), whole numbers: over trees, or of one leaf
    n_labels: int,
    aggregation: str,
) -> NDArray:  # intp (..., n_labels)
    """Order labels, best first, as `aggregation.ranks_of_sums` ranks them."""
    if aggregation == "two-step":
        return sums.argsort(-1, "stable")
    if aggregation == "one-step":
        return on_host.ordering_of_scores(sums)
    if aggregation == "copeland":
        return on_host.copeland_ordering(sums, n_labels)
    return on_host.kemeny_ordering(sums, n_labels)
