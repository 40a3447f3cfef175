"""Fits perceptrons: all networks at once, whose best epochs rows held out tell."""

import functools
from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._programs import jit
from lrrf_jax._typing import AnyArray, Array
from lrrf_jax._xla import COMPILER_OPTIONS, bucket_size, take
from lrrf_jax.learners._table import TrainingTable
from lrrf_jax.learners.linear.blocks import row_weights
from lrrf_jax.learners.linear.params import Scaling, scaling_of
from lrrf_jax.learners.linear.preferences import differences
from lrrf_jax.learners.neural.predict import EXACT, PerceptronParams, bent, bounded, rounded
from lrrf_jax.rankings.pairwise import pair_signs_on_host

# Products of matrices would be summed in an order that threads decide.
FIT_OPTIONS = {**COMPILER_OPTIONS, "xla_cpu_multi_thread_eigen": False}
_HELD_OUT = 8  # one row in so many tells which epoch was the best
_MIN_STEPS, _MIN_EPOCHS = 2000, 20


class Layer(NamedTuple):
    """Linear functions of the outputs of the layer before, for each network."""

    weight: AnyArray  # float32 (n_networks, n_inputs, n_outputs)
    intercept: AnyArray  # float32 (n_networks, n_outputs)


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
        values = jnp.matmul(values, layer.weight, precision=EXACT) + layer.intercept
    return values


def _pair_losses(layers: tuple[Layer, ...], columns: Array, sign: Array, weight: Array) -> Array:
    """Sum the losses of the known pairs of some rows."""
    utility = _utilities(layers, columns)
    toward = sign.astype(jnp.float32)
    contrast = differences(utility.shape[1])
    margin = toward * jnp.matmul(utility, contrast, precision=EXACT)
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
    assert isinstance(scaling, Scaling)  # for a basis makes another
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
