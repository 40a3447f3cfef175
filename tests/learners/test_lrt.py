"""LRT and its bagged forms against another library and a plain recursion over the tree."""

import numpy as np
import pytest

from lrrf_jax import LEARNERS, RandomForestLabelRanker, metrics
from lrrf_jax._validation import InputError
from lrrf_jax.datasets import delete_labels
from lrrf_jax.rankings.completion import most_probable_extension
from lrrf_jax.rankings.mallows import fit_dispersion, fit_groups

# Drawn once; positions of four labels follow three features, with noise.
FEATURES = """
    47,31,34 44,28,38 41,11,2 15,14,43 45,0,24 41,6,39 5,23,40 15,17,13 35,12,49 22,23,25
    29,27,25 49,40,39 35,31,17 49,23,10 42,8,42 30,5,2 22,1,7 25,48,23 40,45,41 31,22,25
    13,24,18 12,49,0 4,9,48 34,44,10 36,18,24 0,30,41 33,7,26 13,48,44 9,25,46 42,35,31 2,37,23
    4,12,27 36,25,30 43,34,18 32,29,5 2,33,19 29,16,11 7,19,40 20,18,28 48,19,29
"""
POSITIONS = """
    1,2,3,4 2,4,1,3 1,3,4,2 4,3,1,2 1,4,3,2 1,4,2,3 4,3,1,2 4,1,3,2 2,4,1,3 2,3,1,4 4,2,3,1
    1,3,2,4 1,3,4,2 1,3,4,2 2,4,1,3 1,3,4,2 3,4,1,2 2,1,3,4 1,2,4,3 1,4,3,2 4,1,3,2 3,1,4,2
    4,3,1,2 2,1,4,3 2,4,3,1 4,3,1,2 1,4,2,3 4,1,2,3 4,2,1,3 2,1,4,3 4,1,3,2 4,3,2,1 1,2,3,4
    1,2,4,3 1,2,4,3 4,3,2,1 1,2,3,4 4,2,1,3 2,4,3,1 1,4,2,3
"""
# scikit-lr 0.3.0 under Python 3.13: DecisionTreeLabelRanker(criterion="mallows",
# min_samples_split=8, random_state=0).fit(FEATURES, POSITIONS), .predict(FEATURES), and its tree:
# the rows in each node of the first three levels that is split, and the impurity of the root.
PREDICTED = """
    1,3,2,4 1,3,2,4 1,3,4,2 4,3,1,2 1,4,2,3 1,4,2,3 4,3,1,2 4,1,3,2 2,4,1,3 2,3,1,4 4,2,3,1
    1,3,2,4 1,2,4,3 1,3,4,2 2,4,1,3 1,3,4,2 4,1,3,2 2,1,3,4 1,2,4,3 1,4,2,3 4,1,3,2 4,1,3,2
    4,3,1,2 1,2,4,3 1,4,2,3 4,3,1,2 1,4,2,3 4,1,2,3 4,3,1,2 1,2,4,3 4,1,3,2 4,3,1,2 1,2,4,3
    1,2,4,3 1,2,4,3 4,1,3,2 1,4,2,3 4,3,1,2 2,4,3,1 1,4,2,3
"""
N_LEAVES, ROOT_IMPURITY = 13, 0.8870089433292501


def numbers(text):
    return np.array([[float(cell) for cell in row.split(",")] for row in text.split()])


X, Y = numbers(FEATURES).astype(np.float32), numbers(POSITIONS)


def mallows_impurity(y):
    """1 / (1 + theta) around Borda's ranking; a plain loop."""
    n_labels = y.shape[1]
    centre = np.argsort(np.argsort(y.mean(0), kind="stable"))
    distance = sum(
        ((centre[a] < centre[b]) != (y[:, a] < y[:, b])).mean()
        for a in range(n_labels)
        for b in range(a + 1, n_labels)
    )
    return float(1 / (1 + fit_dispersion(np.array(distance), n_labels)))


