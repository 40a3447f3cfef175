"""Rankings of labels: conversion, statistics, distances and aggregation."""

from lrrf_jax.rankings.conversion import (
    densify,
    orderings_from_rankings,
    rankings_from_orderings,
    rankings_from_scores,
    rankings_from_strings,
)

__all__ = [
    "densify",
    "orderings_from_rankings",
    "rankings_from_orderings",
    "rankings_from_scores",
    "rankings_from_strings",
]
