"""LL: log-linear models for label ranking, one linear utility per label.

Dekel, Manning, Singer, "Log-linear models for label ranking", NIPS 2003, with the decomposition
of a ranking into its edges: each pair of ranked labels is a graph of its own.
"""

import functools
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._programs import jit
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._validation import InputError, require_choice, require_integer, require_number
from lrrf_jax._xla import COMPILER_OPTIONS
from lrrf_jax.learners._table import TableShape, TrainingTable
from lrrf_jax.learners.linear.blocks import assert_blocks, in_blocks, outer_sum, row_weights
from lrrf_jax.learners.linear.newton import MOST_UNKNOWNS, fit_newton
from lrrf_jax.learners.linear.params import AnyParams, design, params_of, scaled, scaling_of
from lrrf_jax.learners.linear.preferences import differences, utility_preferences
from lrrf_jax.learners.linear.ranker import ExpandingLabelRanker, UtilityLabelRanker
from lrrf_jax.learners.persistence.stored import PlainConfig
from lrrf_jax.rankings.pairwise import pair_signs

SOLVERS = ("lbfgs", "newton", "boost")
_EXACT = lax.Precision.HIGHEST
_MIN_SUM = 1e-12  # keeps the logarithm of a sum finite where no edge contributes
_MEMORY = 10  # steps that L-BFGS remembers


def edge_loss(
    weight: Array,  # float32 (n_columns, n_labels)
    columns: Array,  # float32 (block_rows, n_columns)
    sign: Array,  # int8 (block_rows, n_pairs): which label is first; 0: unknown
    row_weight: Array,  # float32 (block_rows,), 0: padding
) -> Array:  # float32 ()
    """Sum log(1 + exp(utility of the worse - utility of the better label)) over the edges."""
    toward = sign.astype(jnp.float32)
    # Not a matrix product, whose gradient would be summed in an order that threads decide.
    utility = jnp.sum(columns[:, :, None] * weight, axis=1)
    margin = toward * jnp.matmul(utility, differences(weight.shape[1]), precision=_EXACT)
    return jnp.sum(row_weight[:, None] * jnp.abs(toward) * jax.nn.softplus(-margin))


@functools.partial(jit, compiler_options=COMPILER_OPTIONS)
def fit_lbfgs(
    columns: Array,  # float32 (n_blocks, block_rows, n_columns)
    sign: Array,  # int8 (n_blocks, block_rows, n_pairs)
    row_weight: Array,  # float32 (n_blocks, block_rows)
    ridge: Array,  # float32 ()
    max_iter: Array,  # int32 ()
    tolerance: Array,  # float32 ()
    start: Array,  # float32 (n_columns, n_labels)
) -> tuple[Array, Array]:  # float32 (n_columns, n_labels), int32 () steps
    """Minimise the mean loss of an edge plus ``ridge / 2`` times the squared weights."""
    import optax  # here, so that forests do without it

    from lrrf_jax.training import minimise

    assert_blocks(columns, sign, row_weight)
    chex.assert_rank([ridge, max_iter, tolerance], 0)
    chex.assert_shape(start, (columns.shape[-1], None))
    share = 1 / jnp.sum(row_weight[..., None] * jnp.abs(sign).astype(jnp.float32))

    @jax.checkpoint  # keeps no block's margins for the gradient
    def add_block(total: Array, block: tuple[Array, ...], weight: Array) -> Array:
        return total + edge_loss(weight, *block)

    def loss(weight: Array) -> Array:
        total, _ = lax.scan(
            lambda total, block: (add_block(total, block, weight), None),
            jnp.zeros(()),
            (columns, sign, row_weight),
        )
        return total * share + ridge / 2 * jnp.sum(weight**2)

    found = minimise(
        loss, start, optax.lbfgs(memory_size=_MEMORY), max_steps=max_iter, tolerance=tolerance
    )
    return found.params, found.n_steps


