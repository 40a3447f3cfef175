"""What stands behind the ranking of one row, to be read and drawn."""

import html
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from lrrf_jax._typing import NDArray


class Neighbor(NamedTuple):
    """A training row that the ranking was made of."""

    row: int  # its number
    weight: float  # its share, from 0 to 1
    ranking: str  # its labels, best first, as "a > b = c"; those that it does not rank left out
    positions: NDArray  # float32 (n_labels,), of `Why.labels`, NaN: missing


class Why(NamedTuple):
    """Why a row got its ranking; ``str`` of it is a text."""

    row: int  # of the table that was asked about
    labels: list[str]  # as they were ranked, best first
    scores: NDArray  # float32 (n_labels,), of these labels
    agreement: NDArray  # float64 (n_labels - 1,): see `of_whom`
    of_whom: str  # what share has each label before the next one: of "trees", or of near "rankings"
    neighbors: list[Neighbor]  # heaviest first
    tree: int | None  # whose path it is
    path: list[str]  # tests from the root on, with what the row has

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def ranking_text(positions: NDArray, labels: Sequence[str]) -> str:
    """Write a ranking as "a > b = c"; labels without a position are left out.

    >>> ranking_text(np.array([2.5, 1.0, np.nan, 2.5]), ["a", "b", "c", "d"])
    'b > a = d'
    """
    places = np.unique(positions[~np.isnan(positions)])
    tied = (
        " = ".join(labels[int(j)] for j in np.flatnonzero(positions == place)) for place in places
    )
    return " > ".join(tied)


def adjacent_pairs(
    order: NDArray,  # int (n_labels,), labels, best first
) -> NDArray:  # int (n_labels - 1,)
    """Find the number of the pair of each label and the next one, as of `pair_indices`.

    >>> adjacent_pairs(np.array([2, 0, 1])).tolist()
    [1, 0]
    """
    one, other = np.minimum(order[:-1], order[1:]), np.maximum(order[:-1], order[1:])
    return one * len(order) - one * (one + 1) // 2 + other - one - 1


def _lines(why: Why) -> Iterator[str]:
    yield f"row {why.row}: {' > '.join(why.labels)}"
    yield ""
    width = max(len(text) for text in ["label", *why.labels])
    yield f"{'label':{width}}  score"
    for label, score in zip(why.labels, why.scores, strict=True):
        yield f"{label:{width}}  {score:5.2f}"
    yield ""
    yield f"share of {why.of_whom} in this order"
    pairs = [f"{one} > {other}" for one, other in itertools.pairwise(why.labels)]
    for pair, share in zip(pairs, why.agreement, strict=True):
        said = "unknown" if np.isnan(share) else f"{100 * share:.0f} %"
        yield f"  {pair:{max(map(len, pairs))}}  {said}"
    if why.neighbors:
        yield ""
        yield "training rows by weight"
        digits = max(len(str(neighbor.row)) for neighbor in why.neighbors)
        for neighbor in why.neighbors:
            yield f"  row {neighbor.row:{digits}}  {neighbor.weight:.3f}  {neighbor.ranking}"
    if why.tree is not None:
        yield ""
        yield f"path in tree {why.tree}"
        yield from (f"  {test}" for test in why.path or ["it is one leaf"])
