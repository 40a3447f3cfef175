"""Forests of one shape for most tests, since each compiles: few trees, shallow, on iris."""

import warnings

from lrrf_jax import RandomForestLabelRanker
from lrrf_jax.datasets import load
from tests.tree_oracles import walk

DATA = load("iris")
X, Y = DATA.X, DATA.y
SMALL = {"n_estimators": 6, "max_depth": 4, "random_state": 0}


def quiet_fit(y, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return RandomForestLabelRanker(**(SMALL | parameters)).fit(X, y)


def leaves_of(forest, x, tree):
    depth = forest.leaf_slot.shape[1].bit_length() - 1
    leaf = walk(x, forest.feature[tree], forest.threshold[tree], forest.missing_left[tree], depth)
    return forest.leaf_slot[tree, leaf]
