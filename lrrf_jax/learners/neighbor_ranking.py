"""What learners that rank by near rankings share: parameters, weights, the choice of k."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._typing import AnyArray, Array, NDArray
from lrrf_jax._validation import InputError, require_choice, require_integer
from lrrf_jax._xla import bucket_size
from lrrf_jax.learners._table import TrainingTable
from lrrf_jax.learners.base import LabelRanker
from lrrf_jax.learners.neighbor_search import NeighborTable, nearest, neighbor_table
from lrrf_jax.learners.schema import OneOf, Range, Stored
from lrrf_jax.rankings.distances import kendall_tau
from lrrf_jax.rankings.permutations import n_ranked, places, rank_scores

CANDIDATES = (5, 10, 15, 20)  # Cheng, Hühn and Hüllermeier 2009
N_FOLDS = 10
MOST_HELD_OUT = 4096  # rows that tell the candidates apart: a standard error of .005 in tau
_WIDTHS = (5, 10, 20)  # numbers of neighbours up to these share a program
_MOST_NEIGHBORS = 2**31 - 1
WEIGHTS = ("uniform", "dudani", "distance")
MOST_PRIOR = float(np.finfo(np.float32).max)
_TINY = 2.0**-149
_PAIRS_AT_ONCE = 2**16
_FARTHEST = np.float32(1e15)
_TILE = 256  # rows whose neighbours' rankings are modelled at one time


class NeighborParams(NamedTuple):
    """The training rows, and what is known of all of them."""

    features: Annotated[AnyArray, Stored("float32", "n_samples", "n_features")]  # scaled
    # NaN: missing.
    positions: Annotated[AnyArray, Stored("float32", "n_samples", "n_labels", missing=True)]
    weight: Annotated[AnyArray, Stored("float32", "n_samples", least=_TINY)]  # of mean 1
    # Of all training rankings; larger is better.
    overall: Annotated[AnyArray, Stored("float32", "n_labels")]
    mean: Annotated[AnyArray, Stored("float32", "n_features")]  # taken off the features
    deviation: Annotated[AnyArray, Stored("float32", "n_features", least=_TINY)]  # divided by


@dataclasses.dataclass(frozen=True)
class NeighborConfig:
    """Settings of a fitted learner."""

    n_neighbors: Annotated[int, Range(1, _MOST_NEIGHBORS)]
    width: Annotated[int, Range(1)]  # neighbours that are searched for, as many or more
    weights: Annotated[str, OneOf(WEIGHTS)]
    scale: bool
    prior: Annotated[float, Range(0, MOST_PRIOR)] = 0.0


class Neighborhood(NamedTuple):
    """The rankings near some rows."""

    positions: Array  # float32 (n_queries, k, n_labels)
    weight: Array  # float32 (n_queries, k)
    overall: Array  # float32 (n_labels,), as in `NeighborParams`
    prior: Array  # float32 ()


# Models the rankings of each neighbourhood; float32 (n_queries, n_labels), larger is better.
Model = Callable[[Neighborhood], Array]


def neighbor_weights(
    distance: Array,  # float32 (n_queries, k), ascending; infinite: no row
    copies: Array,  # float32 (n_queries, k), weights of the rows in training
    reliability: Array,  # float32 (n_queries, k)
    *,
    k: Array | float,
    weights: str,
) -> Array:  # float32 (n_queries, k)
    """Weigh the neighbours of each row; the nearest ``k`` count, whatever they weigh.

    Where all weights come out as 0, the reliability alone counts, and else the copies.
    """
    number = jnp.arange(distance.shape[1], dtype=jnp.float32)
    used = jnp.where(jnp.isfinite(distance) & (number < k), copies, 0.0)
    nearest = distance[:, :1]
    near = jnp.where(used > 0, distance, nearest)
    if weights == "uniform":
        closeness = jnp.ones_like(distance)
    elif weights == "dudani":
        farthest = jnp.max(near, axis=1, keepdims=True)
        span = jnp.where(farthest > nearest, farthest - nearest, 1.0)
        closeness = jnp.where(farthest > nearest, (farthest - near) / span, 1.0)
    else:
        safe = jnp.where(near > 0, near, 1.0)
        closeness = jnp.where(nearest > 0, nearest / safe, jnp.where(near > 0, 0.0, 1.0))
    weight = used * closeness * reliability
    for fallback in (used * reliability, used):
        nothing = ~jnp.any(weight > 0, axis=1, keepdims=True)
        weight = jnp.where(nothing, fallback, weight)
    return weight


@functools.partial(jax.jit, static_argnames=("model", "weights", "by_share"))
def score_neighborhoods(
    positions: Array,  # float32 (n_samples, n_labels)
    weight: Array,  # float32 (n_samples,); rows from n_samples on count nothing
    overall: Array,  # float32 (n_labels,)
    row: Array,  # int32 (n_queries, width)
    distance: Array,  # float32 (n_queries, width)
    k: Array | float,  # float32 (), at most the width: one program does for any
    prior: Array | float,  # float32 ()
    *,
    model: Model,
    weights: str,
    by_share: bool,
) -> Array:  # float32 (n_queries, n_labels)
    """Model the rankings of the ``k`` nearest of the neighbours of each row.

    ``by_share``: a ranking counts by the share of labels that it ranks.
    """
    n_queries, width = row.shape
    tile = min(n_queries, _TILE)
    n_tiles = -(-n_queries // tile)
    reliability = jnp.ones(len(positions), jnp.float32)
    if by_share:
        reliability = n_ranked(positions).astype(jnp.float32) / positions.shape[1]

    def score(near: tuple[Array, Array]) -> Array:
        row, distance = near
        real = row < len(positions)
        at = jnp.where(real, row, 0)
        copies = jnp.where(real, weight[at], 0.0)
        weighed = neighbor_weights(distance, copies, reliability[at], k=k, weights=weights)
        return model(Neighborhood(positions[at], weighed, overall, jnp.asarray(prior, jnp.float32)))

    def tiled(field: Array) -> Array:
        field = jnp.pad(field, ((0, n_tiles * tile - n_queries), (0, 0)))
        return field.reshape(n_tiles, tile, width)

    scores = lax.map(score, (tiled(row), tiled(distance)))
    return scores.reshape(-1, positions.shape[1])[:n_queries]


def padded_rankings(
    params: NeighborParams,
) -> tuple[NDArray, NDArray]:  # float32 (n_padded, n_labels), float32 (n_padded,)
    """Fill the training rankings up, with weight 0, to a size that other tables share."""
    padding = bucket_size(len(params.positions)) - len(params.positions)
    return (
        np.pad(params.positions, ((0, padding), (0, 0)), constant_values=np.nan),
        np.pad(params.weight, (0, padding)),
    )


def choose_n_neighbors(
    key: Array, params: NeighborParams, config: NeighborConfig, model: Model, by_share: bool
) -> int:
    """Choose among `CANDIDATES` by the mean tau over the known pairs of held-out rows.

    The neighbours of a row are found once, for the largest candidate, among the rows of the other
    of ten folds; at most `MOST_HELD_OUT` rows, drawn at random, are held out. The smaller of equal
    candidates wins.
    """
    n_rows = len(params.features)
    if n_rows < 2:
        return CANDIDATES[0]
    generator = np.random.default_rng(int(jax.random.bits(key, (), jnp.uint32)))
    order = generator.permutation(n_rows)
    fold = np.empty(n_rows, np.int32)
    fold[order] = np.arange(n_rows) % min(N_FOLDS, n_rows)
    held_out = np.sort(order[:MOST_HELD_OUT])
    padding = bucket_size(len(held_out)) - len(held_out)
    rows = np.pad(held_out, (0, padding))
    k = max(CANDIDATES)
    table = neighbor_table(params.features, fold, room=k)
    found = nearest(table, params.features[rows], fold[rows], k=k)
    positions, weight = padded_rankings(params)
    mean_tau = []
    for candidate in CANDIDATES:
        scores = score_neighborhoods(
            positions,
            weight,
            params.overall,
            *found,
            float(candidate),
            config.prior,
            model=model,
            weights=config.weights,
            by_share=by_share,
        )
        ranks = np.asarray(rank_scores(scores))[: len(held_out)].astype(np.float32)
        tau = kendall_tau(params.positions[held_out], ranks)
        known = ~np.isnan(tau)
        mean_tau.append(
            np.average(tau[known].astype(np.float64), weights=params.weight[held_out][known])
        )
    return CANDIDATES[int(np.argmax(np.round(mean_tau, 9)))]


def scaled(features: NDArray, mean: NDArray, deviation: NDArray) -> NDArray:
    """Standardise features; none is so far away that the square of a distance is infinite."""
    with np.errstate(over="ignore"):
        return np.clip((features - mean) / deviation, -_FARTHEST, _FARTHEST)


def _width_for(n_neighbors: int) -> int:
    return next((width for width in _WIDTHS if width >= n_neighbors), n_neighbors)


class NeighborsLabelRanker(LabelRanker):
    """The shell of learners that model the rankings of the nearest training rows."""

    params_type = NeighborParams
    config_type = NeighborConfig
    accepts_missing_features = False
    by_share: ClassVar[bool]  # whether a ranking counts by the share of labels that it ranks

    n_neighbors: Any
    weights: Any
    scale: Any

    # ------------------------------------------------------------------ what a learner provides
    def _model(self) -> Model:
        raise NotImplementedError

    def _overall(self, table: TrainingTable) -> NDArray:  # float32 (n_labels,)
        """Sum up what all training rankings say of the labels, larger is better."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------- fit, predict
    def _settings(self) -> NeighborConfig:
        if self.n_neighbors != "auto":
            if isinstance(self.n_neighbors, str):
                raise InputError(
                    f"n_neighbors must be 'auto' or a whole number; it is {self.n_neighbors!r}."
                )
            require_integer(self.n_neighbors, "n_neighbors", 1, _MOST_NEIGHBORS)
        require_choice(self.weights, "weights", WEIGHTS)
        require_choice(self.scale, "scale", (False, True))
        n_neighbors = 0 if self.n_neighbors == "auto" else int(self.n_neighbors)
        width = _width_for(n_neighbors or max(CANDIDATES))
        return NeighborConfig(n_neighbors, width, self.weights, bool(self.scale))

    def _check_settings(self, n_features: int, n_labels: int) -> None:
        self._settings()

    def _fit(self, key: jax.Array, table: TrainingTable) -> tuple[NeighborParams, NeighborConfig]:
        config = self._settings()
        features = table.features
        weight = np.ones(len(features)) if table.weight is None else table.weight
        mean = np.zeros(features.shape[1], np.float32)
        deviation = np.ones(features.shape[1], np.float32)
        if config.scale:
            mean = np.average(features, axis=0, weights=weight).astype(np.float32)
            square = np.average(
                np.square(features - mean, dtype=np.float64), axis=0, weights=weight
            )
            deviation = np.where(square > 0, np.sqrt(square), 1).astype(np.float32)
        params = NeighborParams(
            scaled(features, mean, deviation) if config.scale else features,
            table.positions,
            weight.astype(np.float32),
            self._overall(table),
            mean,
            deviation,
        )
        if config.n_neighbors == 0:
            chosen = choose_n_neighbors(key, params, config, self._model(), self.by_share)
            config = dataclasses.replace(config, n_neighbors=chosen)
        return params, config

    @property
    def n_neighbors_(self) -> int:
        """The number of neighbours in use."""
        return self.config_.n_neighbors

    def _ready(self) -> tuple[NeighborTable, Any]:
        """Training rows as the programs want them, on the device."""
        held = self.__dict__.setdefault("_ready_params", [])
        if not held:
            params = self.params_
            table = neighbor_table(params.features, room=self._width())
            rankings = *padded_rankings(params), params.overall
            held.append(jax.device_put((table, rankings)))
        return held[0]

    def _set_fitted(self, params: Any, config: Any, labels: Any, feature_names: Any) -> None:
        super()._set_fitted(params, config, labels, feature_names)
        self._ready_params: list[tuple[NeighborTable, Any]] = []  # predict adds no attribute

    def _width(self) -> int:
        """Neighbours to search for: no more than there are rows, whatever was asked for."""
        return min(self.config_.width, max(*_WIDTHS, len(self.params_.features)))

    def _forget_derived(self) -> None:
        super()._forget_derived()
        self.__dict__.pop("_ready_params", None)

    def _scores(self, features: NDArray) -> jax.Array:
        config = self.config_
        table, rankings = self._ready()
        if config.scale:
            features = scaled(features, self.params_.mean, self.params_.deviation)
        found = nearest(table, features, k=self._width())
        return score_neighborhoods(
            *rankings,
            *found,
            float(config.n_neighbors),
            config.prior,
            model=self._model(),
            weights=config.weights,
            by_share=self.by_share,
        )

    def _ranks(self, features: NDArray) -> jax.Array:
        return rank_scores(self._scores(features))

    def _check_params(self, params: NeighborParams) -> str | None:
        if len(params.features) < 1:
            return "it holds no training rows"
        config = self.config_
        if config.width not in (_width_for(config.n_neighbors), _width_for(max(CANDIDATES))):
            return f"{config.n_neighbors} neighbours are never chosen from {config.width}"
        if config.width < config.n_neighbors:
            return f"{config.n_neighbors} neighbours are not found among {config.width}"
        n_rows = max(1, _PAIRS_AT_ONCE // params.positions.shape[1] ** 2)
        for start in range(0, len(params.positions), n_rows):
            if not _are_rankings(params.positions[start : start + n_rows]):
                return "its training rows hold what is no ranking"
        return None


def _are_rankings(positions: NDArray) -> bool:
    """Whether rows are positions without gaps, equal ones at the mean of their places."""
    with np.errstate(invalid="ignore"):  # NaN that signal
        before, level = places(positions)
        known = ~np.isnan(positions)
        expected = before + (level + 1) / 2
        return bool((known.sum(1) > 1).all() and (positions == expected)[known].all())
