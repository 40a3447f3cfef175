"""MLP: utilities of the labels by a few small multilayer perceptrons, learnt from pairs.

The loss of a known pair is that of Bradley and Terry (Biometrika 39, 1952), with utilities that a
network computes, as in Burges et al., "Learning to rank using gradient descent", ICML 2005.
Networks that start from other weights and hold out other rows are averaged: Lakshminarayanan,
Pritzel, Blundell, "Simple and scalable predictive uncertainty estimation using deep ensembles",
NIPS 2017. Weights decay apart from the gradient: Loshchilov and Hutter, ICLR 2019.
"""

import functools
from typing import Annotated, Any, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._backend import by_platform
from lrrf_jax._programs import jit
from lrrf_jax._typing import AnyArray, Array, NDArray
from lrrf_jax._validation import require_integer, require_number
from lrrf_jax._xla import COMPILER_OPTIONS, bucket_size, take
from lrrf_jax.learners._table import TableShape, TrainingTable
from lrrf_jax.learners.base import LabelRanker
from lrrf_jax.learners.batching import map_tiles
from lrrf_jax.learners.linear.blocks import row_weights
from lrrf_jax.learners.linear.params import Scaling, scaled, scaling_of
from lrrf_jax.learners.linear.preferences import differences, utility_preferences
from lrrf_jax.learners.on_device import RowFunction
from lrrf_jax.learners.persistence.schema import Stored
from lrrf_jax.learners.persistence.stored import PlainConfig
from lrrf_jax.rankings.pairwise import pair_signs_on_host
from lrrf_jax.rankings.permutations import rank_scores

# Products of matrices would be summed in an order that threads decide.
FIT_OPTIONS = {**COMPILER_OPTIONS, "xla_cpu_multi_thread_eigen": False}
_EXACT = lax.Precision.HIGHEST
# Features and what hidden layers put out are cut off here, and rounded: see `exact_product`.
FARTHEST_INPUT, HIGHEST = 16.0, 8.0
COARSE_AND_FINE = 2.0**-5, 2.0**-13
_MOST_UNITS = 2**15  # that the weights of an output may sum to
_HELD_OUT = 8  # one row in so many tells which epoch was the best
_MIN_STEPS, _MIN_EPOCHS = 2000, 20
_LARGEST = float(np.finfo(np.float32).max)
_MIN_SCALE = float(np.finfo(np.float32).tiny)


class Layer(NamedTuple):
    """Linear functions of the outputs of the layer before, for each network."""

    weight: AnyArray  # float32 (n_networks, n_inputs, n_outputs)
    intercept: AnyArray  # float32 (n_networks, n_outputs)


class PerceptronParams(NamedTuple):
    """Scaling of features, and the layers of all networks; rounded, see `rounded`."""

    centre: Annotated[AnyArray, Stored("float32", "n_features")]
    scale: Annotated[AnyArray, Stored("float32", "n_features", minimum=_MIN_SCALE)]
    weight_1: Annotated[AnyArray, Stored("float32", "n_networks", "n_features", "n_hidden")]
    intercept_1: Annotated[AnyArray, Stored("float32", "n_networks", "n_hidden")]
    weight_2: Annotated[AnyArray, Stored("float32", "n_networks", "n_hidden", "n_hidden")]
    intercept_2: Annotated[AnyArray, Stored("float32", "n_networks", "n_hidden")]
    weight_3: Annotated[AnyArray, Stored("float32", "n_networks", "n_hidden", "n_outputs")]
    intercept_3: Annotated[AnyArray, Stored("float32", "n_outputs")]


def bent(values: Array) -> Array:
    """Bend what a hidden layer puts out: nothing below 0, at most 8."""
    return jnp.clip(values, 0, HIGHEST)


def bounded(scaling: Scaling | PerceptronParams, features: Array | NDArray) -> Array:
    """Scale features, and cut them off 16 spreads from the mean."""
    scaling = Scaling(scaling.centre, scaling.scale)
    return jnp.clip(scaled(scaling, features), -FARTHEST_INPUT, FARTHEST_INPUT)


# ------------------------------------------------------------------------------------- predict
def exact_product(
    inputs: Array,  # float32, as `spec` says, of -16 .. 16
    weight: Array,  # float32, `rounded`
    spec: str,
) -> Array:
    """Multiply matrices to the same bits in whatever order sums are made.

    A matrix product chooses its order by the number of rows and by the machine. Here no order
    rounds: inputs are multiples of 2**-13, cut into coarse and fine parts of 9 bits, and the
    weights of an output are so many bits wide as leave room for their sum.
    """
    upper, lower = COARSE_AND_FINE
    inputs = jnp.round(inputs / lower) * lower
    coarse = jnp.floor(inputs / upper) * upper
    return jnp.einsum(spec, coarse, weight, precision=_EXACT) + jnp.einsum(
        spec, inputs - coarse, weight, precision=_EXACT
    )


