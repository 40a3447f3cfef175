"""How a forest is cut into blocks, how many of them grow at a time, and how they are joined."""

import copy
import dataclasses
import threading

import chex
import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrrf_jax import _devices
from lrrf_jax._backend import CPU
from lrrf_jax.trees import blocks
from lrrf_jax.trees.blocks import Grown, as_deep_as_grown, join, join_grown, take_trees
from lrrf_jax.trees.class_criterion import ClassEntropy, SparseClassEntropy
from lrrf_jax.trees.forest import (
    invariant_violation,
    is_split,
    node_levels,
)
from lrrf_jax.trees.padding import SMALL, small_of
from lrrf_jax.trees.vector_criterion import Variance
from tests.tree_oracles import plain_sums
from tests.trees.cases import (
    DEPTH,
    SPLITS,
    all_in_use,
    awkward_rows,
    config_for,
    features_with_ties,
    forest_of_splits,
    random_forest,
    rows_on_thresholds,
    samples_of,
)
from tests.trees.growing import (
    class_table,
    grow,
)

X = features_with_ties(np.random.default_rng(0), 110, 5)


SAMPLES, THRESHOLDS = samples_of(X, np.zeros((110, 3), np.int32))


CONFIG = config_for(X, THRESHOLDS, ClassEntropy(3))


@pytest.fixture
def plan(monkeypatch):
    """What a call would grow: the numbers of each block, and the threads; nothing is compiled."""

    def plan(trees, **options):
        seen = {}

        def in_threads(start, blocks, n_threads, alone):
            seen.update(numbers=[block.numbers.tolist() for block in blocks], n_threads=n_threads)
            return []

        monkeypatch.setattr(blocks, "_in_threads", in_threads)
        monkeypatch.setattr(blocks, "_block_grower", lambda *_: (None, None))
        with pytest.raises(ValueError, match="zip"):  # a generator that ends early
            list(blocks.grow_blocks(jax.random.key(0), SAMPLES, CONFIG, trees, **options))
        return seen

    return plan


def use_cpus(monkeypatch, n_devices, n_threads):
    monkeypatch.setattr(_devices, "thread_count", lambda: n_threads)
    monkeypatch.setattr(_devices, "growing_devices", lambda: n_devices * (jax.devices()[0],))


@pytest.mark.parametrize("n_trees", [1, 2, 5, 6, 8, 23])
@pytest.mark.parametrize("n_devices", [1, 2, 4])
@pytest.mark.parametrize("trees_at_once", [None, 1, 3])
def test_every_tree_grows_once_and_blocks_have_one_shape(
    n_trees, n_devices, trees_at_once, plan, monkeypatch
):
    use_cpus(monkeypatch, n_devices, 1)
    numbers = plan(range(7, 7 + n_trees), trees_at_once=trees_at_once)["numbers"]
    shapes = {np.shape(block) for block in numbers}
    assert len(shapes) == 1
    assert next(iter(shapes))[0] == n_devices
    flat = np.ravel(numbers)
    assert flat[flat >= 0].tolist() == list(range(7, 7 + n_trees))
    for block in np.array(numbers):
        load = (block >= 0).sum(1)
        assert load.max() - load.min() <= 1


def test_memory_bounds_the_trees_in_work(plan, monkeypatch):
    use_cpus(monkeypatch, 2, 8)
    one = blocks._grown_bytes(SAMPLES, CONFIG, blocks.Company(1, 1, SMALL[0].n_rows))
    for n_fit in (1, 2, 3):
        # A thread grows a tree on each of the two devices.
        budget = 2 * n_fit * one + one
        assert plan(range(20), trees_at_once=1, memory_budget=budget)["n_threads"] == n_fit
    assert plan(range(20), trees_at_once=1, memory_budget=1)["n_threads"] == 1
    assert plan(range(20), trees_at_once=1)["n_threads"] == 4


