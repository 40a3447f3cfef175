"""The members of a stack: learners by name or as they are, and those of the default."""

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.learners._coding import Categories, recoded
from lrrf_jax.learners._table import TrainingTable

_LARGE = 5000  # rows, above which trees are deeper
_MOST_UNKNOWNS = 1024  # of Newton's steps, which solve for all of them at once
_MOST_PRODUCTS = 10_000  # of features, times pairs


def copy_of(ranker: Any, **parameters: Any) -> Any:
    """Make an unfitted learner with the same parameters, but for those given."""
    return type(ranker)(**ranker.get_params(deep=False) | parameters)


def members_of(members: Any, table: TrainingTable) -> dict[str, Any]:
    """Make unfitted learners of what a user gives, by names that tell them apart.

    Parameters
    ----------
    members : None, or sequence of str, learner or (str, learner)
        None: those of the default.
    table : TrainingTable
        From whose size the settings of the default members follow.

    Raises
    ------
    InputError
        Where there is none, and for whatever is neither a name nor a learner.
    """
    if members is None:
        return default_members(table)
    if isinstance(members, str) or not isinstance(members, Sequence) or not members:
        raise InputError(
            f"members must be a list of learners, or of their names; it is {members!r:.60}. Write "
            '["lr-rf", "rpc"], for example, or None for the default.'
        )
    named: dict[str, Any] = {}
    for number, member in enumerate(members):
        name, ranker = _one(member, number)
        more = (f"{name}-{count}" for count in itertools.count(2))
        named[next(own for own in itertools.chain([name], more) if own not in named)] = ranker
    return named


def _one(member: Any, number: int) -> tuple[str, Any]:
    from lrrf_jax.learners import LEARNERS
    from lrrf_jax.learners.base import LabelRanker

    if isinstance(member, str):
        return member, LEARNERS[member]()
    name, ranker = member if isinstance(member, tuple) and len(member) == 2 else (None, member)
    if not isinstance(ranker, LabelRanker) or not isinstance(name, str | None):
        raise InputError(
            f"members must be label rankers, their names, or pairs (name, label ranker); member "
            f"{number} is {member!r:.60}."
        )
    return ranker.name if name is None else name, copy_of(ranker)


def rows_for(ranker: Any, features: NDArray, categories: Categories) -> NDArray:
    """Write rows as a fitted member takes them, whose levels may be in another order."""
    new = {
        j: np.array([ranker._categories[j].names.index(name) for name in levels.names])
        for j, levels in categories.items()
    }
    if new:
        features = features.copy()
    for j, codes in new.items():
        features[:, j] = recoded(features[:, j], codes)
    rows: NDArray = ranker._as_numbers(features)
    return rows


def default_members(table: TrainingTable) -> dict[str, Any]:
    """Make the members of the frozen default, which ``docs/accuracy.md`` tells of."""
    from lrrf_jax.learners.ll import LogLinearLabelRanker
    from lrrf_jax.learners.lr_rf import RandomForestLabelRanker
    from lrrf_jax.learners.mlp import PerceptronLabelRanker
    from lrrf_jax.learners.rpc import PairwiseComparisonLabelRanker

    n_samples, n_features, n_labels, _ = table.shape
    n_pairs = n_labels * (n_labels - 1) // 2
    forest = functools.partial(
        RandomForestLabelRanker,
        100,
        criterion="pairwise",
        aggregation="kemeny",
        max_bins="exact",
        max_depth=12 if n_samples < _LARGE else 16,
        min_samples_leaf=1 if table.complete else 3,
    )
    # A penalty of 1 on the sum over rows or, of ll, over pairs, of which it takes the mean.
    pairwise = functools.partial(PairwiseComparisonLabelRanker, ridge=1.0)
    utilities = functools.partial(LogLinearLabelRanker, ridge=2 / (n_samples * n_pairs))
    members: dict[str, Any] = {
        "forest": forest(),
        "extra-trees": forest(splitter="random", max_features=None),
    }
    for basis, power in (("linear", 1), ("squares", 2)):
        members[f"rpc-{basis}"] = pairwise(basis=basis)
        few = (power * n_features + 1) * (n_labels - 1) <= _MOST_UNKNOWNS
        members[f"ll-{basis}"] = utilities(basis=basis, solver="newton" if few else "lbfgs")
    if n_features * (n_features + 3) // 2 * n_pairs < _MOST_PRODUCTS:
        members["rpc-quadratic"] = pairwise(basis="quadratic")
    members["mlp"] = PerceptronLabelRanker()
    return members
