"""Growth in the few large steps of accelerators, run on the CPU, gives the same bytes."""

import dataclasses

import jax
import numpy as np
import pytest

from lrrf_jax import LEARNERS, _backend, _devices
from lrrf_jax._backend import ACCELERATOR, CPU
from lrrf_jax.datasets import delete_labels
from lrrf_jax.trees import blocks
from lrrf_jax.trees.cell_search import cells_of
from lrrf_jax.trees.class_criterion import SparseClassEntropy
from lrrf_jax.trees.draws import drawn_capacity
from lrrf_jax.trees.forest import is_split
from lrrf_jax.trees.nodes import make_plan
from lrrf_jax.trees.padding import padded_rows
from lrrf_jax.trees.vector_criterion import Variance
from tests.accelerator import accelerator_forms
from tests.trees.cases import N_ROWS, all_in_use, config_for, samples_of
from tests.trees.growing import class_table, grow, ranking_table, samples_of_rankings

CUTS = {"splitter": "frequency", "n_cuts": 3}
# Criterion, share of missing labels and of missing features, changes of the configuration.
CASES = {
    "stages of classes": ("tlac", 0.3, 0.1, {}),
    "signs, some unknown": ("pairwise", 0.3, 0.0, {}),
    "classes by cells": ("edira", 0.3, 0.0, {}),
    "few cuts, votes on pairs": ("dispersion", 0.0, 0.0, CUTS),
}
SLOW = {
    "all signs known": ("pairwise", 0.0, 0.1, {}),
    "positions": ("positions", 0.0, 0.0, {"splitter": "random"}),
    "positions, some unknown": ("positions", 0.3, 0.1, {"least": 3}),
    "generalised votes": ("votes", 0.3, 0.0, {}),
    "theta": ("theta", 0.3, 0.0, {"splitter": "width", "n_cuts": 3}),
    "votes on pairs, all thresholds": ("dispersion", 0.3, 0.1, {}),
    "similarity": ("similarity", 0.0, 0.0, {}),
    "similarity, some unknown": ("similarity", 0.3, 0.0, {}),
    "classes by cells, all of them": ("edira", 0.0, 0.0, {"bootstrap": False}),
    "random thresholds": ("tlac", 0.0, 0.1, {"splitter": "random"}),
    "quantiles and missing values": ("tlac", 0.0, 0.2, CUTS),
    "all features": ("tlac", 0.0, 0.0, {"n_candidates": 5, "max_depth": 9}),
}
MANY = {name: pytest.param(name, marks=pytest.mark.slow) for name in SLOW}


def assert_same_bytes(a, b):
    assert is_split(a.forest).sum() >= 6
    for one, other in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(one.view(np.uint8), other.view(np.uint8))


@pytest.mark.parametrize("name", [*CASES, *MANY.values()])
def test_trees_of_large_steps_are_those_of_small_ones(name):
    criterion, labels, features, changes = (CASES | SLOW)[name]
    x, y = ranking_table(3, labels, features)
    samples, _, config = samples_of_rankings(criterion, x, y, **changes)
    small = grow(samples, config)
    with accelerator_forms():
        large = grow(samples, config)
    assert_same_bytes(small, large)


@pytest.mark.parametrize(
    ("splitter", "bootstrap"),
    [("best", False), *(pytest.param(s, True, marks=pytest.mark.slow) for s in ("best", "random"))],
)
def test_classes_of_whole_rankings_are_searched_by_cells_alike(splitter, bootstrap):
    x, classes = class_table(4, 0.1 * bootstrap)
    stat = (classes @ [9, 3, 1]).astype(np.int32)[:, None]
    samples, thresholds = samples_of(x, stat)
    changes = {"splitter": splitter, "bootstrap": bootstrap}
    config = config_for(x, thresholds, SparseClassEntropy(N_ROWS), **changes)
    n_draws = 2 * padded_rows(N_ROWS)
    n_drawn = drawn_capacity(n_draws, bootstrap)
    n_cells = make_plan(config, 2, n_draws).n_slots * config.n_bins
    assert (n_cells <= n_drawn) == (not bootstrap)  # of which all are kept, or those in use
    small = grow(samples, config)
    with accelerator_forms():
        large = grow(samples, config)
    assert_same_bytes(small, large)


@pytest.mark.parametrize("memory", [2**30, pytest.param(1, marks=pytest.mark.slow)])
def test_several_blocks_and_passes_find_what_one_finds(memory, monkeypatch):
    x, y = ranking_table(5, 0.0, 0.1)
    samples, _, config = samples_of_rankings("tlac", x, y, histogram_bytes=memory)
    plain = grow(samples, config)
    monkeypatch.setattr(_backend, "ACCELERATOR", dataclasses.replace(ACCELERATOR, search_bytes=1))
    suited = blocks.suited_to(_backend.ACCELERATOR, config)
    (kind,) = make_plan(suited, 2, 2 * N_ROWS).kinds
    assert not kind.at_once
    assert (kind.layout.n_blocks > 2, kind.n_passes > 2) == (memory > 1, memory == 1)
    with accelerator_forms():
        assert_same_bytes(plain, grow(samples, config))


