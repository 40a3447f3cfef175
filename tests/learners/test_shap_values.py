"""SHAP values of trees: against all subsets of features, and against the package shap."""

import copy
import dataclasses
import itertools
import math
import sys

import jax
import numpy as np
import pandas as pd
import pytest
import shap

import lrrf_jax
from lrrf_jax import LEARNERS, InputError, RandomForestLabelRanker
from lrrf_jax.learners.forest import attribution
from lrrf_jax.learners.forest.bootstraps import bootstrap_table
from lrrf_jax.learners.forest.fit import ForestParams
from lrrf_jax.learners.forest.tree_ranker import TreeLabelRanker
from lrrf_jax.trees.forest import Forest, invariant_violation
from tests import oracles
from tests.learners.shap_trees import explainer_of
from tests.learners.test_contract import PARTIAL_Y, WEIGHT, X, Y, fitted, make, quiet_fit
from tests.tracing import traces

GROWN = [name for name, learner in LEARNERS.items() if issubclass(learner, TreeLabelRanker)]
every_grown = pytest.mark.parametrize("name", GROWN)
every_kind = pytest.mark.parametrize("of", ["scores", "pairs"])
PAIRS = [(0, 1), (0, 2), (1, 2)]  # of three labels
# Rows of training, rows that are none, and missing values.
ROWS = np.concatenate([X[:3], X[5:9] + 0.5, X[:1]]).astype(np.float32)
ROWS[[5, 6], [1, 2]] = np.nan
ROWS[7] = np.nan


def way_down(forest, tree, row):
    """Nodes that a row goes through, and the row of ``leaf_value`` that it reaches."""
    node, way = 0, [0]
    for _ in range(forest.depth):
        value = row[forest.feature[tree, node]]
        left = value >= forest.threshold[tree, node]
        if np.isnan(value):
            left = forest.missing_left[tree, node]
        node = 2 * node + (1 if left else 2)
        way.append(node)
    return way, forest.leaf_slot[tree, node + 1 - 2**forest.depth]


def covers_of(forest, rows, weight):
    """Weights of rows in the nodes of each tree, by walking each row down."""
    cover = np.zeros((forest.n_trees, 2 ** (forest.depth + 1) - 1))
    for tree in range(forest.n_trees):
        for row, w in zip(rows, weight[:, tree], strict=True):
            cover[tree, way_down(forest, tree, row)[0]] += w
    return cover


def training_covers(ranker, x, weight=None):
    last, n_trees = ranker._last_fit, ranker.forest_.n_trees
    counts = np.ones((len(last.row), n_trees))
    if getattr(ranker, "bootstrap", False):
        counts = bootstrap_table(jax.random.key(0), len(last.row), n_trees, True)
    by_row = 1 if weight is None else weight[last.row][:, None]
    return covers_of(ranker.forest_, x[last.row], counts * by_row)


def outputs_of(value, aggregation, of):
    """What a leaf says, with plain loops: scores of labels or preferences of pairs."""
    if aggregation in ("copeland", "kemeny"):
        preference = dict(zip(PAIRS, value / 4096, strict=True))
        if of == "pairs":
            return [preference[pair] for pair in PAIRS]
        one = [sum(p for (a, _), p in preference.items() if a == label) for label in range(3)]
        other = [sum(p for (_, b), p in preference.items() if b == label) for label in range(3)]
        return (np.array(one) - other) / 2
    votes = 4.0 - value if aggregation == "two-step" else value / 1024
    return votes if of == "scores" else [np.sign(votes[a] - votes[b]) for a, b in PAIRS]


