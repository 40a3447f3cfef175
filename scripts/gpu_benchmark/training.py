"""How long fits take, and whether they grow the trees that a CPU grows."""

from typing import Any

import numpy as np

from gpu_benchmark import clocks
from gpu_benchmark.on_cpu import in_cpu_process
from lrrf_jax import RandomForestLabelRanker
from lrrf_jax.benchmarks import Plan, Shape
from lrrf_jax.benchmarks.cases import synthetic

MOST_ROWS = 100_000
N_TREES = {"tlac": 32, "pairwise": 32, "positions": 32, "rac": 8}  # "rac" takes a CPU long


def measure_training(shape: Shape, plan: Plan) -> list[dict[str, Any]]:
    """Fit each criterion on one table, here and on the CPU."""
    rows = min(MOST_ROWS, max(plan.fit_rows))
    measured = []
    for criterion, n_trees in N_TREES.items():
        n_trees = min(n_trees, plan.n_trees)
        settings = {"n_estimators": n_trees, "criterion": criterion, "max_depth": plan.max_depth}
        forest = fitted_forest(shape, rows, settings)
        expected = in_cpu_process("fitted_forest", shape, rows, settings)
        seconds = clocks.median_seconds(lambda s=settings: fitted_forest(shape, rows, s), rounds=3)
        measured.append(
            {
                "shape": shape.name,
                "rows": rows,
                "trees": n_trees,
                "criterion": criterion,
                "seconds": seconds,
                "forest_equals_that_of_cpu": equal_forests(forest, expected),
            }
        )
    return measured


def fitted_forest(shape: Shape, rows: int, settings: dict[str, Any]) -> list[np.ndarray]:
    """Fit a forest; the arrays that it is made of."""
    ranker = RandomForestLabelRanker(random_state=0, **settings)
    return [np.asarray(field) for field in ranker.fit(*synthetic(shape, rows, seed=0)).forest_]


def equal_forests(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    """Compare bytes, so that zeros of two signs differ."""
    return all(
        a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        for a, b in zip(one, other, strict=True)
    )
