"""Stack: the pair scores of several learners, weighed by how well they do out of sample.

Stacked generalisation (Wolpert 1992) with weights that are not negative (Breiman 1996), of pair
probabilities on the logit scale, and Kemeny's rule over the result.
"""

import dataclasses
import functools
import os
from typing import Annotated, Any, NamedTuple, Self

import jax
import numpy as np

from lrrf_jax._typing import AnyArray, NDArray
from lrrf_jax._validation import InputError, require_integer, require_number
from lrrf_jax.learners._table import TableShape, TrainingTable
from lrrf_jax.learners.base import LabelRanker
from lrrf_jax.learners.batching import map_rows
from lrrf_jax.learners.persistence.schema import Range, Stored
from lrrf_jax.learners.stacking.combine import decode, logit_of
from lrrf_jax.learners.stacking.members import copy_of, members_of, rows_for
from lrrf_jax.learners.stacking.out_of_sample import fit_member, folds_of
from lrrf_jax.learners.stacking.stored import own_arrays, put_members, read_members
from lrrf_jax.learners.stacking.weights import stack_weights
from lrrf_jax.rankings.pairwise import pair_signs_on_host, preferences_of_logits


class StackParams(NamedTuple):
    """What the stack learns besides its members."""

    weight: Annotated[AnyArray, Stored("float32", "n_members", minimum=0)]


@dataclasses.dataclass(frozen=True)
class StackConfig:
    """Settings of a fitted stack."""

    n_labels: Annotated[int, Range(2)]
    n_members: Annotated[int, Range(1)]


