"""Small tables and forests that several tests of trees share."""

import numpy as np

from lrrf_jax.trees import binning
from lrrf_jax.trees.forest import Forest, invariant_violation
from lrrf_jax.trees.growth import GrowthConfig, Samples, Sizes

N_ROWS = 128  # real rows and padding


def features_with_ties(rng, n_samples, n_features, missing=0.0):
    """Float32 features: one of few values, one constant, the others spread; some missing."""
    x = rng.standard_normal((n_samples, n_features)).astype(np.float32)
    x[:, 0] = rng.integers(0, 4, n_samples)
    if n_features > 3:
        x[:, 3] = 1.5
    x[rng.random(x.shape) < missing] = np.nan
    return x


def samples_of(x, stat, weight=None, leaf_stat=None, max_thresholds=15, n_rows=N_ROWS):
    """Pad a table to ``n_rows`` and bin it; returns (Samples, thresholds)."""
    thresholds = binning.candidate_thresholds(x, max_thresholds)

    def padded(a, dtype=np.int32):
        out = np.zeros((n_rows, *a.shape[1:]), dtype)
        out[: len(a)] = a
        return out

    weight = np.ones(len(x), np.int32) if weight is None else weight
    # One width, so that tests share programs: leaves list their rows, or what a test says.
    wide = np.eye(len(x), n_rows, dtype=np.int32)
    if leaf_stat is not None:
        wide[:] = 0
        wide[:, : leaf_stat.shape[1]] = leaf_stat
    leaf_stat = wide
    samples = Samples(
        bin_index=binning.bin_features(padded(x, np.float32), thresholds),
        stat=padded(stat),
        leaf_stat=padded(leaf_stat),
        weight=padded(weight),
        thresholds=thresholds,
        sizes=Sizes(np.int32(len(x)), *np.zeros(4, np.int32)),
    )
    return samples, thresholds


def all_in_use(samples, config):
    """Say that candidates, features, thresholds and stages are as many as the configuration has."""
    n_stages = getattr(config.criterion, "n_stages", 1)
    sizes = config.n_features, config.n_candidates, config.n_bins - 1, n_stages
    n_samples, *_, least = samples.sizes
    return samples._replace(sizes=Sizes(n_samples, *map(np.int32, sizes), least))


def with_leaves_of(least, samples):
    """Let no child of a split have fewer than ``least`` samples."""
    return samples._replace(sizes=samples.sizes._replace(min_samples_leaf=np.int32(least)))


def config_for(x, thresholds, criterion, **changes):
    """Build a GrowthConfig of a table."""
    settings = {
        "criterion": criterion,
        "max_depth": 4,
        "n_candidates": min(3, x.shape[1]),
        "n_features": x.shape[1],
        "n_bins": thresholds.shape[1] + 1,
        "has_missing": bool(np.isnan(x).any()),
    }
    return GrowthConfig(**(settings | changes))


def random_forest(rng, n_trees, depth, n_features, n_outputs, *, n_grid=7, highest=9, lowest=0):
    """Forest of random tests and leaves, with unsplit subtrees at every level, and its grid."""
    n_nodes = 2**depth - 1
    grid = np.sort(rng.standard_normal((n_features, n_grid)).astype(np.float32), axis=1)
    grid[:, n_grid // 2] = 0
    feature = rng.integers(0, n_features, (n_trees, n_nodes)).astype(np.int32)
    threshold = grid[feature, rng.integers(0, n_grid, feature.shape)]
    threshold[rng.random(threshold.shape) < 0.02] = -np.inf
    missing_left = rng.random(feature.shape) < 0.3
    slot = np.arange(n_trees * 2**depth, dtype=np.int32).reshape(n_trees, -1)
    for tree in range(n_trees):
        for node in rng.choice(n_nodes, min(3, n_nodes), replace=False):
            first = last = node
            while first < n_nodes:
                feature[tree, first : last + 1] = 0
                threshold[tree, first : last + 1] = np.inf
                missing_left[tree, first : last + 1] = False
                first, last = 2 * first + 1, 2 * last + 2
            slot[tree, first - n_nodes : last + 1 - n_nodes] = slot[tree, first - n_nodes]
    value = rng.integers(lowest, highest + 1, (slot.size, n_outputs)).astype(np.int32)
    return Forest(feature, threshold, missing_left, slot, value), grid


def awkward_rows(rng, n_samples, grid):
    """Rows on thresholds, beside them, missing, infinite, subnormal, and zeros of both signs."""
    n_features, n_grid = grid.shape
    x = rng.standard_normal((n_samples, n_features)).astype(np.float32)
    for direction in (0, np.inf, -np.inf):
        at = rng.random(x.shape) < 0.2
        value = grid[np.nonzero(at)[1], rng.integers(0, n_grid, at.sum())]
        x[at] = np.nextafter(value, np.float32(direction)) if direction else value
    for value in (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40):
        x[rng.random(x.shape) < 0.03] = value
    x[0] = np.nan
    return x


def forest_of_splits(n_trees, depth, splits, seed=0, first_slot=0):
    """Trees with the splits (tree, node) given, whose parents are split, and their slots."""
    rng = np.random.default_rng(seed)
    shape = n_trees, 2**depth - 1
    threshold = np.full(shape, np.inf, np.float32)
    for tree, node in splits:
        assert node == 0 or threshold[tree, (node - 1) // 2] < np.inf
        threshold[tree, node] = rng.standard_normal()
    slots, n_slots = np.zeros((n_trees, 2**depth), np.int32), 0
    for tree in range(n_trees):
        for leaf in range(2**depth):
            node = leaf + 2**depth - 1
            path = [node]
            while path[-1]:
                path.append((path[-1] - 1) // 2)
            # The highest node on the way that is not split: its leaves share a slot.
            top = next(n for n in reversed(path) if n >= shape[1] or threshold[tree, n] == np.inf)
            first = (top + 1) * 2 ** (depth - (top + 1).bit_length() + 1) - 2**depth
            n_slots += leaf == first
            slots[tree, leaf] = n_slots - 1
    feature = np.where(threshold < np.inf, rng.integers(0, 3, shape), 0).astype(np.int32)
    missing_left = (threshold < np.inf) & (rng.random(shape) < 0.5)
    values = rng.integers(1, 9, (n_slots, 2)).astype(np.int32)
    forest = Forest(feature, threshold, missing_left, slots, values)
    assert invariant_violation(forest, 3) is None
    return forest


SPLITS = {
    "single leaves": [],
    "one split": [(1, 0)],
    "one side": [(0, 0), (0, 2), (0, 6), (1, 0)],
    "full": [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)],
}
DEPTH = {"single leaves": 1, "one split": 1, "one side": 3, "full": 2}


def rows_on_thresholds(forest, n_rows=60):
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((n_rows, 3)).astype(np.float32)
    known = forest.threshold[forest.threshold < np.inf]
    if len(known):
        rows[:20] = rng.choice(known, (20, 3))
    rows[rng.random(rows.shape) < 0.2] = np.nan
    return rows