def rounded(weight: NDArray, axes: tuple[int, ...]) -> NDArray:  # float32, weight.shape
    """Round the weights of each output to multiples of a power of two.

    ``axes`` are those of the inputs. The unit is so large that the weights of an output sum to at
    most 2**15 units, and half a unit for each input besides.
    """
    total = np.abs(weight.astype(np.float64)).sum(axes, keepdims=True)
    unit = 2.0 ** np.ceil(np.log2(np.where(total > 0, total, 1) / _MOST_UNITS))
    return np.asarray(np.round(weight / unit) * unit, np.float32)


def perceptron_utilities(params: PerceptronParams, features: Array) -> Array:
    """Average the utilities of the networks; float32 (n_samples, n_labels)."""
    chex.assert_type([features, *params], jnp.float32)
    chex.assert_shape([features], [(None, params.weight_1.shape[1])])
    hidden = exact_product(bounded(params, features), params.weight_1, "rf,nfh->nrh")
    hidden = exact_product(
        bent(hidden + params.intercept_1[:, None]), params.weight_2, "nrg,ngh->nrh"
    )
    utility = exact_product(
        bent(hidden + params.intercept_2[:, None]), params.weight_3, "nrh,nhl->rl"
    )
    return utility + params.intercept_3


@functools.partial(jit, static_argnames="of_ranks", compiler_options=COMPILER_OPTIONS)
def perceptron_rows(
    params: PerceptronParams,
    features: Array,  # float32 (n_samples, n_features)
    *,
    of_ranks: bool,
) -> Array:  # int32 or float32 (n_samples, n_labels)
    """Rank the labels of each row by their utilities, or give the utilities."""

    def rows(block: Array) -> Array:
        utility = perceptron_utilities(params, block)
        return rank_scores(utility) if of_ranks else utility

    return by_platform(
        features,
        cpu=functools.partial(map_tiles, rows),
        accelerator=functools.partial(map_tiles, rows, tile=2**17),
    )


# ----------------------------------------------------------------------------------------- fit
class _Best(NamedTuple):
    """What was best on the rows held out."""

    layers: tuple[Layer, ...]
    loss: Array  # float32 ()


def _starting_layers(key: Array, sizes: tuple[int, ...]) -> tuple[Layer, ...]:
    """Draw weights that keep the variance of what is bent at 0 (He et al. 2015)."""
    layers = []
    for number, (n_inputs, n_outputs) in enumerate(zip(sizes[:-1], sizes[1:], strict=True)):
        draw = jax.random.normal(jax.random.fold_in(key, number), (n_inputs, n_outputs))
        spread = np.sqrt((1 if number == 0 else 2) / n_inputs)
        layers.append(Layer(draw * np.float32(spread), jnp.zeros(n_outputs)))
    return tuple(layers)


def _utilities(layers: tuple[Layer, ...], columns: Array) -> Array:
    values = columns
    for number, layer in enumerate(layers):
        values = bent(values) if number else values
        values = jnp.matmul(values, layer.weight, precision=_EXACT) + layer.intercept
    return values


def _pair_losses(layers: tuple[Layer, ...], columns: Array, sign: Array, weight: Array) -> Array:
    """Sum the losses of the known pairs of some rows."""
    utility = _utilities(layers, columns)
    toward = sign.astype(jnp.float32)
    contrast = differences(utility.shape[1])
    margin = toward * jnp.matmul(utility, contrast, precision=_EXACT)
    return jnp.sum(weight[:, None] * jnp.abs(toward) * jax.nn.softplus(-margin))