class StackedLabelRanker(LabelRanker):
    """Stack of label rankers: on most tables better than its members, and as dear as all.

    Every member says how likely each label comes before each other. The logits are summed with
    weights that are not negative, the same for all pairs, and the ranking is Kemeny's, which agrees
    most with the resulting probabilities. Weights are learnt from pair scores of the training rows
    by models that did not see their rankings: out-of-bag for forests, out of fold for others.

    Parameters
    ----------
    members : list or None
        Names of `LEARNERS`, learners with parameters of their own, or pairs (name, learner).
        None: the frozen default of ``docs/accuracy.md``.
    n_folds : int
        Folds for members that are not forests: each is fitted once per fold, and once on all rows.
        At most as many as rows; of one row nothing is known out of sample, and weights are equal.
    ridge : float
        What it costs when a weight moves away from equal ones: by the whole of an equal weight,
        ``ridge / 2`` of the loss that these have.
    random_state : int, RandomState or None
        Of folds, and of members whose own is None.

    Attributes
    ----------
    members_ : dict of str to learner
        The members, fitted on all training rows.
    weights_ : dict of str to float
        What each of them counts; 0: nothing.

    Notes
    -----
    A whole weight is not as good as copies, which would be dealt to several folds. Features may be
    missing where every member takes that; those of the default do not. Costs the fits of all,
    ``n_folds + 1`` times for those that are not forests; predict costs the sum over its members,
    and O(n_labels^2) to O(2^n_labels) per row for Kemeny's rule.

    Examples
    --------
    >>> from lrrf_jax import LEARNERS
    >>> from lrrf_jax.datasets import load
    >>> iris = load("iris")
    >>> stack = LEARNERS["stack"](["pw-rf", "rpc"], random_state=0).fit(iris.X, iris.y)
    >>> list(stack.members_)
    ['pw-rf', 'rpc']
    >>> stack.score(iris.X, iris.y) > 0.9
    True
    """

    name = "stack"
    params_type = StackParams
    config_type = StackConfig
    codes_categories = "as-they-are"
    accepts_missing_features = False  # but where all members do, see `_require_known`

    members: list[Any] | None = dataclasses.field(default=None, kw_only=False)
    n_folds: int = 5
    ridge: float = 3e-4
    random_state: Any = None

    # ------------------------------------------------------------------------------- fit
    def _check_settings(self, shape: TableShape) -> None:
        require_integer(self.n_folds, "n_folds", 2)
        require_number(self.ridge, "ridge")

    def _fit_table(self, table: TrainingTable, **options: Any) -> Self:
        before = self.__dict__.get("members_", {})
        self.members_: dict[str, Any] = members_of(self.members, table)
        try:
            return super()._fit_table(table, **options)
        except BaseException:
            self.members_ = before  # to which the weights of the last fit belong
            raise

    def _fit(self, key: jax.Array, table: TrainingTable) -> tuple[StackParams, StackConfig]:
        n_samples, n_labels = table.positions.shape
        random = np.random.default_rng(self._seed)
        fold = folds_of(n_samples, min(self.n_folds, n_samples), random)
        preferences = []
        for name, member in self.members_.items():
            seed = int(random.integers(2**31))
            if member.get_params(deep=False).get("random_state", seed) is None:
                member.set_params(random_state=seed)
            self.members_[name], found = _fit_named(name, member, table, fold)
            preferences.append(found)
        weight = _weights(table, preferences, self.ridge)
        return StackParams(weight), StackConfig(n_labels, len(weight))

    @property
    def weights_(self) -> dict[str, float]:
        """What each member counts."""
        return dict(zip(self.members_, self.params_.weight.tolist(), strict=True))

    def _require_known(self, features: NDArray, names: Any, row: NDArray | None = None) -> None:
        if not all(member.accepts_missing_features for member in self.members_.values()):
            super()._require_known(features, names, row)

    # ------------------------------------------------------------------------------- predict
    def _preferences(self, features: NDArray) -> NDArray:
        n_labels = len(self.labels_)
        logit = np.zeros((len(features), n_labels * (n_labels - 1) // 2), np.float32)
        for member, weight in zip(self.members_.values(), self.params_.weight, strict=True):
            if weight > 0:
                rows = rows_for(member, features, self._categories)
                logit += weight * logit_of(member._preferences(rows))
        return preferences_of_logits(logit)

    def _map_rows(self, of_ranks: bool, features: NDArray) -> NDArray:
        function = self._ranks if of_ranks else self._scores
        blocks = [np.asarray(function(features[rows])) for rows in self._blocks(len(features))]
        return np.concatenate(blocks) if blocks else np.asarray(function(features))

    def _ranks(self, features: NDArray) -> Any:
        return self._decoded(features, of_ranks=True)

    def _scores(self, features: NDArray) -> Any:
        return self._decoded(features, of_ranks=False)

    def _decoded(self, features: NDArray, *, of_ranks: bool) -> NDArray:
        decoded = functools.partial(decode, n_labels=len(self.labels_), of_ranks=of_ranks)
        return map_rows(decoded, self._preferences(features), self._seen(of_ranks))

    # ------------------------------------------------------------------------------- files
    def _stored(self, path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray]]:
        header, arrays = super()._stored(path)
        put_members(path, self.members_, header, arrays)
        if self.members is not None and header["params"]["members"] is None:
            # Learners have no place there; those that are not names come back as they are stored.
            header["params"]["members"] = [[name] for name in self.members_]
        return header, arrays

    def _check_params(self, params: StackParams) -> str | None:
        if len(params.weight) != self.config_.n_members:
            return f"there are weights of {len(params.weight)} of {self.config_.n_members} members"
        return None

    @classmethod
    def _from_file(cls, path: Any, header: dict[str, Any], arrays: dict[str, NDArray]) -> Self:
        ranker = super()._from_file(path, header, own_arrays(arrays))
        ranker.members_ = read_members(path, header, arrays)
        if not all(isinstance(member, str) for member in ranker.members or []):
            ranker.members = [(name, copy_of(member)) for name, member in ranker.members_.items()]
        return ranker


def _fit_named(name: str, member: Any, table: TrainingTable, fold: NDArray) -> tuple[Any, NDArray]:
    try:
        return fit_member(member, table, fold)
    except InputError as error:
        raise InputError(f"member '{name}' of the stack cannot be fitted: {error}") from error
    except Exception as error:
        raise RuntimeError(f"member '{name}' of the stack failed: {error}") from error


def _weights(
    table: TrainingTable, preferences: list[NDArray], ridge: float
) -> NDArray:  # float32 (n_members,)
    """Learn the weights from the pairs that the rankings know."""
    sign = pair_signs_on_host(table.positions)
    known = sign != 0
    logit = np.stack([logit_of(pairs[known]) for pairs in preferences])
    row_weight = np.ones(len(sign)) if table.weight is None else table.weight
    count = np.broadcast_to(row_weight[:, None], sign.shape)[known]
    return stack_weights(logit, sign[known], count, ridge).astype(np.float32)