def expected_value(ranker, cover, tree, row, known, of, node=0):
    """What a tree says of a row of which some features are known; goes both ways elsewhere."""
    forest = ranker.forest_
    if node >= 2**forest.depth - 1:
        value = forest.leaf_value[forest.leaf_slot[tree, node + 1 - 2**forest.depth]]
        return np.array(outputs_of(value, ranker.config_.aggregation, of), float)

    def of_child(child):
        return expected_value(ranker, cover, tree, row, known, of, child)

    left, right, feature = 2 * node + 1, 2 * node + 2, forest.feature[tree, node]
    if forest.threshold[tree, node] == np.inf:
        return of_child(right)
    if feature in known:
        goes_left = row[feature] >= forest.threshold[tree, node]
        if np.isnan(row[feature]):
            goes_left = forest.missing_left[tree, node]
        return of_child(left if goes_left else right)
    here = cover[tree, node]
    share = cover[tree, left] / here if here > 0 else 0.5
    return share * of_child(left) + (1 - share) * of_child(right)


def by_all_subsets(ranker, cover, row, of):
    """Shapley values by their definition, and the value of knowing nothing."""
    n_features, n_trees = len(row), ranker.forest_.n_trees
    value = {
        known: sum(expected_value(ranker, cover, t, row, known, of) for t in range(n_trees))
        / n_trees
        for size in range(n_features + 1)
        for known in itertools.combinations(range(n_features), size)
    }
    out = np.zeros((n_features, 3))
    for i in range(n_features):
        for known in value:
            if i in known:
                continue
            size = len(known)
            weight = math.factorial(size) * math.factorial(n_features - size - 1)
            with_i = value[tuple(sorted((*known, i)))]
            out[i] += weight / math.factorial(n_features) * (with_i - value[known])
    return out, value[()]


def assert_by_all_subsets(ranker, cover, rows, found, of):
    for row, values in zip(ranker._features(rows), found.values, strict=True):
        expected, base = by_all_subsets(ranker, cover, row, of)
        np.testing.assert_allclose(values, expected, atol=2e-6)
        np.testing.assert_allclose(found.base_values, base, atol=1e-12)


def explained(ranker, rows, of):
    """What the values of a row must add up to, from the leaves that it reaches."""
    forest, aggregation = ranker.forest_, ranker.config_.aggregation
    out = [
        [
            outputs_of(forest.leaf_value[way_down(forest, t, row)[1]], aggregation, of)
            for t in range(forest.n_trees)
        ]
        for row in ranker._features(rows)
    ]
    return np.mean(out, axis=1)


# ------------------------------------------------------------------------------- the values
@every_grown
@every_kind
def test_values_are_those_of_all_subsets_and_add_up_to_what_is_predicted(name, of):
    ranker = fitted(name)
    found = ranker.shap_values(ROWS, of)
    assert found.values.shape == (8, 4, 3)
    assert (found.values.dtype, found.base_values.dtype) == (np.float32, np.float64)
    assert_by_all_subsets(ranker, training_covers(ranker, X), ROWS, found, of)
    total = found.base_values + found.values.sum(1, dtype=np.float64)
    np.testing.assert_allclose(total, explained(ranker, ROWS, of), atol=1e-5)
    if of == "pairs":
        np.testing.assert_allclose(total, ranker.predict_preferences(ROWS), atol=1 / 4000)
    elif ranker.config_.aggregation in ("two-step", "one-step"):
        np.testing.assert_allclose(total, ranker.predict_scores(ROWS), atol=1e-5)
    assert np.abs(found.values).max() > 0.01


@pytest.mark.parametrize(
    ("aggregation", "y"),
    [("two-step", Y), *((a, PARTIAL_Y) for a in ("two-step", "one-step", "copeland", "kemeny"))],
)
def test_weights_and_partial_rankings_are_where_the_trees_had_them(aggregation, y):
    ranker = quiet_fit(make("lr-rf", aggregation=aggregation), X, y, WEIGHT)
    cover = training_covers(ranker, X, WEIGHT)
    for of in ("scores", "pairs"):
        found = ranker.shap_values(ROWS[:7:3], of)
        assert_by_all_subsets(ranker, cover, ROWS[:7:3], found, of)
    total = found.base_values + found.values.sum(1)
    np.testing.assert_allclose(total, explained(ranker, ROWS[:7:3], "pairs"), atol=1e-5)


