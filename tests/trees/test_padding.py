"""Tables of like sizes share programs, and their trees are what they were without padding."""

import dataclasses

import chex
import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrrf_jax import LEARNERS
from lrrf_jax._backend import ACCELERATOR, CPU
from lrrf_jax.learners._table import training_table
from lrrf_jax.learners.forest.samples import growth_samples
from lrrf_jax.trees import blocks
from lrrf_jax.trees.class_criterion import ClassEntropy, SparseClassEntropy
from lrrf_jax.trees.padding import SMALL, padded_rows, share_program, small_of
from lrrf_jax.trees.vector_criterion import Variance
from tests.strategies import fewer
from tests.trees.cases import all_in_use, config_for, samples_of
from tests.trees.growing import class_table, grow

SETTINGS = {
    "tlac": {},
    "top label": {"purity": "top-label"},
    "positions": {"criterion": "positions"},
    "pairwise": {"criterion": "pairwise"},
    "extremely randomised": {"splitter": "random"},
}


def table(rng, n_samples, n_features, n_labels):
    """Random rows of the given sizes, with complete rankings."""
    x = rng.standard_normal((n_samples, n_features)).astype(np.float32)
    return x, np.argsort(rng.random((n_samples, n_labels)), axis=1) + 1


def program_of(settings, x, y, n_trees=50):
    """What decides which program grows a forest: the configuration, and all shapes and types."""
    ranker = LEARNERS["lr-rf"](n_estimators=n_trees, **settings)
    rows = training_table(x, y, None, missing="unknown")
    samples, config, _ = growth_samples(rows, ranker._config(rows.shape))
    samples, config = share_program(samples, blocks.suited_to(CPU, config), CPU)
    company = blocks._company(samples, config, n_trees, 2, CPU)
    shapes = tuple((np.shape(a), np.asarray(a).dtype.str) for a in jax.tree.leaves(samples))
    return shapes, dataclasses.replace(config, n_draws=company.n_draws), company.room


@pytest.mark.parametrize("name", SETTINGS)
def test_tables_below_4096_rows_16_features_and_8_labels_need_three_programs(name):
    rng, programs = np.random.default_rng(0), set()
    for _ in range(40):
        n_samples = int(np.exp(rng.uniform(np.log(20), np.log(4096))))
        sizes = n_samples, int(rng.integers(1, 16)), int(rng.integers(2, 8))
        n_trees = int(rng.choice([10, 50, 100]))
        programs.add(program_of(SETTINGS[name], *table(rng, *sizes), n_trees))
    # Pairs of labels: up to 8, 16, 32, of two sizes of tables.
    assert len(programs) <= (6 if name == "pairwise" else 3)


def test_folds_of_a_table_share_a_program():
    rng = np.random.default_rng(1)
    x, y = table(rng, 20_000, 20, 12)
    assert len({program_of({}, x[:n], y[:n]) for n in (17_998, 17_999, 18_000, 18_001)}) == 1


@given(st.integers(1, 10**7))
@fewer(3)
def test_rows_are_padded_by_a_quarter_at_most_where_tables_are_not_small(n_samples):
    assert n_samples <= padded_rows(n_samples) <= max(64, n_samples + n_samples // 4)


def test_wide_tables_get_no_room_for_rows_that_they_do_not_have():
    assert small_of(33, 16) == SMALL[0]
    assert small_of(33, 17) is None
    samples, _, _ = program_of({}, *table(np.random.default_rng(2), 33, 300, 5))
    assert samples[0][0] == (64, 384)


@pytest.mark.parametrize(
    ("criterion", "changes", "missing"),
    [
        (ClassEntropy(3, 3), {}, 0.15),
        (ClassEntropy(3, 3), {"splitter": "random"}, 0.0),
        (SparseClassEntropy(128), {}, 0.15),
        (Variance(3), {"max_depth": 6}, 0.15),
        pytest.param(Variance(3), {"splitter": "width", "n_cuts": 2}, 0.15, marks=pytest.mark.slow),
        pytest.param(SparseClassEntropy(128), {"splitter": "random"}, 0, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_padding_does_not_change_a_tree(criterion, changes, missing, monkeypatch):
    x, classes = class_table(3, missing)
    if isinstance(criterion, SparseClassEntropy):
        classes = classes @ np.int32([[9], [3], [1]])
    samples, thresholds = samples_of(x, classes, max_thresholds=13)
    config = config_for(x, thresholds, criterion, **changes)
    padded, room = share_program(all_in_use(samples, config), config, CPU)
    assert (config.n_bins, room.n_bins) == (16, 32)  # of which the others tie with the last
    assert room.criterion != criterion
    assert room.n_candidates > config.n_candidates
    assert padded.stat.shape[1] >= samples.stat.shape[1]
    shared = grow(samples, config)
    monkeypatch.setattr(blocks, "share_program", lambda samples, config, backend: (samples, config))
    chex.assert_trees_all_equal(shared, grow(samples, config))
    assert (shared.forest.missing_left.any()) == (missing > 0)


def test_an_accelerator_gets_rows_of_few_sizes_and_nothing_else():
    x, classes = class_table(3)
    samples, thresholds = samples_of(x, classes)
    config = config_for(x, thresholds, ClassEntropy(3, 3))
    padded, same = share_program(samples, config, ACCELERATOR)
    assert same == config
    for own, wide in zip(samples[:4], padded[:4], strict=True):
        assert wide.shape == (padded_rows(len(own)), *own.shape[1:])
        np.testing.assert_array_equal(wide[: len(own)], own)
