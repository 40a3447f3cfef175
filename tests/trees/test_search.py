"""The search of a level over histograms, against all splits of every node."""

import dataclasses

import chex
import jax.numpy as jnp
import numpy as np
import pytest

from lrrf_jax.trees.class_criterion import ClassEntropy, SparseClassEntropy
from lrrf_jax.trees.growth import GrowthConfig
from lrrf_jax.trees.nodes import make_plan
from lrrf_jax.trees.search import search_histograms
from lrrf_jax.trees.vector_criterion import Variance
from tests import tree_oracles
from tests.trees.cases import N_ROWS, config_for, features_with_ties, samples_of
from tests.trees.growing import N_SAMPLES, best_gains, class_table, grow, level_arrays, search_level

SHAPE = {"n_candidates": 3, "n_features": 5}


@dataclasses.dataclass(frozen=True)
class Choosy(ClassEntropy):
    """Entropy of which no small gain is worth a split."""

    def accepts(self, score, parent_score, total):
        weight = total[: self.n_classes].sum(0, dtype=jnp.int32)
        return score - parent_score > 0.3 * weight.astype(jnp.float32)


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("criterion", "changes", "least_passes"),
    [
        # Passes of one block of one node.
        (
            ClassEntropy(3, separate_count=True),
            {"has_missing": True, "histogram_bytes": 1, "search_bytes": 1},
            60,
        ),
        slow(Choosy(3), {"short_sums": True}, 1),
        slow(Variance(2, masked=True), {"search_bytes": 2**11}, 1),
        slow(Variance(2), {"splitter": "width", "n_cuts": 2, "has_missing": True}, 1),
        (Variance(2), {"n_bins": 64, "max_depth": 6, "has_missing": True}, 1),  # compact bins
        slow(
            Variance(2), {"n_bins": 64, "max_depth": 6, "histogram_bytes": 1, "search_bytes": 1}, 2
        ),
    ],
    ids=str,
)
def test_splits_are_the_best_of_all_whatever_the_scratch_held(criterion, changes, least_passes):
    rng = np.random.default_rng(20)
    config = GrowthConfig(criterion, **({"max_depth": 7, "n_bins": 16} | SHAPE | changes))
    vectors, compact = criterion.adds_vectors, config.n_bins == 64
    weight = observed = None
    if vectors:
        stat = values = rng.integers(-3, 4, (N_ROWS, 2)).astype(np.int32)
        observed = np.ones_like(values)
        if criterion.masked:
            observed = rng.integers(0, 2, values.shape).astype(np.int32)
            values = values * observed
            stat = np.concatenate([values, observed], axis=1)
    else:
        stat = rng.integers(-1, 3, (N_ROWS, 1)).astype(np.int32)
        weight = rng.integers(1, 4, N_ROWS).astype(np.int32) if criterion.separate_count else None
    sizes = {0: 40, 1: 21, 2: 12, 3: 1, 4: 9}
    if compact:  # the slots of nodes of few rows lie behind those of others
        first = make_plan(config, 1, N_ROWS).kinds[1].first
        sizes = {0: 40, 1: 21, 2: 12, first: 6, first + 1: 1, first + 2: 5, first + 3: 6}
    plan, arrays = level_arrays(rng, config, stat, sizes, weight, least=2)
    assert plan.kinds[0].n_passes >= least_passes
    assert len(plan.kinds) == 1 + compact
    copies, weight = np.asarray(arrays[1].copies), np.asarray(arrays[1].weight)

    def score(rows):
        if vectors:
            return tree_oracles.variance_score(values[rows], observed[rows], weight[rows])
        return tree_oracles.entropy_score(stat[rows, 0], weight[rows])

    def counted(rows):
        return copies[rows if vectors else rows[stat[rows, 0] >= 0]].sum()

    found, edges = search_level(search_histograms, config, plan, arrays)
    exists, n_split = np.asarray(arrays[2]), 0
    for slot, rows, gains in best_gains(config, arrays, score, counted, edges):
        best = max(gains.values(), default=-np.inf)
        if isinstance(criterion, Choosy) and best < 0.3 * counted(rows):
            best = -np.inf
        if best == -np.inf:
            assert found.gain[slot] == -np.inf
            continue
        off = tree_oracles.GAIN_TOLERANCE * weight[rows].sum()
        chosen = found.feature[slot], found.edge[slot], bool(found.missing_left[slot])
        assert found.gain[slot] == pytest.approx(best, abs=off)
        assert gains[chosen] >= best - off
        n_split += 1
    assert (1 if isinstance(criterion, Choosy) else 4) <= n_split < exists.sum()
    assert (found.gain[~exists] == -np.inf).all()
    if config.has_missing:
        assert found.missing_left[exists].any()


