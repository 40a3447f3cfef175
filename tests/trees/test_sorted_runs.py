"""Sums along the sorted samples of nodes against plain loops."""

import jax
import numpy as np
import pytest

from lrrf_jax.trees.numerics import running_sum
from lrrf_jax.trees.sorted_search import Runs


@pytest.mark.parametrize("n_rows", [1, 31, 32, 33, 1500])
def test_running_sums_of_values_and_of_rows_are_those_of_numpy(n_rows):
    rows = np.random.default_rng(n_rows).integers(-9, 10, (n_rows, 5)).astype(np.int32)
    wanted = rows.cumsum(0)
    np.testing.assert_array_equal(jax.jit(running_sum)(rows), wanted)
    np.testing.assert_array_equal(jax.jit(running_sum)(rows[:, 0]), wanted[:, 0])


def test_sums_along_each_slot_are_those_of_a_loop():
    rng = np.random.default_rng(1)
    n_drawn, n_slots = 90, 6
    slot = np.sort(rng.choice([0, 1, 3, 5, n_slots], n_drawn)).astype(np.int32)  # 2 and 4: empty
    sample = rng.permutation(n_drawn).astype(np.int32)
    sizes = np.bincount(slot, minlength=n_slots + 1).astype(np.int32)
    end = sizes.cumsum().astype(np.int32)
    values = rng.integers(-3, 4, n_drawn).astype(np.int32)  # of the samples

    def sums(values):
        return Runs(sample, np.zeros_like(slot), slot, end - sizes, end).sums(values)

    low, whole, by_slot = jax.jit(sums)(values)
    there = values[sample]
    for place in range(n_drawn):
        own = slot == slot[place]
        assert low[place] == there[: place + 1][own[: place + 1]].sum()
        assert whole[place] == there[own].sum()
    for number in range(n_slots):
        assert by_slot[number] == there[slot == number].sum()
