"""CC: constraint classification, one linear utility per label, learnt by a perceptron.

Har-Peled, Roth, Zimak, "Constraint classification for multiclass classification and ranking",
NIPS 2002. A pair (a before b) of a row x is the constraint (w_a - w_b) x > 0. The bound on the
mistakes of a pair against noise: Khardon and Wachman, "Noise tolerant variants of the perceptron
algorithm", JMLR 8, 2007; alpha = 500 as in Huellermeier et al. 2008.
"""

import functools
from typing import Annotated, Any, ClassVar, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._devices import on_host
from lrrf_jax._programs import jit
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._validation import require_choice, require_integer
from lrrf_jax._xla import COMPILER_OPTIONS, take
from lrrf_jax.learners._table import TableShape, TrainingTable
from lrrf_jax.learners.linear.blocks import in_blocks, row_weights
from lrrf_jax.learners.linear.params import AnyParams, design, params_of, scaled, scaling_of
from lrrf_jax.learners.linear.ranker import UtilityLabelRanker
from lrrf_jax.learners.persistence.schema import Range
from lrrf_jax.learners.persistence.stored import PlainConfig

_MAX_EPOCHS = 2**15 - 1  # mistakes of a pair are counted in int16


def rounds_of_pairs(n_labels: int) -> NDArray:  # int32 (n_rounds, n_labels)
    """Schedule all pairs of labels as a round-robin tournament: each label's partner in each round.

    The pairs of a round share no label, so a perceptron that sees them one after another, and
    one that sees them at once, make the same steps. A label without a partner has itself.

    >>> rounds_of_pairs(4).tolist()
    [[3, 2, 1, 0], [1, 0, 3, 2], [2, 3, 0, 1]]
    """
    size = n_labels + n_labels % 2
    circle = np.arange(size - 1)
    partner = np.empty((size - 1, size), np.int32)
    for shift in range(size - 1):  # the classic circle method: label size - 1 stays in its place
        partner[shift, :-1] = (shift - circle) % (size - 1)
        alone = np.flatnonzero(partner[shift, :-1] == circle)[0]
        partner[shift, alone], partner[shift, -1] = size - 1, alone
    if n_labels < size:
        partner = partner[:, :-1]
        partner = np.where(partner == n_labels, np.arange(n_labels, dtype=np.int32), partner)
    return partner


@functools.partial(jit, static_argnames="pairs")
def constraints(
    positions: Array,  # float32 (..., n_labels), NaN: missing; equal: order unknown
    *,
    pairs: str,
) -> Array:  # int8 (..., n_rounds, n_labels)
    """Tell for each round which comes first, a label (+1) or its partner (-1); 0: no constraint.

    "adjacent" keeps the pairs with no ranked label between them, which imply the others.
    """
    chex.assert_type(positions, jnp.float32)
    partner = rounds_of_pairs(positions.shape[-1])
    mine, other = positions[..., None, :], positions[..., partner]
    sign = (mine < other).astype(jnp.int8) - (mine > other).astype(jnp.int8)
    if pairs == "all":
        return sign
    low, high = jnp.minimum(mine, other)[..., None], jnp.maximum(mine, other)[..., None]
    third = positions[..., None, None, :]
    between = jnp.any((low < third) & (third < high), axis=-1)
    return jnp.where(between, jnp.zeros_like(sign), sign)


_Carry = tuple[Array, Array, Array, Array]  # weight, sum of weights, mistakes, n_wrong


class _Descent(NamedTuple):
    """The perceptron between two epochs."""

    weight: Array  # float32 (n_labels, n_columns)
    mean: Array  # float32 (n_labels, n_columns), over the pairs seen so far
    mistakes: Array  # int16 (n_samples, n_rounds, n_labels), or empty where none can reach alpha
    n_epochs: Array  # int32 ()
    n_wrong: Array  # int32 (), mistakes in the last epoch


