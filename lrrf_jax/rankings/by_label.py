"""Rankings of a user, in the order of the labels of a model: names decide where there are any."""

from typing import Any

from lrrf_jax._names import column_order, made_up_labels
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.rankings.validation import number_table


def label_order(y: Any, labels: list[str], whose: str) -> NDArray | None:
    """Find the column of each label of a model; ``None`` where they are in order, or unnamed.

    Labels called L1, L2, ... may have got these names here, because a fit had none.
    """
    nameless = labels == made_up_labels(len(labels))
    return column_order(y, labels, "y", whose, nameless=nameless)


def positions_by_label(y: Any, labels: list[str]) -> NDArray:  # float64 (n_samples, n_labels)
    """Bring the rankings of a frame or an array into the order of the labels of a model."""
    positions = number_table(y, "y", finite=True)
    order = label_order(y, labels, "the model")
    if order is None and positions.shape[1] != len(labels):
        raise InputError(
            f"y must rank the {len(labels)} labels of the model; it has {positions.shape[1]} "
            "columns. Leave a cell empty (NaN) where a label is missing."
        )
    return positions if order is None else positions[:, order]