@functools.partial(jit, compiler_options=COMPILER_OPTIONS)
def fit_boost(
    columns: Array,  # float32 (n_blocks, block_rows, n_columns)
    sign: Array,  # int8 (n_blocks, block_rows, n_pairs)
    row_weight: Array,  # float32 (n_blocks, block_rows)
    n_rounds: Array,  # int32 ()
    start: Array,  # float32 (n_columns, n_labels)
) -> Array:  # float32 (n_columns, n_labels)
    """Update all weights at once, ``n_rounds`` times, each by its own share of the mistakes.

    Algorithm of section 4 of the paper: an edge from a better to a worse label with features x
    pulls on the worse label's weights by x, on the better one's by -x.
    """
    assert_blocks(columns, sign, row_weight)
    chex.assert_rank(n_rounds, 0)
    chex.assert_shape(start, (columns.shape[-1], None))
    n_labels = start.shape[1]
    contrast = differences(n_labels)
    first, second = np.maximum(contrast, 0), np.maximum(-contrast, 0)
    known = row_weight > 0
    reach = 2 * jnp.max(jnp.where(known, jnp.sum(jnp.abs(columns), -1), 0))
    share = 1 / jnp.sum(row_weight[..., None] * jnp.abs(sign).astype(jnp.float32))

    product = functools.partial(jnp.matmul, precision=_EXACT)

    def pulls(x: Array, sign: Array, counts: Array, weight: Array) -> tuple[Array, Array]:
        """Sum what wants each weight greater, and what wants it smaller, in a block."""
        toward = sign.astype(jnp.float32)
        margin = toward * product(product(x, weight), contrast)
        wrong = counts[:, None] * share * jax.nn.sigmoid(-margin)
        ahead, behind = wrong * jnp.maximum(toward, 0), wrong * jnp.maximum(-toward, 0)
        worse = product(behind, first.T) + product(ahead, second.T)
        better = product(ahead, first.T) + product(behind, second.T)
        positive, negative = jnp.maximum(x, 0), jnp.maximum(-x, 0)
        return (
            outer_sum(positive, better) + outer_sum(negative, worse),
            outer_sum(positive, worse) + outer_sum(negative, better),
        )

    def update(_: int, weight: Array) -> Array:
        def add_block(sums: tuple[Array, Array], block: tuple[Array, Array, Array]) -> Any:
            up, down = pulls(*block, weight)
            return (sums[0] + up, sums[1] + down), None

        zeros = jnp.zeros_like(weight)
        (up, down), _ = lax.scan(add_block, (zeros, zeros), (columns, sign, row_weight))
        ratio = jnp.log(up + _MIN_SUM) - jnp.log(down + _MIN_SUM)
        return weight + ratio / jnp.maximum(2 * reach, jnp.finfo(jnp.float32).tiny)

    return lax.fori_loop(0, n_rounds, update, start)


def fit_ll(
    table: TrainingTable,
    *,
    basis: str,
    solver: str,
    fit_intercept: bool,
    ridge: float,
    max_iter: int,
    tolerance: float,
    n_rounds: int,
) -> tuple[AnyParams, int]:
    """Fit the utilities; returns them and the number of steps."""
    scaling = scaling_of(table.features, table.weight, centred=fit_intercept, basis=basis)
    numbers = 2 * (len(scaling.scale) + table.positions.shape[1] ** 2)
    order = table.label_order
    rankings = table.positions[:, order]
    blocks = in_blocks(table.features, rankings, row_weights(table), numbers=numbers)
    features, positions, row_weight = blocks
    sign = pair_signs(positions)
    if solver == "newton":
        _require_few(len(scaling.scale) + fit_intercept, len(order))
    columns = design(scaling, features) if fit_intercept else scaled(scaling, features)
    start = np.zeros((columns.shape[-1], positions.shape[-1]), np.float32)
    if solver != "boost":
        minimise = fit_newton if solver == "newton" else fit_lbfgs
        limits = np.float32(ridge), np.int32(max_iter), np.float32(tolerance)
        models, steps = minimise(columns, sign, row_weight, *limits, start)
        n_rounds = int(steps)
    else:
        models = fit_boost(columns, sign, row_weight, np.int32(n_rounds), start)
    return params_of(scaling, np.asarray(models)[:, np.argsort(order)]), n_rounds


