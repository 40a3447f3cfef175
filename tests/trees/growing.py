"""Growing small forests, of rankings too, and checking their nodes against all candidate splits."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from lrrf_jax.learners.forest.config import ForestConfig
from lrrf_jax.learners.forest.preferences import Rankings
from lrrf_jax.learners.forest.targets import growth_statistic
from lrrf_jax.trees import blocks
from lrrf_jax.trees.binning import candidate_bins
from lrrf_jax.trees.draws import count_rows, draw_for_all_nodes, keys_of_trees
from lrrf_jax.trees.forest import invariant_violation
from lrrf_jax.trees.growth import Candidates, Drawn, Level, Samples, Scratch, Sizes
from lrrf_jax.trees.nodes import make_plan
from lrrf_jax.trees.sorted_search import sort_samples
from lrrf_jax.trees.thresholds import choose_edges
from tests import tree_oracles
from tests.trees.cases import (
    N_ROWS,
    all_in_use,
    config_for,
    features_with_ties,
    samples_of,
    with_leaves_of,
)

KEY = jax.random.key(5)
N_SAMPLES, N_LABELS = 110, 4


def grow(samples, config, n_trees=2, first_tree=0, trees_at_once=2):
    # Two at once, unless a test says otherwise: another number is another program.
    trees = range(first_tree, first_tree + n_trees)
    options = {"trees_at_once": trees_at_once}
    samples = all_in_use(samples, config)
    return blocks.join_grown(*blocks.grow_blocks(KEY, samples, config, trees, **options))


def rows_drawn(keys, n_samples, bootstrap=True):
    """How often each tree draws each row, int32 (n_trees, n_samples)."""
    n_draws = len(keys.rows) * n_samples
    counted = count_rows(jnp.asarray(keys.rows), jnp.int32(n_samples), n_draws, bootstrap)
    return np.asarray(counted.copies).reshape(-1, n_samples)


def check(x, samples, thresholds, config, oracle_of, n_trees=2):
    """Check every tree of a small forest; returns the number of split and unsplit nodes."""
    forest, gain = grow(samples, config, n_trees)
    assert invariant_violation(forest, x.shape[1]) is None
    n_split = n_unsplit = 0
    keys = keys_of_trees(KEY, np.arange(n_trees, dtype=np.int32))
    sizes = all_in_use(samples, config).sizes
    all_candidates = np.asarray(draw_for_all_nodes(keys, sizes, config).feature)
    all_candidates = all_candidates.reshape(n_trees, -1, config.n_candidates)
    all_counts = rows_drawn(keys, len(x), config.bootstrap)
    for t in range(n_trees):
        counts, candidates = all_counts[t], all_candidates[t]
        assert counts.sum() == len(x)
        assert all(len(set(row)) == config.n_candidates for row in candidates)
        oracle = oracle_of(counts)
        split, unsplit = tree_oracles.check_growth(
            x,
            thresholds,
            (forest.feature[t], forest.threshold[t], forest.missing_left[t]),
            counts,
            candidates,
            score=oracle,
            counted=oracle.counted(counts),
            min_split=config.min_samples_split,
            min_leaf=sizes.min_samples_leaf,
        )
        n_split, n_unsplit = n_split + split, n_unsplit + unsplit
    assert (gain[forest.threshold == np.inf] == 0).all()
    return n_split, n_unsplit


def level_arrays(rng, config, stat, sizes, weight=None, least=1):
    """Make a level by hand, of which slot ``s`` holds ``sizes[s]`` rows; all others rest.

    A child of a split needs ``least`` rows.

    Returns the plan and (samples, drawn, exists, candidates, scratch) with garbage in the scratch.
    """
    n_features, n_known = config.n_features, config.n_bins - config.has_missing
    bins = rng.integers(0, n_known, (N_ROWS, n_features))
    bins[:, 0] = rng.integers(3, 6, N_ROWS)
    if config.has_missing:
        bins[rng.random(bins.shape) < 0.2] = config.n_bins - 1
    slot, copies = np.zeros((2, N_ROWS), np.int32)
    row = rng.permutation(N_ROWS)
    for number, size in sizes.items():
        here, row = row[:size], row[size:]
        slot[here], copies[here] = number, rng.integers(1, 3, size)
    weight = np.ones(N_ROWS, np.int32) if weight is None else weight
    thresholds = np.sort(rng.standard_normal((n_features, config.n_bins - 1)), axis=1)
    samples = Samples(
        bin_index=bins.astype(np.uint8),
        stat=stat,
        leaf_stat=stat,
        weight=weight,
        thresholds=thresholds.astype(np.float32),
        sizes=Sizes(np.int32(N_ROWS), *np.zeros(4, np.int32)),
    )
    samples = with_leaves_of(least, all_in_use(samples, config))
    plan = make_plan(config, 1, N_ROWS)
    features = [rng.permutation(n_features)[: config.n_candidates] for _ in range(plan.n_slots)]
    candidates = Candidates(np.array(features, np.int32), None)
    exists = np.isin(np.arange(plan.n_slots), list(sizes))
    nothing = np.zeros(0, np.int32)
    drawn = Drawn(np.arange(N_ROWS, dtype=np.int32), slot, copies, copies * weight, nothing)
    samples, drawn, exists, candidates = jax.device_put((samples, drawn, exists, candidates))
    drawn = drawn._replace(label=config.criterion.start(drawn, samples))  # as if slots were trees
    scratch = Scratch(
        *(jnp.asarray(rng.integers(0, 99, room.size), room.dtype) for room in plan.scratch)
    )
    return plan, (samples, drawn, exists, candidates, scratch)


def search_level(search, config, plan, arrays):
    """Search a level made by hand; returns its splits, and the edges tried where they are few."""
    return jax.tree.map(np.asarray, level_program(search, config, plan)(*arrays))


@functools.cache
def level_program(search, config, plan):
    @jax.jit
    def run(samples, drawn, exists, candidates, scratch):
        bins = candidate_bins(samples.bin_index, drawn.row, drawn.at, candidates.feature)
        sorts = config.criterion.searches_sorted
        order = sort_samples(samples, drawn.row, config) if sorts else None
        level = Level(config, plan, samples, drawn, exists, candidates, bins, order, scratch)
        edges = None if config.splitter == "best" else choose_edges(level)
        return search(level)[0], edges

    return run


def best_gains(config, arrays, score, counted, edges=None):
    """Yield (slot, rows, gain of every split): {(feature, edge, missing left): gain}.

    Only of splits that leave ``min_samples_leaf`` on both sides; ``score(rows)`` is the purity
    score of a group, ``counted(rows)`` its size.
    """
    samples, drawn, exists, candidates, _ = jax.tree.map(np.asarray, arrays)
    last = config.n_bins - 1
    for slot in np.flatnonzero(exists):
        rows = np.flatnonzero((drawn.at == slot) & (drawn.copies > 0))
        parent, gains = score(rows), {}
        for k, feature in enumerate(candidates.feature[slot]):
            bins = samples.bin_index[rows, feature].astype(int)
            missing = (bins == last) & config.has_missing
            for edge in range(last) if edges is None else edges[:, k, slot]:
                for way in (False, True)[: 1 + config.has_missing]:
                    left = np.where(missing, way, bins > edge)
                    sides = rows[left], rows[~left]
                    if min(map(counted, sides)) >= samples.sizes.min_samples_leaf:
                        gains[feature, edge, way] = sum(map(score, sides)) - parent
        yield slot, rows, gains


def class_table(seed, missing=0.0, n_samples=N_SAMPLES):
    """Features and orders of three of them, roughly: int32 (n_samples, 3) classes in stages."""
    rng = np.random.default_rng(seed)
    x = features_with_ties(rng, n_samples, 5, missing)
    signal = np.nan_to_num(x[:, [1, 2, 4]]) + rng.standard_normal((n_samples, 3)) / 2
    return x, np.argsort(signal, 1).astype(np.int32)


def ranking_table(seed, missing_labels=0.0, missing_features=0.0):
    """Rankings that follow two of five features, roughly."""
    rng = np.random.default_rng(seed)
    x = features_with_ties(rng, N_SAMPLES, 5, missing_features)
    known = np.nan_to_num(x)
    utility = np.stack([known[:, 1], -known[:, 1], known[:, 2], known[:, 0] - 1.5], axis=1)
    y = np.argsort(np.argsort(utility + rng.standard_normal(utility.shape) / 2)) + 1.0
    gone = rng.random(y.shape) < missing_labels
    gone[gone.sum(1) > N_LABELS - 2] = False
    y[gone] = np.nan
    rank = np.argsort(np.argsort(np.where(gone, np.inf, y), axis=1), axis=1) + 1.0
    return x, np.where(gone, np.nan, rank).astype(np.float32)


def forest_config(criterion):
    return ForestConfig(
        n_labels=N_LABELS,
        n_trees=2,
        criterion=criterion,
        purity="ranking",
        splitter="best",
        max_depth=4,
        n_candidates=3,
        min_samples_split=2,
        min_samples_leaf=1,
        bootstrap=True,
        aggregation="two-step",
        max_thresholds=15,
    )


def samples_of_rankings(criterion, x, y, least=1, **changes):
    """Return (Samples, thresholds, GrowthConfig) of a table for a criterion of the learners."""
    stat, made = growth_statistic(Rankings(y, False, len(y), False), forest_config(criterion))
    samples, thresholds = samples_of(x, stat)
    samples = with_leaves_of(least, samples)
    return samples, thresholds, config_for(x, thresholds, made, **changes)
