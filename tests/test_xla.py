"""What XLA is told: buffers that exist, and sizes that programs share."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrrf_jax._xla import bucket_size, fusion_barrier, place_at

CELLS = {
    np.bool_: [False, True],
    np.uint8: [0, 1, 255],
    np.uint16: [0, 7, 2**16 - 1],
    np.int16: [0, -5, 2**15 - 1],
    np.int32: [0, 7, -5, -(2**31), 2**31 - 1],
    np.uint32: [0, 7, 2**31, 2**32 - 1],
    np.float32: [0.0, -0.0, 1.5, -1.5, 3e38, np.inf, -np.inf, np.nan, -np.nan, 1e-45, -1e-45],
}


@pytest.mark.parametrize("dtype", CELLS, ids=lambda dtype: dtype.__name__)
def test_a_barrier_returns_its_arguments_whatever_the_first_cell_is(dtype):
    behind = jax.jit(lambda first, other: fusion_barrier(first, other))
    other = np.array([-1.0, np.nan, 2.0], np.float32)
    for cell in CELLS[dtype]:
        first = np.array([[cell, 1], [0, cell]]).astype(dtype)
        found, beside = behind(first, other)
        assert found.dtype == dtype
        assert np.asarray(found).tobytes() == first.tobytes()
        assert np.asarray(beside).tobytes() == other.tobytes()


def test_one_array_comes_back_alone_also_without_axes():
    for array in (jnp.float32(-2.5), jnp.arange(3, dtype=jnp.int32) - 1):
        np.testing.assert_array_equal(fusion_barrier(array), array)


def test_a_barrier_needs_a_cell_in_its_first_array_alone():
    empty, full = jnp.zeros((0, 3), jnp.int32), jnp.ones(2, jnp.int32)
    with pytest.raises(ValueError, match="a cell in its first array"):
        fusion_barrier(empty, full)
    first, second = fusion_barrier(full, empty)
    assert first.tolist() == [1, 1]
    assert second.shape == (0, 3)


def test_what_has_its_place_behind_the_last_is_dropped_and_places_without_a_value_stay_0():
    index = np.int32([4, 0, 6, 6, 5, 6, 2])  # all of 0 .. 5 but 1 and 3, and three times behind
    values = np.int32([-7, 8, 9, 10, 2**31 - 1, 11, 12])
    found = jax.jit(lambda index, values: place_at(6, index, values))(index, values)
    assert np.asarray(found).tolist() == [8, 0, 12, 0, -7, 2**31 - 1]


@given(st.integers(1, 2**31), st.sampled_from([1, 2, 4, 8]), st.sampled_from([1, 64]))
def test_buckets_hold_what_they_are_for_and_waste_little(size, per_octave, least):
    bucket = bucket_size(size, per_octave, least)
    assert bucket >= max(size, least)
    assert bucket == least or bucket <= size * (1 + 1 / per_octave)
    assert bucket_size(bucket, per_octave, least) == bucket
