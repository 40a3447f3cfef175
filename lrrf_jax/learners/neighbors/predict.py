"""From rows to scores in one program, for rows that lie on a device."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp

from lrrf_jax._typing import AnyArray, Array
from lrrf_jax._xla import COMPILER_OPTIONS
from lrrf_jax.learners.neighbors.scores import Model, score_neighborhoods
from lrrf_jax.learners.neighbors.search import NeighborTable, nearest
from lrrf_jax.rankings.permutations import rank_scores


class ReadyNeighbors(NamedTuple):
    """Training rows and rankings as the programs want them."""

    table: NeighborTable
    positions: AnyArray  # float32 (n_samples, n_labels), padded with NaN
    weight: AnyArray  # float32 (n_samples,), padded with 0
    overall: AnyArray  # float32 (n_labels,)
    n_neighbors: AnyArray  # float32 ()
    prior: AnyArray  # float32 ()
    place: AnyArray  # int32 (n_labels,), of each label in the order of the columns above


def put_back(
    scores: Array,  # float32 (n_samples, n_labels)
    place: Array,  # int32 (n_labels,)
) -> Array:  # float32 (n_samples, n_labels)
    """Give each label the score at its place."""
    return jnp.take(scores, place, axis=1, mode="clip")


@functools.partial(
    jax.jit,
    static_argnames=("width", "model", "weights", "by_share", "tied", "of_ranks"),
    compiler_options=COMPILER_OPTIONS,
)
def neighbor_rows(
    ready: ReadyNeighbors,
    features: Array,  # float32 (n_samples, n_features)
    *,
    width: int,
    model: Model,
    weights: str,
    by_share: bool,
    tied: bool,
    of_ranks: bool,
) -> Array:  # int32 or float32 (n_samples, n_labels)
    """Rank the labels of each row by the rankings of its neighbours, or give the scores."""
    table, *rankings, n_neighbors, prior, place = ready
    found = nearest.__wrapped__(table, features, k=width)  # type: ignore[attr-defined]
    scores = score_neighborhoods(
        *rankings,
        *found,
        n_neighbors,
        prior,
        model=model,
        weights=weights,
        by_share=by_share,
    )
    scores = put_back(scores, place) if tied else scores
    return rank_scores(scores) if of_ranks else scores