def test_the_mean_preference_is_explained_where_scores_are_redistributed():
    # Of preferences that go round in a circle no ranking follows: scores are redistributed.
    ranker = make("lr-rf", aggregation="kemeny").fit(X, Y)
    found = ranker.shap_values(X)
    total = found.base_values + found.values.sum(1)
    preference = ranker.predict_preferences(X)
    mean = np.stack([preference[:, 0] + preference[:, 1], preference[:, 2] - preference[:, 0]], 1)
    np.testing.assert_allclose(total[:, :2], mean / 2, atol=1 / 4000)
    ranks = [oracles.ranks_of_scores(list(row)) for row in ranker.predict_scores(X)]
    np.testing.assert_array_equal(ranks, ranker.predict(X))


# ------------------------------------------------------------------------------- shap
@every_kind
def test_shap_finds_the_same_in_the_same_trees(of):
    for name in ("lr-rf", "pw-rf", "lrt"):
        found = fitted(name).shap_values(ROWS, of)
        explainer = explainer_of(fitted(name), of)
        np.testing.assert_allclose(explainer.shap_values(ROWS), found.values, atol=2e-6)
        np.testing.assert_allclose(explainer.expected_value, found.base_values, atol=1e-9)


@pytest.fixture(scope="module")
def deep():
    """Two trees of depth 16: a chain on 16 features, and one on five that are tested again."""
    depth, rng = 16, np.random.default_rng(2)
    n_nodes = 2**depth - 1
    feature = np.zeros((2, n_nodes), np.int32)
    threshold = np.full((2, n_nodes), np.inf, np.float32)
    slot, values = np.zeros((2, n_nodes + 1), np.int32), []
    for tree, n_features in enumerate((16, 5)):
        node = 0
        for level in range(depth):
            feature[tree, node] = level % n_features
            threshold[tree, node] = rng.normal() - 1.5 if n_features == 16 else -2 + level / 8
            leaf = 2 * node + 2
            width = 2 ** (depth - level - 1)
            first = (leaf + 1) * width - 2**depth
            slot[tree, first : first + width] = len(values)
            values.append(rng.permutation(3) + 1)
            node = 2 * node + 1
        slot[tree, node + 1 - 2**depth] = len(values)
        values.append(rng.permutation(3) + 1)
    missing_left = rng.random(feature.shape) < 0.5
    trees = Forest(feature, threshold, missing_left, slot, np.array(values, np.int32))
    assert invariant_violation(trees, 16) is None
    ranker = RandomForestLabelRanker(n_estimators=2, max_depth=16)
    config = dataclasses.replace(fitted("lr-rf").config_, n_trees=2, max_depth=16)
    params = ForestParams(trees, np.zeros(16, np.float32))
    ranker._set_fitted(params, config, ["a", "b", "c"], None)
    ranker.n_features_in_, ranker._categories = 16, {}
    return ranker


@every_kind
def test_paths_of_sixteen_features_are_explained_as_shap_does(deep, of):
    rng = np.random.default_rng(3)
    background = rng.normal(size=(4000, 16)).astype(np.float32)
    rows = np.concatenate([background[:4], rng.normal(size=(4, 16)) + 1]).astype(np.float32)
    rows[2, ::5] = np.nan
    found = deep.shap_values(rows, of, background)
    total = found.base_values + found.values.sum(1)
    np.testing.assert_allclose(total, explained(deep, rows, of), atol=1e-5)
    expected = explainer_of(deep, of, background).shap_values(rows, check_additivity=False)
    # What shap returns of a node that no row reaches is not defined; here some row reaches all.
    np.testing.assert_allclose(found.values, expected, atol=1e-5)


# ------------------------------------------------------------------------------- background
def test_the_rows_that_are_averaged_over_can_be_others_and_a_loaded_model_needs_them(tmp_path):
    ranker, rows = fitted("lw-rf"), X[::2]
    found = ranker.shap_values(ROWS, background=rows)
    cover = covers_of(ranker.forest_, rows, np.ones((30, 4)))
    assert_by_all_subsets(ranker, cover, ROWS, found, "scores")
    assert not np.allclose(found.values, ranker.shap_values(ROWS).values, atol=1e-3)
    mean = ranker.predict_scores(rows).mean(0)
    np.testing.assert_allclose(found.base_values, mean, atol=1e-5)
    ranker.save(tmp_path / "m.lrrf")
    loaded = lrrf_jax.load(tmp_path / "m.lrrf")
    with pytest.raises(InputError, match="shap_values needs the training rows, .* as background"):
        loaded.shap_values(ROWS)
    again = loaded.shap_values(ROWS, background=rows)
    np.testing.assert_array_equal(again.values, found.values)


