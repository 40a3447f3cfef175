"""Boosts trees on the Bradley-Terry loss, as often as rows held out tell."""

import concurrent.futures
import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._backend import backend_of, by_platform
from lrrf_jax._devices import growing_devices
from lrrf_jax._jax_settings import our_settings
from lrrf_jax._numerics import product
from lrrf_jax._threads import thread_count
from lrrf_jax._threefry import derive_keys, key_of
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._xla import bucket_size
from lrrf_jax.learners._table import TrainingTable
from lrrf_jax.learners.batching import TILE
from lrrf_jax.learners.boosting.rounds import (
    UNIT,
    Boosted,
    NewtonGain,
    Progress,
    Rows,
    as_forest,
    boost,
)
from lrrf_jax.learners.forest.config import candidates_of, thresholds_of
from lrrf_jax.learners.forest.fit import ForestParams, importances_of
from lrrf_jax.learners.linear.blocks import row_weights
from lrrf_jax.trees.binning import bin_features, candidate_thresholds
from lrrf_jax.trees.blocks import Grown, suited_to
from lrrf_jax.trees.draws import keys_of_trees
from lrrf_jax.trees.forest import node_levels
from lrrf_jax.trees.growth import GrowthConfig, Samples, Sizes
from lrrf_jax.trees.padding import share_program

_LEAST_ROWS = 10  # fewer are not held out
_MANY_ROWS = 5_000  # of which one part tells enough
_LEAST_PROBABILITY = 1e-7  # of a pair, in the loss
_FOLDS, _SHARE_OF_MANY = 5, 10


