"""The baseline: one ranking for every row, Borda's consensus of the training rankings."""

import functools
from typing import Annotated, Any, NamedTuple

import chex
import jax.numpy as jnp
import numpy as np

from lrrf_jax._backend import Backend
from lrrf_jax._programs import jit
from lrrf_jax._typing import AnyArray, Array, NDArray
from lrrf_jax.learners._table import TrainingTable
from lrrf_jax.learners.base import LabelRanker
from lrrf_jax.learners.on_device import RowFunction
from lrrf_jax.learners.persistence.content import Content
from lrrf_jax.learners.persistence.schema import Stored
from lrrf_jax.learners.persistence.stored import PlainConfig
from lrrf_jax.rankings.aggregation import borda
from lrrf_jax.rankings.pairwise import pair_signs_on_host
from lrrf_jax.rankings.preferences import table_preferences
from lrrf_jax.rankings.statistics import borda_votes_on_host


class ConsensusParams(NamedTuple):
    """What is known of the labels, whatever the row."""

    mean_vote: Annotated[AnyArray, Stored("float32", "n_labels")]
    # Mean over the rankings that rank both labels; NaN: there is none.
    preference: Annotated[
        AnyArray, Stored("float32", "n_outputs", minimum=-1, maximum=1, missing=True)
    ]


def fit_consensus(table: TrainingTable) -> ConsensusParams:
    """Average the generalised Borda votes of the training rankings, and their preferences."""
    votes = borda_votes_on_host(table.positions).astype(np.float64)
    mean_vote = np.average(votes, axis=0, weights=table.weight).astype(np.float32)
    return ConsensusParams(mean_vote, table_preferences(table.positions, table.weight))


@functools.partial(jit, static_argnames="of_ranks")
def consensus_rows(
    mean_vote: Array,  # float32 (n_labels,)
    features: Array,  # float32 (n_samples, n_features)
    *,
    of_ranks: bool,
) -> Array:
    """Repeat the consensus, or its scores, for each row; (n_samples, n_labels)."""
    chex.assert_rank([mean_vote, features], [1, 2])
    chex.assert_type([mean_vote, features], jnp.float32)
    row = borda(mean_vote) if of_ranks else mean_vote
    return jnp.broadcast_to(row, (len(features), *row.shape))


class ConsensusLabelRanker(LabelRanker):
    """Predict Borda's consensus of the training rankings for every row.

    Notes
    -----
    A whole weight is as good as copies of its row.
    """

    name = "default"
    needs_features = False
    params_type = ConsensusParams

    def _fit(self, key: Any, table: TrainingTable) -> tuple[ConsensusParams, PlainConfig]:
        return fit_consensus(table), PlainConfig(table.positions.shape[1])

    @classmethod
    def _arrays(cls, params: ConsensusParams, config: PlainConfig, backend: Backend) -> Any:
        return params.mean_vote

    def _row_function(self, of_ranks: bool) -> RowFunction:
        return RowFunction.of(consensus_rows, of_ranks=of_ranks)

    def _ranks(self, features: NDArray) -> Any:
        return consensus_rows(self.params_.mean_vote, features, of_ranks=True)

    def _scores(self, features: NDArray) -> Any:
        return consensus_rows(self.params_.mean_vote, features, of_ranks=False)

    def _preferences(self, features: NDArray) -> NDArray:
        return np.tile(self.params_.preference, (len(features), 1))

    @classmethod
    def _n_outputs(cls, config: PlainConfig, n_labels: int) -> int:
        return n_labels * (n_labels - 1) // 2

    @classmethod
    def _read_arrays(
        cls, arrays: dict[str, NDArray], content: Content, format_version: int
    ) -> ConsensusParams:
        vote = arrays.get("mean_vote")
        if "preference" not in arrays and vote is not None and vote.dtype == np.float32:
            # Files of 0.1.0 before bucket orders hold the votes alone, which say who is ahead.
            signs = pair_signs_on_host(-vote.reshape(1, -1))[0].astype(np.float32)
            arrays = {**arrays, "preference": signs}
        return super()._read_arrays(arrays, content, format_version)
