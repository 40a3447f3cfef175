"""How alike classes and samples are, and which splits are accepted, against plain loops."""

import dataclasses
import math

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lrrf_jax.trees import edira
from lrrf_jax.trees.edira import SimilarityEntropy
from lrrf_jax.trees.growth import (
    Drawn,
    Level,
    Samples,
)
from lrrf_jax.trees.nodes import Plan
from lrrf_jax.trees.sorted_search import Runs, Side
from tests import tree_oracles
from tests.trees.growing import (
    check,
    grow,
    ranking_table,
    samples_of_rankings,
)

N_DRAWN, N_SLOTS, N_SIGNS = 90, 7, 5


def signed_samples(seed, masked):
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
@pytest.mark.parametrize("chunk", [512, 8, 16])
def test_agreements_of_both_sides_and_of_slots_are_those_of_a_loop(monkeypatch, masked, chunk):
    monkeypatch.setattr(edira, "_CHUNK", chunk)
    slot, classes, signs, weight, value, group = signed_samples(chunk, masked)
    order = np.lexsort((value, slot)).astype(np.int32)
    first, last = marks(order, slot, classes, weight)
    criterion = edira.SimilarityEntropy(100, 4, n_signs=N_SIGNS, masked=masked)
    unused = [None] * 4
    stat = np.concatenate([classes[:, None].astype(np.int32), signs], axis=1)
    samples = Samples(None, stat, *unused)
    row = np.arange(N_DRAWN, dtype=np.int32)

    def both(samples, weight):
        drawn = Drawn(row, None, None, weight, None)
        level = Level(None, Plan(1, N_SLOTS, ()), samples, drawn, *unused, None)
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


class EdiraOracle(tree_oracles.RankingOracle):
    """H = sum P ln P ln kt, and the acceptance rule of Fayyad and Irani."""

    def is_pure(self, rows):
        return len(self.distinct(rows)) < 2

    def distinct(self, rows):
        """Return [a row, copies] of each ranking that is there."""
        found = {}
        for i in self.copies(rows):
            key = tuple(np.nan_to_num(self.y[i], nan=-1))
            found.setdefault(key, [i, 0])[1] += 1
        return list(found.values())

    def entropy(self, rows):
        copies, distinct = self.copies(rows), self.distinct(rows)
        shannon = sum(n / len(copies) * math.log(n / len(copies)) for _, n in distinct)
        alike = (1 + self.mean_tau([i for i, _ in distinct], copies, slice(None))) / 2
        return shannon * math.log(max(alike, 1e-10))

    def score(self, rows):
        return -self.counts[rows].sum() * self.entropy(rows) if len(rows) else 0.0

    def accepts(self, rows, left, right):
        n = self.counts[rows].sum()
        gain = (self.score(left) + self.score(right) - self.score(rows)) / n
        k = len(self.distinct(rows))
        parts = sum(len(self.distinct(side)) * self.entropy(side) for side in (left, right))
        delta = math.log(3**k - 2) - (k * self.entropy(rows) - parts)
        return gain > math.log(n - 1) / n + delta / n


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.mark.parametrize("missing_labels", [0.0, slow(0.15)])  # of more, every split is refused
def test_splits_are_the_best_that_the_description_length_accepts(missing_labels):
    x, y = ranking_table(3, missing_labels)
    samples, thresholds, config = samples_of_rankings(
        "edira", x, y, min_samples_split=25, max_depth=3
    )
    n_split, n_unsplit = check(
        x, samples, thresholds, config, lambda counts: EdiraOracle(y, counts), n_trees=2
    )
    assert n_split > 1
    assert n_unsplit > 0


def test_a_split_is_accepted_where_its_gain_pays_for_its_description():
    rng = np.random.default_rng(4)
    criterion = SimilarityEntropy(100, 4, n_signs=N_SIGNS)
    n_nodes = 60
    samples = rng.integers(1, 200, (2, n_nodes))
    samples = np.stack([*samples, samples.sum(0)])  # of both children, and of their node
    weight = samples * np.array([2])
    classes = np.minimum(rng.choice([1, 2, 5, 31, 32, 90], (3, n_nodes)), samples)
    score = -weight * rng.uniform(0, 2, (3, n_nodes))
    score[2] = score[0] + score[1] - weight[2] * rng.uniform(0, 2, n_nodes)
    gain, cost = np.zeros((2, n_nodes))
    for k in range(n_nodes):
        n, n_classes = int(samples[2, k]), int(classes[2, k])
        entropy = -score[:, k] / weight[:, k]
        gain[k] = entropy[2] - weight[:2, k] @ entropy[:2] / weight[2, k]
        parts = classes[:2, k] @ entropy[:2]
        delta = math.log(3**n_classes - 2) - (n_classes * entropy[2] - parts)
        cost[k] = (math.log(n - 1) + delta) / n
    sides = [
        Side(
            jnp.asarray(score[k], jnp.float32),
            *(jnp.asarray(field[k], jnp.int32) for field in (classes, samples, weight)),
        )
        for k in range(3)
    ]
    found = np.asarray(criterion.accepts(*sides))
    clear = np.abs(gain - cost) > 1e-3
    np.testing.assert_array_equal(found[clear], (gain > cost)[clear])
    assert clear.sum() > n_nodes - 5
    assert 5 < found.sum() < n_nodes - 5


@pytest.mark.slow
def test_missing_features_take_part_in_the_search_along_sorted_samples():
    x, y = ranking_table(4, missing_features=0.2)
    samples, thresholds, config = samples_of_rankings("edira", x, y, max_depth=3)
    assert isinstance(config.criterion, SimilarityEntropy)
    n_split, _ = check(x, samples, thresholds, config, lambda counts: EdiraOracle(y, counts))
    assert n_split > 1


def test_signs_summed_in_chunks_do_not_change_a_tree(monkeypatch):
    x, y = ranking_table(8)
    samples, _, config = samples_of_rankings("edira", x, y, max_depth=2)
    reference = grow(samples, config)
    monkeypatch.setattr(edira, "_CHUNK", 16)
    # It does not ask for short sums, but is traced anew for another configuration.
    other = grow(samples, dataclasses.replace(config, short_sums=True))
    assert (np.asarray(reference.gain) > 0).any()
    chex.assert_trees_all_equal(other, reference)
