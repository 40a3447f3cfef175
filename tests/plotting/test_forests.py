"""Figures of a fitted forest: against a plain walk down its trees, row by row."""

import copy
import itertools
import re

import jax
import numpy as np
import pandas as pd
import pytest

from lrrf_jax import RandomForestLabelRanker, load, metrics
from lrrf_jax._validation import InputError
from lrrf_jax.learners import LEARNERS, ConsensusLabelRanker
from lrrf_jax.learners.forest.pair_shares import leaf_signs
from lrrf_jax.learners.forest.tree_ranker import TreeLabelRanker
from lrrf_jax.plotting import _forest as facts
from lrrf_jax.plotting import (
    plot_importances,
    plot_positions,
    plot_preferences,
    plot_reliability,
    plot_tree,
)
from lrrf_jax.trees.forest import Forest
from tests.plotting.conftest import outside, overlapping


def leaf_node(forest, tree, row):
    """Walk one row down one tree; returns the nodes on the way and the value of the leaf."""
    node, way = 0, [0]
    for _ in range(forest.depth):
        node = 2 * node + (
            1 if row[forest.feature[tree, node]] >= forest.threshold[tree, node] else 2
        )
        way.append(node)
    n_nodes = forest.feature.shape[1]
    return way, np.asarray(forest.leaf_value)[forest.leaf_slot[tree, node - n_nodes]]


def trees_that_prefer(forest, row, i, j):
    """Share of trees whose leaf places label i before j; leaves hold positions."""
    values = [leaf_node(forest, tree, row)[1] for tree in range(forest.n_trees)]
    return np.mean([0.5 * (v[i] == v[j]) + (v[i] < v[j]) for v in values])


def test_preferences_are_the_share_of_trees(forest, iris):
    trees = forest.forest_
    some = 0
    for row in iris.X[::10]:
        shares = facts.preference_shares(forest, row[None])
        for i, j in itertools.permutations(range(3), 2):
            assert shares[i, j] == pytest.approx(trees_that_prefer(trees, row, i, j))
            some += 0 < shares[i, j] < 1
    assert some


@pytest.mark.parametrize("which", ["voting_forest", "pairwise_forest"])
def test_preferences_of_other_leaves_have_the_right_direction(which, iris, request):
    ranker = request.getfixturevalue(which)
    mean = facts.tree_preferences(ranker, iris.X)
    ranks = ranker.predict(iris.X)
    agreed = (np.abs(mean) == 1).all(1)
    assert agreed.sum() > 10
    assert (mean[agreed] < 0).any()  # labels that come first do not win by default
    for column, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        expected = np.sign(ranks[agreed, j] - ranks[agreed, i])
        np.testing.assert_array_equal(mean[agreed, column], expected)


def test_agreement_is_the_mean_tau_of_the_trees_with_the_forest(forest, iris):
    agreement, ranks = facts.tree_agreement(forest, iris.X[::10])
    np.testing.assert_array_equal(ranks, forest.predict(iris.X[::10]))
    for row, got, predicted in zip(iris.X[::10], agreement, ranks, strict=True):
        leaves = [leaf_node(forest.forest_, t, row)[1] for t in range(4)]
        taus = metrics.kendall_tau(np.array(leaves), np.tile(predicted, (4, 1)), per_row=True)
        assert got == pytest.approx(taus.mean())
    assert agreement.min() < 1


def test_rows_are_routed_as_by_hand_and_missing_values_as_learned(forest, iris):
    X = iris.X.copy()
    X[::3, 2] = np.nan
    for tree in range(4):
        nodes = facts.node_of_rows(forest.forest_, tree, X)
        n_nodes = forest.forest_.feature.shape[1]
        np.testing.assert_array_equal(nodes[:, -1] - n_nodes, forest.apply(X)[:, tree])
        for row in (1, 61, 121):
            assert nodes[row].tolist() == leaf_node(forest.forest_, tree, X[row])[0]