@functools.partial(jit, static_argnames="bounded", compiler_options=COMPILER_OPTIONS)
def fit_perceptron(
    key: Array,
    columns: Array,  # float32 (n_samples, n_columns)
    sign: Array,  # int8 (n_samples, n_rounds, n_labels)
    row_weight: Array,  # float32 (n_samples,), 0: padding
    epochs: Array,  # int32 ()
    alpha: Array,  # int16 ()
    *,
    bounded: bool,
) -> _Descent:
    """Show all rows, shuffled, again and again, until no pair is out of order.

    A row's weights change by multiples of the row, so within a row the pairs are seen one after
    another in terms of the utilities alone, O(n_columns n_labels + n_pairs) per row.
    """
    n_rows, n_rounds, n_labels = sign.shape
    chex.assert_shape([columns, row_weight], [(n_rows, None), (n_rows,)])
    chex.assert_rank([epochs, alpha], 0)
    chex.assert_type([columns, sign, row_weight], [jnp.float32, jnp.int8, jnp.float32])
    chex.assert_type([epochs, alpha], [jnp.int32, jnp.int16])
    partner = jnp.asarray(rounds_of_pairs(n_labels))
    reach = jnp.sum(columns * columns, axis=1) * row_weight  # what a step adds to a utility
    half = jnp.float32(0.5)  # every pair is met from both of its ends
    per_round = jnp.sum(jnp.abs(sign).astype(jnp.float32), axis=2) * half
    seen = jnp.sum(jnp.sum(per_round, axis=1) * row_weight)

    def see_row(carry: _Carry, row: Array) -> tuple[_Carry, None]:
        weight, total, mistakes, n_wrong = carry
        x, toward, step = take(columns, row), take(sign, row), take(reach, row)
        counts, share = take(per_round, row), take(row_weight, row)
        met = take(mistakes, row) if bounded else jnp.zeros((), jnp.int16)

        def see_round(k: Array, state: tuple[Array, ...]) -> tuple[Array, ...]:
            utility, change, area, met, n_wrong = state
            side = take(toward, k).astype(jnp.float32)
            lead = side * (utility - take(utility, take(partner, k)))
            wrong = (side != 0) & (lead <= 0)
            if bounded:
                wrong &= take(met, k) < alpha
                met = met.at[k].add(wrong.astype(jnp.int16))
            move = jnp.where(wrong, side, jnp.float32(0))
            change = change + move
            area = area + take(counts, k) * change
            return (
                utility + move * step,
                change,
                area,
                met,
                n_wrong + jnp.sum(wrong, dtype=jnp.int32),
            )

        utility = jnp.sum(weight * x, axis=1)
        zero = jnp.zeros(n_labels, jnp.float32)
        utility, change, area, met, n_wrong = lax.fori_loop(
            0, n_rounds, see_round, (utility, zero, zero, met, n_wrong)
        )
        known = jnp.sum(counts)
        total = total + share * (known * weight + (share * area)[:, None] * x)
        weight = weight + (share * change)[:, None] * x
        if bounded:
            mistakes = mistakes.at[row].set(met)
        return (weight, total, mistakes, n_wrong), None

    def epoch(now: _Descent) -> _Descent:
        order = jax.random.permutation(jax.random.fold_in(key, now.n_epochs), n_rows)
        start = (now.weight, jnp.zeros_like(now.weight), now.mistakes, jnp.zeros((), jnp.int32))
        (weight, total, mistakes, n_wrong), _ = lax.scan(see_row, start, order)
        n_epochs = now.n_epochs + 1
        # Epochs are averaged one by one: a single sum over all of them would lose bits.
        mean = now.mean + (total / seen - now.mean) / n_epochs.astype(jnp.float32)
        return _Descent(weight, mean, mistakes, n_epochs, n_wrong // 2)

    def goes_on(now: _Descent) -> Array:
        return (now.n_epochs < epochs) & (now.n_wrong > 0)

    zeros = jnp.zeros((n_labels, columns.shape[1]), jnp.float32)
    mistakes = jnp.zeros(sign.shape if bounded else (0,), jnp.int16)
    one, nothing = jnp.ones((), jnp.int32), jnp.zeros((), jnp.int32)
    return lax.while_loop(goes_on, epoch, _Descent(zeros, zeros, mistakes, nothing, one))


def fit_cc(
    key: Array,
    table: TrainingTable,
    *,
    epochs: int,
    alpha: int,
    average: bool,
    pairs: str,
    fit_intercept: bool,
    max_pairs: int,
) -> tuple[AnyParams, int, int]:
    """Fit the utilities; returns them, the number of epochs and the mistakes in the last."""
    scaling = scaling_of(table.features, table.weight, centred=fit_intercept)
    order = table.label_order
    rankings = table.positions[:, order]
    blocks = in_blocks(table.features, rankings, row_weights(table), numbers=1)
    features, positions, row_weight = (block.reshape(-1, *block.shape[2:]) for block in blocks)
    columns = design(scaling, features) if fit_intercept else scaled(scaling, features)
    sign = constraints(positions, pairs=pairs)
    n_pairs = int(np.abs(np.asarray(sign)).sum(dtype=np.int64)) // 2
    epochs = max(1, min(epochs, max_pairs // max(n_pairs, 1)))
    end = fit_perceptron(
        key,
        columns,
        sign,
        row_weight,
        np.int32(epochs),
        np.int16(min(alpha, _MAX_EPOCHS)),
        bounded=epochs > alpha,  # a pair makes at most one mistake per epoch
    )
    models = np.asarray(end.mean if average else end.weight)[np.argsort(order)].T
    return params_of(scaling, models), int(end.n_epochs), int(end.n_wrong)


class ConstraintClassificationLabelRanker(UtilityLabelRanker):
    """Constraint classification (CC), Har-Peled, Roth and Zimak 2002, by a perceptron.

    Each label has a linear utility, and labels are ranked by it. Rows are shown in random order;
    for each pair of labels that a row ranks and the utilities order wrongly, the row is added to
    the weights of the better label and taken from those of the worse.

    Parameters
    ----------
    epochs : int
        Maximum number of passes over the rows; training ends after a pass without a mistake.
    alpha : int
        A pair of a row that was out of order ``alpha`` times is taken for noise, and left out from
        then on. A pair is met once per epoch, so this matters with more epochs than ``alpha``.
    average : bool
        Use the mean of the weights over all pairs shown, which varies far less than the last ones.
    pairs : {"all", "adjacent"}
        Constraints of a ranking: all its pairs, or those of neighbours, which imply the others.
    max_pairs : int
        Maximum number of pairs to show, for large tables: there are fewer epochs then, one at
        least. 2**26 pairs take less than a minute.
    random_state : int, RandomState or None
        Decides the order of the rows. The same int gives the same bytes.

    Attributes
    ----------
    n_mistakes_ : int
        Pairs out of order in the last epoch.

    Notes
    -----
    The pairs of a row are shown one after another, in the order of a round-robin tournament. A
    row of weight w, of weights of mean 1, moves the weights of the labels w times as far, and
    counts w times in their mean, which is close to, but not the same as, w copies. Features have
    unit variance, or unit mean square without an intercept, and must not be missing. Fit costs
    O(epochs n_samples (n_features n_labels + n_labels^2)), predict O(n_features n_labels) per row.

    Examples
    --------
    >>> from lrrf_jax.learners import ConstraintClassificationLabelRanker
    >>> ranker = ConstraintClassificationLabelRanker(random_state=0)
    >>> ranker = ranker.fit([[0.0], [1], [2], [3]], [[1, 2], [1, 2], [2, 1], [2, 1]])
    >>> ranker.predict([[0.5], [2.5]]).tolist(), ranker.n_mistakes_
    ([[1, 2], [2, 1]], 0)
    """

    name = "cc"

    epochs: int = 50
    alpha: int = 500
    average: bool = True
    pairs: str = "all"
    max_pairs: int = 2**26
    random_state: Any = None

    def _check_settings(self, shape: TableShape) -> None:
        require_integer(self.epochs, "epochs", 1)
        require_integer(self.alpha, "alpha", 1)
        require_choice(self.average, "average", (True, False))
        require_choice(self.pairs, "pairs", ("all", "adjacent"))
        require_choice(self.fit_intercept, "fit_intercept", (True, False))
        require_integer(self.max_pairs, "max_pairs", 1)

    def _fit(self, key: Any, table: TrainingTable) -> tuple[AnyParams, PlainConfig]:
        with on_host():  # row after row, and pair after pair
            params, n_iter, n_mistakes = fit_cc(
                key,
                table,
                epochs=int(self.epochs),
                alpha=int(self.alpha),
                average=bool(self.average),
                pairs=self.pairs,
                fit_intercept=bool(self.fit_intercept),
                max_pairs=int(self.max_pairs),
            )
        self.n_iter_: int = n_iter
        self.n_mistakes_: int = n_mistakes
        return params, PlainConfig(table.positions.shape[1])

    _extra_types: ClassVar[dict[str, Any]] = {
        "n_iter": Annotated[int, Range(1)],
        "n_mistakes": Annotated[int, Range(0)],
    }

    def _extra_header(self) -> dict[str, Any]:
        return super()._extra_header() | {"n_mistakes": self.n_mistakes_}

    def _restore_extra(self, extra: dict[str, Any]) -> None:
        super()._restore_extra(extra)
        self.n_mistakes_ = int(extra["n_mistakes"])
