"""Times of fit and predict against the size of the data, and the exponents that they show."""

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.evaluation.report_table import ReportTable
from lrrf_jax.learners import LEARNERS

BASE = {"n": 4000, "d": 16, "m": 8, "trees": 50}
SIZES: dict[str, tuple[int, ...]] = {
    "n": (1000, 2000, 4000, 8000, 16000, 32000),
    "d": (4, 8, 16, 32, 64, 128),
    "m": (3, 4, 6, 8, 12, 16),
    "trees": (10, 25, 50, 100, 200),
}
# Section 4.3 of Zhou and Qiu (2018): a tree costs O(n_s m^2 n^2 d_max) to grow, n_s being
# log2 d + 1; a query costs O(m n + T m log m). And what sorted scans over class counts need.
PAPER_EXPONENTS = {"n": 2.0, "d": 0.0, "m": 2.0, "trees": 1.0}
SCAN_EXPONENTS = {"n": 1.0, "d": 0.0, "m": 1.0, "trees": 1.0}
_QUERIES = 2048
_NOISE = 0.3


class ScalingExperiment(NamedTuple):
    """Seconds against sizes, as `scaling_experiment` returns them."""

    learner: str
    base: dict[str, int]
    seconds: list[tuple[str, int, float, float]]  # axis, size, fit, predict of 2,048 rows

    def exponents(self) -> list[tuple[str, float, float]]:
        """Slopes of log seconds over log size, by least squares; axis, fit, predict."""
        slopes = []
        for axis in dict.fromkeys(row[0] for row in self.seconds):
            rows = np.array([row[1:] for row in self.seconds if row[0] == axis])
            fit, predict = (_slope(rows[:, 0], rows[:, k]) for k in (1, 2))
            slopes.append((axis, fit, predict))
        return slopes

    def rows(self) -> ReportTable:
        """Return one line an axis and size."""
        header = ("axis", "size", "fit seconds", "predict seconds")
        return ReportTable(self._title(), header, self.seconds, decimals=4)

    def report(self) -> ReportTable:
        """Return the fitted exponents with those that the paper states."""
        header = ("axis", "fit", "predict", "fit, paper", "fit, sorted scan")
        rows = [
            (axis, fit, predict, PAPER_EXPONENTS[axis], SCAN_EXPONENTS[axis])
            for axis, fit, predict in self.exponents()
        ]
        return ReportTable(self._title() + ": exponents", header, rows, decimals=2)

    def _title(self) -> str:
        base = ", ".join(f"{axis} = {size}" for axis, size in self.base.items())
        return f"Times of {self.learner} against one size, the others fixed ({base})"


def planted_table(n: int, d: int, m: int, seed: int = 0) -> tuple[NDArray, NDArray]:
    """Draw features, and rankings by noisy scores that are linear in them.

    Returns float32 (n, d), and float64 positions (n, m).
    """
    rng = np.random.default_rng([seed, n, d, m])
    X = rng.standard_normal((n, d)).astype(np.float32)
    scores = X @ rng.standard_normal((d, m)) + _NOISE * rng.standard_normal((n, m))
    return X, np.argsort(np.argsort(-scores, 1), 1) + 1.0


def scaling_experiment(
    learner: str = "lr-rf",
    *,
    sizes: Mapping[str, Sequence[int]] | None = None,
    base: Mapping[str, int] | None = None,
    repeats: int = 3,
) -> ScalingExperiment:
    """Measure how long a learner takes to fit, and to rank 2,048 rows, against n, d, m and trees.

    Parameters
    ----------
    learner : str
        A name in ``LEARNERS``; the axis "trees" is left out where it has no ``n_estimators``.
    sizes : mapping of axis to sizes, optional
        By default ``SIZES``.
    base : mapping of axis to size, optional
        What the others are meanwhile; by default ``BASE``.
    repeats : int
        Times that each is measured; the minimum counts. Compilation comes before and does not.
    """
    if learner not in LEARNERS:
        raise InputError(LEARNERS.no_learner(learner))
    sizes, base = dict(sizes or SIZES), {**BASE, **(base or {})}
    has_trees = "n_estimators" in LEARNERS[learner]().get_params()
    seconds = []
    for axis, axis_sizes in sizes.items():
        for size in axis_sizes if axis != "trees" or has_trees else ():
            seconds.append((axis, int(size), *_seconds(learner, {**base, axis: size}, repeats)))
    return ScalingExperiment(learner, base, seconds)


def _seconds(learner: str, size: Mapping[str, int], repeats: int) -> tuple[float, float]:
    from sklearn.base import clone

    X, y = planted_table(size["n"], size["d"], size["m"])
    queries, _ = planted_table(_QUERIES, size["d"], size["m"], seed=1)
    estimator = LEARNERS[learner]()
    known = estimator.get_params()
    wanted = {"n_estimators": size["trees"], "random_state": 0}
    estimator.set_params(**{key: value for key, value in wanted.items() if key in known})
    clone(estimator).fit(X, y).predict(queries)  # compiles
    fits, predictions = [], []
    for _ in range(repeats):
        started = time.perf_counter()
        ranker = clone(estimator).fit(X, y)
        fitted = time.perf_counter()
        ranker.predict(queries)
        fits.append(fitted - started)
        predictions.append(time.perf_counter() - fitted)
    return min(fits), min(predictions)


def _slope(sizes: NDArray, seconds: NDArray) -> float:
    if len(sizes) < 2:
        return float("nan")
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
