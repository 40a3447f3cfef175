"""The shell of the learners with linear models."""

import dataclasses
from typing import Annotated, Any, ClassVar

import jax

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import require_choice
from lrrf_jax.learners._table import TableShape
from lrrf_jax.learners.base import LabelRanker
from lrrf_jax.learners.linear.basis import BASES
from lrrf_jax.learners.linear.params import (
    AnyParams,
    ExpandedParams,
    LinearParams,
    params_violation,
)
from lrrf_jax.learners.linear.predict import utility_rows
from lrrf_jax.learners.on_device import RowFunction
from lrrf_jax.learners.persistence.content import Content
from lrrf_jax.learners.persistence.schema import LATER, Range, arrays_of


class LinearLabelRanker(LabelRanker):
    """A label ranker of linear functions of the features, which must not be missing."""

    params_type = LinearParams
    accepts_missing_features = False

    def _row_bytes(self) -> int:
        return 16 * len(self.params_.intercept)

    def _check_params(self, params: AnyParams) -> str | None:
        return params_violation(params)


class ExpandingLabelRanker(LinearLabelRanker):
    """A linear label ranker that may be linear in more columns than the features.

    Parameters
    ----------
    basis : {"linear", "squares", "quadratic", "hinges"}
        What the model is linear in: the features x; besides them their squares; these and the
        products of any two; or the squares and five hinges ``max(0, x - q)`` of each feature, q its
        quantiles in the training rows at 1/6 to 5/6, which together bend to any smooth function of
        each feature. Features are scaled before, and all columns after.
    """

    basis: str = dataclasses.field(default="linear", metadata=LATER)

    def _check_settings(self, shape: TableShape) -> None:
        require_choice(self.basis, "basis", BASES)

    def _row_bytes(self) -> int:
        return super()._row_bytes() + 8 * len(self.params_.scale)

    @classmethod
    def _read_arrays(cls, arrays: dict[str, NDArray], content: Content, format_version: int) -> Any:
        # The arrays decide, for `basis` may have been set after the fit.
        kind = ExpandedParams if "basis.scale" in arrays else LinearParams
        return arrays_of(kind, arrays, content.sizes)


class UtilityLabelRanker(LinearLabelRanker):
    """A label ranker with one linear utility per label.

    Parameters
    ----------
    fit_intercept : bool
        Centre the features, and give each utility a constant. The papers do without.

    Attributes
    ----------
    n_iter_ : int
        Steps, rounds or epochs that were run.
    params_ : LinearParams or, on a basis, ExpandedParams
        ``weight``, float32 (n_columns, n_labels), of scaled features or columns of a basis, and
        ``intercept``.
    """

    fit_intercept: bool = True

    def _row_function(self, of_ranks: bool) -> RowFunction:
        return RowFunction.of(utility_rows, marks_unknown=True, of_ranks=of_ranks)

    def _ranks(self, features: NDArray) -> jax.Array:
        return utility_rows(self.params_, features, of_ranks=True)

    def _scores(self, features: NDArray) -> jax.Array:
        return utility_rows(self.params_, features, of_ranks=False)

    _extra_types: ClassVar[dict[str, Any]] = {"n_iter": Annotated[int, Range(0)]}

    def _extra_header(self) -> dict[str, Any]:
        return {"n_iter": self.n_iter_}

    def _restore_extra(self, extra: dict[str, Any]) -> None:
        self.n_iter_: int = int(extra["n_iter"])
