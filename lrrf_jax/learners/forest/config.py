"""What a forest is fitted with: the settings, checked, and nothing left open."""

import dataclasses
import math
import numbers
import types
from typing import Annotated, Any, Self

import numpy as np

from lrrf_jax._validation import InputError, require_choice, require_integer
from lrrf_jax.learners._table import TableShape
from lrrf_jax.learners.forest.aggregation import AGGREGATIONS, SHRUNKEN
from lrrf_jax.learners.persistence.schema import LATER, OneOf, Range
from lrrf_jax.trees.binning import MAX_THRESHOLDS
from lrrf_jax.trees.forest import MAX_DEPTH

CRITERIA = ("tlac", "rac", "pairwise", "positions")  # of lr-rf
DISPERSIONS = ("dispersion", "theta")  # of trees whose leaves hold a centre
# Each of one learner, which offers no other.
_FIXED_CRITERIA = ("edira", "votes", "similarity")
PURITIES = ("ranking", "top-label")
SPLITTERS = ("best", "random")
WEIGHTINGS = ("equal", "difference")
LEAF_SIZES = (1, 5)  # among which min_samples_leaf="auto" chooses
# What holds where a learner neither has a parameter nor fixes it.
_NEUTRAL: dict[str, Any] = {
    "n_estimators": 1,
    "max_features": None,
    "bootstrap": False,
    "purity": "ranking",
    "splitter": "best",
    "n_bins": 2,
    "gamma": 0.98,
    "weighting": "equal",
}


@dataclasses.dataclass(frozen=True)
class ForestConfig:
    """Settings of a fitted forest; ``aggregation`` is never "auto" here."""

    n_labels: Annotated[int, Range(2)]
    n_trees: Annotated[int, Range(1)]
    criterion: Annotated[str, OneOf((*CRITERIA, *DISPERSIONS, *_FIXED_CRITERIA))]
    purity: Annotated[str, OneOf(PURITIES)]
    splitter: Annotated[str, OneOf((*SPLITTERS, "width", "frequency"))]
    max_depth: Annotated[int, Range(1, MAX_DEPTH)]
    n_candidates: Annotated[int, Range(1)]
    min_samples_split: Annotated[int, Range(2)]
    min_samples_leaf: Annotated[int, Range(1)]
    bootstrap: bool
    aggregation: Annotated[str, OneOf(AGGREGATIONS)]
    max_thresholds: Annotated[int, Range(1, 255)]
    # Thresholds per feature of the splitters "width" and "frequency".
    n_cuts: Annotated[int, Range(1, 63)] = 1
    patience: Annotated[float, Range(0, 1)] = 0.98  # of the criterion "similarity"
    # Of the pairs of labels of a row.
    weighting: Annotated[str, OneOf(WEIGHTINGS)] = dataclasses.field(
        default="equal", metadata=LATER
    )

    @classmethod
    def of(cls, ranker: Any, shape: TableShape, **fixed: Any) -> Self:
        """Check the parameters of a learner and settle what "auto" and the like stand for.

        Parameters
        ----------
        ranker : TreeLabelRanker
            With the parameters that users set, and the ``criteria`` that they choose from.
        shape : TableShape
            Of the training table.
        **fixed
            Parameters that are not the user's to set, by the names that they have elsewhere.
        """
        given = types.SimpleNamespace(**_NEUTRAL | ranker.get_params(deep=False) | fixed)
        choices = {
            "criterion": ranker.criteria,
            "purity": PURITIES,
            "splitter": SPLITTERS,
            "aggregation": ("auto", *AGGREGATIONS),
            "weighting": WEIGHTINGS,
        }
        for name, allowed in choices.items():
            if name not in fixed:
                require_choice(getattr(given, name), name, allowed)
        require_integer(given.n_estimators, "n_estimators", 1)
        require_integer(given.max_depth, "max_depth", 1, MAX_DEPTH)
        require_integer(given.min_samples_split, "min_samples_split", 2)
        if chooses_leaf_size(ranker):
            given.min_samples_leaf = LEAF_SIZES[0]  # until the table decides, see `leaf_size`
        require_integer(given.min_samples_leaf, "min_samples_leaf", 1)
        require_integer(given.n_bins, "n_bins", 2, 64)
        real = isinstance(given.gamma, numbers.Real)
        if not real or not 0 < given.gamma <= 1:
            raise InputError(f"gamma must be a number in (0, 1]; it is {given.gamma!r}.")
        by_pairs = given.weighting == "difference"
        if given.aggregation == "auto":
            given.aggregation = "two-step" if shape.complete and not by_pairs else "kemeny"
        if by_pairs and given.criterion != "pairwise" and given.aggregation not in SHRUNKEN:
            raise InputError(
                'weighting="difference" weighs pairs of labels, at which criterion='
                f'"{given.criterion}" and aggregation="{given.aggregation}" do not look. Use '
                'criterion="pairwise", or aggregation="copeland" or "kemeny".'
            )
        return cls(
            n_labels=shape.n_labels,
            n_trees=int(given.n_estimators),
            criterion=given.criterion,
            purity=given.purity,
            splitter=given.splitter,
            max_depth=int(given.max_depth),
            n_candidates=candidates_of(given.max_features, shape.n_features),
            min_samples_split=int(given.min_samples_split),
            min_samples_leaf=int(given.min_samples_leaf),
            bootstrap=bool(given.bootstrap),
            aggregation=given.aggregation,
            max_thresholds=thresholds_of(given.max_bins, shape.n_samples),
            n_cuts=int(given.n_bins) - 1,
            patience=float(given.gamma),
            weighting=given.weighting,
        )


def chooses_leaf_size(ranker: Any) -> bool:
    """Tell whether ``min_samples_leaf`` is "auto" where that can be: in a forest."""
    size = ranker.min_samples_leaf
    return isinstance(size, str) and size == "auto" and hasattr(ranker, "bootstrap")


def thresholds_of(max_bins: Any, n_samples: int) -> int:
    """Turn the user's ``max_bins`` into the most candidate thresholds per feature."""
    if isinstance(max_bins, str):
        require_choice(max_bins, "max_bins", ("auto", "exact"))
    else:
        require_integer(max_bins, "max_bins", 1, 255)
    if max_bins == "exact":
        return MAX_THRESHOLDS
    if max_bins == "auto":
        # Split search dominates where rows are few; on sets of 8,000 and 11,000 rows, twice as
        # many thresholds made no difference that exceeds the noise.
        return 31 if n_samples < 20_000 else 63
    return int(max_bins)


def candidates_of(max_features: Any, n_features: int) -> int:
    """Turn the user's ``max_features`` into a number of candidate features per node."""
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
