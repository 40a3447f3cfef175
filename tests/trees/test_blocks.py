"""How a forest is cut into blocks, and how many of them grow at a time."""

import dataclasses

import jax
import numpy as np
import pytest

from lrrf_jax import _devices as mesh
from lrrf_jax.trees import blocks
from lrrf_jax.trees.criterion import ClassEntropy, Variance
from tests.trees.cases import config_for, features_with_ties, samples_of

X = features_with_ties(np.random.default_rng(0), 110, 5)
SAMPLES, THRESHOLDS = samples_of(X, np.zeros((110, 3), np.int32))
CONFIG = config_for(X, THRESHOLDS, ClassEntropy(3))


@pytest.fixture
def plan(monkeypatch):
    """What a call would grow: the numbers of each block, and the threads; nothing is compiled."""

    def plan(trees, **options):
        seen = {}

        def in_threads(start, blocks, n_threads):
            seen.update(numbers=np.array(blocks).tolist(), n_threads=n_threads)
            return []

        monkeypatch.setattr(blocks, "_in_threads", in_threads)
        monkeypatch.setattr(blocks, "_block_grower", lambda *_: (None, None))
        with pytest.raises(ValueError, match="zip"):  # a generator that ends early
            list(blocks.grow_blocks(jax.random.key(0), SAMPLES, CONFIG, trees, **options))
        return seen

    return plan


def use_cpus(monkeypatch, n_devices, n_threads):
    monkeypatch.setattr(mesh, "thread_count", lambda: n_threads)
    monkeypatch.setattr(mesh, "growing_devices", lambda: n_devices * (jax.devices()[0],))


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
    one = blocks._tree_bytes(SAMPLES, CONFIG)
    for n_fit in (1, 2, 3):
        # A thread grows a tree on each of the two devices.
        budget = 2 * n_fit * one + one
        assert plan(range(20), trees_at_once=1, memory_budget=budget)["n_threads"] == n_fit
    assert plan(range(20), trees_at_once=1, memory_budget=1)["n_threads"] == 1
    assert plan(range(20), trees_at_once=1)["n_threads"] == 4


def test_a_smaller_share_of_memory_means_fewer_trees_at_once():
    one = blocks._tree_bytes(SAMPLES, CONFIG)
    for n_fit in (1, 2, 4, 8):
        config = dataclasses.replace(CONFIG, histogram_bytes=n_fit * one + one // 2)
        assert blocks._trees_at_once(SAMPLES, config, 30) == n_fit
    small = dataclasses.replace(CONFIG, histogram_bytes=1)
    assert blocks._trees_at_once(SAMPLES, small, 30) == 1
    # Pairs of many labels weigh more than a class.
    pairs = dataclasses.replace(CONFIG, criterion=Variance(45))
    assert blocks._tree_bytes(SAMPLES, pairs) > one