def _require_few(n_columns: int, n_labels: int) -> None:
    n_unknowns = n_columns * (n_labels - 1)
    if n_unknowns > MOST_UNKNOWNS:
        raise InputError(
            f"solver 'newton' takes up to {MOST_UNKNOWNS} unknowns; {n_columns} columns of "
            f"{n_labels} labels have {n_unknowns}. Use solver='lbfgs'."
        )


class LogLinearLabelRanker(ExpandingLabelRanker, UtilityLabelRanker):
    """Log-linear label ranking (LL), Dekel, Manning and Singer 2003.

    Each label has a linear utility, and labels are ranked by it. Training minimises the sum of
    ``log(1 + exp(utility of the worse - utility of the better))`` over all pairs of ranked labels
    (the edge decomposition of the paper), which is convex.

    Parameters
    ----------
    solver : {"lbfgs", "newton", "boost"}
        L-BFGS, to the optimum; or Newton's steps, of which 10 to 20 do where L-BFGS takes hundreds,
        as it does on columns of a ``basis`` that nearly separate the rankings, and which need
        columns and labels to be few; or the paper's boosting-style parallel update, ``n_rounds``
        times, which takes small steps and stops far from the optimum.
    ridge : float
        Not for "boost": penalty ``ridge / 2 * sum(weight**2)`` on the mean loss of a pair, for
        features of unit variance. It bounds the weights where rankings can be separated.
    max_iter : int
        Not for "boost": maximum number of steps.
    tolerance : float
        Not for "boost": the slope of the mean loss at which to stop.
    n_rounds : int
        For "boost": number of updates.

    Notes
    -----
    A whole weight is as good as copies of its row, but for rounding. Features must not be missing.
    Of n_columns, as many as the ``basis`` makes, fit costs O(n_samples (n_columns n_labels +
    n_pairs)) per step, or with "newton" O(n_samples n_pairs n_columns^2 + (n_columns n_labels)^3),
    and takes no random numbers; predict O(n_columns n_labels) per row.

    Examples
    --------
    >>> from lrrf_jax.learners import LogLinearLabelRanker
    >>> ranker = LogLinearLabelRanker()
    >>> ranker = ranker.fit([[0.0], [1], [2], [3]], [[1, 2], [1, 2], [2, 1], [2, 1]])
    >>> ranker.predict([[0.5], [2.5]]).tolist()
    [[1, 2], [2, 1]]
    """

    name = "ll"

    solver: str = "lbfgs"
    ridge: float = 1e-6
    max_iter: int = 500
    tolerance: float = 1e-5
    n_rounds: int = 100

    def _check_settings(self, shape: TableShape) -> None:
        super()._check_settings(shape)
        require_choice(self.solver, "solver", SOLVERS)
        require_choice(self.fit_intercept, "fit_intercept", (True, False))
        require_number(self.ridge, "ridge")
        require_integer(self.max_iter, "max_iter", 1)
        require_number(self.tolerance, "tolerance")
        require_integer(self.n_rounds, "n_rounds", 1)

    def _fit(self, key: Any, table: TrainingTable) -> tuple[AnyParams, PlainConfig]:
        params, n_iter = fit_ll(
            table,
            basis=self.basis,
            solver=self.solver,
            fit_intercept=bool(self.fit_intercept),
            ridge=self.ridge,
            max_iter=self.max_iter,
            tolerance=self.tolerance,
            n_rounds=self.n_rounds,
        )
        self.n_iter_: int = n_iter
        return params, PlainConfig(table.positions.shape[1])

    def _preferences(self, features: NDArray) -> NDArray:
        return utility_preferences(self._map_rows(False, features))