def test_both_children_of_a_node_that_no_row_reaches_get_half():
    ranker, rows = fitted("lr-rf"), X[:1]
    cover = covers_of(ranker.forest_, rows, np.ones((1, 4)))
    split = ranker.forest_.threshold < np.inf
    assert (split & (cover[:, : split.shape[1]] == 0)).any()
    found = ranker.shap_values(ROWS, background=rows)
    assert_by_all_subsets(ranker, cover, ROWS, found, "scores")
    total = found.base_values + found.values.sum(1)
    np.testing.assert_allclose(total, ranker.predict_scores(ROWS), atol=1e-5)


# ------------------------------------------------------------------------------- the result
def test_columns_have_the_names_of_users_and_categories_their_codes():
    x = pd.DataFrame(X, columns=["width", "height", "depth", "colour"])
    x["colour"] = np.random.default_rng(1).choice(["red", "green", "blue"], len(X))
    x.loc[::7, "colour"] = None
    y = np.where((x["colour"] == "red").to_numpy()[:, None], [[1.0, 2, 3]], [[3.0, 1, 2]])
    ranker = make("lr-rf").fit(x, y, labels=["a", "b", "c"])
    found = ranker.shap_values(x[:8], "pairs")
    assert found.feature_names == list(x.columns)
    assert found.output_names == ["a > b", "a > c", "b > c"]
    levels = ranker.feature_categories_["colour"]
    told = [None if np.isnan(code) else levels[int(code)] for code in found.data[:, 3]]
    assert told == [None if pd.isna(cell) else cell for cell in x["colour"][:8]]
    assert_by_all_subsets(
        ranker, training_covers(ranker, ranker._features(x)), x[:8], found, "pairs"
    )
    np.testing.assert_array_equal(found.of_output("a > c"), found.values[..., 1])
    assert fitted("lrt").shap_values(ROWS).feature_names == ["A1", "A2", "A3", "A4"]
    with pytest.raises(InputError, match="label must be one of a > b, a > c, b > c; it is 'a'"):
        found.of_output("a")
    of_shap = found.to_shap()
    assert isinstance(of_shap, shap.Explanation)
    assert of_shap[..., 1].feature_names == found.feature_names
    assert of_shap.output_names == found.output_names
    one = of_shap[2, :, 1]
    assert one.base_values + one.values.sum() == pytest.approx(
        ranker.predict_preferences(x[2:3])[0, 1], abs=1e-3
    )


def test_without_the_package_shap_it_is_named(monkeypatch):
    found = fitted("lrt").shap_values(ROWS)
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(InputError, match=r"pip install 'lrrf_jax\[explain\]'"):
        found.to_shap()


def test_rows_are_explained_alike_in_any_company_without_another_program():
    ranker = fitted("lr-rf")
    many = np.tile(X, (5, 1))  # three programs' worth of rows
    found = ranker.shap_values(many)
    assert len(many) > 2 * attribution._ROWS
    np.testing.assert_allclose(found.values[:8], ranker.shap_values(X[:8]).values, atol=1e-7)
    np.testing.assert_array_equal(found.values[:60], found.values[240:])
    with traces() as counted:
        ranker.shap_values(many[:200])
        fitted("lw-rf").shap_values(many[:129])
    assert not counted