def test_a_smaller_share_of_memory_or_a_smaller_cache_means_fewer_trees_at_once():
    n_rows = 6000
    samples = all_in_use(SAMPLES, CONFIG)._replace(weight=np.ones(n_rows, np.int32))
    samples = samples._replace(sizes=samples.sizes._replace(n_samples=np.int32(n_rows)))
    alone = blocks.Company(1, 1, n_rows)

    def trees_at_once(cache=None, **changes):
        config = dataclasses.replace(CONFIG, **changes)
        backend = dataclasses.replace(CPU, grown_bytes=cache)
        return blocks._company(samples, config, 30, 1, backend).n_trees

    one = blocks._grown_bytes(samples, CONFIG, alone)
    for n_fit in (1, 2, 4, 8):
        assert trees_at_once(histogram_bytes=n_fit * one + one // 2) == n_fit
        assert trees_at_once(cache=n_fit * one + one // 2) == n_fit
    assert trees_at_once(histogram_bytes=1) == 1
    # Pairs of many labels weigh more than a class.
    pairs = dataclasses.replace(CONFIG, criterion=Variance(45))
    assert blocks._grown_bytes(samples, pairs, alone) > one


def test_trees_of_small_tables_share_their_room_and_their_threads():
    def company(n_samples, n_trees, n_threads=1, **changes):
        samples = all_in_use(SAMPLES, CONFIG)._replace(
            weight=np.ones(small_of(n_samples, 5).n_rows, np.int32)
        )
        samples = samples._replace(sizes=samples.sizes._replace(n_samples=np.int32(n_samples)))
        config = dataclasses.replace(CONFIG, **changes)
        return blocks._company(samples, config, n_trees, n_threads, CPU)

    small, large = SMALL
    for n_samples in (20, 150, 512, 513, 4096):
        room = {company(n_samples, n_trees)[1:] for n_trees in (10, 50, 500)}
        size = small if n_samples <= small.n_rows else large
        assert room == {(CPU.grown_trees, size.n_draws)}
        for n_trees in (1, 10, 50):
            found = company(n_samples, n_trees)
            assert found.n_trees * n_samples <= found.n_draws
    assert company(150, 50, 2).n_trees == 25
    assert company(150, 3) == (3, blocks._FEW_TREES, small.n_rows)
    assert company(150, 50, histogram_bytes=1) == (1, 1, small.n_rows)
    few = company(150, 50, criterion=Variance(4000))
    assert few.n_trees == few.room < CPU.grown_trees


@pytest.mark.parametrize(
    "criterion",
    [ClassEntropy(3, 3), pytest.param(SparseClassEntropy(3), marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("trees_at_once", [2])
def test_a_tree_does_not_depend_on_the_trees_it_grows_with(criterion, trees_at_once):
    x, classes = class_table(7)
    samples, thresholds = samples_of(x, classes)
    config = config_for(x, thresholds, criterion)
    whole, gains = grow(samples, config, 5, trees_at_once=3)
    parts, part_gains = grow(samples, config, 5, trees_at_once=trees_at_once)
    np.testing.assert_array_equal(gains, part_gains)
    chex.assert_trees_all_equal(whole, parts)


@pytest.mark.parametrize(
    "criterion",
    [
        ClassEntropy(3, 3),
        pytest.param(Variance(3), marks=pytest.mark.slow),
        pytest.param(SparseClassEntropy(3), marks=pytest.mark.slow),
    ],
    ids=lambda criterion: type(criterion).__name__,
)
def test_threads_do_not_change_a_tree(criterion, monkeypatch):
    x, classes = class_table(6)
    samples, thresholds = samples_of(x, classes)
    config = config_for(x, thresholds, criterion)
    grown = []
    for n_threads in (1, 4):
        monkeypatch.setattr(_devices, "thread_count", lambda n_threads=n_threads: n_threads)
        grown.append(grow(samples, config, 5))
    chex.assert_trees_all_equal(*grown)


def test_later_trees_do_not_depend_on_where_growth_started():
    x, classes = class_table(8)
    samples, thresholds = samples_of(x, classes)
    config = config_for(x, thresholds, ClassEntropy(3, 3))
    whole, _ = grow(samples, config, 5)
    parts = blocks.join(grow(samples, config, 2)[0], grow(samples, config, 3, first_tree=2)[0])
    chex.assert_trees_all_equal(whole, parts)


def test_forests_of_different_depths_are_joined_and_taken_apart_again():
    parts = [forest_of_splits(2, 5, splits, seed) for seed, splits in enumerate(SPLITS.values())]
    gains = [(part.threshold < np.inf).astype(np.float32) * 3 for part in parts]
    lots = [as_deep_as_grown(Grown(*both)) for both in zip(parts, gains, strict=True)]
    assert [lot.forest.depth for lot in lots] == list(DEPTH.values())
    whole = join_grown(*lots)
    assert whole.forest.depth == 3
    assert invariant_violation(whole.forest, 3) is None
    rows = rows_on_thresholds(whole.forest)
    total = sum(plain_sums(rows, part) for part in parts)
    np.testing.assert_array_equal(plain_sums(rows, whole.forest), total)
    np.testing.assert_array_equal(whole.gain > 0, whole.forest.threshold < np.inf)
    for k, lot in enumerate(lots):
        again = take_trees(whole, 2 * k, 2 * k + 2)
        for one, two in zip((*again.forest, again.gain), (*lot.forest, lot.gain), strict=True):
            np.testing.assert_array_equal(one, two)
    for one, two in zip(join(*(lot.forest for lot in lots)), whole.forest, strict=True):
        np.testing.assert_array_equal(one, two)
    assert copy.deepcopy(whole).forest.depth == 3


seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(1, 4))
def test_trees_taken_apart_and_joined_sum_to_the_same(seed, n_first):
    rng = np.random.default_rng(seed)
    forest, grid = random_forest(rng, 5, 3, 4, 3)
    grown = Grown(forest, rng.random(forest.feature.shape).astype(np.float32))
    parts = [take_trees(grown, 0, n_first), take_trees(grown, n_first, 5)]
    x = awkward_rows(rng, 8, grid)
    sums = plain_sums(x, forest)
    np.testing.assert_array_equal(sum(plain_sums(x, part.forest) for part in parts), sums)
    joined = join(*(part.forest for part in parts))
    assert invariant_violation(joined, 4) is None
    np.testing.assert_array_equal(plain_sums(x, joined), sums)
    backwards = join(*(part.forest for part in reversed(parts)))
    np.testing.assert_array_equal(plain_sums(x, backwards), sums)
    gains = np.concatenate([node_levels(part.gain, forest.depth, 0) for part in parts])
    split = is_split(forest)
    np.testing.assert_array_equal(gains[split], grown.gain[split])


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("alone", [False, True])
def test_blocks_come_in_order_and_the_first_alone_where_its_program_is_new(n_threads, alone):
    first_is_done, together = threading.Event(), threading.Barrier(2, timeout=20)

    def start(block):
        if alone:
            assert block == 0 or first_is_done.is_set()
            first_is_done.set()
        elif n_threads > 1 and block < 2:
            together.wait()  # both are in work at a time
        return -block

    numbers = [0, 1, 2]
    found = list(blocks._in_threads(start, numbers, n_threads, alone=alone))
    assert found == [0, -1, -2]
