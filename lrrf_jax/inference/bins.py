"""The bins that the thresholds of a forest part each feature into."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lrrf_jax._numerics import HIGHEST, LOWEST, float_key_on_host
from lrrf_jax._typing import NDArray
from lrrf_jax._xla import bucket_size
from lrrf_jax.trees.forest import Forest, is_split

_SMALL = 16  # features up to which forests share the shape of one table


class ForestBins(NamedTuple):
    """The features that a forest asks for, in tables by their number of thresholds.

    Features that fill a table up repeat column 0 and have no threshold.
    """

    feature: NDArray  # int32 (n_used,), column of each, those of one table after another
    tables: tuple[NDArray, ...]  # int32 (n_in_table, 2**k - 1), keys, rising, filled with HIGHEST
    of_node: NDArray  # int64 (n_trees, n_nodes), number of the node's feature among these
    bin_of_node: NDArray  # int64 (n_trees, n_nodes), thresholds up to the node's, itself included


def bins_of_forest(forest: Forest, widths: Sequence[int]) -> ForestBins:
    """Collect the distinct thresholds of each feature; host side, O(n_nodes log n_nodes).

    A feature goes to the first table whose width holds its thresholds; the last table is as wide as
    it has to be, and takes all features where these are few. Where a node has no test, its number
    and bin are 0.
    """
    split = is_split(forest)
    feature = np.asarray(forest.feature)[split].astype(np.int64)
    key = float_key_on_host(np.asarray(forest.threshold)[split]).astype(np.int64)
    tests, of_test = np.unique(feature << 32 | key - LOWEST, return_inverse=True)
    used, first, count = np.unique(tests >> 32, return_index=True, return_counts=True)
    widest = max(widths[-1], (1 << int(count.max(initial=0)).bit_length()) - 1)
    widths = (*widths[:-1], widest)
    table_of = np.searchsorted(widths, count)
    if len(used) <= _SMALL:
        table_of[:] = len(widths) - 1
    columns: list[NDArray] = []
    tables: list[NDArray] = []
    place, n_placed = np.zeros(len(used), np.int64), 0
    for number, width in enumerate(widths):
        here = np.flatnonzero(table_of == number)
        if not len(here) and (number < len(widths) - 1 or len(used)):
            continue
        n_rows = bucket_size(len(here), least=_SMALL)
        place[here] = n_placed + np.arange(len(here))
        n_placed += n_rows
        columns.append(np.zeros(n_rows, np.int32))
        columns[-1][: len(here)] = used[here]
        tables.append(np.full((n_rows, width), HIGHEST, np.int32))
        for row, (start, n) in enumerate(zip(first[here], count[here], strict=True)):
            tables[-1][row, :n] = (tests[start : start + n] & 2**32 - 1) + LOWEST
    of_node, bin_of_node = np.zeros((2, *split.shape), np.int64)
    which = np.searchsorted(used, tests >> 32)
    of_node[split] = place[which][of_test]
    bin_of_node[split] = (np.arange(len(tests)) - first[which] + 1)[of_test]
    return ForestBins(np.concatenate(columns), tuple(tables), of_node, bin_of_node)