def test_of_wide_tables_only_columns_that_some_tree_asks_for_are_worked_on():
    narrow, wide = fitted("lw-rf"), copy.copy(fitted("lw-rf"))
    at = np.array([3, 40, 97, 98])
    forest = narrow.forest_._replace(feature=at[narrow.forest_.feature].astype(np.int32))
    wide._set_fitted(narrow.params_._replace(forest=forest), narrow.config_, ["a", "b", "c"], None)
    wide.n_features_in_ = 100
    rows, background = np.zeros((8, 100), np.float32), np.zeros((60, 100), np.float32)
    rows[:, at], background[:, at] = ROWS, X
    found = wide.shap_values(rows, background=background)
    expected = narrow.shap_values(ROWS, background=X)
    np.testing.assert_allclose(found.values[:, at], expected.values, atol=1e-6)
    assert not np.delete(found.values, at, axis=1).any()
    assert attribution._columns_in_use(forest, 100)[1] == 64


def test_a_tree_that_is_one_leaf_gives_nothing_to_any_feature():
    ranker = make("lrt").fit(np.ones((4, 1)), [[1, 2]] * 4)
    found = ranker.shap_values([[1.0], [np.nan]])
    assert found.values.tolist() == [[[0.0, 0.0]]] * 2
    assert found.base_values.tolist() == [2.0, 1.0]


def test_what_cannot_be_explained_is_refused():
    with pytest.raises(InputError, match="of must be one of 'scores', 'pairs'; it is 'ranks'"):
        fitted("lrt").shap_values(ROWS, "ranks")
    with pytest.raises(InputError, match="X has 3 features"):
        fitted("lrt").shap_values(ROWS[:, :3])
    with pytest.raises(InputError, match="X has 3 features"):
        fitted("lrt").shap_values(ROWS, background=ROWS[:, :3])


def test_preferences_of_three_trees_are_thirds():
    config = dataclasses.replace(fitted("lr-rf").config_, n_trees=3)
    value = attribution.explained_values(np.array([[1, 3, 2]], np.int32), config, "pairs")
    assert value.tolist() == [[1 / 3, 1 / 3, -1 / 3]]


@pytest.mark.slow
@pytest.mark.parametrize("aggregation", ["two-step", "one-step", "copeland", "kemeny"])
def test_sums_of_deep_forests_are_what_is_predicted(aggregation):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6000, 12)).astype(np.float32)
    x[rng.random(x.shape) < 0.05] = np.nan
    utility = np.nan_to_num(x) @ rng.normal(size=(12, 20)) + rng.normal(size=(6000, 20))
    ranker = make("lr-rf", n_estimators=10, max_depth=16, aggregation=aggregation, max_bins="auto")
    ranker.fit(x, scores=utility)
    assert ranker.forest_.depth == 16
    rows = np.concatenate([x[:100], x[:100] + rng.normal(size=(100, 12))]).astype(np.float32)
    for of in ("scores", "pairs"):
        found = ranker.shap_values(rows, of)
        total = found.base_values + found.values.sum(1, dtype=np.float64)
        leaf = ranker._leaf_slots(rows)
        value = attribution.explained_values(
            ranker.forest_.leaf_value[leaf.ravel()], ranker.config_, of
        )
        expected = value.reshape(*leaf.shape, -1).sum(1)
        np.testing.assert_allclose(total, expected, atol=1e-5)
        if of == "scores" and aggregation in ("two-step", "one-step"):
            np.testing.assert_allclose(total, ranker.predict_scores(rows), atol=1e-5)


def test_rows_on_thresholds_and_odd_numbers_go_as_they_do_in_predictions():
    ranker = fitted("lw-rf")
    forest = ranker.forest_
    split = forest.threshold < np.inf
    on = np.zeros((int(split.sum()), 4), np.float32)
    on[np.arange(len(on)), forest.feature[split]] = forest.threshold[split]
    odd = np.float32([3e38, -3e38, -0.0, 1e-40, -1e-40, np.nan])
    rows = np.concatenate([on, np.nextafter(on, np.float32(-np.inf)), odd[:, None].repeat(4, 1)])
    found = ranker.shap_values(rows)
    total = found.base_values + found.values.sum(1)
    np.testing.assert_allclose(total, ranker.predict_scores(rows), atol=1e-5)
    assert len(rows) > 30