@functools.partial(jit, static_argnames=("n_hidden", "batch"), compiler_options=FIT_OPTIONS)
def fit_networks(
    keys: Array,  # (n_networks,)
    columns: Array,  # float32 (n_padded, n_features), bounded
    sign: Array,  # int8 (n_padded, n_pairs): which label is first; 0: unknown
    row_weight: Array,  # float32 (n_padded,)
    start: Array,  # float32 (n_labels,): intercepts to begin with
    n_rows: Array,  # int32 (), padding follows
    n_epochs: Array,  # int32 ()
    learning_rate: Array,  # float32 ()
    weight_decay: Array,  # float32 ()
    *,
    n_hidden: int,
    batch: int,
) -> tuple[Layer, ...]:  # each of (n_networks, ...)
    """Fit networks, each to all rows but an eighth, and keep the epoch that is best on these."""
    import optax  # here, so that forests do without it

    n_padded, n_features = columns.shape
    chex.assert_shape([sign, row_weight], [(n_padded, None), (n_padded,)])
    chex.assert_type([columns, sign, row_weight], [jnp.float32, jnp.int8, jnp.float32])
    chex.assert_rank([n_rows, n_epochs, learning_rate, weight_decay], 0)
    n_labels = len(start)
    n_held = n_rows // _HELD_OUT
    n_seen = n_rows - n_held
    n_batches = (n_seen + (batch - 1)) // batch
    n_steps = (n_batches * n_epochs).astype(jnp.float32)
    n_known = jnp.sum(row_weight[:, None] * jnp.abs(sign).astype(jnp.float32))
    share = n_rows.astype(jnp.float32) / (n_known * batch)
    row = jnp.arange(n_padded, dtype=jnp.int32)
    place = jnp.arange(batch, dtype=jnp.int32)

    def rate(count: Array) -> Array:
        return learning_rate * 0.5 * (1 + jnp.cos(np.pi * count.astype(jnp.float32) / n_steps))

    def mask(layers: Any) -> Any:
        return jax.tree.map(lambda leaf: leaf.ndim == 2, layers)

    optimiser = optax.adamw(rate, weight_decay=weight_decay, mask=mask)

    def shuffled(key: Array, among: Array) -> Array:
        """Put the rows that are ``among`` in random order, and behind them all others."""
        words = jax.random.bits(key, (n_padded,)) >> 1
        return jnp.argsort(jnp.where(among, words, jnp.uint32(2**32 - 1))).astype(jnp.int32)

    def fit_one(key: Array) -> tuple[Layer, ...]:
        order = shuffled(jax.random.fold_in(key, 0), row < n_rows)
        held = order[: -(-n_padded // _HELD_OUT)]
        held_weight = jnp.where(row[: len(held)] < n_held, row_weight[held], 0)
        is_held = jnp.zeros(n_padded, bool).at[held].set(row[: len(held)] < n_held)
        held_table = columns[held], sign[held], held_weight
        layers = _starting_layers(
            jax.random.fold_in(key, 1), (n_features, n_hidden, n_hidden, n_labels)
        )
        layers = (*layers[:-1], Layer(layers[-1].weight * 0.1, start))

        def epoch(number: Array, state: Any) -> Any:
            order = shuffled(jax.random.fold_in(key, number + 2), (row < n_rows) & ~is_held)

            def step(at: Array, now: Any) -> Any:
                layers, moments = now
                chosen = take(order, (at * batch + place) % n_seen)
                table = take(columns, chosen), take(sign, chosen), take(row_weight, chosen)
                pull = jax.grad(lambda layers: share * _pair_losses(layers, *table))(layers)
                with jax.numpy_dtype_promotion("standard"):  # optax raises a float to a count
                    updates, moments = optimiser.update(pull, moments, layers)
                return optax.apply_updates(layers, updates), moments

            layers, moments, best = state
            layers, moments = lax.fori_loop(0, n_batches, step, (layers, moments))
            loss = _pair_losses(layers, *held_table)
            better = loss <= best.loss  # without rows held out, the last epoch
            best = jax.tree.map(
                lambda new, old: jnp.where(better, new, old), _Best(layers, loss), best
            )
            return layers, moments, best

        begin = _Best(layers, jnp.full((), jnp.inf, jnp.float32))
        state = layers, optimiser.init(layers), begin
        best: _Best = lax.fori_loop(jnp.int32(0), n_epochs, epoch, state)[2]
        return best.layers

    return jax.vmap(fit_one)(keys)


def _batch_rows(n_padded: int) -> int:
    """Rows of a step, by a size that similar tables share: 32 to 256."""
    return 1 << int(np.clip((n_padded // 16).bit_length() - 1, 5, 8))


def fit_mlp(
    key: Array,
    table: TrainingTable,
    *,
    n_networks: int,
    n_hidden: int,
    learning_rate: float,
    weight_decay: float,
    epochs: int | None,
) -> PerceptronParams:
    """Fit the networks, and round them."""
    scaling = scaling_of(table.features, table.weight, centred=True)
    order = table.label_order
    n_rows = len(table.features)
    spare = ((0, bucket_size(n_rows) - n_rows), (0, 0))
    columns = bounded(scaling, np.pad(table.features, spare))
    sign = np.pad(pair_signs_on_host(table.positions[:, order]), spare)
    weight = np.pad(row_weights(table), spare[0])
    batch = _batch_rows(len(columns))
    if epochs is None:
        n_batches = -(-(n_rows - n_rows // _HELD_OUT) // batch)
        epochs = max(_MIN_EPOCHS, -(-_MIN_STEPS // n_batches))
    layers = fit_networks(
        jax.random.split(key, n_networks),
        columns,
        sign,
        weight,
        np.zeros(len(order), np.float32),
        np.int32(n_rows),
        np.int32(epochs),
        np.float32(learning_rate),
        np.float32(weight_decay),
        n_hidden=n_hidden,
        batch=batch,
    )
    back = np.argsort(order)
    first, second, last = jax.tree.map(np.asarray, layers)
    return PerceptronParams(
        *scaling,
        rounded(first.weight, (1,)),
        first.intercept,
        rounded(second.weight, (1,)),
        second.intercept,
        rounded(last.weight[..., back] / n_networks, (0, 1)),
        last.intercept.astype(np.float64).mean(0)[back].astype(np.float32),
    )


class PerceptronLabelRanker(LabelRanker):
    """Utilities of the labels by small multilayer perceptrons, learnt from pairs.

    Each network has two hidden layers and a utility for each label, and labels are ranked by the
    mean over the networks. Training minimises the sum of ``log(1 + exp(utility of the worse -
    utility of the better))`` over all pairs of ranked labels, Bradley and Terry's model.

    Parameters
    ----------
    n_networks : int
        Networks, which start from other weights.
    n_hidden : int
        Units of each of the two hidden layers.
    epochs : int or None
        Passes over the rows. None: enough for 2,000 steps, and at least 20.
    learning_rate : float
        Of Adam at the start, from where it falls to 0 as a cosine does.
    weight_decay : float
        Share of the weights that a step takes off them, times the learning rate.
    random_state : int, RandomState or None
        Decides the weights to start from, the rows held out and the order of the others. The same
        int gives the same bytes.

    Attributes
    ----------
    params_ : PerceptronParams

    Notes
    -----
    Each network holds out an eighth of the rows, which of them is drawn, and keeps the epoch after
    which their loss was least; of fewer than eight rows none is held out, and the last epoch
    counts. Features have unit variance, are cut off 16 spreads from their mean, and must not be
    missing. A tie is no pair, and a row of weight w, of weights of mean 1, counts w times in the
    loss when it is drawn, which is not the same as w copies. Weights and what layers put out are
    rounded to about four digits, so that a row gets the same bits in whatever company.

    Fit costs O(epochs n_samples n_networks n_hidden (n_features + n_hidden + n_labels)) and n_pairs
    besides, predict the same per row without epochs.

    Examples
    --------
    >>> from lrrf_jax.learners import PerceptronLabelRanker
    >>> ranker = PerceptronLabelRanker(n_hidden=16, random_state=0)
    >>> ranker = ranker.fit([[0.0], [1], [2], [3]], [[1, 2], [1, 2], [2, 1], [2, 1]])
    >>> ranker.predict([[0.5], [2.5]]).tolist()
    [[1, 2], [2, 1]]
    """

    name = "mlp"
    params_type = PerceptronParams
    accepts_missing_features = False

    n_networks: int = 4
    n_hidden: int = 64
    epochs: int | None = None
    learning_rate: float = 3e-3
    weight_decay: float = 0.3
    random_state: Any = None

    def _check_settings(self, shape: TableShape) -> None:
        require_integer(self.n_networks, "n_networks", 1)
        require_integer(self.n_hidden, "n_hidden", 1)
        if self.epochs is not None:
            require_integer(self.epochs, "epochs", 1)
        require_number(self.learning_rate, "learning_rate")
        require_number(self.weight_decay, "weight_decay")

    def _fit(self, key: Any, table: TrainingTable) -> tuple[PerceptronParams, PlainConfig]:
        params = fit_mlp(
            key,
            table,
            n_networks=int(self.n_networks),
            n_hidden=int(self.n_hidden),
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            epochs=None if self.epochs is None else int(self.epochs),
        )
        return params, PlainConfig(table.positions.shape[1])

    def _row_bytes(self) -> int:
        n_networks, n_hidden = self.params_.intercept_1.shape
        return 24 * n_networks * n_hidden

    def _row_function(self, of_ranks: bool) -> RowFunction:
        return RowFunction.of(perceptron_rows, marks_unknown=True, of_ranks=of_ranks)

    def _ranks(self, features: NDArray) -> jax.Array:
        return perceptron_rows(self.params_, features, of_ranks=True)

    def _scores(self, features: NDArray) -> jax.Array:
        return perceptron_rows(self.params_, features, of_ranks=False)

    def _preferences(self, features: NDArray) -> NDArray:
        return utility_preferences(self._map_rows(False, features))

    def _check_params(self, params: PerceptronParams) -> str | None:
        for weight, intercept in (params[2:4], params[4:6], params[6:8]):
            reach = FARTHEST_INPUT * float(np.abs(weight).max()) * weight[..., 0].size
            if reach + float(np.abs(intercept).max()) > _LARGEST / 4:
                return "weights are so large that a score could be infinite"
        return None
