"""Arithmetic of which every bit is known, against NumPy."""

import functools
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrrf_jax import _numerics as numerics
from lrrf_jax._numerics import (
    _divide_by_integers,
    float_key,
    float_key_on_host,
    log2_of,
    multiply_add,
    multiply_add_in_parts,
    product,
    quotient,
    running_sum,
    running_sums,
    sum_terms,
    xlog2x,
)
from tests.accelerator import accelerator_forms
from tests.strategies import fewer, histograms

SPECIAL = np.array(
    [-np.inf, -3e38, -1.0, -1e-38, -1e-40, -0.0, 0.0, 1e-45, 1e-40, 1e-38, 1.0, 3e38, np.inf],
    np.float32,
)


def test_keys_order_all_floats_as_numpy_does():
    key = np.asarray(float_key(SPECIAL))
    assert ((key[:, None] >= key) == (SPECIAL[:, None] >= SPECIAL)).all()


@pytest.mark.parametrize("bits", [0x7FC00000, 0x7F800001, 0xFFC00000, 0xFF800001, 0xFFFFFFFF])
def test_every_nan_has_a_key_below_every_number(bits):
    value = np.array([bits], np.uint32).view(np.float32)
    assert np.isnan(value).all()
    assert (np.asarray(float_key(value)) < np.asarray(float_key(SPECIAL)).min()).all()
    assert float_key_on_host(value) == np.asarray(float_key(value))


def test_every_key_lies_from_that_of_nan_to_below_the_highest():
    keys = np.asarray(float_key(np.append(SPECIAL, np.float32(np.nan))))
    assert keys.min() == keys[-1] == numerics.LOWEST == np.iinfo(np.int32).min
    assert keys.max() < numerics.HIGHEST == np.iinfo(np.int32).max


def test_host_keys_are_the_keys_of_the_device():
    words = np.random.default_rng(0).integers(0, 2**32, 4096, np.uint32)
    values = np.concatenate([words.view(np.float32), SPECIAL])
    np.testing.assert_array_equal(float_key_on_host(values), np.asarray(float_key(values)))


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=2, max_size=20))
def test_keys_order_any_floats_as_numpy_does(values):
    values = np.array(values, np.float32)
    key = float_key_on_host(values)
    assert ((key[:, None] >= key) == (values[:, None] >= values)).all()


@pytest.mark.parametrize("n_rows", [1, 31, 32, 33, 1500])
def test_running_sums_of_values_and_of_rows_are_those_of_numpy(n_rows):
    rows = np.random.default_rng(n_rows).integers(-9, 10, (n_rows, 5)).astype(np.int32)
    wanted = rows.cumsum(0)
    np.testing.assert_array_equal(jax.jit(running_sum)(rows.T), wanted.T)
    np.testing.assert_array_equal(jax.jit(running_sum)(rows[:, 0]), wanted[:, 0])


@fewer(3)
@given(histograms())
def test_running_sums_are_cumulative_sums(histogram):
    with jax.disable_jit():
        upto, total = running_sums(jnp.asarray(histogram))
    np.testing.assert_array_equal(upto, np.cumsum(histogram, axis=0))
    np.testing.assert_array_equal(total, histogram.sum(0))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int16])
def test_running_sums_of_short_integers_keep_their_type(dtype):
    table = np.random.default_rng(2).integers(0, 4, (16, 3, 4)).astype(dtype)
    with jax.disable_jit():
        upto, total = running_sums(jnp.asarray(table))
    assert upto.dtype == total.dtype == dtype
    np.testing.assert_array_equal(upto, table.cumsum(0))
    np.testing.assert_array_equal(total, table.sum(0))


def test_a_product_is_rounded_before_anything_is_added():
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((2, 4096)).astype(np.float32)
    c = -a * b + rng.standard_normal(4096).astype(np.float32) * np.float32(1e-6)
    rounded = a * b + c  # NumPy rounds twice
    found = jax.jit(lambda a, b, c: product(a, b) + c)(a, b, c)
    np.testing.assert_array_equal(np.asarray(found).view(np.int32), rounded.view(np.int32))
    if jax.default_backend() == "cpu":  # where a plain product is contracted
        contracted = jax.jit(lambda a, b, c: a * b + c)(a, b, c)
        assert (np.asarray(contracted) != rounded).mean() > 0.5


def test_products_of_special_values_are_those_of_numpy():
    values = np.array([0.0, -0.0, 1.5, -2.0, 1e20, -1e20, np.inf, -np.inf, np.nan], np.float32)
    a, b = (side.ravel() for side in np.meshgrid(values, values))
    with np.errstate(invalid="ignore", over="ignore"):
        expected = a * b
    # What falls below the least float is that float: no criterion comes near.
    expected = np.where(expected == -np.inf, np.finfo(np.float32).min, expected)
    np.testing.assert_array_equal(jax.jit(product)(a, b), expected)


TINY = np.finfo(np.float32).tiny


def pairs_to_divide():
    """Numerators and divisors: any bits, integers, quotients half way, and special values."""
    rng = np.random.default_rng(6)
    n = 2**18
    any_bits = rng.integers(0, 2**32, (2, n), np.uint32).view(np.float32)
    yield any_bits[0], np.abs(any_bits[1])
    yield rng.integers(-(2**31), 2**31, n), rng.integers(1, 2**31, n)
    yield rng.integers(-300, 300, n), rng.integers(1, 300, n)
    yield rng.integers(2**23, 2**24, (2, n))
    half, divisor = rng.integers(2**23, 2**24, n) + 0.5, rng.integers(2**11, 2**12, n)
    yield half * divisor, divisor
    beside = [np.nextafter(np.float32(1), np.float32(to)) for to in (0, 2)]
    special = np.array([0, -0.0, TINY, -TINY, 1, -1, *beside, 3e38, np.inf, -np.inf, np.nan])
    yield np.meshgrid(special, [TINY, 0.5, 1, *beside, 3, 3e38])