def test_a_heat_map_shows_shares_and_sorts_labels(forest, iris):
    ax = plot_preferences(forest, iris.X[70])
    shares = facts.preference_shares(forest, iris.X[70:71])
    shown = np.asarray(ax.images[0].get_array())
    names = [label.get_text() for label in ax.get_yticklabels()]
    order = [iris.labels.index(name) for name in names]
    off = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose(shown[off], shares[order][:, order][off])
    assert (np.diff(np.nanmean(np.ma.filled(shown, np.nan), axis=1)) <= 1e-12).all()
    assert overlapping(ax) == []


@pytest.mark.parametrize("n_labels", [3, 12, 20])
def test_a_heat_map_of_many_long_labels_stays_readable(n_labels):
    rng = np.random.default_rng(0)
    above = np.triu(rng.random((n_labels, n_labels)), 1)
    shares = above + np.tril(1 - above.T, -1)
    names = [f"label with a long name {j}" for j in range(n_labels)]
    ax = plot_preferences(shares, labels=names, order="given")
    assert outside(ax) == []
    numbers = [t for t in ax.texts if re.fullmatch(r"\.?\d+", t.get_text())]
    assert len(numbers) == (n_labels * (n_labels - 1) if n_labels <= 15 else 0)
    ax.figure.canvas.draw()
    cell = ax.get_window_extent().width / n_labels
    assert all(t.get_window_extent().width < cell for t in numbers)


@pytest.mark.parametrize(
    ("source", "row", "fragment"),
    [
        (np.ones((2, 3)), None, "square"),
        (np.ones((2, 2)), None, "sum to 1"),
        ([[0, 2], [-1, 0]], None, "from 0 to 1"),
        (ConsensusLabelRanker(), [1.0], "is not fitted"),
    ],
)
def test_what_holds_no_preferences_is_refused(source, row, fragment):
    with pytest.raises(InputError, match=fragment):
        plot_preferences(source, row)


def test_one_row_is_asked_for(forest, iris):
    with pytest.raises(InputError, match="row must hold the features"):
        plot_preferences(forest)
    with pytest.raises(InputError, match="it is 2"):
        plot_preferences(forest, iris.X[:2])
    consensus = ConsensusLabelRanker().fit(iris.X, iris.y)
    with pytest.raises(InputError, match="ConsensusLabelRanker has no trees"):
        plot_preferences(consensus, iris.X[0])


def node_texts(ax):
    return [t.get_text().split("\n") for t in ax.texts if t.get_text() not in ("yes", "no")]


def count_of(lines):
    return next(line for line in lines if line.startswith("n = "))


