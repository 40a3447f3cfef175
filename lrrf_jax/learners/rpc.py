"""RPC: one logistic regression for each pair of labels, and a vote of all pairs.

Huellermeier, Fuernkranz, Cheng, Brinker, "Label ranking by learning pairwise preferences",
Artificial Intelligence 172, 2008.
"""

import dataclasses
import functools
from typing import Annotated, Any, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._programs import jit
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._validation import require_choice, require_integer, require_number
from lrrf_jax._xla import COMPILER_OPTIONS, scan
from lrrf_jax.learners._table import TableShape, TrainingTable
from lrrf_jax.learners.batching import map_rows
from lrrf_jax.learners.linear.blocks import assert_blocks, in_blocks, outer_sum, row_weights
from lrrf_jax.learners.linear.params import (
    AnyParams,
    AnyScaling,
    design,
    n_features_of,
    params_of,
    scaling_of,
)
from lrrf_jax.learners.linear.predict import assert_applies, linear_outputs, map_linear
from lrrf_jax.learners.linear.preferences import output_rows
from lrrf_jax.learners.linear.ranker import ExpandingLabelRanker
from lrrf_jax.learners.linear.solve import MIN_DAMPING, REJECTED_DAMPING, solve
from lrrf_jax.learners.on_device import RowFunction
from lrrf_jax.learners.persistence.schema import OneOf, Range
from lrrf_jax.rankings.pairwise import (
    n_labels_of_pairs,
    pair_indices,
    pair_signs,
    preferences_of_logits,
    reordered_pairs,
)
from lrrf_jax.rankings.permutations import rank_scores

VOTINGS = ("soft", "binary")
# Logit of a pair with one outcome only: as far as float32 tells, the probability is 1.
CERTAIN = 40.0
# A pair is done when a step promises less than this, in nats per row. Where the classes can be
# separated the optimum is at infinity: the probabilities then end about 1e-7 from certainty.
_TOLERANCE = 1e-7
_CURVATURES = 2**24  # floats that the matrices of the pairs in work may take
_EXACT = lax.Precision.HIGHEST


@dataclasses.dataclass(frozen=True)
class RPCConfig:
    """Settings of a fitted RPC."""

    n_labels: Annotated[int, Range(2)]
    voting: Annotated[str, OneOf(VOTINGS)]


class _Fit(NamedTuple):
    """Logistic models of the pairs, and what the next step needs."""

    weight: Array  # float32 (n_pairs, n_columns)
    loss: Array  # float32 (n_pairs,)
    gradient: Array  # float32 (n_pairs, n_columns)
    curvature: Array  # float32 (n_pairs, n_columns, n_columns)