def test_quotients_by_integers_are_those_of_numpy():
    by_integers = jax.jit(_divide_by_integers)
    for a, b in pairs_to_divide():
        a, b = np.asarray(a, np.float32).ravel(), np.asarray(b, np.float32).ravel()
        known = ((np.abs(a) >= TINY) | (a == 0) | np.isnan(a)) & (b >= TINY) & (b < np.inf)
        with np.errstate(all="ignore"):
            expected = a / b
        known &= (np.abs(expected) >= TINY) | (expected == 0) & (a == 0) | np.isnan(expected)
        assert known.mean() > 0.4
        found = np.asarray(by_integers(a, b))[known]
        np.testing.assert_array_equal(found, expected[known])
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected[known]))
        np.testing.assert_array_equal(np.asarray(jax.jit(quotient)(a, b))[known], expected[known])


def test_one_divisor_for_several_numbers_gives_what_the_cpu_makes_of_its_inverse():
    rng = np.random.default_rng(8)
    b = rng.integers(1, 200, (5000, 1)).astype(np.float32)
    a = (b * rng.uniform(1, 5, (5000, 5)) * 1024).astype(np.float32)
    plain = np.asarray(jax.jit(quotient)(a, b))
    with accelerator_forms():
        exact = np.asarray(jax.jit(lambda a, b: quotient(a, b))(a, b))
    np.testing.assert_array_equal(exact, plain)
    assert (plain != a / b).any()  # of NumPy


def nearest_float32(number):
    """Round a fraction to the nearest float32, of two the even one."""
    guess = np.float32(float(number))
    near = [np.nextafter(guess, np.float32(to)) for to in (-np.inf, np.inf)] + [guess]
    off = [abs(Fraction(float(value)) - number) for value in near]
    nearest = [value for value, far in zip(near, off, strict=True) if far == min(off)]
    return min(nearest, key=lambda value: int(value.view(np.int32)) & 1)


def test_products_and_sums_in_parts_round_once():
    rng = np.random.default_rng(7)
    a, b, c = rng.standard_normal((3, 3000)).astype(np.float32)
    c[:1000] = -(a * b)[:1000]
    c[1000:2000] *= np.exp2(rng.integers(-30, 30, 1000)).astype(np.float32)
    whole = rng.integers(-(2**13), 2**13, (3, 3000)).astype(np.float32)  # halves, ties
    for x, y, z in ((a, b, c), (whole[0], whole[1] / 2**13, whole[2] * 2**11)):
        rows = zip(x.tolist(), y.tolist(), z.tolist(), strict=True)
        exact = [Fraction(i) * Fraction(j) + Fraction(k) for i, j, k in rows]
        expected = np.array([nearest_float32(number) for number in exact])
        found = np.asarray(jax.jit(multiply_add_in_parts)(x, y, z))
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.asarray(jax.jit(multiply_add)(x, y, z)), expected)
        assert x is not a or (x * y + z != expected).mean() > 0.2  # NumPy rounds twice


def test_logarithms_err_by_less_than_1e_5_and_are_exact_at_powers_of_two():
    powers = np.float32(2.0) ** np.arange(-126, 128, dtype=np.float32)
    np.testing.assert_array_equal(jax.jit(log2_of)(powers), np.arange(-126, 128))
    rng = np.random.default_rng(4)
    wide = np.exp2(rng.uniform(-126, 127.9, 20_000)).astype(np.float32)
    near_one = np.exp2(rng.uniform(-1, 1, 20_000)).astype(np.float32)
    beside = np.nextafter(powers[1:], np.float32(0))
    for numbers in (wide, near_one, beside, np.nextafter(powers, np.float32(np.inf))):
        error = np.abs(np.asarray(jax.jit(log2_of)(numbers)) - np.log2(numbers.astype(float)))
        assert error.max() < 1e-5
        assert error.max() > 0  # the bound is that of an approximation


def test_counts_times_their_logarithm_are_0_at_0_and_1():
    counts = np.array([0, 1, 2, 3, 4, 100, 65535, 2**24, 2**31 - 1], np.int32)
    exact = np.maximum(counts, 1).astype(float)
    exact = counts * np.log2(exact)
    found = np.asarray(xlog2x(jnp.asarray(counts)))
    np.testing.assert_allclose(found, exact, rtol=1e-5)
    assert found[:3].tolist() == [0, 0, 2]


@pytest.mark.parametrize("n_terms", [1, 16, 17, 45])
def test_terms_are_added_one_after_another(n_terms):
    rng = np.random.default_rng(5)
    scale = 10.0 ** rng.integers(-4, 5, (45, 64))
    table = (rng.standard_normal((45, 64)) * scale).astype(np.float32)
    found = jax.jit(lambda table: sum_terms(n_terms, lambda k: table[k], (64,)))(table)
    nothing = np.zeros(64, np.float32)
    expected = functools.reduce(np.add, table[:n_terms], nothing)
    np.testing.assert_array_equal(found, expected)
    if n_terms > 1:
        backwards = functools.reduce(np.add, table[:n_terms][::-1], nothing)
        assert (backwards != expected).any()  # so the order tells
    counts = np.asarray(table).view(np.int32) >> 16
    whole = sum_terms(n_terms, lambda k: jnp.asarray(counts)[k], (64,), jnp.int32)
    np.testing.assert_array_equal(whole, counts[:n_terms].sum(0))
