"""Rankings and pair scores of the training rows by the trees that did not draw them."""

import functools
from typing import Any

import chex
import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax import metrics
from lrrf_jax._programs import jit
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._validation import warn_user
from lrrf_jax._xla import COMPILER_OPTIONS, take
from lrrf_jax.inference.ready import ReadyForest, find_leaves, make_ready
from lrrf_jax.learners._table import TrainingTable
from lrrf_jax.learners.batching import map_rows
from lrrf_jax.learners.forest.aggregation import numbers_in_leaf, ranks_of_sums
from lrrf_jax.learners.forest.bootstraps import bootstrap_table
from lrrf_jax.learners.forest.config import ForestConfig
from lrrf_jax.learners.forest.pair_shares import preferences_of_sums
from lrrf_jax.rankings.pairwise import pair_indices
from lrrf_jax.trees.forest import Forest

_SIGNS = {"two-step": -1, "one-step": 1}  # of leaves by label: whether small values are ahead


@functools.partial(jit, static_argnames="signs", compiler_options=COMPILER_OPTIONS)
def _out_of_bag_sums(
    forest: ReadyForest,
    features: Array,  # float32 (n_samples, n_features)
    drawn: Array,  # int32 (n_samples, n_trees)
    *,
    signs: int,
) -> Array:  # int32 (n_samples, n_outputs), or (n_samples, n_outputs + n_pairs)
    """Sum the leaves of the trees that did not draw a row; and the signs of their pairs.

    ``signs``: 1 where the larger value of a leaf is ahead, -1 where the smaller one is, 0: none.
    """
    n_trees = len(forest.leaf_slot)
    chex.assert_shape(drawn, (len(features), n_trees))
    chex.assert_rank([features, forest.leaf_value], 2)
    chex.assert_type([features, drawn, forest.leaf_value], [jnp.float32, jnp.int32, jnp.int32])
    leaf = find_leaves(forest, features)
    n_outputs = forest.leaf_value.shape[1]
    first, second = pair_indices(n_outputs if signs else 1)

    def add(total, tree):
        slots, leaf, drawn = tree
        value = take(forest.leaf_value, take(slots, leaf))
        ahead = signs * jnp.sign(value[:, first] - value[:, second])
        value = jnp.concatenate([value, ahead], axis=1)
        return total + jnp.where((drawn == 0)[:, None], value, 0), None

    total = jnp.zeros((len(features), n_outputs + len(first)), jnp.int32)
    return lax.scan(add, total, (forest.leaf_slot, leaf, drawn.T))[0]


@functools.partial(
    jit, static_argnames=("n_labels", "aggregation"), compiler_options=COMPILER_OPTIONS
)
def _ranks(sums: Array, *, n_labels: int, aggregation: str) -> Array:
    chex.assert_rank(sums, 2)
    chex.assert_type(sums, jnp.int32)
    return ranks_of_sums(sums, n_labels, aggregation)


class OutOfBag:
    """What trees say of the training rows that they did not draw, summed as trees come.

    ``pairs`` says whether `preferences` will be asked for. Leaves of positions or votes are then
    summed by pair, too.
    """

    def __init__(
        self, key: Array, table: TrainingTable, config: ForestConfig, *, pairs: bool = True
    ) -> None:
        self._key, self._table, self._config = key, table, config
        self._signs = _SIGNS.get(config.aggregation, 0) if pairs else 0
        self._sums: NDArray | int = 0  # int32 (n_samples, n_outputs), or with pairs behind them
        self._n_out = np.zeros((len(table.features), 1), np.int32)  # trees that did not draw a row
        self.n_trees: int = 0

    def add(self, forest: Forest) -> float:
        """Add the trees that come next; returns the mean tau so far, NaN where there is none."""
        n_samples, n_features = self._table.features.shape
        drawn = bootstrap_table(
            self._key, n_samples, forest.n_trees, self._config.bootstrap, self.n_trees
        )
        self.n_trees += forest.n_trees
        self._n_out += (drawn == 0).sum(axis=1, dtype=np.int32, keepdims=True)
        ready = make_ready(forest)
        # Counts ride along as further columns, so that both are cut into the same batches.
        both = np.concatenate([self._table.features, drawn.astype(np.float32)], axis=1)

        def sums(block: NDArray) -> Array:
            drawn = block[:, n_features:].astype(np.int32)
            out: Array = _out_of_bag_sums(ready, block[:, :n_features], drawn, signs=self._signs)
            return out

        self._sums = self._sums + map_rows(sums, both)
        return self.tau(self._ranked())

    def preferences(self) -> NDArray:  # float32 (n_samples, n_pairs) in [-1, 1]
        """Tell how each pair is preferred in each row of the table, as `_preferences` does.

        NaN for rows that every tree drew.
        """
        n_labels, aggregation = self._config.n_labels, self._config.aggregation
        sums = np.asarray(self._sums)[:, n_labels if aggregation in _SIGNS else 0 :]
        return preferences_of_sums(sums, self._n_out, aggregation)

    @property
    def _known(self) -> NDArray:  # bool (n_samples,), rows that some tree did not draw
        return self._n_out[:, 0] > 0

    def rankings(self) -> tuple[NDArray, float]:
        """Rank each training row, and tell the mean tau; warns of rows that every tree drew.

        Returns float64 (n_rows, n_labels), NaN for rows that every tree drew or that were left
        out of training, and their mean tau, NaN where there is none.
        """
        table, known = self._table, self._known
        ranks = self._ranked()
        out = np.full((table.n_rows, ranks.shape[1]), np.nan)
        out[table.row[known]] = ranks[known]
        if not known.all():
            warn_user(
                f"{(~known).sum()} of {len(known)} rows were drawn by every tree and have no "
                "out-of-bag ranking; grow more trees."
            )
        return out, self.tau(ranks)

    def tau(self, ranks: NDArray) -> float:
        """Mean tau of the rows that have an out-of-bag ranking."""
        known = self._known
        if not known.any():
            return float("nan")
        weight = self._table.weight_of(known)
        return float(metrics.kendall_tau(self._table.positions[known], ranks[known], weight))

    def _ranked(self) -> NDArray:  # int32 (n_samples, n_labels)
        static: dict[str, Any] = {
            "n_labels": self._config.n_labels,
            "aggregation": self._config.aggregation,
        }
        n_outputs = numbers_in_leaf(**static)
        sums = np.ascontiguousarray(np.asarray(self._sums)[:, :n_outputs])
        return map_rows(lambda sums: _ranks(sums, **static), sums)
