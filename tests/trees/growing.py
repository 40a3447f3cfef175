"""Growing small forests, and checking every node of them against all candidate splits."""

import jax
import numpy as np

from lrrf_jax.trees import blocks
from lrrf_jax.trees.draws import draw_candidates, keys_of_trees, row_counts
from lrrf_jax.trees.forest import invariant_violation
from tests import tree_oracles
from tests.trees.cases import N_ROWS

KEY = jax.random.key(5)


def grow(samples, config, n_trees=2, first_tree=0, trees_at_once=2):
    # Two at once, unless a test says otherwise: another number is another program.
    trees = range(first_tree, first_tree + n_trees)
    options = {"trees_at_once": trees_at_once}
    return blocks.join_grown(*blocks.grow_blocks(KEY, samples, config, trees, **options))


def check(x, samples, thresholds, config, oracle_of, n_trees=2):
    """Check every tree of a small forest; returns the number of split and unsplit nodes."""
    forest, gain = grow(samples, config, n_trees)
    assert invariant_violation(forest, x.shape[1]) is None
    n_split = n_unsplit = 0
    keys = keys_of_trees(KEY, np.arange(n_trees, dtype=np.int32))
    all_candidates = np.asarray(draw_candidates(keys, config).feature)
    all_counts = row_counts(keys.rows, samples.n_samples, N_ROWS, config.bootstrap)
    for t in range(n_trees):
        counts, candidates = np.asarray(all_counts[t])[: len(x)], all_candidates[t]
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
            min_leaf=config.min_samples_leaf,
        )
        n_split, n_unsplit = n_split + split, n_unsplit + unsplit
    assert (gain[forest.threshold == np.inf] == 0).all()
    return n_split, n_unsplit