def nodes_of(forest, x):
    """Yield (node, rows, rows of the left child or None) of a tree, from the root down."""
    members = {0: np.arange(len(x))}
    n_nodes = forest.threshold.shape[1]
    while members:
        node, rows = members.popitem()
        if node >= n_nodes or forest.threshold[0, node] == np.inf:
            yield node, rows, None
            continue
        values = x[rows, forest.feature[0, node]]
        left = values >= forest.threshold[0, node]
        yield node, rows, rows[left]
        members[2 * node + 1], members[2 * node + 2] = rows[left], rows[~left]


def test_the_tree_is_as_large_and_predicts_as_that_of_scikit_lr():
    ranker = LEARNERS["lrt"]().fit(X, Y)
    assert len(ranker.forest_.leaf_value) == N_LEAVES
    np.testing.assert_array_equal(ranker.predict(X), numbers(PREDICTED))
    assert mallows_impurity(Y) == pytest.approx(ROOT_IMPURITY, rel=1e-6)


def test_no_candidate_of_any_node_lowers_the_impurity_further():
    forest = LEARNERS["lrt"]().fit(X, Y).forest_

    def after(rows, left):
        rest = np.setdiff1d(rows, left)
        parts = [(len(part) / len(rows), mallows_impurity(Y[part])) for part in (left, rest)]
        return sum(share * impurity for share, impurity in parts)

    n_split = 0
    for _, rows, left in nodes_of(forest, X):
        values = [np.unique(X[rows, j]) for j in range(3)]
        candidates = [rows[X[rows, j] >= v] for j in range(3) for v in values[j][1:]]
        if left is None:
            consistent = mallows_impurity(Y[rows]) == 0
            assert len(rows) < 2 * Y.shape[1] or consistent
            continue
        n_split += 1
        best = min(after(rows, candidate) for candidate in candidates)
        assert after(rows, left) == pytest.approx(best, abs=1e-4)
    assert n_split == N_LEAVES - 1


