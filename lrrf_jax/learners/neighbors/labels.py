"""The order of labels in which near rankings are modelled, where rankings tie labels.

Sums of floats, and what decides between equals on the way, depend on the order of the columns.
Rankings with ties are modelled with the labels in an order that the columns do not decide; scores
are put back. Without ties that is the order of the columns.
"""

from typing import NamedTuple

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.learners.neighbors.params import NeighborParams
from lrrf_jax.rankings import statistics


class LabelOrder(NamedTuple):
    """How labels are ordered, and put back."""

    label: NDArray  # intp (n_labels,), by place
    # int32 (n_labels,), by label. Labels whose columns are equal share the first of their places,
    # for which of them comes first there has no reason, and so their scores are equal.
    place: NDArray


def label_order(
    positions: NDArray,  # float32 (n_samples, n_labels), NaN: missing
    tied: bool,  # whether rankings tie labels; not those that are missing, placed last
) -> LabelOrder:
    """Order the labels of all training rankings.

    Examples
    --------
    >>> positions = np.array([[3.0, 1.5, 1.5], [3.0, 1.5, 1.5]], np.float32)
    >>> order = label_order(positions, tied=True)
    >>> order.label.tolist(), order.place.tolist()
    ([1, 2, 0], [2, 0, 0])
    """
    n_labels = positions.shape[1]
    label = statistics.label_order(positions, tied)
    place = np.argsort(label).astype(np.int32)
    if not tied:
        return LabelOrder(label, place)
    columns = positions[:, label].T
    first = np.arange(n_labels, dtype=np.int32)
    for here in range(1, n_labels):
        if np.array_equal(columns[here], columns[here - 1], equal_nan=True):
            first[here] = first[here - 1]
    return LabelOrder(label, first[place])


def in_label_order(params: NeighborParams, order: LabelOrder) -> NeighborParams:
    """Bring what is known of the labels into an order."""
    return params._replace(
        positions=params.positions[:, order.label], overall=params.overall[order.label]
    )
