"""Which nodes of a level are open, and where their samples are, against plain loops."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrrf_jax.trees.class_criterion import ClassEntropy, SparseClassEntropy
from lrrf_jax.trees.draws import drawn_capacity
from lrrf_jax.trees.growth import Drawn, GrowthConfig, Nodes, Samples
from lrrf_jax.trees.nodes import level_nodes, make_plan, open_slots
from lrrf_jax.trees.vector_criterion import Variance


def test_only_small_nodes_of_vectors_that_can_be_many_keep_compact_bins():
    config = config_of(Variance(3, signs=True), n_bins=32, max_depth=8)
    assert level_nodes(config, 1, 1000) == [(91, 32), (128, 8)]
    for change in (
        {"criterion": ClassEntropy(3)},
        {"splitter": "random"},
        {"min_samples_split": 10},
        {"max_depth": 7},
        {"n_bins": 16},
    ):
        assert len(level_nodes(dataclasses.replace(config, **change), 1, 1000)) == 1


SETTINGS = {"n_candidates": 3, "n_features": 5}
CRITERIA = (
    ClassEntropy(3, 2),
    Variance(2, signs=True),
    Variance(3, masked=True),
    SparseClassEntropy(90),
)


def config_of(criterion, **changes):
    settings = SETTINGS | {"max_depth": 5, "n_bins": 16} | changes
    return GrowthConfig(criterion, **settings)


@st.composite
def configs(draw):
    """Configurations of any shape; and numbers of trees, and of rows that they draw in all."""
    config = config_of(
        draw(st.sampled_from(CRITERIA)),
        max_depth=draw(st.integers(1, 16)),
        n_bins=draw(st.sampled_from([16, 32, 64, 128, 256])),
        has_missing=draw(st.booleans()),
        splitter=draw(st.sampled_from(["best", "best", "random", "width", "frequency"])),
        n_cuts=draw(st.integers(1, 4)),
        min_samples_split=draw(st.sampled_from([2, 5, 40])),
        short_sums=draw(st.booleans()),
        histogram_bytes=draw(st.sampled_from([1, 2**16, 2**29])),
        search_bytes=draw(st.sampled_from([1, 2**12, 2**17])),
    )
    return config, draw(st.integers(1, 8)), draw(st.integers(1, 3000))


@given(configs())
def test_slots_of_all_kinds_lie_behind_each_other_in_whole_passes(case):
    config, n_trees, n_draws = case
    plan = make_plan(config, n_trees, n_draws)
    assert plan.n_places == max(2 * plan.n_slots, n_trees)
    numbers = level_nodes(config, n_trees, n_draws)
    least_copies = max(2, config.min_samples_split)
    deepest = n_trees * 2 ** (config.max_depth - 1)
    assert numbers[-1][0] == min(deepest, max(n_trees, n_draws // least_copies))
    if config.criterion.searches_sorted:
        assert plan.kinds == ()
        assert plan.n_slots == numbers[0][0]
        return
    first = 0
    most_rows = [kind.most_rows for kind in plan.kinds]
    assert most_rows == [0, *sorted(most_rows[1:], reverse=True)]
    for kind, (n_nodes, n_bins) in zip(plan.kinds, numbers, strict=True):
        layout = kind.layout
        assert kind.first == first
        assert kind.n_slots == kind.n_passes * layout.n_blocks * layout.block_nodes
        assert 0 <= kind.n_slots - n_nodes < layout.n_blocks * layout.block_nodes
        assert layout.n_bins == n_bins
        assert (kind.ranks is not None) == (kind.most_rows > 0)
        first += kind.n_slots
    assert plan.n_slots == first


@given(configs())
def test_blocks_and_passes_are_as_large_as_their_bytes_allow(case):
    config, n_trees, n_draws = case
    plan = make_plan(config, n_trees, n_draws)
    vectors, best = config.criterion.adds_vectors, config.splitter == "best"
    short = jnp.int16 if vectors else jnp.uint16
    numbers = level_nodes(config, n_trees, n_draws)
    for kind, (n_nodes, _) in zip(plan.kinds, numbers, strict=False):  # none: a sorted search
        layout = kind.layout
        assert layout.dtype == (short if config.short_sums else jnp.int32)
        cell = jnp.dtype(layout.dtype).itemsize
        limit = config.search_bytes * (4 if vectors and best else 1)
        searched = layout.block_size * cell
        assert layout.block_nodes.bit_count() == 1
        assert layout.block_nodes == 1 or searched <= limit
        assert 2 * layout.block_nodes > n_nodes or 2 * searched > limit
        block = searched + (kind.ranks.block_size if kind.ranks else 0)
        assert layout.n_blocks == 1 or layout.n_blocks * block <= config.histogram_bytes
        # Fewer passes, of so many more blocks, would not fit.
        assert kind.n_passes == 1 or (layout.n_blocks + 1) * block > config.histogram_bytes
    room = [kind.layout.size for kind in plan.kinds], [k.ranks.size for k in plan.kinds if k.ranks]
    if sum(map(sum, room)) < 2**18:  # or it takes long to make
        assert [field.size for field in plan.scratch] == [max(sizes, default=0) for sizes in room]
        assert plan.scratch.ranks.dtype == jnp.uint8
        assert not plan.kinds or plan.scratch.sums.dtype == plan.kinds[0].layout.dtype


@given(configs(), st.randoms(use_true_random=False))
def test_there_are_slots_for_any_nodes_that_the_rows_can_make(case, random):
    config, n_trees, n_draws = case
    plan = make_plan(config, n_trees, n_draws)
    n_drawn = random.randint(1, drawn_capacity(n_draws, config.bootstrap))
    # Rows in nodes at random; each row counts once or more, all copies at most n_draws.
    least = random.choice([1, 2, 7, 8, 31, 32, 40])
    sizes, left = [], n_drawn
    while left >= least and len(sizes) < n_trees * 2 ** (config.max_depth - 1):
        sizes.append(min(left, random.randint(least, 2 * least)))
        left -= sizes[-1]
    spare = n_draws - sum(sizes)
    copies = []
    for size in sizes:  # as many nodes as can be have enough copies to be split
        more = max(0, config.min_samples_split - size)
        copies.append(size + (more if more <= spare else 0))
        spare -= copies[-1] - size
    opened = [s for s, c in zip(sizes, copies, strict=True) if c >= config.min_samples_split]
    assert len(opened) <= plan.n_slots
    limits = [kind.most_rows for kind in plan.kinds[1:]] + [0]
    for kind, most in zip(plan.kinds, limits, strict=False):  # a sorted search has no kinds
        here = [size for size in opened if size > most]
        opened = [size for size in opened if size <= most]
        assert len(here) <= kind.n_slots


def slots_by_loop(plan, places, drawn, stat, config):
    """Number the places that open, kind by kind; returns {place: slot}, and slots of each kind."""
    limits = [kind.most_rows for kind in plan.kinds[1:]] + [0]
    slots, used = {}, [0] * len(plan.kinds)
    for place in range(plan.n_places):
        here = (drawn.at == place) & (drawn.copies > 0)
        enough = drawn.copies[here].sum() >= config.min_samples_split
        agree = (stat[here] == stat[here][:1]).all()
        if places.exists[place] and enough and not agree:
            kind = next(k for k, most in enumerate(limits) if here.sum() > most)
            slots[place] = plan.kinds[kind].first + used[kind]
            used[kind] += 1
    return slots, used


@pytest.mark.parametrize("criterion", [Variance(2, signs=True), ClassEntropy(3)], ids=type)
def test_places_that_may_be_split_open_slots_of_their_kind_in_order(criterion):
    rng = np.random.default_rng(6)
    compact = isinstance(criterion, Variance)
    config = config_of(criterion, n_bins=128, max_depth=6, min_samples_split=5)
    n_rows = 128
    plan = make_plan(config, 2, n_rows)
    assert len(plan.kinds) == (2 if compact else 1)
    # Two crowded places, many of a few samples, some of one; some samples rest at place 0.
    at = np.concatenate([[0] * 34, [5] * 36, rng.integers(6, 30, n_rows - 70)]).astype(np.int32)
    at = rng.permutation(at)
    copies = rng.integers(1, 3, n_rows).astype(np.int32)
    resting = rng.random(n_rows) < 0.1
    at[resting], copies[resting] = 0, 0
    stat = rng.choice([-1, 1], (n_rows, 2)).astype(np.int32)
    stat[at % 4 == 3] = 1
    if not compact:
        stat = (stat[:, :1] + 1) // 2
    number = np.arange(plan.n_places, dtype=np.int32) * 3
    exists = rng.random(plan.n_places) < 0.9
    exists[[0, 5]] = True
    stage = np.zeros(plan.n_places, np.int32)
    places = Nodes(number, exists, stage)
    row = np.arange(n_rows, dtype=np.int32)
    label = np.zeros(0, np.int32) if compact else stat[:, 0]
    drawn = Drawn(row, at, copies, 2 * copies, label)
    samples = Samples(None, stat, None, None, None, None)

    slots, used = slots_by_loop(plan, places, drawn, stat, config)
    with jax.disable_jit():
        nodes, moved = open_slots(*jax.device_put((places, drawn, samples)), config, plan)
    nodes, moved = jax.tree.map(np.asarray, (nodes, moved))
    held = np.zeros(plan.n_slots, bool)
    for place, slot in slots.items():
        held[slot] = True
        assert nodes.number[slot] == number[place]
    np.testing.assert_array_equal(nodes.exists, held)
    for i in range(n_rows):
        slot = slots.get(at[i], 0) if copies[i] else 0
        goes_on = bool(copies[i]) and at[i] in slots
        assert moved.at[i] == slot
        assert moved.copies[i] == (copies[i] if goes_on else 0)
        assert moved.weight[i] == (2 * copies[i] if goes_on else 0)
    np.testing.assert_array_equal(moved.row, row)
    assert all(used)
    closed = set(np.unique(at)) - set(slots)
    assert len(closed) > 3
