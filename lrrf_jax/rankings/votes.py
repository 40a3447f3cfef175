"""What a table of rankings says of its labels and of a consensus, for tables as users hold them.

Each row is a vote. The functions of arrays behind these, and the rules that choose a ranking, are
in `aggregation`.
"""

from typing import Any

import numpy as np

from lrrf_jax._names import paired_order
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, as_weights
from lrrf_jax.rankings import aggregation
from lrrf_jax.rankings.pairwise import pair_indices, row_blocks
from lrrf_jax.rankings.validation import (
    number_table,
    require_positions,
    require_rankings,
    require_rows,
)


def copeland_scores(rankings: Any, sample_weight: Any = None) -> NDArray:
    """Count the labels that each label wins against by majority; a tied pair is half a win.

    Parameters
    ----------
    rankings : array-like or DataFrame, shape (n_samples, n_labels)
        Positions, 1 = best; NaN is a missing label. A pair that a row ties, or of which it leaves
        a label out, has no vote in that row.
    sample_weight : array-like of non-negative numbers, shape (n_samples,), optional
        Votes that each row has; summed in float64, exact for whole numbers.

    Returns
    -------
    float64 (n_labels,)
        Multiples of 1/2 from 0 to n_labels - 1, in the order of the columns; larger is better.

    Raises
    ------
    InputError
        For what is no table of positions from 1 to n_labels, or has no row.

    Notes
    -----
    Copeland 1951. Costs O(n_samples n_labels^2).

    Examples
    --------
    >>> copeland_scores([[1, 2, 3], [1, 3, 2], [2, 1, 3]])
    array([2., 1., 0.])
    >>> copeland_scores([[1, 2, 3], [2, 1, np.nan]])
    array([1.5, 1.5, 0. ])
    """
    votes = _pair_votes(_votes(rankings), sample_weight)
    majority = np.sign(votes).astype(np.int8)
    return np.asarray(aggregation.copeland_scores(majority), np.float64)


def kemeny_objective(rankings: Any, candidates: Any, sample_weight: Any = None) -> NDArray:
    """Sum the votes that candidate rankings keep, less those they reverse; Kemeny's maximise it.

    Parameters
    ----------
    rankings : array-like or DataFrame, shape (n_samples, n_labels)
        As in `copeland_scores`.
    candidates : array-like or DataFrame, shape (n_candidates, n_labels)
        Complete rankings to be valued. Where both are data frames, labels are paired by name.
    sample_weight : array-like of non-negative numbers, shape (n_samples,), optional
        Votes that each row has.

    Returns
    -------
    float64 (n_candidates,)
        With V votes on pairs in all and D reversed ones, V - 2 D, where D is the (weighted) sum of
        Kendall's distances of the rows to the candidate.

    Raises
    ------
    InputError
        For what is no table of positions, for candidates that are not complete, and where the two
        have different labels.

    Notes
    -----
    Kemeny 1959. Costs O((n_samples + n_candidates) n_labels^2).

    Examples
    --------
    >>> kemeny_objective([[1, 2, 3], [1, 2, 3], [3, 1, 2]], [[1, 2, 3], [3, 2, 1]])
    array([ 5., -5.])
    """
    table = _votes(rankings)
    ranks = require_rankings(candidates, name="candidates", ties=False)
    order = paired_order(rankings, candidates, "rankings", "candidates")
    ranks = ranks if order is None else ranks[:, order]
    if ranks.shape[1] != table.shape[1]:
        raise InputError(
            f"candidates must rank the {table.shape[1]} labels of rankings; they have "
            f"{ranks.shape[1]} columns."
        )
    require_rows(
        np.all(np.isfinite(ranks), axis=1),
        ranks,
        "candidates must be complete",
        "Complete them with `completion.most_probable_extension`.",
    )
    votes = _pair_votes(table, sample_weight)
    return np.asarray(aggregation.kemeny_objective(votes[None], ranks), np.float64)


def _votes(rankings: Any) -> NDArray:  # float64 (n_samples, n_labels)
    table = number_table(rankings, "rankings", finite=True)
    require_positions(table, "rankings")
    if len(table) == 0:
        raise InputError("rankings must have one row at least; they have none.")
    return table


def _pair_votes(table: NDArray, sample_weight: Any) -> NDArray:  # int64 or float64 (n_pairs,)
    """Sum the signs of pairs over the rows: exact integers, unless rows have weights."""
    weight = as_weights(sample_weight, len(table))
    first, second = pair_indices(table.shape[1])
    total: NDArray = np.zeros(len(first), np.int64)
    for rows in row_blocks(*table.shape):
        one, other = table[rows, first], table[rows, second]
        signs = (one < other).astype(np.int64) - (one > other)
        total = total + (signs.sum(axis=0) if weight is None else weight[rows] @ signs)
    return total
