"""What is answered for each row: positions, scores, or the labels in order."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lrrf_jax._categories import CodedRows
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError, require_choice, require_integer

ANSWERS = ("positions", "scores", "order")


class Answer(NamedTuple):
    """One of `ANSWERS`, for the labels of a model."""

    kind: str
    labels: tuple[str, ...]
    places: int  # of the order, from the best on

    @property
    def names(self) -> list[str]:
        """Return the names of the columns."""
        if self.kind == "order":
            return [f"place_{place + 1}" for place in range(self.places)]
        return list(self.labels)

    @property
    def type(self) -> pa.DataType:
        """Return the type of all columns."""
        return {"positions": pa.int32(), "scores": pa.float32(), "order": pa.string()}[self.kind]

    @property
    def row_bytes(self) -> int:
        """Return the bytes of a row of the answer."""
        if self.kind != "order":
            return 4 * len(self.labels)
        longest = max(len(label.encode()) for label in self.labels)
        return self.places * (4 + longest)

    def columns(
        self,
        ranker: Any,
        X: Any,  # float32 (n_rows, n_features), codes of the model in place of categories
    ) -> list[pa.Array]:
        """Rank rows."""
        if getattr(ranker, "_categories", None):
            X = CodedRows(X)
        if self.kind == "scores":
            scores = np.asarray(ranker.predict_scores(X), np.float32)
            return [pa.array(np.ascontiguousarray(column)) for column in scores.T]
        positions = ranker.predict(X)
        if self.kind == "positions":
            return [pa.array(np.ascontiguousarray(column)) for column in positions.T]
        labels = pa.array(self.labels, pa.string())
        return [labels.take(pa.array(place)) for place in _order(positions, self.places)]

    def none(self) -> list[pa.Array]:
        """Return the columns of no rows."""
        return [pa.nulls(0, self.type) for _ in self.names]

    def require_storable(self, path: str, format: str) -> None:
        """Raise InputError where a format cannot hold the answer."""
        if self.kind == "order" and format == "npy":
            raise InputError(
                f"{path}: the order of labels is text, and npy files hold numbers only. Write .csv "
                "or .parquet, or positions or scores."
            )

    def beside(self, kept: Sequence[str]) -> list[str]:
        """Return the kept columns, then those of the answer; InputError where two share a name."""
        names = self.names
        both = [name for name in kept if name in names]
        if both:
            what = "a place of the order" if self.kind == "order" else "a label"
            raise InputError(
                f"the kept column {both[0]!r} is called like {what}, which names a column of the "
                "output too. Rename it, or do not keep it."
            )
        return [*kept, *names]


def as_answer(labels: Sequence[Any], answer: str = "positions", top: int | None = None) -> Answer:
    """Check what is asked for; ``top`` means the first places of the order."""
    require_choice(answer, "answer", ANSWERS)
    names = tuple(map(str, labels))
    if top is None:
        return Answer(answer, names, len(names))
    if answer == "scores":
        raise InputError(
            "top= (--top) cuts the order of the labels, and answer='scores' (--scores) asks for "
            "another answer. Give one of them."
        )
    require_integer(top, "top", 1, len(names))
    return Answer("order", names, int(top))


def _order(positions: NDArray, places: int) -> NDArray:  # int32 (places, n_rows)
    """Return the label at each place, of complete rankings."""
    order = np.empty(positions.shape[::-1], np.int32)
    rows = np.arange(len(positions))
    for label, column in enumerate(positions.T):
        order[column - 1, rows] = label
    return order[:places]