@functools.partial(jit, compiler_options=COMPILER_OPTIONS)
def fit_pairs(
    features: Array,  # float32 (n_blocks, block_rows, n_features)
    sign: Array,  # int8 (n_blocks, block_rows, n_pairs): which label is first; 0: unknown
    row_weight: Array,  # float32 (n_blocks, block_rows), 0: padding
    scaling: AnyScaling,
    ridge: Array,  # float32 ()
    max_iter: Array,  # int32 ()
) -> Array:  # float32 (n_pairs, n_columns), the intercept last
    """Fit the logistic regressions of all pairs at once, by damped Newton steps.

    Every pair has its own damping, takes a step only where that lowers its loss, and rests when
    it is done: its model depends on no other pair. Memory: n_pairs n_columns^2, and blocks.
    """
    assert_blocks(features, sign, row_weight)
    chex.assert_axis_dimension(features, -1, n_features_of(scaling))
    chex.assert_equal_shape([scaling.centre, scaling.scale])
    chex.assert_rank([ridge, max_iter], 0)
    n_columns = len(scaling.scale) + 1
    penalty = jnp.full(n_columns, ridge).at[-1].set(0.0)  # as usual, the intercept is free
    known = row_weight[..., None] * jnp.abs(sign).astype(jnp.float32)
    total = known.sum((0, 1))

    def evaluate(weight: Array) -> _Fit:
        def add_block(sums: _Fit, block: tuple[Array, Array, Array]) -> tuple[_Fit, None]:
            x, toward, counts = block
            columns = design(scaling, x)
            toward = toward.astype(jnp.float32)
            margin = toward * jnp.matmul(columns, weight.T, precision=_EXACT)
            wrong = jax.nn.sigmoid(-margin)
            pull = counts * toward * wrong
            bend = counts * wrong * jax.nn.sigmoid(margin)
            # One product for all pairs: its order of sums does not depend on the threads.
            curvature = jnp.einsum("tk,tp,tq->kpq", bend, columns, columns, precision=_EXACT)
            return _Fit(
                sums.weight,
                sums.loss + jnp.sum(counts * jax.nn.softplus(-margin), axis=0),
                sums.gradient - outer_sum(pull, columns),
                sums.curvature + curvature,
            ), None

        zeros = jnp.zeros_like(weight)
        start = _Fit(
            weight,
            jnp.sum(penalty * weight**2, axis=1),
            2 * penalty * weight,
            zeros[:, :, None] + jnp.diag(2 * penalty),
        )
        return lax.scan(add_block, start, (features, sign, known))[0]

    def step(state: tuple[Array, _Fit, Array, Array]) -> tuple[Array, _Fit, Array, Array]:
        n_steps, fit, damping, active = state
        diagonal = jnp.diagonal(fit.curvature, axis1=1, axis2=2)
        floor = 1e-12 * jnp.maximum(total, 1.0)[:, None]  # for a column that is 0 in every row
        added = damping[:, None] * diagonal + floor
        matrix = fit.curvature + added[:, :, None] * jnp.eye(n_columns)
        move = jax.vmap(solve)(matrix, -fit.gradient)
        promised = -0.5 * jnp.sum(fit.gradient * move, axis=1)
        tried = evaluate(fit.weight + jnp.where(active[:, None], move, 0))
        better = active & (tried.loss <= fit.loss)  # false for NaN
        eased = jnp.maximum(damping / 10, MIN_DAMPING)
        raised = jnp.maximum(damping * 10, REJECTED_DAMPING)
        fit = jax.tree.map(lambda new, old: jnp.where(_along(better, new), new, old), tried, fit)
        active = active & ~(promised <= _TOLERANCE * total)
        return n_steps + 1, fit, jnp.where(better, eased, raised), active

    def goes_on(state: tuple[Array, _Fit, Array, Array]) -> Array:
        return (state[0] < max_iter) & jnp.any(state[3])

    n_pairs = sign.shape[-1]
    first = evaluate(jnp.zeros((n_pairs, n_columns), jnp.float32))
    damping = jnp.full(n_pairs, MIN_DAMPING, jnp.float32)
    wins = jnp.any((known > 0) & (sign > 0), (0, 1))
    losses = jnp.any((known > 0) & (sign < 0), (0, 1))
    contested = wins & losses
    _, fit, _, _ = lax.while_loop(
        goes_on, step, (jnp.zeros((), jnp.int32), first, damping, contested)
    )
    intercept = CERTAIN * (wins.astype(jnp.float32) - losses.astype(jnp.float32))
    certain = jnp.zeros_like(fit.weight).at[:, -1].set(intercept)
    return jnp.where(contested[:, None], fit.weight, certain)


def _along(chosen: Array, like: Array) -> Array:
    return chosen.reshape(-1, *(1,) * (like.ndim - 1))


