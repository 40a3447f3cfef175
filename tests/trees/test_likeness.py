"""How alike classes and samples are on both sides of each value, against plain loops."""

import jax
import numpy as np
import pytest

from lrrf_jax.trees import edira
from lrrf_jax.trees.growth import Drawn, Level, Samples
from lrrf_jax.trees.nodes import Plan
from lrrf_jax.trees.sorted_search import Runs

N_DRAWN, N_SLOTS, N_SIGNS = 90, 7, 5


def table(seed, masked):
    """Samples of four slots of seven, some in none, in few classes; some weigh nothing."""
    rng = np.random.default_rng(seed)
    slot = rng.choice([0, 1, 3, 4, N_SLOTS], N_DRAWN).astype(np.int32)
    classes = rng.integers(0, 6, N_DRAWN)
    signs = rng.choice([-1, 0, 1] if masked else [-1, 1], (6, N_SIGNS)).astype(np.int32)[classes]
    weight = np.where(slot < N_SLOTS, rng.integers(0, 4, N_DRAWN), 0).astype(np.int32)
    value = rng.integers(0, 9, N_DRAWN).astype(np.int32)
    group = np.where(slot < N_SLOTS, slot * 6 + classes, N_DRAWN).astype(np.int32)
    return slot, classes, signs, weight, value, group


def marks(order, slot, classes, weight):
    """Mark the first and the last sample of each class in its slot, of those that weigh."""
    first, last = np.zeros((2, N_DRAWN), np.int32)
    for here, mark in ((order, first), (order[::-1], last)):
        met = set()
        for i in here:
            key = slot[i], classes[i]
            if weight[i] and key not in met:
                met.add(key)
                mark[i] = 1
    return first, last


def compared(rows, classes, signs, weight):
    """Sum over distinct classes and over samples, of products of the signs."""
    distinct = {classes[i]: signs[i] for i in rows if weight[i]}
    samples = sum((signs[i] * weight[i] for i in rows), np.zeros(N_SIGNS, np.int64))
    return sum((row @ samples for row in distinct.values()), 0)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("width", "chunk"), [(64, 512), (2, 8), (3, 16)])
def test_agreements_of_both_sides_and_of_slots_are_those_of_a_loop(
    monkeypatch, masked, width, chunk
):
    monkeypatch.setattr(edira, "_MOST_WIDTH", width)
    monkeypatch.setattr(edira, "_CHUNK", chunk)
    slot, classes, signs, weight, value, group = table(chunk, masked)
    order = np.lexsort((value, slot)).astype(np.int32)
    first, last = marks(order, slot, classes, weight)
    criterion = edira.SimilarityEntropy(100, 4, n_signs=N_SIGNS, masked=masked)
    unused = [None] * 4
    stat = np.concatenate([classes[:, None].astype(np.int32), signs], axis=1)
    samples = Samples(None, stat, *unused)
    row = np.arange(N_DRAWN, dtype=np.int32)

    def both(samples, weight):
        drawn = Drawn(row, None, None, weight, None)
        level = Level(None, Plan(1, N_SLOTS, (), None), samples, drawn, *unused, None)
        signs = criterion.prepare(level, slot, group)
        cells, cell = edira.cells_along(Runs(order, value[order], slot[order], None, None), N_SLOTS)
        sides = edira.agreements(signs, cells, first, last)
        return sides, signs.whole, cell, cells.n_used

    (low, high), whole, cell, n_used = jax.tree.map(np.asarray, jax.jit(both)(samples, weight))
    inside = slot < N_SLOTS
    assert n_used == len(set(zip(slot[inside], value[inside], strict=True)))
    for kind, of_kind in enumerate([signs, np.abs(signs)][: 1 + masked]):
        for place, i in enumerate(order):
            if not inside[i]:
                continue
            own = slot == slot[i]
            lower, upper = (
                np.flatnonzero(own & side) for side in (value <= value[i], value > value[i])
            )
            assert low[kind, cell[place]] == compared(lower, classes, of_kind, weight)
            assert high[kind, cell[place]] == compared(upper, classes, of_kind, weight)
        for number in range(N_SLOTS):
            rows = np.flatnonzero(slot == number)
            assert whole[kind, number] == compared(rows, classes, of_kind, weight)
