"""What the learners with neighbours keep: the training rows, and the settings."""

import dataclasses
from typing import Annotated, NamedTuple

import numpy as np

from lrrf_jax._typing import AnyArray, NDArray
from lrrf_jax.learners.persistence.schema import LATER, OneOf, Range, Stored
from lrrf_jax.rankings.permutations import places

WEIGHTS = ("uniform", "dudani", "distance")
MAX_NEIGHBORS = 2**31 - 1
MAX_PRIOR = float(np.finfo(np.float32).max)
_TINY = 2.0**-149
_FARTHEST = np.float32(1e15)


class NeighborParams(NamedTuple):
    """The training rows, and what is known of all of them."""

    features: Annotated[AnyArray, Stored("float32", "n_samples", "n_features")]  # scaled
    # NaN: missing.
    positions: Annotated[AnyArray, Stored("float32", "n_samples", "n_labels", missing=True)]
    weight: Annotated[AnyArray, Stored("float32", "n_samples", minimum=_TINY)]  # of mean 1
    # Of all training rankings; larger is better.
    overall: Annotated[AnyArray, Stored("float32", "n_labels")]
    mean: Annotated[AnyArray, Stored("float32", "n_features")]  # taken off the features
    deviation: Annotated[AnyArray, Stored("float32", "n_features", minimum=_TINY)]  # divided by


@dataclasses.dataclass(frozen=True)
class NeighborConfig:
    """Settings of a fitted learner."""

    n_neighbors: Annotated[int, Range(1, MAX_NEIGHBORS)]
    width: Annotated[int, Range(1)]  # neighbours that are searched for, as many or more
    weights: Annotated[str, OneOf(WEIGHTS)]
    scale: bool
    prior: Annotated[float, Range(0, MAX_PRIOR)] = 0.0
    # Whether rankings tie labels; not those that are missing, placed last.
    tied: bool = dataclasses.field(default=False, metadata=LATER)


def scaled(features: NDArray, mean: NDArray, deviation: NDArray) -> NDArray:
    """Standardise features; none is so far away that the square of a distance is infinite."""
    with np.errstate(over="ignore"):
        return np.clip((features - mean) / deviation, -_FARTHEST, _FARTHEST)


def are_rankings(positions: NDArray) -> bool:
    """Whether rows are positions without gaps, equal ones at the mean of their places."""
    with np.errstate(invalid="ignore"):  # NaN that signal
        before, level = places(positions)
        known = ~np.isnan(positions)
        expected = before + (level + 1) / 2
        return bool((known.sum(1) > 1).all() and (positions == expected)[known].all())