def fit_rpc(table: TrainingTable, *, basis: str, ridge: float, max_iter: int) -> AnyParams:
    """Fit the models of all pairs, as many at a time as memory is meant for."""
    scaling = scaling_of(table.features, table.weight, centred=True, basis=basis)
    n_columns, n_labels = len(scaling.scale) + 1, table.positions.shape[1]
    numbers = n_columns**2 + 2 * n_labels**2  # products of columns, and what pairs hold
    order = table.label_order
    rankings = table.positions[:, order]
    blocks = in_blocks(table.features, rankings, row_weights(table), numbers=numbers)
    features, positions, weight = blocks
    sign = np.asarray(pair_signs(positions))
    n_pairs = sign.shape[-1]
    chunk = max(1, min(n_pairs, _CURVATURES // n_columns**2))
    sign = np.pad(sign, ((0, 0), (0, 0), (0, -n_pairs % chunk)))
    fitted = [
        np.asarray(
            fit_pairs(
                features,
                sign[..., start : start + chunk],
                weight,
                scaling,
                np.float32(ridge),
                np.int32(max_iter),
            )
        )
        for start in range(0, n_pairs, chunk)
    ]
    models = np.concatenate(fitted)[:n_pairs]
    return params_of(scaling, reordered_pairs(models.T, np.argsort(order)))


def rpc_votes(params: AnyParams, features: Array, *, voting: str) -> Array:
    """Sum the votes of the pairs; float32 (n_samples, n_labels)."""
    logit = linear_outputs(params, features).T
    n_labels = n_labels_of_pairs(len(logit))
    if voting == "soft":
        for_first, for_second = jax.nn.sigmoid(logit), jax.nn.sigmoid(-logit)
    else:
        for_first, for_second = (1 + jnp.sign(logit)) / 2, (1 - jnp.sign(logit)) / 2
    first, second = (np.eye(n_labels, dtype=np.float32)[label] for label in pair_indices(n_labels))

    def add(votes: Array, pair: tuple[Any, ...]) -> tuple[Array, None]:
        to_first, to_second, one, other = pair
        return votes + to_first[:, None] * one + to_second[:, None] * other, None

    start = jnp.zeros((len(features), n_labels), jnp.float32)
    # One pair after another: the order of the sum must not depend on the number of rows.
    votes, _ = scan(add, start, (for_first, for_second, first, second))
    return votes


@functools.partial(jit, static_argnames=("voting", "of_ranks"), compiler_options=COMPILER_OPTIONS)
def rpc_rows(
    params: AnyParams,
    features: Array,  # float32 (n_samples, n_features)
    *,
    voting: str,
    of_ranks: bool,
) -> Array:  # int32 or float32 (n_samples, n_labels)
    """Rank the labels of each row by their votes, or give the votes."""
    assert_applies(params, features)

    def rows(block: Array) -> Array:
        votes = rpc_votes(params, block, voting=voting)
        return rank_scores(votes) if of_ranks else votes

    return map_linear(rows, features, params)


class PairwiseComparisonLabelRanker(ExpandingLabelRanker):
    """Ranking by pairwise comparison (RPC), Huellermeier et al. 2008.

    A logistic regression for each pair of labels tells how likely the one comes before the other,
    learnt from the rows that rank both; a label's score is the sum over its pairs.

    Parameters
    ----------
    voting : {"soft", "binary"}
        A pair gives each of its labels its probability, which minimises the expected Spearman
        distance where the probabilities are right; or one vote to the likelier label.
    ridge : float
        Penalty ``ridge * sum(weight**2)`` on the log-likelihood of a pair (a sum over rows), for
        features of unit variance, the intercept left out, as in WEKA. It settles what collinear
        features leave open; a greater one smooths.
    max_iter : int
        Maximum number of Newton steps. Separable pairs, whose optimum is at infinity, take about
        15.

    Attributes
    ----------
    params_ : LinearParams or ExpandedParams
        ``weight``, float32 (n_columns, n_pairs), of scaled features or columns of a basis, and
        ``intercept``; pairs (i, j) with i < j in row-major order, logits positive where label i
        comes first.

    Notes
    -----
    Weights have mean 1 next to the ridge: whole weights of mean w are as good as copies with w
    times the ridge. A pair that no row ranks is a tie, 0.5 for both; a pair that all rows rank
    alike is certain. Features must not be missing. Of n_columns, as many as the ``basis`` makes,
    fit costs O(n_samples n_pairs n_columns^2) per step and takes no random numbers; predict
    O(n_columns n_pairs) per row.

    Examples
    --------
    >>> from lrrf_jax.learners import PairwiseComparisonLabelRanker
    >>> ranker = PairwiseComparisonLabelRanker()
    >>> ranker = ranker.fit([[0.0], [1], [2], [3]], [[1, 2], [1, 2], [2, 1], [2, 1]])
    >>> ranker.predict([[0.5], [2.5]]).tolist()
    [[1, 2], [2, 1]]
    """

    name = "rpc"
    config_type = RPCConfig

    voting: str = "soft"
    ridge: float = 1e-8
    max_iter: int = 50

    def _check_settings(self, shape: TableShape) -> None:
        super()._check_settings(shape)
        require_choice(self.voting, "voting", VOTINGS)
        require_number(self.ridge, "ridge")
        require_integer(self.max_iter, "max_iter", 1)

    def _fit(self, key: Any, table: TrainingTable) -> tuple[AnyParams, RPCConfig]:
        params = fit_rpc(table, basis=self.basis, ridge=self.ridge, max_iter=self.max_iter)
        return params, RPCConfig(table.positions.shape[1], self.voting)

    def _row_function(self, of_ranks: bool) -> RowFunction:
        voting = self.config_.voting
        return RowFunction.of(rpc_rows, marks_unknown=True, voting=voting, of_ranks=of_ranks)

    def _ranks(self, features: NDArray) -> Any:
        return rpc_rows(self.params_, features, voting=self.config_.voting, of_ranks=True)

    def _scores(self, features: NDArray) -> Any:
        return rpc_rows(self.params_, features, voting=self.config_.voting, of_ranks=False)

    def _preferences(self, features: NDArray) -> NDArray:
        logit = map_rows(lambda rows: output_rows(self.params_, rows), features, self._seen(None))
        return preferences_of_logits(logit)

    @classmethod
    def _n_outputs(cls, config: RPCConfig, n_labels: int) -> int:
        return n_labels * (n_labels - 1) // 2