def _grown(missing, weighted, max_thresholds, **changes):
    rng = np.random.default_rng([int(100 * missing), weighted, max_thresholds])
    x = features_with_ties(rng, N_SAMPLES, 5, missing)
    signal = np.nan_to_num(x[:, [1, 2, 4]]) + 3 * rng.standard_normal((N_SAMPLES, 3))
    values = np.sign(signal).astype(np.int32)
    weight = rng.integers(1, 9, N_SAMPLES).astype(np.int32) if weighted else None
    samples, thresholds = samples_of(x, values, weight, max_thresholds=max_thresholds)
    criterion = Variance(3, signs=True, separate_count=weighted)
    return samples, config_for(x, thresholds, criterion, max_depth=8, **changes)


def _rows_of_split_nodes(forest):
    rows_of_leaf = (forest.leaf_value > 0).sum(1)
    for threshold, slots in zip(forest.threshold, forest.leaf_slot, strict=True):
        for k in range(forest.depth):
            for node, below in enumerate(slots.reshape(2**k, -1)):
                if np.isfinite(threshold[2**k - 1 + node]):
                    yield rows_of_leaf[np.unique(below)].sum()


@pytest.mark.parametrize(
    ("missing", "weighted", "max_thresholds", "changes"),
    [
        (0.15, True, 255, {}),
        (0.0, False, 31, {"histogram_bytes": 1, "short_sums": True}),
        pytest.param(0.0, True, 255, {"search_bytes": 1}, marks=pytest.mark.slow),
        pytest.param(0.15, False, 31, {}, marks=pytest.mark.slow),
    ],
)
def test_compact_bins_of_nodes_of_few_rows_do_not_change_a_tree(
    missing, weighted, max_thresholds, changes
):
    samples, config = _grown(missing, weighted, max_thresholds)
    all_bins = grow(samples, dataclasses.replace(config, compacts_bins=False))
    config = dataclasses.replace(config, **changes)
    kinds = make_plan(config, 2, 2 * N_ROWS).kinds
    # 31 thresholds make 32 bins, and that of missing values is one too many for 32.
    few = [64, 16] if missing else [32, 8]
    assert [kind.layout.n_bins for kind in kinds] == ([128, 32] if max_thresholds > 31 else few)
    chex.assert_trees_all_equal(grow(samples, config), all_bins)
    sizes = np.array(list(_rows_of_split_nodes(all_bins.forest)))
    for least, most in ((2, 6), (8, 29), (32, N_SAMPLES)):  # one range per kind or more
        assert ((sizes >= least) & (sizes <= most)).sum() >= 5
    assert all_bins.forest.missing_left.any() == (missing > 0)


@pytest.mark.parametrize(
    ("splitter", "n_cuts"),
    [pytest.param("width", 1, marks=pytest.mark.slow), ("frequency", 3)],
)
def test_passes_blocks_and_sums_of_16_bits_do_not_change_a_tree_of_few_cuts(splitter, n_cuts):
    rng = np.random.default_rng(5)
    x = features_with_ties(rng, 110, 5, missing=0.1)
    known = np.nan_to_num(x)
    stat = np.round(4 * known[:, 1:3] + rng.standard_normal((110, 2))).astype(np.int32)
    samples, thresholds = samples_of(x, stat)
    config = config_for(x, thresholds, Variance(2), splitter=splitter, n_cuts=n_cuts, max_depth=5)
    reference = grow(samples, config)
    assert (np.asarray(reference.gain) > 0).sum() > 20
    assert reference.forest.missing_left.any()
    changes = {"histogram_bytes": 1, "search_bytes": 1, "short_sums": True}
    chex.assert_trees_all_equal(grow(samples, dataclasses.replace(config, **changes)), reference)


@pytest.mark.parametrize(
    "criterion",
    [
        ClassEntropy(3, 3),
        pytest.param(Variance(3), marks=pytest.mark.slow),
        pytest.param(SparseClassEntropy(3), marks=pytest.mark.slow),
    ],
    ids=lambda criterion: type(criterion).__name__,
)
def test_passes_blocks_and_sums_of_16_bits_do_not_change_a_tree(criterion):
    x, classes = class_table(6)
    samples, thresholds = samples_of(x, classes)
    config = config_for(x, thresholds, criterion, max_depth=6)
    reference = grow(samples, config, 5)
    others = [
        grow(samples, dataclasses.replace(config, histogram_bytes=1), 5),
        grow(samples, dataclasses.replace(config, search_bytes=1), 5),
        grow(samples, dataclasses.replace(config, short_sums=True), 5),
    ]
    for forest, gain in others:
        np.testing.assert_array_equal(gain, reference[1])
        for one, other in zip(forest, reference[0], strict=True):
            np.testing.assert_array_equal(one, other)
