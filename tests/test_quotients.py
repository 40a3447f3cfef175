"""Quotients, roots and sums of accelerators, against NumPy and the programs of the CPU."""

import jax
import numpy as np

from lrrf_jax._numerics import quotient, square_root, sum_in_turn
from tests.accelerator import accelerator_forms


def awkward_numbers(n, seed):
    rng = np.random.default_rng(seed)
    spread = np.float32(2.0) ** rng.integers(-40, 40, n).astype(np.float32)
    numbers = rng.random(n).astype(np.float32) * spread
    return np.concatenate([numbers, rng.integers(1, 40, n)]).astype(np.float32)


def test_quotients_on_an_accelerator_are_those_of_the_cpu_to_the_last_bit():
    dividend, divisor = awkward_numbers(20_000, 0), awkward_numbers(20_000, 1)
    dividend[:5] = 0, -0.0, -3, 1e-30, -3e38
    divisor[:5] = 3, 5, 7, 1e30, 1e-30  # the last quotients are not finite numbers that are normal
    shared = dividend.reshape(-1, 8), divisor[: len(divisor) // 8, None]

    def quotients():
        divide = jax.jit(lambda a, b: quotient(a, b))
        return [np.asarray(divide(*arrays)) for arrays in ((dividend, divisor), shared)]

    on_cpu = quotients()
    with accelerator_forms():
        found = quotients()
    assert [one.tobytes() for one in found] == [one.tobytes() for one in on_cpu]
    with np.errstate(under="ignore", over="ignore"):
        nearest = dividend / divisor
    normal = (nearest >= np.finfo(np.float32).tiny) | (dividend <= 0)
    np.testing.assert_array_equal(found[0][normal], nearest[normal])
    assert found[0][~normal].tolist() == [0.0]


def test_square_roots_on_an_accelerator_are_rounded_to_the_nearest():
    limits = [0, np.finfo(np.float32).tiny, np.finfo(np.float32).max, np.inf]
    values = np.concatenate([awkward_numbers(20_000, 2), np.arange(1000), limits])
    values = values.astype(np.float32)
    with accelerator_forms():
        found = np.asarray(jax.jit(lambda values: square_root(values))(values))
    np.testing.assert_array_equal(found, np.sqrt(values))


def test_products_round_before_they_are_summed_in_turn():
    left = awkward_numbers(40 * 50, 3).reshape(2, 40, 50)
    right = awkward_numbers(40 * 50, 4).reshape(2, 40, 50)
    expected = left[:, 0] * right[:, 0]
    for k in range(1, 40):
        expected = expected + left[:, k] * right[:, k]
    found = jax.jit(lambda a, b: sum_in_turn(a * b, axis=1))(left, right)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(sum_in_turn(left[:, :1], axis=1), left[:, 0])
