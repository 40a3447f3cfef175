"""Categories as numbers that a learner can use: one order of their levels, or a column for each.

Trees split an order of the levels, so that a split parts a set of levels from the others. It is
found once, from the training rankings, along the direction in which the levels differ most; for two
classes that is as good as trying every set at every node (Breiman et al. 1984), and for several
about as good as doing it anew at every node (Coppersmith et al. 1999; Wright and König 2019). All
other learners get a column of zeros and ones for each level.
"""

import dataclasses
import types
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError

UNSEEN = ("error", "missing")  # what levels are that a model does not know
_PRIOR = 1.0  # rankings of the whole table that each level starts with
_DIGITS = 9  # of a level's place, so that rounding decides nothing


@dataclasses.dataclass(frozen=True)
class Levels:
    """The levels of a category that a model knows.

    ``names`` are those with training rows, in the order of their codes 0, 1, ...; ``empty`` ones
    were declared by the type of the column, and no training row has them.
    """

    names: tuple[str, ...]
    empty: tuple[str, ...] = ()


Categories = Mapping[int, Levels]  # by the number of the column
NO_CATEGORIES: Categories = types.MappingProxyType({})


def order_of_levels(
    codes: NDArray,  # float32 (n_samples,), NaN: missing
    n_levels: int,
    votes: NDArray,  # float32 (n_samples, n_labels)
    weight: NDArray | None,  # float64 (n_samples,)
) -> NDArray:  # int64 (n_levels,), the levels from the first to the last
    """Order levels along the first principal component of their mean votes.

    The lowest level stands in the first half. Levels of few rows stand nearer to the middle. Costs
    O(n_samples n_labels + n_levels n_labels^2).
    """
    known = ~np.isnan(codes)
    level = codes[known].astype(np.int64)
    share = np.ones(len(level)) if weight is None else weight[known]
    count = np.bincount(level, share, n_levels)
    sums = np.stack(
        [np.bincount(level, share * column[known], n_levels) for column in votes.T], axis=1
    )
    mean = sums.sum(0) / max(count.sum(), np.finfo(np.float64).tiny)
    away = (sums + _PRIOR * mean) / (count + _PRIOR)[:, None] - mean
    _, directions = np.linalg.eigh((away * count[:, None]).T @ away)
    place = away @ directions[:, -1]
    scale = np.abs(place).max(initial=0)
    place = np.round(place / scale, _DIGITS) if scale > 0 else place
    differing = np.flatnonzero(place)
    if len(differing) and place[differing[0]] > 0:
        place = -place
    return np.argsort(place, kind="stable")


def in_order(
    features: NDArray,  # float32 (n_samples, n_features); codes in the order of ``categories``
    categories: Categories,
    votes: NDArray,
    weight: NDArray | None,
) -> tuple[NDArray, dict[int, Levels]]:
    """Give the levels of each category codes in an order for trees."""
    features, ordered = features.copy(), {}
    for j, levels in categories.items():
        order = order_of_levels(features[:, j], len(levels.names), votes, weight)
        features[:, j] = recoded(features[:, j], np.argsort(order))
        names = tuple(levels.names[k] for k in order)
        ordered[j] = dataclasses.replace(levels, names=names)
    return features, ordered


def recoded(codes: NDArray, new: NDArray) -> NDArray:  # float32 (n_samples,)
    """Replace codes by others; NaN and -1 stay."""
    known = codes >= 0
    out = codes.copy()
    out[known] = new[codes[known].astype(np.int64)]
    return out


def unknown_as_missing(features: NDArray, categories: Categories) -> NDArray:
    """Return rows with NaN in place of -1, a level that the model does not know."""
    columns = list(categories)
    features = features.copy()
    features[:, columns] = np.where(features[:, columns] < 0, np.nan, features[:, columns])
    return features


def one_hot(features: NDArray, categories: Categories) -> NDArray:  # float32 (n_samples, n_columns)
    """Put a column of zeros and ones for each level where a category was; -1: all zeros."""
    shape = len(features), n_columns_of(features.shape[1], categories)
    try:
        columns = np.zeros(shape, np.float32)
    except MemoryError as error:
        raise InputError(
            f"X must leave room for a column per level of its categories; {shape[0]} rows of "
            f"{shape[1]} columns are too much. Put rare levels together, or use a tree learner."
        ) from error
    place = 0
    for j in range(features.shape[1]):
        width = len(categories[j].names) if j in categories else 1
        block = columns[:, place : place + width]
        block[...] = features[:, [j]] == np.arange(width) if j in categories else features[:, [j]]
        place += width
    return columns


def n_columns_of(n_features: int, categories: Categories) -> int:
    """Return the number of columns of `one_hot`."""
    return n_features + sum(len(levels.names) - 1 for levels in categories.values())


def written(categories: Categories) -> dict[str, Any]:
    """Write categories down for the header of a model file: the way back of `read_categories`."""
    return {str(j): [list(levels.names), list(levels.empty)] for j, levels in categories.items()}


def read_categories(entries: Mapping[str, Sequence[Sequence[str]]]) -> dict[int, Levels]:
    """Read what `written` wrote, when it is checked."""
    return {int(j): Levels(tuple(names), tuple(empty)) for j, (names, empty) in entries.items()}
