"""What a forest is fitted with: the settings, checked, and nothing left open."""

import dataclasses
import math
from typing import Annotated, Any

import numpy as np

from lrrf_jax._validation import InputError, require_choice, require_integer
from lrrf_jax.learners._table import TrainingTable
from lrrf_jax.learners.forest.aggregation import AGGREGATIONS
from lrrf_jax.learners.schema import OneOf, Range
from lrrf_jax.trees.binning import resolve_max_bins
from lrrf_jax.trees.forest import MAX_DEPTH

CRITERIA = ("tlac", "rac", "pairwise", "positions")
# Each of one learner, which offers no other.
_FIXED_CRITERIA = ("edira", "votes", "dispersion", "theta", "similarity")
PURITIES = ("ranking", "top-label")
SPLITTERS = ("best", "random")


@dataclasses.dataclass(frozen=True)
class ForestConfig:
    """Settings of a fitted forest; ``aggregation`` is never "auto" here."""

    n_labels: Annotated[int, Range(2)]
    n_trees: Annotated[int, Range(1)]
    criterion: Annotated[str, OneOf((*CRITERIA, *_FIXED_CRITERIA))]
    purity: Annotated[str, OneOf(PURITIES)]
    splitter: Annotated[str, OneOf((*SPLITTERS, "width", "frequency"))]
    max_depth: Annotated[int, Range(1, MAX_DEPTH)]
    n_candidates: Annotated[int, Range(1)]
    min_samples_split: Annotated[int, Range(2)]
    min_samples_leaf: Annotated[int, Range(1)]
    bootstrap: bool
    aggregation: Annotated[str, OneOf(AGGREGATIONS)]
    max_thresholds: Annotated[int, Range(1, 255)]
    # Thresholds a feature of the splitters "width" and "frequency".
    n_cuts: Annotated[int, Range(1, 63)] = 1
    patience: Annotated[float, Range(0, 1)] = 0.98  # of the criterion "similarity"


def resolve_config(ranker: Any, table: TrainingTable) -> ForestConfig:
    """Check the parameters of a ranker and settle what "auto" and the like stand for."""
    require_tree_parameters(ranker)
    require_integer(ranker.n_estimators, "n_estimators", 1)
    require_choice(ranker.criterion, "criterion", CRITERIA)
    require_choice(ranker.purity, "purity", PURITIES)
    require_choice(ranker.splitter, "splitter", SPLITTERS)
    require_integer(ranker.min_samples_split, "min_samples_split", 2)
    require_choice(ranker.aggregation, "aggregation", ("auto", *AGGREGATIONS))
    if ranker.memory_budget is not None:
        require_integer(ranker.memory_budget, "memory_budget", 2**20)
    if ranker.oob_score and not ranker.bootstrap:
        raise InputError(
            "oob_score needs bootstrap=True: without a bootstrap every tree draws every row, and "
            "none is out of bag. Set one of them the other way."
        )
    aggregation = ranker.aggregation
    if aggregation == "auto":
        aggregation = "two-step" if table.complete else "kemeny"
    n_samples, n_features = table.features.shape
    return ForestConfig(
        n_labels=table.positions.shape[1],
        n_trees=int(ranker.n_estimators),
        criterion=ranker.criterion,
        purity=ranker.purity,
        splitter=ranker.splitter,
        max_depth=int(ranker.max_depth),
        n_candidates=resolve_max_features(ranker.max_features, n_features),
        min_samples_split=int(ranker.min_samples_split),
        min_samples_leaf=int(ranker.min_samples_leaf),
        bootstrap=bool(ranker.bootstrap),
        aggregation=aggregation,
        max_thresholds=resolve_max_bins(ranker.max_bins, n_samples),
    )


def require_tree_parameters(ranker: Any) -> None:
    """Check the parameters that every learner with trees has."""
    require_integer(ranker.max_depth, "max_depth", 1, MAX_DEPTH)
    require_integer(ranker.min_samples_leaf, "min_samples_leaf", 1)
    if isinstance(ranker.max_bins, str):
        require_choice(ranker.max_bins, "max_bins", ("auto", "exact"))
    else:
        require_integer(ranker.max_bins, "max_bins", 1, 255)


def resolve_max_features(max_features: Any, n_features: int) -> int:
    """Turn the user's ``max_features`` into a number of candidate features a node."""
    named = {
        "log2+1": int(math.log2(n_features)) + 1,
        "log2": max(1, int(math.log2(n_features))),
        "sqrt": max(1, int(math.sqrt(n_features))),
        None: n_features,
    }
    if isinstance(max_features, str | None):
        require_choice(max_features, "max_features", list(named))
        return min(named[max_features], n_features)
    if isinstance(max_features, float | np.floating):
        if not 0 < max_features <= 1:
            raise InputError(
                f"max_features must be a share in (0, 1] or a whole number; it is {max_features}."
            )
        return max(1, int(max_features * n_features))
    require_integer(max_features, "max_features", 1)
    return min(int(max_features), n_features)