def bradley_terry(
    total: Array,  # int32 (n_samples, n_labels), utilities in units
    positions: Array,  # float32 (n_samples, n_labels), NaN: missing
    weight: Array,  # float32 (n_samples,)
    scale: Array,  # float32 ()
) -> tuple[Array, Array]:  # int32 (n_samples, 2 n_labels), float32 (n_samples,)
    """Sum slopes, curvatures and losses over the pairs of each ranking.

    Pairs are rounded before they are summed, so that no order of the labels is another result.
    Twice the diagonal of the curvature is above the whole of it, and is it for two labels.
    """
    n_labels = total.shape[1]

    def of_rows(n_used: Array | int, *rows: Array) -> tuple[Array, Array]:
        """Compare labels, of which those from ``n_used`` on are padding."""
        total, positions, share = rows
        utility, place, worth = total.T, positions.T, product(share, scale)

        def against(label: Array, sums: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            """Compare a label with those that it is before."""
            slope, curvature, lost = sums
            first = place[label] < place
            wrong = jax.nn.sigmoid((utility - utility[label]).astype(jnp.float32) * UNIT)
            pull = jnp.where(first, jnp.round(worth * wrong), 0).astype(jnp.int32)
            bend = jnp.where(first, jnp.round(worth * 2 * wrong * (1 - wrong)), 0)
            bend = bend.astype(jnp.int32)
            log_right = jnp.log(jnp.maximum(1 - wrong, _LEAST_PROBABILITY))
            return (
                (slope - pull).at[label].add(pull.sum(0)),
                (curvature + bend).at[label].add(bend.sum(0)),
                lost - jnp.where(first, log_right, 0).sum(0) * share,
            )

        nothing = jnp.zeros(utility.shape, jnp.int32)
        start = nothing, nothing, jnp.zeros(len(share), jnp.float32)
        slope, curvature, lost = lax.fori_loop(0, n_used, against, start)
        return jnp.concatenate([slope, curvature]).T, lost

    def in_tiles(*rows: Array) -> tuple[Array, Array]:
        """Take tiles that a cache holds, and leave out what is padding."""
        _, positions, weight = rows
        n_rows = len(weight)
        tile = TILE if n_rows % TILE == 0 else n_rows
        n_tiles = (jnp.count_nonzero(weight > 0) + tile - 1) // tile
        n_used = jnp.count_nonzero((positions == positions).any(0)).astype(jnp.int32)

        def of_tile(number: Array, sums: tuple[Array, Array]) -> tuple[Array, Array]:
            start = number * tile
            found = of_rows(n_used, *(lax.dynamic_slice_in_dim(a, start, tile) for a in rows))
            stat, lost = map(functools.partial(_put, start), sums, found)
            return stat, lost

        nothing = jnp.zeros((n_rows, 2 * n_labels), jnp.int32), jnp.zeros(n_rows, jnp.float32)
        sums: tuple[Array, Array] = lax.fori_loop(jnp.int32(0), n_tiles, of_tile, nothing)
        return sums

    # Accelerators would ask the host for the end of each loop.
    at_once = functools.partial(of_rows, n_labels)
    return by_platform(total, positions, weight, cpu=in_tiles, accelerator=at_once)


def _put(start: Array, sums: Array, found: Array) -> Array:
    """Write what was found of a tile to its place among all."""
    return lax.dynamic_update_slice_in_dim(sums, found, start, 0)


class _Table(NamedTuple):
    """A training table as all runs of a fit see it."""

    samples: Samples
    config: GrowthConfig
    target: NDArray  # float32 (n_rows, n_values), NaN: missing, padding
    weight: NDArray  # float32 (n_rows,), 0: padding
    scale: np.float32


def _padded_table(table: TrainingTable, ranker: Any, max_depth: int) -> _Table:
    """Bin the features, and pad all, so that tables of like sizes share a program."""
    (n_samples, n_features), n_labels = table.features.shape, table.positions.shape[1]
    thresholds = candidate_thresholds(table.features, thresholds_of(ranker.max_bins, n_samples))
    n_candidates = candidates_of(ranker.max_features, n_features)
    weight = row_weights(table)
    # Slopes and curvatures of all rows, at most n_labels - 1 each, sum to less than 2**30.
    total_weight = float(weight.sum(dtype=np.float64))
    bits = math.floor(math.log2(2**30 / (bucket_size(math.ceil(total_weight)) * n_labels)))
    scale = 2.0 ** min(20, bits)
    leaf = min(int(ranker.min_samples_leaf), n_samples)
    sizes = n_samples, n_features, n_candidates, thresholds.shape[1], 1, leaf
    samples = Samples(
        bin_index=bin_features(table.features, thresholds),
        stat=np.zeros((n_samples, 2 * n_labels), np.int32),
        leaf_stat=np.zeros((n_samples, 1), np.int32),
        weight=np.ones(n_samples, np.int32),
        thresholds=thresholds,
        sizes=Sizes(*map(np.int32, sizes)),
    )
    config = GrowthConfig(
        criterion=NewtonGain(n_labels, masked=True, ridge=float(ranker.ridge) * scale),
        max_depth=max_depth,
        n_candidates=n_candidates,
        n_features=n_features,
        n_bins=thresholds.shape[1] + 1,
        has_missing=bool(np.isnan(table.features).any()),
        bootstrap=False,
    )
    backend = backend_of(growing_devices())
    samples, config = share_program(samples, suited_to(backend, config), backend)
    n_rows, n_values = len(samples.weight), samples.stat.shape[1] // 2
    target = np.full((n_rows, n_values), np.nan, np.float32)
    target[:n_samples, :n_labels] = table.positions[:, table.label_order]
    return _Table(
        samples, config, target, np.pad(weight, (0, n_rows - n_samples)), np.float32(scale)
    )


def fit_boost(
    key: jax.Array, table: TrainingTable, ranker: Any
) -> tuple[ForestParams, NDArray | None]:  # float64 (n_rounds + 1,), losses held out
    """Find the number of rounds on rows held out, and boost so often on all rows."""
    padded = _padded_table(table, ranker, int(ranker.max_depth))
    n_samples, most = len(table.features), int(ranker.n_estimators)
    room = bucket_size(most, per_octave=1)
    keys = keys_of_trees(key, np.arange(room, dtype=np.int32))
    keys, samples, target, weight = jax.device_put(
        (keys, padded.samples, padded.target, padded.weight), growing_devices()[0]
    )
    rate, subsample = np.float32(ranker.learning_rate), np.float32(ranker.subsample)

    def run(held: NDArray | None, n_rounds: int, patience: int) -> Boosted:
        learns = np.ones(len(padded.weight), bool)
        if held is not None:
            learns[held] = False
        progress = Progress(rate, subsample, np.int32(n_rounds), np.int32(patience))
        with our_settings():  # which threads do not inherit
            rows = Rows(target, weight, learns, padded.scale)
            boosted = boost(keys, samples, rows, progress, config=padded.config, loss=bradley_terry)
            return Boosted(*jax.device_get(boosted))

    losses, n_rounds = None, most
    if ranker.n_iter_no_change is not None and n_samples >= _LEAST_ROWS:
        stop = functools.partial(run, n_rounds=most, patience=int(ranker.n_iter_no_change))
        losses = _losses_held_out(stop, _parts(key, n_samples))
        n_rounds = max(1, int(np.argmin(losses)))
    boosted = run(None, n_rounds, most)
    forest = as_forest(boosted, n_rounds)
    gain = node_levels(boosted.gain[:n_rounds], forest.depth, 0)
    importances = importances_of(Grown(forest, gain), table.features.shape[1])
    values = forest.leaf_value[:, np.argsort(table.label_order)]
    return ForestParams(
        forest._replace(leaf_value=np.ascontiguousarray(values)), importances
    ), losses


def _parts(key: jax.Array, n_samples: int) -> list[NDArray]:
    """Draw the rows to hold out: each fold in turn, or a tenth of many rows."""
    order = np.argsort(derive_keys(key_of(key), np.arange(n_samples))[:, 0], kind="stable")
    if n_samples > _MANY_ROWS:
        return [order[: n_samples // _SHARE_OF_MANY]]
    return np.array_split(order, _FOLDS)


def _losses_held_out(stop: Any, parts: list[NDArray]) -> NDArray:
    """Sum the losses of rows held out; where a run had stopped, it keeps its last loss."""
    runs = [stop(parts[0])]  # alone, so that its program is compiled once
    with concurrent.futures.ThreadPoolExecutor(thread_count()) as pool:
        runs += pool.map(stop, parts[1:])
    longest = max(int(run.n_rounds) for run in runs)
    total = np.zeros(longest)
    for run in runs:
        losses = run.held_out[: int(run.n_rounds)].astype(np.float64)
        total += np.pad(losses, (0, longest - len(losses)), mode="edge")
    return total
