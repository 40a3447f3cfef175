"""From the sums that other libraries predict to ranks."""

from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.interchange.facts import facts_in, require_trees
from lrrf_jax.learners.forest.aggregation import numbers_in_leaf
from lrrf_jax.learners.forest.few_rows import ordering_of_sums
from lrrf_jax.rankings.on_host import ranks_of_ordering

_ROWS_AT_ONCE = 2**12


def ranks_of_sums(sums: Any, model: Any) -> NDArray:  # int32 (n_samples, n_labels)
    """Rank labels by the sums over trees that another library predicts with an exported forest.

    Parameters
    ----------
    sums : array, (n_samples, n_outputs) or, as treelite gives them, (n_samples, n_outputs, 1)
        Whole numbers in any type.
    model : LabelRanker or treelite.Model
        The learner that was exported, or the model that was made of it, which says how many labels
        there are and which aggregation it is.

    Returns
    -------
    int32 (n_samples, n_labels)
        What `LabelRanker.predict` gives for these rows.

    Raises
    ------
    InputError
        For sums of another shape, or that are not whole: means, say, or a float32 that has lost
        digits.

    Notes
    -----
    NumPy does it, row by row for "kemeny" of more than seven labels.

    Examples
    --------
    >>> import numpy as np
    >>> from lrrf_jax import LEARNERS
    >>> from lrrf_jax.interchange import to_treelite
    >>> ranker = LEARNERS["lrt"]().fit([[0.0], [1], [2], [3]], 2 * [[1, 2]] + 2 * [[2, 1]])
    >>> model = to_treelite(ranker)
    >>> import treelite
    >>> sums = treelite.gtil.predict(model, np.float32([[0], [3]]))
    >>> ranks_of_sums(sums, model).tolist()
    [[1, 2], [2, 1]]
    """
    n_labels, aggregation = _rule_of(model)
    n_outputs = numbers_in_leaf(n_labels, aggregation)
    totals = np.asarray(sums, np.float64)
    if totals.shape[1:] not in ((n_outputs,), (n_outputs, 1)):
        raise InputError(
            f"sums must be (n_samples, {n_outputs}), for {n_labels} labels and the aggregation "
            f'"{aggregation}"; their shape is {totals.shape}. Pass what the model predicted.'
        )
    totals = totals.reshape(len(totals), n_outputs)
    odd = (totals != np.rint(totals)).any(axis=1)
    if odd.any():
        raise InputError(
            f"sums must be whole numbers; row {np.argmax(odd)} has others ({odd.sum()} of "
            f"{len(odd)} rows fail). Multiply means by the number of trees and round."
        )
    positions = np.arange(1, n_labels + 1, dtype=np.int32)
    ranks = np.empty((len(totals), n_labels), np.int32)
    for start in range(0, len(totals), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        ordering = ordering_of_sums(totals[rows], n_labels, aggregation)
        ranks[rows] = ranks_of_ordering(ordering, positions)
    return ranks


def _rule_of(model: Any) -> tuple[int, str]:
    """Return the number of labels and the aggregation."""
    facts = facts_in(model)
    if facts is not None:
        return len(facts["labels"]), facts["aggregation"]
    if not hasattr(model, "config_"):
        raise InputError(
            f"model must be a learner, or a treelite model that was made of one; it is a "
            f"{type(model).__name__} that does not tell labels and aggregation. Pass the learner."
        )
    require_trees(model, "treelite")
    return len(model.labels_), model.config_.aggregation
