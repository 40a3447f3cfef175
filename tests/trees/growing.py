"""Growing small forests, and checking every node of them against all candidate splits."""

import jax
import numpy as np

from lrrf_jax.trees import blocks, ensemble
from lrrf_jax.trees.forest import invariant_violation
from lrrf_jax.trees.growth import draw_lottery
from tests import tree_oracles
from tests.trees.cases import N_ROWS

KEY = jax.random.key(5)


class SumRows:
    """Leaf values: the sums themselves."""

    def __call__(self, sums):
        return sums

    def __eq__(self, other):
        return isinstance(other, SumRows)

    def __hash__(self):
        return 1


def grow(samples, config, n_trees=2, **options):
    # Two at once, unless a test says otherwise: another number is another program.
    options = {"trees_at_once": 2} | options
    return blocks.grow_forest(KEY, samples, config, SumRows(), n_trees, **options)


def check(x, samples, thresholds, config, oracle_of, n_trees=2):
    """Check every tree of a small forest; returns the number of split and unsplit nodes."""
    forest, gain = grow(samples, config, n_trees)
    assert invariant_violation(forest, x.shape[1]) is None
    n_split = n_unsplit = 0
    for t in range(n_trees):
        counts = np.asarray(
            ensemble.tree_counts(KEY, np.int32(t), samples.n_samples, N_ROWS, config.bootstrap)
        )[: len(x)]
        assert counts.sum() == len(x)
        growth_key = ensemble._tree_keys(KEY, np.int32(t))[1]
        candidates = np.asarray(draw_lottery(growth_key, config).candidates)
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