LEARNED = {
    "tlac deep": ("lr-rf", {"max_depth": 16, "max_bins": "exact"}),
    "mean votes": ("lr-rf", {"criterion": "rac", "aggregation": "one-step"}),
    "mean preferences": ("lr-rf", {"criterion": "pairwise", "aggregation": "copeland"}),
    "positions": ("lr-rf", {"criterion": "positions", "aggregation": "kemeny"}),
    "lrt": ("lrt-bag", {}),
    "theta": ("lrt-bag", {"criterion": "theta"}),
    "width": ("w-lrt-bag", {"n_bins": 4}),
    "frequency": ("f-lrt-bag", {"n_bins": 4, "max_depth": 8}),
    "edira": ("lrf-ert", {}),
    "votes": ("lrf-rt", {}),
    "lw": ("lw-rf", {}),
    "pw": ("pw-rf", {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNED)
@pytest.mark.parametrize("weighted", [False, True])
def test_learners_fit_the_same_forests(name, weighted):
    learner, options = LEARNED[name]
    n_rows, n_features, n_labels = 400, 8, 5
    rng = np.random.default_rng(1)
    x = rng.standard_normal((n_rows, n_features)).astype(np.float32)
    signal = x @ rng.standard_normal((n_features, n_labels))
    y = np.argsort(np.argsort(signal + rng.standard_normal(signal.shape))) + 1.0
    weight = None
    if weighted:
        y = delete_labels(y, 0.3, 1)
        told = (~np.isnan(y)).sum(1) > 1  # the others would be left out, with a warning
        x, y = x[told], y[told]
        weight = rng.integers(0, 5, len(x)).astype(float)
    if LEARNERS[learner].accepts_missing_features:
        x[rng.random(x.shape) < 0.1] = np.nan

    def fitted():
        return LEARNERS[learner](n_estimators=2, random_state=0, **options).fit(x, y, weight)

    plain = fitted()
    with accelerator_forms():
        large = fitted()
        scores = large.predict_scores(x)
    np.testing.assert_array_equal(plain.predict_scores(x), scores)
    for one, other in zip(plain.forest_, large.forest_, strict=True):
        np.testing.assert_array_equal(one, other)


# ------------------------------------------------------------------------------------- pieces
def test_cells_are_numbered_by_slot_and_bin():
    rng = np.random.default_rng(0)
    slot, value = rng.integers(0, 6, 60).astype(np.int32), rng.integers(0, 4, 60).astype(np.int32)
    weight = rng.integers(0, 9, (60, 2)).astype(np.int32)
    slot[slot == 2] = 5  # none in slot 2; 5 is no slot
    for n_bins in (4, 16):  # all cells, those in use
        cells = jax.jit(cells_of, static_argnums=(2, 3))(slot, value, 5, n_bins)
        assert (len(cells.slot) == 20) == (n_bins == 4)
        upto, whole = map(np.asarray, cells.running(weight))
        for row in np.flatnonzero(slot < 5):
            cell = cells.of_sample[row]
            assert (cells.slot[cell], cells.value[cell]) == (slot[row], value[row])
            before = (slot == slot[row]) & (value <= value[row])
            np.testing.assert_array_equal(upto[:, cell], weight[before].sum(0))
        for number in range(5):
            np.testing.assert_array_equal(whole[:, number], weight[slot == number].sum(0))


def trees_at_once(samples, config, n_trees):
    company = blocks._company(samples, config, n_trees, 1, ACCELERATOR)
    assert company.room == company.n_trees
    return company.n_trees


def test_memory_bounds_the_trees_of_large_steps_and_few_tables_are_no_power_of_two():
    x, y = ranking_table(3)
    samples, _, config = samples_of_rankings("pairwise", x, y, histogram_bytes=2**32)
    config = blocks.suited_to(ACCELERATOR, config)
    assert config.histogram_bytes == 2**30
    samples = all_in_use(samples, config)
    sizes = [trees_at_once(samples, config, n) for n in (1, 7, 50, 100, 5000)]
    assert sizes == [1, 7, 56, 112, 1024]
    one = blocks._grown_bytes(samples, config, blocks.Company(1, 1, N_ROWS))
    for n_fit in (1, 3, 6):
        less = dataclasses.replace(config, histogram_bytes=(n_fit * one + one // 2) // 4)
        assert trees_at_once(samples, less, 500) in (n_fit, n_fit - 1, 1)
    assert blocks.suited_to(CPU, config).histogram_bytes == config.histogram_bytes


def test_no_cell_of_a_table_is_beyond_32_bits():
    x, y = ranking_table(3)
    samples, _, config = samples_of_rankings("pairwise", x, y)
    huge = dataclasses.replace(
        config, criterion=Variance(1225), max_depth=16, n_candidates=5, histogram_bytes=2**40
    )
    config = blocks.suited_to(ACCELERATOR, huge)
    samples = samples._replace(weight=np.ones(2**20, np.int32))
    n_trees = trees_at_once(all_in_use(samples, config), config, 1000)
    (kind,) = make_plan(config, n_trees, n_trees * 2**20).kinds
    assert kind.n_passes > 1
    assert kind.layout.size < 2**31
    assert n_trees * 2**20 < 2**31


def test_accelerators_share_half_of_their_memory(monkeypatch):
    class Device:
        platform, process_index = "cuda", jax.process_index()

        def memory_stats(self):
            return {"bytes_limit": 106 * 10**9, "bytes_in_use": 10**9}

    monkeypatch.setattr(_devices, "growing_devices", lambda: (Device(), Device()))
    assert _devices.memory_share(None) == 2**35
    assert _devices.memory_share(10**9) == 10**9
