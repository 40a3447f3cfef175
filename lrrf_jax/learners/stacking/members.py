"""The members of a stack: learners by name or as they are, and those of the default."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.learners._coding import Categories, recoded
from lrrf_jax.learners._table import TrainingTable


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
        same = sum(other == name or other.startswith(f"{name}-") for other in named)
        named[f"{name}-{same + 1}" if name in named else name] = ranker
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
    from lrrf_jax.learners.rpc import PairwiseComparisonLabelRanker

    n_samples, n_features, n_labels, _ = table.shape
    n_pairs = n_labels * (n_labels - 1) // 2
    forest = functools.partial(
        RandomForestLabelRanker,
        200,
        criterion="pairwise",
        aggregation="kemeny",
        max_depth=12 if n_samples < 5000 else 16,
        min_samples_leaf=1 if table.complete else 3,
    )
    edges = n_samples * n_pairs  # of which ll takes the mean, where rpc takes a sum of rows
    members: dict[str, Any] = {
        "forest": forest(),
        "extra-trees": forest(splitter="random", max_features=None),
    }
    for basis in ("linear", "squares"):
        members[f"rpc-{basis}"] = PairwiseComparisonLabelRanker(basis=basis, ridge=1.0)
        members[f"ll-{basis}"] = LogLinearLabelRanker(basis=basis, ridge=2 / edges)
    if n_features * (n_features + 3) // 2 * n_pairs < 10_000:
        members["rpc-quadratic"] = PairwiseComparisonLabelRanker(basis="quadratic", ridge=1.0)
    members["rpc-hinges"] = PairwiseComparisonLabelRanker(basis="hinges", ridge=1.0)
    return members
