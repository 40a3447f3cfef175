"""Sums along the sorted samples of nodes against plain loops."""

import jax
import numpy as np
import pytest

from lrrf_jax.trees import side_entropy
from lrrf_jax.trees.sorted_runs import Runs, running_sum

ZERO = np.int32(0)


@pytest.mark.parametrize("n_rows", [1, 31, 32, 33, 1500])
def test_running_sums_of_values_and_of_rows_are_those_of_numpy(n_rows):
    rows = np.random.default_rng(n_rows).integers(-9, 10, (n_rows, 5)).astype(np.int32)
    wanted = rows.cumsum(0)
    np.testing.assert_array_equal(jax.jit(running_sum)(rows, ZERO), wanted)
    np.testing.assert_array_equal(jax.jit(running_sum)(rows[:, 0], ZERO), wanted[:, 0])


def test_sums_along_each_slot_are_those_of_a_loop_for_values_and_for_rows():
    rng = np.random.default_rng(1)
    n_drawn, n_slots = 90, 6
    slot = np.sort(rng.choice([0, 1, 3, 5, n_slots], n_drawn)).astype(np.int32)  # 2 and 4: empty
    sample = rng.permutation(n_drawn).astype(np.int32)
    sizes = np.bincount(slot, minlength=n_slots + 1).astype(np.int32)
    end = sizes.cumsum().astype(np.int32)
    rows = rng.integers(-3, 4, (n_drawn, 4)).astype(np.int32)  # of the samples
    there = rows[sample]

    def both(rows):
        runs = Runs(sample, slot, end - sizes, end, ZERO)
        return runs.sums(rows[:, 0]), runs.sums_there(rows[sample])

    values, vectors = jax.jit(both)(rows)
    for place in range(n_drawn):
        own = there[slot == slot[place]]
        before = there[: place + 1][slot[: place + 1] == slot[place]]
        np.testing.assert_array_equal(vectors[0][place], before.sum(0))
        np.testing.assert_array_equal(vectors[1][place], own.sum(0))
        assert (values[0][place], values[1][place]) == (before[:, 0].sum(), own[:, 0].sum())
    for number in range(n_slots):
        own = there[slot == number]
        np.testing.assert_array_equal(vectors[2][number], own.sum(0))
        assert values[2][number] == own[:, 0].sum()


@pytest.mark.parametrize(("cells", "n_groups"), [(10**6, 1), (140, 2), (70, 3), (1, 6)])
def test_groups_of_signs_hold_every_sign_once_and_zeros_besides(monkeypatch, cells, n_groups):
    monkeypatch.setattr(side_entropy, "_GROUP_CELLS", cells)
    signs = np.random.default_rng(2).integers(-1, 2, (35, 6)).astype(np.int32)
    groups = np.asarray(side_entropy.grouped_signs(signs))
    assert len(groups) == n_groups
    joined = np.concatenate(list(groups), axis=1)
    np.testing.assert_array_equal(joined[:, :6], signs)
    assert not joined[:, 6:].any()