def test_a_tree_counts_the_rows_of_every_node_and_names_their_consensus(forest, iris):
    ax = plot_tree(forest, 1, iris.X, iris.y)
    texts = node_texts(ax)
    nodes = facts.node_of_rows(forest.forest_, 1, iris.X)
    root, first = texts[0], forest.forest_.feature[1, 0]
    threshold = forest.forest_.threshold[1, 0]
    assert root[0].endswith(f"≥ {threshold:.3g}")
    assert root[0].startswith(str(forest.feature_names_in_[first])[:9])
    assert count_of(root).startswith("n = 150, tau ")
    left = iris.y[iris.X[:, first] >= threshold]
    assert count_of(texts[1]).startswith(f"n = {len(left)}")
    by_mean = np.argsort(left.mean(0), kind="stable")
    named = [line for line in texts[1] if re.match(r"\d\. ", line)]
    assert named == [f"{k + 1}. {iris.labels[j]}" for k, j in enumerate(by_mean)]
    counts = [
        int(re.match(r"n = (\d+)", line)[1]) for lines in texts for line in lines if "n = " in line
    ]
    unsplit = np.asarray(forest.forest_.threshold[1]) == np.inf
    leaves = [node for node in range(7) if unsplit[node] and not unsplit[(node - 1) // 2]]
    leaves += [node for node in range(7, 15) if not unsplit[(node - 1) // 2]]
    assert len(counts) == 2 * len(leaves) - 1  # nodes of a binary tree
    assert sum(counts) == sum(
        (nodes[:, level] == node).sum()
        for level in range(4)
        for node in range(2**level - 1, 2 ** (level + 1) - 1)
        if node == 0 or not unsplit[(node - 1) // 2]
    )


def test_a_caller_who_forbids_implicit_transfers_gets_the_same_tree(forest, iris):
    def texts():
        return [text.get_text() for text in plot_tree(forest, 1, iris.X, iris.y).texts]

    expected = texts()
    with jax.transfer_guard("disallow"), jax.numpy_rank_promotion("raise"):
        assert texts() == expected


def test_agreement_in_a_node_is_the_mean_tau_of_its_pairs_of_rows(forest, iris):
    y = iris.y[::15].copy()
    y[2], y[5] = [2, np.nan, 1], [np.nan, 1, 2]
    ax = plot_tree(forest, 0, iris.X[::15], y, max_depth=0)
    taus, pairs = 0.0, 0
    for a, b in itertools.combinations(y, 2):
        for i, j in itertools.combinations(range(3), 2):
            product = np.sign(a[i] - a[j]) * np.sign(b[i] - b[j])
            taus, pairs = (taus, pairs) if np.isnan(product) else (taus + product, pairs + 1)
    assert f"n = {len(y)}, tau {taus / pairs:.2f}" in node_texts(ax)[0]
    assert node_texts(ax)[0][-1] == "(...)"


@pytest.mark.parametrize("which", ["forest", "pairwise_forest", "voting_forest"])
def test_without_rows_leaves_show_what_they_vote_for(which, iris, request):
    ranker = request.getfixturevalue(which)
    ax = plot_tree(ranker, 2, max_depth=3)
    named = [lines for lines in node_texts(ax) if "≥" not in lines[0]]
    value = leaf_signs(ranker.forest_.leaf_value, ranker.config_.aggregation)
    slots = {int(slot) for slot in np.asarray(ranker.forest_.leaf_slot)[2]}
    wins = {
        slot: [value[slot, :2].sum(), value[slot, 2] - value[slot, 0], -value[slot, 1:].sum()]
        for slot in slots
    }
    best = {iris.labels[int(np.argmax(score))] for score in wins.values()}
    assert {lines[0].removeprefix("1. ") for lines in named} == best
    assert len(best) > 1


def test_without_rows_a_model_from_a_file_shows_the_rankings_that_its_text_has(tmp_path):
    rng = np.random.default_rng(0)
    colours = rng.choice(["red", "blue", "pink", "a level with quite a long name", "teal"], 60)
    x = pd.DataFrame({"colour": pd.Categorical(colours), "size": rng.random(60)})
    x.loc[::7, "colour"] = None
    warm = np.isin(colours, ["red", "pink"]) | x["colour"].isna().to_numpy()
    y = np.where(warm[:, None], [[1, 2, 3]], [[3, 2, 1]])
    RandomForestLabelRanker(4, max_depth=3, random_state=0).fit(x, y).save(tmp_path / "m.lrrf")
    loaded = load(tmp_path / "m.lrrf")
    every = []
    for tree in range(4):
        ax = plot_tree(loaded, tree, top=3)
        assert overlapping(ax) == []
        assert outside(ax) == []
        texts = node_texts(ax)
        shown = [[line[3:] for line in lines] for lines in texts if lines[0].startswith("1. ")]
        told = re.findall("ranking: (.*)", loaded.export_text(tree))
        assert sorted(" > ".join(lines) for lines in shown) == sorted(told)
        every += texts
    assert ["colour is", "– pink", "– red", "or missing"] in every
    few = node_texts(plot_tree(loaded, 0, top=1))
    assert ["colour is", "– pink", "+ 1 more", "or missing"] in few


@pytest.mark.parametrize("max_depth", [1, 3])
def test_no_boxes_of_a_tree_overlap(forest, iris, max_depth):
    ax = plot_tree(forest, 3, iris.X, iris.y, max_depth=max_depth)
    assert overlapping(ax) == []
    assert outside(ax) == []


def test_of_a_deep_tree_the_first_levels_are_drawn_and_the_cut_is_marked(forest, iris):
    depth, n_nodes = 16, 2**16 - 1
    threshold = np.full((1, n_nodes), -np.inf, np.float32)  # all rows go left, at every level
    threshold[0, :3] = np.median(iris.X[:, 2])
    deep = copy.copy(forest)
    trees = Forest(
        feature=np.full((1, n_nodes), 2, np.int32),
        threshold=threshold,
        missing_left=np.zeros((1, n_nodes), bool),
        leaf_slot=np.zeros((1, n_nodes + 1), np.int32),
        leaf_value=np.array([[1, 2, 3]], np.int32),
    )
    deep._set_fitted(forest.params_._replace(forest=trees), forest.config_, iris.labels, None)
    for given in ((), (iris.X, iris.y)):
        texts = node_texts(plot_tree(deep, 0, *given))
        assert len(texts) == 15  # of 2**17 - 1
        assert [lines[-1] == "(...)" for lines in texts] == [False] * 7 + [True] * 8
    assert deep.forest_.depth == depth


def test_trees_and_rows_that_are_not_there_are_refused(forest, iris):
    with pytest.raises(InputError, match="tree must be a whole number from 0 to 3; it is 4"):
        plot_tree(forest, 4)
    with pytest.raises(InputError, match="given together"):
        plot_tree(forest, 0, iris.X)
    with pytest.raises(InputError, match="must rank the 3 labels"):
        plot_tree(forest, 0, iris.X, np.full((150, 2), [1, 2]))


def test_reliability_bins_hold_the_mean_agreement_and_tau():
    agreement = np.linspace(0.2, 1, 20)
    taus = np.r_[np.nan, np.linspace(0, 0.9, 19)]
    ax = plot_reliability(agreement, y=taus, n_bins=4)
    line = ax.lines[-1]  # the points, joined
    parts = np.array_split(np.arange(1, 20), 4)
    np.testing.assert_allclose(line.get_xdata(), [agreement[part].mean() for part in parts])
    np.testing.assert_allclose(line.get_ydata(), [taus[part].mean() for part in parts])


def test_reliability_of_a_forest_is_that_of_its_agreement_and_taus(forest, iris):
    of_forest = plot_reliability(forest, iris.X, iris.y, n_bins=5).lines[-1]
    agreement, ranks = facts.tree_agreement(forest, iris.X)
    taus = metrics.kendall_tau(iris.y, ranks, per_row=True)
    of_arrays = plot_reliability(agreement, y=taus, n_bins=5).lines[-1]
    np.testing.assert_array_equal(of_forest.get_xydata(), of_arrays.get_xydata())


def test_reliability_needs_rows_with_a_known_pair(forest):
    with pytest.raises(InputError, match="no row does"):
        plot_reliability([0.5], y=[np.nan])
    with pytest.raises(InputError, match="X must hold features"):
        plot_reliability(forest, y=[[1, 2, 3]])
    with pytest.raises(InputError, match="y must hold one tau"):
        plot_reliability([0.5], y=[0.5, 0.6])
    with pytest.raises(InputError, match="y must hold the true"):
        plot_reliability([0.5])


def test_position_bars_are_shares_of_the_rankings():
    y = np.array([[1, 2, np.nan], [2, 1, np.nan], [1, 2, 3], [1, 3, 2]])
    ax = plot_positions(y, labels=["a", "b", "c"], order="given")
    heights = np.array([bar.get_height() for bar in ax.patches]).reshape(3, 3)
    shares = np.array([[3, 1, 0], [1, 2, 1], [0, 2, 2]]) / np.array([[4], [4], [4]])
    shares[2] = [0, 0.5, 0.5]
    np.testing.assert_allclose(heights / heights.max(), shares / shares.max())
    assert [t.get_text() for t in ax.texts] == ["0% missing", "0% missing", "50% missing"]
    assert overlapping(ax) == []


def test_labels_are_sorted_by_their_mean_position(iris):
    ax = plot_positions(iris.y, labels=iris.labels)
    order = np.argsort(iris.y.mean(0), kind="stable")
    expected = [iris.labels[j] for j in order[::-1]]  # from below
    assert [t.get_text() for t in ax.get_yticklabels()] == expected
    with pytest.raises(InputError, match="from 1 to 3"):
        plot_positions(iris.y - 1)


def test_importances_are_sorted_and_the_rest_summed(forest):
    ax = plot_importances(forest, top=2)
    shares = np.sort(forest.feature_importances_)[::-1]
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], shares[:2])
    assert f"2 others: {shares[2:].sum():.3f} together" in ax.get_xlabel()
    best = forest.feature_names_in_[np.argmax(forest.feature_importances_)]
    assert ax.get_yticklabels()[0].get_text() == best


def test_importances_of_repeats_have_error_bars():
    runs = np.array([[0.1, 0.3], [0.5, 0.5], [-0.2, 0.0]])
    ax = plot_importances(runs)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["A2", "A1", "A3"]
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], [0.5, 0.2, -0.1])
    segments = ax.collections[0].get_segments()
    lengths = [abs(s[1, 0] - s[0, 0]) for s in segments]
    np.testing.assert_allclose(lengths, 2 * runs.std(1, ddof=1)[[1, 0, 2]])
    assert overlapping(ax) == []


def test_importances_that_round_to_nothing_have_no_sign():
    ax = plot_importances([0.5, -0.0002, 0.0, -0.0001], top=2)
    assert [text.get_text() for text in ax.texts] == ["0.500", "0.000"]
    assert "2 others: 0.000 together" in ax.get_xlabel()
    assert ax.texts[1].get_text() == "0.000"


def test_learners_without_importances_say_what_to_use_instead(iris):
    with pytest.raises(InputError, match="permutation_importance"):
        plot_importances(ConsensusLabelRanker().fit(iris.X, iris.y))
    with pytest.raises(InputError, match="finite"):
        plot_importances([np.nan, 1.0])


FORESTS = [name for name, cls in LEARNERS.items() if issubclass(cls, TreeLabelRanker)]


@pytest.mark.slow
@pytest.mark.parametrize("name", FORESTS)
def test_every_figure_of_every_grown_forest_is_drawn(iris, name):
    ranker = LEARNERS[name](random_state=0)
    if "n_estimators" in ranker.get_params():
        ranker.set_params(n_estimators=5)
    ranker.fit(iris.X[::2], iris.y[::2])
    for ax in (
        plot_tree(ranker, ranker.forest_.n_trees - 1, iris.X, iris.y),
        plot_tree(ranker),
        plot_preferences(ranker, iris.X[60]),
        plot_importances(ranker),
    ):
        assert overlapping(ax) == []
        assert outside(ax) == []
    agreement, ranks = facts.tree_agreement(ranker, iris.X[1::2])
    taus = metrics.kendall_tau(iris.y[1::2], ranks, per_row=True)
    # In the wrong direction the trees would contradict the forest, and leaves the data.
    assert agreement.mean() > 0.7
    assert taus.mean() > 0.8
    if ranker.forest_.n_trees == 1:
        np.testing.assert_array_equal(agreement, 1)
    plot_reliability(ranker, iris.X[1::2], iris.y[1::2])
