"""Rankings of labels: conversion, votes and distributions of tables that users hold.

These functions take arrays, lists and data frames, and check them. The modules beneath hold pure
functions of arrays, for programs of JAX: `statistics`, `distances`, `aggregation`, `completion`,
`mallows`, `plackett_luce`, `bucket_orders`.
"""

from typing import TYPE_CHECKING

from lrrf_jax._lazy import lazily
from lrrf_jax.rankings.conversion import orderings_from_rankings, rankings_from_orderings
from lrrf_jax.rankings.from_numbers import densify, rankings_from_scores
from lrrf_jax.rankings.texts import rankings_from_strings

if TYPE_CHECKING:
    from lrrf_jax.rankings.decoding import kemeny
    from lrrf_jax.rankings.distributions import (
        mallows_log_likelihood,
        plackett_luce_log_likelihood,
        sample_mallows,
        sample_plackett_luce,
    )
    from lrrf_jax.rankings.votes import copeland_scores, kemeny_objective

__all__ = [
    "copeland_scores",
    "densify",
    "kemeny",
    "kemeny_objective",
    "mallows_log_likelihood",
    "orderings_from_rankings",
    "plackett_luce_log_likelihood",
    "rankings_from_orderings",
    "rankings_from_scores",
    "rankings_from_strings",
    "sample_mallows",
    "sample_plackett_luce",
]

# Readers of files convert rankings, and need no JAX for it.
_HOMES = {
    "aggregation": "",
    "bucket_orders": "",
    "completion": "",
    "copeland_scores": "votes",
    "distances": "",
    "kemeny": "decoding",
    "kemeny_objective": "votes",
    "mallows": "",
    "mallows_log_likelihood": "distributions",
    "plackett_luce": "",
    "plackett_luce_log_likelihood": "distributions",
    "sample_mallows": "distributions",
    "sample_plackett_luce": "distributions",
    "statistics": "",
}
if not TYPE_CHECKING:  # for a type checker would take any name for one of these
    __getattr__, __dir__ = lazily(__name__, _HOMES)
