"""Positive definite equations in blocks."""

import hashlib
import os
import subprocess
import sys

import jax
import numpy as np
import pytest

from lrrf_jax.learners.linear.solve import solve

THREADS = """
import hashlib, numpy as np
from tests.learners.test_solve import equations, solved
print(hashlib.sha256(solved(*equations(150)).tobytes()).hexdigest())
"""


def equations(n):
    rng = np.random.default_rng(n)
    rows = rng.standard_normal((n + 50, n))
    return (rows.T @ rows / n + 0.01 * np.eye(n)).astype(np.float32), rng.normal(size=n).astype(
        "f4"
    )


def solved(matrix, right):
    return np.asarray(jax.jit(solve)(matrix, right))


@pytest.mark.parametrize("n", [1, 128, 129, 160])  # by LAPACK; in blocks, of which one is not full
def test_the_solution_is_that_of_numpy(n):
    matrix, right = equations(n)
    expected = np.linalg.solve(matrix.astype(np.float64), right)
    np.testing.assert_allclose(solved(matrix, right), expected, rtol=1e-3, atol=1e-4)


def test_a_matrix_that_is_not_positive_definite_gives_nan():
    matrix, right = equations(150)
    matrix[140, 140] = -1
    assert np.isnan(solved(matrix, right)).any()


def test_the_number_of_lapacks_threads_does_not_matter():
    said = set()
    for threads in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", THREADS],
            env=os.environ | {"OPENBLAS_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        )
        said.add(run.stdout.strip())
    assert said == {hashlib.sha256(solved(*equations(150)).tobytes()).hexdigest()}