def test_labels_that_a_leaf_never_ranks_go_where_the_nodes_above_have_them():
    y = delete_labels(Y, 0.55, 3)
    keep = (~np.isnan(y)).sum(1) > 1
    x, y = X[keep], y[keep].astype(np.float32)
    ranker = LEARNERS["lrt"](min_samples_split=4).fit(x, y)
    forest, n_labels = ranker.forest_, y.shape[1]
    votes = np.full(y.shape, (n_labels + 1) / 2)
    for i, row in enumerate(y):
        known = ~np.isnan(row)
        places = known.sum()
        votes[i, known] = (places + 1 - row[known]) * (n_labels + 1) / (places + 1)
    completed, predicted = {}, ranker.predict(x)
    n_completed = 0
    for node, rows, left in nodes_of(forest, x):
        seen = (~np.isnan(y[rows])).any(0)
        own = np.argsort(np.argsort(-votes[rows].sum(0), kind="stable")) + 1.0
        if left is None:
            here = np.full(len(y), -1, np.int32)
            here[rows] = 0
            fit = fit_groups(y, here, np.ones(len(y), np.float32), 1, unseen="last")
            own = np.asarray(fit.centre[0]).astype(float)
            n_completed += not seen.all()
        if node > 0:
            own[~seen] = np.nan
            above = completed[(node - 1) // 2]
            own = np.asarray(most_probable_extension(own.astype(np.float32), above))
        completed[node] = own.astype(np.int32)
        if left is None:
            np.testing.assert_array_equal(predicted[rows], np.tile(completed[node], (len(rows), 1)))
    assert n_completed > 0


@pytest.mark.parametrize(
    "name",
    [
        "lrt-bag",
        pytest.param("w-lrt-bag", marks=pytest.mark.slow),
        pytest.param("f-lrt-bag", marks=pytest.mark.slow),
    ],
)
def test_bagged_trees_rank_better_than_the_consensus_from_partial_rankings(name):
    y = delete_labels(Y, 0.3, 0)
    y = np.where((~np.isnan(y)).sum(1, keepdims=True) > 1, y, Y)
    assert np.isnan(y).any()
    ranker = LEARNERS[name](8, random_state=0).fit(X, y)
    tau = metrics.kendall_tau(Y, ranker.predict(X))
    assert tau > metrics.kendall_tau(Y, LEARNERS["default"]().fit(X, y).predict(X)) + 0.1
    assert (np.sort(ranker.predict(X), axis=1) == np.arange(1, 5)).all()


@pytest.mark.parametrize("name", ["w-lrt-bag", "f-lrt-bag"])
def test_cuts_by_width_and_frequency_are_those_of_all_midpoints(name):
    rng = np.random.default_rng(0)
    # Most rows lie where thresholds for equal shares of 31 would leave nothing to cut.
    x = np.sort(rng.lognormal(0, 2, 200)).astype(np.float32)[:, None]
    y = np.argsort(rng.random((200, 4)), axis=1) + 1
    ranker = LEARNERS[name](1, min_samples_split=2, bootstrap=False).fit(x, y)
    midpoints = (x[1:, 0] + x[:-1, 0]) / 2
    n_cuts = 0
    for node, rows, left in nodes_of(ranker.forest_, x):
        if left is None:
            continue
        own = x[rows, 0]
        inside = midpoints[(midpoints > own.min()) & (midpoints < own.max())]
        if name == "w-lrt-bag":
            away = np.abs(inside - (inside.min() + inside.max()) / 2)
        else:
            away = np.abs((own >= inside[:, None]).sum(1) - len(own) / 2)
        chosen = np.abs(inside - ranker.forest_.threshold[0, node]).argmin()
        assert away[chosen] <= away.min() + 1e-6 * own.max()
        n_cuts += 1
    assert n_cuts > 31


def test_heavier_rows_pull_the_centre_of_a_leaf():
    y = np.array([[1, 2, np.nan], [2, 1, np.nan], [np.nan, 2, 1], [1, np.nan, 2]])
    x = np.zeros((4, 1))
    for heavy, first in ((0, 0), (1, 1)):
        weight = np.ones(4)
        weight[heavy] = 9.5
        ranks = LEARNERS["lrt"]().fit(x, y, weight).predict(x)[0]
        assert ranks[first] < ranks[1 - first]


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"criterion": "gini"}, "criterion"),
        ({"max_depth": 17}, "max_depth"),
        ({"min_samples_split": 1}, "min_samples_split"),
        ({"max_bins": 300}, "max_bins"),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(settings, named):
    with pytest.raises(InputError, match=named):
        LEARNERS["lrt"](**settings).fit(X, Y)


@pytest.mark.parametrize(
    ("name", "settings"),
    [("w-lrt-bag", {"n_bins": 1}), ("lrf-rt", {"gamma": 0.0}), ("pw-rf", {"max_features": "all"})],
)
def test_parameters_of_other_forests_are_checked_too(name, settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        LEARNERS[name](**settings).fit(X, Y)


@pytest.mark.slow
def test_missing_values_take_the_side_that_they_took_in_training():
    # scikit-learn 28772: a tree and its exported form sent them different ways.
    x = np.array([np.nan] * 4 + list(range(6)), float)[:, None]
    first = np.array([True] * 4 + [False] * 4 + [True] * 2)
    y = np.where(first[:, None], [[1.0, 2]], [[2.0, 1]])
    tree = RandomForestLabelRanker(
        n_estimators=1, bootstrap=False, max_depth=2, max_features=None, max_bins="exact"
    ).fit(x, y)
    rows = np.array([[np.nan], [1.2], [4.8]])
    assert tree.predict(rows).tolist() == [[1, 2], [2, 1], [1, 2]]
    leaves = tree.apply(rows)[:, 0]
    assert leaves[1] not in (leaves[0], leaves[2])
