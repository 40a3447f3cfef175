"""Two made-up tables of scores, as people have them: runtimes with timeouts, yields with zeros.

Both come from a seeded generator and are rounded, so that they are the same each time.
"""

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax.datasets.container import LabelRankingData
from lrrf_jax.rankings import rankings_from_scores

_CUTOFF, _PAR = 3600.0, 10.0  # seconds; a timeout counts as ten times the cutoff
_SOLVERS = ("dense-cuts", "local-search", "clause-learning", "dynamic-program", "greedy-restart")
# How the logarithm of the runtime grows with each property of an instance, in its deviations.
_PROPERTIES = ("size", "density", "slack", "symmetry", "depth")
_GROWTH = np.array(
    [
        [1.0, 1.2, -0.4, 0.0, 0.0],
        [0.5, 0.0, -1.4, 0.0, 0.9],
        [0.9, -1.1, 0.0, 0.5, 0.0],
        [1.6, 0.0, 0.0, -0.9, -0.6],
        [0.3, 0.8, 0.6, -0.7, 0.0],
    ]
)
_TYPICAL = np.array([2.4, 2.5, 2.6, 2.4, 3.2])

_CATALYSTS = ("PdA", "PdB", "Ni", "Cu")
_BASES = ("carbonate", "phosphate", "amine")
_SOLVENTS = ("dioxane", "DMF")
_FAMILY_SIZES = (6, 5, 5, 4, 4, 3, 3, 3)
_BITS, _LATENT = 256, 6


def algorithms() -> LabelRankingData:
    """Make runtimes of five solvers on 500 instances; see `load`."""
    rng = np.random.default_rng(2016)
    n = 500
    density, slack, symmetry = rng.beta(2, 3, n), rng.beta(2, 2, n), rng.beta(1.5, 3, n)
    size, depth = rng.uniform(2, 4, n), rng.random(n)
    hidden = np.column_stack([size, density, slack, symmetry, depth])
    log_seconds = _TYPICAL + 0.8 * _standardised(hidden) @ _GROWTH.T
    log_seconds += 0.4 * rng.standard_normal((n, 1)) + 1.3 * rng.standard_normal((n, 5))
    seconds = np.round(10.0**log_seconds, 2)
    scores = -np.where(seconds > _CUTOFF, _PAR * _CUTOFF, seconds)
    variables = np.round(10.0**size)
    noise = rng.standard_normal((n, 7))
    features = {
        "variables": variables,
        "constraints": np.round(variables * (0.5 + 3 * density) * np.exp(0.2 * noise[:, 0])),
        "density": density + 0.03 * noise[:, 1],
        "slack": slack + 0.05 * noise[:, 2],
        "symmetry": symmetry + 0.08 * noise[:, 3],
        "depth": depth + 0.1 * noise[:, 4],
        "mean_degree": density * size + 0.1 * noise[:, 5],
        "degree_spread": rng.gamma(2, 1, n),
        "domain_size": np.round(rng.lognormal(2, 0.7, n)),
        "probe_improvement": slack * (1 - depth) + 0.1 * noise[:, 6],
        "probe_conflicts": rng.poisson(20 * (1 - slack) * density),
        "probe_restarts": rng.poisson(5, n),
    }
    return _data(
        "algorithms",
        np.column_stack([np.round(column, 3) for column in features.values()]),
        tuple(features),
        scores,
        _SOLVERS,
        folds=1 + rng.permutation(np.arange(n) % 10),
    )


def reactions() -> LabelRankingData:
    """Make yields of 33 substrates under 23 reaction conditions; see `load`."""
    rng = np.random.default_rng(33)
    family = np.repeat(np.arange(len(_FAMILY_SIZES)), _FAMILY_SIZES)
    centres = rng.standard_normal((len(_FAMILY_SIZES), _LATENT))
    latent = centres[family] + 0.5 * rng.standard_normal((len(family), _LATENT))
    # A bit is set where a substrate lies far enough in the direction that the bit looks at.
    directions = rng.standard_normal((_LATENT, _BITS)) / np.sqrt(_LATENT)
    bits = latent @ directions + 0.25 * rng.standard_normal((len(family), _BITS))
    fingerprint = bits > rng.uniform(0.3, 1.8, _BITS)
    parts = [
        rng.standard_normal((len(names), _LATENT)) * strength
        for names, strength in ((_CATALYSTS, 0.9), (_BASES, 0.6), (_SOLVENTS, 0.5))
    ]
    conditions = [
        (i, j, k) for i in range(len(_CATALYSTS)) for j in range(len(_BASES)) for k in range(2)
    ][:-1]
    effect = np.array([parts[0][i] + parts[1][j] + parts[2][k] for i, j, k in conditions])
    ease = np.array([(0.8, 0.4, -0.4, -1.0)[i] for i, _, _ in conditions])
    activity = latent @ effect.T + ease + 0.5 * rng.standard_normal((len(family), len(effect)))
    measured = 140 / (1 + np.exp(-0.7 * activity)) - 52 + 3 * rng.standard_normal(activity.shape)
    yields = np.clip(np.round(measured), 0, 99)
    names = tuple(f"{_CATALYSTS[i]}/{_BASES[j]}/{_SOLVENTS[k]}" for i, j, k in conditions)
    return _data(
        "reactions",
        fingerprint,
        tuple(f"bit{j}" for j in range(_BITS)),
        yields,
        names,
        groups=np.array([f"family {letter}" for letter in "ABCDEFGH"])[family],
    )


def _standardised(columns: NDArray) -> NDArray:
    return (columns - columns.mean(axis=0)) / columns.std(axis=0)


def _data(
    name: str,
    X: NDArray,
    feature_names: tuple[str, ...],
    scores: NDArray,
    labels: tuple[str, ...],
    groups: NDArray | None = None,
    folds: NDArray | None = None,
) -> LabelRankingData:
    return LabelRankingData(
        X.astype(np.float32),
        rankings_from_scores(scores).astype(np.float32),
        feature_names,
        labels,
        name,
        scores=scores.astype(np.float64),
        groups=groups,
        folds=folds,
    )
